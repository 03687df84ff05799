"""Rows of `comparisons` for `compare.tests`: tests of two models in every slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import row_value
from plmetrics.catalogue.variation import faint
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.results import COMPARISONS_SCHEMA
from plmetrics.core.threads import parallel_map
from plmetrics.engine.aggregate.paired_rows import (
    AREAS,
    BOTH,
    GAINED,
    LOST,
    SQUARES,
    TOTAL,
    comparison_tests,
    dependence,
    dependence_of,
    pair_column,
    row_tests,
)
from plmetrics.inference.comparisons.columns import tested_columns
from plmetrics.inference.comparisons.counted_areas import area_tests, has_areas
from plmetrics.inference.comparisons.fold_tests import difference_tests, fold_tests, outer_folds
from plmetrics.inference.comparisons.rank_tests import rank_tests
from plmetrics.inference.comparisons.tests.delong import delong_tests, placements
from plmetrics.inference.comparisons.tests.diebold_mariano import diebold_mariano_tests
from plmetrics.inference.comparisons.tests.mcnemar import mcnemar_tests
from plmetrics.inference.comparisons.tests.outcome import (
    ROUNDING_OF_VALUES,
    TestOutcomes,
    run_starts,
    statuses,
)
from plmetrics.inference.comparisons.tests.paired_t import t_tests
from plmetrics.inference.comparisons.tests.sequential import always_valid_tests
from plmetrics.inference.metric_values import value_or_nan
from plmetrics.inference.sums import ModelSums
from plmetrics.inference.tables import DELONG, TESTS
from plmetrics.suite.sections.compare import OF_ROWS, ON_DIFFERENCES, by_fold

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.aggregate.paired_rows import PairedRows
    from plmetrics.inference.analysis import OrderedByPlace
    from plmetrics.inference.subject import Analysis, Replication
    from plmetrics.suite.sections.section import ComparisonTest

PLACE = ["model", "baseline", "slice_set", "slice", "metric"]
_FORMS = {
    "paired_t": "t",
    "delong": "delong",
    "diebold_mariano": "diebold_mariano",
    "always_valid": "always_valid",
}
_DELONG = ("delong", "delong_logit")
_ROUNDING = 1e-13


def with_tests(
    comparisons: pl.DataFrame,
    analysis: Analysis,
    rows: PairedRows | None,
    metrics: pl.DataFrame,
    folds: pl.DataFrame,
    areas: OrderedByPlace,
) -> pl.DataFrame:
    """Comparisons with the tests of the suite, each behind the bootstrap of its place; those of all models at the end.

    `rows` are those that tests rank, `areas` differences of areas whose scores were counted on a grid. Models are
    ranked by the values in `metrics`.
    """
    suite = analysis.suite
    tests = comparison_tests(suite.compare)
    if suite.compare is None or not tests:
        return comparisons
    pairs = suite.compare.pairs_of(analysis.models)
    tables = [*_of_rows(analysis, rows, areas), *fold_tests(folds, pairs, tests, level=analysis.level)]
    if outer_folds(folds).is_empty():
        tables += _without_folds(analysis)
    together = rank_tests(suite, metrics, folds, tests, level=analysis.level)
    order = {test.text: place for place, test in enumerate(tests)}
    # A difference may have a row of DeLong's test for two reasons: one is enough.
    first = pl.struct(*PLACE, "scale", "test").is_first_distinct()
    placed = _in_place(comparisons, tables, order).filter(first | pl.col("test").ne_missing(DELONG))
    return pl.concat([placed, *(_complete(frame) for frame in together)], how="diagonal_relaxed")


def with_areas(comparisons: pl.DataFrame, analysis: Analysis, rows: PairedRows | None) -> pl.DataFrame:
    """Comparisons with DeLong's test in place of the delta form, for areas with DeLong's intervals.

    Without the rows that tests rank the delta form stays.
    """
    metrics = [metric for metric in analysis.suite.metrics if _is_delong(analysis.replication, metric)]
    of_different_rows = analysis.suite.per_model
    if rows is None or not metrics or of_different_rows:
        return comparisons
    tables = [
        _test_rows(
            tested_columns(DELONG, _FORMS["delong"], here.of_pairs(metric, AREAS, analysis.pairs)),
            analysis.pairs,
            metric,
            here.name,
            here.texts,
        )
        for here in (_InSet(analysis, rows, index) for index in range(len(analysis.sets)))
        for metric in analysis.suite.metrics_in(here.name)
        if metric in metrics and analysis.pairs
    ]
    if not tables:
        return comparisons
    numbers = ("difference", "lower", "upper", "std_error", "p_value", "statistic")
    names = (*numbers, "method", "interval_status", "test")
    answers = pl.concat(tables).filter(status="ok").select(*PLACE, *names)
    joined = comparisons.join(answers, on=PLACE, how="left", suffix="|answer", maintain_order="left")
    delta = (pl.col("test") == TESTS["influence"]) & (pl.col("scale") == "difference")
    by_delta = delta & (pl.col("contrast") == "model") & (pl.col("status") == "ok")
    answered = (by_delta & pl.col("test|answer").is_not_null()).fill_null(value=False)
    merged = (pl.when(answered).then(f"{name}|answer").otherwise(name).alias(name) for name in names)
    blocks = pl.when(~answered).then("blocks").alias("blocks")
    return joined.with_columns(*merged, blocks).select(comparisons.columns)


def _is_delong(replication: Replication, metric: Metric) -> bool:
    """Whether a metric's first interval is DeLong's."""
    first = replication.methods(metric)[:1]
    return _is_of(AREAS, metric) and any(chosen.form in _DELONG and not chosen.refusal for chosen in first)


def _in_place(comparisons: pl.DataFrame, tables: list[pl.DataFrame], order: dict[str, int]) -> pl.DataFrame:
    """The rows of tests behind those of the same place; where there is no such place, the slice is not listed."""
    if not tables:
        return comparisons
    numbered = comparisons.with_row_index("@row")
    places = (
        numbered.filter(pl.col("contrast") == "model", pl.col("class").is_null())
        .group_by(PLACE)
        .agg(pl.col("@row").max(), pl.col("slice_values").first(), pl.col("status").first().alias("@status"))
    )
    tested = pl.concat(tables, how="diagonal_relaxed").join(places, on=PLACE, how="inner")
    too_few = pl.col("@status") == "too_few_rows"
    numbers = ("difference", "lower", "upper", "std_error", "p_value", "statistic", "method", "note")
    tested = tested.with_columns(
        *(pl.when(~too_few).then(name).alias(name) for name in numbers),
        *(
            pl.when(too_few).then("@status").otherwise(name).alias(name)
            for name in ("status", "interval_status")
        ),
        pl.col("test").replace_strict(order, return_dtype=pl.Int64).alias("@test"),
    )
    both = pl.concat([numbered, _complete(tested.drop("@status"))], how="diagonal_relaxed")
    return both.sort("@row", pl.col("@test").fill_null(-1), maintain_order=True).drop("@row", "@test")


def _complete(frame: pl.DataFrame) -> pl.DataFrame:
    """All columns of the table, of its types."""
    missing = [name for name in COMPARISONS_SCHEMA if name not in frame.columns]
    complete = frame.with_columns(pl.lit(None).alias(name) for name in missing)
    return complete.with_columns(pl.col(name).cast(dtype) for name, dtype in COMPARISONS_SCHEMA.items())


def _of_rows(analysis: Analysis, rows: PairedRows | None, areas: OrderedByPlace) -> Iterator[pl.DataFrame]:
    """The tests of rows, of every pair of models, metric and slice set."""
    compare = analysis.suite.compare
    assert compare is not None
    for index in range(len(analysis.sets)):
        here = _InSet(analysis, rows, index, areas)
        for metric, test in product(analysis.suite.metrics_in(here.name), row_tests(analysis.suite)):
            pairs = compare.pairs_of(analysis.models)
            if pairs and _is_of(test, metric):
                tested = here.of_pairs(metric, test, pairs)
                columns = tested_columns(test.text, _FORMS.get(test.test), tested)
                yield _test_rows(columns, pairs, metric, here.name, here.texts)


def _is_of(test: ComparisonTest, metric: Metric) -> bool:
    """Whether a test of rows has a say on a metric."""
    if test.test in {"mcnemar", "delong"}:
        return test.test == metric.paired_test
    return row_value(metric) is not None


def _without_folds(analysis: Analysis) -> Iterator[pl.DataFrame]:
    """Omitted tests of folds: too many to list."""
    suite = analysis.suite
    assert suite.compare is not None
    by_folds = [
        t for t in comparison_tests(suite.compare) if by_fold(t, folded=suite.columns.fold is not None)
    ]
    for metric, test in product(suite.metrics_in("overall"), by_folds):
        pairs = suite.compare.pairs_of(analysis.models)
        omitted = _no_outcomes(len(pairs), "folds_not_listed")
        yield _test_rows(tested_columns(test.text, None, omitted), pairs, metric)


def _test_rows(
    frame: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    metric: Metric,
    slice_set: str = "overall",
    slices: Sequence[str] = ("all",),
) -> pl.DataFrame:
    """Rows of a test with their places: the slices of each pair of models."""
    names = dict.fromkeys(("model", "baseline", "slice"), pl.String)
    places = pl.DataFrame([(*pair, text) for pair, text in product(pairs, slices)], names, orient="row")
    return frame.with_columns(
        *places, pl.lit(slice_set).alias("slice_set"), pl.lit(metric.text).alias("metric")
    )


def _no_outcomes(slices: int, reason: str) -> TestOutcomes:
    nothing, n = np.full(slices, np.nan), np.zeros(slices, dtype=np.int64)
    return TestOutcomes(nothing, nothing, n, statuses(n, (reason, n == 0)))


class _InSet:
    """Tests in the slices of one set, with cached shared inputs."""

    def __init__(
        self, analysis: Analysis, rows: PairedRows | None, index: int, areas: OrderedByPlace | None = None
    ) -> None:
        self._areas = areas or {}
        self._analysis = analysis
        self._rows = rows
        self._index = index
        self._sums = analysis.sets[index].sums
        self._placed: dict[str, Array] = {}
        self.name = analysis.sets[index].slices.slice_set.name
        self.texts = analysis.sets[index].slices.texts()

    @cached_property
    def _code(self) -> Codes:
        assert self._rows is not None
        return self._rows.slices(self._index)

    def of_pairs(
        self, metric: Metric, test: ComparisonTest, pairs: Sequence[tuple[str, str]]
    ) -> TestOutcomes:
        """A test of pairs of models in all slices of the set, several pairs at a time, one pair after another."""
        independent = dependence_of(test, self._analysis.suite) is None
        if test.test == "delong" and self._rows is not None and independent and not self._apart:
            missing = [model for model in dict.fromkeys(chain(*pairs)) if model not in self._placed]
            self._placed |= dict(zip(missing, parallel_map(self._placements, missing), strict=True))
        return TestOutcomes.concat(parallel_map(partial(self._outcomes, metric, test), pairs))

    def _outcomes(self, metric: Metric, test: ComparisonTest, pair: tuple[str, str]) -> TestOutcomes:
        reason = self._reason(metric, test, pair)
        if reason is not None:
            return _no_outcomes(self._sums.slices, reason)
        if test.test == "mcnemar":
            return self._mcnemar(metric, test, pair)
        if test.test in {"paired_t", "always_valid"}:
            return self._of_moments(metric, test, pair)
        return (
            self._delong(metric, pair, test.alternative)
            if test.test == "delong"
            else self._of_differences(metric, test, pair)
        )

    def _reason(self, metric: Metric, test: ComparisonTest, pair: tuple[str, str]) -> str | None:
        """Reason for the absence of a test."""
        suite = self._analysis.suite
        reason = dependence(suite) if self._rows is None else dependence_of(test, suite)
        if reason is not None:
            return reason
        cuts = [self._analysis.population.threshold(metric, model) for model in pair]
        if any(cut is not None and np.isnan(cut) for cut in cuts):
            return "unreachable"
        if test.test == "delong" and has_areas(self._areas, self._index, pair):
            return None
        return "rows_do_not_fit" if self._rows is None and test.test in OF_ROWS else None

    def _total(self, metric: Metric, pair: tuple[str, str], part: str) -> Array:
        return self._sums.total(pair_column(*pair, metric, part))

    def _mcnemar(self, metric: Metric, test: ComparisonTest, pair: tuple[str, str]) -> TestOutcomes:
        counts = (np.rint(self._total(metric, pair, part)).astype(np.int64) for part in (GAINED, LOST, BOTH))
        return mcnemar_tests(*counts, method=test.method, alternative=test.alternative)

    def _of_moments(self, metric: Metric, test: ComparisonTest, pair: tuple[str, str]) -> TestOutcomes:
        n = np.rint(self._total(metric, pair, BOTH)).astype(np.int64)
        squares = self._total(metric, pair, SQUARES)
        alike = self._alike(metric, pair, squares / np.maximum(n, 1))
        mean = np.where(alike, 0.0, self._total(metric, pair, TOTAL) / np.maximum(n, 1))
        spread = np.where(alike, 0.0, _deviations(n, mean, squares))
        if test.test == "paired_t":
            return t_tests(n, mean, spread, level=self._analysis.level)
        assert test.mixture is not None
        error = np.where(n > 1, spread / np.sqrt(np.maximum(n, 1)), np.nan)
        return always_valid_tests(n, mean, error, mixture=test.mixture, level=self._analysis.level)

    def _alike(self, metric: Metric, pair: tuple[str, str], square: Array) -> Flags:
        """Slices where the mean square of the differences of two models is that of rounding."""
        sizes = [abs(self._value(metric, model)) for model in pair]
        return (square > 0) & (np.sqrt(square) <= ROUNDING_OF_VALUES * np.minimum(*sizes))

    def _value(self, metric: Metric, model: str) -> Array:
        """A model's mean over the rows of each slice, from the sums of the run."""
        prefix = self._analysis.population.prefix(metric, model)
        return value_or_nan(metric, self._model_sums.totals(metric, model, prefix))

    @cached_property
    def _model_sums(self) -> ModelSums:
        totals = {name: self._sums.total(name)[:, None] for name in self._sums.columns}
        return ModelSums(totals, None, self._sums.centred_at(0, self._sums.slices))

    @property
    def _apart(self) -> bool:
        """Whether a model has its own rows, so that its placements differ from pair to pair."""
        return self._analysis.suite.per_model

    def _delong(self, metric: Metric, pair: tuple[str, str], alternative: str) -> TestOutcomes:
        if has_areas(self._areas, self._index, pair):
            return area_tests(self._analysis, self._areas, self._index, metric, pair, alternative)
        assert self._rows is not None
        keep = self._valid_rows(*pair)
        positive, code, units = self._rows.positive()[keep], self._code[keep], self._rows.units
        model_placements, baseline_placements = (
            self._placements(model, keep) if self._apart else self._placed[model] for model in pair
        )
        return delong_tests(
            model_placements,
            baseline_placements,
            positive,
            code,
            self._sums.slices,
            level=self._analysis.level,
            alternative=alternative,
            unit=None if units is None else units[keep],
        )

    def _valid_rows(self, model: str, baseline: str) -> Any:
        """Index of the rows of two models in a slice, without a copy if it is all of them."""
        assert self._rows is not None
        keep = self._rows.valid(model, baseline) & (self._code >= 0)
        return slice(None) if keep.all() else keep

    def _placements(self, model: str, keep: Any = None) -> Array:
        """Placements of a model's rows among the selected ones."""
        assert self._rows is not None
        keep = self._valid_rows(model, model) if keep is None else keep
        return placements(self._rows.scores(model)[keep], self._rows.positive()[keep], self._code[keep])

    def _of_differences(self, metric: Metric, test: ComparisonTest, pair: tuple[str, str]) -> TestOutcomes:
        assert self._rows is not None
        difference = self._rows.differences(metric, *pair)
        keep = np.isfinite(difference) & (self._code >= 0)
        difference, code, slices = difference[keep], self._code[keep], self._sums.slices
        squares, rows = np.bincount(code, difference**2, slices), np.bincount(code, minlength=slices)
        alike = self._alike(metric, pair, squares / np.maximum(rows, 1))
        difference = np.where(alike[code], 0.0, difference)
        if test.test in ON_DIFFERENCES:
            units = None if self._rows.units is None else self._rows.units[keep]
            return difference_tests(test, difference, code, slices, units)
        assert test.time is not None
        mean, by_time = _over_times(difference, code, self._rows.times(test.time)[keep])
        level = self._analysis.level
        return diebold_mariano_tests(mean, by_time, slices, horizon=test.horizon, level=level)


def _deviations(n: Codes, mean: Array, squares: Array) -> Array:
    """Standard deviations from sums of squares, 0 within rounding.

    NaN where squares overflowed or have lost their digits.
    """
    centred_squares = squares - n * mean**2
    centred_squares = np.where(
        centred_squares <= _ROUNDING * np.maximum(n, 1) * squares, 0.0, centred_squares
    )
    return np.where(faint(squares, n), np.nan, np.sqrt(centred_squares / np.maximum(n - 1, 1)))


def _over_times(difference: Array, code: Codes, time: Codes) -> tuple[Array, Codes]:
    """The mean difference at each time of a slice, slice by slice in order of time."""
    order = np.lexsort((time, code))
    values, slices = difference[order], code[order]
    starts = run_starts(time[order], slices)
    if len(starts) == 0:
        return values, slices
    sizes = np.diff(np.append(starts, len(order)))
    return np.add.reduceat(values, starts) / sizes, slices[starts]
