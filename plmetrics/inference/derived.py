"""Estimates made from other estimates: formulas slice by slice, and metrics put together over the slices of a set.

Replicates go the same way as values: replicate by replicate, so that intervals and comparisons stay paired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plmetrics.inference.estimate import Estimate
from plmetrics.inference.estimates import Found

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.catalogue.derived import Derived, OverSlices

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
    blocks = np.minimum.reduce([estimate.blocks for estimate in estimates.values()])
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
    estimate = Estimate(clean, status, blocks, replicates, (), deviations)
    return Found(estimate, first.n, first.weight, None, note)


def over_slices(metric: OverSlices, parts: Sequence[Found], listed: NDArray[np.bool_], blocks: int) -> Found:
    """One value from those of all slices of a set, as an estimate of one slice.

    Args:
        metric: how values are put together.
        parts: the estimates of its metric, chunk after chunk.
        listed: the slices that have rows.
        blocks: number of blocks of the table.
    """
    value = np.concatenate([found.estimate.value for found in parts])[listed]
    held = np.isfinite(value)
    drawn = [found.estimate.replicates for found in parts]
    replicates = None
    if all(part is not None for part in drawn):
        together = np.concatenate([part for part in drawn if part is not None], axis=1)[:, listed]
        replicates = np.asarray(metric.finalise(together[:, held]))[:, None]
    own = np.concatenate([found.estimate.blocks for found in parts])[listed][held]
    estimate = Estimate(
        np.atleast_1d(metric.finalise(value)),
        np.array(["ok" if held.any() else "no_defined_slices"], dtype=object),
        np.array([min(int(own.sum()), blocks)]),
        replicates,
        (),
    )
    n, weight = (
        np.atleast_1d(np.concatenate([getattr(found, name) for found in parts])[listed][held].sum())
        for name in ("n", "weight")
    )
    left_out = int((~held).sum())
    note = f"undefined slices left out: {left_out:,}" if left_out else None
    return Found(estimate, n, weight, None, np.array([note], dtype=object))
