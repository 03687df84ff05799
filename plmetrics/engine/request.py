"""What a suite asks of the engine: metrics by family, models, pairs to compare, roles and slice keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.needs import Bins, Need, OrderedRows, Points, Queries, Ranks, Sums
from plmetrics.engine.arithmetic import Arithmetic
from plmetrics.suite.tasks import CLASS_CURVES, CONFUSION_CURVES
from plmetrics.table.slices import SliceSet
from plmetrics.table.source import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.step import Step
    from plmetrics.states.queries import QueryValue
    from plmetrics.states.scores.sorted import Binning
    from plmetrics.states.sums import RowValue
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.labels import LabelStatus
    from plmetrics.table.roles import RoleColumns
    from plmetrics.table.slice_keys import SliceKey
    from plmetrics.table.source import Source

OVERALL = SliceSet("overall", ())
INDEX = ROW_NUMBER
"""The number of a row in its table, in the second look at bad rows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A suite bound to a source: everything the passes need to know, as plans not yet run.

    `pairs_read` is how many rows became the queries of a ranking, where its rows are queries by now. `tables` are
    those that features read beside the rows, by key, and `steps` what it took to bind the suite. `read` has the rows of
    the source that are evaluated, and those that features count beside them: what is made of it shares its scan.
    Where rows may have no label, `label_free` are the texts of the metrics that need none, and `label_status` says why
    a slice has none.
    """

    suite: Suite
    source: Source
    raw: pl.LazyFrame
    read: pl.LazyFrame
    roles: RoleColumns
    sets: tuple[SliceSet, ...]
    where: pl.Expr | None
    pairs_read: int | None = None
    tables: Mapping[str, Source] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    label_free: frozenset[str] = frozenset()
    label_status: LabelStatus = "unlabelled"

    def numbered(self) -> pl.LazyFrame:
        """The raw rows in file order with their numbers, for a look at some of them."""
        frame = self.source.frame.with_row_index(INDEX).with_columns(pl.lit(0, dtype=pl.UInt64).alias("@row"))
        return frame if self.where is None else frame.filter(self.where)

    def with_keys(self, settled_keys: Mapping[str, SliceKey]) -> Request:
        """The request with other slice keys, by canonical column."""
        sets = tuple(
            replace(part, keys=tuple(settled_keys.get(key.column, key) for key in part.keys))
            for part in self.sets
        )
        keys = tuple(settled_keys.get(key.column, key) for key in self.roles.keys)
        return replace(self, sets=sets, roles=replace(self.roles, keys=keys))

    @property
    def schema(self) -> pl.Schema:
        """Types of the raw columns."""
        return self.source.schema

    @property
    def arithmetic(self) -> Arithmetic:
        """How floats are added."""
        return Arithmetic(self.suite.reproducible)

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)

    @property
    def leaves(self) -> tuple[Metric, ...]:
        """The metrics of a state family that the suite's are made from."""
        return self.suite.needed("overall", *self.suite.slices)

    @property
    def sums(self) -> tuple[Metric, ...]:
        """The metrics that need sums."""
        return self._needing(Sums)

    @property
    def counts_every_row(self) -> bool:
        """Whether rows that are left out for a label or score are counted beside the others."""
        return self.roles.unlabelled or self.reads_every_row

    @property
    def reads_every_row(self) -> bool:
        """Whether metrics read rows that are left out for a label or score."""
        left_out = self.suite.data.missing != "error" or self.roles.unlabelled
        return left_out and self.suite.task != "ranking" and any(metric.every_row for metric in self.sums)

    @property
    def scores(self) -> tuple[Metric, ...]:
        """The metrics that need rows in the order of scores, or of other numbers."""
        return self._needing(OrderedRows)

    @property
    def orders_scores(self) -> bool:
        """Whether rows are ordered by the models' scores."""
        by_score = any(need.by is None for need in self.orders)
        return by_score or (bool(self.suite.curves) and self.suite.task in {"binary", "uplift"})

    @property
    def areas_alone(self) -> bool:
        """Whether the models' scores are ordered for ROC areas and nothing else, of rows that count once."""
        suite = self.suite
        if suite.uncertainty is not None or suite.curves or self.roles.weight is not None:
            return False
        return {need for need in self.orders if need.by is None} == {Points("area")}

    def _needing(self, need: type[Need]) -> tuple[Metric, ...]:
        return tuple(metric for metric in self.leaves if isinstance(metric.needs, need))

    @property
    def orders(self) -> tuple[OrderedRows, ...]:
        """What the metrics of scores need."""
        return tuple(metric.needs for metric in self.leaves if isinstance(metric.needs, OrderedRows))

    @property
    def binnings(self) -> tuple[Binning, ...]:
        """The fixed bins of scores that metrics need."""
        return tuple(dict.fromkeys(need.binning for need in self.orders if isinstance(need, Bins)))

    @property
    def query_values(self) -> tuple[QueryValue, ...]:
        """The numbers of each query of a ranking that metrics need."""
        needs = (metric.needs for metric in self.leaves)
        return tuple(value for need in needs if isinstance(need, Queries) for value in need.values)

    @property
    def draws_rows(self) -> bool:
        """Whether curves are drawn from labels and predictions row by row."""
        curves = [curve.curve for curve in self.suite.row_curves]
        if self.suite.task == "multiclass":
            return any(curve in CONFUSION_CURVES for curve in curves)
        return bool(curves) and self.suite.task in {"regression", "quantile"}

    @property
    def ranks(self) -> tuple[Metric, ...]:
        """The metrics of the ranks of labels and predictions."""
        return self._needing(Ranks)

    @property
    def reads_pairs(self) -> bool:
        """Whether labels and predictions are read row by row."""
        return self.draws_rows or bool(self.ranks)

    @property
    def values(self) -> tuple[RowValue, ...]:
        """The other numbers that rows are ordered by."""
        by_key = {need.by.key: need.by for need in self.orders if need.by is not None}
        if self.suite.task == "multiclass" and any(c.curve in CLASS_CURVES for c in self.suite.curves):
            from plmetrics.states.class_probabilities import class_probability

            classes = self.roles.classes
            drawn = [class_probability(classes, number) for number in range(len(classes))]
            by_key = {value.key: value for value in drawn} | by_key
        return tuple(by_key.values())

    @property
    def label_free_values(self) -> frozenset[str]:
        """The keys of the numbers that rows without a label are ordered by as well."""
        needs = (metric.needs for metric in self.scores if metric.text in self.label_free)
        return frozenset(
            need.by.key for need in needs if isinstance(need, OrderedRows) and need.by is not None
        )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The models that are compared, each as (model, baseline): by `compare`, and by gates."""
        suite = self.suite
        compared = () if suite.compare is None else suite.compare.pairs_of(self.models)
        named = dict.fromkeys(gate.rival for gate in suite.gates if gate.rival is not None)
        judged = ((m, b) for b in named for m in self.models if m != b)
        return tuple(dict.fromkeys([*compared, *judged]))

    @property
    def unit_rows(self) -> bool:
        """Whether each row is a unit of its own."""
        return unit_column(self.suite) is None


def unit_column(suite: Suite) -> str | None:
    """The column of what is resampled together, None for rows: queries of a ranking are units by themselves."""
    return suite.columns.unit or (suite.columns.query if suite.task == "ranking" else None)
