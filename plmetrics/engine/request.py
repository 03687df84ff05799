"""A suite bound to a table: its needs of the engine, and the rows, roles and slices of a view of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from plmetrics.catalogue.needs import Bins, Need, OrderedRows, Points, Quantiles, Queries, Ranks, Sums
from plmetrics.engine.arithmetic import Arithmetic
from plmetrics.suite.sections.basics import REST, ModelColumns
from plmetrics.suite.tasks import BINNED_CURVES, CLASS_CURVES, CLASS_TASKS
from plmetrics.table.prediction_table import PredictionTable, prediction_table
from plmetrics.table.slices import SliceSet

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.inquiry import Step
    from plmetrics.states.queries import QueryValue
    from plmetrics.states.scores.sliced_scores import Binning
    from plmetrics.states.sums import RowValue
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.labels import LabelStatus
    from plmetrics.table.prediction_columns import PredictionColumns, RoleColumns
    from plmetrics.table.slice_keys import SliceKey
    from plmetrics.table.source import Source

OVERALL = SliceSet("overall", ())


@dataclass(frozen=True, slots=True)
class TableView:
    """Rows of a table for a suite, as a lazy plan; `where` is the condition on them.

    Facts that a stage learns of the rows (edges of slices, calibrated scores, queries) make another view of them.
    """

    suite: Suite
    source: Source
    raw: pl.LazyFrame
    where: pl.Expr | None
    roles: RoleColumns
    sets: tuple[SliceSet, ...]

    @property
    def schema(self) -> pl.Schema:
        """Types of the raw columns."""
        return self.source.schema

    @property
    def held_out(self) -> pl.Expr | None:
        """Mask of the raw rows that values are of in a cross-validation; None where they are of all."""
        within = self.sets[0].within
        return None if within is None else within.expression

    @property
    def arithmetic(self) -> Arithmetic:
        """Addition of floats: in any order, or to the last bit."""
        return Arithmetic(self.suite.reproducible)

    def table(self, roles: RoleColumns | None = None) -> PredictionTable:
        """The canonical columns of the rows; with other roles than these if they are given."""
        return prediction_table(self.raw, self.schema, roles or self.roles)

    def with_model(self, name: str, predicted: PredictionColumns) -> TableView:
        """The view with the prediction of a further model at the end."""
        models = {**self.roles.models, name: predicted}
        return replace(self, roles=replace(self.roles, models=models))

    def without_margins(self) -> TableView:
        """View without the auxiliary models of calibration."""
        models = {name: model for name, model in self.roles.models.items() if name in self.suite.models}
        return replace(self, roles=replace(self.roles, models=models))

    def with_keys(self, keys: Mapping[str, SliceKey]) -> TableView:
        """The view with other slice keys, by canonical column."""
        sets = tuple(
            replace(part, keys=tuple(keys.get(key.column, key) for key in part.keys)) for part in self.sets
        )
        settled = tuple(keys.get(key.column, key) for key in self.roles.keys)
        return replace(self, sets=sets, roles=replace(self.roles, keys=settled))


@dataclass(frozen=True, slots=True)
class Request:
    """A suite bound to a source, once: no later stage makes another of it.

    `view` has the rows to evaluate, as far as they are known from the schema, and `read` these and the further rows of
    features: plans made of it share one scan. `tables` are the tables of features by key, and `steps` the work of the
    binding. Where rows may have no label, `label_free` are the texts of the metrics that need none, and `label_status`
    is the reason why a slice has none.
    """

    view: TableView
    read: pl.LazyFrame
    tables: Mapping[str, Source] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    label_free: frozenset[str] = frozenset()
    label_status: LabelStatus = "unlabelled"

    @property
    def suite(self) -> Suite:
        """Suite with the models added by the run, and all classes."""
        return self.view.suite

    @property
    def column_suite(self) -> Suite:
        """The suite with the models of columns alone."""
        models = {
            name: self.suite.models.get(name) or ModelColumns(margin=predicted.columns["score"])
            for name, predicted in self.view.roles.models.items()
        }
        return self.suite.model_copy(update={"models": models})

    @property
    def source(self) -> Source:
        """The table."""
        return self.view.source

    @property
    def arithmetic(self) -> Arithmetic:
        """Addition of floats: exact or plain."""
        return self.view.arithmetic

    @property
    def chooses_thresholds(self) -> bool:
        """Whether a metric has its threshold from the rows."""
        return any(metric.chosen_threshold is not None for metric in self.leaves)

    @property
    def awaits_labels(self) -> bool:
        """Whether rows may have no label yet."""
        return self.view.roles.unlabelled

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of a multiclass label, in order."""
        return self.view.roles.classes

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)

    @property
    def leaves(self) -> tuple[Metric, ...]:
        """Metrics of a state family among the parts of the suite's metrics."""
        return self.suite.state_metrics("overall", *self.suite.slices)

    @property
    def sums(self) -> tuple[Metric, ...]:
        """Metrics of sums."""
        return self._needing(Sums)

    @property
    def counts_every_row(self) -> bool:
        """Whether rows without a label or score are counted beside the others."""
        return self.awaits_labels or self.reads_every_row

    @property
    def reads_every_row(self) -> bool:
        """Whether metrics read rows without a label or score."""
        left_out = self.suite.data.missing != "error" or self.awaits_labels
        return left_out and self.suite.task != "ranking" and any(metric.every_row for metric in self.sums)

    @property
    def scores(self) -> tuple[Metric, ...]:
        """Metrics of rows ordered by scores, or by other numbers."""
        return self._needing(OrderedRows)

    @property
    def orders_scores(self) -> bool:
        """Whether rows are ordered by the models' scores."""
        by_score = any(need.by is None for need in self.orders)
        return by_score or (bool(self.suite.row_curves) and self.suite.task in {"binary", "uplift"})

    @property
    def orders_rows(self) -> bool:
        """Whether an ordered metric or a curve needs rows beside sums."""
        return bool(self.scores or self.ranks or self.suite.row_curves)

    @property
    def adds_at_once(self) -> bool:
        """Whether sums need slices, centres and thresholds alone, and are of all rows with slices."""
        suite = self.suite
        if suite.uncertainty is not None or self.arithmetic.any_order or self.counts_every_row:
            return False
        if suite.data.missing != "error" or suite.bin_curves or self.orders_rows:
            return False
        return not any(part.is_tagged or part.is_derived for part in self.view.sets)

    @property
    def areas_alone(self) -> bool:
        """Whether the models' scores are ordered for ROC areas alone, of rows of weight 1."""
        suite = self.suite
        if suite.uncertainty is not None or suite.row_curves or suite.has_weights:
            return False
        return {need for need in self.orders if need.by is None} == {Points("area")}

    def _needing(self, need: type[Need]) -> tuple[Metric, ...]:
        return tuple(metric for metric in self.leaves if isinstance(metric.needs, need))

    @property
    def orders(self) -> tuple[OrderedRows, ...]:
        """Needs of the metrics of scores."""
        return tuple(metric.needs for metric in self.leaves if isinstance(metric.needs, OrderedRows))

    @property
    def binnings(self) -> tuple[Binning, ...]:
        """Fixed bins of scores for metrics."""
        return tuple(dict.fromkeys(need.binning for need in self.orders if isinstance(need, Bins)))

    @property
    def counts_bins(self) -> bool:
        """Whether rows are counted in bins, for metrics or for curves."""
        return bool(self.binnings) or any(curve.curve in BINNED_CURVES for curve in self.suite.curves)

    @property
    def query_values(self) -> tuple[QueryValue, ...]:
        """Numbers of each query of a ranking for metrics."""
        needs = (metric.needs for metric in self.leaves)
        return tuple(value for need in needs if isinstance(need, Queries) for value in need.values)

    @property
    def ranks(self) -> tuple[Metric, ...]:
        """The metrics of the ranks of labels and predictions, which are read row by row."""
        return self._needing(Ranks)

    @property
    def values(self) -> tuple[RowValue, ...]:
        """Ordering numbers other than scores."""
        by_key = {need.by.key: need.by for need in self.orders if need.by is not None}
        curves = self.suite.curves if self.suite.task in CLASS_TASKS else ()
        if kinds := dict.fromkeys(curve.of_classes for curve in curves if curve.curve in CLASS_CURVES):
            from plmetrics.states.class_probabilities import class_values

            drawn = [value for kind in kinds for value in class_values(self.classes, kind)]
            by_key = {value.key: value for value in drawn} | by_key
        return tuple(by_key.values())

    @property
    def width(self) -> int:
        """Largest number of ordering values of a row."""
        return max((value.width for value in self.values), default=1)

    def levels_of(self, value: RowValue) -> tuple[float, ...]:
        """Quantile levels of a number of each row, for metrics."""
        needs = (need for need in self.orders if need.by is not None and need.by.key == value.key)
        return tuple(dict.fromkeys(need.level for need in needs if isinstance(need, Quantiles)))

    @property
    def label_free_values(self) -> frozenset[str]:
        """Keys of the ordering numbers of rows without a label as well."""
        needs = (metric.needs for metric in self.scores if metric.text in self.label_free)
        return frozenset(
            need.by.key for need in needs if isinstance(need, OrderedRows) and need.by is not None
        )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Compared models, each as (model, baseline): by `compare`, and by gates."""
        suite = self.suite
        compared = () if suite.compare is None else suite.compare.pairs_of(self.models)
        named = dict.fromkeys(gate.rival for gate in suite.gates if gate.rival is not None)
        judged = ((m, b) for b in named for m in self.models if m != b)
        return tuple(dict.fromkeys([*compared, *judged]))

    def has_complements(self, name: str) -> bool:
        """Whether the slices of a set are compared with their complements."""
        return self.suite.compare is not None and REST in self.suite.compare.slices.get(name, ())

    @property
    def area_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of models with scores counted together on a grid, for DeLong's test."""
        suite = self.suite
        compare, dependent = suite.compare, suite.has_weights or suite.columns.unit is not None
        if compare is None or suite.exact is not False or dependent or self.view.roles.per_model:
            return ()
        tested = any(test.test == "delong" for test in compare.tests)
        return compare.pairs_of(self.models) if tested else ()

    @property
    def unit_rows(self) -> bool:
        """Whether each row is a unit of its own."""
        return unit_column(self.suite) is None


def unit_column(suite: Suite) -> str | None:
    """The column of the units of resampling, None for rows: queries of a ranking are units by themselves."""
    return suite.columns.unit or (suite.columns.query if suite.task == "ranking" else None)
