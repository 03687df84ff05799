"""The bins that scores are counted in, for metrics and for curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.needs import Points, Quantiles
from plmetrics.states.scores.sorted import Binning
from plmetrics.suite.tasks import BANDED_CURVES, BINNED_CURVES

if TYPE_CHECKING:
    from plmetrics.engine.prepared import Prepared
    from plmetrics.states.scores.grid import Bins
    from plmetrics.suite.sections.basics import Curve

UNIT_SPAN: tuple[float, float] = (0.0, 1.0)
"""The span of probabilities."""

RELIABILITY_BINS = 15
HISTOGRAM_BINS = 40
NET_BENEFIT_BINS = 100


def curve_binning(curve: Curve, span: tuple[float, float] = UNIT_SPAN) -> Binning:
    """The bins of a curve of `BINNED_CURVES`; `span` are the ends of a histogram of the model's scores."""
    match curve.curve:
        case "reliability":
            bins = curve.bins or RELIABILITY_BINS
            return Binning(bins, "quantile") if curve.strategy == "count" else Binning(bins)
        case "score_histogram":
            return Binning(curve.bins or HISTOGRAM_BINS, scores=False, span=span, closed_below=True)
        case _:
            return Binning(NET_BENEFIT_BINS, scores=False, closed_below=True)


def by_quantile(bins: Bins) -> bool:
    """Whether bins are of equal weight."""
    return isinstance(bins, Binning) and bins.strategy == "quantile"


def wanted_bins(prepared: Prepared, model: str) -> list[Bins]:
    """The kinds of bins that metrics and curves read of a model's scores."""
    pointed = any(isinstance(need, (Points, Quantiles)) for need in prepared.request.orders)
    curves = prepared.request.suite.curves
    span = prepared.score_spans.get(model, UNIT_SPAN)
    drawn = [curve_binning(curve, span) for curve in curves if curve.curve in BINNED_CURVES]
    bins: list[Bins] = []
    if pointed or any(curve.curve not in BINNED_CURVES for curve in curves) or any(map(by_quantile, drawn)):
        bins.append("fine")
    banded = any(curve.curve in BANDED_CURVES for curve in curves)
    if (pointed or banded) and prepared.blocks is not None:
        bins.append("coarse")
    return [*bins, *dict.fromkeys([*prepared.request.binnings, *drawn])]
