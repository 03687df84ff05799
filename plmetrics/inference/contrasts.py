"""Contrasts of estimates on shared replicates: models with models, slices with slices, with all rows, with the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.metric import TOTAL
from plmetrics.inference.comparisons.inflation import (
    NOISE_NOTE,
    UNEQUAL_NOISE,
    bearable,
    leaves_noise,
    unequal_noise,
    with_noise_left,
)
from plmetrics.inference.comparisons.paired import (
    Difference,
    distance,
    logged,
    paired_difference,
    paired_ratio,
    stacked,
)
from plmetrics.inference.tables import TESTS, comparison_columns, comparison_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.chunks import Found
    from plmetrics.inference.estimate import Estimate, ReplicateKind
    from plmetrics.inference.subject import Analysis, Part, Place
    from plmetrics.suite.model import Suite

Flags = NDArray[np.bool_]
Codes = NDArray[np.int64]

OTHER_ROWS = "the models are of different rows: some were dropped for one of them"
"""The note on models that were compared where one has rows that the other lacks."""

UNEQUAL_ROWS = "unequal_rows"
"""The status of a contrast of totals over different numbers of rows."""

_NOTES = np.array([None, OTHER_ROWS], dtype=object)
_OF_SIZES = np.array([None, f"it {TOTAL}", NOISE_NOTE], dtype=object)
_ROUNDING = 1e-9
_AT_ONCE = 1 << 22
"""How many replicates are held against others at a time."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Two estimates of the same slices, where they are sure to be equal, and the smaller number of rows.

    `same_size` says where both are of equally many rows, of equal weight together.
    """

    model: Estimate
    baseline: Estimate
    equal: Flags
    n: Any
    same_size: Flags

    def take(self, index: Codes) -> Sides:
        """Those of some of the slices."""
        one, other = self.model.take(index), self.baseline.take(index)
        return Sides(one, other, self.equal[index], self.n[index], self.same_size[index])


class Contrasts:
    """The rows of `comparisons`, made chunk by chunk from the estimates of a run."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._rows = comparison_rows([states.slices for states in analysis.sets])
        self._numbers = {metric.text: number for number, metric in enumerate(analysis.suite.computed)}
        compare = analysis.suite.compare
        self._compared = () if compare is None else compare.scales
        self._asked = pairs_by_scale(analysis.suite, analysis.pairs)
        self._scales = tuple(self._asked)
        self._p_value = "t" if compare is None else compare.p_value

    def models(self, place: Place, part: Part) -> None:
        """Every pair of models, in the slices of a chunk."""
        pairs = self._analysis.pairs
        logs: dict[str, Estimate] = {}
        for batch in _batches(pairs, part):
            for scale, asked in self._asked.items():
                own = [pair for pair in batch if pair in asked]
                if own:
                    self._pairs(place, part, own, scale, logs)

    def _pairs(
        self,
        place: Place,
        part: Part,
        pairs: Sequence[tuple[str, str]],
        scale: str,
        logs: dict[str, Estimate],
    ) -> None:
        found = part.found
        slices = len(part.listed)
        equal = np.concatenate(
            [part.equal[pair] & self._same_threshold(place.metric, pair) for pair in pairs]
        )
        sides = Sides(
            stacked([found[model].estimate for model, _ in pairs]),
            stacked([found[baseline].estimate for _, baseline in pairs]),
            equal,
            None,
            np.concatenate([same_size(found[model], found[baseline]) for model, baseline in pairs]),
        )
        held = None
        if scale != "difference":
            for name in (name for pair in pairs for name in pair):
                if name not in logs:
                    logs[name] = logged(found[name].estimate)
            held = tuple(stacked([logs[pair[side]] for pair in pairs]) for side in (0, 1))
        made = self._made(sides, scale, place.metric, held)
        nearer = self._nearer(sides, place.metric)
        for step, (model, baseline) in enumerate(pairs):
            n = np.minimum(found[model].n, found[baseline].n)
            own = made.part(step * slices, (step + 1) * slices)
            order = self._analysis.pairs.index((model, baseline)) * len(self._scales)
            columns = self._columns("model", scale, (model, baseline), place, (own, n, _kind(sides.model)))
            columns |= {name: values[step * slices : (step + 1) * slices] for name, values in nearer.items()}
            columns["note"] = _NOTES[((n > 0) & (found[model].n != found[baseline].n)).astype(np.int64)]
            where = (
                order + self._scales.index(scale),
                place.index,
                self._numbers[place.metric.text],
                place.number,
            )
            self._rows.add(where, part.listed, columns, part.first)

    def _same_threshold(self, metric: Metric, pair: tuple[str, str]) -> bool:
        """Models that say the same are only equal where they are judged at the same threshold."""
        one, other = (self._analysis.population.threshold(metric, model) for model in pair)
        return one == other

    def slices(
        self, place: Place, kind: int, contrast: str, model: str, sides: Sides, baselines: Any, numbers: Codes
    ) -> None:
        """Slices of one model, with what each is held against.

        Args:
            place: where the rows stand.
            kind: the number of the comparison among those of the set: rows stand in that order.
            contrast: `slice` or `rest`.
            model: the model.
            sides: the estimates, of the slices to be listed alone.
            baselines: what each is held against, in words; one for all, or one each.
            numbers: the slices' numbers in their set.
        """
        models = self._analysis.models
        start = len(self._analysis.pairs) + kind * len(models) + models.index(model)
        for step, scale in enumerate(self._compared):
            for part in _slabs(sides.model, len(numbers)):
                own = sides.take(part)
                made = self._made(own, scale, place.metric, None)
                uneven = _unequal_noise(own, place.metric, scale) & (made.interval_status == "ok")
                made = made.untested(uneven, UNEQUAL_NOISE)
                if leaves_noise(place.metric, scale) and own.model.replicates is not None:
                    level, uneven_sizes = self._analysis.level, ~own.same_size
                    made = with_noise_left(made, own.model, own.baseline, uneven_sizes, level)
                words = baselines if isinstance(baselines, str) else baselines[part]
                columns = self._columns(
                    contrast, scale, (model, words), place, (made, own.n, _kind(own.model))
                )
                columns |= self._nearer(own, place.metric)
                columns["note"] = _OF_SIZES[(made.status == UNEQUAL_ROWS) + 2 * uneven]
                order = start * len(self._scales) + step
                where = (order, place.index, self._numbers[place.metric.text], place.number)
                self._rows.add_at(where, numbers[part], columns)

    def _made(self, sides: Sides, scale: str, metric: Metric, logs: Any) -> Difference:
        given: dict[str, Any] = {
            "equal": sides.equal,
            "level": self._analysis.level,
            "p_value": self._p_value,
            "absent": self._analysis.replication.refused(metric),
        }
        if scale == "difference":
            made = paired_difference(sides.model, sides.baseline, **given)
        else:
            logs = logs or (logged(sides.model), logged(sides.baseline))
            relative = scale == "relative_change"
            made = paired_ratio(sides.model, sides.baseline, logs, **given, relative=relative)
        return made.refuse(~sides.same_size, UNEQUAL_ROWS) if metric.additive else made

    def _nearer(self, sides: Sides, metric: Metric) -> dict[str, NDArray[np.float64]]:
        """By how much the model is nearer to 0 than the baseline, and the p value of that, where 0 is best."""
        if metric.direction != "zero":
            nothing = np.full(sides.equal.shape, np.nan)
            return {"nearer": nothing, "nearer_p": nothing}
        one, other = distance(sides.model), distance(sides.baseline)
        made = paired_difference(other, one, equal=sides.equal, level=self._analysis.level)
        return {"nearer": made.difference, "nearer_p": made.p_value}

    def _columns(
        self,
        contrast: str,
        scale: str,
        names: tuple[str, Any],
        place: Place,
        found: tuple[Difference, Any, ReplicateKind | None],
    ) -> dict[str, Any]:
        made, n, kind = found
        intervals = self._analysis.suite.uncertainty is not None
        about = {"contrast": contrast, "scale": scale, "model": names[0], "baseline": names[1]}
        about |= {"metric": place.metric.text, "class": place.named, "note": ""}
        return about | comparison_columns(
            made, n, intervals=intervals, test="" if kind is None else TESTS[kind]
        )

    def frame(self) -> pl.DataFrame:
        """All rows, in result order."""
        return self._rows.frame()


