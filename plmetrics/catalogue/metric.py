"""Base of metrics: parameters, needs of a state family, and the finalisation of its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from plmetrics.catalogue.needs import Family, Kind, Need, Parts, Points, Reads, Sums, ValueKind, need_of
from plmetrics.catalogue.parameters import (
    PARAMETER_TYPES,
    ParameterError,
    ParameterHolder,
    ThresholdRule,
    normalise,
    parameter_text,
    parameters,
)
from plmetrics.catalogue.variation import faint, square_sums
from plmetrics.core import ops
from plmetrics.core.errors import ConfigError
from plmetrics.states.expressions import column_operand, of_sound_rows, point_expression, sum_expressions

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.states.sums import Atom, RowValue
    from plmetrics.table.checks import Derivation, Requirement

Direction = Literal["higher", "lower", "zero", "none"]
IntervalForm = Literal["t", "delta", "logit"]
Mean = Literal["rows", "mass"]
Noise = Literal["full", "reduced", "largest"]
Undefined = list[tuple[str, Any]]
Nonzero = tuple[tuple[str, str], ...]
UNREACHABLE_ON_GRID = "unreachable_on_grid"
"""The status of a value that may be lost on a grid: its bound is the largest that it can be."""

TOTAL = "is a total, which is larger where there are more rows"
"""Fault of an `additive` metric by which groups of different sizes are compared."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a run before it counts: the classes of the label, in order; whether labels may be absent."""

    classes: tuple[str, ...] = ()
    unlabelled: bool = False


