"""Result table `drift`: each measure of each column and slice, from the counts of two windows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core import ops
from plmetrics.core.ops import Array
from plmetrics.core.results import DRIFT_HISTOGRAMS_SCHEMA, DRIFT_SCHEMA
from plmetrics.features.drift.drift_measures import NULL_SHARE, Measure, measure_of
from plmetrics.features.drift.drift_section import TESTS, Drift
from plmetrics.features.drift.histogram_table import column_histograms, histogram_table
from plmetrics.inference.comparisons.correction import adjust_families
from plmetrics.inference.comparisons.tests import smirnov, unit_samples
from plmetrics.inference.comparisons.tests.arms import Moments, welch_tests
from plmetrics.inference.comparisons.tests.two_samples import (
    SampleMoments,
    chi2_homogeneity,
    jensen_shannon,
    ks_distance,
    psi,
    quantile,
    wasserstein,
)
from plmetrics.inference.tables import ResultRows

if TYPE_CHECKING:
    from plmetrics.core.segments import Segments
    from plmetrics.features.drift.column_counts import ColumnCounts, DriftCounts
    from plmetrics.suite.model import Suite

Batch = dict[str, Any]

_UNITS = {"days": "in days", "seconds": "in seconds"}
_WEIGHTED = "no p value: rows have weights"
_BY_UNIT = "the p value takes units for independent, not rows"
_FEW_UNITS = "no p value: a window has too few units"
_NO_UNITS = "no p value: rows of a unit are not independent, and the windows do not both tell units apart"
_FEW_EXPECTED = "some bins are expected to hold fewer than 5 rows: p is approximate"
_SHIFTED = frozenset({"mean", "variance", "quantile", NULL_SHARE})


def drift_tables(suite: Suite, counts: DriftCounts | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All measures of all columns in all slices of either window, and the histograms of these.

    `value` is the measure, or, of mean, variance, quantile and null_share, how much `current` is above `reference`;
    `per_sd` is the mean's difference or wasserstein over the reference's standard deviation (divided by n). Variances
    are divided by n. A null is a bin of its own for psi, jensen_shannon and chi2_2samp, and left out elsewhere, as rows
    without the score or label are; every column has a row `null_share`, which is of all rows. Weights count as rows,
    but there is no p value under them: `p_status` says so. P values of rows in units are those of `unit_samples`.
    `bound` is how far the value can be from that of all rows where these were counted on bins. p values are adjusted
    within a measure and slice set. `counts` is None where there is no reference yet.
    """
    spec = Drift.of(suite)
    if counts is None:
        return DRIFT_SCHEMA.to_frame(), DRIFT_HISTOGRAMS_SCHEMA.to_frame()
    rows = ResultRows(counts.slices, DRIFT_SCHEMA)
    listed = spec.measures is not None
    measures = (*spec.distances(), measure_of(NULL_SHARE))
    histograms = []
    for place, column in enumerate(counts.columns):
        histograms.append(column_histograms(column))
        for number, in_set in enumerate(column):
            reader = _Reader(in_set, suite, weighted=counts.has_weights)
            for order, measure in enumerate(measures):
                if measure.of_numbers and not in_set.subject.of_numbers and not listed:
                    continue
                batch = reader.batch(measure)
                rows.add((place, number, order, 0), np.ones(len(in_set.slices), dtype=np.bool_), batch, 0)
    return _correct(rows.frame(), spec.correction), histogram_table(histograms, counts.slices)


