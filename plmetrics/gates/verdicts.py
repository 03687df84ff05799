"""The table `gates` from result tables: a row per gate, model and slice, and the verdict of all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import polars as pl

from plmetrics.core.results import GATES_SCHEMA, gate_table, in_schema
from plmetrics.gates.rules import (
    BAND_ENDS,
    RULE_COLUMNS,
    band_limits,
    gate_key,
    lacks_interval,
    limits_of_differences,
    rule_of,
    verdict_by,
)
from plmetrics.gates.sufficiency import (
    SIZE_COLUMNS,
    Coverage,
    size_columns,
    verdict_of_insufficient,
    with_sizes,
)
from plmetrics.suite.sections.basics import BASELINE
from plmetrics.suite.sections.section import names_of

if TYPE_CHECKING:
    from plmetrics.gates.bands import BandKey
    from plmetrics.gates.rules import Rule
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.gates import Gate

NO_MATCH = "no_match"
_ABOUT = dict.fromkeys(("metric", "contrast", "baseline", "scale"), pl.String)
_OBSERVATION = (*_ABOUT, "model", "slice_set")
_READ = pl.Schema(
    {
        **dict.fromkeys((*_OBSERVATION, "slice", "class", "status", "interval_status", "note"), pl.String()),
        **dict.fromkeys(("observed", "lower", "upper", "magnitude"), pl.Float64()),
        "n": pl.Int64(),
        "std_error": pl.Float64(),
        "method": pl.String(),
        "blocks": pl.Int64(),
        "kish_size": pl.Float64(),
        "bound": pl.Float64(),
    }
)
"""What gates read of an estimate.

Four columns are there only where intervals are to be widened, `bound` where values are counted on a grid.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Input of gates: result tables, sizes and earlier runs.

    `metrics` is the result table, and may have one more column, `kish_size`, the size of weighted samples; of several
    intervals of one estimate the first counts. `comparisons` are rows of the
    result table for every model with every baseline that a gate names in `against`, and may have one more column,
    `blocks`. `positives` are by model, slice set and slice, `history` is that of `gates.bands`, `coverage` the labels
    that gates need; all three may be absent. `bands` are the values of earlier intervals, see `gates.bands`.
    """

    metrics: pl.DataFrame
    comparisons: pl.DataFrame
    positives: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    coverage: Coverage | None = None
    bands: Mapping[BandKey, pl.DataFrame] = field(default_factory=dict)


class TableGate(Protocol):
    """A gate on the table of a feature: its slices, its level, and its verdict without a number."""

    slices: str | tuple[str, ...]
    level: Literal["fail", "warn"]
    on_undefined: Literal["inconclusive", "fail", "skip"]


def evaluate_gates(suite: Suite, evidence: Evidence) -> pl.DataFrame:
    """The table `gates`: gates in suite order, for each a row per model, and per slice of its slice sets.

    A model and slice set without any slice get one inconclusive row of status `no_match`, so that a gate is never
    silent.

    Raises:
        ConfigError: a gate without a limit, or with one that does not fit its metric.
    """
    if not suite.gates:
        return GATES_SCHEMA.to_frame()
    rules = [rule_of(gate) for gate in suite.gates]
    gates = _gate_frame(suite.gates, rules, evidence)
    rows = _places(suite).join(gates, on="@gate", how="left", maintain_order="left")
    rows = rows.join(
        _observations(suite.gates, evidence), on=_OBSERVATION, how="left", maintain_order="left_right"
    ).with_columns(**limits_of_differences())
    unit = "queries" if suite.task == "ranking" else "rows"
    rows = with_sizes(rows, evidence.positives, evidence.coverage, unit=unit)
    return _judge(_with_bands(_correct(rows, rules, suite), suite.gates, evidence), evidence.history)


def unmatched_gate(gate: TableGate, /, **facts: str | None) -> pl.DataFrame:
    """Row of a gate without matching rows in its table; `facts` are its other columns."""
    verdict = "fail" if gate.on_undefined == "fail" else "inconclusive"
    place = {"slice_set": names_of(gate.slices)[0], "slice": "all", "level": gate.level}
    return gate_table([{**facts, **place, "verdict": verdict, "status": NO_MATCH}])


def verdict(gates: pl.DataFrame) -> Literal["pass", "fail", "inconclusive", "none"]:
    """Verdict of the gates together.

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


