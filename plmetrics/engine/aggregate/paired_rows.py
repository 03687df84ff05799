"""Inputs of tests of two models: sums of pairs of rows in the scan, and the rows themselves for tests of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import called_rightly, row_value
from plmetrics.catalogue.variation import square
from plmetrics.core.errors import DataError, Problem
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.engine.inquiry import Step
from plmetrics.engine.memory.budget import rows_that_fit
from plmetrics.states.sums import Total
from plmetrics.suite.sections.compare import OF_ROWS, ON_MEANS, by_fold
from plmetrics.suite.sections.section import ComparisonTest
from plmetrics.table.checks import (
    UNORDERED,
    UNORDERED_HINT,
    VALID,
    absent,
    is_text,
    is_unordered,
    one_form_problem,
    time_forms,
    valid_column,
)
from plmetrics.table.prediction_columns import LABEL, UNIT, plain_column, score_column

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.basics import Compare

GAINED, LOST, BOTH, TOTAL, SQUARES = "gained", "lost", "both", "total", "squares"
_COPIES = 3
"""Differences of two models and their ranks are there beside the columns."""

_POSITIVE, _CODE, _GROUP = "@positive", "@cell", "@group"
AREAS = ComparisonTest(test="delong")
"""DeLong's test, as a suite asks for it."""

_OF_UNITS = ("delong", "paired_permutation")
"""The tests that have a form for units of several rows."""

_OF_DELONG = ("auto", "analytic", "delong", "delong_logit")
_NOT_OF_AREAS = ("wilson", "clopper_pearson", "logit", "chi2")
"""Methods that areas under the ROC curve get their intervals by from DeLong's variance, and that they get none by."""


def comparison_tests(compare: Compare | None) -> tuple[ComparisonTest, ...]:
    """The tests of `compare`, each once."""
    tests = () if compare is None else compare.tests
    return tuple({test.text: test for test in tests}.values())


def row_tests(suite: Suite) -> tuple[ComparisonTest, ...]:
    """Tests of rows, or of sums of them."""
    folded = suite.columns.fold is not None
    named = {"mcnemar", "delong", *ON_MEANS}
    return tuple(
        t for t in comparison_tests(suite.compare) if t.test in named and not by_fold(t, folded=folded)
    )


def dependence(suite: Suite) -> str | None:
    """Reason against tests of rows as independent observations of equal weight; None if they are such."""
    if suite.has_weights:
        return "weighted"
    return None if suite.columns.unit is None else "clustered"


def dependence_of(test: ComparisonTest, suite: Suite) -> str | None:
    """Reason for one test: some have a form for dependent rows, and times that are units are means by then."""
    reason = dependence(suite)
    of_units = test.test in _OF_UNITS or test.time == suite.columns.unit
    return None if reason == "clustered" and of_units else reason


def pair_column(model: str, baseline: str, metric: Metric, part: str) -> str:
    """The column of a sum over the rows of two models. No replicate is made of it."""
    return f"{model}|differs|{baseline}|{metric.text}|{part}"


def pair_sums(plan: RunPlan, metrics: Sequence[Metric]) -> list[Total]:
    """Sums of each pair of models for tests: rows gained by one of them, and moments of differences."""
    suite = plan.request.suite
    names = {test.test for test in row_tests(suite)} & {"mcnemar", "paired_t", "always_valid"}
    if not names or dependence(suite) is not None or suite.compare is None:
        return []
    out: list[Total] = []
    for model, baseline in suite.compare.pairs_of(plan.request.models):
        both = _both_valid(plan.request, model, baseline)
        for metric in metrics:
            sums: list[Total] = []
            if "mcnemar" in names:
                sums += _discordant(plan, metric, (model, baseline), both)
            if names - {"mcnemar"}:
                sums += _moments(plan, metric, (model, baseline), both)
            out += {total.name: total for total in sums}.values()
    return out


