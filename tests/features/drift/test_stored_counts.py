"""Drift from states: as from the rows they were made of, exactly by value and within the bound by bin."""

import datetime as dt
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from architecture.watching import watched
from features.drift.test_counts import ALL
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats
from suites.drawn import suites

import plmetrics as plm
from plmetrics.api.context import RunContext
from plmetrics.api.pipeline import evaluate_suite
from plmetrics.features.drift import window_counts as drift_summary
from plmetrics.features.drift.constant_grid import lower_edge, upper_edge
from plmetrics.features.drift.references import ReferenceCounts
from plmetrics.features.stored.stored_state import stored_state
from plmetrics.suite.reader import suite_from_mapping
from plmetrics.table.opening import open_source

SUITE: dict[str, Any] = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], "name": "nightly"}
SLICES = {
    "region": "region",
    "size": {"column": "visits", "bins": [1, 3]},
    "both": ["region", "city"],
    "old": {"where": "age > 0.5"},
    "kinds": {"where": {"few": "visits < 2", "many": "visits >= 1"}},
    "tags": "tags",
}
FEW = {name: SLICES[name] for name in ("region",)}
EVERY: dict[str, Any] = {"columns": ["age", "visits", "city", "day"], "measures": ALL, "slices": "all"}
SPEC: dict[str, Any] = {
    **EVERY,
    "columns": ["age", "visits", "city"],
    "measures": ["psi", "wasserstein", "mean"],
}


def window(seed: int, size: int = 400, shift: float = 0.0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    awkward = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, -3.25]
    age = [awkward[i % 7] if i % 5 == 0 else value for i, value in enumerate(random.normal(shift, 1, size))]
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, size),
            "p": random.random(size),
            "q": np.round(random.random(size), 2),
            "age": pl.Series(age, dtype=pl.Float64, strict=False),
            "visits": random.poisson(1 + shift, size),
            "region": random.choice(["north", "south", "west"], size),
            "city": pl.Series(["a", "b", "c", None]).gather(random.integers(0, 4, size)),
            "day": [
                dt.datetime(2026, 1, 1) + dt.timedelta(hours=7 * int(i)) for i in random.integers(0, 90, size)
            ],
            "tags": [["x"], ["x", "z"], []] * (size // 3) + [["z"]] * (size % 3),
            "w": random.integers(0, 4, size),
        }
    )


REFERENCE, CURRENT = window(1, 500), window(2, shift=0.3)


def arguments_of(**arguments: Any) -> dict[str, Any]:
    return {**SUITE, "slices": FEW, **arguments}


def state(rows: pl.DataFrame, spec: dict[str, Any] = SPEC, **arguments: Any) -> plm.State:
    return plm.state(rows, **arguments_of(**arguments), drift={"where": "p > 2", **spec})


def by_states(*states: Any, rows: pl.DataFrame = CURRENT, spec: Any = SPEC, **arguments: Any) -> pl.DataFrame:
    return plm.evaluate(rows, **arguments_of(**arguments), drift={"state": list(states), **spec}).drift


def by_rows(
    reference: pl.DataFrame = REFERENCE, rows: pl.DataFrame = CURRENT, spec: Any = SPEC, **arguments: Any
) -> pl.DataFrame:
    return plm.evaluate(rows, **arguments_of(**arguments), drift={"reference": reference, **spec}).drift


def parts_of(rows: pl.DataFrame, parts: int, seed: int = 0) -> list[pl.DataFrame]:
    owner = np.random.default_rng(seed).integers(0, parts, rows.height)
    return [rows.filter(pl.Series(owner == part)) for part in range(parts)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "arguments",
    [
        {"weight": "w"},
        {"models": {"m": "p", "k": "q"}, "min_rows": 60},
        {"models": {"m": "p", "k": "age"}, "missing": "drop_per_model"},
        {"task": "regression", "label": "visits", "metrics": ["mae"]},
        {
            "task": "multiclass",
            "label": "region",
            "models": {"m": {"prediction": "region"}},
            "slices": {"old": SLICES["old"]},
        },
    ],
)
def test_models_labels_and_tasks_are_compared_as_by_rows(arguments: dict[str, Any]) -> None:
    found = by_states(state(REFERENCE, **arguments), **arguments)
    assert_frame_equal(found, by_rows(**arguments), abs_tol=1e-12)
    assert found["bound"].null_count() == found.height


