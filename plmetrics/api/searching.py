"""The search for slices as a stage of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.core.results import FOUND_SLICES_SCHEMA

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


def searched_slices(suite: Suite, source: Source) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The table `found_slices` of a suite, and what the record says of the search; both empty without one.

    Raises:
        ConfigError: there are more slices than `max_slices`.
        DataError: a column is absent or of the wrong type, or a value is bad.
    """
    if suite.find_slices is None:
        return FOUND_SLICES_SCHEMA.to_frame(), {}
    from plmetrics.engine.search import search_plan, search_states
    from plmetrics.inference.search import Search, candidates, found_slices

    plan = search_plan(suite, source)
    search = Search.of(plan.spec, search_states(plan), plan.prepared.request.models)
    looked = candidates(search)
    table = found_slices(search, looked, 0.95 if suite.uncertainty is None else suite.uncertainty.level)
    said = {
        "possible": plan.slices,
        "tested": looked.tested,
        "stood_out": looked.stood_out,
        "candidates": table.height,
        "confirmed": int(table["confirmed"].sum()),
        "values": {column.label: list(column.texts) for column in plan.columns},
    }
    return table, {"find_slices": said}


def search_warnings(record: dict[str, Any]) -> list[str]:
    """What to say of a search that could not look at anything."""
    if record.get("find_slices", {"tested": 1})["tested"]:
        return []
    return [
        "find_slices tested no slice: none has enough rows (min_rows) in the searched part, units in more than one "
        "block, and rows outside it"
    ]
