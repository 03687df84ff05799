"""Section `experiment` of a suite: arms, outcomes and the plan of their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from plmetrics.core.errors import ConfigError
from plmetrics.core.names import did_you_mean
from plmetrics.features.experiment.outcomes import ArmOutcome, outcomes_of
from plmetrics.suite.problems import Findings, is_label
from plmetrics.suite.sections.basics import Correction, Finite, Level
from plmetrics.suite.sections.section import (
    Column,
    OrOne,
    Section,
    SliceSelection,
    Strict,
    each_once,
    names_of,
)

_PATH = ("experiment",)
TASK = "experiment"
_BY_ROW = ("labels", "leakage", "drift", "cross_validation", "find_slices", "calibrate", "baseline")
"""The keys that read a label or a score, of which an experiment has none."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

Pair = Annotated[tuple[Column, ...], Field(min_length=2, max_length=2)]
Covariate = Column | Pair
Quantile = tuple[Column, Level]


class ExperimentGate(Strict):
    """A limit on an arm's difference from the control, or on the sample ratio: at_least, at_most or both."""

    name: Column | None = Field(default=None, description="Name in results and reports.")
    measure: Literal["difference", "lift", "mean", "p_value", "sample_ratio"] = Field(
        default="difference",
        description="Quantity to judge: difference (arm less control), lift (relative change), mean (of the arm), "
        "p_value (adjusted), or sample_ratio (p value of the arms' sizes against their shares).",
    )
    outcome: Column | None = Field(default=None, description="The outcome; each of them if not given.")
    arm: str | int | float | bool | None = Field(
        default=None, description="The arm; each but the control if not given."
    )
    slices: SliceSelection = Field(
        default="overall", description="`overall`, a slice set, a list of them, or `all`."
    )
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether a failure fails the run.")
    at_least: Finite | None = Field(default=None, description="Lower limit.")
    at_most: Finite | None = Field(default=None, description="Upper limit.")
    using: Literal["value", "interval"] = Field(
        default="interval",
        description="By the interval all of it must hold to pass, and none of it to fail; or by the value alone.",
    )
    on_undefined: Literal["inconclusive", "fail", "skip"] = Field(
        default="inconclusive", description="Verdict where there is no number."
    )


class Sequential(Strict):
    """Sequential analysis of an experiment while it runs: intervals and p values valid at all looks together."""

    mixture: Positive | dict[Column, Positive] | None = Field(
        default=None,
        description="About how large effects are expected to be, also by outcome: fix it before the first look. Else "
        "mde, else a tenth of the control's standard deviation.",
    )

    spending: Literal["obrien_fleming", "pocock"] | None = Field(
        default=None,
        description="In place of the mixture: a few looks at sizes that are planned, whose error is spent as Lan and "
        "DeMets have it; the test is then `group_sequential`.",
    )
    planned: Positive | None = Field(
        default=None, description="Units of all arms at the end of the experiment (with spending)."
    )
    looks: tuple[Positive, ...] = Field(
        default=(),
        description="Units of all arms at the looks before this one (with spending); those that are not fewer than the "
        "units now are passed over.",
    )