@pytest.mark.exhaustive
@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize("form", ["rows", "state", "states"])
def test_floats_of_32_and_64_bits_are_compared_in_32(narrow: int, form: str) -> None:
    """Decimals stored in either are the same values: SciPy's distance of the decimals, also in slices by them."""
    random = np.random.default_rng(4)
    sides = [
        pl.DataFrame(
            {
                "y": random.integers(0, 2, 90),
                "p": random.integers(1 + side, 9, 90) / 10,
                "x": random.integers(side, 12, 90) / 10,
                "g": np.arange(90) % 3 / 10,
            }
        )
        for side in (0, 1)
    ]
    floats = ["p", "x", "g"]
    tables = [
        side.with_columns(pl.col(floats).cast(pl.Float32)) if n == narrow else side
        for n, side in enumerate(sides)
    ]
    asked: dict[str, Any] = {
        "slices": {"g": "g"},
        "spec": {"columns": "x", "measures": "ks_2samp", "label": False, "slices": "g"},
    }
    if form == "rows":
        found = by_rows(*tables, **asked)
    else:
        halves = [sides[0][:45], tables[0][45:]] if form == "states" else [tables[0]]
        found = by_states(*(state(half, **asked) for half in halves), rows=tables[1], **asked)
    measured = found.filter(measure="ks_2samp")
    assert measured.height == 8
    for column, name, value in measured.select("column", "slice", "value").iter_rows():
        level = None if name == "all" else float(name.removeprefix("g="))
        ours = (side if level is None else side.filter(g=level) for side in sides)
        assert value == pytest.approx(stats.ks_2samp(*(part[column] for part in ours)).statistic, abs=1e-12)


@pytest.mark.slow
def test_values_are_compared_as_those_of_the_rows_by_every_measure_in_every_kind_of_slice() -> None:
    found = by_states(state(REFERENCE, EVERY, slices=SLICES), spec=EVERY, slices=SLICES)
    assert_frame_equal(found, by_rows(spec=EVERY, slices=SLICES), abs_tol=1e-12)
    assert found["bound"].null_count() == found.height


