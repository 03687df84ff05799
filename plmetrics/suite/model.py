"""The suite: one frozen, strict, typed object for a YAML file or keyword arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, PrivateAttr, SerializeAsAny, SerializerFunctionWrapHandler, model_serializer

from plmetrics.catalogue.composite_metrics import AcrossSlices, is_across_slices, line_of
from plmetrics.catalogue.metric import Facts, Metric, leaves
from plmetrics.core.names import WITHIN, SuitePath
from plmetrics.suite.sections.basics import (
    BASELINE,
    Calibrate,
    Columns,
    Compare,
    Curve,
    Data,
    ModelColumns,
    NamedMetric,
    SliceSet,
)
from plmetrics.suite.sections.gates import Gate  # noqa: TC001 (pydantic reads it)
from plmetrics.suite.sections.output import Notify, Output
from plmetrics.suite.sections.section import MOST_ROWS, Column, Section, Strict, each_once
from plmetrics.suite.sections.uncertainty import Uncertainty  # noqa: TC001 (pydantic reads it)
from plmetrics.suite.tasks import SUM_CURVES, Task, is_bin_curve

if TYPE_CHECKING:
    from plmetrics.catalogue.forecast.calibration_shares import CalibrationShare
    from plmetrics.suite.sections.labels import Labels
    from plmetrics.suite.yaml.variables import TextTemplate


class Suite(Strict):
    """One evaluation, complete and checked: names exist, parameters are in their domains."""

    name: str = Field(description="Name of the evaluation and of its folder; the file's name if not given.")
    task: Task = Field(default="binary", description="Kind of prediction.")
    data: Data = Field(default=Data(), description="Place of the rows.")
    columns: Columns = Field(description="Columns by role.")
    derive: dict[str, Column] = Field(
        default_factory=dict,
        description="Columns that are computed from others by SQL expressions; later ones may read earlier ones.",
    )
    positive: str | int | float | bool | None = Field(
        default=None, description="The label that counts as positive, where labels are not 0/1 or booleans."
    )
    classes: Annotated[tuple[Column, ...], Field(min_length=2)] | None = Field(
        default=None,
        description="The classes in order (multiclass, multilabel); else those of the probability columns.",
    )
    models: dict[str, ModelColumns] = Field(description="The models and their columns.")
    calibrate: tuple[Calibrate, ...] = Field(
        default=(), description="Calibrators: each adds a model to every model it is fitted for."
    )
    baseline: bool = Field(
        default=False,
        description="Whether to add a model 'baseline' that gives every row the same: the share of positives or of "
        "each class, the mean or the quantiles of the label, or 0 (ranking, uplift).",
    )
    metrics: tuple[NamedMetric, ...] = Field(description="The metrics; the task's default list if not given.")
    undefined: Literal["exclude", "zero"] | None = Field(
        default=None,
        description="Treatment of a class without a value in averages, of every metric that does not say it itself "
        "(multiclass): it is left out, or counts as 0.",
    )
    ties: Literal["average", "worst", "document"] | None = Field(
        default=None,
        description="Order of equal scores, of every metric that does not say it itself (ranking).",
    )
    metric_slices: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Slice sets, besides overall, of metrics that are not in all."
    )
    slices: dict[str, SliceSet] = Field(default_factory=dict, description="Slice sets by name.")
    min_rows: Annotated[int, Field(ge=0, le=MOST_ROWS)] = Field(
        default=0, description="Slices with fewer rows are listed without values."
    )
    max_slices: Annotated[int, Field(ge=1, le=100_000_000)] = Field(
        default=10_000, description="Refuse to start with more slices."
    )
    uncertainty: Uncertainty | None = Field(
        default=None, description="Bootstrap intervals; none if not given."
    )
    compare: Compare | None = Field(default=None, description="Comparisons of models, slices and runs.")
    gates: tuple[Gate, ...] = Field(default=(), description="Rules on values and differences.")
    sections: dict[str, SerializeAsAny[Section]] = Field(
        default_factory=dict, description="The sections of features, by key."
    )
    curves: tuple[Curve, ...] = Field(default=(), description="Curves to draw.")
    exact: bool | None = Field(
        default=None,
        description="Whether ordered metrics must be exact; by default while they fit into memory.",
    )
    reproducible: bool = Field(
        default=False,
        description="Whether sums of floats are to be the same to the last bit in any order of the rows.",
    )
    memory: Annotated[int, Field(gt=0)] | None = Field(
        default=None, description="Memory budget in bytes, or as 4GB."
    )
    output: Output = Field(default=Output(), description="Places of results.")
    notify: tuple[Notify, ...] = Field(default=(), description="Recipients of a message at the end of a run.")

    _templates: tuple[TextTemplate, ...] = PrivateAttr(default=())

    @model_serializer(mode="wrap")
    def _flat(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Sections of features stand under their own keys, as the others do; texts are as they were written."""
        content: dict[str, Any] = serialise(self)
        sections: dict[str, Any] = content.pop("sections", {})
        if not self._templates:
            return content | sections
        from plmetrics.suite.yaml.variables import restore_templates

        written: dict[str, Any] = restore_templates(content | sections, self._templates)
        return written

    def with_templates(self, texts: Sequence[TextTemplate]) -> Suite:
        """Suite with its texts but the name as written, for records and hashes."""
        suite = self.model_copy()
        suite._templates = tuple(text for text in texts if text.path != ("name",))  # noqa: SLF001 (of this class)
        return suite

    @property
    def templates(self) -> tuple[TextTemplate, ...]:
        """Texts written with variables."""
        return self._templates

    def has_template(self, *path: str) -> bool:
        """Whether a text is written otherwise than it is."""
        return any(written.path == path for written in self._templates)

    @property
    def labels(self) -> Labels | None:
        """Section on delayed labels; None where each row must have one."""
        return cast("Labels | None", self.sections.get("labels"))

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Optional columns of the table's files."""
        return () if self.labels is None else (self.columns.label,)

    @property
    def has_weights(self) -> bool:
        """Whether rows of any model have weights."""
        return self.columns.weight is not None or any(model.weight for model in self.models.values())

    @property
    def unweighted_models(self) -> tuple[str, ...]:
        """Models with rows of weight 1."""
        shared = self.columns.weight
        weights = {name: shared if m.weight is None else m.weight for name, m in self.models.items()}
        return tuple(name for name, weight in weights.items() if not weight)

    @property
    def per_model(self) -> bool:
        """Whether valid rows, labels or weights differ from model to model."""
        separate = any(model.has_own_rows for model in self.models.values())
        return separate or self.data.missing == "drop_per_model"

    @property
    def expressions(self) -> dict[SuitePath, str]:
        """Expressions of derived columns, by place; the last key there is the column."""
        texts: dict[SuitePath, str] = {("derive", name): text for name, text in self.derive.items()}
        expressions = {name: spec.expression for name, spec in self.slices.items()}
        return texts | {("slices", name): text for name, text in expressions.items() if text is not None}

    @property
    def further_models(self) -> dict[str, ModelColumns]:
        """Models added by a run to those in `models`: calibrated ones by `fit_on`, and the built-in baseline."""
        conditions = [spec.fit_on for spec in self.calibrate]
        models = {
            spec.model_name(name): self.models[name].after_calibration
            for spec in sorted(self.calibrate, key=lambda spec: conditions.index(spec.fit_on))
            for name in spec.sources(self.models)
        }
        if self.baseline:
            first = next(iter(self.models.values()))
            in_parts = self.task in {"multiclass", "quantile"}
            models[BASELINE] = first if in_parts else ModelColumns(score=self.columns.label)
        return models

    def with_where(self, condition: str | None) -> Suite:
        """The suite of the rows of another condition."""
        return self.model_copy(update={"data": self.data.model_copy(update={"where": condition})})

    def of_part(self, condition: str) -> Suite:
        """The suite of a part of its rows, such as those of an interval; other tables are not narrowed to it."""
        sections = {key: section.of_part(self.data.where) for key, section in self.sections.items()}
        return self.with_where(condition).model_copy(update={"sections": sections})

    def with_facts(self, facts: Facts) -> Suite:
        """Suite with metrics specialised by the facts of the run."""
        metrics = tuple(metric.with_facts(facts) for metric in self.metrics)
        judged = {gate.metric.text: gate.metric for gate in self.gates}
        by_text = {text: metric.with_facts(facts) for text, metric in judged.items()}
        gates = tuple(gate.of(by_text[gate.metric.text]) for gate in self.gates)
        return self.model_copy(update={"metrics": metrics, "gates": gates})

    def metrics_in(self, slice_set: str) -> tuple[Metric, ...]:
        """Metrics with rows for the slices of a set, or of `overall`.

        A set that a run makes from another, such as its folds, is named `folds|SET` and has the metrics of that set.
        """
        of = slice_set.rpartition("|")[2]
        if slice_set.startswith(f"{WITHIN}|"):
            return ()
        metrics = (metric for metric in self.metrics if not is_across_slices(metric))
        if of == "overall":
            return tuple(metrics)
        chosen = self.metric_slices
        return tuple(
            metric for metric in metrics if of in self.slices and of in chosen.get(metric.text, self.slices)
        )

    def sets_of(self, metric: Metric) -> tuple[str, ...]:
        """Slice sets with results of a metric, in suite order; for one over slices its set and levels."""
        if is_across_slices(metric):
            return (metric.slice_set, *self.levels_of(metric))
        chosen = self.metric_slices.get(metric.text, tuple(self.slices))
        return ("overall", *(name for name in self.slices if name in chosen))

    def levels_of(self, metric: AcrossSlices) -> tuple[str, ...]:
        """Slice sets of levels for a metric across the slices of its own set."""
        named = self.metric_slices.get(metric.text, ())
        return tuple(name for name in self.slices if name in named and name != metric.slice_set)

    @property
    def crossings(self) -> dict[str, tuple[AcrossSlices, ...]]:
        """Metrics within levels, by the name of the set of crossed groups and levels."""
        asked: dict[str, tuple[AcrossSlices, ...]] = {}
        for metric in filter(is_across_slices, self.metrics_and_subjects):
            for level in self.levels_of(metric):
                name = f"{WITHIN}|{metric.slice_set}|{level}"
                asked[name] = (*asked.get(name, ()), metric)
        return asked

    @property
    def row_curves(self) -> tuple[Curve, ...]:
        """Curves of ordered scores."""
        return tuple(curve for curve in self.curves if curve.curve not in SUM_CURVES)

    @property
    def bin_curves(self) -> tuple[Curve, ...]:
        """Curves of sums of rows by bins."""
        return tuple(curve for curve in self.curves if is_bin_curve(curve.curve, self.task))

    def calibration_shares(self, *slice_sets: str) -> Mapping[CalibrationShare, tuple[str, ...]]:
        """Shares for curves of forecasts in some slice sets, each with all sets of its curves."""
        if self.task != "quantile" or len(self.row_curves) == len(self.curves):
            return {}
        from plmetrics.catalogue.forecast.calibration_shares import shares_of_curves

        parts = [tuple(model.columns()) for model in self.models.values()]
        drawn = self._sets_of_curves()
        of = {name.rpartition("|")[2] for name in slice_sets}
        shares = shares_of_curves(drawn, parts)
        return {share: drawn[share.curve] for share in shares if of & {*drawn[share.curve]}}

    def confusion_cells(self, *slice_sets: str) -> Mapping[Metric, tuple[str, ...]]:
        """Counts for matrices of two classes in some slice sets, each with all sets of the curve."""
        if self.task != "binary" or len(self.row_curves) == len(self.curves):
            return {}
        from plmetrics.catalogue.binary.counts import confusion_cells

        sets = self._sets_of_curves()["confusion"]
        absent = {name.rpartition("|")[2] for name in slice_sets}.isdisjoint(sets)
        return {} if absent else dict.fromkeys(confusion_cells(weighted=self.has_weights), sets)

    def _sets_of_curves(self) -> dict[str, tuple[str, ...]]:
        """Slice sets of each curve."""
        drawn: dict[str, tuple[str, ...]] = {}
        for curve in self.curves:
            drawn[curve.curve] = each_once((*drawn.get(curve.curve, ("overall",)), *curve.slices))
        return drawn

    @cached_property
    def metrics_and_subjects(self) -> tuple[Metric, ...]:
        """Metrics, and those of gates alone, each once."""
        judged = (subject for gate in self.gates if is_across_slices(subject := gate.subject))
        return tuple({metric.text: metric for metric in (*self.metrics, *judged)}.values())

    @property
    def keeps_replicates(self) -> bool:
        """Whether a run keeps replicates, if they are few or it is asked to."""
        return self.uncertainty is not None and self.uncertainty.keep is not False

    def over(self, slice_set: str) -> tuple[AcrossSlices, ...]:
        """Metrics across the slices of a set."""
        if slice_set.startswith(f"{WITHIN}|"):
            return self.crossings.get(slice_set, ())
        return tuple(m for m in self.metrics_and_subjects if is_across_slices(m) and m.slice_set == slice_set)

    @property
    def reads_other_rows(self) -> bool:
        """Whether rows of the table outside the evaluated ones are read, to fit, choose or compare."""
        rules = (metric.chosen_threshold for metric in self.state_metrics("overall", *self.slices))
        elsewhere = self.calibrate or any(rule is not None and rule.select_on is not None for rule in rules)
        return bool(elsewhere) or any(section.reads_other_rows for section in self.sections.values())

    @property
    def reads_where(self) -> str | None:
        """Condition on all rows to read; None where other rows than the evaluated ones are read."""
        return None if self.reads_other_rows else self.data.where

    def standard_error(self, metric: Metric) -> Metric | None:
        """Standard error of a listed metric as a metric, for interval methods based on it with rows as units."""
        if self.uncertainty is None or self.columns.unit is not None:
            return None
        weighted = self.has_weights
        share = "wilson" in metric.closed_forms
        closed = share and not weighted
        reading = {"delta"} if closed else {"delta", "analytic"}
        if not closed and (metric.interval_form is not None or share):
            reading |= {"auto", "t"} if metric.interval_form == "t" else {"auto"}
        if reading.isdisjoint(self.uncertainty.names):
            return None
        from plmetrics.catalogue.row_errors import row_error

        return metric.standard_error(weighted=weighted) or row_error(metric, weighted=weighted)

    def state_metrics(self, *slice_sets: str) -> tuple[Metric, ...]:
        """Metrics of a state family behind the results of some sets, and behind their errors, each once."""
        by_sets: dict[tuple[str, ...], tuple[Metric, ...]] = self.__dict__.setdefault("known_needs", {})
        if slice_sets not in by_sets:
            listed = (
                member for name in slice_sets for m in self.metrics_in(name) for _, member in m.per_class()
            )
            errors = [error for m in listed if (error := self.standard_error(line_of(m)[0])) is not None]
            valued = self.value_metrics(*slice_sets)
            samples = () if self.uncertainty is None else (mean for m in valued for mean, _ in m.samples)
            metrics = {metric.text: metric for metric in (*valued, *errors, *samples)}
            by_sets[slice_sets] = tuple(metrics.values())
        return by_sets[slice_sets]

    def value_metrics(self, *slice_sets: str) -> tuple[Metric, ...]:
        """Metrics of a state family behind values, without those of standard errors alone."""
        metrics = [
            leaf
            for name in slice_sets
            for m in (*self.metrics_in(name), *self.over(name))
            for leaf in leaves(m)
        ]
        for crossing, crossed in self.crossings.items():
            if crossing.rpartition("|")[2] in slice_sets:
                metrics += [leaf for m in crossed for leaf in leaves(m)]
        if "overall" in slice_sets:
            across = (metric for metric in self.metrics_and_subjects if is_across_slices(metric))
            metrics += [leaf for metric in across if metric.reads_overall for leaf in leaves(metric)]
        for section in self.sections.values():
            metrics += [leaf for m in section.metrics() for leaf in leaves(m)]
        metrics += [*self.calibration_shares(*slice_sets), *self.confusion_cells(*slice_sets)]
        return tuple({metric.text: metric for metric in metrics}.values())


