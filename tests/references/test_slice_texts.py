"""Slices that look alike when they are written down: none is taken for another, wherever slices are looked up."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.core.slice_texts import unquote
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

PAIRS = [("x", "p, b=q"), ("x, b=p", "q"), ("x", "q"), ('"x"', "q")]
SLICES = ["c", ["a", "b"], "f", "k, b=1"]
ROWS = 40
TWINS = {"c": ["c=null", 'c="null"'], "a_b": ['a=x, b="p, b=q"', 'a="x, b=p", b=q'], "f": ["f=null", "f=nan"]}
ASKED: dict[str, Any] = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"], "slices": SLICES}


def table(right: str) -> pl.DataFrame:
    """All is right in the first or the last of twins, and wrong in the other; elsewhere half of it is."""
    rows: list[dict[str, Any]] = []
    for number in range(ROWS):
        for place, (c, f, (a, b)) in enumerate(
            zip([None, "null", "north", "south"], [None, float("nan"), 1.0, 2.0], PAIRS, strict=True)
        ):
            good = number % 2 == 0 if place > 1 else (place == 0) == (right == "first")
            label = number % 3 == 0
            score = float(label) if good else 1.0 - label
            rows.append({"y": label, "p": score, "c": c, "a": a, "b": b, "f": f, "k, b=1": place})
    return pl.DataFrame(rows)


def values(result: plm.Result, column: str = "value", frame: str = "metrics") -> dict[str, float]:
    found = getattr(result, frame)
    return dict(found.select("slice", column).iter_rows())


FIRST, LAST = plm.evaluate(table("first"), **ASKED), plm.evaluate(table("last"), **ASKED)


def test_twins_have_values_of_their_own() -> None:
    for result, (good, bad) in ((FIRST, (1.0, 0.0)), (LAST, (0.0, 1.0))):
        for first, last in TWINS.values():
            found = result.metrics.filter(pl.col("slice").is_in([first, last]))
            assert found["slice_values"].n_unique() == found.height == 2
            assert (values(result)[first], values(result)[last]) == (good, bad)
    assert '"k, b=1"=0' in values(FIRST)


@pytest.mark.parametrize("using", ["value", "interval"])
def test_a_gate_judges_each_twin(using: str) -> None:
    gate = {"metric": "accuracy", "slices": "all", "at_least": 0.2, "using": using}
    result = plm.evaluate(table("first"), **ASKED, uncertainty={"replicates": 40}, gates=[gate])
    verdicts = dict(result.gates.select("slice", "verdict").iter_rows())
    assert len(verdicts) == result.gates.height == result.metrics.height
    assert {verdicts[last] for _, last in TWINS.values()} == {"fail"}
    assert {verdicts[first] for first, _ in TWINS.values()} == {"pass"}
    assert result.verdict == "fail"


@pytest.mark.parametrize("uncertainty", [None, {"replicates": 40, "keep": True}])
def test_runs_are_compared_twin_by_twin(uncertainty: dict[str, Any] | None) -> None:
    asked = ASKED | {"uncertainty": uncertainty}
    earlier = plm.evaluate(table("first"), **asked)
    result = plm.evaluate(table("last"), **asked, compare={"run": earlier, "decompose": ["c", "a_b", "f"]})
    found = values(result, "difference", "comparisons")
    assert len(found) == result.comparisons.height == result.metrics.height
    assert {(found[first], found[last]) for first, last in TWINS.values()} == {(-1.0, 1.0)}
    changes = dict(plm.diff(earlier, result).metrics.select("slice", "difference").iter_rows())
    assert {(changes[first], changes[last]) for first, last in TWINS.values()} == {(-1.0, 1.0)}
    moved = result.decomposition.filter(part="within")
    by_slice = dict(moved.select("slice", "value").iter_rows())
    assert {(by_slice[first], by_slice[last]) for first, last in TWINS.values()} == {(-0.25, 0.25)}


def test_reports_show_both_twins() -> None:
    gate = {"metric": "accuracy", "slices": "all", "at_least": 1.1}
    result = plm.evaluate(table("first"), **ASKED, gates=[gate])
    report = render(summarise(result), 200)
    assert all(text in report for pair in TWINS.values() for text in pair)


def test_states_of_twins_add() -> None:
    both = pl.concat([table("first"), table("last")])
    merged = plm.merge(*(plm.state(table(right), **ASKED) for right in ("first", "last")))
    assert_frame_equal(merged.metrics, plm.evaluate(both, **ASKED).metrics)
    assert {values(merged)[text] for pair in TWINS.values() for text in pair} == {0.5}


def older(result: plm.Result) -> plm.Result:
    """A result as older versions wrote it."""

    def text(value: str) -> str:
        return unquote(value)

    renamed = {
        name: getattr(result, name).with_columns(pl.col("slice").map_elements(text, return_dtype=pl.String))
        for name in ("metrics", "gates")
    }
    replicates = result.replicates
    if replicates is not None:
        rows = replicates.rows.with_columns(pl.col("slice").map_elements(text, return_dtype=pl.String))
        renamed["replicates"] = replace(replicates, rows=rows)
    return replace(result, **renamed)


@pytest.mark.parametrize("uncertainty", [None, {"replicates": 40, "keep": True}])
def test_texts_of_older_runs_count_where_they_mean_one_slice(uncertainty: dict[str, Any] | None) -> None:
    asked = ASKED | {"uncertainty": uncertainty}
    earlier = older(plm.evaluate(table("first"), **asked))
    result = plm.evaluate(table("last"), **asked, compare={"run": earlier})
    here = result.comparisons.filter(pl.col("note") != "only in the earlier run")
    found = dict(here.select("slice", "difference").iter_rows())
    assert found.pop('"k, b=1"=0') == -1.0
    unknown = [text for name, pair in TWINS.items() if name != "f" for text in pair]
    assert {name: found[name] for name in unknown} == dict.fromkeys(unknown)
    changes = plm.diff(earlier, result).metrics
    assert set(changes.filter(change="new")["slice"]) == set(unknown)
    assert set(changes.filter(change="gone")["slice"]) == {unquote(text) for text in unknown}


def test_references_are_the_slices_that_are_named() -> None:
    """Without quotes a text stands for the slice that is written so, or else for the only one that can be meant."""
    asked = ["c=null", 'c="null"', "c=north"]
    result = plm.evaluate(table("first"), **ASKED, compare={"slices": {"c": asked}})
    found = {(row["slice"], row["baseline"]): row["difference"] for row in result.comparisons.to_dicts()}
    assert found["c=north", "c=null"] == -0.5
    assert found["c=north", 'c="null"'] == 0.5
    assert found["c=null", 'c="null"'] == 1.0
    assert ("c=null", "c=null") not in found
    loose = plm.evaluate(table("first"), **ASKED, compare={"slices": {"k, b=1": "k, b=1=1"}})
    assert set(loose.comparisons["slice"]) == {f'"k, b=1"={number}' for number in (0, 2, 3)}
    with pytest.raises(plm.ConfigError, match="is not a slice of"):
        plm.evaluate(table("first"), **ASKED, compare={"slices": {"a_b": "a=x, b=p, b=q"}})


def test_a_readout_tells_twins_apart() -> None:
    frame = table("first").with_columns(arm=pl.Series(["t", "c", "c"] * 54)[: 4 * ROWS])
    found = plm.readout(frame, arm="arm", control="c", outcome="p", by=["c", "f"])
    counts = {row["slice"]: row["n"] + row["n_control"] for row in found.to_dicts() if row["outcome"] == "p"}
    assert {text: counts[text] for pair in (TWINS["c"], TWINS["f"]) for text in pair} == dict.fromkeys(
        [*TWINS["c"], *TWINS["f"]], ROWS
    )
