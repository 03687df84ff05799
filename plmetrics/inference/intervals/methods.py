"""Which intervals a metric gets: from the method that a suite names to a form, and the replicates that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.suite.sections.uncertainty import BOOTSTRAP_FORMS

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.estimate import ReplicateKind
    from plmetrics.suite.sections.uncertainty import Uncertainty

AREA_RANGES = ((0.0, 1.0), (-1.0, 1.0))
_SHARES = ("wilson", "clopper_pearson", "normal")
_AREAS = ("delong_logit", "delong", "hanley_mcneil", "hanley_mcneil_score")
_JUMPS = ("norm", "ratio", "extreme")


@dataclass(frozen=True, slots=True)
class Chosen:
    """How one row of a metric gets its interval.

    `form` is a form, or `auto` for the ladder of the bootstrap. `replicates` are those that it reads, None for a
    closed form. `refused` is why there is no interval, for metrics that the method does not suit. `smooth` is the
    metric's, for the ladder.
    """

    form: str
    replicates: ReplicateKind | None = None
    refused: str = ""
    smooth: bool = True

    @property
    def doubt(self) -> str:
        """What the note says where a form counts rows that do not count alike, empty elsewhere."""
        words = {"clustered": "independent of each other", "weighted": "of the same weight"}
        return f"{self.form} takes rows as {words[self.refused]}" if self.refused in words else ""

    @property
    def reads(self) -> tuple[ReplicateKind | None, ...]:
        """All kinds of replicates that it reads: bca's acceleration is that of a jackknife."""
        return (self.replicates, "jackknife") if self.form == "bca" else (self.replicates,)

    def of_differences(self, metric: Metric) -> ReplicateKind | None:
        """The replicates whose differences say how precise a difference of two estimates is."""
        if self.replicates is not None or self.refused:
            return self.replicates
        return "influence" if is_smooth(metric) else "bootstrap"


@dataclass(frozen=True, slots=True)
class Rows:
    """What rows are: whether they belong together in units, and whether they carry weights."""

    clustered: bool = False
    weighted: bool = False

    @property
    def doubt(self) -> str:
        """Why a form that counts rows is refused, empty if it is not."""
        return "clustered" if self.clustered else "weighted" if self.weighted else ""


def methods_of(metric: Metric, uncertainty: Uncertainty, rows: Rows) -> tuple[Chosen, ...]:
    """The intervals of a metric, in the order of the suite's methods; the first is the one that is judged.

    A form that does not apply to the metric gives none. If no method applies, one entry says so.

    >>> import plmetrics as plm
    >>> from plmetrics.suite.sections.uncertainty import Uncertainty
    >>> asked = Uncertainty(methods=("delong", "wilson", "auto"))
    >>> [chosen.form for chosen in methods_of(plm.metric("roc_auc"), asked, Rows())]
    ['delong', 'delong_logit']
    """
    made = [_named(name, metric, uncertainty.interval, rows) for name in uncertainty.names]
    found = tuple(dict.fromkeys(chosen for chosen in made if chosen is not None))
    return found or (Chosen("auto", None, "not_applicable"),)


def is_smooth(metric: Metric) -> bool:
    """Whether a little more weight of a row moves the metric a little, so that influences say how it varies."""
    return metric.kind not in _JUMPS and metric.smooth and all(is_smooth(part) for part in metric.parts())


def _named(name: str, metric: Metric, form: str, rows: Rows) -> Chosen | None:
    match name:
        case "bootstrap":
            return _resampled(form, metric)
        case "auto":
            return _own(metric, rows) or _resampled(form, metric)
        case "analytic":
            return _own(metric, rows) or _moved("delta", metric, "no_analytic_form")
        case "jackknife":
            return _moved("jackknife", metric, "not_smooth")
        case "delta":
            return _moved("delta", metric, "") if is_smooth(metric) else None
    return _form(name, metric, rows)


def _resampled(form: str, metric: Metric) -> Chosen:
    """A form of the bootstrap. Where blocks left out say nothing, bca has no acceleration: its quantiles stay put."""
    smooth = is_smooth(metric)
    return Chosen("percentile" if form == "bca" and not smooth else form, "bootstrap", smooth=smooth)


def _own(metric: Metric, rows: Rows) -> Chosen | None:
    """The form that suits a metric, None where only the bootstrap does. Forms that count rows give way to delta."""
    closed = None
    if metric.family == "derived":
        closed = None
    elif metric.kind == "proportion":
        closed = "wilson"
    elif _is_area(metric):
        closed = "delong_logit"
    elif metric.interval_form == "logit":
        closed = "logit"
    if closed is not None:
        return Chosen("delta", "influence") if rows.doubt else Chosen(closed)
    form = metric.interval_form
    return None if form is None or metric.kind in _JUMPS else Chosen(form, "influence")


def _moved(form: str, metric: Metric, refusal: str) -> Chosen:
    """The delta method, or the jackknife."""
    if not is_smooth(metric):
        return Chosen(form, None, refusal)
    return Chosen(form, "jackknife" if form == "jackknife" else "influence")


def _form(name: str, metric: Metric, rows: Rows) -> Chosen | None:
    """A form by its name. What is both a closed form and one of the bootstrap is the former where that applies."""
    if name == "t" and metric.interval_form == "t" and metric.kind not in (*_JUMPS, "proportion"):
        return Chosen("t", "influence")
    if _applies(name, metric):
        return Chosen(name, None, rows.doubt)
    return _resampled(name, metric) if name in BOOTSTRAP_FORMS else None


def _applies(name: str, metric: Metric) -> bool:
    """Whether a closed form is made for such a metric."""
    if metric.family == "derived":
        return False
    if name in _SHARES:
        return metric.kind == "proportion"
    if name in _AREAS:
        return _is_area(metric)
    if name == "logit":
        return metric.kind == "pr_area" and metric.interval_form in {"logit", "delta"}
    return name == "chi2" and metric.name == "rmse"


def _is_area(metric: Metric) -> bool:
    return metric.kind == "roc_area" and metric.range in AREA_RANGES
