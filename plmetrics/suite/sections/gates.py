"""Gates of a suite: rules on estimates and on differences, and their required evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from plmetrics.catalogue import registry
from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.catalogue.metric import TOTAL, Metric
from plmetrics.core.names import SuitePath
from plmetrics.suite.problems import Findings, message_text
from plmetrics.suite.sections.basics import Compare, ContrastScale, Correction, Finite, NamedMetric
from plmetrics.suite.sections.references import Band  # noqa: TC001 (pydantic reads it)
from plmetrics.suite.sections.section import MOST_ROWS, Column, SliceSelection, Strict, names_of

MARGINS = ("no_worse_than", "better_than")
"""Rules that follow the metric's direction, and may be given in percent of the other model's value."""

LIMITS = ("at_least", "at_most", "ratio_at_least", "within", *MARGINS)
SHARE_HINT = "gate a share or a mean, or the total itself"
_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")

REST, ALL = "rest", "all"
_OF_DAYS = ("h", "d")

Margin = Annotated[Finite, Field(ge=0)]


class Opponent(Strict):
    """Reference of a slice where it is no model: other slices, or the same slice of an earlier run."""

    slice: Column | None = Field(
        default=None,
        description="rest (all other rows), all (all rows), or the text of a slice: one that compare.slices names.",
    )
    run: Literal[True] | None = Field(default=None, description="The earlier run that compare.run names.")

    @property
    def contrast(self) -> str:
        """The contrast in the table `comparisons`: slice, rest or run."""
        if self.slice is None:
            return "run"
        return "rest" if self.slice == REST else "slice"

    @property
    def text(self) -> str:
        """Name in the rule of a gate."""
        if self.slice is None:
            return "the earlier run"
        return {REST: "the rest", ALL: "all rows"}.get(self.slice, self.slice)


class GateRule(Strict):
    """Conditions of a gate, without its metric."""

    name: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="Name in results and reports."
    )
    model: str | None = Field(default=None, description="The model; every model if not given.")
    slices: SliceSelection = Field(
        default="overall", description="`overall`, a slice set, a list of them, or `all`."
    )
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether a failure fails the run.")
    at_least: Finite | None = Field(default=None, description="Lower limit of the value or difference.")
    at_most: Finite | None = Field(default=None, description="Upper limit of the value or difference.")
    against: str | Opponent | None = Field(
        default=None,
        description="Judge the difference from this model; or from other slices ({slice: rest}) or an earlier run "
        "({run: true}), which compare must ask for.",
    )
    no_worse_than: Margin | None = Field(
        default=None,
        description="Largest loss against the other, in the metric's direction: in its unit, or such as 2% of the "
        "other's value.",
    )
    better_than: Margin | None = Field(
        default=None,
        description="Gain over the other that must be surpassed, in the metric's direction: in its unit, or such as "
        "2% of the other's value.",
    )
    scale: ContrastScale = Field(
        default="difference",
        description="Comparison with against: the difference, the ratio, or the relative change (ratio - 1).",
    )
    using: Literal["value", "interval"] = Field(
        default="value", description="Judge the value, or its whole interval."
    )
    correction: Correction = Field(
        default="none",
        description="Correction for all that the gate judges, models and slices: intervals are widened "
        "(using: interval).",
    )
    consecutive: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1, description="Runs in a row, this one the last, that must fail before the gate fails."
    )
    min_rows: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = Field(
        default=None, description="Slices with fewer rows are not judged by the rule."
    )
    min_positives: Annotated[int, Field(ge=1, le=MOST_ROWS)] | None = Field(
        default=None, description="Slices with fewer positive rows are not judged by the rule."
    )
    on_insufficient: Literal["skip", "warn", "fail"] = Field(
        default="skip",
        description="Treatment of slices below min_rows or min_positives, or below labels.coverage.",
    )
    on_undefined: Literal["inconclusive", "fail", "skip"] = Field(
        default="inconclusive", description="Verdict where the value is undefined."
    )

    @property
    def rival(self) -> str | None:
        """Baseline model of the others."""
        return self.against if isinstance(self.against, str) else None

    @property
    def opponent(self) -> Opponent | None:
        """Opponent of slices, where it is no model."""
        return self.against if isinstance(self.against, Opponent) else None


class Gate(GateRule):
    """A rule on an estimate (`at_least`, `at_most`) or on a difference (`against`)."""

    metric: NamedMetric = Field(description="One of the suite's metrics.")
    between: str | None = Field(
        default=None,
        description="A slice set: judge the largest difference between its slices, or the smallest ratio.",
    )
    ratio_at_least: Annotated[Finite, Field(ge=0, le=1)] | None = Field(
        default=None, description="Lower limit of the smallest ratio between slices."
    )
    within: Band | None = Field(
        default=None,
        description="Control band: how far the value may be from its values in earlier intervals.",
    )
    four_fifths: str | None = Field(
        default=None,
        description="A slice set: every group is selected at least four fifths as often as another.",
    )

    @cached_property
    def subject(self) -> Metric:
        """Subject of the verdict: the metric, or its difference between slices."""
        if self.between is None:
            return self.metric
        kind = "difference" if self.ratio_at_least is None else "ratio"
        parameters = {"metric": self.metric, "by": self.between, "kind": kind}
        return registry.create(self.metric.task, "disparity", parameters)

    def sets_among(self, listed: Sequence[str]) -> tuple[str, ...]:
        """Slice sets that it judges, of the `listed` ones of its subject: the first where it is across slices alone."""
        named = names_of(self.slices)
        if "all" in named:
            return tuple(listed)
        return tuple(listed[:1]) if named == ("overall",) and "overall" not in listed else named

    def of(self, metric: Metric) -> Gate:
        """Gate with its metric specialised by the facts of the run."""
        return self if metric is self.metric else self.model_copy(update={"metric": metric})


def read_opponent(fields: dict[str, Any], path: SuitePath, findings: Findings) -> bool:
    """Read an opponent other than a model, and whether it is valid."""
    value = fields.get("against")
    if value is None or isinstance(value, str):
        return True
    path = (*path, "against")
    form = "write against: champion, {slice: rest} or {run: true}"
    if not isinstance(value, Mapping):
        findings.add(
            f"against is a model, {{slice: ...}} or {{run: true}}, not {message_text(value)}", path, form
        )
        return False
    fields["against"] = findings.model(Opponent, value, path)
    return fields["against"] is not None


def read_margins(fields: dict[str, Any], path: SuitePath, findings: Findings) -> bool:
    """Write out margins in percent: a number on the scale of relative changes. Whether all could be read."""
    sound = True
    for key in MARGINS:
        value = fields.get(key)
        if not isinstance(value, str):
            continue
        percent = _PERCENT.fullmatch(value)
        if percent is None:
            hint = "write 0.005, in the metric's unit, or 2%, of the other model's value"
            findings.add(
                f"{key} must be a number or a percentage, not {message_text(value)}", (*path, key), hint
            )
            sound = False
        elif fields.get("scale", "relative_change") != "relative_change":
            msg = f"{key} in percent is a relative change, not on scale: {fields['scale']}"
            findings.add(msg, (*path, "scale"), "leave scale out")
            sound = False
        else:
            fields |= {key: float(percent[1]) / 100, "scale": "relative_change"}
    return sound


def check_rule(gate: Gate, path: SuitePath, add: Callable[..., None]) -> None:
    """Note the problem of an invalid rule."""
    limits = [key for key in LIMITS if getattr(gate, key) is not None]
    if not limits:
        add("a gate needs a rule", path, "give at_least, at_most, or against with no_worse_than")
    if len(limits) > 1:
        add(f"a gate has one rule, not {' and '.join(limits)}", path, "write two gates")
    for key in (key for key in MARGINS if key in limits):
        if gate.against is None:
            add(f"{key} needs against: the model to compare with", (*path, key))
        if not 0 <= getattr(gate, key) < float("inf"):
            add(f"{key} is a margin: 0 or more", (*path, key))
        direction = "lower" if gate.between is not None else gate.metric.direction
        if direction not in {"higher", "lower"}:
            hint = "use at_least or at_most; a metric of your own takes direction: higher or lower"
            add(_without_direction(gate), (*path, key), hint)
    if gate.against is not None and gate.against == gate.model:
        add("a model is not gated against itself", (*path, "against"))
    if gate.scale != "difference" and gate.against is None:
        add(f"scale: {gate.scale} needs against: the model to compare with", (*path, "scale"))


def _without_direction(gate: Gate) -> str:
    return f"'{gate.metric.text}' is neither better higher nor lower"


def check_opponent(
    gate: Gate, path: SuitePath, compare: Compare | None, sets: tuple[str, ...], add: Callable[..., None]
) -> None:
    """Note a gate's reference slices or runs absent in the suite's comparisons. `sets` are those of the gate."""
    other = gate.opponent
    if other is None:
        return
    path = (*path, "against")
    if (other.slice is None) == (other.run is None):
        add("against is a model, {slice: ...} or {run: true}", path, "write against: {slice: rest}")
        return
    if other.run and (compare is None or compare.run is None):
        add("against: {run: true} needs the run to compare with", path, "add compare: {run: FOLDER}")
    if other.slice is not None and (gate.between or is_across_slices(gate.metric)):
        msg = f"'{gate.metric.text}' is put together from all slices: there is no one slice to hold against others"
        add(msg, path, "name a model, or {run: true}")
    elif other.slice is not None and gate.metric.additive:
        add(f"'{gate.metric.text}' {TOTAL}", (*path[:-1], "metric"), SHARE_HINT)
    elif other.slice is not None:
        lacking = [
            name for name in sets if compare is None or other.slice not in compare.slices.get(name, ())
        ]
        for name in lacking:
            hint = f"add compare: {{slices: {{{name}: {other.slice}}}}}"
            if name == "overall":
                hint = "name the slice set: slices: SET"
            add(f"'{name}' is not compared with {other.text}", path, hint)
    if compare is not None and gate.scale not in compare.scales:
        hint = f"add it: compare: {{scales: [{', '.join((*compare.scales, gate.scale))}]}}"
        add(f"{gate.scale} is not one of the scales of compare", (*path[:-1], "scale"), hint)


def check_evidence(
    gate: Gate, path: SuitePath, task: str, add: Callable[..., None], *, intervals: bool, covered: bool
) -> None:
    """Note evidence unavailable in the suite: intervals, positives, a size; `covered` is one for labels."""
    if gate.using == "interval" and not intervals:
        add("using: interval needs uncertainty", (*path, "using"), "add uncertainty: {replicates: 1000}")
    if gate.correction != "none" and gate.using != "interval" and gate.within is None:
        msg = f"correction: {gate.correction} widens intervals, and the gate judges values"
        add(msg, (*path, "correction"), "add using: interval, or leave correction out")
    if gate.min_positives is not None and task and task != "binary":
        msg = f"min_positives counts the positives of task 'binary', not of '{task}'"
        add(msg, (*path, "min_positives"), "use min_rows")
    limited = covered or gate.min_rows is not None or gate.min_positives is not None
    if "on_insufficient" in gate.model_fields_set and not limited:
        msg = "on_insufficient says what becomes of too small slices, and no size is asked for"
        add(msg, (*path, "on_insufficient"), "add min_rows or min_positives, or labels: {coverage: 0.9}")


def check_band(gate: Gate, path: SuitePath, sections: Mapping[str, Any], problems: Findings) -> None:
    """Note settings at odds with a band."""
    band, add = gate.within, problems.add
    if band is None:
        return
    place = (*path, "within")
    interval = sections.get("interval")
    if "interval" not in sections and not problems.concern("interval"):
        hint = "add interval: {partition: day}, or give at_least or at_most"
        add("within is about earlier intervals, and the suite has none", place, hint)
    if (band.window is None) == (band.last is None):
        hint = "write within: {sd: 3, window: 56d}, or {sd: 3, last: 40}"
        add("a band needs one of window and last, which say of what intervals it is", place, hint)
    if band.last is not None and band.last < band.min_intervals:
        msg = f"{band.last} intervals are fewer than min_intervals: {band.min_intervals}"
        add(msg, (*place, "last"), "give a larger last, or a smaller min_intervals")
    every = getattr(interval, "every", None)
    if band.season is not None and every is not None and not every.endswith(_OF_DAYS):
        add(f"intervals of {every} have no weekday", (*place, "season"), "leave season out")
    if band.side == "worse" and gate.between is None and gate.metric.direction not in {"higher", "lower"}:
        add(_without_direction(gate), (*place, "side"), "leave side out: the band has two sides")
    if gate.against is not None:
        hint = "leave against out, or limit the difference with at_least or at_most"
        add("within is about values, not differences", (*path, "against"), hint)
    if gate.using == "interval":
        msg = "within judges the value: the band has room for the sampling noise"
        add(msg, (*path, "using"), "leave using out")
    elif gate.correction != "none":
        msg = f"correction: {gate.correction} is of intervals, and within has none"
        add(msg, (*path, "correction"), "leave it out, and widen the band with a larger sd")
