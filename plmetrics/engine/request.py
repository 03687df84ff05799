"""What a suite asks of the engine: metrics by family, models, pairs to compare, roles and slice keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.custom import RowAggregate
from plmetrics.catalogue.metric import Facts, leaves
from plmetrics.core.errors import Collected, DataError, Problem
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.budget import refuse_rows
from plmetrics.engine.effects import outcome_requirements
from plmetrics.engine.expressions import check_expressions, predicate
from plmetrics.engine.folds import check_repeated, repeated_requirements, with_folds
from plmetrics.engine.keys import identity, slice_keys
from plmetrics.engine.leakage import check_leakage_columns
from plmetrics.engine.long import WHERE, conflicts_explained, widened
from plmetrics.engine.models import classes_of, predicted_models
from plmetrics.engine.rankings import check_ranking, names_queries, role_requirements
from plmetrics.engine.references import check_decomposed
from plmetrics.engine.searched_columns import check_searched_columns
from plmetrics.engine.times import check_times, times_of
from plmetrics.engine.windows import check_drift_columns, check_drift_windows
from plmetrics.suite.sections import BY_FOLD
from plmetrics.table.checks import each_once, require_numbers
from plmetrics.table.roles import RoleColumns, prediction_table, require
from plmetrics.table.slices import SliceSet
from plmetrics.table.source import ROW_NUMBER
from plmetrics.table.units import unit_hash

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import RowValue
    from plmetrics.suite.model import Suite
    from plmetrics.table.predicted import Predicted
    from plmetrics.table.slice_keys import SliceKey
    from plmetrics.table.source import Source

OVERALL = SliceSet("overall", ())
INDEX = ROW_NUMBER
"""The number of a row in its table, in the second look at bad rows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A suite bound to a source: everything the passes need to know, as plans not yet run.

    `pairs_read` is how many rows became the queries of a ranking, where its rows are queries by now. `train` is the
    training table that leakage is looked for in, `reference` the one that drift is measured from.
    """

    suite: Suite
    source: Source
    raw: pl.LazyFrame
    roles: RoleColumns
    sets: tuple[SliceSet, ...]
    where: pl.Expr | None
    pairs_read: int | None = None
    train: Source | None = None
    reference: Source | None = None

    def numbered(self) -> pl.LazyFrame:
        """The raw rows in file order with their numbers, for a look at some of them."""
        frame = self.source.frame.with_row_index(INDEX).with_columns(pl.lit(0, dtype=pl.UInt64).alias("@row"))
        return frame if self.where is None else frame.filter(self.where)

    @property
    def schema(self) -> pl.Schema:
        """Types of the raw columns."""
        return self.source.schema

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
        """The metrics of the family sums."""
        return tuple(metric for metric in self.leaves if metric.family == "sums")

    @property
    def counts_every_row(self) -> bool:
        """Whether rows that are left out for a label or score are counted beside the others."""
        left_out = self.suite.data.missing != "error" and self.suite.task != "ranking"
        return left_out and any(metric.every_row for metric in self.sums)

    @property
    def scores(self) -> tuple[Metric, ...]:
        """The metrics of the family scores."""
        return tuple(metric for metric in self.leaves if metric.family == "scores")

    @property
    def orders_scores(self) -> bool:
        """Whether rows are ordered by the models' scores."""
        by_score = any(metric.values() is None for metric in self.scores)
        return by_score or (bool(self.suite.curves) and not self.draws_rows)

    @property
    def areas_alone(self) -> bool:
        """Whether the models' scores are ordered for ROC areas and nothing else, of rows that count once."""
        suite = self.suite
        if suite.uncertainty is not None or suite.curves or self.roles.weight is not None:
            return False
        ordered = [metric.reads for metric in self.scores if metric.values() is None]
        return set(ordered) == {"area"}

    @property
    def draws_rows(self) -> bool:
        """Whether curves are drawn from labels and predictions row by row."""
        return bool(self.suite.curves) and self.suite.task in {"regression", "quantile", "multiclass"}

    @property
    def ranks(self) -> tuple[Metric, ...]:
        """The metrics of the ranks of labels and predictions."""
        return tuple(metric for metric in self.leaves if metric.family == "ranks")

    @property
    def reads_pairs(self) -> bool:
        """Whether labels and predictions are read row by row."""
        return self.draws_rows or bool(self.ranks)

    @property
    def values(self) -> tuple[RowValue, ...]:
        """The other numbers that rows are ordered by."""
        found = {value.key: value for metric in self.scores if (value := metric.values()) is not None}
        return tuple(found.values())

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The models that are compared, each as (model, baseline): by `compare`, and by gates."""
        suite = self.suite
        asked = () if suite.compare is None else suite.compare.pairs_of(self.models)
        named = dict.fromkeys(gate.rival for gate in suite.gates if gate.rival is not None)
        judged = ((m, b) for b in named for m in self.models if m != b)
        return tuple(dict.fromkeys([*asked, *judged]))

    @property
    def unit_rows(self) -> bool:
        """Whether each row is a unit of its own."""
        return unit_column(self.suite) is None


def bind(
    suite: Suite, source: Source, train: Source | None = None, reference: Source | None = None
) -> Request:
    """Resolve columns, predicates and types against the source, on zero rows.

    Raises:
        DataError: there are no rows, or columns are absent or of a type their role cannot take; all are named.
        ConfigError: an expression does not fit the columns' types.
    """
    if source.rows == 0:
        raise DataError(Problem("the table has no rows", ("data", "path")))
    apart = suite.task in {"quantile", "regression"} and suite.drift is None
    source = widened(source, suite.data.long, suite.data.where, every=not apart)
    with conflicts_explained(source):
        return _bound(suite, source, train, reference)


def _bound(suite: Suite, source: Source, train: Source | None, reference: Source | None) -> Request:
    collected = Collected()
    by_row = suite.uncertainty is not None and unit_column(suite) is None
    raw = source.with_row_key() if by_row else source.frame
    where, unit = None, pl.col("@row") if by_row else None
    with collected.step():
        if suite.data.where is not None:
            where = pl.col(WHERE)
            if suite.data.long is None:
                where = predicate(suite.data.where, source.schema, ("data", "where"))
            fewer = source.in_folders(where, compile_row(suite.data.where).columns)
            raw = (fewer.with_row_key() if by_row else fewer.frame).filter(where)
    with collected.step():
        _check_sections(suite, source.schema, train, reference)
    with collected.step():
        unit = unit if by_row else _unit(suite, source.schema)
    keys: dict[str, SliceKey] = {}
    sets = [OVERALL]
    for name, spec in suite.slices.items():
        with collected.step():
            for members in slice_keys(name, spec, source.schema):
                own = [keys.setdefault(identity(key), key) for key in members]
                sets.append(SliceSet(name, tuple(own), spec.exclude))
    named = {key.column: key for key in keys.values()}
    with collected.step():
        check_repeated(suite, source.schema)
    with collected.step():
        every, further = with_folds(suite, sets, source.schema)
        sets = list(every)
        named |= {key.column: key for key in further if key.column not in named}
    models: dict[str, Predicted] = {}
    with collected.step():
        models = predicted_models(suite, source.schema)
    suite = suite.settled(Facts(classes_of(suite, models)))
    roles = _roles(suite, models, tuple(named.values()), unit)
    if suite.task == "ranking" and source.not_retrieved != "refused":
        roles = replace(roles, null_scores=True)
    with collected.step():
        _check_metrics(suite, source.schema)
    with collected.step():
        check_decomposed(suite, sets)
        if suite.task == "ranking":
            check_ranking(suite, source.schema, suite.valued("overall", *suite.slices))
    with collected.step():
        if suite.exact is False:
            refuse_rows(suite, "allow exact")
    with collected.step():
        prediction_table(raw, source.schema, roles)
    collected.settle()
    request = Request(suite, source, raw, roles, tuple(sets), where, train=train, reference=reference)
    check_drift_windows(request)
    return request


def _place(suite: Suite, metric: Metric) -> tuple[str | int, ...]:
    """Where in the suite the metric stands that one is needed for."""
    numbers = (n for n, own in enumerate(suite.metrics) if metric.text in {leaf.text for leaf in leaves(own)})
    number = next(numbers, None)
    return ("metrics",) if number is None else ("metrics", number)


def unit_column(suite: Suite) -> str | None:
    """The column of what is resampled together, None for rows: queries of a ranking are units by themselves."""
    return suite.columns.unit or (suite.columns.query if suite.task == "ranking" else None)


def _unit(suite: Suite, schema: pl.Schema) -> pl.Expr | None:
    """What tells units apart; without intervals only whether there is one, for a row must not count by that."""
    name = unit_column(suite)
    if name is None or (suite.columns.unit is None and not names_queries(schema.get(name, pl.Null()))):
        return None
    hashed = unit_hash(pl.col(name), require(schema, name, "unit", ("columns", "unit")))
    return pl.col(name) if suite.uncertainty is None else hashed


def _roles(
    suite: Suite, models: dict[str, Predicted], keys: tuple[SliceKey, ...], unit: pl.Expr | None
) -> RoleColumns:
    needed = suite.valued("overall", *suite.slices)
    probability = any(metric.reads_probability for metric in needed) or any(
        curve.curve == "reliability" for curve in suite.curves
    )
    hard = frozenset(
        name
        for name, model in suite.models.items()
        if suite.task == "binary" and model.prediction is not None
    )
    needs = role_requirements(suite, needed) if suite.task == "ranking" else ()
    if suite.task == "uplift":
        needs = outcome_requirements(suite, needed)
    needs = (*needs, *repeated_requirements(suite))
    own = [need.column for need in needs]
    return RoleColumns(
        label=suite.columns.label,
        models=models,
        task=suite.task,
        positive=suite.positive,
        weight=suite.columns.weight,
        unit=unit,
        unit_name=suite.columns.unit,
        probability=frozenset(suite.models) - hard if probability else frozenset(),
        hard=hard,
        missing=suite.data.missing,
        keys=keys,
        columns=tuple(
            dict.fromkeys([*(name for metric in needed for name in metric.columns()), *own, *times_of(suite)])
        ),
        classes=classes_of(suite, models),
        treatment=suite.columns.treatment if suite.task == "uplift" else None,
        requirements=each_once([*needs, *(need for metric in needed for need in metric.requirements())]),
        made={name: expr for metric in needed for name, expr in metric.made(suite.columns.label).items()},
    )


def _check_fit_on(suite: Suite, schema: pl.Schema) -> None:
    """The conditions on the rows that calibrators are fitted on, checked on zero rows of the source."""
    collected = Collected()
    for place, calibrate in enumerate(suite.calibrate):
        path = ("calibrate", place) if len(suite.calibrate) > 1 else ("calibrate",)
        with collected.step():
            if calibrate.fit_on != BY_FOLD:
                predicate(calibrate.fit_on, schema, (*path, "fit_on"), "fit_on")
    collected.settle()


def _check_metrics(suite: Suite, schema: pl.Schema) -> None:
    """What metrics read besides the roles, checked on zero rows."""
    collected = Collected()
    for metric in suite.valued("overall", *suite.slices):
        with collected.step():
            if isinstance(metric, RowAggregate):
                check_expressions(metric, schema)
            elif metric.chosen_threshold is not None and metric.chosen_threshold.select_on is not None:
                predicate(metric.chosen_threshold.select_on, schema, ("metrics",), "select_on")
            else:
                for name in metric.columns():
                    require(schema, name, f"read by {metric.text}", _place(suite, metric))
                require_numbers(metric.requirements(), schema)
    collected.settle()


def _check_sections(suite: Suite, schema: pl.Schema, train: Source | None, reference: Source | None) -> None:
    """What optional sections name, checked on zero rows; all that is wrong is named."""
    collected = Collected()
    with collected.step():
        _extra_columns(suite, schema)
    with collected.step():
        _check_fit_on(suite, schema)
    with collected.step():
        check_leakage_columns(suite, schema, train)
    with collected.step():
        check_drift_columns(suite, schema, reference)
    with collected.step():
        check_searched_columns(suite, schema)
    with collected.step():
        check_times(suite, schema)
    collected.settle()


def _extra_columns(suite: Suite, schema: pl.Schema) -> None:
    """Columns of roles that nothing needs in this run must exist all the same."""
    collected = Collected()
    columns: dict[str, Any] = suite.columns.model_dump()
    for role, name in columns.items():
        with collected.step():
            if name is not None:
                require(schema, name, role, ("columns", role))
    collected.settle()
