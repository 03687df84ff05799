"""Tests of two models on the values of folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from plmetrics.core.ops import Array, Codes
from plmetrics.inference.comparisons.columns import posterior_columns, tested_columns
from plmetrics.inference.comparisons.tests.outcome import ROUNDING_OF_VALUES, TestOutcomes
from plmetrics.inference.comparisons.tests.paired_permutation import paired_permutation_tests
from plmetrics.inference.comparisons.tests.paired_t import five_by_two, t_tests
from plmetrics.inference.comparisons.tests.wilcoxon import wilcoxon_tests
from plmetrics.suite.sections.compare import ON_DIFFERENCES, POSTERIORS, by_fold
from plmetrics.suite.sections.section import ComparisonTest
from plmetrics.table.joins import inner_join, left_join

GROUP = ["slice_set", "slice", "metric"]
_FOLD = ["repeat", "fold"]
_FORMS = {"paired_t": "t", "corrected_resampled_t": "corrected_resampled_t"}
_REPEATS, _OF_REPEAT = 5, 2


def outer_folds(folds: pl.DataFrame) -> pl.DataFrame:
    """Values for comparisons of models: of outer folds, held out, of metrics without classes and of one setting.

    >>> from plmetrics.core.results import FOLDS_SCHEMA
    >>> outer_folds(FOLDS_SCHEMA.to_frame()).height
    0
    """
    held_out = _single(folds).filter(pl.col("split").fill_null("test") != "train")
    if held_out["split"].n_unique() > 1:
        held_out = held_out.filter(pl.col("split") == "test")
    return held_out


def _single(folds: pl.DataFrame) -> pl.DataFrame:
    """Outer folds of metrics without classes and of one setting, with their training rows."""
    absent = (pl.col(name).is_null() for name in ("class", "configuration", "x", "inner"))
    return folds.filter(*absent, pl.col("fold").is_not_null())


def fold_tests(
    folds: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    tests: Sequence[ComparisonTest],
    *,
    level: float = 0.95,
) -> Iterator[pl.DataFrame]:
    """The rows of `comparisons` for the tests of folds, of every pair of models, metric and slice.

    Folds without a value of either model are left out. `corrected_resampled_t` counts n_train of a fold in its training
    rows where there are some, else in all other folds of the repeat, unless the test names the ratio;
    `five_by_two_cv_f` needs just 5 repeats of 2 folds. `pairs` are models and their baselines; tests that are not of
    folds are passed over.
    """
    held_out = with_trained_rows(outer_folds(folds), _single(folds), [*GROUP, "model"])
    by_folds = [test for test in tests if by_fold(test, folded=True)]
    if held_out.is_empty() or not by_folds:
        return
    for model, baseline in pairs:
        paired_folds = _Folds.of(held_out, model, baseline)
        for test in by_folds:
            if test.test in POSTERIORS:
                columns = paired_folds.posteriors(test, level)
            else:
                tested = paired_folds.tests(test, level)
                columns = tested_columns(test.text, _FORMS.get(test.test), tested)
            yield pl.concat([paired_folds.groups, columns], how="horizontal").with_columns(
                pl.lit(model).alias("model"), pl.lit(baseline).alias("baseline")
            )


def with_trained_rows(values: pl.DataFrame, folds: pl.DataFrame, group: Sequence[str]) -> pl.DataFrame:
    """Values of folds with `trained`: their rows of split train, or without any the repeat's rows in other folds."""
    counted = folds.filter(split="train").select(*group, *_FOLD, pl.col("n").alias("@train"))
    others = pl.col("n").sum().over(*group, "split", "repeat") - pl.col("n")
    joined = left_join(values, counted, [*group, *_FOLD])
    return joined.with_columns(trained=pl.coalesce("@train", others)).drop("@train")