# None of these changes what a number means: names, where things lie, how much memory there is, and what the texts of
# metrics say.
_COSMETIC: Any = {
    "name": True,
    "output": True,
    "notify": True,
    "memory": True,
    "undefined": True,
    "ties": True,
    "data": {
        **dict.fromkeys(("path", "version", "database", "query", "spark", "partitioned_by"), True),
        "trec": {"qrels", "run"},
    },
    "gates": {"__all__": {"name"}},
    "compare": {"run", "reference"},
    "uncertainty": {"keep"},
}

_NULL = ("leakage", "drift", "find_slices", "cross_validation")
"""Sections that are null in the hash of a suite without them."""


def canonical(suite: Suite) -> dict[str, Any]:
    """Identity of the suite, as JSON-able data equal for suites of the same meaning.

    Names, paths, the memory budget, the order of metrics, gates and curves, and whether a default is spelled
    out leave no trace. The order of keys has no meaning: hash it with sorted keys.
    """
    cosmetic = {**_COSMETIC, "sections": {key: part.cosmetic for key, part in suite.sections.items()}}
    content: dict[str, Any] = dict.fromkeys(_NULL) | suite.model_dump(mode="json", exclude=cosmetic)
    if not suite.reproducible:
        del content["reproducible"]
    if not suite.derive:
        del content["derive"]
    for spec in content["slices"].values():
        for key in ("every", "expression", "rollup"):
            if spec[key] is None:
                del spec[key]
    for key in ("metrics", "gates", "curves"):
        content[key] = sorted(content[key], key=json.JSONEncoder(sort_keys=True).encode)
    return content
