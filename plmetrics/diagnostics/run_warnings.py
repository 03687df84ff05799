"""Warnings of a run about probable mistakes, for its record and its user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.catalogue.advice.advice_rule import (
    TableFacts,
    class_sizes,
    coefficient_of_variation,
    names_text,
    score_ends,
)
from plmetrics.catalogue.advice.advice_rules import rules_for
from plmetrics.catalogue.advice.table_survey import Layout, survey
from plmetrics.catalogue.thresholds import threshold_text
from plmetrics.core.errors import PlmetricsError
from plmetrics.core.names import number_text
from plmetrics.core.ops import Array
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.streaming import SAMPLE_ROWS, sample
from plmetrics.states.moments import about_common_centre
from plmetrics.table.prediction_columns import score_column

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.request import Request, TableView
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import SumsState
    from plmetrics.suite.model import Suite

_MOST_QUERIES = 0.5
_LARGEST_WEIGHT = 1e140
"""The largest sum of weights, and one over the least, that has a square with all its digits."""


def run_warnings(plan: RunPlan, aggregated: Aggregates, metrics: pl.DataFrame) -> list[str]:
    """Warnings of a run: a class without rows, incompatible gates, misleading metrics and values."""
    return [
        *_models_without_rows(plan),
        *models_of_the_label(plan.view),
        *_hidden_columns(plan.request.view),
        *_left_out_labels(plan.view),
        *_of_classes(plan, aggregated.sums),
        *_unreached_thresholds(plan, aggregated.sums),
        *state_warnings(plan, aggregated, metrics),
    ]


def state_warnings(plan: RunPlan, aggregated: Aggregates, metrics: pl.DataFrame) -> list[str]:
    """Warnings by the sums of a run and its table `metrics`, also of stored states."""
    suite, facts = plan.request.suite, run_facts(plan, aggregated)
    return [
        *_no_positives(plan, aggregated.sums),
        *_of_gates(suite),
        *_far_weights(plan, aggregated.sums),
        *misleading_metrics(suite, facts, _short_queries(plan, aggregated.sums, facts)),
        *_of_treatment(plan, aggregated),
        *_by_value(suite, plan.request, facts, metrics),
    ]


def _far_weights(plan: RunPlan, sums: Sequence[SumsState]) -> list[str]:
    """Warning of weights whose products lose digits, or overflow."""
    with np.errstate(over="ignore"):
        totals = [float(sums[0].columns[f"{prefix}weight"].sum()) for prefix in plan.populations().values()]
    far = [total for total in totals if total and not 1 / _LARGEST_WEIGHT < total < _LARGEST_WEIGHT]
    return [
        f"weights add up to {total:.2g}, and products of such numbers are no numbers of 64 bits: metrics of pairs of "
        "rows, such as roc_auc, are wrong or without a value; multiply all weights by one constant (derive)"
        for total in far[:1]
    ]


def _of_treatment(plan: RunPlan, aggregated: Aggregates) -> list[str]:
    """Warnings of unbalanced treatment arms."""
    if plan.request.suite.task != "uplift":
        return []
    from plmetrics.diagnostics.treatment_balance import balance_warnings

    return balance_warnings(plan, aggregated)


def _by_value(suite: Suite, request: Request, facts: TableFacts, metrics: pl.DataFrame) -> list[str]:
    """Warnings by the values in the table `metrics`, if it has a basis for them."""
    judged = (metric.chance is not None or metric.rises_with_prevalence for metric in suite.metrics)
    if not (suite.baseline or len(suite.models) > 1 or any(judged)):
        return []
    from plmetrics.diagnostics.value_warnings import warnings_by_value

    parts = {name: model.parts for name, model in request.view.roles.models.items()}
    return warnings_by_value(suite, metrics, facts.smallest, request.pairs, parts)


def models_of_the_label(view: TableView) -> list[str]:
    """Warnings of models with the label itself as their score."""
    roles = view.roles
    return [
        f"model '{name}' reads the label, column '{roles.label}', as its prediction: its numbers say nothing"
        for name, model in roles.models.items()
        if any(of == roles.label and part not in model.derivations for part, of in model.columns.items())
    ]


def _models_without_rows(plan: RunPlan) -> list[str]:
    """Warnings of models all of whose rows were dropped."""
    rows = plan.rows
    if not any(0 < dropped == rows.read - rows.zero_weight for dropped in rows.dropped.values()):
        return []
    from plmetrics.engine.bad_rows import models_without_rows

    return models_without_rows(plan)


def _hidden_columns(view: TableView) -> list[str]:
    """Warnings of columns with the name of a role, in expressions of metrics: these read the role."""
    if not any(metric.row_expressions() for metric in view.suite.metrics):
        return []
    from plmetrics.engine.binding.row_expressions import hidden_columns

    return hidden_columns(view)


def _left_out_labels(view: TableView) -> list[str]:
    """Warning of columns of a label of several columns that are read by nothing."""
    if view.suite.task != "multilabel":
        return []
    from plmetrics.engine.binding.labels import columns_without_class

    return columns_without_class(view)


def _of_classes(plan: RunPlan, sums: Sequence[SumsState]) -> list[str]:
    """Warnings of classes that are alike or mean a missing one, and of models that call no row rightly."""
    view = plan.view
    if view.suite.task != "multiclass":
        return []
    from plmetrics.diagnostics.value_warnings import without_hits
    from plmetrics.engine.prepare.text_forms import absent_classes, near_classes

    classes = view.roles.classes
    absent = [] if view.suite.classes else absent_classes(view.roles.label, classes)
    populations = {model: plan.populations()[model] for model in view.suite.models}
    return [*near_classes(classes), *absent, *without_hits(populations, classes, sums[0].columns)]


def misleading_metrics(
    suite: Suite, facts: TableFacts, short: Mapping[int, float] | None = None
) -> list[str]:
    """Warnings of a suite with a misleading metric on its table, without a companion that the rule names.

    `short` are the shares of queries with at most so many rows, as a run counts them.
    """
    gated = {gate.metric.text: gate.metric for gate in suite.gates}.values()
    facts = replace(
        facts,
        units=int(bool(suite.columns.unit)),
        weighted=int(bool(suite.columns.weight)),
        at_half=int(len(_own_threshold(suite)) < len(suite.models)),
    )
    warnings = []
    for rule in rules_for(facts, "advise_against"):
        relied = rule.targets(suite.metrics)
        judged = [metric for metric in rule.targets(gated) if metric not in relied]
        for metrics, start in ((relied, ""), (judged, "a gate on ")):
            if metrics:
                named = names_text(tuple(dict.fromkeys(metric.text for metric in metrics)))
                warnings.append(f"{start}{named} may mislead: {rule.caution(facts)} (rule {rule.id})")
    return [*warnings, *_whole_queries(suite, facts, short or {})]


def _of_gates(suite: Suite) -> list[str]:
    if not suite.gates:
        return []
    from plmetrics.diagnostics.gate_warnings import gate_warnings

    return gate_warnings(suite)


def _whole_queries(suite: Suite, facts: TableFacts, short: Mapping[int, float]) -> Iterator[str]:
    """Metrics of the first k rows with value 1 for any order, as k reaches the last row of most queries.

    Of a sample that is judged by the mean number of rows. Rows that a ranking does not have, as those of `data.trec`
    may be, are missed by any order.
    """
    if suite.data.trec is not None:
        return
    cuts = {metric.text: metric.saturation for metric in suite.metrics if metric.saturation is not None}
    shares = {name: short[k] for name, k in cuts.items() if short.get(k, 0.0) > _MOST_QUERIES}
    if shares:
        yield (
            f"{names_text(tuple(shares))} may mislead: k reaches all documents of {min(shares.values()):.0%} of the "
            "queries, which every order scores the same; choose a smaller k"
        )
    documents = facts.documents
    names = [name for name, k in cuts.items() if k not in short and documents is not None and documents <= k]
    if names:
        yield (
            f"{names_text(names)} may mislead: a query has {facts.texts()['documents']:document}, and k reaches them "
            "all, so that every order scores the same; choose a smaller k"
        )


def _short_queries(plan: RunPlan, sums: Sequence[SumsState], facts: TableFacts) -> dict[int, float]:
    """Share of queries with at most k rows, by the cuts k of metrics saturated on those."""
    cuts = {metric.saturation for metric in plan.request.suite.metrics if metric.saturation is not None}
    if not cuts or not facts.rows:
        return {}
    from plmetrics.catalogue.ranking.base import short_queries

    columns = sums[0].columns
    counted = {
        k: max(
            (
                float(columns[name].sum())
                for model in plan.populations()
                if (name := f"{model}|{short_queries(k)}") in columns
            ),
            default=None,
        )
        for k in cuts
    }
    return {k: count / facts.rows for k, count in counted.items() if count is not None}


def run_facts(plan: RunPlan, aggregated: Aggregates) -> TableFacts:
    """Figures from the sums of a run: those of the model with the most rows, as all have nearly the same."""
    suite = plan.request.suite
    model = max(plan.populations(), key=lambda name: aggregated.used[name])
    prefix = plan.populations()[model]
    state = aggregated.sums[0]
    columns, centres = about_common_centre(state.columns, state.centres, np.zeros_like(state.cell), 1)
    prefixes = (prefix, f"{model}|")
    with np.errstate(over="ignore", invalid="ignore"):
        sums = {name: float(column.sum()) for name, column in columns.items() if name.startswith(prefixes)}
    figures: dict[str, Any] = {"rows": round(sums[f"{prefix}n"])}
    if not figures["rows"]:
        return TableFacts(task=suite.task)
    if not isfinite(sums[f"{prefix}weight"]):
        return TableFacts(task=suite.task, **figures)
    if suite.task == "binary":
        masses = np.array([sums[f"{prefix}positives"], sums[f"{prefix}negatives"]])
        figures |= _class_sizes(masses, figures["rows"])
        figures["prevalence"] = float(masses[0] / masses.sum())
        figures |= _scores(plan.view, aggregated.rows)
    elif suite.task == "multiclass":
        figures |= _classes(model, sums, figures["rows"])
    elif suite.task == "regression":
        figures |= _label(model, prefix, sums, centres.of(0, 1))
    elif suite.task == "ranking" and plan.rows.pairs:
        figures["documents"] = plan.rows.pairs / figures["rows"]
    elif suite.task == "uplift" and f"{model}|treated" in sums and sums[f"{prefix}weight"]:
        figures["treated"] = sums[f"{model}|treated"] / sums[f"{prefix}weight"]
    return TableFacts(task=suite.task, **figures)


def _no_positives(plan: RunPlan, sums: Sequence[SumsState]) -> list[str]:
    suite, state = plan.request.suite, sums[0].columns
    counted = [
        state[f"{prefix}positives"] for prefix in plan.populations().values() if suite.positive is not None
    ]
    if not counted or any(values.any() for values in counted):
        return []
    from plmetrics.engine.bad_rows import label_values, labels_text

    labels = label_values(plan.view)
    has_labels = labels or any(state[name].any() for name in state if name.endswith("negatives"))
    if suite.positive in labels or not has_labels:
        return []
    held = f"holds {labels_text(labels)}, but positive is" if labels else "nowhere holds"
    return [f"no row is positive: column '{suite.columns.label}' {held} {suite.positive!r}"]


def _unreached_thresholds(plan: RunPlan, sums: Sequence[SumsState]) -> list[str]:
    """Thresholds above all scores of a model, or of positive rows: where rows (with a label) are counted anyway."""
    request, state = plan.request, sums[0].columns
    subject = "no score" if request.suite.labels is None else "no score of a labelled row"
    numbers = (metric.fixed_threshold for metric in request.sums)
    thresholds = dict.fromkeys(threshold_text(number) for number in numbers if number is not None)
    out = []
    for model, prefix in plan.populations().items():
        models, classes = plan.view.roles.models, {f"{prefix}positives", f"{prefix}negatives"} & state.keys()
        has_scores = not models[model].derivations and any(state[name].any() for name in classes)
        for threshold in thresholds if has_scores else ():
            names = {part: f"{model}|{part}(threshold={threshold})" for part in ("tp", "fp")}
            has_calls = {part: state[name].any() for part, name in names.items() if name in state}
            if any(has_calls.values()):
                continue
            cut = number_text(plan.thresholds[model].get(threshold, float(threshold)))
            if len(has_calls) == len(names):
                out.append(f"{subject} of model '{model}' is {cut} or more: nothing is called positive there")
            elif "tp" in has_calls and state[f"{prefix}positives"].any():
                out.append(f"no positive row has a score of model '{model}' of {cut} or more")
    return out


def _own_threshold(suite: Suite) -> list[str]:
    return [name for name, model in suite.models.items() if model.threshold is not None]


def _scores(view: TableView, rows: pl.DataFrame | None) -> dict[str, float | None]:
    """The ends of the scores, where the run holds them anyway: of the models it was given."""
    if rows is None:
        return {}
    ends = {
        name: pair
        for name, model in view.roles.models.items()
        if not model.derivations and "score" in model.columns and score_column(name) in rows.columns
        if (pair := _ends(rows[score_column(name)])) is not None
    }
    return score_ends(ends, _own_threshold(view.suite)) if ends else {}


def _ends(scores: pl.Series) -> tuple[float, float] | None:
    """Lowest and highest finite score, if there is one, with a scan only of scores with non-finite ends."""
    low, high = scores.min(), scores.max()
    if low is None or not (isfinite(low) and isfinite(high)):  # type: ignore[arg-type]
        low, high = (finite := scores.filter(scores.is_finite())).min(), finite.max()
    return None if low is None else (low, high)  # type: ignore[return-value]


def _classes(model: str, sums: Mapping[str, float], rows: int) -> dict[str, Any]:
    """Sizes of the classes, where a metric counted them."""
    masses: Array = np.array([mass for name, mass in sums.items() if name.startswith(f"{model}|actual|")])
    return _class_sizes(masses, rows) if masses.size and masses.sum() else {}


def _class_sizes(masses: Array, rows: int) -> dict[str, float | None]:
    """Sizes of classes from the weight of each: the rows are about as many as a row of mean weight gives."""
    return class_sizes(np.ceil(masses / masses.sum() * rows), masses)


def _label(
    model: str, prefix: str, sums: Mapping[str, float], centres: Mapping[str, Array]
) -> dict[str, Any]:
    """Figures of a numeric label from metrics' counts: zeros, mean and deviation."""
    figures: dict[str, Any] = {}
    weight = sums[f"{prefix}weight"]
    if f"{model}|zero_label" in sums:
        figures["zeros"] = sums[f"{model}|zero_label"] / sums[f"{prefix}n"]
    if f"{model}|label_centred" in sums and weight:
        centred, squares = (sums[f"{model}|label_{part}"] / weight for part in ("centred", "centred_squared"))
        mean = centred + float(centres[f"{model}|label"][0])
        if isfinite(squares):
            figures["spread"] = coefficient_of_variation(mean, sqrt(max(squares - centred * centred, 0.0)))
    return figures


