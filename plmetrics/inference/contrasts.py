"""Contrasts of estimates on shared replicates: models with models, slices with slices, with all rows, with the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from plmetrics.catalogue.metric import TOTAL, Metric, leaves
from plmetrics.catalogue.needs import Area, Points, Ranks
from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.core.threads import batches
from plmetrics.inference.chunks import EstimateColumns
from plmetrics.inference.comparisons.inflation import (
    NOISE_NOTE,
    UNEQUAL_NOISE,
    bearable,
    bounded_by_noise,
    hides_noise,
    leaves_noise,
    noise_bounds,
    remaining_noise,
    unequal_noise,
)
from plmetrics.inference.comparisons.paired_bootstrap import (
    Difference,
    distance,
    log_estimate,
    paired_difference,
    paired_ratio,
    without_spread,
)
from plmetrics.inference.comparisons.readings import with_omissions
from plmetrics.inference.estimate import Estimate, ReplicateKind, of_other_rows, stack
from plmetrics.inference.intervals.closed_forms import at_end
from plmetrics.inference.intervals.spread import DEGENERATE, of_tied_rows, without_difference
from plmetrics.inference.records import entries_of
from plmetrics.inference.tables import COMPARED_SCHEMA, TESTS, ResultRows, comparison_columns

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.inference.estimates import Estimates
    from plmetrics.inference.subject import Analysis, MetricPlace, SliceEstimates
    from plmetrics.suite.model import Suite


OTHER_ROWS = "the models are of different rows: some were dropped for one of them, or weigh 0"
"""The note on models that were compared where one has rows that the other lacks."""

UNEQUAL_ROWS = "unequal_rows"
"""The status of a contrast of totals over different numbers of rows."""

_OTHER_WEIGHTS = "the models weigh the same rows differently: a total is larger where these weigh more"
_NOTES = np.array([None, OTHER_ROWS, _OTHER_WEIGHTS, NOISE_NOTE], dtype=object)
_OF_SIZES = np.array([None, f"it {TOTAL}", NOISE_NOTE], dtype=object)
_ROUNDING = 1e-9
_OF_ORDER = frozenset(get_args(Area))
"""Kinds of values that each change of the order changes."""
_FEW_UNITS = 30
"""Fewer rows of a class may stand in the same order by chance."""
_AT_ONCE = 1 << 22
"""How many replicates are held against others at a time."""


@dataclass(frozen=True, slots=True)
class ContrastSides:
    """Two estimates of the same slices, where they are sure to be equal, and the smaller number of rows.

    `same_size` says where both are of equally many rows, of equal weight together; `remarks` are those on both values.
    """

    model: Estimate
    baseline: Estimate
    equal: Flags
    n: Any
    same_size: Flags
    remarks: tuple[Texts, ...] = ()

    def take(self, index: Codes) -> ContrastSides:
        """The sides in some of the slices."""
        sides = self.model.take(index), self.baseline.take(index)
        remarks = tuple(side[index] for side in self.remarks)
        return ContrastSides(*sides, self.equal[index], self.n[index], self.same_size[index], remarks)


class Contrasts:
    """The rows of `comparisons`, made chunk by chunk from the estimates of a run."""

    def __init__(self, analysis: Analysis, overall: Estimates) -> None:
        self._analysis = analysis
        self._same_order = pairs_of_one_order(analysis, overall)
        self._rows = ResultRows([states.slices for states in analysis.sets], COMPARED_SCHEMA)
        self._numbers = analysis.metric_numbers
        self._turns = {pair: turn for turn, pair in enumerate(analysis.pairs)}
        compare = analysis.suite.compare
        self._compared = () if compare is None else compare.scales
        self._requested = pairs_by_scale(analysis.suite, analysis.pairs)
        self._scales = tuple(self._requested)
        self._p_value = "t" if compare is None else compare.p_value

    def models(self, place: MetricPlace, part: SliceEstimates) -> None:
        """Every pair of models, in the slices of a chunk."""
        pairs = self._analysis.pairs
        logs: dict[str, Estimate] = {}
        for batch in _batches(pairs, part):
            for scale, requested in self._requested.items():
                scale_pairs = [pair for pair in batch if pair in requested]
                if scale_pairs:
                    self._pairs(place, part, scale_pairs, scale, logs)

    def _pairs(
        self,
        place: MetricPlace,
        part: SliceEstimates,
        pairs: Sequence[tuple[str, str]],
        scale: str,
        logs: dict[str, Estimate],
    ) -> None:
        names = list(zip(*pairs, strict=True))
        columns = tuple(_end_to_end([part.estimates[name] for name in side]) for side in names)
        both, same = of_other_rows(*(side.estimate for side in columns)), same_size(*columns)
        equal, tied = self._ties(place.metric, part, pairs, both, same)
        both = of_tied_rows(*both, tied)
        sides = ContrastSides(*both, equal, np.minimum(*(side.n for side in columns)), same)
        tolerance = None
        if scale != "difference" and not tied.any():
            for name in {*names[0], *names[1]} - logs.keys():
                logs[name] = log_estimate(part.estimates[name].estimate)
            tolerance = of_other_rows(*(stack([logs[name] for name in side]) for side in names))
        difference = self._contrast(sides, scale, place.metric, tolerance, other_rows=False)
        pair = sides.model, sides.baseline
        difference = bounded_by_noise(difference, pair, place.metric, sides.n, scale, self._analysis.level)
        nearer = self._nearer(sides, place.metric, other_rows=False)
        listed = np.flatnonzero(np.tile(part.mask, len(pairs)))
        of_pair, number = np.divmod(listed, len(part.mask))
        difference, n = entries_of(difference, listed), sides.n[listed]
        model, baseline = (np.array(side, dtype=object)[of_pair] for side in names)
        contrasted = difference, n, _kind(sides.model)
        row = self._columns("model", scale, (model, baseline), place, contrasted)
        row |= {name: values[listed] for name, values in nearer.items()}
        first, second = columns
        notes = np.where((first.n != second.n)[listed], 1, 2 * (difference.status == UNEQUAL_ROWS))
        notes = np.where(difference.interval_status == UNEQUAL_NOISE, 3, notes)
        notes = _NOTES[np.where(n > 0, notes, 0)]
        row["note"] = with_omissions(notes, first.note[listed], second.note[listed])
        turns = np.array([self._turns[pair] for pair in pairs])
        order = turns[of_pair] * len(self._scales) + self._scales.index(scale)
        where = (order, place.index, self._numbers[place.metric.text], place.number)
        self._rows.add_at(where, part.first + number, row)

    def _ties(
        self,
        metric: Metric,
        part: SliceEstimates,
        pairs: Sequence[tuple[str, str]],
        both: tuple[Estimate, Estimate],
        same: Flags,
    ) -> tuple[Flags, Flags]:
        """Masks of models that are equal, in what a metric reads of them, and of others that no row tells apart."""
        population = self._analysis.population
        cuts = {model: population.cuts(metric, model) for model in self._analysis.models}
        equal = np.concatenate([part.equal[pair] & (cuts[pair[0]] == cuts[pair[1]]) for pair in pairs])
        first, second = (side.by_definition for side in both)
        if first is not None and second is not None:
            equal |= first & second
        score_free = all(leaf.text in population.score_free for leaf in leaves(metric))
        of_pairs = [score_free or (reads_order(metric) and pair in self._same_order) for pair in pairs]
        in_common = np.repeat(of_pairs, len(part.mask))
        of_rates = both[0].tie is not None
        if not of_rates and not in_common.any():
            return equal, np.zeros_like(equal)
        still = same & ~equal & without_difference(*both)
        return equal | (still & in_common), still & ~in_common & of_rates

    def slices(
        self,
        place: MetricPlace,
        kind: int,
        contrast: str,
        model: str,
        sides: ContrastSides,
        baselines: Any,
        numbers: Codes,
    ) -> None:
        """Slices of one model, with the reference of each in words: one for all, or one each.

        Rows stand in the order of `kind`, the number of the comparison (`slice` or `rest`) among those of the set.
        """
        models = self._analysis.models
        start = len(self._analysis.pairs) + kind * len(models) + models.index(model)
        for step, scale in enumerate(self._compared):
            for part in _slabs(sides.model, len(numbers)):
                part_sides = sides.take(part)
                difference = self._contrast(part_sides, scale, place.metric, None, other_rows=True)
                uneven = _unequal_noise(part_sides, place.metric, scale) & (
                    difference.interval_status == "ok"
                )
                difference = difference.without_tests(uneven, UNEQUAL_NOISE)
                difference = difference.without_tests(_degenerate(part_sides, difference), DEGENERATE)
                if leaves_noise(place.metric, scale) and part_sides.model.replicates is not None:
                    level, uneven_sizes = self._analysis.level, ~part_sides.same_size
                    remaining = remaining_noise(place.metric, part_sides.model, part_sides.baseline)
                    difference = noise_bounds(difference, remaining, uneven_sizes, level)
                words = baselines if isinstance(baselines, str) else baselines[part]
                contrasted = difference, part_sides.n, _kind(part_sides.model)
                columns = self._columns(contrast, scale, (model, words), place, contrasted)
                columns |= self._nearer(part_sides, place.metric, other_rows=True)
                texts = _OF_SIZES[(difference.status == UNEQUAL_ROWS) + 2 * uneven]
                columns["note"] = with_omissions(texts, *part_sides.remarks)
                order = start * len(self._scales) + step
                where = (order, place.index, self._numbers[place.metric.text], place.number)
                self._rows.add_at(where, numbers[part], columns)

    def _contrast(
        self, sides: ContrastSides, scale: str, metric: Metric, logs: Any, *, other_rows: bool
    ) -> Difference:
        options: dict[str, Any] = {
            "equal": sides.equal,
            "level": self._analysis.level,
            "p_value": self._p_value,
            "absent": self._analysis.replication.refusal(metric),
            "other_rows": other_rows,
        }
        if scale == "difference":
            difference = paired_difference(sides.model, sides.baseline, **options)
        else:
            logs = logs or (log_estimate(sides.model), log_estimate(sides.baseline))
            relative = scale == "relative_change"
            difference = paired_ratio(sides.model, sides.baseline, logs, **options, relative=relative)
        return difference.refuse(~sides.same_size, UNEQUAL_ROWS) if metric.additive else difference

    def _nearer(self, sides: ContrastSides, metric: Metric, *, other_rows: bool) -> dict[str, Array]:
        """Decrease of the distance to 0, the best value, from the baseline to the model, and its p value."""
        if metric.direction != "zero":
            nothing = np.full(sides.equal.shape, np.nan)
            return {"nearer": nothing, "nearer_p": nothing}
        model, baseline = distance(sides.model), distance(sides.baseline)
        difference = paired_difference(
            baseline, model, equal=sides.equal, level=self._analysis.level, other_rows=other_rows
        )
        return {"nearer": difference.difference, "nearer_p": difference.p_value}

    def _columns(
        self,
        contrast: str,
        scale: str,
        names: tuple[Any, Any],
        place: MetricPlace,
        contrasted: tuple[Difference, Any, ReplicateKind | None],
    ) -> dict[str, Any]:
        difference, n, kind = contrasted
        intervals = self._analysis.suite.uncertainty is not None
        constants = {"contrast": contrast, "scale": scale, "model": names[0], "baseline": names[1]}
        constants |= {"metric": place.metric.text, "class": place.class_name, "note": ""}
        return constants | comparison_columns(
            difference, n, intervals=intervals, test="" if kind is None else TESTS[kind]
        )

    def frame(self) -> pl.DataFrame:
        """All rows, in result order."""
        return self._rows.frame()


def reads_order(metric: Metric) -> bool:
    """Whether a metric reads the order of the scores, and not the scores."""
    need = metric.needs
    return isinstance(need, Ranks) or (isinstance(need, Points) and need.by is None and not need.scores)


def pairs_of_one_order(analysis: Analysis, overall: Estimates) -> set[tuple[str, str]]:
    """Pairs of models that order all rows alike, as a model and its Platt scaling do.

    An area or a rank correlation of theirs is the same in all replicates. Of few rows, or at an end of its range, it
    may be the same for other orders.
    """
    telling = [
        metric
        for metric in analysis.suite.state_metrics("overall")
        if reads_order(metric) and (metric.value_kind.name in _OF_ORDER or isinstance(metric.needs, Ranks))
    ]
    estimates = {
        metric: overall.of_kind(metric, analysis.replication.of_leaf(metric)[0]) for metric in telling
    }
    return {pair for each in estimates.items() for pair in analysis.pairs if _one_order(*each, pair)}


def _one_order(metric: Metric, of_models: Mapping[str, EstimateColumns], pair: tuple[str, str]) -> bool:
    first, second = (of_models[name] for name in pair)
    blocks, value = first.estimate.blocks, first.estimate.value
    inner = ~at_end(value, metric.value_kind) & (blocks >= _FEW_UNITS)
    return bool(
        (inner & same_size(first, second) & without_difference(first.estimate, second.estimate)).all()
    )


def pairs_by_scale(suite: Suite, pairs: Sequence[tuple[str, str]]) -> dict[str, set[tuple[str, str]]]:
    """Scales of the compared pairs of models: those of the suite's comparison, and those of gates."""
    compare = suite.compare
    requested: dict[str, set[tuple[str, str]]] = {}
    if compare is not None:
        listed = set(compare.pairs_of(suite.models))
        requested = {scale: listed & set(pairs) for scale in compare.scales}
    for gate in suite.gates:
        gate_pairs = {pair for pair in pairs if pair[1] == gate.rival and gate.model in {None, pair[0]}}
        requested[gate.scale] = requested.get(gate.scale, set()) | gate_pairs
    return requested


