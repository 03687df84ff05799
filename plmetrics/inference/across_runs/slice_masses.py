"""Denominators of decomposed means in slices, which a run keeps so that a later run can part its change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.ops import Array
from plmetrics.inference.across_runs.decomposition import SetMetric, subjects
from plmetrics.inference.metric_values import value_or_nan
from plmetrics.inference.sums import ModelSums

if TYPE_CHECKING:
    from plmetrics.core.results import RecordedMasses
    from plmetrics.inference.subject import Analysis
    from plmetrics.states.sums import SlicedSums, View
    from plmetrics.suite.model import Suite

WHOLE = "all"
_NEGLIGIBLE = 1e-12


def decomposition_masses(analysis: Analysis, suite: Suite) -> list[RecordedMasses]:
    """Denominators of the decomposed means of a suite with other masses than the weight of all rows.

    A slice with a denominator of 0 may have a numerator: `massless` is what it adds to the mean of all rows.
    """
    with_mass = [subject for subject in subjects(suite) if subject.class_metric.mean == "mass"]
    if not with_mass:
        return []
    sets = {states.slices.slice_set.name: states for states in analysis.sets}
    whole = _columns(analysis.sets[0].sums)
    slices = {name: _columns(sets[name].sums) for name in {subject.slice_set for subject in with_mass}}
    entries: list[RecordedMasses] = []
    for subject in with_mass:
        texts = sets[subject.slice_set].slices.texts()
        for model in analysis.models:
            sums = _SubjectSums(analysis, subject, model)
            (total,) = sums.masses(whole)
            of_slices = sums.masses(slices[subject.slice_set])
            entry: RecordedMasses = {
                "model": model,
                "metric": subject.metric.text,
                "class_name": subject.class_name,
                "slice_set": subject.slice_set,
                "masses": {WHOLE: float(total)} | _nonzero(texts, of_slices),
            }
            massless = _nonzero(texts, sums.massless(whole, slices[subject.slice_set], of_slices))
            entries.append({**entry, "massless": massless} if massless else entry)
    return entries


class _SubjectSums:
    """The sums of a mean for a model, from columns `[slice]` of any slices."""

    def __init__(self, analysis: Analysis, subject: SetMetric, model: str) -> None:
        self._metric = subject.class_metric
        self._model = model
        self._prefix = analysis.population.prefix(subject.class_metric, model)

    def masses(self, columns: Mapping[str, Array]) -> Array:
        """Denominators."""
        return np.asarray(self._metric.denominators(self._state(columns))[0], dtype=np.float64)

    def massless(self, whole: Mapping[str, Array], slices: Mapping[str, Array], masses: Array) -> Array:
        """What each slice without a denominator adds to the mean of all rows: that mean less the one without it."""
        out = np.zeros(len(masses))
        places = np.flatnonzero(masses == 0)
        if len(places):
            others = {name: whole[name] - column[places] for name, column in slices.items()}
            value, remainder = (value_or_nan(self._metric, self._state(part)) for part in (whole, others))
            with np.errstate(invalid="ignore"):
                added = value - remainder
                out[places] = np.where(np.abs(added) > _NEGLIGIBLE * np.abs(value), added, 0.0)
        return out

    def _state(self, columns: Mapping[str, Array]) -> View:
        sums = ModelSums({name: column[:, None] for name, column in columns.items()}, None)
        return sums.totals(self._metric, self._model, self._prefix)


def recorded_masses(
    entries: Sequence[RecordedMasses], subject: SetMetric, model: str
) -> RecordedMasses | None:
    """Retained masses of a model's mean in a run; None without any."""
    place = (model, subject.metric.text, subject.class_name, subject.slice_set)
    return next(
        (
            entry
            for entry in entries
            if (entry["model"], entry["metric"], entry["class_name"], entry["slice_set"]) == place
        ),
        None,
    )


def _columns(sums: SlicedSums) -> dict[str, Array]:
    """Sums of slices without their blocks."""
    return {name: sums.total(name) for name in sums.columns}


def _nonzero(texts: Sequence[str], numbers: Array) -> dict[str, float]:
    return {text: float(number) for text, number in zip(texts, numbers, strict=True) if number}