class _Reader:
    """Measures of one column in the slices of one set, as columns of the table."""

    def __init__(self, counts: ColumnCounts, suite: Suite, *, weighted: bool) -> None:
        self._counts = counts
        self._suite = suite
        self._weighted = weighted
        self._binned: dict[int, tuple[Segments, Segments]] = {}

    def _bins(self, measure: Measure) -> tuple[Segments, Segments]:
        """Both windows by bin, counted once."""
        bins = measure.parameters["bins"]
        if bins not in self._binned:
            self._binned[bins] = self._counts.bins(bins)
        return self._binned[bins]

    @cached_property
    def _moments(self) -> tuple[SampleMoments, SampleMoments]:
        """Means and variances of both windows."""
        return self._counts.moments(0), self._counts.moments(1)

    def batch(self, measure: Measure) -> Batch:
        """Columns of one measure; an undefined value is NaN, with its status."""
        counts, subject = self._counts, self._counts.subject
        status = self._status(measure)
        blank = np.full(len(counts.slices), np.nan)
        keys = ("value", "per_sd", "reference", "current", "statistic", "p_value", "bound")
        batch: Batch = dict.fromkeys(keys, blank) | {"note": np.full(len(counts.slices), None, dtype=object)}
        sound = status == "ok"
        if sound.any():
            columns = _MEASURES[measure.name](self, measure)
            batch |= {key: value for key, value in columns.items() if value is not None}
        status = np.where(sound & ~np.isfinite(batch["value"]), self._reason(measure), status)
        sound = status == "ok"
        for key in keys:
            batch[key] = np.where(sound, batch[key], np.nan)
        self._about_p(measure, batch, sound)
        return batch | {
            "subject": subject.subject,
            "model": np.full(len(counts.slices), subject.model, dtype=object),
            "column": subject.column,
            "measure": measure.text,
            "n_reference": counts.rows_of(0, nulls=measure.name == NULL_SHARE),
            "n_current": counts.rows_of(1, nulls=measure.name == NULL_SHARE),
            "status": status,
        }

    def _status(self, measure: Measure) -> Any:
        """Reason for the absence of a slice's value, the first applicable one."""
        counts = self._counts
        before, now = (counts.rows_of(side, nulls=measure.name == NULL_SHARE) for side in (0, 1))
        least = self._suite.min_rows if measure.name in _SHIFTED else max(2, self._suite.min_rows)
        reasons = [
            (before == 0, "no_rows_in_reference"),
            (now == 0, "no_rows_in_current"),
            (np.minimum(before, now) < least, "too_few_rows"),
        ]
        everywhere = np.ones(len(counts.slices), dtype=np.bool_)
        if measure.of_numbers and not counts.subject.of_numbers:
            reasons.append((everywhere, "no_numbers"))
        elif measure.of_numbers:
            reasons.append((counts.known_rows[0] == 0, "only_nulls_in_reference"))
            reasons.append((counts.known_rows[1] == 0, "only_nulls_in_current"))
        elif counts.too_many and measure.name != NULL_SHARE:
            reasons.append((everywhere, "too_many_values"))
        conditions, words = zip(*reasons, strict=True)
        return np.select(conditions, words, default="ok").astype(object)

    def _reason(self, measure: Measure) -> Any:
        """Reason against a measure of numbers: zero deviation of a constant, or overflow of sums."""
        reach = np.abs(self._counts.values)
        words = np.where(reach.largest() > 1, "overflow", "underflow").astype(object)
        if measure.parameters.get("scale") == "sd":
            words[self._moments[0].variance == 0] = "zero_denominator"
        return words

    def _about_p(self, measure: Measure, batch: Batch, sound: Any) -> None:
        """Reason for the absence of a p value, and its assumptions."""
        refused = np.full(len(sound), "no_test", dtype=object)
        if measure.name in TESTS:
            reason, words = self._refusal()
            if reason in {"weighted", "clustered"}:
                batch["p_value"] = np.full(len(sound), np.nan)
                if measure.name == "mean":
                    batch["statistic"] = batch["p_value"]
            defined = np.isfinite(batch["p_value"])
            refused[:] = np.where(defined, "ok", np.where(sound | self._weighted, reason, "undefined"))
            if words is not None:
                batch["note"] = _also(batch["note"], words, sound & ~defined)
            if self._by_unit:
                batch["note"] = _also(batch["note"], _BY_UNIT, defined)
        batch["p_status"] = refused

    @property
    def _by_unit(self) -> bool:
        """Whether p values are those of units."""
        return self._counts.units is not None

    def _refusal(self) -> tuple[str, str | None]:
        """Reason for the absence of a p value, and its note."""
        if self._weighted:
            return "weighted", _WEIGHTED
        if self._by_unit:
            return "too_few_units", _FEW_UNITS
        return ("undefined", None) if self._suite.columns.unit is None else ("clustered", _NO_UNITS)

    def psi(self, measure: Measure) -> Batch:
        """The index."""
        return {"value": psi(*self._bins(measure), measure.parameters["floor"])}

    def jensen_shannon(self, measure: Measure) -> Batch:
        """The distance."""
        return {"value": jensen_shannon(*self._bins(measure))}

    def chi2(self, measure: Measure) -> Batch:
        """The statistic and its p value."""
        result = chi2_homogeneity(*self._bins(measure))
        note, p_value = _also(self._notes(None), _FEW_EXPECTED, result.few_rows), result.p_value
        if self._by_unit:
            parts = self._counts.unit_bins(measure.parameters["bins"])
            p_value = np.concatenate(
                [unit_samples.chi2_p_value(result.statistic[part], units) for part, units in parts]
            )
        return {"value": result.statistic, "statistic": result.statistic, "p_value": p_value, "note": note}

    def ks(self, measure: Measure) -> Batch:  # noqa: ARG002 (it has no parameters)
        """The distance and its p value."""
        counts = self._counts
        distance = ks_distance(*counts.weight)
        if self._by_unit:
            p_value = np.concatenate([unit_samples.ks_p_value(units) for _, units in counts.unit_steps()])
        else:
            p_value = smirnov.p_value(distance, counts.known_rows[0], counts.known_rows[1])
        return {"value": distance, "statistic": distance, "p_value": p_value, "bound": counts.largest_share()}

    def wasserstein(self, measure: Measure) -> Batch:
        """The distance in the unit of the values, or over the reference's standard deviation."""
        counts = self._counts
        distance, bound = wasserstein(counts.values, *counts.weight), counts.mean_offset()
        deviation = np.sqrt(self._moments[0].variance)
        scaled = _over(distance, deviation)
        if measure.parameters["scale"] == "sd":
            bound = None if bound is None else _over(bound, deviation)
            return {"value": scaled, "per_sd": scaled, "bound": bound}
        return {"value": distance, "per_sd": scaled, "bound": bound, "note": self._unit()}

    def mean(self, measure: Measure) -> Batch:  # noqa: ARG002 (it has no parameters)
        """Both means, and Welch's test of their difference."""
        counts = self._counts
        before, now = self._moments
        tested = welch_tests(_arm(now, counts.known_rows[1]), _arm(before, counts.known_rows[0]), 0.95)
        columns = _shift(before.mean, now.mean)
        statistic, p_value = tested.statistic, tested.p_value
        if self._by_unit:
            tests = [unit_samples.mean_test(units) for _, units in counts.unit_values(before.mean)]
            statistic, p_value = (np.concatenate(parts) for parts in zip(*tests, strict=True))
        per_sd = _over(columns["value"], np.sqrt(before.variance))
        tests_of_mean = {"statistic": statistic, "p_value": p_value}
        return columns | tests_of_mean | {"per_sd": per_sd, "note": self._unit()}

    def variance(self, measure: Measure) -> Batch:  # noqa: ARG002 (it has no parameters)
        """Both variances."""
        return _shift(*(side.variance for side in self._moments))

    def quantile(self, measure: Measure) -> Batch:
        """Both quantiles."""
        counts, share = self._counts, measure.parameters["q"]
        columns = _shift(*(quantile(counts.values, weight, share) for weight in counts.weight))
        return columns | {"note": self._unit(), "bound": counts.between(share)}

    def null_share(self, measure: Measure) -> Batch:  # noqa: ARG002 (it has no parameters)
        """Both shares of rows without a value."""
        counts = self._counts
        totals = [
            weight.total() + nulls for weight, nulls in zip(counts.weight, counts.null_weight, strict=True)
        ]
        return _shift(*(_over(nulls, total) for nulls, total in zip(counts.null_weight, totals, strict=True)))

    def _unit(self) -> Any:
        return self._notes(_UNITS.get(self._counts.subject.kind))

    def _notes(self, words: str | None) -> Any:
        return np.full(len(self._counts.slices), words, dtype=object)


