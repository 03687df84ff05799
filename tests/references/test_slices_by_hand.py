"""Quantile bins, tops, tags, overlapping predicates and exclusion: every slice against the same rows by hand."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.names import number_text

METRICS = ["roc_auc", "recall", "brier", "n"]


def table(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    tags = [list(rng.choice(["vip", "new", "old"], rng.integers(0, 4), replace=False)) for _ in range(rows)]
    return pl.DataFrame(
        {
            "y": y,
            "p": np.clip(rng.normal(0.4 + 0.2 * y, 0.2), 0, 1),
            "q": rng.random(rows),
            "w": rng.integers(0, 4, rows),
            "u": rng.integers(0, 90, rows),
            "age": [None if i % 17 == 0 else int(x) for i, x in enumerate(rng.integers(18, 80, rows))],
            "income": rng.lognormal(10, 1, rows),
            "country": rng.choice(["a", "b", "c", "d", "e", None], rows, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]),
            "device": rng.choice(["x", "y"], rows),
            "tags": [None if i % 13 == 0 else part for i, part in enumerate(tags)],
            "codes": [[int(i) % 3, int(i) % 2] for i in range(rows)],
        },
        schema_overrides={"tags": pl.List(pl.String), "country": pl.String, "age": pl.Int64},
    )


SETS = {
    "quartile": {"column": "age", "quantiles": 4},
    "rich": {"column": "income", "quantiles": 3},
    "top": {"column": "country", "top": 2},
    "tags": "tags",
    "codes": {"column": "codes"},
    "group": {"where": {"young": "age < 30", "adult": "age >= 25", "nobody": "age > 200"}},
    "some": {
        "columns": ["country", "device"],
        "exclude": [{"country": "a"}, {"country": None, "device": "x"}],
    },
    "few": {"column": "country", "exclude": ["a", None]},
}


def quantiles(values, weights, number):
    """Averaged inverse distribution, from repeated values."""
    every = sorted(v for v, w in zip(values, weights, strict=True) for _ in range(int(w)) if v is not None)
    out = []
    for i in range(1, number):
        place = i * len(every) / number
        at = int(np.floor(place + 1e-9))
        out.append((every[at - 1] + every[at]) / 2 if abs(place - round(place)) < 1e-9 else every[at])
    return sorted(set(out))


def members(rows, weighted):
    """Slice text -> condition, for every set."""
    weights = rows["w"].to_list() if weighted else [1] * rows.height
    held = rows.filter(pl.col("w") > 0) if weighted else rows

    def binned(column, number):
        edges = quantiles(rows[column].to_list(), weights, number)
        texts = [number_text(edge) for edge in edges]
        out = {}
        for i in range(len(edges) + 1):
            low = f"[{texts[i - 1]}" if i else "(-inf"
            high = texts[i] if i < len(edges) else "inf"
            condition = (pl.col(column) >= edges[i - 1]) if i else pl.lit(value=True)
            if i < len(edges):
                condition &= pl.col(column) < edges[i]
            out[f"{column}={low}, {high})"] = condition & pl.col(column).is_not_null()
        if held[column].null_count():
            out[f"{column}=null"] = pl.col(column).is_null()
        return out

    country, device = pl.col("country"), pl.col("device")
    counted = held.group_by("country").len().sort("len", "country", descending=[True, False], nulls_last=True)
    top = sorted(counted["country"].head(2).to_list())
    texts = {None: "null"}
    crossed = {
        f"country={texts.get(c, c)}, device={d}": country.eq_missing(pl.lit(c)) & (device == d)
        for c in ("b", "c", "d", "e", None)
        for d in ("x", "y")
        if (c, d) != (None, "x")
    }
    return {
        "quartile": binned("age", 4),
        "rich": binned("income", 3),
        "top": {
            **{f"country={value}": country == value for value in top},
            "country=other": ~country.is_in(top) | country.is_null(),
        },
        "tags": {f"tags={tag}": pl.col("tags").list.contains(tag) for tag in ("new", "old", "vip")},
        "codes": {f"codes={code}": pl.col("codes").list.contains(code) for code in (0, 1, 2)},
        "group": {
            "group=young": pl.col("age") < 30,
            "group=adult": pl.col("age") >= 25,
            "group=nobody": pl.lit(value=False),
        },
        "some": crossed,
        "few": {f"country={c}": country == c for c in ("b", "c", "d", "e")},
    }


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("exact", [None, False])
@pytest.mark.parametrize("weight", [None, "w"])
def test_every_slice_is_what_filtering_gives(weight, exact):
    rows = table()
    found = plm.evaluate(
        rows, label="y", models="p", weight=weight, metrics=METRICS, slices=SETS, exact=exact
    ).metrics
    for name, slices in members(rows, weight is not None).items():
        own = found.filter(slice_set=name)
        assert own["slice"].unique(maintain_order=True).to_list() == list(slices)
        for text, condition in slices.items():
            part = rows.filter(condition)
            got = dict(own.filter(slice=text).select("metric", "value").iter_rows())
            if part.is_empty():
                assert set(got.values()) == {None}
                continue
            alone = plm.evaluate(part, label="y", models="p", weight=weight, metrics=METRICS).metrics
            for metric, value in alone.select("metric", "value").iter_rows():
                near = {"rel": 1e-9} if exact is None or metric != "roc_auc" else {"abs": 2e-3}
                assert got[metric] == pytest.approx(value, **near), (text, metric)


@pytest.mark.slow
def test_intervals_comparisons_and_gates_hold_for_all_kinds():
    rows = table()
    gates = [{"metric": "recall", "slices": ["tags", "group"], "at_least": 0, "on_undefined": "skip"}]
    found = plm.evaluate(
        rows,
        label="y",
        models=["p", "q"],
        unit="u",
        metrics=["roc_auc", "recall"],
        slices=SETS,
        uncertainty={"replicates": 40},
        compare="p",
        gates=gates,
        curves=[{"curve": "roc", "slices": list(SETS)}],
    )
    ok = found.metrics.filter(status="ok")
    assert ok["lower"].null_count() == 0
    assert set(found.comparisons["slice"]) == set(found.metrics["slice"])
    assert found.gates.filter(slice_set="tags")["slice"].unique().sort().to_list() == [
        "tags=new",
        "tags=old",
        "tags=vip",
    ]
    drawn = found.curves.group_by("slice_set").agg(pl.col("slice").n_unique())
    assert dict(drawn.iter_rows())["group"] == 2


def test_replicates_of_a_tag_are_those_of_the_same_predicate():
    rows = table().with_columns(vip=pl.col("tags").list.contains("vip").fill_null(value=False))
    given = {
        "label": "y",
        "models": "p",
        "unit": "u",
        "metrics": ["roc_auc", "recall"],
        "uncertainty": {"replicates": 50},
    }
    tags = plm.evaluate(rows, slices={"tags": "tags"}, **given).metrics.filter(slice="tags=vip")
    same = plm.evaluate(rows, slices={"vip": {"where": "vip"}}, **given).metrics.filter(slice="vip=true")
    numbers = ["value", "lower", "upper", "std_error", "n", "blocks"]
    np.testing.assert_allclose(tags.select(numbers).to_numpy(), same.select(numbers).to_numpy(), rtol=1e-12)


def test_a_metric_over_tags_and_predicates():
    rows = table()
    metrics = ["recall", {"name": "over_tags", "over": {"slice_set": "tags", "metric": "recall"}}]
    metrics.append({"name": "over_group", "over": {"slice_set": "group", "metric": "recall", "agg": "min"}})
    found = plm.evaluate(
        rows, label="y", models="p", metrics=metrics, slices={k: SETS[k] for k in ("tags", "group")}
    ).metrics
    by_set = {
        name: found.filter(slice_set=name, metric="recall")["value"].drop_nulls()
        for name in ("tags", "group")
    }
    over = {
        row["metric"]: row
        for row in found.filter(pl.col("metric").str.starts_with("over")).iter_rows(named=True)
    }
    assert over["over_tags"]["value"] == pytest.approx(by_set["tags"].mean())
    assert over["over_group"]["value"] == by_set["group"].min()
    assert over["over_group"]["note"] == "undefined slices left out: 1"
    assert found["slice"].to_list().index("all", 1) < found["slice"].to_list().index("tags=new")


def test_constants_name_what_was_found():
    found = plm.evaluate(table(), label="y", models="p", metrics=["recall"], slices=SETS).record
    assert found["constants"]["slices"]["tags"] == ["tags=new", "tags=old", "tags=vip"]
    assert len(found["constants"]["slices"]["quartile"]) == 5
    assert found["warnings"] == []


def test_what_is_excluded_but_absent_is_a_warning():
    for absent, text in (("zz", "'zz'"), (None, "null")):
        slices = {"few": {"column": "country", "exclude": [absent, "a"]}}
        found = plm.evaluate(table().drop_nulls("country"), label="y", models="p", slices=slices).record
        assert found["warnings"] == [f"slice set 'few' excludes {text}, which does not occur"]


def test_bins_and_whole_texts_are_excluded_by_their_text():
    slices = {
        "age": {"column": "age", "bins": [30, 50], "exclude": ["[30, 50)", None]},
        "both": {"columns": ["country", "device"], "exclude": ["country=a, device=x"]},
        "top": {"column": "country", "top": 1, "exclude": ["other"]},
    }
    found = plm.evaluate(table(), label="y", models="p", metrics=["recall"], slices=slices).metrics
    assert found.filter(slice_set="age")["slice"].to_list() == ["age=(-inf, 30)", "age=[50, inf)"]
    assert "country=a, device=x" not in found["slice"].to_list()
    assert found.filter(slice_set="both").height == 11
    assert found.filter(slice_set="top")["slice"].to_list() == ["country=b"]


@pytest.mark.parametrize("values", [[5.0] * 20, [None] * 20, [1.0] * 19 + [2.0]])
def test_quantiles_of_hardly_any_values(values):
    rows = table(20).with_columns(x=pl.Series(values, dtype=pl.Float64))
    found = plm.evaluate(
        rows, label="y", models="p", metrics=["n"], slices={"x": {"column": "x", "quantiles": 4}}
    )
    assert found.metrics.filter(slice_set="x")["value"].sum() == 20


CONFIG, DATA = plm.ConfigError, plm.DataError


@pytest.mark.parametrize(
    ("spec", "error", "words"),
    [
        ({"column": "country", "top": 2, "quantiles": 3}, CONFIG, "quantiles and top exclude each other"),
        ({"columns": ["country", "device"], "top": 2}, CONFIG, "top needs exactly one column"),
        ({"column": "age", "quantiles": 1}, CONFIG, "quantiles must be at least 2"),
        ({"column": "country", "top": 0}, CONFIG, "top must be at least 1"),
        ({"column": "country", "quantiles": 3}, DATA, "quantiles need numbers"),
        ({"columns": ["tags", "device"]}, DATA, "a list of tags stands alone"),
        ({"where": {"a/b": "age > 3"}}, CONFIG, "a slice's name must be"),
        ({"where": {"a": "age >"}}, CONFIG, "'age >'"),
        ({"where": {}}, CONFIG, "where must"),
        ({"where": "age > 3", "exclude": [1]}, CONFIG, "where stands alone"),
        ({"columns": ["country", "device"], "exclude": ["a"]}, CONFIG, "by a mapping or its whole text"),
        ({"column": "country", "exclude": [{"device": "x"}]}, CONFIG, "'device' is not a column of this"),
        ({"column": "country", "exclude": "a"}, CONFIG, "exclude must"),
        ({"column": "country", "tpo": 3}, CONFIG, "did you mean 'top'?"),
    ],
)
def test_what_is_wrong_is_said(spec, error, words):
    with pytest.raises(error) as caught:
        plm.evaluate(table(30), label="y", models="p", slices={"s": spec})
    assert words in str(caught.value)


def test_a_real_other_beside_the_rest():
    rows = table().with_columns(country=pl.col("country").replace("a", "other"))
    with pytest.raises(plm.DataError, match="has a value 'other' among its top"):
        plm.evaluate(rows, label="y", models="p", slices={"s": {"column": "country", "top": 2}})
