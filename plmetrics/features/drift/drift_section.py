"""The section `drift` of a suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, WithJsonSchema

from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.core.text import Call, join_torn
from plmetrics.features.drift.drift_measures import (
    DEFAULTS,
    MOST_BINS,
    NULL_SHARE,
    Measure,
    MeasureError,
    measure_of,
)
from plmetrics.suite.problems import Findings, absent, check_predicate, frozen
from plmetrics.suite.sections.basics import Correction, Finite
from plmetrics.suite.sections.metrics import is_torn, say_torn
from plmetrics.suite.sections.references import ByInterval, IntervalReference
from plmetrics.suite.sections.section import Column, OrOne, Section, SliceSelection, Strict, names_of

if TYPE_CHECKING:
    from plmetrics.suite.sections.section import ReadMetric


_PATH = ("drift",)
_SOURCES = ("reference", "where", "state", "run")
_ALONE = ("state", "run")
CHOICES = ("accepted", "any")
"""What `reference` may say beside `run`."""


class DriftGate(Strict):
    """A limit on one measure of drift, wherever it was taken: exactly one of at_most, at_least and p_at_least."""

    name: Column | None = Field(default=None, description="Name in results and reports.")
    measure: Column = Field(description="One of drift's measures, such as psi, or null_share.")
    subject: Literal["score", "label", "column"] | None = Field(
        default=None, description="Only scores, the label or other columns; all of them if not given."
    )
    column: Column | None = Field(default=None, description="The column; every column if not given.")
    model: str | None = Field(default=None, description="Only the scores of this model.")
    slices: SliceSelection = Field(
        default="overall", description="`overall`, one of drift's slice sets, a list of them, or `all`."
    )
    level: Literal["fail", "warn"] = Field(default="fail", description="Whether a failure fails the run.")
    at_most: Finite | None = Field(default=None, description="Upper limit of the value.")
    at_least: Finite | None = Field(default=None, description="Lower limit of the value.")
    p_at_least: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="Lower limit of the adjusted p value."
    )
    on_undefined: Literal["inconclusive", "fail", "skip"] = Field(
        default="inconclusive", description="Verdict where the value is undefined."
    )


_MAPPING = {"type": "object", "minProperties": 1, "maxProperties": 1}
_MeasureText = Annotated[Column, WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, _MAPPING]})]


class Drift(Section):
    """Whether scores, labels and attributes are as they were in a reference window."""

    cosmetic: ClassVar[Mapping[str, Any]] = {
        "reference": True,
        "state": True,
        "run": True,
        "gates": {"__all__": {"name"}},
    }

    example: ClassVar[str | None] = "write drift: {reference: last_month.parquet, columns: [age]}"

    reference: Annotated[
        IntervalReference | Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None, ByInterval
    ] = Field(
        default=None,
        description="Files of the reference rows, as in data.path. ${VAR} is replaced. With run: which of a folder's "
        "runs may be that run, accepted (the last whose gates did not fail, if not given) or any. In a suite with "
        "intervals: previous, or {ago: 7d}, {window: 28d}, {same_weekday: 4}.",
    )
    where: Column | None = Field(
        default=None,
        description="SQL condition on the reference's rows, in place of data.where; without reference: rows of the "
        "table itself, which are then not compared with themselves.",
    )
    state: Column | Annotated[tuple[Column, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="States of the reference rows, as plmetrics state writes them of a suite with drift: files or "
        "folders of them, which add. ${VAR} is replaced.",
    )
    run: Column | None = Field(
        default=None,
        description="Folder of an earlier run that had a drift.state or drift.run, as the reference; of a folder of "
        "runs the last one. ${VAR} is replaced.",
    )
    scores: bool = Field(default=True, description="Whether to compare the scores of every model.")
    label: bool = Field(default=True, description="Whether to compare the label.")
    columns: Annotated[tuple[Column, ...], OrOne()] = Field(
        default=(), description="Other columns to compare."
    )
    measures: Annotated[tuple[_MeasureText, ...], Field(min_length=1), OrOne()] | None = Field(
        default=None,
        description="Measures of drift: psi, ks_2samp, chi2_2samp, wasserstein, jensen_shannon, mean, variance, "
        "quantile(q=0.95); those of the first six that fit a column if not given.",
    )
    bins: Annotated[int, Field(ge=2, le=MOST_BINS)] = Field(
        default=10,
        description="Bins of equal share in the reference, for psi, jensen_shannon and chi2_2samp.",
    )
    floor: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=1e-4, description="The least share that psi takes a bin to have."
    )
    slices: Annotated[tuple[str, ...], OrOne()] = Field(
        default=(), description="Slice sets to compare in, besides overall; or all."
    )
    correction: Correction = Field(
        default="holm", description="Correction of the p values of a measure in one slice set."
    )
    gates: tuple[DriftGate, ...] = Field(default=(), description="Limits on measures; none by default.")

    @property
    def reads_other_rows(self) -> bool:
        """Whether the reference are other rows of the table."""
        return self.where is not None and self.reference is None

    def of_part(self, where: str | None) -> Self:
        """The section with a condition of its own on the rows of another table."""
        if self.reference is None or self.is_counted or self.where is not None:
            return self
        return self.model_copy(update={"where": where or "TRUE"})

    @property
    def is_counted(self) -> bool:
        """Whether the reference are counts of an earlier state or run, not rows."""
        counted = isinstance(self.reference, IntervalReference)
        return counted or self.state is not None or self.run is not None

    @property
    def choice(self) -> str:
        """Choice among a folder's runs: `accepted` or `any`."""
        return self.reference if isinstance(self.reference, str) else CHOICES[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters shared by all measures."""
        return {"bins": self.bins, "floor": self.floor}

    def distances(self) -> tuple[Measure, ...]:
        """The measures of a column, each once, without the share of nulls."""
        texts = DEFAULTS if self.measures is None else self.measures
        measures = (measure_of(text, self.parameters) for text in texts)
        return tuple({measure.text: measure for measure in measures if measure.name != NULL_SHARE}.values())

    def gate_measure(self, gate: DriftGate) -> Measure:
        """Measure of a gate."""
        return measure_of(gate.measure, self.parameters)

    def sets(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The slice sets to compare in, in the order of the suite."""
        return names if "all" in self.slices else tuple(name for name in names if name in self.slices)

    @classmethod
    def read(cls, value: Any, path: SuitePath, problems: Findings, read_metric: ReadMetric) -> Self | None:
        """The section from plain values, with measures as texts."""
        before = len(problems.problems)
        if isinstance(value, Mapping):
            value = dict(value)
            measures = value.get("measures")
            if isinstance(measures, (str, list, tuple)):
                value["measures"] = _texts([measures] if isinstance(measures, str) else measures, problems)
            check_predicate(value.get("where"), (*path, "where"), problems)
            _sources(value, problems)
        section = super().read(value, path, problems, read_metric)
        return section if len(problems.problems) == before else None

    def check(self, fields: Mapping[str, Any], problems: Findings) -> None:
        """Note settings without their prerequisites."""
        problems.check_slice_sets(self.slices, (*_PATH, "slices"), fields)
        if fields.get("reproducible") and self.is_counted:
            msg = "reproducible does not serve drift from a state or a run: values are added within bins as they come"
            problems.add(
                msg, _PATH, "leave reproducible out, or name the rows of the reference: drift.reference"
            )
        if not (self.scores or self.label or self.columns):
            problems.add("drift compares nothing", _PATH, "give it scores, label or columns")
        for place, gate in enumerate(self.gates):
            _gate(gate, (*_PATH, "gates", place), self, fields, problems.add)


def _texts(entries: Any, findings: Findings) -> list[Any]:
    """Texts of the measures; `{quantile: {q: 0.95}}` is one too, and pieces of a text split by YAML are refused."""
    texts: list[Any] = []
    pieces = list(entries)
    while pieces:
        torn = join_torn(pieces) if is_torn(pieces[0]) else None
        if torn is not None:
            say_torn(torn[0], (*_PATH, "measures", len(entries) - len(pieces)), findings)
            pieces = pieces[torn[1] :]
            continue
        text = _text(pieces[0])
        if isinstance(text, str) and text:
            _check_measure(text, (*_PATH, "measures", len(entries) - len(pieces)), findings)
        texts.append(text)
        pieces = pieces[1:]
    return texts


def _check_measure(text: str, path: SuitePath, findings: Findings) -> None:
    try:
        measure_of(text)
    except MeasureError as error:
        findings.add(str(error), path, error.hint)


def _text(entry: Any) -> Any:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return entry
    ((name, parameters),) = entry.items()
    if not isinstance(parameters, Mapping) and parameters is not None:
        return entry
    return str(Call(str(name), frozen(dict(parameters or {}))))


def _sources(fields: Mapping[str, Any], findings: Findings) -> None:
    named = [key for key in _SOURCES if fields.get(key) is not None]
    if fields.get("run") is not None and fields.get("reference") in CHOICES:
        named.remove("reference")
    if not named:
        hint = "add reference: last_month.parquet, state: last_month.state or where: \"month < '2026-09-01'\""
        findings.add("drift needs a reference to compare with", _PATH, hint)
    alone = [key for key in named if key in _ALONE]
    if not alone or len(named) == 1:
        return
    if named == ["where", "state"]:
        msg = "where picks rows of the reference, and a state has none: it counts those that it was made from"
        findings.add(msg, (*_PATH, "where"), "leave it out, or write the state of those rows")
        return
    msg = f"{alone[-1]} and {named[0]} both say what the reference is"
    findings.add(msg, (*_PATH, alone[-1]), "leave one of them out")


def _gate(
    gate: DriftGate, path: SuitePath, spec: Drift, fields: Mapping[str, Any], add: Callable[..., None]
) -> None:
    limits = [key for key in ("at_most", "at_least", "p_at_least") if getattr(gate, key) is not None]
    if len(limits) != 1:
        fault = "needs a rule" if not limits else f"has one rule, not {' and '.join(limits)}"
        add(f"a gate {fault}", path, "give at_most, at_least or p_at_least; write two gates for two")
    try:
        measure = spec.gate_measure(gate)
        measures = {measure.text for measure in spec.distances()} | {NULL_SHARE}
    except MeasureError as error:
        add(str(error), (*path, "measure"), error.hint)
        return
    if measure.text not in measures:
        hint = did_you_mean(measure.text, measures)
        add(f"the gate's measure '{measure.text}' is not in drift's measures", (*path, "measure"), hint)
    if gate.p_at_least is not None and measure.name not in TESTS:
        add(f"'{measure.text}' is no test: it has no p value", (*path, "p_at_least"), "use at_most")
    sets = spec.sets(tuple(fields.get("slices") or {}))
    for name in names_of(gate.slices):
        if name not in {"overall", "all", *sets}:
            add(f"'{name}' is not one of drift's slice sets", (*path, "slices"), did_you_mean(name, sets))
    models = fields.get("models")
    if gate.model is not None and models and gate.model not in models:
        add(*absent(gate.model, "models", (*path, "model"), models, "model"))
    _gated_column(gate, path, spec, fields, add)


TESTS = frozenset({"ks_2samp", "chi2_2samp", "mean"})
"""The measures that have a p value."""


def _gated_column(
    gate: DriftGate, path: SuitePath, spec: Drift, fields: Mapping[str, Any], add: Callable[..., None]
) -> None:
    """Check that a gate's column is compared, as far as that is known without the data."""
    models, columns = fields.get("models") or {}, fields.get("columns")
    comparable = list(spec.columns)
    if spec.scores:
        comparable += [column for model in models.values() for column in model.columns().values()]
    if spec.label and columns is not None:
        comparable.append(columns.label)
    prefixed = any(
        isinstance(model.proba, str) or isinstance(model.quantiles, str) for model in models.values()
    )
    if gate.column is not None and gate.column not in comparable and not (prefixed and spec.scores):
        hint = did_you_mean(gate.column, comparable) or "add it to drift's columns"
        add(f"column '{gate.column}' is not compared", (*path, "column"), hint)
