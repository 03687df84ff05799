"""A feature as small as one can be: a section, a sum of the shared scan, a table, a gate and a part of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl
from rich.text import Text

from plmetrics.catalogue.registry import create
from plmetrics.core.results import GATES_SCHEMA
from plmetrics.features.protocol import Feature, Outputs
from plmetrics.suite.sections.section import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.core.names import SuitePath
    from plmetrics.features.protocol import Run
    from plmetrics.report.summary import Summary
    from plmetrics.suite.problems import Findings
    from plmetrics.suite.sections.section import ReadMetric


class Toy(Section):
    """How many positives a slice must have."""

    cosmetic: ClassVar[Mapping[str, Any]] = {}
    at_least: int

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        return super().read(
            {"at_least": value} if isinstance(value, int) else value, path, problems, read_metric
        )

    def metrics(self) -> Sequence[Metric]:
        return (create("binary", "prevalence", {}),)


class ToyFeature(Feature):
    key = "toy"
    section = Toy
    description = "Positives by slice."
    after = "order"

    def run(self, run: Run) -> Outputs:
        section = run.request.suite.sections["toy"]
        assert isinstance(section, Toy)
        table = run.values(*section.metrics()).select(
            "slice_set", "slice", positives=(pl.col("value") * pl.col("n")).round().cast(pl.Int64)
        )
        low = table.filter(pl.col("positives") < section.at_least)
        gate = dict.fromkeys(GATES_SCHEMA) | {
            "gate": "toy",
            "level": "fail",
            "metric": "positives",
            "slice_set": "overall",
            "slice": "all",
            "observed": float(low.height),
            "rule": "<= 0",
            "verdict": "fail" if low.height else "pass",
            "status": "ok",
        }
        warnings = [f"toy: {name} has few positives" for name in low["slice"]]
        return Outputs({"toy": table}, pl.DataFrame([gate], schema=GATES_SCHEMA, orient="row"), warnings)

    def report(self, summary: Summary, width: int) -> list[Text]:
        return [Text("Toy"), *(Text(f"  {row[1]}: {row[2]}") for row in summary.tables["toy"].rows())]
