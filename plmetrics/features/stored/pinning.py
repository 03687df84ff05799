"""The constants of a run as a state says them."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

from plmetrics.engine.prepare.constants import Constants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.states.scores.run_grids import Grids
    from plmetrics.table.slice_keys import SliceKey


def read_constants(content: Mapping[str, Any], grids: Grids | None) -> Constants:
    """The constants from what a state says of them."""
    thresholds = {
        model: {rule: nan if value is None else value for rule, value in values.items()}
        for model, values in content["thresholds"].items()
    }
    classes = tuple(content["classes"])
    spans = {model: (low, high) for model, (low, high) in content.get("score_spans", {}).items()}
    edges = {}
    if "bin_edges" in content:
        from plmetrics.states.bin_sums import edges_from

        edges = edges_from(content["bin_edges"])
    return Constants(
        content["centres"],
        thresholds,
        classes,
        content["keys"],
        grids,
        content["exponents"],
        spans,
        content.get("features", {}),
        edges,
        content.get("calibrators", {}),
        content.get("baseline", {}),
    )


def said_of_key(key: SliceKey) -> dict[str, Any]:
    """Content of a key that waited for the data: edges, or the values of a top."""
    if key.values is None or key.excluded is None:
        return {"label": key.label, "kind": key.kind, "edges": list(key.edges)}
    values, excluded = (series.to_physical().to_list() for series in (key.values, key.excluded))
    return {"label": key.label, "kind": key.kind, "edges": values, "excluded": excluded}
