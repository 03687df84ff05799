"""Contrasts of slices, models and runs against the same computed naively: rows filtered, replicates in a loop."""

from typing import Any

import numpy as np
import polars as pl
import polars.testing
import pytest
from sklearn.metrics import brier_score_loss, log_loss, precision_score, roc_auc_score

import plmetrics as plm
from plmetrics.core.hashing import unit_hash
from plmetrics.inference.weights import draw_weights

METRICS = ["roc_auc", "average_precision", "ks", "log_loss", "brier", "precision(threshold=0.4)", "ece", "n"]
NAIVE = {"roc_auc": roc_auc_score, "log_loss": log_loss, "brier": brier_score_loss}


def table(rows: int = 300, seed: int = 3) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, rows)
    noise = draw.uniform(0, 0.6, (2, rows))
    regions = np.array(["north", "south", "west", None], dtype=object)
    return pl.DataFrame(
        {
            "unit": np.arange(rows),
            "label": label,
            "a": np.round(0.35 * label + noise[0], 2),
            "b": np.round(0.2 * label + noise[1], 2),
            "weight": draw.integers(1, 4, rows).astype(float),
            "region": pl.Series(
                regions[draw.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])].tolist(), dtype=pl.String
            ),
            "age": draw.integers(18, 70, rows),
        }
    )


def evaluated(frame: pl.DataFrame, **keywords: Any) -> plm.Result:
    given: dict[str, Any] = {"label": "label", "models": {"a": "a", "b": "b"}, "metrics": METRICS}
    return plm.evaluate(frame, **(given | keywords))


def of(result: plm.Result, **facts: Any) -> pl.DataFrame:
    return result.comparisons.filter(**facts)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(
    ("slices", "inside"),
    [
        ({"region": "region"}, lambda text: pl.col("region").eq_missing(pl.lit(None if text == "null" else text))),
        ({"old": {"where": "age >= 40"}}, lambda _: pl.col("age") >= 40),
        ({"region": {"columns": ["region"], "exclude": ["west"]}}, lambda text: pl.col("region").eq_missing(
            pl.lit(None if text == "null" else text))),
    ],
    ids=["values", "predicate", "excluded"],
)  # fmt: skip
def test_the_rest_is_what_the_other_rows_give(weight: str | None, slices: Any, inside: Any) -> None:
    (name,) = slices
    frame = table()
    result = evaluated(frame, weight=weight, slices=slices, compare={"slices": {name: "rest"}})
    rows = of(result, contrast="rest", scale="difference")
    texts = rows["slice"].unique().to_list()
    assert rows.height == len(texts) * 2 * len(METRICS)
    assert rows["baseline"].unique().to_list() == ["rest"]
    for text in texts:
        member = inside(text.partition("=")[2])
        here, there = (
            evaluated(frame.filter(rows_of), weight=weight).metrics.select("model", "metric", "value")
            for rows_of in (member, ~member)
        )
        expected = here.join(there, on=["model", "metric"]).with_columns(
            d=pl.col("value") - pl.col("value_right")
        )
        both = rows.filter(slice=text).join(expected, on=["model", "metric"], validate="1:1")
        totals = both.filter(metric="n")
        assert set(totals["status"]) <= {"unequal_rows"}
        assert totals["difference"].null_count() == totals.height
        both = both.filter(pl.col("metric") != "n")
        assert both["difference"].to_numpy() == pytest.approx(both["d"].to_numpy(), rel=1e-9, abs=1e-12)


def resampled(frame: pl.DataFrame, replicates: int, seed: int) -> np.ndarray[Any, Any]:
    """The weight of each row in each replicate: that of its block, blocks being in the order of their keys."""
    keys = frame.select(unit_hash(pl.col("unit"), frame["unit"].dtype)).to_series().to_numpy()
    drawn = draw_weights(np.ones(len(keys), dtype=np.int64), replicates, seed).counts
    return drawn[:, np.argsort(np.argsort(keys))]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "naive"), NAIVE.items())
