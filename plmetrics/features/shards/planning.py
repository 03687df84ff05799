"""Units of a suite's table, with ids to recognise their states, and their shared constants."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.aggregate.aggregation import needs_rows
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.binding.models import classes_of
from plmetrics.engine.faults import check_rows, reading
from plmetrics.engine.memory.budget import budget_of
from plmetrics.engine.memory.settings import memory_settings
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.registry import features_of
from plmetrics.features.shards.file_table import file_contents, table_content, variable_paths
from plmetrics.features.shards.unit_plan import Unit, UnitPlan, read_plan
from plmetrics.features.stored.capture import constants_content, feature_constants, keys_from_data
from plmetrics.features.stored.merging import read_state
from plmetrics.features.stored.state_of_rows import check_constants, state_of_rows
from plmetrics.features.stored.stored_state import stored_state
from plmetrics.features.stored.support import anchor_tables, check_row_identity, countable
from plmetrics.runs.record import fingerprint, fingerprint_with_values, versions
from plmetrics.states.state_format import FORMAT, PART, Head, State, frame_text
from plmetrics.suite.yaml.dump import readable, suite_content
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.features.stored.state_of_rows import Stage
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place

_ELSEWHERE = ("notify", "output", "engine", "keep")
"""Keys of a suite that workers do not read."""

_PATH = ("data", "path")
GRIDS = ("edges", "usual", "cuts")
"""The parts of a state that hold the grids that scores are counted on."""


def plan_units(
    suite: Suite,
    source: Source,
    stage: Stage,
    *,
    variables: Iterable[str] = (),
    constants: Path | None = None,
    by_folder: bool = False,
    folder: Path | None = None,
) -> UnitPlan:
    """The plan of a table's units.

    `constants` is the file of a state whose constants are taken, in place of those of all rows. With `by_folder` the
    files of a folder are one unit; each file is one else. Paths in `folder`, that of the suite, start from it. Values
    of `variables` are not written.

    Raises:
        ConfigError: the suite asks for what no state carries, or its table has no files.
        DataError: the data is not what the suite says.
    """
    check_countable(suite, source)
    names = tuple(dict.fromkeys(variables))
    suite = anchor_tables(suite, folder or Path.cwd())
    table = table_content(source) | _tables_of_features(suite, names)
    counted = countable(suite)
    shared_state = (
        shared_constants(suite, source, stage) if constants is None else _state_constants(counted, constants)
    )
    shared = _common_facts(suite, table, shared_state)
    files = file_contents(source, variable_paths(names))
    groups = _groups(files) if by_folder else ([file] for file in files)
    units = [_unit(shared, group) for group in groups]
    return UnitPlan(name=suite.name, suite=worker_suite(suite), variables=names, units=tuple(units), **shared)


def check_countable(suite: Suite, source: Source) -> None:
    """Refuse a suite or a table without counts in units.

    Raises:
        ConfigError: the suite asks for what no state carries, or its table has no files of whole rows.
    """
    if suite.data.long is not None:
        msg = "rows of one forecast may lie in several files, so that units of a long table do not add"
        raise ConfigError(Problem(msg, ("data", "long"), "write a column for each quantile"))
    table_content(source)
    countable(suite)


def _tables_of_features(suite: Suite, names: Iterable[str]) -> dict[str, Any]:
    """Files of features' tables, by key: states of other ones are not of this plan."""
    tables = {feature.key: feature.state_table(suite) for feature in features_of(suite)}
    stamps = {
        key: [
            [file["path"], file["stamp"] or file["bytes"]]
            for file in file_contents(table, variable_paths(names))
        ]
        for key, table in tables.items()
        if table is not None
    }
    return {"beside": stamps} if stamps else {}


def plan_of_rows(
    suite: Suite, table: Mapping[str, Any], constants: State | None, variables: Iterable[str]
) -> UnitPlan:
    """Plan of a table other than files: shared facts for counts of some of its rows; see `plan_units`."""
    names = tuple(dict.fromkeys(variables))
    shared = _common_facts(suite, table, constants)
    return UnitPlan(name=suite.name, suite=worker_suite(suite), variables=names, units=(), **shared)


def _common_facts(suite: Suite, table: Mapping[str, Any], constants: State | None) -> dict[str, Any]:
    """Facts common to all units of a plan."""
    counted = countable(suite)
    return {
        "fingerprint": fingerprint(counted),
        "values": fingerprint_with_values(counted),
        "versions": versions(),
        "table": table,
        "constants": None if constants is None else _constants_content(constants),
    }


def stored_plan(suite: Suite, file: Place) -> UnitPlan:
    """Stored plan of a suite.

    Raises:
        ConfigError: it was made of another suite.
        DataError: it cannot be read.
    """
    plan = read_plan(file)
    if plan.fingerprint != fingerprint(countable(suite)):
        msg = f"{shown_path(file)} is the plan of another suite, or of another --set"
        raise ConfigError(Problem(msg, hint="make it again: plmetrics units SUITE --plan FILE"))
    return plan


