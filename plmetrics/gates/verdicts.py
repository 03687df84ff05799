"""From result tables to the table `gates`: a row per gate, model and slice, and what they say together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import polars as pl

from plmetrics.core.results import GATES_SCHEMA
from plmetrics.gates.rules import rule_of
from plmetrics.gates.sufficiency import Coverage, verdict_of_insufficient, with_sizes
from plmetrics.suite.sections.basics import BASELINE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.gates.bands import BandKey
    from plmetrics.gates.rules import Rule
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.gates import Gate

NO_MATCH = "no_match"
_PLACE = ("model", "slice_set")
_TO_WIDEN = ("std_error", "method", "blocks", "kish_size")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What gates judge by.

    `metrics` is the result table, and may have one more column, `kish_size`, the size of weighted samples; of several
    intervals of one estimate the first counts. `comparisons` are rows of the
    result table for every model with every baseline that a gate names in `against`, and may have one more column,
    `blocks`. `positives` are by model, slice set and slice, `history` is that of `gates.history`, `coverage` the labels
    that gates need; all three may be absent. `bands` are the values of earlier intervals, see `gates.bands`.
    """

    metrics: pl.DataFrame
    comparisons: pl.DataFrame
    positives: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    coverage: Coverage | None = None
    bands: Mapping[BandKey, pl.DataFrame] = field(default_factory=dict)


def evaluate_gates(suite: Suite, evidence: Evidence) -> pl.DataFrame:
    """Judge every gate of a suite.

    Args:
        suite: its gates, models, slice sets and level of intervals.
        evidence: what they judge by.

    Returns:
        The table `gates`: gates in suite order, for each a row per model, and per slice of its slice sets. A
        model and slice set without any slice get one inconclusive row of status `no_match`, so that a gate is
        never silent.

    Raises:
        ConfigError: a gate without a limit, or with one that does not fit its metric.
    """
    judged = [_judge(gate, suite, evidence) for gate in suite.gates]
    return pl.concat([GATES_SCHEMA.to_frame(), *judged])


def verdict(gates: pl.DataFrame) -> Literal["pass", "fail", "inconclusive", "none"]:
    """What the gates say together.

    `fail` if a gate of level fail failed, else `inconclusive` if one of them could not be decided, else
    `pass`. Gates of level warn neither fail a run nor leave it undecided. `none` where nothing was judged:
    there are no gates, or all were skipped.
    """
    verdicts = set(gates.filter(level="fail")["verdict"])
    if "fail" in verdicts:
        return "fail"
    if "inconclusive" in verdicts:
        return "inconclusive"
    return "pass" if gates["verdict"].is_in(["pass", "fail", "inconclusive"]).any() else "none"


def _judge(gate: Gate, suite: Suite, evidence: Evidence) -> pl.DataFrame:
    rule = rule_of(gate)
    observations = _values(gate, evidence) if gate.against is None else _differences(gate, evidence)
    numbers = pl.col("observed", "lower", "upper").fill_nan(None)
    observations = with_sizes(
        observations.with_columns(numbers, matched=True), gate, evidence.positives, evidence.coverage
    )
    rows = _places(gate, suite).join(observations, on=_PLACE, how="left", maintain_order="left_right")
    rows = _correct(rows, rule, gate, suite)
    rows = rows.with_columns(_gate_name(gate, rule).alias("gate"), pl.col("slice").fill_null("all"))
    rows = _with_band(rows, rule, gate, evidence)
    rows, verdicts, streaks = _over_runs(rows, rule, evidence.history)
    too_small, level = verdict_of_insufficient(gate)
    small = pl.col("insufficient").is_not_null()
    verdicts = pl.when(pl.col("matched")).then(verdicts).otherwise(_never_skip(rule))
    return rows.with_columns(
        pl.when(small).then(level).otherwise(pl.lit(gate.level)).alias("level"),
        pl.lit(gate.subject.text).alias("metric"),
        pl.coalesce("band", pl.lit(rule.text)).alias("rule"),
        pl.when(small).then(too_small).otherwise(verdicts).alias("verdict"),
        pl.coalesce("insufficient", "band_status", "status", pl.lit(NO_MATCH)).alias("status"),
        _note(rule, pl.when(~small & pl.col("matched")).then(streaks)).alias("note"),
    ).select(list(GATES_SCHEMA))


def _over_runs(
    rows: pl.DataFrame, rule: Rule, history: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.Expr, pl.Expr]:
    """The rows, their verdicts once earlier runs are counted where the rule asks for it, and a note on these."""
    if rule.consecutive == 1:
        return rows, rule.verdict(), pl.lit(None, pl.String)
    from plmetrics.gates.history import in_a_row, with_streak

    return with_streak(rows, rule, history), *in_a_row(rule, rule.verdict(), has_history=history is not None)


