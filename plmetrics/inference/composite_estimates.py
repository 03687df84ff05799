"""Estimates made from other estimates: formulas slice by slice, and metrics put together over the slices of a set.

Replicates go the same way as values: replicate by replicate, so that intervals and comparisons stay paired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from plmetrics.catalogue.composite_metrics import AcrossSlices, DerivedMetric, Groups
from plmetrics.catalogue.metric import UNREACHABLE_ON_GRID
from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.inference.chunks import EstimateColumns
from plmetrics.inference.estimate import Estimate, farther_end, most_groups, same_rows

_MOST_LOST = 0.05


def by_parts(
    metric: DerivedMetric, parts: Mapping[str, EstimateColumns], *, itself: bool = False, ties: bool = False
) -> EstimateColumns:
    """The value of a derived metric in each slice. `parts` are the estimates of its metrics by their text.

    `itself` is whether it holds a model against the same model, `ties` whether models are compared.
    """
    estimates = {text: part_estimates.estimate for text, part_estimates in parts.items()}
    first = next(iter(parts.values()))
    statuses = [estimate.status for estimate in estimates.values()]
    value = metric.finalise({text: estimate.value for text, estimate in estimates.items()})
    status = metric.combined_status(value, statuses)
    replicates_of_parts = {text: estimate.replicates for text, estimate in estimates.items()}
    replicates = None
    if all(part is not None for part in replicates_of_parts.values()):
        replicates = metric.finalise(replicates_of_parts)
    blocks = _fewest_blocks(list(estimates.values()))
    note: Texts = np.full(value.shape, None, dtype=object)
    for part_estimates in reversed(list(parts.values())):
        notes = part_estimates.note != None  # noqa: E711 (element by element)
        note[notes] = part_estimates.note[notes]
    if len(parts) > 1:
        note[status == "ok"] = None
    notes = metric.combined_note(statuses)
    if notes is not None:
        note = np.where(status == "ok", notes, note)
    clean = np.where(status == "ok", value, np.nan)
    deviations = metric.combined_deviations({text: part.deviations for text, part in estimates.items()})
    kind, groups = first.estimate.kind, most_groups([part.estimate for part in parts.values()])
    estimate = Estimate(
        clean, status, blocks, replicates, (), deviations, kind, groups, total=metric.additive
    )
    if replicates is not None and metric.other_model is None:
        if ties:
            estimate = _with_tie(metric, estimate, estimates)
        estimate = _with_ends(metric, estimate, estimates)
    fixed = [part.by_definition for part in estimates.values()]
    if itself or all(part is not None for part in fixed):
        estimate = replace(estimate, by_definition=np.isfinite(clean))
    bound = None
    if any(part_estimates.bound is not None for part_estimates in parts.values()):
        bound = metric.combined_bound(
            {text: estimate.value for text, estimate in estimates.items()},
            {text: part_estimates.bound for text, part_estimates in parts.items()},
        )
    bound = None if bound is None else np.where(status == "ok", bound, np.nan)
    return EstimateColumns(estimate, first.n, first.weight, bound, note, labelled=first.labelled)


def _with_ends(metric: DerivedMetric, estimate: Estimate, parts: Mapping[str, Estimate]) -> Estimate:
    """The estimate with what the ends of its parts hide, which its replicates do not show either.

    It has the same fields where nothing is hidden: models and chunks of slices are put end to end.
    """
    reaches = [part.reach for part in parts.values() if part.reach is not None]
    if not reaches:
        return estimate
    below, above = np.zeros((2, *estimate.value.shape))
    if any(reach.any() for reach in reaches):
        below, above = _moves(
            metric, estimate.value, parts, {text: part.ends for text, part in parts.items()}
        )
    plausible = farther_end(estimate.value, (below, above))
    fingerprints = tuple(each for part in parts.values() for each in part.fingerprints)
    return replace(estimate, hidden=(below, above), plausible=plausible, fingerprints=fingerprints)


def _with_tie(metric: DerivedMetric, estimate: Estimate, parts: Mapping[str, Estimate]) -> Estimate:
    """The estimate with how far two models may differ that no row tells apart, if all parts say that of theirs."""
    reach = {text: part.tie for text, part in parts.items() if part.tie is not None}
    if len(reach) < len(parts):
        return estimate
    ends = {text: (parts[text].value - tie, parts[text].value + tie) for text, tie in reach.items()}
    return replace(estimate, tie=_moves(metric, estimate.value, parts, ends).max(axis=0))


def _moves(
    metric: DerivedMetric, value: Array, parts: Mapping[str, Estimate], ends: Mapping[str, Sequence[Array]]
) -> Array:
    """How far a value moves down and up `[2, slice]` with each part to its ends.

    Moves of independent parts are put together as the root of the sum of squares; those of the same rows add up.
    """
    values = {text: part.value for text, part in parts.items()}
    moves = np.zeros((len(parts), 2, *value.shape))
    for place, text in enumerate(parts):
        for end in ends[text]:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                move = metric.finalise(values | {text: end}) - value
            moves[place] = np.fmax(moves[place], np.where(np.isinf(move), 0.0, [-move, move]))
    squares = np.zeros(moves.shape[1:])
    for place, first in enumerate(parts.values()):
        for other, second in enumerate(parts.values()):
            squares += np.where(place == other or same_rows(first, second), moves[place] * moves[other], 0.0)
    return np.sqrt(squares)


def _fewest_blocks(parts: Sequence[Estimate]) -> Codes:
    """Number of blocks, the fewest of the parts with a value in a slice; of all without any."""
    valued = np.array([part.status == "ok" for part in parts], dtype=np.bool_)
    counted = valued | ~valued.any(axis=0)
    blocks = np.where(counted, [part.blocks for part in parts], np.iinfo(np.int64).max)
    fewest: Codes = blocks.min(axis=0)
    return fewest


@dataclass(frozen=True, slots=True)
class WholeSet:
    """The estimates of one model in all slices of a set, and overall, by the text of the metric.

    `mask` marks the slices that have rows; `weight` is that of all rows, `labelled` their share with a label, None
    where each must have one, `blocks` the number of the table's blocks, and `level` that of intervals.
    """

    names: Sequence[str]
    mask: Flags
    slices: Mapping[str, EstimateColumns]
    overall: Mapping[str, EstimateColumns]
    weight: float
    blocks: int
    level: float
    labelled: Array | None = None


def across_slices(metric: AcrossSlices, here: WholeSet) -> EstimateColumns:
    """The value of a metric made from others' in all slices of a set: an entry for the set, or one for each slice."""
    parts = {part.text: here.slices[part.text] for part in metric.parts()}
    first = next(iter(parts.values()))
    reasons = _admission(metric, here, list(parts.values()))
    defined = np.flatnonzero(here.mask & (reasons == "ok"))
    reference_name = metric.reference_among(here.names)
    position = np.flatnonzero(defined == reference_name) if reference_name is not None else defined[:0]
    reference = int(position[0]) if len(position) else None
    status = metric.too_few if len(defined) < metric.least else "ok"
    if reference_name is not None and reference is None:
        status = "reference_not_judged"
    if (here.mask & (reasons == UNREACHABLE_ON_GRID)).any():
        status = UNREACHABLE_ON_GRID
    point = _groups(metric, here, defined, reference, _values)
    replicates = None
    if metric.value_kind.is_resampled and all(
        part.estimate.replicates is not None for part in parts.values()
    ):
        replicates = _groups(metric, here, defined, reference, partial(_replicates, level=here.level))
    derived = _value(metric, point, replicates, status, first.estimate)
    if metric.compares_groups and derived.replicates is not None:
        from plmetrics.inference.comparisons.paired_bootstrap import without_spread

        unsure = np.any([without_spread(part.estimate)[defined] for part in parts.values()], axis=0)
        derived = _without_replicates(derived, unsure, reference)
    blocks_of_parts = np.array([part.estimate.blocks[defined] for part in parts.values()])
    if metric.for_each:
        return _scatter_estimates(derived, defined, reasons, parts, reference)
    blocks = metric.blocks_of(blocks_of_parts.min(axis=0), here.blocks) if len(defined) else 0
    out = np.flatnonzero(here.mask & (reasons != "ok")).tolist()
    note = metric.omissions([here.names[index] for index in out], [str(reasons[index]) for index in out])
    estimate = replace(derived, blocks=np.array([blocks], dtype=np.int64), groups=None)
    n, weight = (np.atleast_1d(getattr(first, name)[defined].sum()) for name in ("n", "weight"))
    bound = None
    if estimate.status[0] == "ok" and any(part.bound is not None for part in parts.values()):
        bound = metric.combined_bound(_groups(metric, here, defined, reference, _bounds))
    bounds = None if bound is None else np.atleast_1d(bound)
    threshold = None if first.threshold is None else first.threshold[:1]
    return EstimateColumns(
        estimate, n, weight, bounds, np.array([note], dtype=object), threshold, here.labelled
    )


