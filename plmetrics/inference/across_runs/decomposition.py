"""Decomposition of the change of a mean: changed values of slices (within), and changed shares of slices (mix).

A mean is the sum over slices of share x value, the share being that of its denominator. With w and m before (0) and
after (1), within = (w0 + w1)/2 (m1 - m0) and mix = (w1 - w0) (m0 + m1)/2 of each slice add up to w1 m1 - w0 m0, and
over all slices to the change. A slice that is there only once goes to the mix as a whole. Rows outside the set are one
more slice, `rest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.results import DECOMPOSITION_SCHEMA
from plmetrics.inference.chunks import Chunk, chunk_of
from plmetrics.inference.comparisons.paired_bootstrap import Difference, difference_from_zero
from plmetrics.inference.estimate import Estimate, effective_blocks
from plmetrics.inference.metric_values import value_or_nan
from plmetrics.inference.records import end_to_end
from plmetrics.inference.weights import Nudges
from plmetrics.suite.sections.references import IntervalReference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.subject import Analysis, SetStates
    from plmetrics.states.sums import View
    from plmetrics.suite.model import Suite

Array = NDArray[np.float64]

PARTS = ("within", "mix", "total")
REST = "rest"
_SLICES_AT_ONCE = 512
_ROUNDING = 1e-12
"""Shares and means that differ by less of their size are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class SliceMeans:
    """A mean in slices `[..., slice]`: the share of its denominator in each, 0 where it is absent, and its value."""

    share: Array
    value: Array


def change_parts(before: SliceMeans, after: SliceMeans) -> tuple[Array, Array]:
    """Within and mix of each slice.

    >>> one = SliceMeans(np.array([0.5, 0.5]), np.array([0.2, 0.4]))
    >>> other = SliceMeans(np.array([0.75, 0.25]), np.array([0.2, 0.8]))
    >>> within, mix = change_parts(one, other)
    >>> within.round(3).tolist(), mix.round(3).tolist()
    ([0.0, 0.15], [0.05, -0.15])
    """
    w0, w1 = before.share, after.share
    m0, m1 = (np.where(side.share != 0, side.value, 0.0) for side in (before, after))
    both = (w0 != 0) & (w1 != 0)
    within = np.where(both, (w0 + w1) / 2 * _change(m0, m1), 0.0)
    return within, np.where(both, _change(w0, w1) * (m0 + m1) / 2, w1 * m1 - w0 * m0)


def _change(before: Array, after: Array) -> Array:
    """Differences, exactly 0 where they are those of rounding."""
    change: Array = after - before
    return np.where(np.abs(change) <= _ROUNDING * np.maximum(np.abs(before), np.abs(after)), 0.0, change)


@dataclass(frozen=True, slots=True)
class SetMetric:
    """Subject of a decomposition over a set: a metric, or one of its classes."""

    slice_set: str
    metric: Metric
    named: str
    class_metric: Metric

    def columns(self, contrast: str, model: str | None, baseline: str | None) -> dict[str, str | None]:
        """The columns that all rows of a change share."""
        subject = {"metric": self.metric.text, "class": self.named or None, "slice_set": self.slice_set}
        return {"contrast": contrast, "model": model, "baseline": baseline, **subject}


def subjects(suite: Suite) -> Iterator[SetMetric]:
    """Means of the suite's decompositions."""
    return (subject for subject in _chosen(suite) if subject.class_metric.mean)


def ordered_subjects(suite: Suite) -> Iterator[SetMetric]:
    """Metrics of the order of scores among the suite's decompositions: those named there."""
    chosen: Mapping[str, Sequence[str]] = {} if suite.compare is None else suite.compare.decompose
    return (
        subject
        for subject in _chosen(suite)
        if chosen[subject.slice_set] and subject.class_metric.of_score_shares
    )


def _chosen(suite: Suite) -> Iterator[SetMetric]:
    """Names of the suite, or all by default."""
    chosen: Mapping[str, Sequence[str]] = {} if suite.compare is None else suite.compare.decompose
    for name in suite.slices:
        for metric in suite.listed(name) if name in chosen else ():
            if chosen[name] and metric.text not in chosen[name]:
                continue
            for named, member in metric.per_class():
                yield SetMetric(name, metric, named, member)


def omissions(suite: Suite) -> list[str]:
    """Note on metrics without a decomposition, as they are no means; each metric named in the suite has one."""
    chosen: Mapping[str, Sequence[str]] = {} if suite.compare is None else suite.compare.decompose
    between_intervals = suite.compare is not None and isinstance(suite.compare.run, IntervalReference)
    decomposable = {(subject.slice_set, subject.metric.text) for subject in subjects(suite)}
    words = []
    for name in chosen:
        others = [m for m in suite.listed(name) if not chosen[name] and (name, m.text) not in decomposable]
        if not others:
            continue
        ordered = [m.text for m in others if m.of_score_shares and between_intervals]
        hint = f"; name {', '.join(ordered)} to have it decomposed, too" if ordered else ""
        words.append(
            f"only means are decomposed over '{name}', not {', '.join(m.text for m in others)}{hint}"
        )
    return words