def _judge(rows: pl.DataFrame, history: pl.DataFrame | None) -> pl.DataFrame:
    """Verdicts on rows with limits, and their notes."""
    name = pl.col("@name")
    of_class = pl.when(pl.col("class").is_null()).then(name).otherwise(pl.format("{} [{}]", name, "class"))
    rows = rows.with_columns(of_class.alias("gate"), pl.col("slice").fill_null("all"))
    rows, verdicts, streaks = _over_runs(rows, history)
    small = pl.col("insufficient").is_not_null()
    never_skip = (
        pl.when(pl.col("@undefined") == "fail").then(pl.lit("fail")).otherwise(pl.lit("inconclusive"))
    )
    verdicts = pl.when(pl.col("matched")).then(verdicts).otherwise(never_skip)
    return rows.with_columns(
        pl.col(BAND_ENDS).replace([float("-inf"), float("inf")], None),
        level=pl.when(small).then("@small_level").otherwise("level"),
        rule=pl.coalesce(pl.col("band") + _in_a_row_text(), "rule"),
        verdict=pl.when(small).then(verdict_of_insufficient()).otherwise(verdicts),
        status=pl.coalesce("insufficient", "band_status", "status", pl.lit(NO_MATCH)),
        note=_note(pl.when(~small & pl.col("matched")).then(streaks)),
        baseline=pl.col("@against"),
        scale=pl.when(pl.col("@against").is_not_null()).then("scale"),
    ).select(list(GATES_SCHEMA))


def _in_a_row_text() -> pl.Expr:
    """The end of a rule in words, as `Rule.text` has it."""
    several = pl.format(", {} runs in a row", "@consecutive")
    return pl.when(pl.col("@consecutive") > 1).then(several).otherwise(pl.lit(""))


def _gate_frame(gates: Sequence[Gate], rules: Sequence[Rule], evidence: Evidence) -> pl.DataFrame:
    """One row per gate: its rule, its subject and its minimum sizes."""
    schema = {
        "@gate": pl.Int64,
        "@name": pl.String,
        "key": pl.String,
        "rule": pl.String,
        "at_least": pl.Float64,
        "at_most": pl.Float64,
        "@against": pl.String,
        "level": pl.String,
        "@consecutive": pl.Int64,
        "rival": pl.String,
        **_ABOUT,
        **RULE_COLUMNS,
        **SIZE_COLUMNS,
    }
    return pl.DataFrame(
        [
            {
                "@gate": number,
                "@name": gate.name or f"{gate.subject.text} {rule.text}",
                "key": gate_key(gate, rule),
                "rule": rule.text,
                "@against": rule.against,
                "level": gate.level,
                "@consecutive": rule.consecutive,
                "rival": gate.rival,
            }
            | _about(gate)
            | rule.limits()
            | rule.columns()
            | size_columns(gate, evidence.coverage)
            for number, (gate, rule) in enumerate(zip(gates, rules, strict=True))
        ],
        schema=schema,
    )


def _about(gate: Gate) -> dict[str, str]:
    """Rows of the result tables in the scope of a gate: those with these words, empty ones for values."""
    other = gate.opponent
    if gate.against is None:
        words = ("", "", "")
    elif other is None:
        words = ("model", gate.rival or "", gate.scale)
    else:
        words = (other.contrast, other.slice or "", gate.scale)
    return dict(zip(_ABOUT, (gate.subject.text, *words), strict=True))