class _Folds:
    """Folds of a pair of models with a value of both, in order, by group."""

    def __init__(self, groups: pl.DataFrame, frame: pl.DataFrame) -> None:
        self.groups = groups
        self._frame = frame
        self._code = frame["@group"].to_numpy().astype(np.int64)
        self._difference: Array = frame["difference"].to_numpy()
        self._size = groups.height

    @classmethod
    def of(cls, folds: pl.DataFrame, model: str, baseline: str) -> _Folds:
        """Pair the values of two models."""
        keys = [*GROUP, *_FOLD]
        model_values = folds.filter(pl.col("model") == model).select(*keys, "value", "n", "trained")
        other = folds.filter(pl.col("model") == baseline).select(*keys, pl.col("value").alias("@other"))
        both = inner_join(model_values, other, keys)
        groups = both.select(GROUP).unique(maintain_order=True)
        both = both.join(groups.with_row_index("@group"), on=GROUP, maintain_order="left")
        difference, size = (
            pl.col("value") - pl.col("@other"),
            pl.min_horizontal(pl.col("value", "@other").abs()),
        )
        is_rounding = difference.abs() <= ROUNDING_OF_VALUES * size
        both = both.with_columns(difference=pl.when(is_rounding).then(0.0).otherwise(difference))
        return cls(groups, both.filter(pl.col("difference").is_finite()).sort("@group", *_FOLD))

    def tests(self, test: ComparisonTest, level: float) -> TestOutcomes:
        """A test in every group."""
        n = np.bincount(self._code, minlength=self._size)
        mean = np.bincount(self._code, weights=self._difference, minlength=self._size) / np.maximum(n, 1)
        if test.test == "five_by_two_cv_f":
            return self._five_by_two(n, mean)
        if test.test in ON_DIFFERENCES:
            return difference_tests(test, self._difference, self._code, self._size)
        away = (self._difference - mean[self._code]) ** 2
        squares = np.bincount(self._code, weights=away, minlength=self._size)
        spread = np.sqrt(squares / np.maximum(n - 1, 1))
        corrected = test.test == "corrected_resampled_t"
        ratio = (self._ratio() if test.ratio is None else test.ratio) if corrected else 0.0
        return t_tests(n, mean, spread, ratio=ratio, level=level)

    def posteriors(self, test: ComparisonTest, level: float) -> pl.DataFrame:
        """Columns of a Bayesian test in every group, with its probabilities in the note."""
        from plmetrics.inference.comparisons.posteriors import bayesian_signed_rank, correlated_t

        ratio = self._ratio() if test.ratio is None else np.full(self._size, test.ratio)
        outcomes = []
        for group in range(self._size):
            here = self._difference[self._code == group]
            none = np.zeros_like(here)
            if test.test == "correlated_t":
                share = float(ratio[group]) or 1.0  # Without two folds nothing is made of it.
                outcomes.append(correlated_t(here, none, ratio=share, rope=test.rope, level=level))
            else:
                outcomes.append(bayesian_signed_rank(here, none, rope=test.rope, prior=test.prior))
        return posterior_columns(test.text, outcomes, test.rope)

    def _ratio(self) -> Array:
        """n_test / n_train of each group, the mean over its folds."""
        ratio = (pl.col("n") / pl.col("trained")).alias("share")
        shares = self._frame.select("@group", ratio).with_columns(
            pl.when(pl.col("share").is_finite()).then("share").otherwise(0.0)
        )
        test_shares = np.bincount(self._code, weights=shares["share"].to_numpy(), minlength=self._size)
        return test_shares / np.maximum(np.bincount(self._code, minlength=self._size), 1)

    def _five_by_two(self, n: Codes, mean: Array) -> TestOutcomes:
        """The F test where there are five repeats of two folds."""
        shape = self._frame.group_by("@group", "repeat").agg(pl.len().alias("folds"))
        shape = shape.group_by("@group").agg(
            ((pl.len() == _REPEATS) & (pl.col("folds") == _OF_REPEAT).all()).alias("right")
        )
        right = np.zeros(self._size, dtype=np.bool_)
        right[shape["@group"].to_numpy()] = shape["right"].to_numpy()
        differences = np.zeros((self._size, _REPEATS * _OF_REPEAT))
        differences[right] = self._difference[right[self._code]].reshape(-1, _REPEATS * _OF_REPEAT)
        tested = five_by_two(differences)
        status = np.where(right, tested.status, "not_five_by_two")
        p, statistic = (np.where(right, part, np.nan) for part in (tested.p_value, tested.statistic))
        return TestOutcomes(statistic, p, n, status.astype(object), mean)


def difference_tests(
    test: ComparisonTest, difference: Array, code: Codes, slices: int, units: Codes | None = None
) -> TestOutcomes:
    """Tests in S slices, `code` being the slice of each difference; in a permutation units change signs as a whole.

    The estimate is the mean over all differences.
    """
    n = np.bincount(code, minlength=slices)
    mean = np.bincount(code, weights=difference, minlength=slices) / np.maximum(n, 1)
    if test.test == "wilcoxon":
        tested = wilcoxon_tests(difference, code, slices, zeros=test.zeros, continuity=test.continuity)
        return replace(tested, n=n, estimate=mean)
    if units is not None:
        place = code * (int(units.max(initial=0)) + 1) + units
        _, first, number = np.unique(place, return_index=True, return_inverse=True)
        code, difference = code[first], np.bincount(number, weights=difference).astype(np.float64)
    tested = paired_permutation_tests(
        difference, code, slices, permutations=test.permutations, seed=test.seed
    )
    return replace(tested, n=n, statistic=np.where(n > 0, mean, np.nan), estimate=mean)
