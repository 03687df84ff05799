"""Values of a metric in single rows: the number whose mean it is, or whether the row is called rightly."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.needs import Sums
from plmetrics.states.sums import Atom, View, as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import Rows

_MEMBERS = ("taking", "mass")
_RIGHT = ("tp", "tn", "hit")


def row_value(metric: Metric) -> Callable[[Rows], pl.Expr] | None:
    """The number of each row whose mean over rows the metric is; None if it is no such mean.

    A row where the number is null takes no part in the mean.

    >>> import plmetrics as plm
    >>> row_value(plm.metric("brier")) is None, row_value(plm.metric("f1")) is None
    (False, True)
    """
    if not isinstance(metric.needs, Sums) or metric.interval_form != "t":
        return None
    atoms = metric.atoms()
    summed = [part for part in atoms.values() if not all(atom.counts for atom in as_tuple(part))]
    if len(summed) != 1 or isinstance(summed[0], tuple):
        return None
    total, unit = summed[0], _unit(metric)
    named = member_of(metric)
    if named is None:
        return total.build if unit == 1.0 else lambda rows: total.build(rows) * unit
    member = named[1]
    return lambda rows: pl.when(member.build(rows)).then(total.build(rows) * unit)


def member_of(metric: Metric) -> tuple[str, Atom] | None:
    """Which rows take part in a mean over some, by the name of their sum; None where all do."""
    atoms = metric.atoms()
    named = ((name, part) for name in _MEMBERS if isinstance(part := atoms.get(name), Atom))
    return next(named, None)


def _unit(metric: Metric) -> float:
    """Value of the metric on a single row whose sum is 1: 100 for a percentage."""
    ones = dict.fromkeys(("n", "weight", *metric.atoms()), np.array(1.0))
    return float(metric.finalise(View(ones)))


def called_rightly(metric: Metric) -> Callable[[Rows], pl.Expr] | None:
    """Whether each row is called rightly, where the metric is the accuracy; else None."""
    if metric.paired_test != "mcnemar":
        return None
    atoms_of_metric = metric.atoms()
    atoms = [atom for name in _RIGHT if name in atoms_of_metric for atom in as_tuple(atoms_of_metric[name])]
    return lambda rows: reduce(or_, (atom.build(rows) for atom in atoms))