def pairs_by_scale(suite: Suite, pairs: Sequence[tuple[str, str]]) -> dict[str, set[tuple[str, str]]]:
    """On which scales pairs of models are compared: those of the suite's comparison, and those that gates judge."""
    compare = suite.compare
    asked: dict[str, set[tuple[str, str]]] = {}
    if compare is not None:
        listed = set(compare.pairs_of(suite.models))
        asked = {scale: listed & set(pairs) for scale in compare.scales}
    for gate in suite.gates:
        own = {pair for pair in pairs if pair[1] == gate.rival and gate.model in {None, pair[0]}}
        asked[gate.scale] = asked.get(gate.scale, set()) | own
    return asked


def _kind(estimate: Estimate) -> ReplicateKind | None:
    """How the replicates were made that a comparison reads; None without any."""
    return None if estimate.replicates is None else estimate.kind


def sides_of(found: Found, other: Found, own: Codes, others: Codes, *, same: bool = False) -> Sides:
    """Some slices of one estimate and some of another; `same` where equal numbers of rows mean equal rows."""
    n = np.minimum(found.n[own], other.n[others])
    equal = found.n[own] == other.n[others] if same else np.zeros(len(own), dtype=np.bool_)
    one, its = found.take(own), other.take(others)
    return Sides(one.estimate, its.estimate, equal, n, same_size(one, its))


