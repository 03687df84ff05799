"""Metrics across the slices of one set within each slice of another: fairness by sex within every region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.ops import Codes, Flags
from plmetrics.inference.chunks import EstimateColumns, chunks, concatenate_estimates
from plmetrics.inference.composite_estimates import WholeSet, across_slices
from plmetrics.inference.estimates import Estimates
from plmetrics.inference.subject import Analysis, SliceEstimates
from plmetrics.table.joins import left_join

if TYPE_CHECKING:
    from plmetrics.catalogue.composite_metrics import AcrossSlices
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.inference.metric_values import MetricValues
    from plmetrics.table.slices import Slices

    Ordered = Mapping[tuple[int, str, str, ReplicateKind | None], MetricValues]


class Levels:
    """The slices of a set crossed with those of another: for each of the latter, its level, the groups in it."""

    def __init__(self, analysis: Analysis, crossed: int, ordered: Ordered) -> None:
        self._analysis = analysis
        self._ordered = ordered
        self._crossed = crossed
        crossing = analysis.sets[crossed].slices
        assert crossing.slice_set.crossing is not None
        self._groups, self.level = (self._number(name) for name in crossing.slice_set.crossing)
        groups, levels = (
            _places(analysis.sets[n].slices, crossing.values) for n in (self._groups, self.level)
        )
        self._members = [
            np.flatnonzero((levels == place) & (groups >= 0))
            for place in range(len(analysis.sets[self.level].slices))
        ]
        self._names = [
            [analysis.sets[self._groups].slices.texts()[groups[cell]] for cell in cells]
            for cells in self._members
        ]
        self._cache: dict[tuple[int, str, ReplicateKind | None], dict[str, EstimateColumns]] = {}

    def _number(self, name: str) -> int:
        sets = self._analysis.sets
        return next(number for number, states in enumerate(sets) if states.slices.slice_set.name == name)

    def part(self, metric: AcrossSlices) -> SliceEstimates:
        """The metric in every level, as an estimate of the slices of the set of levels."""
        replication, models = self._analysis.replication, self._analysis.models
        of_kind = {
            kind: {model: self._by_level(metric, model, kind) for model in models}
            for kind in replication.kinds(metric)
        }
        listed = np.ones(len(self._members), dtype=np.bool_)
        return SliceEstimates(
            of_kind[replication.gate_kind(metric)], self._equal_scores(), listed, 0, of_kind
        )

    def _by_level(self, metric: AcrossSlices, model: str, kind: ReplicateKind | None) -> EstimateColumns:
        parts = metric.parts()
        groups = {part.text: self._estimates(self._crossed, part, kind)[model] for part in parts}
        whole = {part.text: self._estimates(self.level, part, kind)[model] for part in parts}
        first = next(iter(whole.values()))
        in_levels = []
        for place, cells in enumerate(self._members):
            here = WholeSet(
                self._names[place],
                np.ones(len(cells), dtype=np.bool_),
                {text: estimates.take(cells) for text, estimates in groups.items()},
                {text: estimates.take(np.array([place])) for text, estimates in whole.items()},
                float(first.weight[place]),
                self._analysis.replication.blocks,
                self._analysis.level,
                None if first.labelled is None else first.labelled[[place]],
            )
            in_levels.append(across_slices(metric, here))
        return _concatenate(in_levels)

    def _estimates(
        self, index: int, metric: Metric, kind: ReplicateKind | None
    ) -> dict[str, EstimateColumns]:
        """One metric of every model in all slices of a set."""
        place = (index, metric.text, kind)
        if place not in self._cache:
            weights = self._analysis.weights
            of_chunks = [
                Estimates(self._analysis, index, chunk, self._ordered).of_kind(metric, kind)
                for chunk in chunks(self._analysis.sets[index].sums, weights)
            ]
            self._cache[place] = {
                model: concatenate_estimates([estimates[model] for estimates in of_chunks])
                for model in self._analysis.models
            }
        return self._cache[place]

    def _equal_scores(self) -> dict[tuple[str, str], Flags]:
        """Mask of levels with equal scores of pairs of models on every row."""
        sums = self._analysis.sets[self.level].sums
        return {
            pair: np.concatenate(
                [chunk.equal_scores(*pair) for chunk in chunks(sums, self._analysis.weights)]
            )
            for pair in self._analysis.pairs
        }


def _places(slices: Slices, values: pl.DataFrame) -> Codes:
    """Number of the enclosing slice among some for each crossed slice, -1 if it is excluded."""
    keys = [key.column for key in slices.slice_set.keys]
    numbered = slices.values.with_row_index("@place")
    joined = left_join(values.select(keys), numbered, keys)
    return joined["@place"].cast(pl.Int64).fill_null(-1).to_numpy()


def _concatenate(parts: Sequence[EstimateColumns]) -> EstimateColumns:
    """The values of levels one after another; a level without a value has no deviations."""
    joined = concatenate_estimates(parts)
    deviations = [part.estimate.deviations for part in parts]
    deviation = next((part for part in deviations if part is not None), None)
    if deviation is None:
        return joined
    absent = np.full_like(deviation, np.nan)
    filled = np.concatenate([absent if part is None else part for part in deviations], axis=1)
    return replace(joined, estimate=replace(joined.estimate, deviations=filled))
