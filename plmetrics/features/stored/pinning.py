"""The constants of a run as a state says them, and a request with those of another run."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.metric import Facts
from plmetrics.engine.prepare.constants import Constants
from plmetrics.table.slice_keys import bin_index, only_bin, top_index
from plmetrics.table.slices import plain_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.engine.request import Request
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
    return Constants(
        content["centres"], thresholds, classes, content["keys"], grids, content["exponents"], spans
    )


def said_of_key(key: SliceKey) -> dict[str, Any]:
    """What was found in the data for a key that waited for it: edges, or the values of a top."""
    if key.values is None or key.excluded is None:
        return {"label": key.label, "kind": key.kind, "edges": list(key.edges)}
    values, excluded = (series.to_physical().to_list() for series in (key.values, key.excluded))
    return {"label": key.label, "kind": key.kind, "edges": values, "excluded": excluded}


def pin_request(request: Request, constants: Constants) -> Request:
    """The request with classes, edges of quantile bins and values of tops as another run has found them."""
    if constants.classes and not request.roles.classes:
        suite = request.suite.settled(Facts(constants.classes, unlabelled=request.roles.unlabelled))
        request = replace(request, suite=suite, roles=replace(request.roles, classes=constants.classes))
    keys = {
        key.column: _key(key, constants.keys[key.column], request.schema)
        for key in request.roles.keys
        if key.column in constants.keys
    }
    return request.with_keys(keys)


def _key(key: SliceKey, content: Mapping[str, Any], schema: pl.Schema) -> SliceKey:
    dtype = schema[key.label]
    if content["kind"] == "bins":
        edges = tuple(content["edges"])
        index = bin_index(key.expression, dtype, edges) if edges else only_bin(key.expression, dtype)
        return replace(key, kind="bins", expression=index, edges=edges)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        dtype = pl.String()
    values, excluded = (_series(content[name], dtype) for name in ("edges", "excluded"))
    number = top_index(key.expression, values, excluded)
    edges = tuple(plain_values(values, key.label))
    return replace(key, expression=number, edges=edges, excluded=excluded, values=values)


def _series(physical: list[Any], dtype: pl.DataType) -> pl.Series:
    """Values of a type from those that they are held as."""
    physical_series = pl.Series(physical, dtype=pl.Series([], dtype=dtype).to_physical().dtype)
    return physical_series.cast(dtype)