def sample_warnings(request: Request) -> list[str]:
    """Warnings by a sample of the rows: labels as scores, and misleading metrics.

    There are none where the rows cannot be read: what is wrong with them is for the run to say.
    """
    warnings = [
        *models_of_the_label(request.view),
        *_hidden_columns(request.view),
        *_left_out_labels(request.view),
        *_of_gates(request.suite),
    ]
    with suppress(pl.exceptions.PolarsError, PlmetricsError, OSError):
        facts = _facts(request.view)
        return warnings if facts is None else [*warnings, *misleading_metrics(request.suite, facts)]
    return warnings


def _facts(view: TableView) -> TableFacts | None:
    """Facts of a sample of a suite's rows, None where these come from more than one scan."""
    suite, roles, total = view.suite, view.roles, view.source.rows
    if suite.data.long is not None or suite.data.trec is not None:
        return None
    layout = Layout(
        suite.task,
        suite.columns.label,
        {
            name: dict(model.columns)
            for name, model in roles.models.items()
            if not model.derivations and name in suite.models
        },
        suite.positive,
        suite.columns.weight,
        suite.columns.query,
        suite.columns.treatment,
        roles.classes,
        own_threshold=_own_threshold(suite),
    )
    where = None if suite.data.where is None else compile_row(suite.data.where)
    rows = sample(view.source, [*layout.columns, *(() if where is None else where.columns)])
    complete = rows.height < SAMPLE_ROWS
    if where is not None:
        rows, total = rows.filter(where.expr), None
    return survey(rows, layout, total, complete=complete)
