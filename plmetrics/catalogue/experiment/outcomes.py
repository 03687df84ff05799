"""Means and totals of an outcome over all arms of an experiment."""

from __future__ import annotations

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.registry import register
from plmetrics.states.sums import Atom

INFINITY = float("inf")
OUTCOME = Atom("outcome", lambda rows: rows.score)
_NEYMAN = (
    "Imbens and Rubin (2015), Causal inference for statistics, social, and biomedical sciences, chapter 6"
)


@register
class MeanOutcome(RowMean):
    """Mean of an outcome over the rows of all arms: sum of y / n.

    In the outcome's unit; undefined (`no_rows`) without rows. The table `experiment` has the mean of each arm. Source:
    Imbens and Rubin (2015).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"arm": ["A", "A", "B", "B"], "bought": [0, 1, 1, 1]})
    >>> plan = {"arm": "arm", "control": "A", "outcomes": "bought"}
    >>> result = plm.evaluate(rows, task="experiment", experiment=plan, metrics="mean")
    >>> result.metrics["value"].item()
    0.75
    """

    name = "mean"
    task = "experiment"
    row_atom = OUTCOME
    needs_label = False
    range = (-INFINITY, INFINITY)
    direction = "none"
    unit_by_model = True
    formula = "sum of y / n"
    use_when = "You want the level of an outcome, and whether it moved since an earlier run."
    beware = "It mixes the arms: it says nothing of their difference, which the table `experiment` has."
    reference = _NEYMAN