def _admission(metric: AcrossSlices, here: WholeSet, parts: Sequence[EstimateColumns]) -> Texts:
    """Reason against each slice's part in the metric, "ok" for none."""
    status: Texts = np.full(len(here.mask), "ok", dtype=object)
    for part in reversed(parts):
        status = np.where(part.estimate.status != "ok", part.estimate.status, status)
    share = parts[0].weight / here.weight if here.weight > 0 else np.zeros(len(status))
    reasons: Texts = metric.reasons_against(status, share)
    return reasons


def _values(estimates: EstimateColumns) -> Array:
    return estimates.estimate.value


def _replicates(estimates: EstimateColumns, level: float) -> Array:
    """Replicates of the slices; where they are all alike, at an end of the range, they reach the plausible end."""
    from plmetrics.inference.intervals.spread import with_all_blocks

    estimate = with_all_blocks(estimates.estimate)
    assert estimate.replicates is not None
    if estimate.kind != "bootstrap":
        return estimate.replicates
    from plmetrics.inference.intervals.closed_forms import plausible_replicates

    return plausible_replicates(estimate.replicates, estimate.value, estimate.plausible, level)


def _bounds(estimates: EstimateColumns) -> Array:
    return np.zeros(estimates.estimate.value.shape) if estimates.bound is None else estimates.bound


