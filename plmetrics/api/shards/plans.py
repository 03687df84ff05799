"""Plans of the units of a table, and the states of units, written by a runner or here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.api.suite_files import error_places, open_rows, without_values
from plmetrics.core.errors import CallError, Problem
from plmetrics.features.shards.engine_feature import EngineSection
from plmetrics.features.shards.planning import plan_units, stored_plan
from plmetrics.features.shards.unit_plan import PLAN, TASK, balanced_shard, read_shard
from plmetrics.features.shards.unit_states import UnitJob, UnitReceipt
from plmetrics.runners.choice import runner_of
from plmetrics.runners.progress import UnitProgress
from plmetrics.runners.protocol import Crash, Runner, RunnerTask
from plmetrics.runs.files import place_of, remove_temporary

if TYPE_CHECKING:
    from os import PathLike

    from plmetrics.features.shards.unit_plan import Unit, UnitFacts, UnitPlan
    from plmetrics.suite.model import Suite
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place


def units(
    path: str | Path,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002
    plan: str | Path | None = None,
    constants: str | Path | None = None,
    progress: Progress | None = None,
) -> list[UnitFacts]:
    """List the units of a suite's table: groups of files for a state each.

    Args:
        path: the suite.
        set: suite keys to replace, dotted.
        plan: a file for the plan, which holds the units and the constants that their states share.
        constants: the file of a state whose constants are taken; those of all rows are looked up if not given, where
            the suite needs any.
        progress: called with the name of each stage as it begins.

    Returns:
        By unit `id`, `files`, `rows` (null where the files do not say) and `bytes`.

    Raises:
        ConfigError: the suite is wrong, or asks for what no state carries.
        DataError: the data is not what the suite says.
        EnvironmentFault: the plan cannot be written.
    """
    from plmetrics.suite.yaml.load import load_suite

    loaded = load_suite(Path(path), set or {})
    unit_plan = plan_of(loaded, Stopwatch(progress), None if constants is None else Path(constants))
    if plan is not None:
        unit_plan.write(place_of(plan))
    return [unit.facts() for unit in unit_plan.units]


def plan_of(loaded: LoadedSuite, watch: Stopwatch, constants: Path | None = None) -> UnitPlan:
    """The plan of a suite's units."""
    section = engine_of(loaded.suite)
    with without_values(loaded), error_places(loaded):
        return plan_units(
            loaded.suite,
            open_rows(loaded),
            watch.stage,
            variables=[name for _, name in loaded.variables.names],
            constants=constants,
            by_folder=section.unit == "folder",
            folder=loaded.folder,
        )


def engine_of(suite: Suite) -> EngineSection:
    """Engine section of a suite's units, with its defaults."""
    return EngineSection.find(suite) or EngineSection()


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """Outcome of units: receipts by id, and crashed ones, with the reason."""

    receipts: Mapping[str, UnitReceipt]
    crashes: Mapping[str, str]


def unit_states(
    path: str | Path,
    output: str | PathLike[str] | None = None,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002
    shard: str | None = None,
    unit: str | None = None,
    plan: str | Path | None = None,
    constants: str | Path | None = None,
    progress: Progress | None = None,
) -> list[Place]:
    """Write the states of some units of a suite's table, and the plan beside them; existing ones are left alone.

    Args:
        path: the suite.
        output: the folder; `states` beside the suite if not given.
        set: suite keys to replace, dotted.
        shard: which part of the units, such as 3/8: the third of eight parts of about the same size.
        unit: the id of one unit, or its beginning; all units if neither is given.
        plan: the file of a plan; it is made anew if not given, and is the same then.
        constants: the file of a state whose constants are taken, where the plan is made anew.
        progress: called with the name of each stage as it begins.

    Returns:
        The files of the states.

    Raises:
        ConfigError: the suite is wrong, or the plan is of another; or there is no such unit.
        DataError: the data is not what the suite says, or changed since the plan was made.
        EnvironmentFault: a state cannot be written.
    """
    from plmetrics.suite.yaml.load import load_suite

    if shard is not None and unit is not None:
        raise CallError(Problem("shard and unit both say which units", hint="leave out one of them"))
    loaded, watch = load_suite(Path(path), set or {}), Stopwatch(progress)
    part = None if shard is None else read_shard(shard)
    if plan is not None and constants is not None:
        raise CallError(Problem("a plan has its constants", hint="leave out one of plan and constants"))
    unit_plan = (
        plan_of(loaded, watch, None if constants is None else Path(constants))
        if plan is None
        else stored_plan(loaded.suite, place_of(plan))
    )
    chosen = list(unit_plan.units)
    if unit is not None:
        chosen = [unit_plan.unit(unit)]
    elif part is not None:
        chosen = balanced_shard(unit_plan.units, *part)
    folder = loaded.folder / "states" if output is None else output
    with without_values(loaded), error_places(loaded), runner_of("inline") as runner:
        outcome = run_units(runner, unit_plan, chosen, folder, progress)
    return [place_of(outcome.receipts[item.id].path) for item in chosen]


def run_units(
    runner: Runner,
    plan: UnitPlan,
    units: Sequence[Unit],
    folder: str | PathLike[str],
    progress: Progress | None,
    memory: int | None = None,
    *,
    durable: bool = True,
) -> UnitOutcome:
    """Write the states of some units of a plan, and the plan beside them.

    A worker may take `memory` bytes; what the suite or the machine has, if not given. `durable` waits until each state
    is on the disk.

    Raises:
        ConfigError: a worker lacks what the suite names.
        DataError: the data is not what the suite says.
        EnvironmentFault: a state cannot be written.
    """
    folder = place_of(folder).resolve()
    plan.write(folder / PLAN)
    remove_temporary(folder)
    by_id = {unit.id: unit for unit in units}
    size, noun = sum(map(plan.size_of, units)), plan.size[1]
    counted = UnitProgress(len(units), size, noun, progress)
    receipts: dict[str, UnitReceipt] = {}
    crashes: dict[str, str] = {}
    jobs = [
        RunnerTask(unit.id, UnitJob(str(folder / PLAN), unit.id, str(folder), memory, durable).text())
        for unit in sorted(units, key=lambda unit: (-unit.bytes, unit.id))  # the last ones are short
    ]
    for item in runner.map(TASK, jobs):
        if isinstance(item, Crash):
            crashes[item.name] = f"{item.reason}, {item.attempts} times"
            continue
        receipts[item.name] = UnitReceipt.read(item.text)
        counted.add(plan.size_of(by_id[item.name]), again=receipts[item.name].again)
    return UnitOutcome(receipts, crashes)
