"""Bins of scores, for metrics and for curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.needs import Bins, OrderedRows, Points, Quantiles
from plmetrics.states.class_probabilities import class_value_kind
from plmetrics.states.scores.sliced_scores import Binning
from plmetrics.suite.tasks import BANDED_CURVES, BINNED_CURVES, CLASS_CURVES

if TYPE_CHECKING:
    from plmetrics.engine.order.orderings import Ordering
    from plmetrics.engine.run_plan import Blocks, RunPlan
    from plmetrics.states.scores.grid.grid_tally import BinKind
    from plmetrics.suite.sections.basics import Curve

UNIT_SPAN: tuple[float, float] = (0.0, 1.0)
"""The span of probabilities."""

RELIABILITY_BINS = 15
HISTOGRAM_BINS = 40
NET_BENEFIT_BINS = 100


def curve_binning(curve: Curve, span: tuple[float, float]) -> Binning:
    """The bins of a curve of `BINNED_CURVES`; `span` are the ends of a histogram of the model's scores."""
    match curve.curve:
        case "reliability":
            bins = curve.bins or RELIABILITY_BINS
            return Binning(bins, "quantile") if curve.strategy == "count" else Binning(bins)
        case "score_histogram":
            return Binning(curve.bins or HISTOGRAM_BINS, scores=False, span=span, closed_below=True)
        case _:
            return Binning(NET_BENEFIT_BINS, scores=False, closed_below=True)


def by_quantile(bins: BinKind) -> bool:
    """Whether bins are of equal weight."""
    return isinstance(bins, Binning) and bins.strategy == "quantile"


def bin_kinds(plan: RunPlan, ordering: Ordering) -> list[BinKind]:
    """Kinds of bins of a number of a model's rows, for metrics and curves."""
    if ordering.of_areas:
        return ["joint"] if ordering.side == "score" else []
    if ordering.side is not None:
        return _joint_bins(plan.blocks, ordering)
    needs = [need for need in plan.request.orders if key_of(need) == ordering.key]
    pointed = any(isinstance(need, (Points, Quantiles)) for need in needs)
    curves = [curve for curve in plan.request.suite.row_curves if drawn_from(curve, ordering.key)]
    span = plan.score_spans.get(ordering.model, UNIT_SPAN)
    drawn = [curve_binning(curve, span) for curve in curves if curve.curve in BINNED_CURVES]
    bins: list[BinKind] = []
    if pointed or any(curve.curve not in BINNED_CURVES for curve in curves) or any(map(by_quantile, drawn)):
        bins.append("fine")
    if any(isinstance(need, Quantiles) for need in needs) or (pointed and ordering.arms):
        bins.append("ends")
    banded = any(curve.curve in BANDED_CURVES for curve in curves)
    if (pointed or banded) and plan.blocks is not None:
        bins.append("coarse")
    binnings = [need.binning for need in needs if isinstance(need, Bins)]
    return [*bins, *dict.fromkeys([*binnings, *drawn])]


def fixed_binnings(plan: RunPlan, ordering: Ordering) -> list[Binning]:
    """Bins of an ordering, if all have fixed edges."""
    wanted = bin_kinds(plan, ordering)
    fixed = [bins for bins in wanted if isinstance(bins, Binning) and not by_quantile(bins)]
    return fixed if len(fixed) == len(wanted) else []


def _joint_bins(blocks: Blocks | None, ordering: Ordering) -> list[BinKind]:
    """Kinds of bins of rank correlations: joint counts go with the predictions."""
    if ordering.side == "label":
        return ["fine"]
    bins: list[BinKind] = ["fine", "joint"]
    return bins if blocks is None else [*bins, "coarse"]


def key_of(need: OrderedRows) -> str | None:
    """Key of the ordering number, None for the score."""
    return None if need.by is None else need.by.key


def drawn_from(curve: Curve, key: str | None) -> bool:
    """Whether a curve is drawn from a number, by its key: from scores, or from the probability of a class."""
    return key is None or (curve.curve in CLASS_CURVES and class_value_kind(key) == curve.of_classes)