def _correct(rows: pl.DataFrame, rule: Rule, gate: Gate, suite: Suite) -> pl.DataFrame:
    """The rows with intervals that are wide enough for all of them that are judged."""
    none = rows.with_columns(family_size=pl.lit(None, pl.Int64))
    limit = rule.high if rule.low is None else rule.low
    if rule.correction == "none" or suite.uncertainty is None or limit is None:
        return none
    from plmetrics.gates.simultaneous import widen_intervals

    numbered = none.with_row_index("@row")
    judged = numbered.filter(pl.col("insufficient").is_null()).drop("family_size")
    wide = widen_intervals(
        judged,
        limit,
        rule.correction,
        kind=gate.subject.value_kind,
        scale="" if gate.against is None else gate.scale,
        level=suite.uncertainty.level,
    )
    others = numbered.filter(pl.col("insufficient").is_not_null())
    return pl.concat([wide.select(others.columns), others]).sort("@row").drop("@row")


def _with_band(rows: pl.DataFrame, rule: Rule, gate: Gate, evidence: Evidence) -> pl.DataFrame:
    """The rows with the band of each, in words, too; all null where the rule has none."""
    if rule.band is None:
        nothing = pl.lit(None, pl.String)
        return rows.with_columns(band=nothing, band_status=nothing, band_note=nothing)
    from plmetrics.gates.bands import with_bands

    return with_bands(rows, gate, rule.band, evidence.bands.get((rule.band, gate.consecutive)))


def _gate_name(gate: Gate, rule: Rule) -> pl.Expr:
    """The gate's name, with the class that is judged where the metric has a value for each."""
    name = pl.lit(gate.name or f"{gate.subject.text} {rule.text}")
    return pl.when(pl.col("class").is_null()).then(name).otherwise(pl.format("{} [{}]", name, "class"))


def _never_skip(rule: Rule) -> pl.Expr:
    return pl.lit("fail" if rule.on_undefined == "fail" else "inconclusive")


def _note(rule: Rule, streaks: pl.Expr) -> pl.Expr:
    no_match = pl.when(pl.col("matched").is_null()).then(pl.lit("there is no slice to judge"))
    widened = pl.col("interval_status") == "ok"
    reason = pl.when(widened).then(pl.lit("none at the corrected level")).otherwise(pl.col("interval_status"))
    judged = pl.col("insufficient").is_null()
    no_interval = pl.when(rule.lacks_interval() & judged).then(pl.format("no interval: {}", reason))
    family = pl.when(judged & pl.col("matched")).then(pl.format("{} judged together", "family_size"))
    parts = pl.concat_list(
        no_match, "size", streaks, no_interval, family, "band_note", "note"
    ).list.drop_nulls()
    return pl.when(parts.list.len() > 0).then(parts.list.join("; "))


def _places(gate: Gate, suite: Suite) -> pl.DataFrame:
    """Where the gate holds: models in suite order, for each overall and then slice sets in suite order."""
    if gate.model is not None:
        models: list[str | None] = [gate.model]
    else:
        # A yardstick is no candidate: the built-in baseline is judged only where a gate names it.
        unjudged = {gate.rival, BASELINE if suite.baseline else None}
        models = [model for model in suite.models if model not in unjudged] or [None]
    order = {name: place for place, name in enumerate(("overall", *suite.slices))}
    named = (gate.slices,) if isinstance(gate.slices, str) else gate.slices
    slice_sets = suite.sets_of(gate.subject)
    if "all" in named or (named == ("overall",) and "overall" not in slice_sets):
        named = slice_sets
    sets = sorted(set(named), key=lambda name: order.get(name, len(order)))
    by_model = pl.DataFrame({"model": models}, schema={"model": pl.String})
    return by_model.join(pl.DataFrame({"slice_set": sets}), how="cross", maintain_order="left_right")


def _values(gate: Gate, evidence: Evidence) -> pl.DataFrame:
    return _columns(evidence.metrics.filter(metric=gate.subject.text), "value")


def _differences(gate: Gate, evidence: Evidence) -> pl.DataFrame:
    differences = evidence.comparisons.filter(scale=gate.scale, metric=gate.subject.text)
    other = gate.opponent
    if other is None:
        differences = differences.filter(contrast="model", baseline=gate.rival)
    else:
        differences = differences.filter(contrast=other.contrast)
        differences = differences if other.slice is None else differences.filter(baseline=other.slice)
    return _columns(differences, "difference")


def _columns(table: pl.DataFrame, number: str) -> pl.DataFrame:
    """What gates read, of the first interval of each estimate."""
    first = table.unique([*_PLACE, "slice", "class"], keep="first", maintain_order=True)
    same = ("slice", "class", "lower", "upper", "status", "interval_status", "note", "n")
    spread = [pl.col(name) if name in table.columns else pl.lit(None).alias(name) for name in _TO_WIDEN]
    return first.select(*_PLACE, pl.col(number).alias("observed"), *same, *spread)
