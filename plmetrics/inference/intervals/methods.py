"""Choice of intervals: from a method of the suite to a form for each metric, and its kind of replicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.catalogue.metric import Metric, leaves
from plmetrics.suite.sections.uncertainty import BOOTSTRAP_FORMS, Uncertainty

if TYPE_CHECKING:
    from plmetrics.inference.estimate import ReplicateKind


@dataclass(frozen=True, slots=True)
class IntervalMethod:
    """Method of the interval of one row of a metric.

    `form` is a form, or `auto` for the ladder of the bootstrap. `replicates` are those that it reads, None for a
    closed form. `refusal` is why there is no interval, for metrics that the method does not suit. `smooth` is the
    metric's, for the ladder.
    """

    form: str
    replicates: ReplicateKind | None = None
    refusal: str = ""
    smooth: bool = True

    @property
    def doubt(self) -> str:
        """Notes on forms that count rows of unequal weight, empty elsewhere."""
        words = {"clustered": "independent of each other", "weighted": "of the same weight"}
        return f"{self.form} takes rows as {words[self.refusal]}" if self.refusal in words else ""

    @property
    def reads(self) -> tuple[ReplicateKind | None, ...]:
        """All required kinds of replicates: bca's acceleration is that of a jackknife."""
        return (self.replicates, "jackknife") if self.form == "bca" else (self.replicates,)

    def of_differences(self, metric: Metric) -> ReplicateKind | None:
        """Replicates for the precision of a difference of two estimates."""
        if self.replicates is not None or self.refusal:
            return self.replicates
        return "influence" if metric.differentiable else "bootstrap"


@dataclass(frozen=True, slots=True)
class RowDesign:
    """Facts about rows: whether they belong together in units, and whether they carry weights."""

    clustered: bool = False
    has_weights: bool = False

    @property
    def doubt(self) -> str:
        """Reason against a form that counts rows, empty without one."""
        return "clustered" if self.clustered else "weighted" if self.has_weights else ""


def methods_of(metric: Metric, uncertainty: Uncertainty, rows: RowDesign) -> tuple[IntervalMethod, ...]:
    """Intervals of a metric, in the order of the suite's methods; the first is for gates.

    A form that does not apply to the metric gives none. If no method applies, one entry says so.

    >>> import plmetrics as plm
    >>> from plmetrics.suite.sections.uncertainty import Uncertainty
    >>> asked = Uncertainty(methods=("delong", "wilson", "auto"))
    >>> [chosen.form for chosen in methods_of(plm.metric("roc_auc"), asked, RowDesign())]
    ['delong', 'delong_logit']
    """
    of_name = _resampled_choice if chooses_anew(metric, uncertainty) else _method_by_name
    choices = [of_name(name, metric, uncertainty.interval, rows) for name in uncertainty.names]
    distinct = tuple(dict.fromkeys(chosen for chosen in choices if chosen is not None))
    return distinct or (IntervalMethod("auto", None, "not_applicable"),)


def chooses_anew(metric: Metric, uncertainty: Uncertainty) -> bool:
    """Whether a threshold of the metric is chosen anew in each replicate."""
    if uncertainty.thresholds == "fixed":
        return False
    rules = (leaf.chosen_threshold for leaf in leaves(metric))
    return any(rule is not None and rule.constant is None for rule in rules)


def _resampled_choice(name: str, metric: Metric, form: str, _: RowDesign) -> IntervalMethod | None:
    """Bootstrap, the only method with a varying threshold."""
    if name in {"auto", "bootstrap"}:
        name = form
    elif name not in BOOTSTRAP_FORMS:
        return None
    return IntervalMethod("percentile" if name == "bca" else name, "bootstrap", smooth=metric.differentiable)


def _method_by_name(name: str, metric: Metric, form: str, rows: RowDesign) -> IntervalMethod | None:
    match name:
        case "bootstrap":
            return _bootstrap_method(form, metric)
        case "auto":
            return _suitable_form(metric, rows) or _bootstrap_method(form, metric)
        case "analytic":
            return _suitable_form(metric, rows) or _resampling_form("delta", metric, "no_analytic_form")
        case "jackknife":
            return _resampling_form("jackknife", metric, "not_smooth")
        case "delta":
            return _resampling_form("delta", metric, "") if metric.differentiable else None
    return _form(name, metric, rows)


def _bootstrap_method(form: str, metric: Metric) -> IntervalMethod:
    """A form of the bootstrap. Where blocks left out say nothing, bca has no acceleration: its quantiles stay put."""
    smooth = metric.differentiable
    return IntervalMethod("percentile" if form == "bca" and not smooth else form, "bootstrap", smooth=smooth)


def _suitable_form(metric: Metric, rows: RowDesign) -> IntervalMethod | None:
    """Suitable form of a metric, None for the bootstrap alone; forms that count rows give way to delta."""
    form = metric.usual_form
    if form in metric.closed_forms:
        return IntervalMethod("delta", "influence") if rows.doubt else IntervalMethod(form)
    return None if form is None else IntervalMethod(form, "influence")


def _resampling_form(form: str, metric: Metric, refusal: str) -> IntervalMethod:
    """The delta method, or the jackknife."""
    if not metric.differentiable:
        return IntervalMethod(form, None, refusal)
    return IntervalMethod(form, "jackknife" if form == "jackknife" else "influence")


def _form(name: str, metric: Metric, rows: RowDesign) -> IntervalMethod | None:
    """Form by its name; a name of both a closed form and a bootstrap is the closed form if it applies."""
    if name == "t" and metric.usual_form == "t":
        return IntervalMethod("t", "influence")
    if name in metric.closed_forms:
        return IntervalMethod(name, None, rows.doubt)
    return _bootstrap_method(name, metric) if name in BOOTSTRAP_FORMS else None
