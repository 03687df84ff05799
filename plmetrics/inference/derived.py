"""Estimates made from other estimates: formulas slice by slice, and metrics put together over the slices of a set.

Replicates go the same way as values: replicate by replicate, so that intervals and comparisons stay paired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.derived import Groups
from plmetrics.inference.chunks import Found
from plmetrics.inference.estimate import Estimate, most_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.catalogue.derived import AcrossSlices, Derived

Array = NDArray[np.float64]
Texts = NDArray[np.object_]


def by_parts(metric: Derived, parts: Mapping[str, Found]) -> Found:
    """The value of a derived metric in each slice. `parts` are the estimates of its metrics by their text."""
    estimates = {text: found.estimate for text, found in parts.items()}
    first = next(iter(parts.values()))
    statuses = [estimate.status for estimate in estimates.values()]
    value = metric.finalise({text: estimate.value for text, estimate in estimates.items()})
    status = metric.combined_status(value, statuses)
    drawn = {text: estimate.replicates for text, estimate in estimates.items()}
    replicates = None
    if all(part is not None for part in drawn.values()):
        replicates = metric.finalise(drawn)
    blocks = _fewest_blocks(list(estimates.values()))
    note: Texts = np.full(value.shape, None, dtype=object)
    for found in reversed(list(parts.values())):
        told = found.note != None  # noqa: E711 (element by element)
        note[told] = found.note[told]
    note[status == "ok"] = None
    told = metric.combined_note(statuses)
    if told is not None:
        note = np.where(status == "ok", told, note)
    clean = np.where(status == "ok", value, np.nan)
    deviations = metric.combined_deviations({text: part.deviations for text, part in estimates.items()})
    kind, groups = first.estimate.kind, most_groups([part.estimate for part in parts.values()])
    estimate = Estimate(clean, status, blocks, replicates, (), deviations, kind, groups)
    return Found(estimate, first.n, first.weight, None, note)


def _fewest_blocks(parts: Sequence[Estimate]) -> NDArray[np.int64]:
    """Of the parts that have a value in a slice, for only these tell in what is made of them; of all if none has."""
    valued = np.array([part.status == "ok" for part in parts], dtype=np.bool_)
    counted = valued | ~valued.any(axis=0)
    blocks = np.where(counted, [part.blocks for part in parts], np.iinfo(np.int64).max)
    fewest: NDArray[np.int64] = blocks.min(axis=0)
    return fewest


@dataclass(frozen=True, slots=True)
class WholeSet:
    """The estimates of one model in all slices of a set, and overall, by the text of the metric.

    `listed` are the slices that have rows; `weight` is that of all rows, `blocks` the number of the table's blocks.
    """

    names: Sequence[str]
    listed: NDArray[np.bool_]
    slices: Mapping[str, Found]
    overall: Mapping[str, Found]
    weight: float
    blocks: int


def across_slices(metric: AcrossSlices, here: WholeSet) -> Found:
    """The value of a metric made from others' in all slices of a set: an entry for the set, or one for each slice."""
    parts = {part.text: here.slices[part.text] for part in metric.parts()}
    first = next(iter(parts.values()))
    reasons = _admitted(metric, here, list(parts.values()))
    held = np.flatnonzero(here.listed & (reasons == "ok"))
    asked = metric.reference_among(here.names)
    found = np.flatnonzero(held == asked) if asked is not None else held[:0]
    reference = int(found[0]) if len(found) else None
    status = metric.too_few if len(held) < metric.least else "ok"
    if asked is not None and reference is None:
        status = "reference_not_judged"
    point = _groups(metric, here, held, reference, replicates=False)
    drawn = None
    if metric.value_kind.is_resampled and all(
        part.estimate.replicates is not None for part in parts.values()
    ):
        drawn = _groups(metric, here, held, reference, replicates=True)
    made = _value(metric, point, drawn, status, first)
    own = np.array([part.estimate.blocks[held] for part in parts.values()])
    if metric.for_each:
        return _for_each(made, held, reasons, parts, reference)
    blocks = metric.blocks_of(own.min(axis=0), here.blocks) if len(held) else 0
    out = np.flatnonzero(here.listed & (reasons != "ok")).tolist()
    note = metric.left_out([here.names[index] for index in out], [str(reasons[index]) for index in out])
    estimate = replace(made, blocks=np.array([blocks], dtype=np.int64), groups=None)
    n, weight = (np.atleast_1d(getattr(first, name)[held].sum()) for name in ("n", "weight"))
    return Found(estimate, n, weight, None, np.array([note], dtype=object), _cut(first, slice(0, 1)))


