"""Thresholds chosen from rows, once per model and rule, before any count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import nan
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.bad_rows import bad_values
from plmetrics.engine.memory.budget import refuse_to_hold
from plmetrics.engine.prepare.constants import ThresholdChoice
from plmetrics.states.moving_thresholds import confusion_at
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.sums import View, class_threshold
from plmetrics.table.checks import VALID, valid_column
from plmetrics.table.prediction_columns import WEIGHT, part_column, score_column, truth_column

if TYPE_CHECKING:
    from plmetrics.catalogue.parameters import ThresholdRule
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.table.prediction_table import PredictionTable

_BINS = 10
_CALIBRATED = 0.05
_POSITIVE = "@positive"
NUMBERS_IN_HAND = 11
"""Numbers a row while a threshold is chosen: its score, class and weight, the same sorted, and what follows of them."""


def choose_thresholds(
    request: Request, view: TableView, fixed: Mapping[str, Mapping[str, float]]
) -> Question[ThresholdChoice]:
    """Choose the thresholds of a run, beside those given by model.

    Raises:
        DataError: `select_on` holds for no row, or for rows with bad values where these are errors.
    """
    rules = {rule.text: rule for metric in request.leaves if (rule := metric.chosen_threshold) is not None}
    values = {model: dict(fixed[model]) for model in request.models}
    classes = _classes(view)
    warnings = yield from _calibration_warnings(view, rules)
    open_rules = [rule for rule in rules.values() if rule.constant is None]
    for condition in dict.fromkeys(rule.select_on for rule in open_rules):
        rules_of_condition = [rule for rule in open_rules if rule.select_on == condition]
        selection = _selection(view, condition)
        table = selection.table()
        refusal = partial(_bad_rows, selection, table, condition)
        warnings += yield from _optimism(view, condition, rules_of_condition)
        for model, name in product(request.models, classes):
            check = refusal if name == classes[0] else None
            points = yield from _candidates(table, selection, model, name, check)
            warnings += _of_one_class(points, rules_of_condition, name)
            for rule in rules_of_condition:
                key = rule.text if name is None else class_threshold(rule.text, name)
                values[model][key] = nan if points is None else rule.choose(points)
    return ThresholdChoice(values, tuple(dict.fromkeys(warnings)))


def _of_one_class(points: View | None, rules: Sequence[ThresholdRule], name: str | None) -> Iterator[str]:
    """Warning of rows of a single class, useless for a choice of thresholds."""
    if points is None:
        return
    of_class = "" if name is None else f" of class '{name}'"
    for word in ("positive", "negative"):
        if not getattr(points, f"{word}s")[0]:
            named = ", ".join(rule.text for rule in rules)
            yield f"no row to choose a threshold{of_class} on is {word}: {named}"


def _classes(view: TableView) -> tuple[str | None, ...]:
    """Scores for the choice of thresholds: each class of a multilabel row, or the one score."""
    return view.roles.classes if view.suite.task == "multilabel" else (None,)


def _score_and_label(table: PredictionTable, model: str, name: str | None) -> tuple[pl.Expr, pl.Expr]:
    """Score of a model and its label; for a class its score, and whether a row has the class."""
    if name is not None:
        return pl.col(part_column(model, f"proba|{name}")), pl.col(truth_column(name))
    return pl.col(score_column(model)), pl.col(table.roles.label_of(model))


def _selection(view: TableView, condition: str | None) -> TableView:
    """Rows for the choice: those of the run, or those of a condition, irrespective of `where`."""
    roles = replace(view.roles.without_values(), unit=None, unit_name=None, keys=())
    if condition is None:
        return replace(view, roles=roles)
    holds = compile_row(condition).expr
    return replace(view, raw=view.source.frame.filter(holds), where=holds, roles=roles)


def _rows_to_choose_on(
    table: PredictionTable, model: str, of_class: str | None, *, checked: bool
) -> pl.LazyFrame:
    """Score, class and weight of a model's rows; and whether these are sound, unless that is checked."""
    frame = table.frame
    roles = table.roles
    if roles.per_model:
        frame = frame.filter(pl.col(valid_column(model)))
    sound = [] if checked or roles.missing != "error" else [pl.col(VALID)]
    name = roles.weight_of(model)
    weight = [] if name is None else [pl.col(name).alias(WEIGHT)]
    score, label = _score_and_label(table, model, of_class)
    return frame.select(score.alias("score"), (label == 1).alias(_POSITIVE), *weight, *sound)