def _groups(
    metric: AcrossSlices,
    here: WholeSet,
    index: Codes,
    reference: int | None,
    read: Callable[[EstimateColumns], Array],
) -> Groups:
    """Values of the admitted slices, their replicates, or their bounds."""
    texts = [part.text for part in metric.parts()]
    values = {text: read(here.slices[text])[..., index] for text in texts}
    overall = {text: read(here.overall[text])[..., 0] for text in texts} if metric.reads_overall else {}
    sizes = {}
    if metric.reads_sizes:
        sizes = {
            text: np.min([size[index] for size in here.slices[text].estimate.sizes], axis=0) for text in texts
        }
    return Groups(values, overall, reference, sizes)


def _value(
    metric: AcrossSlices, point: Groups, replicated: Groups | None, status: str, estimate: Estimate
) -> Estimate:
    """Estimate of the metric, of one entry or of one for each admitted slice. Its blocks are to be filled in."""
    shape = (next(iter(point.values.values())).shape[-1],) if metric.for_each else (1,)
    value: Array = np.full(shape, np.nan)
    replicates = deviations = None
    if replicated is not None and estimate.replicates is not None:
        replicates = np.full((len(estimate.replicates), *shape), np.nan)
    if status == "ok":
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.atleast_1d(metric.finalise(point))
            if replicated is not None:
                replicates = np.asarray(metric.finalise(replicated)).reshape(-1, *shape)
                away = metric.deviations(replicated, point)
                deviations = None if away is None else np.asarray(away).reshape(-1, *shape)
                if estimate.kind == "bootstrap" and not (metric.for_each or metric.is_total):
                    replicates = np.where(_lacks_slices(replicated)[:, None], np.nan, replicates)
    finite = np.isfinite(value)
    statuses = np.where(finite, "ok", status if status != "ok" else metric.failure_status(point)).astype(
        object
    )
    blocks = np.zeros(shape, dtype=np.int64)
    clean = np.where(finite, value, np.nan)
    return Estimate(clean, statuses, blocks, replicates, (), deviations, estimate.kind)


def _lacks_slices(replicated: Groups) -> Flags:
    """Replicates without a value in more than a twentieth of the slices.

    A slice of few units is in many of them not drawn, and in none drawn but otherwise: the values of the others alone
    vary less than the metric does.
    """
    lost = [np.isnan(values).mean(axis=-1) for values in replicated.values.values()]
    lacks: Flags = np.max(lost, axis=0) > _MOST_LOST
    return lacks


def _without_replicates(derived: Estimate, unsure: Flags, reference: int | None) -> Estimate:
    """Estimate without replicates where a group of unknown spread is compared with one that varies."""
    assert derived.replicates is not None
    if len(derived.value) != len(unsure):
        unknown = np.array([unsure.any() and not unsure.all()])
    else:
        unknown = np.zeros_like(unsure) if reference is None else unsure ^ unsure[reference]
    return replace(derived, replicates=np.where(unknown, np.nan, derived.replicates))


def _scatter_estimates(
    derived: Estimate,
    index: Codes,
    reasons: Texts,
    parts: Mapping[str, EstimateColumns],
    reference: int | None,
) -> EstimateColumns:
    """Estimates of the admitted slices, among all slices of the set."""
    first = next(iter(parts.values()))
    value, status = np.full(reasons.shape, np.nan), reasons.copy()
    value[index], status[index] = derived.value, derived.status
    replicates = None
    if derived.replicates is not None:
        replicates = np.full((len(derived.replicates), len(reasons)), np.nan)
        replicates[:, index] = derived.replicates
    fewest_blocks = np.minimum.reduce([part.estimate.blocks for part in parts.values()])
    note: Texts = np.full(reasons.shape, None, dtype=object)
    itself = np.zeros(reasons.shape, dtype=np.bool_)
    if reference is not None:
        itself[index[reference]] = True
        fewest_blocks = np.minimum(fewest_blocks, fewest_blocks[index[reference]])
        note[index[reference]] = "the reference"
    estimate = Estimate(value, status, fewest_blocks, replicates, (), kind=derived.kind, by_definition=itself)
    return EstimateColumns(estimate, first.n, first.weight, None, note, first.threshold, first.labelled)