def test_standard_errors_are_those_of_a_bootstrap_in_a_loop(metric: str, naive: Any) -> None:
    frame = table(120).with_columns(pl.col("region").fill_null("west"))
    result = evaluated(
        frame,
        unit="unit",
        metrics=[metric],
        slices={"region": "region"},
        uncertainty={"replicates": 20, "seed": 5},
        compare={
            "baseline": "a",
            "scales": ["difference", "ratio"],
            "slices": {"region": ["rest", "all", "pairs"]},
        },
    )
    drawn = resampled(frame, 20, 5)
    label, region = frame["label"].to_numpy(), frame["region"].to_numpy()

    known: dict[tuple[str, bytes], Any] = {}

    def values(model: str, member: Any) -> Any:
        score, key = frame[model].to_numpy(), (model, member.tobytes())
        if key not in known:
            known[key] = np.array(
                [naive(label[member], score[member], sample_weight=w[member]) for w in drawn]
            )
        return known[key]

    checked = 0
    for row in result.comparisons.iter_rows(named=True):
        name = row["slice"].partition("=")[2]
        member = region == name if name else np.ones(len(region), dtype=bool)
        here = values(row["model"], member)
        if row["contrast"] == "model":
            there = values("a", member)
        elif row["contrast"] == "rest":
            there = values(row["model"], ~member)
        else:
            other = row["baseline"].partition("=")[2]
            there = values(row["model"], region == other if other else np.ones(len(region), dtype=bool))
        drawn_here = here - there if row["scale"] == "difference" else here / there
        assert row["std_error"] == pytest.approx(np.std(drawn_here, ddof=1), rel=1e-6), row
        checked += 1
    assert checked == 2 * (4 + 2 * (3 + 3 + 3))


def test_slices_against_all_one_and_those_before() -> None:
    result = evaluated(
        table(),
        slices={"region": "region", "age": {"column": "age", "bins": [25, 40]}, "old": {"where": "age > 50"}},
        metrics=["log_loss"],
        compare={"slices": {"region": "pairs", "age": "age=[25, 40)", "old": ["overall", "pairs"]}},
    )
    value = {
        (model, text): number
        for model, text, number in result.metrics.select("model", "slice", "value").iter_rows()
    }
    rows = of(result, contrast="slice")
    found = {
        (row["model"], row["slice"], row["baseline"]): row["difference"] for row in rows.iter_rows(named=True)
    }
    regions = ["region=north", "region=south", "region=west", "region=null"]
    pairs = [(later, regions[first]) for first in range(4) for later in regions[first + 1 :]]
    middle = "age=[25, 40)"
    pairs += [("age=(-inf, 25)", middle), ("age=[40, inf)", middle), ("old=true", "all")]
    assert set(found) == {(model, *pair) for model in "ab" for pair in pairs}
    assert len(found) == rows.height
    for (model, text, other), difference in found.items():
        assert difference == pytest.approx(value[model, text] - value[model, other], abs=1e-12)


def test_a_slice_of_all_rows_is_as_all_rows_and_has_no_rest() -> None:
    result = evaluated(
        table(),
        metrics=["roc_auc", "log_loss"],
        slices={"any": {"where": "age > 0"}},
        uncertainty={"replicates": 20},
        compare={"slices": {"any": ["all", "rest"]}, "scales": ["difference", "ratio"]},
    )
    same = of(result, contrast="slice")
    assert same.height == 8
    sure = (
        same.select(pl.struct("difference", "lower", "upper", "std_error", "p_value")).to_series().to_list()
    )
    for scale, row in zip(same["scale"], sure, strict=True):
        at = 0.0 if scale == "difference" else 1.0
        assert list(row.values()) == [at, at, at, 0.0, 1.0]
    assert of(result, contrast="rest")["status"].to_list() == ["no_rows"] * 8