class ExperimentPlan(Section):
    """Arms of an experiment, its outcomes, and the plan for comparisons of each arm with the control."""

    example: ClassVar[str | None] = "write experiment: {arm: variant, control: A, outcomes: [bought]}"

    arm: Column = Field(description="Column of the arm that a row is in.")
    control: str | int | float | bool = Field(description="The arm that the others are compared with.")
    outcomes: Annotated[tuple[Column, ...], OrOne()] = Field(
        default=(), description="Columns of outcomes, numbers or booleans."
    )
    ratios: dict[Column, Pair] = Field(
        default_factory=dict,
        description="Outcomes that are ratios of sums, by name: {clicks_per_view: [clicks, views]}.",
    )
    quantiles: dict[Column, Quantile] = Field(
        default_factory=dict,
        description="Outcomes that are quantiles of rows, by name: {p95: [latency, 0.95]}.",
    )
    covariates: Covariate | dict[Column, Covariate] | None = Field(
        default=None,
        description="A column that was known before (two, of a ratio), which means are adjusted by (CUPED); also by "
        "outcome.",
    )
    strata: Annotated[tuple[Column, ...], OrOne()] = Field(
        default=(), description="Columns whose values are strata; all of a unit is in one."
    )
    level: Level = Field(default=0.95, description="Two-sided level of intervals and tests.")
    power: Level = Field(default=0.8, description="The chance to find the effect that units are counted for.")
    mde: Finite | dict[Column, Finite] | None = Field(
        default=None,
        description="The difference of means to find, also by outcome; the observed one if not given.",
    )
    shares: dict[str, Positive] | None = Field(
        default=None,
        description="Planned share of each arm, for sample_ratio and required_n; equal ones if not given.",
    )
    correction: Correction = Field(
        default="holm", description="Correction of p values for all outcomes, arms and slices of a set."
    )
    ranks: bool = Field(
        default=True, description="Whether values are ranked, for Mann-Whitney tests (rows as units)."
    )
    shifts: bool = Field(
        default=False,
        description="Whether shifts of values by Hodges and Lehmann are estimated (rows as units), with intervals.",
    )
    sequential: Sequential | bool = Field(
        default=False, description="Whether results may be read at any time; the test is then `always_valid`."
    )
    gates: tuple[ExperimentGate, ...] = Field(
        default=(), description="Limits on differences; none by default."
    )

    @property
    def interval_level(self) -> float:
        """Level of the intervals of differences."""
        return self.level

    @property
    def names(self) -> tuple[str, ...]:
        """The outcomes, columns, ratios and quantiles, by name."""
        return (*self.outcomes, *self.ratios, *self.quantiles)

    @property
    def arm_outcomes(self) -> tuple[ArmOutcome, ...]:
        """The outcomes with their columns."""
        return outcomes_of(self.outcomes, self.ratios, self.covariates, self.quantiles)

    @property
    def further_columns(self) -> tuple[str, ...]:
        """Columns beside those of outcomes: the arm, parts of ratios, covariates and strata."""
        parts = [column for outcome in self.arm_outcomes for column, _ in outcome.columns().values()]
        return each_once((self.arm, *(name for name in parts if name not in self.outcomes), *self.strata))

    @property
    def mixture(self) -> float | dict[str, float] | None:
        """The scale of effects of a sequential plan, if it says one."""
        return self.sequential.mixture if isinstance(self.sequential, Sequential) else None

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note conflicts with the rest of the suite."""
        if fields["task"] and fields["task"] != TASK:
            problems.add(
                "the section experiment belongs to task 'experiment'", _PATH, "write task: experiment"
            )
            return
        columns, data = fields.get("columns"), fields.get("data")
        if columns is not None and columns.weight is not None:
            msg = "an experiment counts units, and rows have no weights"
            problems.add(msg, ("columns", "weight"), "leave weight out")
        if data is not None and data.spark is not None:
            problems.add(
                "the arms of a Spark table are not counted", ("data", "spark"), "write data: {path: ...}"
            )
        asked = [*fields["sections"], *(key for key in ("calibrate", "baseline") if fields.get(key))]
        for key in (key for key in asked if key in _BY_ROW):
            problems.add(
                f"{key} reads a label or a score, and an experiment has none", (key,), f"leave {key} out"
            )
        if self.sequential and "interval" in fields["sections"]:
            msg = "looks are at an experiment that grows, and each interval has rows of its own alone"
            hint = "leave interval out, so that every run reads all rows so far; or leave sequential out"
            problems.add(msg, (*_PATH, "sequential"), hint)
        try:
            _ = self.arm_outcomes
        except ConfigError as error:
            for problem in error.problems:
                (argument,) = problem.path
                problems.add(problem.message, (*_PATH, f"{argument}s"), problem.hint)
            return
        self._check_quantiles(fields, problems)
        self._check_names(fields, problems)
        for place, gate in enumerate(self.gates):
            self._check_gate(gate, place, fields, problems)

    def _check_quantiles(self, fields: Mapping[str, Any], problems: Findings) -> None:
        columns = fields.get("columns")
        for what, is_there in (("strata", self.strata), ("a unit", columns is not None and columns.unit)):
            if self.quantiles and is_there:
                hint = "ask for them in a suite of their own"
                problems.add(f"quantiles are of rows, and the suite has {what}", (*_PATH, "quantiles"), hint)

    def _check_names(self, fields: Mapping[str, Any], problems: Findings) -> None:
        models = {name: model.score for name, model in (fields.get("models") or {}).items()}
        path, hint = (*_PATH, "outcomes"), "derive a column of another name from it"
        labels = [is_label(name, "an outcome's name", path, problems, hint=hint) for name in self.outcomes]
        if all(labels) and models and models != _models(self.outcomes, self.ratios, self.quantiles):
            problems.add("the models of an experiment are its outcomes", ("models",), "leave models out")
        if self.arm in self.outcomes:
            problems.add(f"'{self.arm}' is both arm and outcome", path)
        for key, values in (("mde", self.mde), ("sequential", self.mixture)):
            for name in values if isinstance(values, Mapping) else ():
                if name not in self.names:
                    problems.add(f"'{name}' is no outcome", (*_PATH, key), did_you_mean(name, self.names))
        if isinstance(self.sequential, Sequential):
            self._check_spending(self.sequential, problems)
        if self.mde == 0 or (isinstance(self.mde, Mapping) and 0 in self.mde.values()):
            problems.add("mde must not be 0", (*_PATH, "mde"))

    def _check_spending(self, sequential: Sequential, problems: Findings) -> None:
        path = (*_PATH, "sequential")
        if sequential.spending is None:
            for key in ("planned", "looks"):
                if getattr(sequential, key):
                    problems.add(f"{key} belongs to spending", (*path, key), "write spending: obrien_fleming")
        elif sequential.planned is None:
            problems.add("spending needs the planned number of units", path, "write planned: 20000")
        elif sequential.mixture is not None:
            problems.add("mixture and spending are two plans", (*path, "mixture"), "leave one of them out")

    def _check_gate(
        self, gate: ExperimentGate, place: int, fields: Mapping[str, Any], problems: Findings
    ) -> None:
        path = (*_PATH, "gates", place)
        if gate.at_least is None and gate.at_most is None:
            problems.add("a gate needs a rule", path, "give at_least or at_most")
        if gate.outcome is not None and gate.outcome not in self.names:
            hint = did_you_mean(gate.outcome, self.names)
            problems.add(f"'{gate.outcome}' is no outcome", (*path, "outcome"), hint)
        problems.check_slice_sets(names_of(gate.slices), (*path, "slices"), fields)
        if gate.measure == "sample_ratio":
            for key in ("outcome", "arm", "slices"):
                if key in gate.model_fields_set:
                    problems.add(
                        f"the sample ratio is that of all arms and rows: leave {key} out", (*path, key)
                    )


def experiment_defaults(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Suite of an experiment with the implications of its section: each outcome is a model of its own.

    >>> plan = {"arm": "variant", "control": "A", "outcomes": ["bought"]}
    >>> experiment_defaults({"task": "experiment", "experiment": plan})["models"]
    {'bought': 'bought'}
    """
    section = raw.get(TASK)
    if raw.get("task") != TASK or not isinstance(section, Mapping):
        return raw
    outcomes, roles = section.get("outcomes") or (), raw.get("columns") or {}
    ratios, quantiles = section.get("ratios") or {}, section.get("quantiles") or {}
    if isinstance(outcomes, str):
        outcomes = [outcomes]
    filled = dict(raw)
    # Where the arm is wrong the section tells it: a word stands for it meanwhile.
    arm = section["arm"] if isinstance(section.get("arm"), str) else TASK
    if isinstance(roles, Mapping):
        filled["columns"] = {"label": arm, **roles}
    sound = isinstance(outcomes, (list, tuple)) and all(
        isinstance(named, Mapping) for named in (ratios, quantiles)
    )
    if raw.get("models") is None:
        models = _models(outcomes, ratios, quantiles) if sound else {}
        filled["models"] = models or {"outcome": arm}
    return filled


def _models(
    outcomes: Sequence[object], ratios: Mapping[str, Any], quantiles: Mapping[str, Any]
) -> dict[str, str]:
    """Outcomes with means as metrics; without any, numerators of ratios and columns of quantiles."""
    pairs = (*ratios.values(), *quantiles.values())
    columns = outcomes or [pair[0] for pair in pairs if isinstance(pair, (list, tuple)) and pair]
    return {str(name): str(name) for name in columns if not outcomes or is_label(name, "", (), Findings())}