def _unequal_noise(sides: Sides, metric: Metric, scale: str) -> Flags:
    """Where noise adds more to one side than to the other, which has more rows or fewer."""
    pair, bears = (sides.model, sides.baseline), bearable(metric, scale)
    if bears is None or any(side.replicates is None for side in pair):
        return np.zeros(sides.equal.shape, dtype=np.bool_)
    return ~sides.same_size & unequal_noise(*pair, bears)


def same_size(found: Found, other: Found) -> Flags:
    """Where two estimates are of equally many rows, of equal weight together."""
    same: Flags = (found.n == other.n) & np.isclose(found.weight, other.weight, rtol=_ROUNDING, atol=0.0)
    return same


def _batches(pairs: Sequence[tuple[str, str]], part: Part) -> Iterator[Sequence[tuple[str, str]]]:
    """Pairs of models, so many at a time as memory has room for."""
    if not pairs:
        return
    step = _room(part.found[pairs[0][0]].estimate, len(part.listed))
    for first in range(0, len(pairs), step):
        yield pairs[first : first + step]


def _slabs(estimate: Estimate, slices: int) -> Iterator[Codes]:
    """Slices, so many at a time as memory has room for."""
    step = _room(estimate, 1)
    for first in range(0, slices, step):
        yield np.arange(first, min(first + step, slices))


def _room(estimate: Estimate, slices: int) -> int:
    replicates = 1 if estimate.replicates is None else len(estimate.replicates)
    return max(1, _AT_ONCE // max(1, replicates * slices))


def pair_places(listed: Sequence[int]) -> tuple[Codes, Codes]:
    """Every pair of some slices: the later ones, and the earlier ones that they are held against.

    >>> [found.tolist() for found in pair_places([0, 2, 5])]
    [[2, 5, 5], [0, 0, 2]]
    """
    places = np.asarray(listed, dtype=np.int64)
    later, earlier = np.tril_indices(len(places), -1)
    return places[later], places[earlier]


def joined_texts(names: Mapping[int, Sequence[str]]) -> NDArray[np.object_]:
    """The texts of the slices of some sets, one after another."""
    return np.array([text for own in names.values() for text in own], dtype=object)
