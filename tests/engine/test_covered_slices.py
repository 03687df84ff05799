"""Values of slice columns: a set whose columns another one has costs no look at the data of its own."""

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError
from plmetrics.engine.prepare import preparation as prepare

FRAME = pl.DataFrame(
    {
        "y": [0, 1] * 30,
        "p": [place / 60 for place in range(60)],
        "a": [["x", "y", None][place % 3] for place in range(60)],
        "b": [place % 4 for place in range(60)],
        "c": [place % 5 for place in range(60)],
    }
)
SETS = {
    "a": "a",
    "ab": ["a", "b"],
    "ba": ["b", "a"],
    "b": "b",
    "c": "c",
    "a_but_x": {"column": "a", "exclude": ["x"]},
    "high": {"where": "c > 2"},
    "binned": {"column": "c", "bins": [2, 4]},
    "top": {"column": "b", "top": 2},
}


def evaluated(slices, **arguments):
    return plm.evaluate(FRAME, label="y", models="p", metrics=["accuracy"], slices=slices, **arguments)


def test_each_set_has_the_slices_that_it_has_alone():
    together = evaluated(SETS).metrics
    for name, spec in SETS.items():
        alone = evaluated({name: spec}).metrics.filter(pl.col("slice_set") == name)
        assert together.filter(pl.col("slice_set") == name).equals(alone), name


@pytest.mark.parametrize(
    ("names", "looked"),
    [(["a", "ab", "b"], ["slices|2"]), (["ab", "ba"], ["slices|1"]), (["a", "c"], ["slices|1", "slices|2"])],
)
def test_only_the_widest_sets_are_looked_for(monkeypatch, names, looked):
    plans = []
    monkeypatch.setattr(prepare, "slice_plans", lambda *given: plans.append(known(*given)) or plans[-1])
    evaluated({name: SETS[name] for name in names})
    assert [name for name in plans[0] if name.startswith("slices|")] == looked


known = prepare.slice_plans


@pytest.mark.parametrize("limit", [3, 12])
def test_a_wider_set_with_too_many_slices_is_refused(limit):
    with pytest.raises(ConfigError, match=f"more than max_slices = {limit}"):
        evaluated({"a": "a", "ab": ["a", "b"]}, max_slices=limit)
