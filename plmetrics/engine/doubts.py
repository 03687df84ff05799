"""What is no error but probably not meant: words for the record and for whoever started the run."""

from __future__ import annotations

from contextlib import suppress
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.known import Known
from plmetrics.core.errors import PlmetricsError
from plmetrics.engine.survey import classes_from_counts, layout_of, spread, survey_of_request
from plmetrics.suite.advice import misleading
from plmetrics.suite.contradictions import contradictions
from plmetrics.table.files import listed
from plmetrics.table.predicted import score_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from plmetrics.engine.passes import Aggregated
    from plmetrics.engine.prepare import Prepared
    from plmetrics.engine.request import Request

_SHOWN = 5


def doubts(prepared: Prepared, aggregated: Aggregated) -> list[str]:
    """Warnings of a run: a class that no row has, gates that exclude each other, metrics that mislead."""
    return [
        *_no_positives(prepared, aggregated),
        *contradictions(prepared.request.suite),
        *misleading(prepared.request.suite, known(prepared, aggregated)),
    ]


def doubts_of_sample(request: Request) -> list[str]:
    """Warnings of a suite that has not run: metrics that mislead, by a sample of its rows.

    There are none where the rows cannot be read: what is wrong with them is for the run to say.
    """
    with suppress(pl.exceptions.PolarsError, PlmetricsError, OSError):
        found = survey_of_request(request)
        return [] if found is None else misleading(request.suite, found)
    return []


def known(prepared: Prepared, aggregated: Aggregated) -> Known:
    """The figures that the sums of a run hold: those of the model with the most rows, as all have nearly the same."""
    suite = prepared.request.suite
    model = max(prepared.populations(), key=lambda name: aggregated.used[name])
    prefix = prepared.populations()[model]
    state = aggregated.sums[0].columns
    sums = {name: float(held.sum()) for name, held in state.items() if name.startswith((prefix, f"{model}|"))}
    figures: dict[str, Any] = {"rows": round(sums[f"{prefix}n"])}
    if suite.task == "binary":
        counts = np.array([sums[f"{prefix}positives"], sums[f"{prefix}negatives"]])
        figures |= classes_from_counts(counts, counts) | {"prevalence": float(counts[0] / counts.sum())}
        figures |= _scores(prepared, aggregated.rows)
    elif suite.task == "multiclass":
        figures |= _classes(model, sums)
    elif suite.task == "regression":
        figures |= _label(prepared, model, prefix, sums)
    return Known(task=suite.task, **figures)


def _no_positives(prepared: Prepared, aggregated: Aggregated) -> list[str]:
    suite = prepared.request.suite
    state = aggregated.sums[0].columns
    counted = [
        state[f"{prefix}positives"]
        for prefix in prepared.populations().values()
        if suite.positive is not None
    ]
    if not counted or any(values.any() for values in counted):
        return []
    column = suite.columns.label
    plan = prepared.request.raw.select(pl.col(column).drop_nulls().unique().sort())
    labels = plan.head(_SHOWN + 1).collect()[column]
    known = listed([repr(label) for label in labels.to_list()], _SHOWN)
    return [f"no row is positive: column '{column}' holds {known}, but positive is {suite.positive!r}"]


def _scores(prepared: Prepared, rows: pl.DataFrame | None) -> dict[str, float]:
    """The ends of the scores, where the run holds them anyway: of the models it was given."""
    if rows is None:
        return {}
    given = [
        score_column(name)
        for name, parts in layout_of(prepared.request).models.items()
        if "score" in parts and score_column(name) in rows.columns
    ]
    if not given:
        return {}
    ends = [_ends(rows[name]) for name in given]
    lows, highs = [low for low, _ in ends if low is not None], [high for _, high in ends if high is not None]
    if not lows:
        return {}
    return {
        "score_low": min(lows),
        "score_high": max(highs),
        "top_score": min(highs),
        "bottom_score": max(lows),
    }


def _ends(scores: pl.Series) -> tuple[float | None, float | None]:
    """The lowest and the highest finite score: only scores that are not all finite are looked through for them."""
    low, high = scores.min(), scores.max()
    if low is None or not (isfinite(low) and isfinite(high)):  # type: ignore[arg-type]
        held = scores.filter(scores.is_finite())
        low, high = held.min(), held.max()
    return low, high  # type: ignore[return-value]


def _classes(model: str, sums: Mapping[str, float]) -> dict[str, Any]:
    """Sizes of the classes, where a metric counted them."""
    found: NDArray[np.float64] = np.array(
        [held for name, held in sums.items() if name.startswith(f"{model}|actual|")]
    )
    return classes_from_counts(found, found) if found.size and found.sum() else {}


def _label(prepared: Prepared, model: str, prefix: str, sums: Mapping[str, float]) -> dict[str, Any]:
    """What metrics counted of a label that is a number: zeros, mean and deviation."""
    figures: dict[str, Any] = {}
    weight = sums[f"{prefix}weight"]
    if f"{model}|zero_label" in sums:
        figures["zeros"] = sums[f"{model}|zero_label"] / sums[f"{prefix}n"]
    if f"{model}|label_centred" in sums and weight:
        centred, squares = (sums[f"{model}|label_{part}"] / weight for part in ("centred", "centred_squared"))
        mean = centred + prepared.centres[model].get("label", 0.0)
        if isfinite(squares):
            figures["spread"] = spread(mean, sqrt(max(squares - centred * centred, 0.0)))
    return figures