def _both_valid(request: Request, model: str, baseline: str) -> pl.Expr | None:
    if not request.suite.per_model:
        return pl.col(VALID) if request.counts_every_row else None
    return pl.col(valid_column(model)) & pl.col(valid_column(baseline))


def _discordant(plan: RunPlan, metric: Metric, pair: tuple[str, str], both: pl.Expr | None) -> list[Total]:
    right = called_rightly(metric)
    if right is None:
        return []
    model_right, baseline_right = (right(plan.row_of(model)) for model in pair)
    counted = {
        GAINED: model_right & ~baseline_right,
        LOST: baseline_right & ~model_right,
        BOTH: model_right | ~model_right,
    }
    return [
        Total.count(pair_column(*pair, metric, name), part if both is None else part & both)
        for name, part in counted.items()
    ]


def _moments(plan: RunPlan, metric: Metric, pair: tuple[str, str], both: pl.Expr | None) -> list[Total]:
    value = row_value(metric)
    if value is None:
        return []
    model_value, baseline_value = (value(plan.row_of(model)) for model in pair)
    difference = (
        model_value - baseline_value if both is None else pl.when(both).then(model_value - baseline_value)
    )
    column = partial(pair_column, *pair, metric)
    return [
        Total.count(column(BOTH), difference.is_not_null()),
        Total(column(TOTAL), difference.sum(), difference),
        Total(column(SQUARES), square(difference).sum(), square(difference)),
    ]


@dataclass(frozen=True)
class PairedRows:
    """Rows for rank tests: losses, scores and classes of each model, and the slice of each row in every set."""

    plan: RunPlan
    frame: pl.DataFrame

    def slices(self, index: int) -> Codes:
        """The slice of each row in a set, -1 for none."""
        slices = self.plan.slices[index]
        if slices.slice_set.is_whole:
            return np.zeros(self.frame.height, dtype=np.int64)
        number = self.plan.cube_of(slices)
        cells = self.frame[f"{_CODE}|{number}"].to_numpy()
        return self.plan.cubes[number].slice_codes(slices, cells)

    def differences(self, metric: Metric, model: str, baseline: str) -> Array:
        """The model's value of each row less the baseline's; NaN where one has none."""
        model_loss, baseline_loss = (self.frame[_loss(name, metric)].to_numpy() for name in (model, baseline))
        return np.where(self.valid(model, baseline), model_loss - baseline_loss, np.nan)

    def scores(self, model: str) -> Array:
        """The model's score of each row."""
        return self.frame[score_column(model)].to_numpy()

    def positive(self) -> Flags:
        """The class of each row."""
        return self.frame[_POSITIVE].to_numpy()

    @cached_property
    def units(self) -> Codes | None:
        """The number of each row's unit; None where each row is one."""
        if _GROUP not in self.frame.columns:
            return None
        return self.frame[_GROUP].rank("dense").cast(pl.Int64).to_numpy() - 1

    def valid(self, model: str, baseline: str) -> Flags:
        """Valid rows of both models."""
        columns = [valid_column(name) for name in (model, baseline)]
        if columns[0] not in self.frame.columns:
            return np.ones(self.frame.height, dtype=np.bool_)
        return (self.frame[columns[0]] & self.frame[columns[1]]).to_numpy()

    def times(self, column: str) -> Codes:
        """The place of each row in the order of a column."""
        return self.frame[plain_column(column)].rank("dense").cast(pl.Int64).to_numpy()


def ranking_tests(request: Request) -> tuple[ComparisonTest, ...]:
    """Rank tests of a run: those of the suite, and DeLong's for differences of ROC areas."""
    suite = request.suite
    tests = [t for t in row_tests(suite) if t.test in OF_ROWS and dependence_of(t, suite) is None]
    if dependence(suite) is None and compares_areas(request):
        tests.append(AREAS)
    return tuple({test.text: test for test in tests}.values())


