"""Declarations of metrics: their needs of the rows, the only input of a run's plan, and the kind of their value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from plmetrics.states.queries import QueryValue
    from plmetrics.states.scores.sliced_scores import Binning
    from plmetrics.states.sums import RowValue

Family = Literal["sums", "scores", "ranks", "derived"]
Reads = Literal["area", "curve", "order", "scores", "ranks"]

Area = Literal["roc_area", "pr_area", "uplift_area"]
Kind = Literal[
    "proportion", "mean", Area, "norm", "maximum", "minimum", "ratio", "per_event", "extreme", "other"
]
Bounds = tuple[float, float]
_SHARES = ("wilson", "clopper_pearson", "normal")
_AREAS = ("delong_logit", "delong", "hanley_mcneil", "hanley_mcneil_score")
_CENTRED = frozenset({"norm", "maximum", "minimum", "ratio"})
"""Kinds that noise moves one way, whatever the truth: sizes of vectors, the largest or the smallest of several."""
_AREA_RANGES = ((0.0, 1.0), (-1.0, 1.0))


@dataclass(frozen=True, slots=True)
class Need:
    """Base of the needs. `family` is the word for them in metric cards, and in classes that declare no need.

    With `rows_in_order` neither a grid of scores nor a stored state serves it; with `distinct` every distinct score is
    a point of replicates; with `scores` these themselves are read, as `state.score`.
    """

    family: ClassVar[Family]
    rows_in_order: ClassVar[bool] = False
    distinct: ClassVar[bool] = False
    scores: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Sums(Need):
    """Sums over rows: the metric's `atoms`.

    With `classes` the metric reads the weights of both classes as well (`state.positives`, `state.negatives`).
    """

    family = "sums"
    classes: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Queries(Sums):
    """Sums over the queries of a ranking, of numbers of each query.

    `gain` is how labels are gains, which are 0 or more: `linear`, or 2 to the power of them (`exponential`). With
    `of_labels` no order is read: the numbers are facts of the queries, whatever the model.
    """

    values: tuple[QueryValue, ...]
    gain: str | None = None
    of_labels: bool = False


@dataclass(frozen=True, slots=True)
class OrderedRows(Need):
    """Base of the needs of rows in the order of a number: of the model's score, or of `by`."""

    family = "scores"
    by: RowValue | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Points(OrderedRows):
    """The weight of each class along the score, ascending.

    `reads` says which points: for `area` the area under the ROC curve and the size of the classes do; on a `curve`
    neighbouring scores without positives may be one point (in replicates not of a norm); `order` has a point at every
    distinct score; `scores` has the scores themselves as well (`state.score`).
    """

    reads: Reads = "order"

    @property
    def distinct(self) -> bool:  # type: ignore[override]
        """On a curve, and for its area, points are joined."""
        return self.reads in {"order", "scores"}

    @property
    def scores(self) -> bool:  # type: ignore[override]
        return self.reads == "scores"

    @property
    def rows_in_order(self) -> bool:  # type: ignore[override]
        """Scores themselves stand on no grid."""
        return self.scores


@dataclass(frozen=True, slots=True)
class Bins(OrderedRows):
    """Sums in fixed bins of the score. `optional` is whether a parameter `strategy` chooses bins of equal width."""

    binning: Binning
    optional: bool = False

    @property
    def rows_in_order(self) -> bool:  # type: ignore[override]
        """The edges of bins of equal weight are quantiles of a slice."""
        return self.binning.strategy == "quantile"


@dataclass(frozen=True, slots=True)
class Quantiles(OrderedRows):
    """A quantile of the number `by`, at a level from 0 to 1: distinct numbers, ascending, with the weight of each."""

    level: float


@dataclass(frozen=True, slots=True)
class Ranks(Need):
    """Moments of the ranks of labels and predictions; with `pairs` also the concordance of pairs of rows."""

    family = "ranks"
    pairs: bool = True


@dataclass(frozen=True, slots=True)
class Parts(Need):
    """The values of other metrics in each slice: the metric's `parts`."""

    family = "derived"


@dataclass(frozen=True, slots=True)
class SliceValues(Parts):
    """The values of other metrics in all slices of a set."""


def need_of(family: Family, reads: Reads) -> Need:
    """Need of a class from its declared family and columns, in place of a need.

    >>> need_of("scores", "curve")
    Points(by=None, reads='curve')
    """
    match family:
        case "sums":
            return Sums()
        case "scores":
            return Points(reads)
        case "ranks":
            return Ranks(pairs=reads != "ranks")
        case "derived":
            return Parts()


@dataclass(frozen=True, slots=True)
class ValueKind:
    """Kind of value by its name, and the range of such a metric, a limit for intervals.

    A `mean` is one of numbers within the range, of all rows or of those behind a cut: where it is 0 or 1 they all are,
    and so many more than Wilson's interval of a share allows cannot be otherwise. One `per_event` is divided by the
    number of some events, such as positives.

    >>> ValueKind("proportion", (0.0, 1.0)).closed_forms[0], ValueKind("norm").resampling_form
    ('wilson', 'centred')
    """

    name: Kind = "other"
    bounds: Bounds = (-float("inf"), float("inf"))

    @property
    def is_share(self) -> bool:
        """Whether it is a share of rows."""
        return self.name == "proportion"

    @property
    def is_area(self) -> bool:
        """Whether it is the area under a ROC curve, or a linear function of it, as Gini's index is."""
        return self.name == "roc_area" and self.bounds in _AREA_RANGES

    @property
    def is_norm(self) -> bool:
        """Whether it is the size of a vector, increased by noise: metrics of norms have a `deviation`."""
        return self.name == "norm"

    @property
    def is_resampled(self) -> bool:
        """Whether resampled rows give its variation; they hold no larger value than the largest of all rows."""
        return self.name != "extreme"

    @property
    def is_smooth(self) -> bool:
        """Whether it is a smooth function of its estimates."""
        return self.name not in {*_CENTRED, "extreme"}

    @property
    def closed_forms(self) -> tuple[str, ...]:
        """Closed-form intervals for shares, or for areas; the usual one first."""
        return _SHARES if self.is_share else _AREAS if self.is_area else ()

    @property
    def end_form(self) -> str | None:
        """The interval of a value at an end of its range, where replicates are all the same; None without one."""
        of_rows = self.is_share or (self.name == "mean" and self.bounds == (0.0, 1.0))
        return "wilson" if of_rows else "hanley_mcneil_score" if self.is_area else None

    @property
    def resampling_form(self) -> str:
        """Interval from many replicates."""
        if self.name in _CENTRED:
            return "centred"
        return "t" if self.name in {"roc_area", "pr_area"} else "percentile"
