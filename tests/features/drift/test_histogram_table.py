"""Histograms of drift: rows and shares of both windows against NumPy and plain counters."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import plmetrics as plm
from plmetrics.core.results import DRIFT_HISTOGRAMS_SCHEMA
from plmetrics.features.drift import counts as engine_drift
from plmetrics.features.drift import histogram_table
from plmetrics.features.drift.histogram_table import MOST_INTERVALS, round_edges

ARGUMENTS = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], "slices": {"region": "region"}}


def window(seed: int, size: int, shift: float = 0.0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, size),
            "p": random.random(size),
            "age": [None if value > 1.5 else value for value in random.normal(shift, 1, size)],
            "income": np.exp(random.normal(0, 2.5, size)),
            "visits": random.poisson(1 + shift, size),
            "region": random.choice(["north", "süd", ""], size),
            "city": [f"c{number}" if number else None for number in random.integers(0, 50, size)],
            "w": random.integers(0, 4, size),
            "same": [7.5] * size,
            "never": pl.Series([None] * size, dtype=pl.Float64),
        }
    )


BEFORE, NOW = window(1, 900), window(2, 400, 0.4)
NUMBERS = ["age", "income", "visits"]


def histograms(now: pl.DataFrame = NOW, before: Any = BEFORE, **options: Any) -> pl.DataFrame:
    columns = [*NUMBERS, "city", "same", "never"]
    drift = {"columns": columns, "slices": "region"} | (
        before if isinstance(before, dict) else {"reference": before}
    )
    table = plm.evaluate(now, drift=drift, **(ARGUMENTS | options)).others["drift_histograms"]
    assert table.schema == DRIFT_HISTOGRAMS_SCHEMA
    return table


def inside(values: np.ndarray, row: dict[str, Any]) -> np.ndarray:
    above = np.full(len(values), True) if row["lower"] is None else values >= row["lower"]
    return above & (np.full(len(values), True) if row["upper"] is None else values < row["upper"])


def check_numbers(table: pl.DataFrame, now: pl.DataFrame, before: pl.DataFrame, weight: str | None) -> None:
    """Every interval against masks over the rows; together they hold every row once."""
    for side, frame in (("reference", before), ("current", now)):
        for column in (*NUMBERS, "p"):
            for region in (None, *sorted(BEFORE["region"].unique())):
                rows = frame if region is None else frame.filter(region=region)
                text = "all" if region is None else f"region={region}"
                part = table.filter(column=column, slice=text)
                mass = np.ones(rows.height) if weight is None else rows[weight].to_numpy().astype(float)
                values = rows[column].to_numpy().astype(float)
                values = np.where(mass > 0, values, np.nan)
                total = mass.sum()
                for row in part.filter(kind="interval").iter_rows(named=True):
                    mask = inside(values, row)
                    assert row[f"n_{side}"] == mask.sum(), (column, text, row)
                    assert row[f"share_{side}"] == pytest.approx(
                        mass[mask].sum() / total, rel=1e-12, abs=1e-15
                    )
                assert part[f"n_{side}"].sum() == (mass > 0).sum()
                assert part[f"share_{side}"].sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_intervals_of_numbers_are_those_of_numpy(weight: str | None) -> None:
    table = histograms(**({} if weight is None else {"weight": weight}))
    check_numbers(table, NOW, BEFORE, weight)
    few = table.filter(slice="all").group_by("column").len()
    assert few["len"].max() <= 31


def test_edges_meet_and_are_the_same_in_all_slices() -> None:
    table = histograms()
    for column in NUMBERS:
        parts = table.filter(column=column).partition_by("slice", maintain_order=True)
        assert len(parts) == 4
        first = parts[0].select("bin", "kind", "lower", "upper")
        assert all(part.select(first.columns).equals(first) for part in parts)
        ends = first.filter(kind="interval")
        assert ends["lower"][1:].to_list() == ends["upper"][:-1].to_list()


def test_a_tail_far_off_is_one_open_interval() -> None:
    income = histograms().filter(column="income", slice="all")
    last = income.row(-1, named=True)
    assert last["upper"] is None
    assert last["bin"] == f">= {last['lower']:g}"
    assert last["n_reference"] == (BEFORE["income"] >= last["lower"]).sum()
    assert income["n_reference"].max() < 0.9 * BEFORE.height


def test_categories_are_the_largest_and_others() -> None:
    city = histograms().filter(column="city", slice="all")
    counted = [Counter(frame["city"].to_list()) for frame in (BEFORE, NOW)]
    named = city.filter(kind="value")
    assert named.height == 29
    for row in named.iter_rows(named=True):
        assert (row["n_reference"], row["n_current"]) == (counted[0][row["bin"]], counted[1][row["bin"]])
        assert row["share_current"] == pytest.approx(counted[1][row["bin"]] / NOW.height)
    names = set(named["bin"])
    others = city.filter(kind="other").row(0, named=True)
    assert others["n_reference"] == sum(
        n for text, n in counted[0].items() if text is not None and text not in names
    )
    null = city.filter(kind="null").row(0, named=True)
    assert (null["bin"], null["n_reference"], null["n_current"]) == (None, counted[0][None], counted[1][None])
    smallest = min(counted[0][name] / BEFORE.height + counted[1][name] / NOW.height for name in names)
    left_out = set(counted[0]) | set(counted[1])
    left_out -= names | {None}
    assert smallest >= max(
        counted[0][name] / BEFORE.height + counted[1][name] / NOW.height for name in left_out
    )


def test_one_value_and_no_value() -> None:
    table = histograms().filter(slice="all")
    same = table.filter(column="same").row(0, named=True)
    assert (same["kind"], same["bin"], same["lower"], same["upper"]) == ("value", "7.5", 7.5, 7.5)
    assert (same["n_reference"], same["share_current"]) == (900, 1.0)
    never = table.filter(column="never")
    assert never["kind"].to_list() == ["null"]
    assert never["share_current"].to_list() == [1.0]


def test_rows_without_a_score_are_left_out() -> None:
    now = NOW.with_columns(p=pl.when(pl.int_range(pl.len()) < 100).then(None).otherwise("p"))
    table = histograms(now, missing="drop_per_model").filter(subject="score", slice="all")
    assert table["kind"].unique().to_list() == ["interval"]
    assert table["n_current"].sum() == 300
    assert table["share_current"].sum() == pytest.approx(1.0)


def test_a_slice_of_one_window_has_no_shares_in_the_other() -> None:
    now = NOW.with_columns(region=pl.lit("new"))
    table = histograms(now).filter(slice="region=new", column="age")
    assert table["share_reference"].null_count() == table.height
    assert table["share_current"].sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_counts_on_fine_bins_are_not_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_drift, "FINE_BINS", 64)
    table = histograms(exact=False)
    assert (histograms().filter(column="p")["lower"] != table.filter(column="p")["lower"]).any()
    check_numbers(table, NOW, BEFORE, None)


@pytest.mark.slow
def test_a_stored_state_gives_the_same_histograms_as_its_rows(tmp_path: Path) -> None:
    columns = [*NUMBERS, "city", "same", "never"]
    suite = ARGUMENTS | {"drift": {"columns": columns, "slices": "region", "where": "p > 2"}}
    path = tmp_path / "before.state"
    plm.state(BEFORE, path, **suite)
    from_state = histograms(NOW, {"state": str(path)})
    assert from_state.equals(histograms())


def test_many_slices_are_limited_to_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram_table, "MOST_SLICES", 2)
    table = histograms().filter(column="visits", slice_set="region")
    sizes = pl.concat([BEFORE, NOW]).group_by("region").len().sort("len", descending=True)
    expected = {f"region={region}" for region in sizes["region"].head(2)}
    assert set(table["slice"]) == expected


def test_without_a_reference_yet_the_table_is_empty_and_without_drift_there_is_none() -> None:
    assert histogram_table.histogram_table([], ()).equals(DRIFT_HISTOGRAMS_SCHEMA.to_frame())
    assert "drift_histograms" not in plm.evaluate(NOW, **ARGUMENTS).others


@pytest.mark.slow
def test_shares_do_not_depend_on_the_order_of_rows() -> None:
    """Weights of floats add up to the same bits where a run is to be reproducible."""
    before, now = (
        window(seed, 40_000, shift).with_columns(w=pl.col("income") / 7)
        for seed, shift in ((1, 0.0), (2, 0.4))
    )
    tables = []
    for seed in (None, 1, 2):
        one, other = (
            frame if seed is None else frame.sample(fraction=1, shuffle=True, seed=seed)
            for frame in (before, now)
        )
        result = plm.evaluate(
            other,
            **ARGUMENTS,
            weight="w",
            reproducible=True,
            drift={"reference": one, "columns": ["income", "city"]},
        )
        tables.append(result.tables["drift_histograms"])
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE)
@example(1e-310, 2e-310)
@example(-1.7e308, 1.7e308)
@example(1e15, 1e15 + 12.375)
@example(0.0, 5e-324)
def test_edges_rise_and_hold_every_value_between_two(one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low == high:
        return
    edges = round_edges(low, high)
    assert 2 <= len(edges) <= MOST_INTERVALS + 1
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= low
    assert high <= edges[-1]


@pytest.mark.parametrize(
    ("low", "high", "step", "first", "last"),
    [
        (0.0, 1.0, 0.05, 0.0, 1.05),
        (0.0137, 0.9981, 0.05, 0.0, 1.0),
        (-3.2, 4.9, 0.5, -3.5, 5.0),
        (18.0, 79.9, 5.0, 15.0, 80.0),
        (1e6, 1.2e6, 1e4, 1e6, 1.21e6),
        (0.0, 2.6e-9, 1e-10, 0.0, 2.7e-9),
    ],
)
def test_edges_are_round(low: float, high: float, step: float, first: float, last: float) -> None:
    edges = round_edges(low, high)
    assert edges[[0, -1]] == pytest.approx([first, last], rel=1e-12, abs=1e-300)
    assert np.diff(edges) == pytest.approx(np.full(len(edges) - 1, step), rel=1e-9)


def test_whole_numbers_have_intervals_of_whole_width() -> None:
    assert round_edges(0.0, 4.0, whole=True).tolist() == [0, 1, 2, 3, 4, 5]
    assert set(np.diff(round_edges(0.0, 100.0, whole=True))) == {5.0}