def _kind(estimate: Estimate) -> ReplicateKind | None:
    """Kind of the replicates of a comparison; None without any."""
    return None if estimate.replicates is None else estimate.kind


def sides_of(
    estimates: EstimateColumns, other: EstimateColumns, index: Codes, others: Codes, *, same: bool = False
) -> ContrastSides:
    """Some slices of one estimate and some of another; `same` where equal numbers of rows mean equal rows."""
    n = np.minimum(estimates.n[index], other.n[others])
    equal = estimates.n[index] == other.n[others] if same else np.zeros(len(index), dtype=np.bool_)
    first, second = estimates.take(index), other.take(others)
    remarks = first.note, second.note
    return ContrastSides(first.estimate, second.estimate, equal, n, same_size(first, second), remarks)


def _degenerate(sides: ContrastSides, difference: Difference) -> Flags:
    """Mask of comparisons with a side that no replicate moves: other rows might, and its spread is not known."""
    unknown: Flags = without_spread(sides.model) | without_spread(sides.baseline)
    tested: Flags = difference.interval_status == "ok"
    return unknown & ~sides.equal & tested


def _unequal_noise(sides: ContrastSides, metric: Metric, scale: str) -> Flags:
    """Mask of comparisons with more noise on one side, by its number of rows."""
    pair, bears = (sides.model, sides.baseline), bearable(metric, scale)
    if any(side.replicates is None for side in pair):
        return np.zeros(sides.equal.shape, dtype=np.bool_)
    noisy = hides_noise(metric, sides.n)
    return ~sides.same_size & (noisy if bears is None else noisy | unequal_noise(*pair, bears))