def test_scales_say_the_same() -> None:
    scales = ["difference", "ratio", "relative_change"]
    for uncertainty in (None, {"replicates": 50}):
        result = evaluated(
            table(),
            metrics=["log_loss", "mcc", "tp(threshold=1)", "recall(threshold=1)"],
            uncertainty=uncertainty,
            compare={"baseline": "a", "scales": scales},
        )
        values = {
            (row[0], row[1]): row[2] for row in result.metrics.select("model", "metric", "value").iter_rows()
        }
        found = {(row["metric"], row["scale"]): row for row in result.comparisons.iter_rows(named=True)}
        one, other = values["b", "log_loss"], values["a", "log_loss"]
        assert found["log_loss", "difference"]["difference"] == pytest.approx(one - other)
        assert found["log_loss", "ratio"]["difference"] == pytest.approx(one / other)
        assert found["log_loss", "relative_change"]["difference"] == pytest.approx(one / other - 1)
        assert found["recall(threshold=1)", "difference"]["status"] == "ok"
        for scale in scales[1:]:
            assert found["recall(threshold=1)", scale]["status"] == "zero_denominator"
            assert found["recall(threshold=1)", scale]["difference"] is None
        if uncertainty is not None:
            ratio, change = found["log_loss", "ratio"], found["log_loss", "relative_change"]
            assert (change["lower"], change["upper"]) == pytest.approx(
                (ratio["lower"] - 1, ratio["upper"] - 1)
            )
            assert change["p_value"] == ratio["p_value"]
            assert found["log_loss", "difference"]["family"] == "log_loss / overall"
            assert ratio["family"] == "log_loss / overall / ratio"


def test_pairs_are_all_pairs_once_and_gates_still_see_theirs() -> None:
    frame = table().with_columns(c=pl.col("a").round(1) * 0.5, d=pl.col("a"))
    result = evaluated(
        frame,
        models={name: name for name in "abcd"},
        metrics=["roc_auc"],
        uncertainty={"replicates": 30},
        compare={"pairs": "all"},
        gates=[{"metric": "roc_auc", "model": "a", "against": "b", "at_least": 0}],
    )
    pairs = list(zip(result.comparisons["model"], result.comparisons["baseline"], strict=True))
    assert pairs == [("b", "a"), ("c", "a"), ("d", "a"), ("c", "b"), ("d", "b"), ("d", "c")]
    row = of(result, model="b", baseline="a").row(0, named=True)
    assert result.gates["observed"].to_list() == [pytest.approx(-row["difference"])]
    same = of(result, model="d", baseline="a").row(0, named=True)
    assert (same["difference"], same["lower"], same["upper"], same["p_value"]) == (0.0, 0.0, 0.0, 1.0)
    assert result.comparisons["family_size"].to_list() == [6] * 6


def test_contrasts_of_one_model_and_families() -> None:
    result = evaluated(
        table(),
        models={"a": "a"},
        metrics=["log_loss"],
        slices={"region": "region"},
        uncertainty={"replicates": 30},
        compare={"slices": {"region": ["rest", "all"]}},
    )
    sizes = result.comparisons.group_by("contrast", "family", "family_size").len().sort("contrast")
    assert sizes.rows() == [
        ("rest", "log_loss / region / rest", 4, 4),
        ("slice", "log_loss / region / slice", 4, 4),
    ]


