"""Selection of models, slices and a metric for a chart; errors name the choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.report.leaderboard import primary_metric

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary


class NothingToDraw(ConfigError):  # noqa: N818
    """A result lacks the rows of a chart."""

    title = "there is nothing to draw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selection of a chart: all models on all rows, if nothing is said."""

    summary: Summary
    models: Sequence[str] | None = None
    slice_set: str | None = None
    slices: Sequence[str] | None = None
    metric: str | None = None

    def rows(self, table: pl.DataFrame, *, optional: bool = False) -> pl.DataFrame:
        """Rows of a table of the requested models and slices; an `optional` table may have none.

        Raises:
            NothingToDraw: no row is of all rows, where no slice set is asked for.
            ConfigError: no row is of a model, slice set or slice; the nearest name is given.
        """
        if optional and table.is_empty():
            return table
        table = self.of_models(table)
        slice_set = self.slice_set or "overall"
        if self.slice_set is None and slice_set not in table["slice_set"]:
            raise NothingToDraw(Problem("the result has no value of all rows", hint="name a slice_set"))
        check_names("slice_set", [slice_set], table["slice_set"])
        table = table.filter(slice_set=slice_set)
        if self.slices is not None:
            check_names("slice", self.slices, table["slice"])
            table = table.filter(pl.col("slice").is_in(list(self.slices)))
        return table

    def of_models(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows of a table of the requested models, in all slices."""
        if self.models is None:
            return table
        models = [self.models] if isinstance(self.models, str) else list(self.models)
        check_names("model", models, table["model"])
        return table.filter(pl.col("model").is_in([*models, ""]))

    def metric_rows(self, table: pl.DataFrame, *metrics: str) -> pl.DataFrame:
        """Rows of a table of the requested metric, or else of the first of these, of the primary one, or of any."""
        there = table["metric"].unique(maintain_order=True).to_list()
        if self.metric is not None:
            metric = next((text for text in there if text.split("(")[0] == self.metric), self.metric)
            check_names("metric", [metric], table["metric"])
            return table.filter(metric=metric)
        usual = [*metrics, primary_metric(self.summary)]
        first = next((metric for metric in usual if metric in there), there[0] if there else None)
        return table.filter(metric=first)

    def curve(self, name: str) -> pl.DataFrame:
        """The points of a curve, of the models and slices asked for.

        Raises:
            NothingToDraw: the run did not draw the curve, or it is defined nowhere.
        """
        points = self.summary.curves.filter(curve=name)
        if points.is_empty():
            raise NothingToDraw(
                Problem(
                    f"the result has no curve '{name}'",
                    hint=f"ask for it when you evaluate: curves: [{name}] in a suite, curves=['{name}'] in Python; "
                    "without one of the classes it has no points",
                )
            )
        self._check_slice_set(name, points)
        chosen = self.rows(points)
        if chosen["y"].is_not_null().any():
            return chosen
        raise NothingToDraw(Problem(f"the curve '{name}' is undefined for what is asked for"))

    def _check_slice_set(self, name: str, points: pl.DataFrame) -> None:
        """Check that the curve has the slice set, which has to be requested."""
        name_of_set, there = self.slice_set, self.summary.metrics["slice_set"]
        if name_of_set is not None and name_of_set in there and name_of_set not in points["slice_set"]:
            hint = (
                f"ask for it when you evaluate: curves: [{{curve: {name}, slices: [{name_of_set}]}}] in a suite, "
                f'curves=[{{"curve": "{name}", "slices": ["{name_of_set}"]}}] in Python'
            )
            raise NothingToDraw(
                Problem(f"the curve '{name}' was not drawn for the slice set '{name_of_set}'", hint=hint)
            )


def check_names(kind: str, asked: Sequence[str], column: pl.Series) -> None:
    """Check that names occur in a column.

    Raises:
        ConfigError: one does not; the nearest is given.
    """
    choices = column.unique(maintain_order=True).to_list()
    problems = [
        Problem(f"the result has no {kind} '{name}'", hint=did_you_mean(name, choices))
        for name in asked
        if name not in choices
    ]
    if problems:
        raise ConfigError(problems)