def _state_constants(suite: Suite, file: Path) -> State:
    """The constants in the file of a state."""
    stored = stored_state(file)
    check_constants(suite, stored)
    return constants_alone(stored.head, read_state(stored, *GRIDS).table)


def worker_suite(suite: Suite) -> dict[str, Any]:
    """Suite for workers: with the names of variables, and without paths and the handling of results."""
    sections = {key: part for key, part in suite.sections.items() if key not in _ELSEWHERE}
    texts = [text for text in suite.templates if text.path[0] not in _ELSEWHERE and text.path != _PATH]
    alone = suite.model_copy(update={"sections": sections}).with_templates(texts)
    content = readable(alone.model_dump(mode="json", exclude_defaults=True, exclude={"notify", "output"}))
    data = {key: value for key, value in content.pop("data", {}).items() if key not in {"path", "spark"}}
    return content | ({"data": data} if data else {})


def _constants_content(state: State) -> dict[str, Any]:
    return {"head": json.loads(state.head.text()), "table": frame_text(state.table)}


def _groups(files: Iterable[Mapping[str, Any]]) -> Iterable[list[Mapping[str, Any]]]:
    """The files of each folder; those of folders in it may stand between them."""
    groups: dict[PurePosixPath, list[Mapping[str, Any]]] = {}
    for file in files:
        groups.setdefault(PurePosixPath(file["name"]).parent, []).append(file)
    return groups.values()


def _unit(shared: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> Unit:
    constants = shared["constants"]
    identity = [
        FORMAT,
        shared["fingerprint"],
        shared["values"],
        {key: shared["versions"][key] for key in ("plmetrics", "polars", "hash")},
        shared["table"],
        None if constants is None else constants["head"]["constants"],
        [
            [file["name"], file["stamp"] or file["bytes"], file.get("partition")]
            + [file[key] for key in ("stored_names", "deleted") if key in file]
            for file in files
        ],
    ]
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    rows = [file["rows"] for file in files]
    return Unit(
        id=hashlib.sha256(text.encode()).hexdigest(),
        files=tuple(files),
        rows=None if None in rows else sum(rows),
        bytes=sum(file["bytes"] for file in files),
    )


def shared_constants(suite: Suite, source: Source, stage: Stage) -> State | None:
    """State without rows but with the constants of all rows; None without shared constants.

    Where scores are counted on a grid, its edges follow from all scores, and take about as long as a state of all rows.
    """
    counted = countable(suite)
    check_row_identity(counted, source)
    with stage("plan"), reading(source):
        bound = bind(counted, source)
        if not _shares_constants(bound):
            return None
        uneven = check_rows(counted.data.missing, source)
    with memory_settings(budget_of(suite)):
        with stage("constants"), reading(source):
            plan = prepare(bound)
            of_features = {} if needs_rows(plan) else feature_constants(bound, source)
        if needs_rows(plan):
            head, table = state_of_rows(suite, source, None, stage)
            return constants_alone(head, table, head.warnings)
    head = Head(
        name=counted.name,
        suite=suite_content(counted),
        fingerprint=fingerprint(counted),
        versions=versions(),
        schema=frame_text(pl.DataFrame(schema=bound.view.schema)),
        constants=constants_content(plan, keys_from_data(plan), None, of_features),
        parts=(),
        layout="",
        rows={"read": plan.rows.read},
        sets=(),
        warnings=(*uneven, *plan.warnings),
    )
    return State(head, pl.DataFrame(schema={PART: pl.UInt16}), "")


def needs_constants(suite: Suite, source: Source) -> bool:
    """Whether states of some of the rows must share constants; no row is read."""
    counted = countable(suite)
    check_row_identity(counted, source)
    with reading(source):
        return _shares_constants(bind(counted, source, classes=()))


def constants_alone(head: Head, table: pl.DataFrame, warnings: tuple[str, ...] = ()) -> State:
    """Constants of a state, and the parts of its grids; `warnings` are those of the rows to be counted."""
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
    """Whether constants of one unit's rows would differ from those of all."""
    suite = bound.suite
    return (
        suite.reproducible
        or bool(suite.calibrate)
        or (suite.baseline and suite.task not in {"ranking", "uplift"})
        or any(feature.shares_constants for feature in features_of(suite))
        or any(key.waits for key in bound.view.roles.keys)
        or bound.chooses_thresholds
        or bool(bound.scores or bound.ranks or suite.row_curves or suite.bin_curves)
        or (suite.task == "multiclass" and not classes_of(suite, bound.view.roles.models))
    )
