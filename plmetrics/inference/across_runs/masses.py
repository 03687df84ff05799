"""The denominators of means in slices, which a run keeps so that a later one can part a change into within and mix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plmetrics.inference.across_runs.decomposition import subjects
from plmetrics.inference.sums import ModelSums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.core.results import RecordedMasses
    from plmetrics.inference.across_runs.decomposition import Subject
    from plmetrics.inference.subject import Analysis
    from plmetrics.states.sums import SlicedSums

WHOLE = "all"


def decomposition_masses(analysis: Analysis) -> list[RecordedMasses]:
    """The denominators of the means that the suite decomposes, where they are not the weight of all rows."""
    own = [subject for subject in subjects(analysis.suite) if subject.own.mean == "mass"]
    sets = {states.slices.slice_set.name: states for states in analysis.sets} if own else {}
    whole = _model_sums(analysis.sets[0].sums)
    slices = {name: _model_sums(sets[name].sums) for name in {subject.slice_set for subject in own}}
    entries: list[RecordedMasses] = []
    for subject in own:
        texts = sets[subject.slice_set].slices.texts()
        for model in analysis.models:
            (total,) = _masses(analysis, subject, model, whole)
            of_slices = _masses(analysis, subject, model, slices[subject.slice_set])
            masses = {text: mass for text, mass in zip(texts, of_slices, strict=True) if mass}
            entries.append(
                {
                    "model": model,
                    "metric": subject.metric.text,
                    "class_name": subject.named,
                    "slice_set": subject.slice_set,
                    "masses": {WHOLE: total, **masses},
                }
            )
    return entries


def masses_of(kept: Sequence[RecordedMasses], subject: Subject, model: str) -> Mapping[str, float] | None:
    """Masses that a run kept of a mean of a model; None if it kept none."""
    place = (model, subject.metric.text, subject.named, subject.slice_set)
    return next(
        (
            entry["masses"]
            for entry in kept
            if (entry["model"], entry["metric"], entry["class_name"], entry["slice_set"]) == place
        ),
        None,
    )


def _model_sums(sums: SlicedSums) -> ModelSums:
    """Sums of slices without their blocks."""
    return ModelSums({name: sums.total(name)[:, None] for name in sums.columns}, None)


def _masses(analysis: Analysis, subject: Subject, model: str, sums: ModelSums) -> list[float]:
    state = sums.totals(subject.own, model, analysis.population.prefix(subject.own, model))
    masses: list[float] = np.asarray(subject.own.denominators(state)[0], dtype=np.float64).tolist()
    return masses