def decompositions(analysis: Analysis) -> pl.DataFrame:
    """Table `decomposition` of every compared pair of models.

    Intervals are those of `paired_difference` on replicates of each part. A mix that is 0 in all of them, as that of
    models that share their weights, is 0 for sure; so are all parts of models that say the same of every row.
    """
    compare = analysis.suite.compare
    pairs = () if compare is None else compare.pairs_of(analysis.models)
    overall = chunk_of(analysis.sets[0].sums, analysis.weights, 0, 1)
    states = {set_states.slices.slice_set.name: set_states for set_states in analysis.sets}
    tables = [
        _Models(analysis, overall, states[subject.slice_set], subject, (baseline, model))
        for model, baseline in pairs
        for subject in subjects(analysis.suite)
    ]
    for name in dict.fromkeys(set_states.slice_set for set_states in tables):
        complements = states[name].complements
        assert complements is not None
        for first in range(0, complements.sums.slices, _SLICES_AT_ONCE):
            last = min(first + _SLICES_AT_ONCE, complements.sums.slices)
            chunk = chunk_of(complements.sums, analysis.weights, first, last)
            for set_states in tables:
                if set_states.slice_set == name:
                    set_states.add(chunk)
    return pl.concat([DECOMPOSITION_SCHEMA.to_frame(), *(set_states.frame() for set_states in tables)])


class _Models:
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
        self._kind = analysis.replication.judged(subject.metric)
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
        self._differences.append(self._judged(parts, blocks, listed, self._equal(chunk)))
        self._listed += (chunk.first + np.flatnonzero(listed)).tolist()

    def frame(self) -> pl.DataFrame:
        """Its rows: three of each slice, then three of all together."""
        if self._totals is None:
            nothing = Difference.without_intervals(np.full(3, np.nan), "zero_denominator", "undefined_value")
            return self._rows(["all"] * 3, [[]] * 3, PARTS, nothing)
        mass = [self._mass(self._state(self._overall, model, "block")) for model in self._models]
        blocks = np.minimum(*(effective_blocks((each,)) for each in mass))
        listed, equal = np.ones(1, dtype=np.bool_), self._equal(self._overall)
        differences = [*self._differences, self._judged(self._totals, blocks, listed, equal)]
        names = [self._texts[place] for place in self._listed for _ in PARTS]
        values = [self._values[place] for place in self._listed for _ in PARTS]
        parts = [*PARTS] * (len(self._listed) + 1)
        return self._rows([*names, *["all"] * 3], [*values, *[[]] * 3], parts, end_to_end(differences))

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

    def _equal(self, chunk: Chunk) -> NDArray[np.bool_]:
        """Mask of the slices where both models predict the same for every row."""
        before, after = self._models
        equal: NDArray[np.bool_] = chunk.sums.total(f"{after}|differs|{before}") == 0
        return equal

    def _mass(self, state: View) -> Array:
        return np.asarray(self._subject.class_metric.denominators(state)[0], dtype=np.float64)

    def _parts(
        self, chunk: Chunk
    ) -> tuple[dict[str, tuple[Array, Array | None]], NDArray[np.int64], NDArray[np.bool_]]:
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
        return {**parts, "total": (value[0] + value[1], total)}, blocks, listed

    def _shares(self, state: View, total: Array) -> SliceMeans:
        mass = self._mass(state)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(mass != 0, mass / total, 0.0)
        return SliceMeans(share, value_or_nan(self._subject.class_metric, state))

    def _judged(
        self,
        parts: Mapping[str, tuple[Array, Array | None]],
        blocks: NDArray[np.int64],
        listed: NDArray[np.bool_],
        equal: NDArray[np.bool_],
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
        absent = self._analysis.replication.refused(self._subject.metric)
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


def part_rows(
    constants: Mapping[str, str | None],
    names: Sequence[str],
    values: Sequence[Any],
    parts: Sequence[str],
    difference: Difference,
    note: str | None = None,
    bound: Array | None = None,
    sampling_error: Array | None = None,
) -> pl.DataFrame:
    """Rows of the table `decomposition`: the change of a metric, and the part of each slice in it.

    `bound` is how wrong values may be on bins, `sampling_error` their standard error where orders were drawn.
    """
    numbers = {
        "value": difference.difference,
        "lower": difference.lower,
        "upper": difference.upper,
        "std_error": difference.std_error,
        "method": difference.method.tolist(),
        "interval_status": difference.interval_status.tolist(),
        "status": difference.status.tolist(),
    }
    columns: dict[str, Any] = {
        "slice": list(names),
        "slice_values": list(values),
        "part": list(parts),
        **numbers,
    }
    accuracy = {"bound": bound, "sampling_error": sampling_error}
    columns |= {name: column for name, column in accuracy.items() if column is not None}
    constant = {**constants, "note": note}
    height = len(names)
    frame = pl.DataFrame(
        [
            pl.Series(name, columns[name] if name in columns else [constant.get(name)] * height, dtype=dtype)
            for name, dtype in DECOMPOSITION_SCHEMA.items()
        ]
    )
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))