@pytest.mark.slow
@settings(max_examples=max(5, settings.default.max_examples // 20))
@given(made=suites(), seed=st.integers(0, 1 << 20))
def test_random_suites_are_compared_as_by_rows(made: tuple[dict[str, Any], pl.DataFrame], seed: int) -> None:
    drawn, table = made
    kept: dict[str, Any] = {
        key: drawn[key] for key in ("task", "columns", "models", "slices", "positive") if key in drawn
    }
    texts = [metric for metric in drawn["metrics"] if isinstance(metric, str)]
    key = (table["unit"] if drawn["task"] == "ranking" else pl.Series(range(table.height))).hash(seed)
    sides = table.filter(key % 2 == 0), table.filter(key % 2 == 1)
    assume(min(side.height for side in sides) > 0)
    cut = [name for name, spec in kept["slices"].items() if not {"quantiles", "top"} & set(spec)]
    section = {"columns": ["w", "unit"], "measures": ALL, "slices": cut}

    def run(rows: pl.DataFrame, reference: dict[str, Any], beside: RunContext) -> plm.Result:
        suite = {**kept, "metrics": texts[:1], "drift": {**section, **reference}}
        return evaluate_suite(suite_from_mapping(suite), open_source(rows), context=beside)

    try:
        expected = run(sides[1], {"reference": "rows"}, RunContext({"drift": open_source(sides[0])}))
    except plm.DataError as error:
        assume("has no rows" not in str(error))
        raise
    path = ("drift", "run")
    before = run(
        sides[0], {"run": "none"}, RunContext(counts={"drift": ReferenceCounts((), path)})
    ).drift_state
    assert before is not None
    found = run(
        sides[1],
        {"run": "state"},
        RunContext(counts={"drift": ReferenceCounts((stored_state(before),), path)}),
    )
    assert_frame_equal(found.drift, expected.drift, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("most", "arguments"), [(None, {}), (8, {"weight": "w"})])
def test_states_of_parts_add_to_that_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int | None, arguments: dict[str, Any]
) -> None:
    if most is not None:
        monkeypatch.setattr(drift_summary, "MOST_VALUES", most)
    whole = state(REFERENCE, **arguments)
    parts = [state(rows, **arguments) for rows in parts_of(REFERENCE, 3)]
    expected = by_states(whole, **arguments)
    assert (expected["bound"].null_count() == expected.height) == (most is None)
    assert_frame_equal(by_states(*parts, **arguments), expected, rel_tol=1e-9, abs_tol=1e-9)
    merged = [tmp_path / "first.state", tmp_path / "second.state"]
    plm.merge(*parts[:1], state=merged[0])
    plm.merge(*parts[1:], state=merged[1])
    assert_frame_equal(by_states(*merged, **arguments), expected, rel_tol=1e-9, abs_tol=1e-9)
    assert_frame_equal(by_states(tmp_path, **arguments), expected, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.slow
def test_values_fold_when_several_days_together_have_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they fold depends on all rows, not on how these were split."""
    parts = parts_of(REFERENCE, 4)
    most = REFERENCE["p"].n_unique() - 1
    monkeypatch.setattr(drift_summary, "MOST_VALUES", most)
    assert max(part.height for part in parts) < most
    split = by_states(*map(state, parts)).filter(column="p")
    whole = by_states(state(REFERENCE)).filter(column="p")
    assert whole.filter(measure="wasserstein")["bound"].min() > 0  # type: ignore[operator]
    assert_frame_equal(split, whole, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
def test_bins_stay_within_their_bound(monkeypatch: pytest.MonkeyPatch, weight: str | None) -> None:
    wide = [
        rows.with_columns(age=(pl.col("age") * 3).exp() * pl.when(pl.col("y") == 1).then(1.0).otherwise(-1.0))
        for rows in (REFERENCE, CURRENT)
    ]
    spec = {**EVERY, "columns": ["age", "day"]}
    exact = by_rows(wide[0], wide[1], spec, weight=weight)
    monkeypatch.setattr(drift_summary, "MOST_VALUES", 8)
    binned = by_states(state(wide[0], spec, weight=weight), rows=wide[1], spec=spec, weight=weight)
    keys = ["subject", "column", "slice_set", "slice", "measure", "n_reference", "n_current", "status"]
    assert_frame_equal(exact.select(keys), binned.select(keys))
    both = exact.with_columns(binned["value"].alias("binned"), binned["bound"].alias("off"))
    for name in ("mean", "variance", "null_share"):
        own = both.filter(measure=name).drop_nulls("value")
        assert own["binned"].to_numpy() == pytest.approx(own["value"].to_numpy(), rel=1e-9, abs=1e-12)
    for name in ("ks_2samp", "wasserstein", "quantile(q=0.9)"):
        own = both.filter(measure=name).drop_nulls("value")
        apart = (own["binned"] - own["value"]).abs()
        assert (apart <= own["off"].fill_null(0.0) + 1e-12).all()
        assert own["off"].drop_nulls().len() > 0
    assert (exact["value"] != binned["value"]).any()


def naive_edge(value: float) -> float:
    """The lower end of the bin of a number, from its significand of 11 binary digits."""
    significand, exponent = math.frexp(value)
    return math.ldexp(math.floor(significand * 2048), exponent - 11)


NUMBERS = [
    *np.random.default_rng(3).normal(size=500),
    *(np.random.default_rng(4).normal(size=500) * 10.0 ** np.arange(-250, 250)),
    *np.arange(-2048.0, 2049.0, 7),
    *(0.0, 1.7e308, -1.7e308, 32.0, -32.0, 2049.0, -2049.0),
]


def test_a_bin_holds_the_numbers_that_share_their_leading_digits() -> None:
    frame = pl.DataFrame({"x": NUMBERS}).with_columns(low=lower_edge(pl.col("x"), "number"))
    assert frame["low"].to_list() == [naive_edge(value) for value in NUMBERS]
    frame = frame.with_columns(high=upper_edge(pl.col("low"), "number"))
    assert frame.filter((pl.col("x") < pl.col("low")) | (pl.col("x") >= pl.col("high"))).is_empty()
    assert frame.select(
        ((pl.col("high") - pl.col("low")) / pl.col("x").abs()).filter(pl.col("x") != 0) < 2**-9
    )["high"].all()
    whole = pl.DataFrame({"x": np.arange(-2048.0, 2049.0)})
    assert whole.select(lower_edge(pl.col("x"), "number"))["x"].equals(whole["x"])


@pytest.mark.parametrize("kind", ["number", "days"])
def test_edges_rise_with_the_numbers_and_are_their_own_edge(kind: Any) -> None:
    values = sorted([*NUMBERS, *np.nextafter(NUMBERS, 0.0)] if kind == "number" else NUMBERS[:500])
    if kind == "days":
        values = sorted([*values, *np.arange(-100, 100, 0.01), *np.nextafter([32, -32, -32], [0, 0, -99])])
    frame = pl.DataFrame({"x": values}).with_columns(low=lower_edge(pl.col("x"), kind))
    assert frame["low"].is_sorted()
    assert frame.select(lower_edge(pl.col("low"), kind))["low"].equals(frame["low"])
    high = frame.select(upper_edge(pl.col("low"), kind))["low"]
    assert (frame["x"] < high).all()
    assert (frame["low"] <= frame["x"]).all()
    if kind == "days":
        assert (high - frame["low"]).max() <= 1 / 32  # type: ignore[operator]


def test_psi_of_bins_is_that_of_values_at_their_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_summary, "MOST_VALUES", 8)
    spec = {
        "columns": ["p"],
        "scores": False,
        "label": False,
        "measures": ["psi", "chi2_2samp", "jensen_shannon"],
    }
    found = by_states(state(REFERENCE, spec), spec=spec)
    lowered = [
        rows.with_columns(p=pl.Series([naive_edge(value) for value in rows["p"]]))
        for rows in (REFERENCE, CURRENT)
    ]
    expected = by_rows(lowered[0], lowered[1], spec)
    assert found["value"].to_list() == pytest.approx(expected["value"].to_list(), abs=1e-12)


@pytest.mark.slow
def test_what_has_a_bin_of_its_own_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers up to 2,048, and a value that most rows share where the rest are spread."""
    monkeypatch.setattr(drift_summary, "MOST_VALUES", 8)
    sides = [
        rows.with_columns(
            count=(pl.col("p") * 1000).round().cast(pl.Int64),
            mostly=pl.when(pl.col("y") == 1).then(0.0).otherwise(pl.col("p")),
        )
        for rows in (REFERENCE, CURRENT)
    ]
    spec = {"columns": ["count", "mostly"], "measures": ALL, "slices": "region"}
    found = by_states(state(sides[0], spec), rows=sides[1], spec=spec)
    expected = by_rows(sides[0], sides[1], spec)
    whole = found.filter(column="count")
    assert_frame_equal(whole, expected.filter(column="count"), abs_tol=1e-12)
    mostly = found.filter(column="mostly", measure="ks_2samp")
    assert mostly["bound"].max() < 0.1  # type: ignore[operator]


def test_texts_that_are_new_in_every_row_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_summary, "MOST_CATEGORIES", 300)
    parts = [
        rows.with_columns(id=pl.int_range(pl.len()).cast(pl.String) + str(number))
        for number, rows in enumerate(parts_of(REFERENCE, 2))
    ]
    spec = {"columns": ["id"], "measures": ["psi"]}
    found = by_states(*(state(part, spec) for part in parts), rows=parts[0], spec=spec)
    said = dict(found.filter(column="id", slice_set="overall").select("measure", "status").iter_rows())
    assert said == {"psi": "too_many_values", "null_share": "ok"}
    few = by_states(state(parts[0], spec), rows=parts[0], spec=spec)
    assert few.filter(column="id", measure="psi", slice_set="overall")["value"].item() == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, "number"])
