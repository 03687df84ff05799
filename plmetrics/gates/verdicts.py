"""From result tables to the table `gates`: a row per gate, model and slice, and what they say together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.core.results import GATES_SCHEMA
from plmetrics.gates.rules import rule_of
from plmetrics.suite.sections import BASELINE

if TYPE_CHECKING:
    from plmetrics.gates.rules import Rule
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections import Gate

NO_MATCH = "no_match"
_PLACE = ("model", "slice_set")


def evaluate_gates(suite: Suite, metrics: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Judge every gate of a suite.

    Args:
        suite: its gates, models and slice sets.
        metrics: the result table `metrics`.
        comparisons: rows of the result table `comparisons` for every model with every baseline that a gate
            names in `against`.

    Returns:
        The table `gates`: gates in suite order, for each a row per model, and per slice of its slice sets. A
        model and slice set without any slice get one inconclusive row of status `no_match`, so that a gate is
        never silent.

    Raises:
        ConfigError: a gate without a limit, or with one that does not fit its metric.
    """
    judged = [_judge(gate, suite, metrics, comparisons) for gate in suite.gates]
    return pl.concat([GATES_SCHEMA.to_frame(), *judged])


def verdict(gates: pl.DataFrame) -> Literal["pass", "fail", "inconclusive", "none"]:
    """What the gates say together.

    `fail` if a gate of level fail failed, else `inconclusive` if one of them could not be decided, else
    `pass`. Gates of level warn neither fail a run nor leave it undecided. `none` where nothing was judged:
    there are no gates, or all were skipped.
    """
    found = set(gates.filter(level="fail")["verdict"])
    if "fail" in found:
        return "fail"
    if "inconclusive" in found:
        return "inconclusive"
    return "pass" if gates["verdict"].is_in(["pass", "fail", "inconclusive"]).any() else "none"


def _judge(gate: Gate, suite: Suite, metrics: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    rule = rule_of(gate)
    found = _values(gate, metrics) if gate.against is None else _differences(gate, comparisons)
    found = found.with_columns(pl.col("observed", "lower", "upper").fill_nan(None), matched=True)
    rows = _places(gate, suite).join(found, on=_PLACE, how="left", maintain_order="left_right")
    verdicts = pl.when(pl.col("matched")).then(rule.verdict()).otherwise(_never_skip(rule))
    return rows.with_columns(
        _named(gate, rule).alias("gate"),
        pl.lit(gate.level).alias("level"),
        pl.lit(gate.subject.text).alias("metric"),
        pl.col("slice").fill_null("all"),
        pl.lit(rule.text).alias("rule"),
        verdicts.alias("verdict"),
        pl.col("status").fill_null(NO_MATCH),
        _note(rule).alias("note"),
    ).select(list(GATES_SCHEMA))


def _named(gate: Gate, rule: Rule) -> pl.Expr:
    """The gate's name, with the class that is judged where the metric has a value for each."""
    name = pl.lit(gate.name or f"{gate.subject.text} {rule.text}")
    return pl.when(pl.col("class").is_null()).then(name).otherwise(pl.format("{} [{}]", name, "class"))


def _never_skip(rule: Rule) -> pl.Expr:
    return pl.lit("fail" if rule.on_undefined == "fail" else "inconclusive")


def _note(rule: Rule) -> pl.Expr:
    no_match = pl.when(pl.col("matched").is_null()).then(pl.lit("there is no slice to judge"))
    no_interval = pl.when(rule.lacks_interval()).then(pl.format("no interval: {}", "interval_status"))
    parts = pl.concat_list(no_match, no_interval, "note").list.drop_nulls()
    return pl.when(parts.list.len() > 0).then(parts.list.join("; "))


def _places(gate: Gate, suite: Suite) -> pl.DataFrame:
    """Where the gate holds: models in suite order, for each overall and then slice sets in suite order."""
    if gate.model is not None:
        models: list[str | None] = [gate.model]
    else:
        # A yardstick is no candidate: the built-in baseline is judged only where a gate names it.
        unjudged = {gate.against, BASELINE if suite.baseline else None}
        models = [model for model in suite.models if model not in unjudged] or [None]
    order = {name: place for place, name in enumerate(("overall", *suite.slices))}
    named = (gate.slices,) if isinstance(gate.slices, str) else gate.slices
    own = suite.sets_of(gate.subject)
    if "all" in named or (named == ("overall",) and "overall" not in own):
        named = own
    sets = sorted(set(named), key=lambda name: order.get(name, len(order)))
    by_model = pl.DataFrame({"model": models}, schema={"model": pl.String})
    return by_model.join(pl.DataFrame({"slice_set": sets}), how="cross", maintain_order="left_right")


def _values(gate: Gate, metrics: pl.DataFrame) -> pl.DataFrame:
    return _columns(metrics.filter(metric=gate.subject.text), "value")


def _differences(gate: Gate, comparisons: pl.DataFrame) -> pl.DataFrame:
    of_pair = comparisons.filter(
        contrast="model", scale="difference", metric=gate.subject.text, baseline=gate.against
    )
    return _columns(of_pair, "difference")


def _columns(table: pl.DataFrame, number: str) -> pl.DataFrame:
    same = ("slice", "class", "lower", "upper", "status", "interval_status", "note")
    return table.select(*_PLACE, pl.col(number).alias("observed"), *same)
