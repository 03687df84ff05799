"""Bounds of the values of each column, needed for exact sums before rows are added.

Where an atom says it of any rows, nothing is looked up but the largest weight. These exponents are constants of the
run: states add exactly where they are equal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.metric import leaves
from plmetrics.catalogue.needs import Bins, OrderedRows, Ranks
from plmetrics.core.exact_sums import HEADROOM, Addition, exponent_of
from plmetrics.core.names import name_list
from plmetrics.engine.aggregate.totals import summed_in, totals
from plmetrics.engine.arithmetic import largest
from plmetrics.table.prediction_columns import LABEL

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.prepare.constants import Constants
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import Total
    from plmetrics.suite.model import Suite

IN_BINS = "in bins of scores"
"""The name of the exponent of what is added in bins: weights, and weights times numbers from 0 to 1, or outcomes."""

_WEIGHT, _OUTCOME = "@most of weight", "@most of outcome"


def with_exponents(plan: RunPlan, constants: Constants | None) -> Question[RunPlan]:
    """The run with the exponents of its sums, or with those of another run.

    Where values are too large for the latter, the sum is an ordinary one, and a warning says so.
    """
    exponents = yield from exponents_of(plan)
    pinned = exponents if constants is None else constants.exponents
    beyond = frozenset(
        name for name in pinned.keys() & exponents.keys() if exponents[name] > pinned[name] + HEADROOM
    )
    if not beyond:
        return replace(plan, addition=Addition(pinned))
    sums = name_list([f"'{name}'" for name in sorted(beyond)], 3)
    warning = (
        f"reproducible: values are much larger than in the run whose constants are taken, so that the sums {sums}"
        f" may differ in the last digits with the order of rows; take constants of a run that has such values"
    )
    return replace(plan, addition=Addition(pinned, beyond), warnings=(*plan.warnings, warning))


def adds_in_bins(suite: Suite) -> bool:
    """Whether fractional numbers are added in bins of scores."""
    needs = [leaf.needs for metric in suite.metrics for leaf in leaves(metric)]
    if suite.has_weights:
        return bool(suite.row_curves) or any(isinstance(need, (OrderedRows, Ranks)) for need in needs)
    if suite.task == "uplift" and any(isinstance(need, OrderedRows) for need in needs):
        return True
    has_curves = any(curve.curve == "reliability" for curve in suite.curves)
    return has_curves or any(isinstance(need, Bins) for need in needs)


def _in_tables(plan: RunPlan) -> dict[str, pl.Expr]:
    """Summands of rows in tables of curves."""
    from plmetrics.engine.aggregate.bin_values import bin_values, run_tables

    values: dict[str, pl.Expr] = {}
    for model in plan.request.models:
        for table in run_tables(plan):
            values |= bin_values(plan, model, table)
    return values


def exponents_of(plan: RunPlan) -> Question[dict[str, int]]:
    """The exponent of every sum of floats, by the name of its column."""
    sums: dict[str, Total] = {}
    for cube in plan.cubes:
        sums |= {total.name: total for total in totals(plan, summed_in(plan, cube))}
    values = {
        name: total.value for name, total in sums.items() if total.most is None and total.value is not None
    }
    if plan.request.suite.bin_curves:
        values |= _in_tables(plan)
    if plan.table.weight is not None:
        values[_WEIGHT] = plan.table.weight
    if plan.view.roles.treatment is not None and adds_in_bins(plan.request.suite):
        values[_OUTCOME] = pl.col(LABEL)
    most = yield from largest(plan.sum_rows, values)
    heaviest = most.get(_WEIGHT, 1.0)
    limits = {
        name: total.most * heaviest for name, total in sums.items() if total.value is not None and total.most
    }
    if adds_in_bins(plan.request.suite):
        limits[IN_BINS] = heaviest * max(1.0, most.get(_OUTCOME, 0.0))
    sizes = {name: size for name, size in (most | limits).items() if name not in {_WEIGHT, _OUTCOME}}
    return {name: exponent_of(size) for name, size in sizes.items()}
