"""Run with its rows counted by a runner, unit by unit: the states of units, merged into one result."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.context import check_distributable, check_feature_counts, feature_counts
from plmetrics.api.shards.plans import engine_of
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.api.suite_files import open_rows
from plmetrics.api.suite_run import Evaluation, RunOptions
from plmetrics.core.errors import call_errors, errors_at
from plmetrics.engine.memory.budget import budget_of
from plmetrics.features.shards.planning import check_countable, plan_units
from plmetrics.features.shards.unit_plan import TASK, UnitPlan
from plmetrics.runners.choice import On, process_count, runner_of
from plmetrics.runs.files import names_in, place_of
from plmetrics.runs.history.earlier_runs import EarlierRuns

if TYPE_CHECKING:
    from plmetrics.api.result import Result
    from plmetrics.features.shards.engine_feature import EngineSection
    from plmetrics.suite.model import Suite
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place

STATES = "unit-states"
"""The folder beside runs that holds the states of units: a run again counts what has changed."""

_CRASHED = (
    "a process that takes too much memory is killed: take fewer processes; or let the result rest on the other units: "
    "engine: {coverage: 0.9}"
)
_ON_GRID = (
    "metrics of the order are counted on a grid, and have a bound: exact is left out, and a runner counts units; "
    "write exact: false to say so"
)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of the units of a table: where they are counted, and where their states lie.

    `on` is the runner in place of that of the section, `home` the folder of the suite's runs, if it has one; relative
    paths start from `base`, and values of `variables` are not written.
    """

    section: EngineSection
    on: On | None
    folder: Place
    home: Place | None = None
    progress: Progress | None = None
    base: Path | None = None
    variables: tuple[str, ...] = ()

    def result(self, suite: Suite, rows: Callable[[], Source]) -> Result:
        """The result of the states of all units.

        Workers begin once the rows are opened, while constants are looked up in them.

        Raises:
            ConfigError: the suite asks for what no state carries, or there is no such runner.
            DataError: the data is not what the suite says.
            EnvironmentFault: a worker or a cluster cannot be used.
            UnitsMissingError: units end their workers.
        """
        check_distributable(suite)
        on, section, watch = self.on or self.section.on, self.section, Stopwatch(self.progress)
        counts = partial(feature_counts, suite, base=self.base)
        with ExitStack() as stack:
            with errors_at("engine", "on") if self.on is None else call_errors("on"):
                runner = stack.enter_context(runner_of(on, section.address, section.cpus_per_task))

            source = rows()
            _check_references(suite, source, counts(EarlierRuns.of(suite, (), self.home)))
            runner.begin(TASK, len(source.files))
            plan = plan_units(
                suite,
                source,
                watch.stage,
                variables=self.variables,
                by_folder=section.unit == "folder",
                folder=self.base,
            )
            from plmetrics.api.merging import result_of_units
            from plmetrics.api.shards.plans import run_units
            from plmetrics.features.shards.coverage import missing_units, of_plan
            from plmetrics.features.shards.planning import counts_scores

            with watch.stage("units"):
                memory = _memory(suite, on, len(plan.units))
                outcome = run_units(
                    runner, plan, plan.units, self.folder, self.progress, memory, durable=False
                )
        missing = [unit for unit in plan.units if unit.id in outcome.crashes]
        coverage = of_plan(plan, missing, section.coverage)
        if missing and coverage.share < section.coverage:
            reasons = f": {next(iter(outcome.crashes.values()))}"
            raise missing_units([unit.text for unit in missing], len(plan.units), reasons, _CRASHED)
        states = [outcome.receipts[unit.id].path for unit in plan.units if unit.id in outcome.receipts]
        result = result_of_units(states, coverage, watch, self.home, counts, source)
        _remove_stale(self.folder, plan, states)
        if suite.exact is None and counts_scores(plan):
            result.record["warnings"].append(_ON_GRID)
        return replace(result, suite=suite)


class DistributedEvaluation(Evaluation):
    """The evaluation of a suite's file by a runner.

    `on` is the runner, in place of that of the suite: its name, an executor or a client of Dask.
    """

    def __init__(self, loaded: LoadedSuite, home: Place, options: RunOptions, on: On | None = None) -> None:
        super().__init__(loaded, home, options)
        self._on = on

    def result(self) -> Result | None:
        """The result of the states of all units; see `Distribution`."""
        loaded, section = self.loaded, engine_of(self.loaded.suite)
        folder = self.home / STATES if section.states is None else place_of(section.states, loaded.folder)
        distribution = Distribution(
            section,
            self._on,
            folder,
            self.home,
            self.options.progress,
            loaded.folder,
            tuple(name for _, name in loaded.variables.names),
        )
        return distribution.result(loaded.suite, partial(open_rows, loaded))


def evaluate_units(suite: Suite, source: Source, on: On | None) -> Result:
    """The result of a table of files by a runner; the states of units go with it, unless the suite names a folder.

    Raises:
        ConfigError: the suite asks for what no state carries, or its table has no files.
        DataError: the data is not what the suite says.
        EnvironmentFault: a worker or a cluster cannot be used.
        UnitsMissingError: units end their workers.
    """
    section = engine_of(suite)
    if section.states is not None:
        return Distribution(section, on, place_of(section.states)).result(suite, lambda: source)
    with tempfile.TemporaryDirectory(prefix="plmetrics-units-") as folder:
        return Distribution(section, on, Path(folder)).result(suite, lambda: source)


def check_distribution(suite: Suite, source: Source) -> None:
    """Refuse a suite or a table without counts by a runner; no row is read.

    Raises:
        ConfigError: it asks for what merged states leave out, or the table has no files.
    """
    check_distributable(suite)
    check_countable(suite, source)


def _check_references(suite: Suite, source: Source, counts: Mapping[str, object]) -> None:
    """Check the references of gates before units are counted."""
    if counts:
        from plmetrics.engine.binding.bind import bind

        check_feature_counts(bind(suite, source), counts)


def _memory(suite: Suite, on: object, units: int) -> int | None:
    """Memory of this machine for each of several processes."""
    count = min(process_count(on), units) if isinstance(on, str) else 1
    return None if count == 1 else budget_of(suite) // count


def _remove_stale(folder: Place, plan: UnitPlan, states: list[str]) -> None:
    """Remove the states of units outside the plan: of replaced files."""
    for name in names_in(folder):
        is_state = name.startswith(f"{plan.name}-") and name.endswith(".state")
        if is_state and str(folder.resolve() / name) not in states:
            (folder / name).unlink(missing_ok=True)
