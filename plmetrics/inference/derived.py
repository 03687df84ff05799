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

    from plmetrics.catalogue.derived import Formula, OverSlices

Array = NDArray[np.float64]
Texts = NDArray[np.object_]

_EMPTY = ("no_rows", "too_few_rows")


def by_formula(metric: Formula, parts: Mapping[str, Found]) -> Found:
    """The value of a formula in each slice. `parts` are the estimates of its metrics by their text."""
    estimates = {text: found.estimate for text, found in parts.items()}
    first = next(iter(parts.values()))
    statuses = [estimate.status for estimate in estimates.values()]
    value = metric.finalise({text: estimate.value for text, estimate in estimates.items()})
    status = _formula_status(metric, value, statuses)
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
    estimate = Estimate(np.where(status == "ok", value, np.nan), status, blocks, replicates, ())
    return Found(estimate, first.n, first.weight, None, note)


def _formula_status(metric: Formula, value: Array, statuses: Sequence[Texts]) -> Texts:
    """Why the formula has no value: what its metrics say first, else what it does itself."""
    status = np.full(
        value.shape, "zero_denominator" if "/" in metric.expression else "not_finite", dtype=object
    )
    for part in reversed(statuses):
        status = np.where(part != "ok", part, status)
    too_few = np.logical_or.reduce([np.isin(part.astype(str), _EMPTY) for part in statuses])
    return np.where(np.isfinite(value) & ~too_few, "ok", status)


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
