"""The numbers of queries one by one, for what is drawn of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.needs import Queries
from plmetrics.engine.step import Step
from plmetrics.states.queries import QUERY_NAME, query_column
from plmetrics.table.roles import plain_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.prepared import Prepared

_CELL = "@cell"


@dataclass(frozen=True, slots=True)
class QueryNumbers:
    """A metric's number of each query, by model, and the slice of each query in every set."""

    prepared: Prepared
    frame: pl.DataFrame

    @property
    def names(self) -> pl.Series:
        """What the queries are called, as texts."""
        return self.frame[QUERY_NAME]

    def of(self, model: str) -> NDArray[np.float64]:
        """The numbers of a model; NaN for a query that takes no part."""
        return self.frame[model].to_numpy().astype(np.float64)

    def slices(self, index: int) -> NDArray[np.int64]:
        """The slice of each query in a set, -1 for none."""
        slices = self.prepared.slices[index]
        if slices.slice_set.is_whole:
            return np.zeros(self.frame.height, dtype=np.int64)
        number = self.prepared.cube_of(slices)
        return self.prepared.cubes[number].slice_codes(slices, self.frame[f"{_CELL}|{number}"].to_numpy())


def query_numbers(prepared: Prepared, metric: Metric) -> QueryNumbers:
    """Bring a metric's number of each query."""
    assert isinstance(metric.needs, Queries)
    key = metric.needs.values[0].key
    columns = {model: pl.col(plain_column(query_column(model, key))) for model in prepared.request.models}
    columns[QUERY_NAME] = pl.col(plain_column(QUERY_NAME))
    columns |= {
        f"{_CELL}|{number}": cube.cell().cast(pl.Int64)
        for number, cube in enumerate(prepared.cubes)
        if cube.codes
    }
    plan = prepared.table.frame.select(part.alias(name) for name, part in columns.items())
    (frame,) = Step("order", (plan,)).collect()
    return QueryNumbers(prepared, frame)
