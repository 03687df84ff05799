"""Metrics, gates and result rows made by hand."""

from typing import Any, ClassVar, Self

import polars as pl
import pytest

from plmetrics.catalogue.metric import Metric
from plmetrics.core.results import COMPARISONS_SCHEMA, METRICS_SCHEMA
from plmetrics.suite.model import Suite
from plmetrics.suite.sections.basics import Columns, ModelColumns, SliceSet
from plmetrics.suite.sections.gates import Gate
from plmetrics.suite.sections.uncertainty import Uncertainty


class Score(Metric):
    """Stands for a metric of which more is better."""

    name = "score"
    task = "binary"
    family = "sums"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    direction = "higher"


class Loss(Score):
    name = "loss"
    direction = "lower"


class Bias(Score):
    name = "bias"
    direction = "zero"


class Count(Score):
    name = "count"
    direction = "none"


METRICS = {metric.name: metric() for metric in (Score, Loss, Bias, Count)}


class Table:
    """A suite of two models and two slice sets, with result rows added one by one."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {"metrics": [], "comparisons": []}
        self.gates: list[Gate] = []
        self.uncertainty: Uncertainty | None = None

    def gate(self, metric: str = "score", **keywords: Any) -> Self:
        self.gates.append(Gate(metric=METRICS[metric], **keywords))
        return self

    def value(self, value: float | None, model: str = "a", **keywords: Any) -> Self:
        self.rows["metrics"].append({"model": model, "value": value} | self._row(keywords))
        return self

    def difference(self, value: float | None, model: str = "a", baseline: str = "b", **keywords: Any) -> Self:
        fixed = {"model": model, "baseline": baseline, "contrast": "model", "scale": "difference"}
        self.rows["comparisons"].append(fixed | {"difference": value} | self._row(keywords))
        return self

    @staticmethod
    def _row(keywords: dict[str, Any]) -> dict[str, Any]:
        lower, upper = keywords.pop("interval", (None, None))
        usual = {"metric": "score", "slice_set": "overall", "slice": "all", "status": "ok"}
        status = "ok" if lower is not None else "not_requested"
        return usual | {"lower": lower, "upper": upper, "interval_status": status} | keywords

    def suite(self) -> Suite:
        return Suite(
            name="hand-made",
            columns=Columns(label="y"),
            models={name: ModelColumns(score=name) for name in ("a", "b")},
            metrics=tuple(METRICS.values()),
            slices={"region": SliceSet(columns=("region",)), "device": SliceSet(columns=("device",))},
            gates=tuple(self.gates),
            uncertainty=self.uncertainty,
        )

    def judged(
        self, positives: pl.DataFrame | None = None, history: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        from plmetrics.gates.verdicts import Evidence, evaluate_gates

        metrics = pl.DataFrame(self.rows["metrics"], schema=METRICS_SCHEMA)
        comparisons = pl.DataFrame(self.rows["comparisons"], schema=COMPARISONS_SCHEMA)
        return evaluate_gates(self.suite(), Evidence(metrics, comparisons, positives, history))

    def row(self) -> dict[str, Any]:
        """The one row that was judged."""
        frame = self.judged()
        assert frame.height == 1
        return frame.row(0, named=True)


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def new_table() -> type[Table]:
    """For tests of several tables."""
    return Table