def compares_areas(request: Request) -> bool:
    """Whether models are compared by areas under ROC curves with DeLong's intervals: so is their test then."""
    suite = request.suite
    areas = any(metric.paired_test == "delong" for metric in suite.metrics)
    if not areas or suite.uncertainty is None or not request.pairs or suite.per_model:
        return False
    names = (name for name in suite.uncertainty.names if name not in _NOT_OF_AREAS)
    return next(names, None) in _OF_DELONG


def reads_paired_rows(plan: RunPlan) -> bool:
    """Whether there is a rank test, and rows are independent and not too many."""
    request = plan.request
    if not ranking_tests(request) or not plan.exact:
        return False
    return plan.rows.read <= rows_that_fit(request.suite, _COPIES * _column_count(plan))


def _column_count(plan: RunPlan) -> int:
    """Number of columns of the rows for rank tests: a score and losses of each model, classes and cells."""
    losses = sum(row_value(metric) is not None for metric in plan.request.suite.metrics)
    return len(plan.request.models) * (1 + losses) + len(plan.cubes) + 1


def paired_rows(plan: RunPlan) -> PairedRows | None:
    """Rows for rank tests; None without such a test, or for dependent or too many rows."""
    if not reads_paired_rows(plan):
        return None
    (frame,) = paired_step(plan).collect()
    frame = plan.request.arithmetic.rows(frame)
    for name in {test.time: None for test in ranking_tests(plan.request) if test.time is not None}:
        _refuse_times(frame[plain_column(name)], name)
    return PairedRows(plan, frame)


def paired_step(run_plan: RunPlan) -> Step:
    """Scan of the rows for rank tests."""
    suite = run_plan.request.suite
    tests = ranking_tests(run_plan.request)
    models = run_plan.request.models
    columns: dict[str, pl.Expr] = {}
    if any(test.test == "delong" for test in tests):
        columns |= {score_column(model): pl.col(score_column(model)) + 0.0 for model in models}
        columns[_POSITIVE] = pl.col(LABEL) == 1
    if suite.columns.unit is not None and any(test.test in _OF_UNITS for test in tests):
        columns[_GROUP] = pl.col(UNIT)
    if any(test.test != "delong" for test in tests):
        columns |= _losses(run_plan)
    if suite.per_model:
        columns |= {valid_column(model): pl.col(valid_column(model)) for model in models}
    columns |= {
        f"{_CODE}|{index}": cube.cell().cast(pl.Int64)
        for index, cube in enumerate(run_plan.cubes)
        if cube.codes
    }
    times = [plain_column(test.time) for test in tests if test.time is not None]
    columns |= {name: pl.col(name) for name in times}
    plan = run_plan.table.frame.select(part.alias(name) for name, part in columns.items())
    return Step("tests", (plan,), "rows that tests rank")


def _losses(plan: RunPlan) -> dict[str, pl.Expr]:
    losses: dict[str, pl.Expr] = {}
    for metric in plan.request.suite.metrics:
        value = row_value(metric)
        if value is not None:
            for model in plan.request.models:
                losses[_loss(model, metric)] = value(plan.row_of(model)).cast(pl.Float64)
    return losses


def _loss(model: str, metric: Metric) -> str:
    return f"@loss|{model}|{metric.text}"


def _refuse_times(column: pl.Series, name: str) -> None:
    times = column.to_frame("time")
    nulls = times.filter(absent(pl.col("time"), column.dtype)).height
    if nulls:
        msg = f"column '{name}' (time of diebold_mariano) is null in {nulls:,} rows"
        raise DataError(Problem(msg, ("compare", "tests"), "leave them out with data.where, or fill them in"))
    odd = times.filter(is_unordered(pl.col("time"), column.dtype)).to_series()
    if len(odd):
        msg = f"column '{name}' (time of diebold_mariano): {odd[0]!r} is {UNORDERED}"
        raise DataError(Problem(msg, ("compare", "tests"), UNORDERED_HINT))
    if is_text(column.dtype):
        forms = time_forms(times.lazy(), "time").collect()
        problem = one_form_problem(forms, f"column '{name}' (time of diebold_mariano)", ("compare", "tests"))
        if problem is not None:
            raise DataError(problem)