def test_a_column_of_nulls_is_of_any_type(kind: str | None) -> None:
    lost = CURRENT.with_columns(age=pl.lit(None, dtype=None if kind is None else pl.Float64))
    slices = {"region": "region"}
    for before, now in ((REFERENCE, lost), (lost, CURRENT), (lost, lost)):
        if kind is None and before is lost:
            continue  # A table of nulls says nothing of their type to the other way.
        found = by_states(state(before, slices=slices), rows=now, slices=slices)
        assert_frame_equal(found, by_rows(before, now, slices=slices), abs_tol=1e-12)
    days = [state(lost, slices=slices), state(REFERENCE, slices=slices)]
    together = by_states(*days, slices=slices).filter(column="age")
    rows = pl.concat([lost.with_columns(pl.col("age").cast(pl.Float64)), REFERENCE])
    assert_frame_equal(together, by_rows(rows, slices=slices).filter(column="age"), abs_tol=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("values_", [[5.0], [0.1, 0.1], [None, None, None], [7e10, 7e10, None]])
def test_tiny_and_constant_windows(values_: list[float | None]) -> None:
    rows = pl.DataFrame(
        {"y": [1] * len(values_), "p": 0.25, "k": pl.Series(values_, dtype=pl.Float64)}, strict=False
    )
    spec = {"columns": ["k"], "measures": ALL}
    found = by_states(state(rows, spec, slices=None), rows=rows, spec=spec, slices=None)
    assert_frame_equal(found, by_rows(rows, rows, spec, slices=None))


def test_slices_that_only_one_window_has() -> None:
    moved = CURRENT.with_columns(region=pl.col("region").replace("west", "east"))
    slices = {"region": "region"}
    found = by_states(state(REFERENCE, slices=slices), rows=moved, slices=slices)
    assert_frame_equal(found, by_rows(REFERENCE, moved, slices=slices), abs_tol=1e-12)
    assert {"no_rows_in_reference", "no_rows_in_current"} < set(found["status"])


def test_slices_are_cut_where_the_state_cuts_them() -> None:
    slices = {"old": {"column": "visits", "quantiles": 2}, "big": {"column": "region", "top": 1}}
    few = CURRENT.with_columns(visits=pl.col("visits") + 5).filter(pl.col("region") != "north")
    found = by_states(state(REFERENCE, slices=slices), rows=few, slices=slices)
    edge = np.quantile(REFERENCE["visits"], 0.5, method="averaged_inverted_cdf")
    own = found.filter(column="age", slice_set="old", measure="null_share")
    assert set(own["slice"]) == {f"visits=(-inf, {edge:g})", f"visits=[{edge:g}, inf)"}
    counts = dict(own.select("slice", "n_current").iter_rows())
    assert counts[f"visits=[{edge:g}, inf)"] == few.filter(pl.col("visits") >= edge).height
    top = REFERENCE["region"].value_counts().sort("count", "region", descending=[True, False])["region"][0]
    assert f"region={top}" in set(found.filter(slice_set="big")["slice"])


@pytest.mark.slow
def test_a_state_of_an_older_suite_serves_as_far_as_it_holds_what_is_asked() -> None:
    older = {"models": {"old": "p", "k": "q"}, "metrics": ["brier"], "slices": {**SLICES, "w": "w"}}
    before = state(REFERENCE, {**SPEC, "columns": ["visits", "day", "age", "w", "city"]}, **older)
    assert_frame_equal(by_states(before), by_rows(), abs_tol=1e-12)
    fewer = by_states(before, slices={"city": SLICES["both"]})
    assert_frame_equal(fewer, by_rows(slices={"city": SLICES["both"]}), abs_tol=1e-12)


def test_whole_numbers_and_texts_compare_across_their_types() -> None:
    before = REFERENCE.cast({"visits": pl.Int16, "region": pl.Categorical, "city": pl.Categorical})
    assert_frame_equal(by_states(state(before)), by_rows(), abs_tol=1e-12)


@pytest.mark.slow
def test_rankings_are_compared_row_by_row() -> None:
    sides = [rows.with_columns(q=pl.int_range(pl.len()) // 10) for rows in (REFERENCE, CURRENT)]
    sides = [rows.with_columns(region=pl.col("region").first().over("q")) for rows in sides]
    slices = {"region": "region", "big": {"column": "region", "top": 1}}
    ranking: dict[str, Any] = {"task": "ranking", "query": "q", "metrics": ["ndcg"], "slices": slices}
    found = by_states(state(sides[0], **ranking), rows=sides[1], **ranking).filter(slice_set="region")
    assert_frame_equal(found, by_rows(*sides, **ranking).filter(slice_set="region"), abs_tol=1e-12)


@pytest.mark.slow
def test_a_result_is_the_reference_of_the_next() -> None:
    first = plm.evaluate(REFERENCE, **arguments_of(), drift={"state": state(CURRENT), **SPEC})
    second = plm.evaluate(CURRENT, **arguments_of(), drift={"run": first, **SPEC})
    assert_frame_equal(second.drift, by_rows(), abs_tol=1e-12)
    gate = {"measure": "mean", "column": "visits", "at_most": 0.1}
    judged = plm.evaluate(CURRENT, **arguments_of(), drift={"run": second, **SPEC, "gates": [gate]})
    assert judged.gates["verdict"].to_list() == ["pass"]
    judged = plm.evaluate(CURRENT, **arguments_of(), drift={"run": first, **SPEC, "gates": [gate]})
    assert judged.verdict == "fail"
    plain = plm.evaluate(CURRENT, **arguments_of())
    with pytest.raises(plm.DataError, match=r"holds no counts for drift"):
        plm.evaluate(CURRENT, **arguments_of(), drift={"run": plain, **SPEC})


def test_rows_of_the_same_table_are_not_in_its_state() -> None:
    """`where` without another table names the reference: what is left is what a state counts."""
    both = pl.concat([REFERENCE.with_columns(month=8), CURRENT.with_columns(month=9)])
    held = state(both, {**SPEC, "where": "month = 9"})
    assert_frame_equal(by_states(held), by_rows(), abs_tol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("most", [8, 16_384])
def test_plans_stream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int) -> None:
    held = state(REFERENCE, slices=SLICES, weight="w")
    monkeypatch.setattr(drift_summary, "MOST_VALUES", most)
    CURRENT.write_parquet(tmp_path / "rows.parquet")
    spec = {"state": held, **SPEC}
    scans = []
    for section in (None, spec):
        with watched() as made:
            plm.evaluate(tmp_path / "rows.parquet", **arguments_of(slices=SLICES, weight="w"), drift=section)
        assert not [each for each in made if each.stuck]
        scans.append(sum(each.scans for each in made))
    assert scans[1] <= scans[0]


@cache
def of_every_column() -> plm.State:
    return state(REFERENCE, EVERY, slices=SLICES)


ZONED = CURRENT.with_columns(pl.col("day").dt.replace_time_zone("UTC"))


SLICED_BY_W = r"not sliced by the slice set 'w'; .*region, size, both"
OTHER_CONDITION = r"means by 'old' 'age > 0.5', and this suite 'age > 1'"
OLD = {"slices": {"old": {"where": "age > 1"}}}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("rows", "spec", "arguments", "words"),
    [
        (CURRENT, {"columns": ["w"]}, {}, r"does not count column 'w'; it counts .*column 'age'"),
        (CURRENT, {}, {"models": {"m": "q"}}, "does not count the score of model 'm' .column 'q'"),
        (CURRENT.cast({"visits": pl.String}), {"slices": "region"}, {}, "holds texts or .* held numbers"),
        (ZONED, {"columns": ["day"]}, {}, "has a time zone, but had none"),
        (CURRENT, {}, {"weight": "w"}, "weighs rows equally, and this suite by 'w'"),
        (CURRENT, {"slices": "city"}, {"slices": ["city"]}, None),
        (CURRENT, {"slices": "w"}, {"slices": ["w"]}, SLICED_BY_W),
        (CURRENT, {"slices": "old"}, OLD, OTHER_CONDITION),
        (CURRENT.with_columns(region=3), {"slices": "region"}, {"slices": ["region"]}, "of type String"),
        (CURRENT, {}, {"positive": 0}, "counts 0 as positive, but counted 1"),
    ],
)
def test_what_does_not_fit_is_said(rows: Any, spec: Any, arguments: Any, words: str | None) -> None:
    if words is None:
        assert by_some(of_every_column(), rows, spec, **arguments).height
        return
    with pytest.raises(plm.DataError, match=words) as caught:
        by_some(of_every_column(), rows, spec, **arguments)
    assert {problem.path[0] for problem in caught.value.problems} == {"drift"}


def by_some(held: plm.State, rows: Any, spec: Any, **arguments: Any) -> pl.DataFrame:
    """Drift from a state, with some of its slice sets."""
    slices = {name: SLICES[name] for name in ("region", "old")}
    return by_states(held, rows=rows, spec={**SPEC, **spec}, **{"slices": slices, **arguments})


def test_states_without_counts_are_no_reference() -> None:
    without_rows = state(REFERENCE, {**SPEC, "where": "p < 2"}, slices=SLICES)
    for held, words in (
        (without_rows, "the reference has no rows"),
        (plm.state(REFERENCE, **arguments_of()), "holds no counts for drift"),
    ):
        with pytest.raises(plm.DataError, match=words) as caught:
            by_some(held, CURRENT, {})
        assert {problem.path[0] for problem in caught.value.problems} == {"drift"}


def test_a_state_does_not_promise_what_it_cannot_keep() -> None:
    with pytest.raises(plm.ConfigError, match="drift adds values within bins as they come"):
        state(REFERENCE, reproducible=True)


def test_states_of_other_types_do_not_add() -> None:
    spec = {"columns": ["visits"]}
    other = state(REFERENCE.cast({"visits": pl.String}), spec, slices=None)
    for join in (plm.merge, lambda *days: by_states(*days, spec=spec, slices=None)):
        with pytest.raises(plm.PlmetricsError, match=r"column 'visits' holds"):
            join(state(REFERENCE, spec, slices=None), other)


USERS: dict[str, Any] = {"unit": "visits", "slices": FEW}


@pytest.mark.slow
@pytest.mark.parametrize("most", [16_384, 40])
def test_p_values_of_units_from_states_are_those_of_rows(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By value, and in bins about which the offsets of blocks are known; a unit may be in several states."""
    users = [
        side.with_columns(visits=pl.int_range(pl.len()) % 90 + 60 * n)
        for n, side in enumerate((REFERENCE, CURRENT))
    ]
    spec = {
        **SPEC,
        "columns": ["age", "city"],
        "measures": ["ks_2samp", "chi2_2samp", "mean"],
        "slices": "all",
    }
    expected = by_rows(*users, spec=spec, **USERS)
    assert expected["p_status"].to_list().count("ok") == 4 * 8
    monkeypatch.setattr(drift_summary, "MOST_VALUES", most)
    states = [state(part, spec, **USERS) for part in parts_of(users[0], 3)]
    measured = by_states(*states, rows=users[1], spec=spec, **USERS)
    if most < 100:
        assert (
            measured.filter(column="age")["bound"].null_count()
            < expected.filter(column="age")["bound"].null_count()
        )
        measured, expected = (table.filter(measure="mean") for table in (measured, expected))
    assert_frame_equal(measured.drop("bound"), expected.drop("bound"), abs_tol=1e-9)


@pytest.mark.slow
def test_states_without_units_serve_those_with_units_but_for_p_values() -> None:
    """And states with units those without; of both kinds together units are not known."""
    users = [side.with_columns(visits=pl.int_range(pl.len()) % 90) for side in (REFERENCE, CURRENT)]
    with_units = [state(part, EVERY | {"slices": "region"}, **USERS) for part in parts_of(users[0], 2)]
    plain = [state(part, EVERY | {"slices": "region"}) for part in parts_of(users[0], 2)]
    spec = {**SPEC, "columns": ["age"], "measures": ["ks_2samp", "mean"], "slices": "region"}
    expected = by_rows(*users, spec=spec)
    assert_frame_equal(by_states(*with_units, rows=users[1], spec=spec), expected, abs_tol=1e-12)
    for states in (plain, [with_units[0], plain[1]]):
        measured = by_states(*states, rows=users[1], spec=spec, **USERS)
        assert set(measured.filter(pl.col("p_status") != "no_test")["p_status"]) == {"clustered", "undefined"}
        assert measured["p_value"].null_count() == measured.height
        unchanged = ["column", "measure", "slice", "value", "reference", "current", "status"]
        assert_frame_equal(measured.select(unchanged), expected.select(unchanged), abs_tol=1e-12)
