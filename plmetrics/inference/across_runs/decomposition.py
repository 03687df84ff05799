"""Decomposition of the change of a mean: changed values of slices (within), and changed shares of slices (mix).

A mean is the sum over slices of share x value, the share being that of its denominator. With w and m before (0) and
after (1), within = (w0 + w1)/2 (m1 - m0) and mix = (w1 - w0) (m0 + m1)/2 of each slice add up to w1 m1 - w0 m0, and
over all slices to the change. A slice that is there only once goes to the mix as a whole. Rows outside the set are one
more slice, `rest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from plmetrics.core.ops import Array
from plmetrics.core.results import DECOMPOSITION_SCHEMA
from plmetrics.suite.sections.references import IntervalReference

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.comparisons.paired_bootstrap import Difference
    from plmetrics.suite.model import Suite

PARTS = ("within", "mix", "total")
REST = "rest"
_ROUNDING = 1e-12
"""Shares and means that differ by less of their size are equal."""

_INCOMPLETE = 1e-9
"""Parts that add up to a change but for less of its sides add up to it."""


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


def rounded_sum(parts: Array, size: float) -> Array:
    """Sums of parts over slices of so large a size together, exactly 0 where they are those of rounding."""
    return np.where(np.abs(parts) <= _ROUNDING * size, 0.0, parts)


def sizes(before: SliceMeans, after: SliceMeans) -> Array:
    """Size of what each slice contributes to either mean."""
    first, second = (
        np.abs(np.where(side.share != 0, side.share * side.value, 0.0)) for side in (before, after)
    )
    return first + second


def is_incomplete(parts: float, before: float, after: float, size: float) -> bool:
    """Whether parts of slices lack some of a change: slices whose denominator is 0 and whose numerator is not.

    `size` is that of all slices together, whose rounding is no part of the change.
    """
    return abs(parts - (after - before)) > _INCOMPLETE * (size + abs(before) + abs(after))


def without_sums(frame: pl.DataFrame, parts: Sequence[str]) -> pl.DataFrame:
    """Rows of a decomposition without values of some parts of all slices together, as slices without a share lack."""
    lacking = (pl.col("slice") == "all") & pl.col("part").is_in(list(parts))
    absent = {"status": "zero_denominator", "interval_status": "undefined_value"}
    numbers = ("value", "lower", "upper", "std_error", "method")
    return frame.with_columns(
        *(pl.when(lacking).then(None).otherwise(pl.col(name)).alias(name) for name in numbers),
        *(pl.when(lacking).then(pl.lit(text)).otherwise(pl.col(n)).alias(n) for n, text in absent.items()),
    )


@dataclass(frozen=True, slots=True)
class SetMetric:
    """Subject of a decomposition over a set: a metric, or one of its classes."""

    slice_set: str
    metric: Metric
    class_name: str
    class_metric: Metric

    def columns(self, contrast: str, model: str | None, baseline: str | None) -> dict[str, str | None]:
        """The columns that all rows of a change share."""
        subject = {"metric": self.metric.text, "class": self.class_name or None, "slice_set": self.slice_set}
        return {"contrast": contrast, "model": model, "baseline": baseline, **subject}


def subjects(suite: Suite) -> Iterator[SetMetric]:
    """Means of the suite's decompositions."""
    return (subject for subject in _chosen(suite) if subject.class_metric.mean)


def ordered_subjects(suite: Suite) -> Iterator[SetMetric]:
    """Metrics of the order of scores among the suite's decompositions: those named there."""
    named = _metrics_by_set(suite)
    return (
        subject
        for subject in _chosen(suite)
        if named[subject.slice_set] and subject.class_metric.of_score_shares
    )


def _metrics_by_set(suite: Suite) -> Mapping[str, Sequence[str]]:
    """Metrics named in `compare.decompose` by slice set, none for all means."""
    return {} if suite.compare is None else suite.compare.decompose


def _chosen(suite: Suite) -> Iterator[SetMetric]:
    """Names of the suite, or all by default."""
    chosen = _metrics_by_set(suite)
    for name in suite.slices:
        for metric in suite.metrics_in(name) if name in chosen else ():
            if chosen[name] and metric.text not in chosen[name]:
                continue
            for named, member in metric.per_class():
                yield SetMetric(name, metric, named, member)


def omissions(suite: Suite) -> list[str]:
    """Note on metrics without a decomposition, as they are no means; each metric named in the suite has one."""
    chosen = _metrics_by_set(suite)
    between_intervals = suite.compare is not None and isinstance(suite.compare.run, IntervalReference)
    decomposable = {(subject.slice_set, subject.metric.text) for subject in subjects(suite)}
    words = []
    for name in chosen:
        others = [
            m for m in suite.metrics_in(name) if not chosen[name] and (name, m.text) not in decomposable
        ]
        if not others:
            continue
        ordered = [m.text for m in others if m.of_score_shares and between_intervals]
        hint = f"; name {', '.join(ordered)} to have it decomposed, too" if ordered else ""
        words.append(
            f"only means are decomposed over '{name}', not {', '.join(m.text for m in others)}{hint}"
        )
    return words


class Change(Protocol):
    """What may be decomposed: differences between models, between runs, or between the scores of two intervals."""

    def frames(self) -> Iterator[pl.DataFrame]:
        """Rows of the table `decomposition`."""


def decompose(changes: Iterable[Change]) -> pl.DataFrame:
    """Table `decomposition` of some changes, in their order."""
    return pl.concat(
        [DECOMPOSITION_SCHEMA.to_frame(), *(rows for change in changes for rows in change.frames())]
    )


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
    columns: dict[str, Any] = {"slice": list(names), "slice_values": list(values), "part": list(parts)}
    columns["value"] = difference.difference
    columns |= {name: getattr(difference, name) for name in ("lower", "upper", "std_error")}
    columns |= {name: getattr(difference, name).tolist() for name in ("method", "interval_status", "status")}
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