@dataclass(frozen=True)
class Metric(ParameterHolder):
    """A named estimator with parameters. Two metrics are the same when their canonical texts are.

    A subclass sets the class facts, declares its parameters as dataclass fields in the order of the catalogue page, and
    writes `finalise` and `undefined` in operators and `plmetrics.core.ops`: the same lines serve slices, replicates and
    Polars expressions. `presets` are aliases with parameters set, as `mce` is `ece(norm=max)`.

    Facts that a class must state: `name`, `task`, `range`, `direction` (which side is better), and what it reads of the
    rows: `needs` (one of `plmetrics.catalogue.needs`), or in short its `family`: `sums` of rows, which `atoms` name, or
    `scores`, the weight of each class along the score, of which `reads` names the part: `area` is the area under the
    ROC curve and the size of the classes; `curve` the ROC curve, where neighbours without positives may be one point;
    `order` (the default) the weights at every distinct score; `scores` these and `state.score`, which grids lack.

    Facts with a default: `kind` (which interval suits it), `interval_form` (the interval under `method: auto`: `t` for
    a mean over rows, `delta` or `logit`), `mean` (slices make up the whole by their shares: of all `rows`, as with `t`,
    or of the `mass` that `denominators` gives), `masses` (the sums that are its denominators), `nonzero` (statuses,
    each with the sum that is 0 then), `centred` (numbers whose moments are about a constant), `smooth` (a little more
    weight of a row moves it a little: the jackknife and the delta method need that), `needs_label` (whether it excludes
    rows without a label; by default if it reads labels), `additive` (a total: replicates are scaled to the table's
    size), `size_free` (all rows twice leave it as it is), `compares_groups` (it is a gap between slices),
    `unit_by_model` (models have units of their own), `samples` (means of the samples that it contrasts, with factors of
    their errors: rows that are all alike vary), `probability` (scores must lie in [0, 1]), `needs_score` (hard calls do
    not do). For warnings: `chance` (the value without skill), `rises_with_prevalence`, `rewards` (the decisions that
    raise it, whatever the scores), `saturation` (the rank at which any order is best), `weighs_arms`. For readers:
    `threshold_free`, `handles_imbalance`, `proper`, `interpretable`, `use_when`, `beware`, `formula`, `reference`.

    >>> import polars as pl, plmetrics as plm
    >>> class MeanAmountAtRisk(plm.Metric):
    ...     name, task, family = "mean_amount_at_risk", "binary", "sums"
    ...     range, direction = (0.0, float("inf")), "lower"
    ...
    ...     def columns(self):
    ...         return ("amount",)
    ...
    ...     def atoms(self):
    ...         return {"risk": plm.Atom("amount_at_risk", lambda rows: rows.column("amount") * rows.score)}
    ...
    ...     def finalise(self, state):
    ...         return state.risk / state.weight
    >>> frame = pl.DataFrame({"y": [1, 0], "p": [0.5, 0.25], "amount": [100, 40]})
    >>> plm.evaluate(frame, label="y", models="p", metrics=[MeanAmountAtRisk()]).metrics["value"].item()
    30.0
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    task: ClassVar[str]
    family: ClassVar[Family]
    range: ClassVar[tuple[float, float]]
    direction: ClassVar[Direction]
    kind: ClassVar[Kind] = "other"
    interval_form: ClassVar[IntervalForm | None] = None
    smooth: ClassVar[bool] = True
    nonzero: ClassVar[Nonzero] = ()
    masses: ClassVar[tuple[str, ...]] = ("weight",)
    centred: ClassVar[tuple[RowValue, ...]] = ()
    additive: ClassVar[bool] = False
    size_free: ClassVar[bool] = True
    chance: ClassVar[float | None] = None
    rises_with_prevalence: ClassVar[bool] = False
    rewards: ClassVar[Literal["calls", "refusals"] | None] = None
    saturation: ClassVar[int | None] = None
    weighs_arms: ClassVar[bool] = False
    compares_groups: ClassVar[bool] = False
    unit_by_model: ClassVar[bool] = False
    samples: ClassVar[tuple[tuple[Metric, float], ...]] = ()
    needs_label: ClassVar[bool | None] = None
    noise: ClassVar[Noise] = "full"
    paired_test: ClassVar[Literal["mcnemar", "delong"] | None] = None
    criterion: ClassVar[Literal["parity", "odds", "calibration"] | None] = None
    binary_outcome: ClassVar[bool] = False
    path: ClassVar[SuitePath | None] = None
    probability: ClassVar[bool] = False
    needs_score: ClassVar[bool] = False
    reads: ClassVar[Reads] = "order"
    expressible: ClassVar[bool] = True
    threshold_free: ClassVar[bool] = True
    handles_imbalance: ClassVar[bool] = True
    proper: ClassVar[Literal["strictly", "no"]] = "no"
    interpretable: ClassVar[bool] = True
    use_when: ClassVar[str] = ""
    beware: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    reference: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declared = vars(cls)
        if isinstance(need := declared.get("needs"), Need):
            cls.family = need.family
        elif need is None and declared.keys() & {"family", "reads"}:
            cls.needs = Metric.needs  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for name, field in parameters(self).items():
            value = normalise(getattr(self, field.name), field, self.name)
            object.__setattr__(self, field.name, value)
            check = field.metadata.get("check")
            if check is not None and not check(value):
                msg = f"{self.name}: {name} must be {field.metadata['domain']}, not {value!r}"
                raise ParameterError(msg, name)

    @cached_property
    def text(self) -> str:
        """Canonical text: parameters in catalogue order, those at their default left out."""
        parts = [
            ("" if field.metadata.get("unnamed") else f"{name}=") + parameter_text(getattr(self, field.name))
            for name, field in parameters(self).items()
            if getattr(self, field.name) != field.default
        ]
        return f"{self.name}({', '.join(parts)})" if parts else self.name

    def __str__(self) -> str:
        return self.text

    def with_facts(self, facts: Facts) -> Metric:
        """The metric, and those it is made from, with the facts of the run filled in."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        inner = {name: value.with_facts(facts) for name, value in values.items() if isinstance(value, Metric)}
        return replace(self, **inner) if inner else self

    def per_class(self) -> tuple[tuple[str, Metric], ...]:
        """Metrics with a result row of their own under this one's name, each with its class."""
        return (("", self),)

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """Missing input in a model with these parts, as a noun; None if none."""
        return "a score" if self.task == "binary" and parts == ("prediction",) and self.needs_score else None

    def derivations(self, label: str) -> Mapping[str, Derivation]:  # noqa: ARG002
        """Columns over several raw rows, by their names in its row expressions; `label` is the label's column."""
        return {}

    def requirements(self) -> tuple[Requirement, ...]:
        """Requirements on values of its `columns`."""
        return ()

    def row_expressions(self) -> Mapping[SuitePath, str]:
        """SQL of its row expressions, by their place in the suite."""
        return {}

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The sums this metric reads, by the name `finalise` uses for each. Family sums only.

        Several sums of one name are an array with one more axis, the last.
        """
        return {}

    def columns(self) -> tuple[str, ...]:
        """Columns of the table, besides the roles, in its row expressions (as `Rows.column`)."""
        return ()

    def standard_error(self, *, weighted: bool) -> Metric | None:  # noqa: ARG002
        """The metric of this one's standard error where rows are independent, from its own sums over all rows.

        None, where nothing but its row values says it. Its denominators are effective numbers of rows. It knows of
        `samples` that are all alike. `weighted` is whether rows have weights. Family sums only.
        """
        return None

    def parts(self) -> tuple[Metric, ...]:
        """Metrics it is made from. Family derived only."""
        return ()

    @property
    def by_class(self) -> bool:
        """Whether each class has a value, in a result row of its own."""
        return False

    @property
    def every_row(self) -> bool:
        """Whether it counts rows that `data.missing` drops for a label or score."""
        return False

    @property
    def reads_probability(self) -> bool:
        """Whether scores must lie between 0 and 1."""
        rule = self.chosen_threshold
        return self.probability or (rule is not None and rule.constant is not None)

    @property
    def mean(self) -> Mean | None:
        """Weights of a mean, additive over slices: `rows`, or the `mass` of its denominators."""
        return "rows" if self.interval_form == "t" else None

    @property
    def of_score_shares(self) -> bool:
        """Whether it is a function of the shares of rows of each class at each score, in their order."""
        return isinstance(self.needs, Points) and not self.needs.rows_in_order and self.size_free

    @property
    def value_kind(self) -> ValueKind:
        """Its kind and range, for its intervals."""
        return ValueKind(self.kind, self.range)

    @property
    def closed_forms(self) -> tuple[str, ...]:
        """The intervals by closed formulas for values of its kind."""
        if isinstance(self.needs, Parts):
            return ()
        logit = self.kind == "pr_area" and self.interval_form in {"logit", "delta"}
        return ("logit",) if logit else self.value_kind.closed_forms

    @property
    def usual_form(self) -> str | None:
        """The interval under `uncertainty: {method: auto}`; None for the bootstrap."""
        forms = () if isinstance(self.needs, Parts) else self.value_kind.closed_forms
        return next(iter(forms), self.interval_form) if self.value_kind.is_smooth else None

    @property
    def differentiable(self) -> bool:
        """Whether it is a smooth function of the weights of rows, with a variance from influences."""
        return all(part.smooth and part.value_kind.is_smooth for part in composition(self))

    @property
    def definition(self) -> Any:
        """Metric as a suite writes it: its text, or a mapping for a custom one."""
        return self.text

    @property
    def chosen_threshold(self) -> ThresholdRule | None:
        """The rule of its threshold; None for a number."""
        threshold = getattr(self, "threshold", None)
        return threshold if isinstance(threshold, ThresholdRule) else None

    @property
    def fixed_threshold(self) -> float | None:
        """Numeric threshold, if it has one."""
        threshold = getattr(self, "threshold", None)
        return threshold if isinstance(threshold, float) else None

    def centres(self) -> tuple[RowValue, ...]:
        """Numbers of a row with moments about a constant, estimated by the preparation. Family sums only."""
        return self.centred

    @property
    def needs(self) -> Need:
        """Needs of the rows, the only input of a run's plan; by default from `family` and `reads`."""
        return need_of(self.family, self.reads)

    def finalise(self, state: Any) -> Any:
        """The value, from the state's named arrays."""
        raise NotImplementedError

    def undefined(self, state: Any) -> Undefined:
        """Reasons why the value is undefined, each with its condition; the first true one is the status."""
        return [
            (status, getattr(state, name) == 0) for status, name in (("no_rows", "weight"), *self.nonzero)
        ]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        """Masses for the effective number of independent units, by their spread over blocks."""
        return tuple(getattr(state, name) for name in self.masses)

    def behind_cut(self, state: Any) -> Any:  # noqa: ARG002
        """Share of the rows of `denominators` that the value is a mean of: those behind a cut of the scores."""
        return 1.0

    def bound(self, state: Any) -> Any:  # noqa: ARG002
        """Largest possible error of the value on binned scores, given the counts."""
        return 0.0

    def cut(self, state: Any) -> Any:  # noqa: ARG002
        """The threshold of the value, NaN where there is none; None for metrics without one."""
        return None

    @property
    def reads_points(self) -> bool:
        """Whether it needs every distinct score as a point, for its value or its threshold."""
        return self.needs.distinct or self.finds_threshold

    @property
    def finds_threshold(self) -> bool:
        """Whether `cut` gives the threshold of the value."""
        return type(self).cut is not Metric.cut

    def note(self, state: Any) -> Any:  # noqa: ARG002
        """Counts in the note behind an undefined value, as (words, counts), or None."""
        return None

    def remark(self, state: Any) -> Any:  # noqa: ARG002
        """Notes beside a value: texts, None for nothing, or None for all."""
        return None

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Distance of a replicate's vector of gaps from the point state's. Kind norm only."""
        raise NotImplementedError

    def expr(
        self, label: str | pl.Expr, score: str | pl.Expr, weight: str | pl.Expr | None = None
    ) -> pl.Expr:
        """The metric as one Polars expression, for `select` and `group_by().agg()`.

        `label` is 0/1 or boolean for binary tasks, else a number; `weight` multiplies rows. Null where undefined and
        where the group has a null (but a label of `labelled` and `n`), NaN, infinite number or negative weight.

        Raises:
            ConfigError: the metric has no such form, which `evaluate` computes; or an argument is no column.

        >>> import polars as pl, plmetrics as plm
        >>> frame = pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
        >>> frame.select(plm.metric("recall").expr(label="y", score="p")).item()
        0.5
        """
        labels, scores = column_operand(label, "label"), column_operand(score, "score")
        weights = None if weight is None else column_operand(weight, "weight")
        rule = self.chosen_threshold
        if isinstance(self.needs, Sums) and self.expressible and (rule is None or rule.constant is not None):
            value = self._or_null(sum_expressions(self, labels, scores, weights))
        elif self.expressible and isinstance(self.needs, Points):
            value = point_expression(self._or_null, labels, scores, weights)
        else:
            msg = f"{self.name} has no expression form; use plmetrics.evaluate"
            raise ConfigError(msg)
        admit = {"binary": self.task == "binary", "unlabelled": self.needs_label is False}
        return of_sound_rows(value, labels, scores, weights, **admit).alias(self.text)

    def _or_null(self, state: Any) -> pl.Expr:
        value: pl.Expr = self.finalise(state)
        for _, condition in self.undefined(state):
            value = ops.where(condition, pl.lit(None, dtype=pl.Float64), value)
        sums = [getattr(state, name) for name in ("weight", *self.atoms())]
        finite = pl.all_horizontal(part.is_finite() for part in (*sums, value))
        for name in square_sums(self.atoms()):
            finite &= ~faint(getattr(state, name), state.weight)
        return pl.when(finite).then(value).otherwise(pl.lit(None, dtype=pl.Float64))


PARAMETER_TYPES["Metric"] = Metric


def leaves(metric: Metric) -> tuple[Metric, ...]:
    """Metrics of a state family among a metric's parts, each once: itself, if it is not made from others."""
    simple = (member for member in composition(metric) if not isinstance(member.needs, Parts))
    return tuple(member for member in simple if all(inner is member for _, inner in member.per_class()))


def composition(metric: Metric) -> Iterator[Metric]:
    """A metric and its parts down to those of a state family, each once, depth first."""
    seen, pending = set(), [metric]
    while pending:
        if (member := pending.pop()).text not in seen:
            seen.add(member.text)
            yield member
            pending += reversed([m for _, m in member.per_class() if m is not member] or member.parts())
