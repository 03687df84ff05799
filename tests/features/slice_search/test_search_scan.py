"""What a search for slices finds in its columns and rows: codes, groupings, and independence of order and files."""

import time
from datetime import date, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.core.errors import ConfigError, DataError
from plmetrics.core.hashing import BLOCK_SALT, SEARCH_SALT, mix_int
from plmetrics.features.slice_search.search_plan import column_groups, possible
from plmetrics.features.slice_search.slice_selection import searched_slices
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

SPEC: dict[str, Any] = {"columns": ["region", "device"], "metric": "log_loss", "min_rows": 50}


def table(rows: int = 3000, seed: int = 0) -> pl.DataFrame:
    """A model that is worse where region is north and device is null."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.05, 0.95, rows)
    region, device = rng.choice(["north", "south", "west"], rows), rng.choice(["phone", "desk", "-"], rows)
    truth = np.where((region == "north") & (device == "-"), 1 - score, score)
    return pl.DataFrame(
        {
            "y": (rng.uniform(size=rows) < truth).astype(np.int8),
            "p": score,
            "id": np.arange(rows),
            "region": region,
            "device": pl.Series(device).replace("-", None),
            "age": rng.integers(18, 90, rows),
            "flag": rng.integers(0, 2, rows) == 1,
            "w": rng.choice([1.0, 2.0], rows),
        }
    )


def search(
    data: Any, spec: dict[str, Any] | None = None, **arguments: Any
) -> tuple[pl.DataFrame, dict[str, Any]]:
    given = {"label": "y", "models": "p", "find_slices": SPEC | (spec or {})} | arguments
    found, said = searched_slices(suite_from_arguments(**given), open_source(data))
    return found, said


def codes(values: Any, **spec: Any) -> list[str]:
    """How the values of a column stand in results."""
    column = pl.Series("x", values)
    frame = pl.DataFrame(
        {"y": [0, 1] * (len(column) // 2), "p": [0.25, 0.75] * (len(column) // 2), "x": column}
    )
    said: list[str] = search(frame, {"columns": ["x"], **spec})[1]["values"]["x"]
    return said


def test_the_planted_slice_is_found_with_null_as_a_value() -> None:
    found, said = search(table())
    first = found.row(0, named=True)
    assert first["slice"] == "region=north, device=null"
    assert first["slice_values"] == [
        {"column": "region", "value": "north"},
        {"column": "device", "value": None},
    ]
    assert first["confirmed"]
    assert first["depth"] == 2
    assert first["difference"] == pytest.approx(first["value"] - first["rest"])
    assert said["possible"] == said["tested"] == 3 + 3 + 9
    parents = found.filter(pl.col("depth") == 1, "confirmed")
    assert set(parents["slice"]) == {"region=north", "device=null"}
    assert set(parents["note"]) == {"not worse without region=north, device=null"}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("values", "spec", "texts"),
    [
        (["b", "a", None, "a"], {}, ["a", "b", "null"]),
        (["c", "c", "c", "a", "b", "a"], {"top": 2}, ["a", "c", "other"]),
        ([True, False, True, None], {}, ["false", "true", "null"]),
        ([1, 2, 3, 4, 5, 6, 7, 8], {"bins": 2}, ["(-inf, 4.5)", "[4.5, inf)"]),
        ([1, 2, 1, 2], {}, ["1", "2"]),
        ([1.5, float("nan"), 1.5, None], {}, ["1.5", "nan", "null"]),
        ([-0.0, 0.0, 1.0, 1.0], {}, ["0", "1"]),
        ([0] * 94 + [1, 2, 3, 4, 5, 6], {"bins": 2}, ["(-inf, 1)", "[1, inf)"]),
        (
            [date(2024, 1, day) for day in range(1, 9)],
            {"bins": 2},
            ["(-inf, 2024-01-05)", "[2024-01-05, inf)"],
        ),
        ([date(2024, 1, 1), date(2024, 1, 2)] * 2, {}, ["2024-01-01", "2024-01-02"]),
        (
            [datetime(2024, 1, 1, hour) for hour in range(8)],
            {"bins": 2},
            ["(-inf, 2024-01-01T03:30:00)", "[2024-01-01T03:30:00, inf)"],
        ),
        ([None] * 4, {}, ["null"]),
        (
            pl.Series([2**64 - 1 - k for k in range(8)], dtype=pl.UInt64),
            {"bins": 2},
            [f"(-inf, {2**64 - 4})", f"[{2**64 - 4}, inf)"],
        ),
        ([-(2**62) + 2 * k for k in range(8)], {"bins": 2}, [f"(-inf, {7 - 2**62})", f"[{7 - 2**62}, inf)"]),
        ([float("inf"), float("-inf"), float("nan"), None], {"bins": 2}, ["-inf", "inf", "nan", "null"]),
        (pl.Series(["x", "z", "x", "z"], dtype=pl.Categorical), {}, ["x", "z"]),
        (pl.Series([0.1, 0.2, None, 0.1], dtype=pl.Float32), {}, ["0.1", "0.2", "null"]),
        (pl.Series([0.1, 0.2, float("nan"), 0.1], dtype=pl.Float16), {}, ["0.1", "0.2", "nan"]),
    ],
)
def test_codes_of_values(values: Any, spec: dict[str, Any], texts: list[str]) -> None:
    assert codes(values, **spec) == texts


@pytest.mark.parametrize("values", [[0, 1, 9], [0.5, 1.0, float("nan")], [0.5, None, 9.0]])
def test_values_that_a_sample_lacks_are_among_the_others(
    monkeypatch: pytest.MonkeyPatch, values: list[float | None]
) -> None:
    monkeypatch.setattr("plmetrics.features.slice_search.search_columns.SAMPLE_ROWS", 100)
    *frequent, rare = values
    x = [rare if number == 7 else frequent[number % 2] for number in range(12_000)]
    frame = table(12_000).with_columns(x=pl.Series(x, strict=False))
    spec = {"columns": ["x"], "min_rows": 1, "level": 0.999}
    found, said = search(frame, spec)
    alike, _ = search(frame.with_columns(pl.col("x").cast(pl.String)), spec)
    assert "other" in said["values"]["x"]
    assert_frame_equal(found.select("n", "value", "rest"), alike.select("n", "value", "rest"))


def test_values_of_32_bits_are_in_the_bins_of_the_decimals_they_stand_for() -> None:
    """Of 0.9 in 32 bits too, which is less than 0.9 in 64."""
    rows = table().with_columns(tenths=(pl.col("id") * 7 % 20 / 10))
    asked = {"columns": ["tenths"], "level": 0.999999, "correction": "none", "min_rows": 2}
    wide, _ = search(rows, asked, unit="id")
    narrow, _ = search(rows.with_columns(pl.col("tenths").cast(pl.Float32)), asked, unit="id")
    assert wide.height > 1
    assert_frame_equal(narrow, wide, rel_tol=1e-9)


def test_edges_have_no_more_decimals_than_they_need() -> None:
    values = 1e6 + np.random.default_rng(0).uniform(0, 1e-3, 400)
    texts = codes(values, bins=4)
    assert len(set(texts)) == 4
    assert all(len(text) < 36 for text in texts)
    edges = [float(text[1:].partition(",")[0]) for text in texts[1:]]
    assert np.diff(np.searchsorted(np.sort(values), [0, *edges, 2e6])) == pytest.approx(100, abs=1)


def test_a_search_that_can_look_at_nothing_says_so() -> None:
    spec = SPEC | {"min_rows": 200}
    result = plm.evaluate(table(100), label="y", models="p", metrics=["log_loss"], find_slices=spec)
    assert any("find_slices tested no slice" in text for text in result.record["warnings"])
    assert result.found_slices.is_empty()


def test_a_value_called_other_beside_the_rest_is_refused() -> None:
    with pytest.raises(DataError, match="has a value 'other'"):
        codes(["other", "other", "a", "b"], top=1)


def test_few_values_keep_one_called_other() -> None:
    assert codes(["other", "a"] * 2) == ["a", "other"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [(["regio"], "did you mean 'region'"), (["device", "tags"], "which has no slices to search")],
)
def test_columns_are_checked_before_anything_is_read(columns: list[str], words: str) -> None:
    frame = table(100).with_columns(tags=pl.concat_list("region"))
    with pytest.raises(DataError, match=words):
        plm.evaluate(frame, label="y", models="p", metrics=["f1"], find_slices=SPEC | {"columns": columns})


def test_too_many_slices_are_refused_with_what_to_lower() -> None:
    with pytest.raises(ConfigError) as caught:
        search(table(200), {"columns": ["region", "device", "age"], "depth": 3}, max_slices=50)
    said = str(caught.value)
    assert "up to 79 slices, more than max_slices = 50" in said
    assert "lower depth, top or bins, name fewer columns ('age' has the most values, 4)" in said


def test_a_constant_column_is_no_slice() -> None:
    found, said = search(table().with_columns(one=pl.lit("x")), {"columns": ["one", "region"], "depth": 1})
    assert said["possible"] == 4
    assert said["tested"] == 3
    assert "one=x" not in found["slice"].to_list()


def test_a_crossing_that_is_its_parent_is_not_told_twice() -> None:
    frame = table().with_columns(land=pl.when(region="north").then(pl.lit("N")).otherwise(pl.lit("-")))
    found, _ = search(frame, {"columns": ["region", "land"]})
    assert set(found["slice"]) == {"region=north", "land=N"}


def test_values_do_not_depend_on_the_order_of_rows_or_on_files(tmp_path: Path) -> None:
    frame = table()
    once, said = search(frame, unit="id")
    again, also = search(frame.sample(fraction=1.0, shuffle=True, seed=3), unit="id")
    for part, rows in enumerate(frame.iter_slices(700)):
        rows.write_parquet(tmp_path / f"{part}.parquet")
    files, _ = search(str(tmp_path / "*.parquet"), unit="id")
    assert said == also
    assert_frame_equal(once, again, rel_tol=1e-9)
    assert_frame_equal(once, files, rel_tol=1e-9)


def test_the_seed_divides_the_units() -> None:
    one, two, other = (search(table(), {"seed": seed}, unit="id")[0] for seed in (1, 1, 2))
    assert_frame_equal(one, two, rel_tol=1e-9)
    assert one["searched"].to_list() != other["searched"].to_list()


def test_the_share_is_that_of_the_searched_units() -> None:
    found, _ = search(table(6000), {"share": 0.8}, unit="id")
    rows = table(6000).filter(pl.col("region") == "north", pl.col("device").is_null()).height
    assert found["n"][0] == pytest.approx(0.2 * rows, rel=0.2)


def test_rows_of_weight_zero_are_absent() -> None:
    frame = table()
    more = pl.concat([frame, frame.with_columns(id=pl.col("id") + 5000, w=pl.lit(0.0), y=1 - pl.col("y"))])
    with_them, _ = search(more, weight="w", unit="id")
    without, _ = search(frame, weight="w", unit="id")
    assert_frame_equal(with_them, without, rel_tol=1e-9)


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_bad_rows_are_left_out_as_elsewhere(missing: str) -> None:
    frame = table()
    holes = frame.with_columns(p=pl.when(pl.col("id") % 7 > 0).then("p"))
    found, _ = search(holes, unit="id", missing=missing)
    expected, _ = search(frame.filter(pl.col("id") % 7 > 0), unit="id")
    assert_frame_equal(found, expected, rel_tol=1e-9)


def test_a_bad_row_is_an_error_that_names_it() -> None:
    frame = table().with_columns(p=pl.when(pl.col("id") != 17).then("p").otherwise(1.5))
    with pytest.raises(DataError, match="outside"):
        search(frame)


def test_one_model_of_two_sees_what_it_would_alone() -> None:
    frame = table().with_columns(q=pl.col("p") * 0.5 + 0.25)
    both, _ = search(frame, {"correction": "none"}, models={"a": "p", "b": "q"}, unit="id")
    only, _ = search(frame, {"correction": "none", "model": "b"}, models={"a": "p", "b": "q"}, unit="id")
    assert set(both["model"]) == {"a", "b"}
    own = both.filter(model="b").drop("family_size")
    assert_frame_equal(own, only.drop("family_size"), rel_tol=1e-9)


def test_several_scans_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"columns": ["region", "device", "age", "flag"], "depth": 3}
    once, _ = search(table(), spec, unit="id")
    monkeypatch.setattr("plmetrics.features.slice_search.search_plan.GROUPS_A_PASS", 1)
    monkeypatch.setattr("plmetrics.features.slice_search.search_plan.BATCH_ROWS", 500)
    again, _ = search(table(), spec, unit="id")
    assert_frame_equal(once, again, rel_tol=1e-9)


@pytest.mark.parametrize("metric", ["log_loss", "accuracy"])
def test_classes(metric: str) -> None:
    rng = np.random.default_rng(1)
    frame = table().with_columns(z=pl.Series(rng.choice(["u", "v"], 3000)), q=1 - pl.col("p"))
    frame = frame.with_columns(z=pl.when(y=1).then(pl.lit("u")).otherwise(pl.lit("v")))
    models = {"m": {"proba": {"u": "p", "v": "q"}}}
    found, _ = search(frame, {"metric": metric}, task="multiclass", label="z", models=models)
    assert found["slice"][0] == "region=north, device=null"


def test_a_run_shows_what_was_found(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "scores.parquet")
    suite = "data: {path: scores.parquet}\ncolumns: {label: y}\nmodels: {m: p}\nmetrics: [log_loss]\n"
    suite += "find_slices: {columns: [region, device], metric: log_loss, min_rows: 50}\n"
    (tmp_path / "found.yaml").write_text(suite)
    result = plm.run(tmp_path / "found.yaml")
    assert result.folder is not None
    assert pl.read_parquet(result.folder / "found_slices.parquet").equals(result.found_slices)
    assert result.record["find_slices"]["confirmed"] == result.found_slices["confirmed"].sum() == 3


@pytest.mark.parametrize(("sizes", "depth", "number"), [([3], 4, 3), ([2, 3, 4], 3, 2 + 3 + 4 + 26 + 24)])
def test_possible(sizes: list[int], depth: int, number: int) -> None:
    assert possible(sizes, depth) == number


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=7),
    depth=st.integers(1, 4),
    limit=st.integers(1, 5000),
)
def test_each_crossing_lies_within_a_grouping(sizes: list[int], depth: int, limit: int) -> None:
    made = column_groups(sizes, depth, limit)
    deep = min(depth, len(sizes))
    for members in combinations(range(len(sizes)), deep):
        assert any(set(members) <= set(known) for known in made)
    for known in made:
        assert len(known) <= deep or np.prod([sizes[number] for number in known]) <= limit
    assert not any(set(inner) < set(outer) for inner in made for outer in made)


def test_groupings_of_many_columns() -> None:
    """40 columns of depth 3 took a minute, as each set was held against each grouping."""
    start = time.process_time()
    assert column_groups([20] * 40, 3, 4096) == tuple(combinations(range(40), 3))
    assert time.process_time() - start < 10


BLOCKS = 10
WORSE = {"error_variance": 1.0, "explained_variance": -1.0, "r2": -1.0, "pearson": -1.0, "rmse_skill": -1.0}


def far_table(levels: tuple[float, ...], rows: int = 2_000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    g, h = rng.integers(0, len(levels), rows), rng.integers(0, 2, rows)
    noise, level = rng.normal(size=rows), np.array(levels)[g]
    error = np.where(h == 1, 1.5, 0.5) * rng.normal(size=rows)
    return pl.DataFrame(
        {
            "y": level + noise,
            "p": level * 1.5 + 0.7 * noise + error,
            "g": np.char.mod("%d", g),
            "h": np.char.mod("%d", h),
            "w": rng.exponential(size=rows),
            "u": rng.integers(0, 300, rows),
        }
    )


def far_slices(rows: pl.DataFrame, metric: str, **arguments: Any) -> pl.DataFrame:
    spec = {"columns": ["g", "h"], "metric": metric, "min_rows": 20, "level": 0.999, "blocks": BLOCKS}
    spec |= {"correction": "none", "largest": 50}
    given = {"task": "regression", "label": "y", "models": {"m": "p"}, "unit": "u", "find_slices": spec}
    return searched_slices(suite_from_arguments(**(given | arguments)), open_source(rows))[0]


def value(metric: str, rows: pl.DataFrame, weight: str | None) -> float:
    y, p = (rows[name].to_numpy().astype(np.longdouble) for name in ("y", "p"))
    w = np.ones(len(y), np.longdouble) if weight is None else rows[weight].to_numpy().astype(np.longdouble)

    def mean(x: Any) -> Any:
        return (w * x).sum() / w.sum()

    def cov(a: Any, b: Any) -> Any:
        return mean((a - mean(a)) * (b - mean(b)))

    e, vy = p - y, cov(y, y)
    return float(
        {
            "error_variance": lambda: cov(e, e),
            "explained_variance": lambda: 1 - cov(e, e) / vy,
            "r2": lambda: 1 - mean(e * e) / vy,
            "rmse_skill": lambda: 1 - np.sqrt(mean(e * e) / vy),
            "pearson": lambda: cov(y, p) / np.sqrt(vy * cov(p, p)),
        }[metric]()
    )


def assert_right(found: pl.DataFrame, rows: pl.DataFrame, metric: str, weight: str | None = None) -> None:
    unit = [mix_int(one ^ BLOCK_SALT) for one in rows["u"]]
    half = [mix_int(one ^ SEARCH_SALT ^ mix_int(0)) < 1 << 63 for one in unit]
    rows = rows.with_columns(block=pl.Series([one % BLOCKS for one in unit]), searched=pl.Series(half))
    assert found.height
    for one in found.iter_rows(named=True):
        inside = pl.all_horizontal(pl.col(k["column"]) == k["value"] for k in one["slice_values"])
        for name, part in (
            ("searched", rows.filter("searched")),
            ("difference", rows.filter(~pl.col("searched"))),
        ):
            here, there = (value(metric, part.filter(mask), weight) for mask in (inside, ~inside))
            assert one[name] == pytest.approx(here - there, rel=1e-8, abs=1e-9 * max(abs(here), abs(there)))
        assert (one["value"], one["rest"]) == (pytest.approx(here, rel=1e-9), pytest.approx(there, rel=1e-9))
        blocks = [part.filter(pl.col("block") != b) for b in range(BLOCKS)]
        without = [
            np.subtract(*(value(metric, left.filter(mask), weight) for mask in (inside, ~inside)))
            for left in blocks
        ]
        error = np.sqrt((BLOCKS - 1) / BLOCKS * np.sum((np.array(without) - (here - there)) ** 2))
        assert one["std_error"] == pytest.approx(error, rel=1e-6)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", WORSE)
@pytest.mark.parametrize(
    "levels",
    [(0.0, 1e8), (0.0, 1e12, 1e4), (1e9, 0.0, 0.0, 0.0), (1e9, 1e9)],
    ids=["two", "three", "one", "all"],
)
def test_slices_and_rests_keep_their_digits(metric: str, levels: tuple[float, ...]) -> None:
    rows = far_table(levels)
    found = far_slices(rows, metric)
    assert_right(found, rows, metric)
    if (metric, len(levels)) != (
        "error_variance",
        3,
    ):  # where no slice is worse than the levels of all others
        assert any("g=" in slice_ for slice_ in found["slice"])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "arguments",
    [{"weight": "w"}, {"reproducible": True}, {"missing": "drop_per_model"}],
    ids=["weighted", "reproducible", "apart"],
)
def test_weights_exact_sums_and_rows_of_their_own(arguments: dict[str, Any]) -> None:
    rows = far_table((0.0, 1e8, 3e8))
    given = rows
    if "missing" in arguments:
        gone = pl.int_range(pl.len()) % 7 == 0
        given = rows.with_columns(p=pl.when(gone).then(None).otherwise("p"), q="y")
        rows = rows.filter(~gone)
        arguments = {**arguments, "models": {"m": "p", "all": "q"}}
    found = far_slices(given, "pearson", **arguments).filter(model="m")
    assert_right(found, rows, "pearson", arguments.get("weight"))
    assert any("g=" in slice_ for slice_ in found["slice"])


@pytest.mark.slow
def test_a_reproducible_search_of_far_slices_is_the_same_in_any_order() -> None:
    rows = far_table((0.0, 1e8, 3e8))
    orders = [rows, *(rows.sample(fraction=1.0, shuffle=True, seed=seed) for seed in range(3))]
    found = [far_slices(order, "pearson", weight="w", reproducible=True) for order in orders]
    assert all(one.equals(found[0]) for one in found)


def test_near_slices_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        pytest.fail("nothing lies far")

    monkeypatch.setattr("plmetrics.features.slice_search.search_scan._about_means", refuse)
    rows = far_table((0.0, 5.0))
    assert_right(far_slices(rows, "error_variance"), rows, "error_variance")


MEAN_SCORE = {"name": "mean_score", "mean": "score", "direction": "lower"}


@pytest.mark.parametrize("weight", [None, "w"])
def test_values_of_rows_without_labels_are_searched_by_metrics_without_labels(weight: str | None) -> None:
    later = table(4000).with_columns(
        p=pl.when(pl.col("region") == "north").then(0.5 + pl.col("p") / 2).otherwise("p"),
        device=pl.when((pl.col("region") == "north") | pl.col("device").is_not_null()).then("device"),
    )
    frame = later.with_columns(
        y=pl.when((pl.col("region") != "north") & pl.col("device").is_not_null()).then("y")
    )
    spec = {"metric": "mean_score", "columns": ["region", "device", "age", "flag"]}
    asked: dict[str, Any] = {"metrics": [MEAN_SCORE], "weight": weight}
    found, said = search(frame, spec, **asked, labels=True)
    assert said["values"]["region"] == ["north", "south", "west"]
    assert said["values"]["device"] == ["desk", "phone", "null"]
    assert found.filter(slice="region=north")["confirmed"].item()
    every, _ = search(later, spec, **asked)
    assert_frame_equal(found, every, rel_tol=1e-12)


@pytest.mark.parametrize(("column", "of_rows", "trained"), [("split", "valid", "train"), ("inner", None, 1)])
def test_rows_that_were_trained_on_are_not_searched(column: str, of_rows: Any, trained: Any) -> None:
    frame = table().with_columns(fold=pl.col("id") % 5)
    fitted = frame.with_columns(p=0.05 + 0.9 * pl.col("y"))
    parts = [(frame, of_rows), (fitted, trained)]
    dtype = pl.Series([trained]).dtype
    both = pl.concat(part.with_columns(pl.lit(value, dtype=dtype).alias(column)) for part, value in parts)
    asked: dict[str, Any] = {"unit": "id", "metrics": ["log_loss"]}
    found, _ = search(both, **asked, fold="fold", cross_validation={column: column})
    alone, _ = search(frame, **asked)
    assert found.height > 0
    assert_frame_equal(found, alone, rel_tol=1e-12)


@pytest.mark.parametrize(("task", "metric"), [("binary", "log_loss"), ("regression", "rmse")])
@pytest.mark.parametrize("weight", [None, "w"])
def test_without_any_label_no_slice_is_tested(task: str, metric: str, weight: str | None) -> None:
    frame = table(400).with_columns(y=pl.lit(None, dtype=pl.Int8))
    positive = {"positive": 1} if task == "binary" else {}
    asked: dict[str, Any] = {"task": task, "label": "y", "models": "p", "weight": weight, "labels": True}
    asked |= {"unit": "id", "metrics": [metric], "find_slices": SPEC | {"metric": metric}, **positive}
    state = plm.state(frame, **asked)
    for result in (plm.evaluate(frame, **asked), plm.merge(state)):
        record: Any = result.record
        assert (result.found_slices.height, record["find_slices"]["tested"]) == (0, 0)
        assert any("tested no slice" in text for text in record["warnings"])
    record = plm.merge(state, plm.state(table(400, 1), **asked, constants=state)).record
    assert record["find_slices"]["tested"] > 0
