"""The constants that states of units must share, looked up in all rows once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.engine.aggregate.aggregation import needs_rows
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.binding.models import classes_of
from plmetrics.engine.faults import check_rows, reading
from plmetrics.engine.memory.budget import budget_of
from plmetrics.engine.memory.settings import memory_settings
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.registry import features_of
from plmetrics.features.stored.capture import feature_constants, said_of, settled_keys
from plmetrics.features.stored.state_of_rows import state_of_rows
from plmetrics.features.stored.support import check_units, countable
from plmetrics.runs.record import fingerprint, versions
from plmetrics.states.state_format import PART, Head, State, frame_text
from plmetrics.suite.yaml.dump import suite_content

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.features.shards.unit_plan import UnitPlan
    from plmetrics.features.stored.state_of_rows import Stage
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

GRIDS = ("edges", "usual", "cuts")
"""The parts of a state that hold the grids that scores are counted on."""


def shared_constants(suite: Suite, source: Source, stage: Stage) -> State | None:
    """A state without rows that holds the constants of all rows; None where states need to share none.

    Where scores are counted on a grid, its edges follow from all scores, and take about as long as a state of all rows.

    Raises:
        ConfigError: the suite asks for what no state carries.
        DataError: the data is not what the suite says.
    """
    counted = countable(suite)
    check_units(counted, source)
    with stage("plan"), reading(source):
        bound = bind(counted, source)
        if not _shares_constants(bound):
            return None
        uneven = check_rows(counted.data.missing, source)
    with memory_settings(budget_of(suite)):
        with stage("constants"), reading(source):
            prepared = prepare(bound)
            of_features = {} if needs_rows(prepared) else feature_constants(bound, source)
        if needs_rows(prepared):
            head, table = state_of_rows(suite, source, None, stage)
            return constants_alone(head, table, head.warnings)
    head = Head(
        name=counted.name,
        suite=suite_content(counted),
        fingerprint=fingerprint(counted),
        versions=versions(),
        schema=frame_text(pl.DataFrame(schema=bound.view.schema)),
        constants=said_of(prepared, settled_keys(prepared), None, of_features),
        parts=(),
        layout="",
        rows={"read": prepared.rows.read},
        sets=(),
        warnings=(*uneven, *prepared.warnings),
    )
    return State(head, pl.DataFrame(schema={PART: pl.UInt16}), "")


def needs_constants(suite: Suite, source: Source) -> bool:
    """Whether states of some of the rows must share constants; no row is read.

    Raises:
        ConfigError: the suite asks for what no state carries.
        DataError: the data is not what the suite says.
    """
    counted = countable(suite)
    check_units(counted, source)
    with reading(source):
        return _shares_constants(bind(counted, source))


def constants_alone(head: Head, table: pl.DataFrame, warnings: tuple[str, ...] = ()) -> State:
    """The constants of a state, and the parts that hold its grids; `warnings` are those of the rows to be counted."""
    numbers = head.numbers(*GRIDS)
    names = dict.fromkeys([PART, *(name for part in numbers.values() for name in part.columns)])
    places = {number: place for place, number in enumerate(numbers)}
    rows = table.filter(pl.col(PART).is_in(list(numbers))).select(
        pl.col(PART).replace_strict(places, return_dtype=pl.UInt16), *(name for name in names if name != PART)
    )
    return State(
        replace(head, parts=tuple(numbers.values()), files=(), warnings=warnings, drift=None), rows, ""
    )


def counts_scores(plan: UnitPlan) -> bool:
    """Whether the states of a plan's units count scores on a grid."""
    return plan.constants is not None and plan.constants["head"]["constants"]["grid"] is not None


def _shares_constants(bound: Request) -> bool:
    """Whether what is found in the rows of one unit would be another than what is found in those of all."""
    suite = bound.suite
    return (
        suite.reproducible
        or bool(suite.calibrate)
        or (suite.baseline and suite.task not in {"ranking", "uplift"})
        or any(feature.shares_constants for feature in features_of(suite))
        or any(key.waits for key in bound.view.roles.keys)
        or any(metric.chosen_threshold is not None for metric in bound.leaves)
        or bool(bound.scores or bound.ranks or suite.row_curves or suite.bin_curves)
        or (suite.task == "multiclass" and not classes_of(suite, bound.view.roles.models))
    )