def test_the_family_of_a_suite_counts_a_hypothesis_once() -> None:
    """Models and slices are of one family; ratios test what differences test, and are corrected among themselves."""
    keywords: dict[str, Any] = {
        "metrics": ["log_loss", "accuracy"],
        "slices": {"region": "region"},
        "uncertainty": {"replicates": 30},
    }
    compare = {"baseline": "a", "slices": {"region": "rest"}, "family": "suite"}
    alone = evaluated(table(), **keywords, compare=compare).comparisons
    scales = ["difference", "ratio", "relative_change"]
    together = evaluated(table(), **keywords, compare={**compare, "scales": scales}).comparisons
    differences = together.filter(scale="difference")
    assert differences["p_adjusted"].to_list() == alone["p_adjusted"].to_list()
    assert set(alone["family"]) == set(differences["family"]) == {"suite"}
    for scale in scales[1:]:
        part = together.filter(scale=scale)
        assert set(part["family"]) == {f"suite / {scale}"}
        assert set(part["family_size"]) == {part["p_value"].count()}
        p = part["p_value"].drop_nulls().to_numpy()
        ranked = np.sort(p)
        holm = np.minimum(np.maximum.accumulate(ranked * np.arange(len(p), 0, -1)), 1)
        np.testing.assert_allclose(np.sort(part["p_adjusted"].drop_nulls().to_numpy()), holm)


def test_on_a_grid_the_rest_has_sums_only() -> None:
    keywords: dict[str, Any] = {"metrics": ["roc_auc", "log_loss"], "slices": {"region": "region"}}
    result = evaluated(table(), exact=False, **keywords, compare={"slices": {"region": "rest"}})
    found = result.comparisons.group_by("metric", "status").len().sort("metric").rows()
    assert found == [("log_loss", "ok", 8), ("roc_auc", "needs_exact", 8)]


def test_precision_of_the_rest_matches_scikit_learn() -> None:
    frame = table()
    result = evaluated(frame, metrics=["precision(threshold=0.4)"], slices={"region": "region"},
                       compare={"slices": {"region": "rest"}})  # fmt: skip
    member = frame["region"] == "south"
    outside = frame.filter(~member.fill_null(value=False))
    inside = frame.filter(member.fill_null(value=False))
    here, there = (
        precision_score(part["label"], (part["a"] >= 0.4).cast(pl.Int64)) for part in (inside, outside)
    )
    row = of(result, slice="region=south", model="a").row(0, named=True)
    assert row["difference"] == pytest.approx(here - there)


@pytest.mark.exhaustive
@pytest.mark.parametrize("asked", ["rest", "all", "pairs", "region=south"])
def test_chunks_of_slices_leave_no_trace(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keywords: dict[str, Any] = {
        "metrics": ["log_loss", "roc_auc"],
        "slices": {"region": "region"},
        "uncertainty": {"replicates": 20},
        "compare": {
            "baseline": "a",
            "scales": ["difference", "ratio"],
            "slices": {"region": asked},
            "decompose": ["region"],
        },
    }
    whole = evaluated(table(), **keywords)
    monkeypatch.setattr("plmetrics.states.scores.coarse._SLICES_AT_ONCE", 2)
    monkeypatch.setattr("plmetrics.inference.across_runs.model_decomposition._SLICES_AT_ONCE", 2)
    monkeypatch.setattr("plmetrics.inference.contrasts._AT_ONCE", 30)
    cut = evaluated(table(), **keywords)
    pl.testing.assert_frame_equal(whole.comparisons, cut.comparisons, rel_tol=1e-9, abs_tol=1e-12)
    pl.testing.assert_frame_equal(whole.decomposition, cut.decomposition, rel_tol=1e-9, abs_tol=1e-12)


def test_models_of_different_rows_are_named_as_such() -> None:
    frame = table().with_columns(part=pl.when(pl.col("region").fill_null("") != "north").then("b"))
    asked = {"models": {"a": "a", "part": "part"}, "slices": {"region": "region"}, "metrics": ["brier"]}
    compare = {"baseline": "a", "slices": {"region": "all"}}
    found = evaluated(frame, missing="drop_per_model", compare=compare, **asked).comparisons
    noted = found.filter(pl.col("note").is_not_null())
    assert noted.select("contrast", "slice").rows() == [("model", "all")]
    assert "different rows" in noted["note"][0]
    assert found.filter(slice="region=south").height == 3
