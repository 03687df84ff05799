"""Sums that tell slice values: the same results as where a scan of its own finds these, and one scan less."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.engine import inquiry
from plmetrics.engine.prepare import slice_sums

ROWS = pl.DataFrame(
    {
        "y": [0, 1, 1, 0, 1, 0, 0, 1] * 20,
        "p": [i / 160 for i in range(160)],
        "country": (["DE", "FR", None, "DE", "IT", "FR", "DE", "DE"] * 20),
        "age": [18 + i % 40 for i in range(160)],
    }
)
SLICES = {
    "country": "country",
    "old": {"where": "age > 50"},
    "ages": {"column": "age", "bins": [25, 45]},
    "usual": {"column": "country", "top": 2},
    "known": {"column": "country", "exclude": [None, "IT"]},
    "both": ["country", "age"],
}


@pytest.fixture
def scans(monkeypatch):
    """The number of plans that were collected together, by collection."""
    found = []

    def counted(plans, *, separate=False):
        found.append(len(plans))
        return pl.collect_all(list(plans))

    monkeypatch.setattr(inquiry, "frames_of", counted)
    return found


def evaluated(**arguments):
    return plm.evaluate(ROWS, label="y", models="p", metrics=["accuracy", "recall", "brier"], **arguments)


@pytest.mark.parametrize("weight", [None, "age"])
def test_results_are_those_of_a_look_at_slice_values_first(monkeypatch, weight):
    told = evaluated(slices=SLICES, weight=weight)
    monkeypatch.setattr(slice_sums, "_FEW", 0)
    looked_up = evaluated(slices=SLICES, weight=weight)
    assert_frame_equal(told.metrics, looked_up.metrics, rel_tol=1e-12)
    assert told.warnings == looked_up.warnings


def test_counts_are_those_of_a_grouping(scans):
    found = evaluated(slices={"country": "country"})
    assert scans == [1, 1]  # a few first rows, and the sums
    expected = ROWS.group_by("country").agg(
        value=((pl.col("p") >= 0.5) == (pl.col("y") == 1)).mean(), rows=pl.len().cast(pl.Int64)
    )
    accuracy = found.metrics.filter(pl.col("slice") != "all", metric="accuracy").select(
        country=pl.col("slice").str.strip_prefix("country=").replace("null", None), value="value", rows="n"
    )
    assert_frame_equal(accuracy, expected, check_row_order=False, rel_tol=1e-12)


def test_many_slices_are_looked_up_first(scans, monkeypatch):
    monkeypatch.setattr(slice_sums, "_FEW", 3)
    evaluated(slices={"country": "country"})
    assert scans == [1, 1, 1]


def test_rows_sorted_by_slice_are_not_added_before_slices_are_counted(scans, monkeypatch):
    """Of such rows the first are in few slices however many there are; a budget of memory is kept."""
    monkeypatch.setattr(slice_sums, "SAMPLE_ROWS", 16)
    monkeypatch.setattr(slice_sums, "rows_that_fit", lambda suite, numbers: 39)
    evaluated(slices={"country": "country"})
    assert scans == [1, 1, 1]  # ten times the four slices of the first rows
    monkeypatch.setattr(slice_sums, "rows_that_fit", lambda suite, numbers: 40)
    evaluated(slices={"country": "country"})
    assert scans[3:] == [1, 1]


def test_cubes_that_are_not_crossed_are_added_anew(monkeypatch):
    from plmetrics.engine.prepare import preparation

    told = evaluated(slices={"country": "country", "age": "age"})
    monkeypatch.setattr(preparation, "MAX_CELLS", 10)
    assert_frame_equal(evaluated(slices={"country": "country", "age": "age"}).metrics, told.metrics)


def test_bad_rows_and_many_slices_are_refused_as_ever():
    with pytest.raises(plm.DataError, match="label"):
        plm.evaluate(ROWS.with_columns(y=2), label="y", models="p", metrics=["brier"], slices="country")
    with pytest.raises(plm.ConfigError, match="max_slices = 10"):
        evaluated(slices="age", max_slices=10)
