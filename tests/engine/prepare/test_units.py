"""Units counted batch by batch: the same units, blocks and digests as a grouping finds, in any number of scans."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.prepare import preparation as stage
from plmetrics.engine.prepare import units as unit_counts
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source


def table(units, rows=30_000):
    draw = np.random.default_rng(units)
    return pl.DataFrame(
        {"y": draw.integers(0, 2, rows), "p": draw.random(rows), "u": draw.integers(0, units, rows)}
    )


def asked(**options):
    given = {"label": "y", "models": "p", "metrics": ["accuracy"], "unit": "u"}
    return given | {"uncertainty": {"replicates": 20, "blocks": 50}} | options


def blocks(frame, monkeypatch, *, by_batch, most=None):
    monkeypatch.setattr(unit_counts, "counts_by_batch", lambda request: by_batch)
    if most is not None:
        monkeypatch.setattr(unit_counts, "OWN_BLOCK_LIMIT", most)
        monkeypatch.setattr(unit_counts, "working_memory", lambda request: 0)
    return stage.prepare(bind(suite_from_arguments(**asked()), open_source(frame))).blocks


@pytest.mark.exhaustive
@pytest.mark.parametrize(("units", "most"), [(300, None), (9_000, None), (9_000, 2_000), (9_000, 200)])
@pytest.mark.parametrize("nulls", [False, True])
def test_blocks_are_those_of_a_grouping(monkeypatch, units, most, nulls):
    frame = table(units)
    if nulls:
        frame = frame.with_columns(u=pl.when(pl.col("u") % 7 > 0).then("u"))
    wanted = blocks(frame, monkeypatch, by_batch=False)
    monkeypatch.setattr(unit_counts, "_BATCH_ROWS", 1_000)
    found = blocks(frame, monkeypatch, by_batch=True, most=most)
    assert found.modulus == wanted.modulus == (None if units == 300 else 50)
    for name in ("keys", "units", "digests"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    assert found.units.sum() == frame["u"].drop_nulls().n_unique()


@pytest.mark.exhaustive
@pytest.mark.parametrize("by_batch", [False, True])
@pytest.mark.parametrize(
    "units",
    [
        pl.Series([-128, 127, None, 5, 5, -3], dtype=pl.Int8),
        pl.Series([200, 7, 7, None, 255], dtype=pl.UInt8),
        pl.Series([2**64 - 1, 2**64 - 5, 2**64 - 1], dtype=pl.UInt64),
        pl.Series([-(2**63), -(2**63) + 9], dtype=pl.Int64),
        pl.Series([0, 2**62, 5], dtype=pl.Int64),
        pl.Series([3, 9, 3], dtype=pl.Int128),
        pl.Series(["3", "9", "3"]),
    ],
    ids=str,
)
def test_marked_whole_numbers_are_the_units_that_a_grouping_finds(monkeypatch, units, by_batch):
    frame = pl.DataFrame({"u": units}).select(pl.col("u").repeat_by(20).list.explode().shuffle(3))
    frame = frame.with_columns(y=pl.int_range(pl.len()) % 2, p=0.5)
    wanted = blocks(frame, monkeypatch, by_batch=False)
    monkeypatch.setattr(unit_counts, "_MARKED_ROWS", 1)
    monkeypatch.setattr(unit_counts, "_BATCH_ROWS", 2)
    found = blocks(frame, monkeypatch, by_batch=by_batch)
    assert found.units.sum() == units.drop_nulls().n_unique()
    for name in ("keys", "units", "digests"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


@pytest.mark.parametrize("unit", [None, "region"])
def test_queries_of_a_ranking_are_counted_by_their_hashes_however_many(monkeypatch, unit):
    """A ranking of a million queries with intervals ended in a KeyError: its table has no column of that name."""
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"q": np.arange(400) // 4, "y": draw.integers(0, 2, 400), "p": draw.random(400)})
    frame = frame.with_columns(region=pl.col("q") // 5)
    given = asked(unit=unit, metrics=["ndcg"]) | {"task": "ranking", "query": "q", "slices": "region"}
    wanted = plm.evaluate(frame, **given)
    monkeypatch.setattr(unit_counts, "_MARKED_ROWS", 1)
    assert_frame_equal(plm.evaluate(frame, **given).metrics, wanted.metrics, rel_tol=1e-9)


def test_too_many_units_are_counted_in_ranges_of_their_hashes():
    values = np.random.default_rng(1).integers(0, 2**64, 40_000, dtype=np.uint64)
    found, last = unit_counts.distinct(np.split(values, 8), most=6_000)
    assert 0 < len(found) <= 12_000
    np.testing.assert_array_equal(found, np.unique(values[values <= last]))


@pytest.mark.parametrize("memory", [10_000, 10**10])
def test_results_do_not_depend_on_the_memory_that_units_are_counted_in(memory):
    wanted = plm.evaluate(table(9_000), **asked())
    found = plm.evaluate(table(9_000), **asked(memory=memory))
    assert found.metrics.equals(wanted.metrics)