def _candidates(
    table: PredictionTable,
    view: TableView,
    model: str,
    of_class: str | None,
    refusal: Callable[[pl.DataFrame], DataError] | None,
) -> Question[View | None]:
    """The confusion table at each distinct score of a model, and one above them all; None while there are no labels.

    Bad rows are refused with a `refusal`; without one they are checked already.
    """
    plan = _rows_to_choose_on(table, model, of_class, checked=refusal is None)
    yield from refuse_to_hold(view, plan, NUMBERS_IN_HAND, "choosing a threshold", "metrics")
    (rows,) = yield [view.arithmetic.sort(plan, "score")]
    if refusal is not None and VALID in rows.columns and not rows[VALID].all():
        raise refusal(rows)
    if rows.height == 0 and table.roles.unlabelled:
        return None
    if rows.height == 0:
        msg = "there are no rows to choose a threshold on"
        raise DataError(Problem(msg, ("metrics",), "does select_on hold for any row?"))
    weights = rows[WEIGHT].to_numpy() if WEIGHT in rows.columns else None
    ordered = SortedRows(rows["score"].to_numpy(), rows[_POSITIVE].to_numpy(), weights, None)
    state = ordered.regroup(None, 1).point_state()
    points = {name: state[name].values for name in ("score", "positive", "negative")}
    return confusion_at(points["score"], points["positive"], points["negative"])


def _bad_rows(
    view: TableView, table: PredictionTable, condition: str | None, rows: pl.DataFrame
) -> DataError:
    """The bad values of rows to choose on; where a condition gives other rows than the run's, that as well."""
    error = bad_values(view, table.checks, rows.height)
    if condition is None:
        return error
    bad = int((~rows[VALID]).sum())
    msg = f"{bad:,} of the {rows.height:,} rows to choose a threshold on have a bad label, score or weight"
    hint = "select_on is not narrowed by where: say it there as well, or write data: {missing: drop}"
    return DataError([Problem(msg, ("metrics",), hint), *error.problems])


def _optimism(view: TableView, condition: str | None, rules: list[ThresholdRule]) -> Question[list[str]]:
    """Warning of a threshold chosen on the evaluated rows themselves."""
    named = ", ".join(rule.text for rule in rules)
    advice = "their values look better than they are: choose on other rows (select_on)"
    if condition is None:
        return [f"chosen on the rows that are evaluated: {named}; {advice}"]
    evaluated = pl.lit(value=True) if view.where is None else view.where
    shared = view.source.frame.select((compile_row(condition).expr & evaluated).sum().alias("rows"))
    (counted,) = yield [shared]
    rows = int(counted.item() or 0)
    which = (
        "1 row to choose a threshold on is" if rows == 1 else f"{rows:,} rows to choose a threshold on are"
    )
    return [f"{which} evaluated as well: {named}; {advice}"] if rows else []


def _calibration_warnings(view: TableView, rules: Mapping[str, ThresholdRule]) -> Question[list[str]]:
    """A word where a threshold follows from costs alone, and the scores are far from calibrated.

    The rule: over ten bins of equal width, the mean distance of score and rate is above 0.05, and above twice what
    noise gives a calibrated score.
    """
    if all(rule.constant is None for rule in rules.values()):
        return []
    table = _selection(view, None).table()
    scores = list(product(table.models, _classes(view)))
    bins = yield [_distances(table, model, name) for model, name in scores]
    worst: dict[str, tuple[float, str]] = {}
    for (model, name), counts in zip(scores, bins, strict=True):
        sound = counts.drop_nulls()
        gap, mass, rows = sound.select("gap", "mass", "n").sum().row(0)
        error = gap / mass if rows else 0.0
        if error > max(_CALIBRATED, 0.64 * (_BINS / max(rows, 1)) ** 0.5, worst.get(model, (0.0, ""))[0]):
            worst[model] = error, f"'{model}'" if name is None else f"'{model}' for class '{name}'"
    return [
        f"threshold=optimal(...) assumes calibrated scores, and those of model {whose} are off by {error:.3f} on "
        "average: recalibrate them, or use threshold=min(expected_cost(...))"
        for error, whose in worst.values()
    ]


def _distances(table: PredictionTable, model: str, of_class: str | None) -> pl.LazyFrame:
    """Distance to the rate, weight and rows by bin of a model's score, null for invalid ones."""
    score, label = _score_and_label(table, model, of_class)
    name = table.roles.weight_of(model)
    sound = score.is_between(0, 1) & label.is_between(0, 1)
    place = pl.when(sound).then((score * _BINS).floor().clip(0, _BINS - 1))
    gap, mass = score - label, pl.len().cast(pl.Float64)
    if name is not None:
        gap, mass = gap * pl.col(name), pl.col(name).sum()
    return table.frame.group_by(place.alias("place")).agg(
        gap.sum().abs().alias("gap"), mass.alias("mass"), pl.len().alias("n")
    )