_MEASURES = {
    "psi": _Reader.psi,
    "ks_2samp": _Reader.ks,
    "chi2_2samp": _Reader.chi2,
    "wasserstein": _Reader.wasserstein,
    "jensen_shannon": _Reader.jensen_shannon,
    "mean": _Reader.mean,
    "variance": _Reader.variance,
    "quantile": _Reader.quantile,
    NULL_SHARE: _Reader.null_share,
}


def _also(notes: Any, words: str, where: Any) -> list[str | None]:
    """The notes with one more."""
    return [
        (words if note is None else f"{note}; {words}") if here else note
        for note, here in zip(notes, where, strict=True)
    ]


def _arm(side: SampleMoments, rows: Array) -> Moments:
    """A window as an arm of a test; it has no rows where their variance is not known."""
    known = np.where(np.isfinite(side.variance), rows, 0.0)
    return Moments.of(known, side.mean, np.sqrt(side.variance * rows / np.maximum(rows - 1.0, 1.0)))


def _over(above: Array, below: Array) -> Array:
    """A quotient, NaN where the divisor is 0 or undefined."""
    sound = below > 0
    quotient: Array = np.where(sound, above / np.where(sound, below, 1.0), np.nan)
    return quotient


def _shift(before: Array, now: Array) -> Batch:
    return {"value": ops.difference(now, before), "reference": before, "current": now}


def _correct(table: pl.DataFrame, correction: str) -> pl.DataFrame:
    """Rows with p values adjusted in their families; only tests have one."""
    tested = pl.col("p_status") != "no_test"
    label = pl.concat_str([pl.col("measure"), pl.lit(" / "), pl.col("slice_set")])
    return adjust_families(table, pl.when(tested).then(label), correction).select(list(DRIFT_SCHEMA))
