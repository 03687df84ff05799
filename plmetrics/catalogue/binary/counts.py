"""Counts of a binary decision at a threshold; the four atoms and two bases of threshold metrics.

TP, FP, FN and TN are each summed directly, never as a difference of totals, so that an empty quadrant is an
exact 0 also under weights.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from operator import add
from typing import Any, ClassVar, Self

from plmetrics.catalogue.bases import Quotient
from plmetrics.catalogue.metric import Direction, Facts, Mean, Metric
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import ThresholdRule, finite, parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.thresholds import threshold_text
from plmetrics.core import ops
from plmetrics.states.sums import DEFAULT_THRESHOLD, Atom

QUADRANTS = ("tp", "fp", "fn", "tn")
INFINITY = float("inf")


def threshold_parameter() -> Any:
    """Parameter `threshold`, common to all metrics at a threshold."""
    return parameter(
        DEFAULT_THRESHOLD,
        doc="rows with score >= threshold are called positive",
        check=lambda value: isinstance(value, ThresholdRule) or finite(value),
        domain="a finite number, or a rule such as max(f1)",
    )


def quadrants(threshold: float | ThresholdRule, names: tuple[str, ...] = QUADRANTS) -> Mapping[str, Atom]:
    """The atoms of some cells of the confusion table; equal thresholds share them."""
    return {name: _quadrant(name, threshold) for name in names}


@lru_cache(maxsize=1000, typed=True)
def _quadrant(name: str, threshold: float | ThresholdRule) -> Atom:
    apart = f"threshold={threshold_text(threshold)}"
    atom = partial(Atom, f"{name}({apart})", counts=True, apart=apart)
    if name == "tp":
        return atom(build=lambda rows: rows.positive & rows.called(threshold))
    if name == "fp":
        return atom(build=lambda rows: ~rows.positive & rows.called(threshold))
    if name == "fn":
        rest = ("positives", _quadrant("tp", threshold))
        return atom(build=lambda rows: rows.positive & ~rows.called(threshold), complement_of=rest)
    rest = ("negatives", _quadrant("fp", threshold))
    return atom(build=lambda rows: ~rows.positive & ~rows.called(threshold), complement_of=rest)


class Decision(Metric):
    """Base of the metrics of a yes or no decision: sums over rows of a binary task."""

    task = "binary"
    needs = Sums()
    threshold_free = False
    range = (0.0, 1.0)
    direction: ClassVar[Direction] = "higher"


class OfCells(Decision):
    """Base of the metrics on some cells of the confusion table at a threshold."""

    threshold: float | ThresholdRule
    cells: ClassVar[tuple[str, ...]] = QUADRANTS

    def atoms(self) -> Mapping[str, Atom]:
        return quadrants(self.threshold, self.cells)


@dataclass(frozen=True)
class AtThreshold(OfCells):
    """Base of the metrics of the confusion table with the threshold as their only parameter."""

    threshold: float | ThresholdRule = threshold_parameter()


class Rate(Quotient, AtThreshold):
    """Base of the rates: some cells of the confusion table over some more of them.

    Both sums come from the same cells, so a rate whose other cells are empty is exactly 1.
    """

    kind = "proportion"
    numerator: ClassVar[tuple[str, ...]]
    denominator: ClassVar[tuple[str, ...]]

    @property
    def mean(self) -> Mean:
        return "rows" if set(self.denominator) == set(QUADRANTS) else "mass"

    def atoms(self) -> Mapping[str, Atom]:
        return quadrants(self.threshold, self.denominator)

    def terms(self, state: Any) -> tuple[Any, Any]:
        return sum_of(state, self.numerator), sum_of(state, self.denominator)


def sum_of(state: Any, names: tuple[str, ...]) -> Any:
    """The sum of some arrays of a state."""
    return reduce(add, (getattr(state, name) for name in names))


class DecisionShare(Rate):
    """Base of the shares of one decision, independent of labels; a run with unlabelled rows counts decisions alone.

    Elsewhere it shares the cells of the confusion table with other metrics.
    """

    criterion = "parity"
    direction = "none"
    denominator = QUADRANTS
    empty = "no_rows"
    selected: ClassVar[bool]
    of_all_rows: ClassVar[bool] = False

    @property
    def numerator(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("tp", "fp") if self.selected else ("fn", "tn")

    def with_facts(self, facts: Facts) -> Self:
        """The share, of all rows where labels may be absent."""
        metric = copy.copy(self)
        object.__setattr__(metric, "of_all_rows", facts.unlabelled)
        return metric

    def atoms(self) -> Mapping[str, Atom]:
        return self._decisions() if self.of_all_rows else super().atoms()

    def _decisions(self) -> Mapping[str, Atom]:
        """Decisions in the place of cells, with two empty ones."""
        apart = f"decision(threshold={threshold_text(self.threshold)})"
        atom = partial(Atom, counts=True, apart=apart)
        selected = atom(f"selected {apart}", lambda rows: rows.called(self.threshold))
        rejected = atom(
            f"rejected {apart}", lambda rows: ~rows.called(self.threshold), complement_of=("n", selected)
        )
        return {"selected": selected, "rejected": rejected}

    def terms(self, state: Any) -> tuple[Any, Any]:
        if not self.of_all_rows:
            return super().terms(state)
        return state.selected if self.selected else state.rejected, state.selected + state.rejected


class Count(AtThreshold):
    """Base of the four counts."""

    additive = True
    range = (0.0, INFINITY)
    handles_imbalance = False
    beware = "It grows with the number of rows: compare it only between models on the same rows."
    reference = "Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27(8)"

    def atoms(self) -> Mapping[str, Atom]:
        return quadrants(self.threshold, (self.name,))

    def finalise(self, state: Any) -> Any:
        return getattr(state, self.name)


@register
class TruePositives(Count):
    """Weight of the positive rows predicted positive: sum of w where y = 1 and score >= threshold.

    A count where there are no weights; 0 or more; undefined (`no_rows`) without rows. Source: Fawcett (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(TruePositives().expr("y", "p")).item()
    1.0
    """

    name = "tp"
    rewards = "calls"
    formula = "sum of w over rows with y = 1 and score >= threshold"
    use_when = "You want the caught positives as a number, for a capacity or cost calculation."


@register
class FalsePositives(Count):
    """Weight of the negative rows predicted positive: sum of w where y = 0 and score >= threshold.

    A count where there are no weights; 0 or more; undefined (`no_rows`) without rows. Source: Fawcett (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1], "w": [1, 1, 3, 1]})
    >>> rows.select(FalsePositives().expr("y", "p", "w")).item()
    3.0
    """

    name = "fp"
    rewards = "refusals"
    direction = "lower"
    formula = "sum of w over rows with y = 0 and score >= threshold"
    use_when = "You want the false alarms as a number, for a capacity or cost calculation."


@register
class FalseNegatives(Count):
    """Weight of the positive rows predicted negative: sum of w where y = 1 and score < threshold.

    A count where there are no weights; 0 or more; undefined (`no_rows`) without rows. Source: Fawcett (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(FalseNegatives(threshold=0.95).expr("y", "p")).item()
    2.0
    """

    name = "fn"
    rewards = "calls"
    direction = "lower"
    formula = "sum of w over rows with y = 1 and score < threshold"
    use_when = "You want the missed positives as a number, for a risk or cost calculation."


@register
class TrueNegatives(Count):
    """Weight of the negative rows predicted negative: sum of w where y = 0 and score < threshold.

    A count where there are no weights; 0 or more; undefined (`no_rows`) without rows. Source: Fawcett (2006).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(TrueNegatives().expr("y", "p")).item()
    1.0
    """

    name = "tn"
    rewards = "refusals"
    formula = "sum of w over rows with y = 0 and score < threshold"
    use_when = "You want the rows rightly left alone as a number, to complete the confusion table."


@dataclass(frozen=True)
class CellRows(AtThreshold):
    """Number of rows with weight above 0 in a cell of the confusion table, whatever they weigh. No suite names it."""

    cell: str = parameter(doc="the cell", domain="tp, fp, fn or tn", unnamed=True)
    name = "cell_rows"
    additive = True
    range = (0.0, INFINITY)

    def atoms(self) -> Mapping[str, Atom]:
        atom = quadrants(self.threshold, (self.cell,))[self.cell]
        return {"rows": replace(atom, key=f"{atom.key} rows", weighted=False, complement_of=None, apart=None)}

    def finalise(self, state: Any) -> Any:
        return state.rows


def confusion_cells(*, weighted: bool) -> tuple[Metric, ...]:
    """The metrics of a confusion table at the default threshold: its cells, and under weights their rows."""
    cells = (TrueNegatives(), FalsePositives(), FalseNegatives(), TruePositives())
    return (*cells, *(CellRows(cell=cell.name) for cell in cells)) if weighted else cells


@register
class RowCount(Decision):
    """Number of rows with weight above 0, whatever the weights.

    Undefined (`no_rows`) without rows. Source: this catalogue.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0], "p": [0.9, 0.4, 0.6], "w": [2.5, 0.0, 1.0]})
    >>> rows.select(RowCount().expr("y", "p", "w")).item()
    2.0
    """

    name = "n"
    needs_label = False
    threshold_free = True
    additive = True
    range = (0.0, INFINITY)
    direction = "none"
    formula = "number of rows with w > 0"
    use_when = "You want slice sizes among the metrics, for instance to put a gate on them."
    beware = "It says nothing of how many rows are positive, nor of how many independent units there are."
    reference = "plmetrics catalogue, section 1"

    def finalise(self, state: Any) -> Any:
        return state.n


@register
class Prevalence(Decision):
    """Share of positives: P / (P + N), in weight.

    In [0, 1]; undefined (`no_rows`) without rows. Source: Altman and Bland (1994).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1], "w": [1, 1, 1, 5]})
    >>> rows.select(Prevalence().expr("y", "p", "w")).item()
    0.25
    """

    name = "prevalence"
    mean = "rows"
    threshold_free = True
    direction = "none"
    kind = "proportion"
    formula = "P / (P + N)"
    use_when = "Always beside precision, average precision and accuracy: it is the value a blind guess gets."
    beware = "It describes the data, not the model; after sampling by label it is that of the sample."
    reference = "Altman and Bland (1994), Diagnostic tests 2: predictive values, BMJ 309"

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.positives, state.positives + state.negatives)


@register
class SelectionRate(DecisionShare):
    """Share of all rows predicted positive: (TP + FP) / (TP + FP + FN + TN).

    Sums of weights; in [0, 1]; undefined (`no_rows`) without rows. Source: Feldman and others (2015).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(SelectionRate(threshold=0.3).expr("y", "p")).item()
    0.75
    """

    name = "selection_rate"
    selected = True
    formula = "(TP + FP) / (TP + FP + FN + TN)"
    use_when = (
        "You want the volume of decisions, for capacity planning or to compare groups (demographic parity)."
    )
    beware = "It does not look at the labels: a right and a wrong selection count the same."
    reference = "Feldman and others (2015), Certifying and removing disparate impact, KDD"