def _admitted(metric: AcrossSlices, here: WholeSet, parts: Sequence[Found]) -> Texts:
    """What keeps each slice from taking part, "ok" for nothing."""
    status: Texts = np.full(len(here.listed), "ok", dtype=object)
    for part in reversed(parts):
        status = np.where(part.estimate.status != "ok", part.estimate.status, status)
    share = parts[0].weight / here.weight if here.weight > 0 else np.zeros(len(status))
    reasons: Texts = metric.admitted(status, share)
    return reasons


def _groups(
    metric: AcrossSlices, here: WholeSet, held: NDArray[np.int64], reference: int | None, *, replicates: bool
) -> Groups:
    """What the metric reads of the slices that take part: values, or their replicates."""

    def read(found: Found) -> Array:
        value = found.estimate.replicates if replicates else found.estimate.value
        assert value is not None
        return value

    texts = [part.text for part in metric.parts()]
    values = {text: read(here.slices[text])[..., held] for text in texts}
    overall = {text: read(here.overall[text])[..., 0] for text in texts} if metric.reads_overall else {}
    return Groups(values, overall, reference)


def _value(metric: AcrossSlices, point: Groups, drawn: Groups | None, status: str, first: Found) -> Estimate:
    """The metric's estimate, of one entry or of one for each slice that takes part. Its blocks are to be filled in."""
    shape = (next(iter(point.values.values())).shape[-1],) if metric.for_each else (1,)
    value: Array = np.full(shape, np.nan)
    replicates = deviations = None
    if drawn is not None and first.estimate.replicates is not None:
        replicates = np.full((len(first.estimate.replicates), *shape), np.nan)
    if status == "ok":
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.atleast_1d(metric.finalise(point))
            if drawn is not None:
                replicates = np.asarray(metric.finalise(drawn)).reshape(-1, *shape)
                away = metric.deviations(drawn, point)
                deviations = None if away is None else np.asarray(away).reshape(-1, *shape)
    finite = np.isfinite(value)
    said = np.where(finite, "ok", status if status != "ok" else metric.failed(point)).astype(object)
    blocks = np.zeros(shape, dtype=np.int64)
    clean = np.where(finite, value, np.nan)
    return Estimate(clean, said, blocks, replicates, (), deviations, first.estimate.kind)


def _for_each(
    made: Estimate,
    held: NDArray[np.int64],
    reasons: Texts,
    parts: Mapping[str, Found],
    reference: int | None,
) -> Found:
    """The estimates of the slices that take part, among all slices of the set."""
    first = next(iter(parts.values()))
    value, status = np.full(reasons.shape, np.nan), reasons.copy()
    value[held], status[held] = made.value, made.status
    replicates = None
    if made.replicates is not None:
        replicates = np.full((len(made.replicates), len(reasons)), np.nan)
        replicates[:, held] = made.replicates
    own = np.minimum.reduce([part.estimate.blocks for part in parts.values()])
    note: Texts = np.full(reasons.shape, None, dtype=object)
    if reference is not None:
        own = np.minimum(own, own[held[reference]])
        note[held[reference]] = "the reference"
    groups = most_groups([part.estimate for part in parts.values()])
    estimate = Estimate(value, status, own, replicates, (), kind=made.kind, groups=groups)
    return Found(estimate, first.n, first.weight, None, note, _cut(first, slice(None)))


def _cut(found: Found, part: slice) -> Array | None:
    """The threshold at which values were read, where it was found."""
    return None if found.threshold is None else found.threshold[part]
