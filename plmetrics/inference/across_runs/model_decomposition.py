"""Decomposition of a mean's difference between two models of a run; see `decomposition`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.threads import steps
from plmetrics.inference.across_runs.decomposition import (
    PARTS,
    REST,
    SliceMeans,
    change_parts,
    is_incomplete,
    part_rows,
    rounded_sum,
    sizes,
    subjects,
    without_sums,
)
from plmetrics.inference.chunks import Chunk, chunk_of
from plmetrics.inference.comparisons.paired_bootstrap import Difference, difference_from_zero
from plmetrics.inference.estimate import Estimate, effective_blocks
from plmetrics.inference.metric_values import value_or_nan
from plmetrics.inference.records import end_to_end
from plmetrics.inference.weights import Nudges

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.inference.across_runs.decomposition import SetMetric
    from plmetrics.inference.subject import Analysis, SetStates
    from plmetrics.states.sums import SlicedSums, View

_SLICES_AT_ONCE = 512
_SIZE = "size"


@dataclass(frozen=True, slots=True)
class ModelChanges:
    """The differences of every compared pair of models.

    Intervals are those of `paired_difference` on replicates of each part. A mix that is 0 in all of them, as that of
    models that share their weights, is 0 for sure; so are all parts of models that say the same of every row.
    """

    analysis: Analysis

    def frames(self) -> Iterator[pl.DataFrame]:
        """Rows of the table `decomposition`."""
        analysis = self.analysis
        compare = analysis.suite.compare
        named = () if compare is None else compare.pairs_of(analysis.models)
        overall = chunk_of(analysis.sets[0].sums, analysis.weights, 0, 1)
        states = {set_states.slices.slice_set.name: set_states for set_states in analysis.sets}
        pairs = [
            _ModelPair(analysis, overall, states[subject.slice_set], subject, (baseline, model))
            for model, baseline in named
            for subject in subjects(analysis.suite)
        ]
        by_rows: dict[tuple[str, tuple[str, ...]], list[_ModelPair]] = {}
        for pair in pairs:
            by_rows.setdefault((pair.slice_set, pair.prefixes), []).append(pair)
        for (name, prefixes), members in by_rows.items():
            complements = states[name].complements
            assert complements is not None
            sums = _without_small_slices(complements.sums, prefixes, analysis.suite.min_rows)
            for first, last in steps(0, sums.slices, _SLICES_AT_ONCE):
                chunk = chunk_of(sums, analysis.weights, first, last)
                for pair in members:
                    pair.add(chunk)
        yield from (pair.frame() for pair in pairs)


def _without_small_slices(sums: SlicedSums, prefixes: Sequence[str], min_rows: int) -> SlicedSums:
    """Sums in which slices with too few rows of a population are added to the first, the rest; for means."""
    small = np.any([sums.total(f"{prefix}n") < min_rows for prefix in prefixes], axis=0)
    small[0] = False
    if not small.any():
        return sums
    replicates = {}
    for name, column in sums.replicates.items():
        replicates[name] = np.where(small, 0.0, column)
        replicates[name][:, 0] += column[:, small].sum(axis=1)
    code = np.where(small[sums.code], 0, sums.code)
    return replace(sums, code=code, replicates=replicates).merge_entries()


class _ModelPair:
    """The decomposition of one mean's difference between two models, (before, after), chunk by chunk of slices."""

    def __init__(
        self,
        analysis: Analysis,
        overall: Chunk,
        states: SetStates,
        subject: SetMetric,
        models: tuple[str, str],
    ) -> None:
        self.slice_set = subject.slice_set
        self._analysis = analysis
        self._overall = overall
        self._texts = [REST, *states.slices.texts()]
        self._values = [[], *states.slices.pairs()]
        self._listed: list[int] = []
        self._differences: list[Difference] = []
        self._totals: dict[str, tuple[Array, Array | None]] | None = None
        self._subject = subject
        self._models = models
        prefix = partial(analysis.population.prefix, subject.class_metric)
        self.prefixes = tuple(dict.fromkeys(map(prefix, models)))
        self._kind = analysis.replication.gate_kind(subject.metric)
        self._weights = analysis.replication.weights(self._kind)
        self._nudges = self._weights if isinstance(self._weights, Nudges) else None
        self._masses = [self._mass(self._state(overall, model)) for model in models]
        self._defined = all(mass[0] > 0 for mass in self._masses)

    def add(self, chunk: Chunk) -> None:
        """Take in some slices."""
        if not self._defined:
            return
        parts, blocks, listed = self._parts(chunk)
        self._totals = _with_chunk(self._totals, parts)
        self._differences.append(self._difference(parts, blocks, listed, self._equal(chunk)))
        self._listed += (chunk.first + np.flatnonzero(listed)).tolist()

    def frame(self) -> pl.DataFrame:
        """Its rows: three of each slice, then three of all together."""
        if self._totals is None:
            nothing = Difference.without_intervals(np.full(3, np.nan), "zero_denominator", "undefined_value")
            return self._rows(["all"] * 3, [[]] * 3, PARTS, nothing)
        mass = [self._mass(self._state(self._overall, model, "block")) for model in self._models]
        blocks = np.minimum(*(effective_blocks((each,)) for each in mass))
        listed, equal = np.ones(1, dtype=np.bool_), self._equal(self._overall)
        parts_together, size = (float(self._totals[name][0][0]) for name in ("total", _SIZE))
        totals = {
            name: (rounded_sum(value, size), None if replicates is None else rounded_sum(replicates, size))
            for name, (value, replicates) in self._totals.items()
        }
        differences = [*self._differences, self._difference(totals, blocks, listed, equal)]
        names = [self._texts[place] for place in self._listed for _ in PARTS]
        values = [self._values[place] for place in self._listed for _ in PARTS]
        parts = [*PARTS] * (len(self._listed) + 1)
        rows = self._rows([*names, *["all"] * 3], [*values, *[[]] * 3], parts, end_to_end(differences))
        before, after = (
            float(value_or_nan(self._subject.class_metric, self._state(self._overall, model))[0])
            for model in self._models
        )
        lacking = is_incomplete(parts_together, before, after, size)
        return without_sums(rows, PARTS) if lacking else rows

    def _state(self, chunk: Chunk, model: str, axis: str = "total") -> View:
        metric, prefix = (
            self._subject.class_metric,
            self._analysis.population.prefix(self._subject.class_metric, model),
        )
        if axis == "block":
            return chunk.sums.by_block(metric, model, prefix)
        if axis == "replicate":
            return chunk.sums.replicates(metric, model, prefix, self._nudges)
        return chunk.sums.totals(metric, model, prefix)

    def _equal(self, chunk: Chunk) -> Flags:
        before, after = self._models
        return chunk.equal_scores(after, before)

    def _mass(self, state: View) -> Array:
        return np.asarray(self._subject.class_metric.denominators(state)[0], dtype=np.float64)

    def _parts(self, chunk: Chunk) -> tuple[dict[str, tuple[Array, Array | None]], Codes, Flags]:
        """Values and replicates of the parts of a chunk's slices, their blocks, and the mask of slices with rows."""
        before, after = (
            self._shares(self._state(chunk, model), mass)
            for model, mass in zip(self._models, self._masses, strict=True)
        )
        value = change_parts(before, after)
        replicates: tuple[Array | None, Array | None] = (None, None)
        if self._weights is not None:
            replicates = change_parts(
                *(
                    self._shares(
                        self._state(chunk, model, "replicate"),
                        self._mass(self._state(self._overall, model, "replicate")),
                    )
                    for model in self._models
                )
            )
        mass = [self._mass(self._state(chunk, model, "block")) for model in self._models]
        blocks = np.minimum(*(effective_blocks((each,)) for each in mass))
        listed = (before.share != 0) | (after.share != 0)
        parts = dict(zip(PARTS, zip(value, replicates, strict=True), strict=False))
        total = None if replicates[0] is None or replicates[1] is None else replicates[0] + replicates[1]
        whole = {"total": (value[0] + value[1], total), _SIZE: (sizes(before, after), None)}
        return {**parts, **whole}, blocks, listed

    def _shares(self, state: View, total: Array) -> SliceMeans:
        mass = self._mass(state)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(mass != 0, mass / total, 0.0)
        return SliceMeans(share, value_or_nan(self._subject.class_metric, state))

    def _difference(
        self, parts: Mapping[str, tuple[Array, Array | None]], blocks: Codes, listed: Flags, equal: Flags
    ) -> Difference:
        """The parts of some slices, slice by slice, with intervals; `equal` is where both models say the same."""
        index = np.flatnonzero(listed)
        value = np.stack([parts[name][0][..., index] for name in PARTS], axis=-1).reshape(-1)
        replicates_of_parts = [parts[name][1] for name in PARTS]
        replicates = None
        sure = np.zeros(value.shape, dtype=np.bool_)
        defined = [each[:, index] for each in replicates_of_parts if each is not None]
        if len(defined) == len(PARTS):
            replicates = np.stack(defined, axis=-1).reshape(len(defined[0]), -1)
            sure = (value == 0) & ~(replicates != 0).any(axis=0)
            sure &= np.repeat(equal[index], len(PARTS)) | (
                np.arange(len(sure)) % len(PARTS) == PARTS.index("mix")
            )
        absent = self._analysis.replication.refusal(self._subject.metric)
        kind = self._kind or "bootstrap"
        ok = np.full(value.shape, "ok", dtype=object)
        number = Estimate(value, ok, np.repeat(blocks[index], 3), replicates, (), None, kind)
        return difference_from_zero(number, equal=sure, level=self._analysis.level, absent=absent)

    def _rows(
        self, names: Sequence[str], values: Sequence[Any], parts: Sequence[str], difference: Difference
    ) -> pl.DataFrame:
        baseline, model = self._models
        shared = self._subject.columns("model", model, baseline)
        return part_rows(shared, names, values, parts, difference)


def _with_chunk(
    totals: dict[str, tuple[Array, Array | None]] | None, parts: Mapping[str, tuple[Array, Array | None]]
) -> dict[str, tuple[Array, Array | None]]:
    """The sums over slices, and those of a further chunk."""
    out: dict[str, tuple[Array, Array | None]] = {}
    for name, (value, replicates) in parts.items():
        total = value.sum(keepdims=True)
        replicate_sum = None if replicates is None else replicates.sum(axis=1, keepdims=True)
        if totals is not None:
            total = total + totals[name][0]
            earlier = totals[name][1]
            replicate_sum = None if replicate_sum is None or earlier is None else replicate_sum + earlier
        out[name] = total, replicate_sum
    return out
