"""Summary of a result: the input of all sections of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.results import TABLES, ResultTables, first_rows
from plmetrics.report.numbers import plural
from plmetrics.report.slice_names import SliceNames

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.model import Suite
    from plmetrics.table.storage.places import Place

EXPERIMENT = "experiment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(ResultTables):
    """Result with facts beyond its tables.

    `definitions` are the metrics in suite order, and `directions` theirs by canonical text; `totals` are those that
    grow with the number of rows, so that slices of different sizes are not compared by them, and `rising` those that
    rise with the share of positives; `clustered` says whether rows share units; `record` is that of the run; `tests`
    are the names of those that were asked for; `query_metric` is that in which queries are compared; `place` is the run
    folder as it should be shown, `folder` that folder; `levels` are those of intervals of features, by key;
    `slice_names` are the names of slices for readers.
    """

    name: str
    verdict: str
    directions: Mapping[str, str] = field(default_factory=dict)
    definitions: tuple[Metric, ...] = ()
    totals: frozenset[str] = frozenset()
    rising: frozenset[str] = frozenset()
    record: Mapping[str, Any] = field(default_factory=dict)
    level: float | None = None
    correction: str | None = None
    clustered: bool = False
    tests: frozenset[str] = frozenset()
    query_metric: str | None = None
    place: str | None = None
    folder: Place | None = None
    levels: Mapping[str, float] = field(default_factory=dict)
    slice_names: SliceNames = field(default_factory=SliceNames)

    @property
    def overall(self) -> pl.DataFrame:
        """Values of all rows, without those of single classes."""
        return self.metrics.filter(pl.col("class").is_null(), slice="all")

    @property
    def norms(self) -> frozenset[str]:
        """Metrics that noise makes larger, most in slices of few rows."""
        metrics = self.definitions
        return frozenset(m.text for m in metrics if m.value_kind.is_norm and m.noise != "reduced")

    @property
    def subject(self) -> str:
        """The word for a model: outcomes stand in the place of models in an experiment."""
        return "outcome" if EXPERIMENT in self.others else "model"

    @property
    def row_word(self) -> str:
        """The word for what sizes of slices count: the rows of a ranking are those of its queries."""
        return "queries" if self.record.get("rows", {}).get("pairs_read") else "rows"

    def size_text(self, n: int) -> str:
        """Size of a slice, in rows or queries."""
        return plural(n, "query" if self.row_word == "queries" else "row")

    @property
    def subjects(self) -> str:
        """Title of parts about all models."""
        return f"{self.subject.capitalize()}s"


def summarise(result: Outcome, place: str | None = None) -> Summary:
    """The summary of a result for reports, with names of slices for readers."""
    suite = result.suite
    tables = {name: result.tables[name] for name in TABLES}
    others = {name: table for name, table in result.tables.items() if name not in TABLES}
    tables["metrics"] = first_rows(result.metrics)
    names = SliceNames.of([*tables.values(), *others.values()])
    return Summary(
        name=" ".join(filter(None, (suite.name, (result.record.get("interval") or {}).get("key")))),
        verdict=result.verdict,
        directions={metric.text: metric.direction for metric in suite.metrics},
        definitions=tuple(suite.metrics),
        totals=frozenset(metric.text for metric in suite.metrics if metric.additive),
        rising=frozenset(metric.text for metric in suite.metrics if metric.rises_with_prevalence),
        record=result.record,
        level=suite.uncertainty.level if suite.uncertainty else None,
        correction=suite.compare.correction if suite.compare else None,
        clustered=_unit(result) is not None,
        tests=_tests(suite.compare),
        query_metric=next((_text(curve.metric) for curve in suite.curves if curve.metric), None),
        place=place,
        folder=result.folder,
        levels=_levels(suite, result.record),
        slice_names=names,
        **{name: names.rename(table) for name, table in tables.items()},
        others={name: names.rename(table) for name, table in others.items()},
    )


def _unit(result: Outcome) -> object:
    """Column of the unit, which a stored suite has in its record alone; None without one."""
    stored = result.record.get("suite")
    columns = getattr(result.suite, "columns", None) if stored is None else stored.get("columns")
    return columns.get("unit") if isinstance(columns, Mapping) else getattr(columns, "unit", None)


def _levels(suite: Suite, record: Mapping[str, Any]) -> dict[str, float]:
    """Levels of sections of a suite; one that was stored has its sections in the record alone, without defaults."""
    plan = (record.get("suite") or {}).get(EXPERIMENT)
    stored = {EXPERIMENT: plan.get("level", 0.95)} if isinstance(plan, Mapping) else {}
    levels = {key: section.interval_level for key, section in suite.sections.items()}
    return stored | {key: level for key, level in levels.items() if level is not None}


def _text(metric: Any) -> str:
    return metric if isinstance(metric, str) else str(metric.text)


def _tests(compare: Any) -> frozenset[str]:
    tests = compare.tests if compare else ()
    return frozenset(test["test"] if isinstance(test, Mapping) else test.test for test in tests)