def _observations(gates: Sequence[Gate], evidence: Evidence) -> pl.DataFrame:
    """Columns of both tables for gates, with the first interval of each estimate."""
    texts = {gate.subject.text for gate in gates}
    values = evidence.metrics.filter(pl.col("metric").is_in(texts))
    parts = [
        _columns(values.with_columns(contrast=pl.lit(""), baseline=pl.lit(""), scale=pl.lit("")), "value")
    ]
    if any(gate.against is not None for gate in gates):
        differences = evidence.comparisons.filter(pl.col("metric").is_in(texts))
        # An earlier run has one name only, and a gate on it does not say which.
        of_run = pl.col("contrast") == "run"
        other = pl.when(of_run).then(pl.lit("")).otherwise("baseline")
        differences = _with_magnitudes(differences, values)
        # A slice of the earlier run alone has no rows in this one, which sizes are of.
        n = pl.when(of_run & pl.col("present").is_null()).then(0).otherwise("n")
        parts.append(_columns(differences.with_columns(baseline=other, n=n), "difference"))
    return pl.concat(parts)


def _with_magnitudes(differences: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Differences with `present`, whether this run has their slice, and the size of what rounding is a share of."""
    place = ["metric", "model", "slice_set", "slice"]
    present = values.select(place).unique().with_columns(present=True)
    sizes = values.unique([*place, "class"], keep="first").select(*place, "class", size=pl.col("value").abs())
    joined = differences.join(present, on=place, how="left", maintain_order="left").join(
        sizes, on=[*place, "class"], how="left", nulls_equal=True, maintain_order="left"
    )
    of_values = pl.when(pl.col("size").is_finite()).then("size")
    size = pl.when(pl.col("scale") == "difference").then(of_values).otherwise(1.0)
    return joined.with_columns(magnitude=size).drop("size")


def _over_runs(rows: pl.DataFrame, history: pl.DataFrame | None) -> tuple[pl.DataFrame, pl.Expr, pl.Expr]:
    """The rows, their verdicts once earlier runs are counted where rules ask for it, and a note on these."""
    verdicts = verdict_by({name: pl.col(name) for name in RULE_COLUMNS}, pl.col("bound"))
    if rows["@consecutive"].max() == 1:
        return rows, verdicts, pl.lit(None, pl.String)
    from plmetrics.gates.bands import in_a_row, with_streak

    return with_streak(rows, tuple(RULE_COLUMNS), history), *in_a_row(
        verdicts, has_history=history is not None
    )


def _correct(rows: pl.DataFrame, rules: Sequence[Rule], suite: Suite) -> pl.DataFrame:
    """Rows with simultaneous intervals, for gates with a correction."""
    none = rows.with_columns(family_size=pl.lit(None, pl.Int64)).with_row_index("@row")
    corrected = {
        number: limit
        for number, rule in enumerate(rules)
        for limit in [rule.high if rule.low is None else rule.low]
        if rule.correction != "none" and limit is not None
    }
    if suite.uncertainty is None or not corrected:
        return none
    from plmetrics.gates.simultaneous import widen_intervals
    from plmetrics.inference.intervals.ladder import BY_DEFINITION

    judged = pl.col("insufficient").is_null() & pl.col("@gate").is_in(list(corrected))
    judged &= pl.col("method").ne_missing(BY_DEFINITION)  # which is no question
    wide = [none.filter(~judged)]
    for family in none.filter(judged).partition_by("@gate", maintain_order=True):
        number = family["@gate"][0]
        gate, rule = suite.gates[number], rules[number]
        widened = widen_intervals(
            family.drop("family_size"),
            corrected[number],
            rule.correction,
            kind=gate.subject.value_kind,
            scale="" if gate.against is None else gate.scale,
            level=suite.uncertainty.level,
        )
        wide.append(widened.select(none.columns))
    return pl.concat(wide).sort("@row")


def _with_bands(rows: pl.DataFrame, gates: Sequence[Gate], evidence: Evidence) -> pl.DataFrame:
    """The rows with the band of each, in words, too; all null where the rule has none."""
    nothing = pl.lit(None, pl.String)
    open_ends = dict.fromkeys(BAND_ENDS, pl.lit(None, pl.Float64))
    without = rows.with_columns(band=nothing, band_status=nothing, band_note=nothing, **open_ends)
    by_band: dict[tuple[BandKey, str], list[int]] = {}
    for number, gate in enumerate(gates):
        if gate.within is not None:
            by_band.setdefault(((gate.within, gate.consecutive), gate.subject.text), []).append(number)
    if not by_band:
        return without
    from plmetrics.gates.bands import with_bands

    several = [number for numbers in by_band.values() for number in numbers]
    parts = [without.filter(~pl.col("@gate").is_in(several))]
    for (key, _), numbers in by_band.items():
        of_band = rows.filter(pl.col("@gate").is_in(numbers))
        banded = with_bands(of_band, gates[numbers[0]], key[0], evidence.bands.get(key))
        parts.append(banded.with_columns(**band_limits()).select(without.columns))
    return pl.concat(parts).sort("@row")


def _note(streaks: pl.Expr) -> pl.Expr:
    of_run = pl.when(pl.col("contrast") == "run").then(pl.lit("there is no comparison with an earlier run"))
    no_match = pl.when(pl.col("matched").is_null()).then(
        of_run.otherwise(pl.lit("there is no slice to judge"))
    )
    widened = pl.col("interval_status") == "ok"
    reason = pl.when(widened).then(pl.lit("none at the corrected level")).otherwise(pl.col("interval_status"))
    judged = pl.col("insufficient").is_null()
    lacking = lacks_interval(pl.col("@by_interval")) & judged
    no_interval = pl.when(lacking).then(pl.format("no interval: {}", reason))
    rule = {name: pl.col(name) for name in RULE_COLUMNS}
    undecided = judged & (pl.col("bound") > 0) & (verdict_by(rule) != verdict_by(rule, pl.col("bound")))
    on_grid = pl.when(undecided).then(
        pl.format("the rule is not decided within {} of it", pl.col("bound").round_sig_figs(2))
    )
    family = pl.when(judged & pl.col("matched")).then(pl.format("{} judged together", "family_size"))
    parts = [no_match, "size", streaks, no_interval, on_grid, family, "band_note", "note"]
    joined = pl.concat_str(parts, separator="; ", ignore_nulls=True)
    return pl.when(pl.coalesce(parts).is_not_null()).then(joined)


def _places(suite: Suite) -> pl.DataFrame:
    """Scopes of gates: models in suite order, for each overall and then slice sets in suite order."""
    order = {name: place for place, name in enumerate(("overall", *suite.slices))}
    subjects = [gate.subject for gate in suite.gates]
    judged = {subject.text: subject for subject in subjects}
    sets_of = {text: suite.sets_of(subject) for text, subject in judged.items()}
    rows = [
        (number, model, slice_set)
        for number, (gate, subject) in enumerate(zip(suite.gates, subjects, strict=True))
        for model in _models(gate, suite)
        for slice_set in sorted(
            set(gate.sets_among(sets_of[subject.text])), key=lambda name: order.get(name, len(order))
        )
    ]
    return pl.DataFrame(
        rows, schema={"@gate": pl.Int64, "model": pl.String, "slice_set": pl.String}, orient="row"
    )


def _models(gate: Gate, suite: Suite) -> list[str | None]:
    if gate.model is not None:
        return [gate.model]
    # A yardstick is no candidate: the built-in baseline is judged only where a gate names it.
    unjudged = {gate.rival, BASELINE if suite.baseline else None}
    return [model for model in suite.models if model not in unjudged] or [None]


def _columns(table: pl.DataFrame, number: str) -> pl.DataFrame:
    """Columns for gates, with the first interval of each estimate."""
    first = table.rename({number: "observed"}).unique(
        [*_OBSERVATION, "slice", "class"], keep="first", maintain_order=True
    )
    numbers = pl.col("observed", "lower", "upper").fill_nan(None)
    return in_schema(first, _READ).with_columns(numbers, matched=True)
