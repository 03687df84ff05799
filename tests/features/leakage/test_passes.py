"""Keys that come in passes: the same findings, whatever the memory budget."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm


def rows(size, seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "y": rng.integers(0, 2, size),
            "p": rng.random(size),
            "id": rng.integers(0, 3 * size, size),
            "x": rng.integers(-40, 40, size) / 4 * rng.choice([1.0, -1.0, np.nan], size, p=[0.5, 0.4, 0.1]),
            "fold": rng.integers(0, 3, size),
        }
    )
    some = pl.int_range(pl.len()) % 17 > 0
    return frame.with_columns(id=pl.when(some).then("id"), name=pl.when(some).then(pl.format("n{}", "id")))


def found(monkeypatch, passes, **leakage):
    def few(*_, **__):
        yield from ()
        return passes

    monkeypatch.setattr("plmetrics.features.leakage.leakage_counting.passes_to_hold", few)
    section = {"train": rows(2000, seed=2), **leakage}
    roles = {"label": "y", "models": "p", "metrics": ["accuracy"], "fold": "fold"}
    return plm.evaluate(rows(3000, seed=1), **roles, leakage=section).tables["leakage"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "asked",
    [
        {"keys": ["id"], "duplicates": True},
        {"keys": ["name", "fold"], "duplicates": ["name", "x"]},
        {"keys": ["x"], "duplicates": ["x"]},
    ],
    ids=str,
)
def test_passes_find_what_one_finds(monkeypatch, asked):
    one, seven = found(monkeypatch, 1, **asked), found(monkeypatch, 7, **asked)
    assert one.equals(seven)
    assert (one["rows"] > 0).any()


def test_rows_in_training_are_those_of_a_join_in_python(monkeypatch):
    table = found(monkeypatch, 5, keys=["id"], duplicates=True)
    here, there = rows(3000, seed=1)["id"].drop_nulls().to_list(), set(rows(2000, seed=2)["id"].drop_nulls())
    again = sum(here.count(each) for each in set(here) if here.count(each) > 1)
    counts = dict(table.select("check", "rows").iter_rows())
    assert counts["keys"] == sum(each in there for each in here)
    assert counts["duplicates"] == again
