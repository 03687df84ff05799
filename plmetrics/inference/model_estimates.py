"""The estimates of every model in a chunk of slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.composite_metrics import is_derived
from plmetrics.inference.composite_estimates import by_parts
from plmetrics.inference.estimates import estimate, with_row_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.chunks import Chunk, EstimateColumns
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.metric_values import MetricValues
    from plmetrics.inference.subject import Analysis


class Estimates:
    """The estimates of every model in a chunk of slices, each made once."""

    def __init__(
        self,
        analysis: Analysis,
        index: int,
        chunk: Chunk,
        ordered: Mapping[tuple[int, str, str, ReplicateKind | None], MetricValues],
    ) -> None:
        self._analysis = analysis
        self._index = index
        self._chunk = chunk
        self._ordered = ordered
        self._made: dict[tuple[str, ReplicateKind | None], dict[str, EstimateColumns]] = {}

    def of(self, metric: Metric) -> dict[str, EstimateColumns]:
        """One metric of every model, as it is judged and compared."""
        return self.of_kind(metric, self._analysis.replication.judged(metric))

    def of_model(self, metric: Metric, model: str) -> EstimateColumns:
        """One metric of one model, as it is judged and compared."""
        return self._one(metric, model, self._analysis.replication.judged(metric))

    def of_kind(self, metric: Metric, kind: ReplicateKind | None) -> dict[str, EstimateColumns]:
        """One metric of every model, with replicates of a kind."""
        return {model: self._one(metric, model, kind) for model in self._analysis.models}

    def of_kinds(self, metric: Metric) -> dict[ReplicateKind | None, dict[str, EstimateColumns]]:
        """One listed metric of every model, with each kind of replicates that it needs."""
        by_kind = {kind: self.of_kind(metric, kind) for kind in self._analysis.replication.kinds(metric)}
        error = self._analysis.suite.standard_error(metric)
        if error is not None and "influence" in by_kind:
            by_kind["influence"] = {
                model: with_row_error(estimates, error, model, self._chunk, self._analysis.population)
                for model, estimates in by_kind["influence"].items()
            }
        return by_kind

    def has(self, metric: Metric, model: str) -> bool:
        """Whether values of an ordered metric are there."""
        kind = self._analysis.replication.of_leaf(metric)[0]
        return (self._index, model, metric.text, kind) in self._ordered

    def _one(self, metric: Metric, model: str, kind: ReplicateKind | None) -> EstimateColumns:
        estimates = self._made.setdefault((metric.text, kind), {})
        if model not in estimates:
            estimates[model] = self._make(metric, model, kind)
        return estimates[model]

    def weight(self, model: str) -> float:
        """The weight of a model's rows in the first slice."""
        return float(self._chunk.sums.total(f"{self._analysis.population.models[model]}weight")[0])

    def _make(self, metric: Metric, model: str, kind: ReplicateKind | None) -> EstimateColumns:
        if is_derived(metric):
            parts = {part.text: self._one(part, model, kind) for part in metric.parts()}
            if metric.other_model is not None:
                other = metric.other_model
                parts |= {metric.other_key(part): self._one(part, other, kind) for part in metric.parts()}
            return by_parts(metric, parts)
        return estimate(
            metric,
            model,
            self._chunk,
            self._analysis.population,
            self._analysis.replication.weights(kind),
            self._ordered.get((self._index, model, metric.text, kind)),
            self._analysis.suite.min_rows if self._index else 0,
        )
