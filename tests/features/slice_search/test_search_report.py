"""The section on slices that a search found."""

from typing import Any

import polars as pl
import pytest

from plmetrics.core.results import FOUND_SLICES_SCHEMA
from plmetrics.features.slice_search.search_report import found_slices
from plmetrics.report.summary import Summary

LINE = {
    "model": "gbdt",
    "metric": "log_loss",
    "slice": "region=north",
    "depth": 1,
    "value": 0.4,
    "rest": 0.3,
    "difference": 0.1,
    "lower": 0.08,
    "upper": 0.12,
    "std_error": 0.01,
    "p_value": 1e-9,
    "p_adjusted": 1e-9,
    "searched": 0.13,
    "n": 1200,
    "confirmed": True,
    "status": "ok",
}


def shown(lines: list[dict[str, Any]], *, stood_out: int | None = None, width: int = 140) -> str:
    frame = pl.DataFrame(lines, schema=FOUND_SLICES_SCHEMA, orient="row")
    searched = {"tested": 300, "stood_out": len(lines) if stood_out is None else stood_out}
    summary = Summary(name="s", verdict="no gates", found_slices=frame, record={"find_slices": searched})
    return "\n".join(line.plain for line in found_slices(summary, width))


def test_without_a_search_there_is_no_section() -> None:
    assert found_slices(Summary(name="s", verdict="no gates"), 100) == []


def test_nothing_found_is_said() -> None:
    assert shown([]).splitlines() == [
        "Slices worse than the rest",
        "  300 slices searched, 0 stood out, 0 confirmed",
    ]


@pytest.mark.parametrize("width", [40, 80, 140])
def test_what_was_confirmed_stands_with_its_honest_difference(width: int) -> None:
    refuted = LINE | {"slice": "region=south", "confirmed": False, "p_adjusted": 0.4}
    text = shown([LINE, refuted], stood_out=7, width=width)
    words = " ".join(text.split())
    assert "+0.100 [+0.080, +0.120]" in words
    assert "region=south" not in text
    assert "300 slices searched, 7 stood out, 2 went on, 1 confirmed" in words
    assert max(map(len, text.splitlines())) <= width


def test_a_slice_that_another_explains_says_so() -> None:
    text = shown([LINE | {"note": "not worse without region=north, device=null"}])
    assert "region=north: not worse without region=north, device=null" in text


def test_many_are_cut_with_their_number() -> None:
    lines = [LINE | {"slice": f"region={number}"} for number in range(25)]
    assert "and 5 slices more in found_slices.parquet" in shown(lines)


def test_an_interval_that_is_missing_is_no_trouble() -> None:
    assert "+0.1" in shown([LINE | {"lower": None, "upper": None, "std_error": None}])