def same_size(first: EstimateColumns, second: EstimateColumns) -> Flags:
    """Mask of pairs of estimates of equally many rows with equal total weight."""
    same: Flags = (first.n == second.n) & np.isclose(first.weight, second.weight, rtol=_ROUNDING, atol=0.0)
    return same


def _end_to_end(estimates: Sequence[EstimateColumns]) -> EstimateColumns:
    """Estimates of some models, one after another."""
    columns = zip(*((each.n, each.weight, each.note) for each in estimates), strict=True)
    n, weight, note = map(np.concatenate, columns)
    return EstimateColumns(stack([each.estimate for each in estimates]), n, weight, None, note)


def _batches(pairs: Sequence[tuple[str, str]], part: SliceEstimates) -> list[Sequence[tuple[str, str]]]:
    """Pairs of models, so many at a time as memory has room for."""
    if not pairs:
        return []
    return batches(pairs, _room(part.estimates[pairs[0][0]].estimate, len(part.mask)))


def _slabs(estimate: Estimate, slices: int) -> Iterator[Codes]:
    """Slices, so many at a time as memory has room for."""
    step = _room(estimate, 1)
    for first in range(0, slices, step):
        yield np.arange(first, min(first + step, slices))


def _room(estimate: Estimate, slices: int) -> int:
    replicates = 1 if estimate.replicates is None else len(estimate.replicates)
    return max(1, _AT_ONCE // max(1, replicates * slices))


def pair_places(listed: Sequence[int]) -> tuple[Codes, Codes]:
    """Every pair of some slices: the later ones, and the earlier ones as their references.

    >>> [found.tolist() for found in pair_places([0, 2, 5])]
    [[2, 5, 5], [0, 0, 2]]
    """
    places = np.asarray(listed, dtype=np.int64)
    later, earlier = np.tril_indices(len(places), -1)
    return places[later], places[earlier]


def joined_texts(names: Mapping[int, Sequence[str]]) -> Texts:
    """The texts of the slices of some sets, one after another."""
    return np.array([text for texts in names.values() for text in texts], dtype=object)
