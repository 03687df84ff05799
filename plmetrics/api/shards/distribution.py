"""A run whose rows are counted by a runner, unit by unit: the states of units, merged into one result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from plmetrics.api.merging import result_of_units
from plmetrics.api.shards.plans import engine_of, plan_of
from plmetrics.api.shards.unit_runs import run_units
from plmetrics.api.stopwatch import Stopwatch
from plmetrics.api.suite_run import Evaluation
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.engine.memory.budget import budget_of
from plmetrics.features.registry import features_of
from plmetrics.features.shards.coverage import missing_units, of_plan
from plmetrics.features.shards.shared_constants import counts_scores
from plmetrics.runners.choice import process_count, runner_of
from plmetrics.runs.files import names_in, place_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from plmetrics.api.result import Result
    from plmetrics.api.suite_run import RunOptions
    from plmetrics.features.shards.unit_plan import UnitPlan
    from plmetrics.suite.model import Suite
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place

STATES = "unit-states"
"""The folder beside runs that holds the states of units: a run again counts what has changed."""

_ON_GRID = (
    "metrics of the order are counted on a grid, and have a bound: exact is left out, and a runner counts units; "
    "write exact: false to say so"
)


class DistributedEvaluation(Evaluation):
    """The evaluation of a suite's file by a runner.

    Args:
        loaded: the suite.
        home: the folder of its runs.
        options: what is said of the run beside it.
        on: the runner, in place of that of the suite: its name, or an executor.
    """

    def __init__(
        self, loaded: LoadedSuite, home: Place, options: RunOptions, on: str | Executor | None = None
    ) -> None:
        super().__init__(loaded, home, options)
        self._on = on

    def result(self) -> Result | None:
        """The result of the states of all units.

        Raises:
            ConfigError: the suite asks for what no state carries, or there is no such runner.
            DataError: the data is not what the suite says.
            EnvironmentFault: a worker or a cluster cannot be used.
            UnitsMissingError: units end their workers.
        """
        suite, section = self.loaded.suite, engine_of(self.loaded)
        on = self._on or section.on
        check_distributable(suite)
        progress, watch = self.options.progress, Stopwatch(self.options.progress)
        plan = plan_of(self.loaded, watch)
        folder = (
            self.home / STATES if section.states is None else place_of(section.states, self.loaded.folder)
        )
        with watch.stage("units"), runner_of(on, section.address, section.cpus_per_task) as runner:
            outcome = run_units(
                runner, plan, plan.units, folder, progress, _memory(suite, on, len(plan.units))
            )
        missing = [unit for unit in plan.units if unit.id in outcome.crashes]
        coverage = of_plan(plan, missing, section.coverage)
        if missing and coverage.share < section.coverage:
            reasons = f": {next(iter(outcome.crashes.values()))}"
            raise missing_units([unit.text for unit in missing], len(plan.units), reasons)
        states = [outcome.receipts[unit.id].path for unit in plan.units if unit.id in outcome.receipts]
        result = result_of_units(states, coverage, watch, self.home)
        _remove_stale(folder, plan, states)
        if suite.exact is None and counts_scores(plan):
            result.record["warnings"].append(_ON_GRID)
        return replace(result, suite=suite)


def check_distributable(suite: Suite) -> None:
    """Refuse what merged states leave out, and what is evaluated night by night.

    Raises:
        ConfigError: names all of it.
    """
    problems = [
        Problem(
            f"{feature.key} is judged by a run over the rows, and a runner counts units of them",
            feature.path(suite),
            f"leave out {feature.key}, or the runner",
        )
        for feature in features_of(suite)
        if feature.merge_warning
    ]
    if "interval" in suite.sections:
        msg = "a suite with intervals reads one of them in a run, and a runner counts all units of a table"
        problems.append(Problem(msg, ("interval",), "leave out the runner: backfill --jobs N runs intervals"))
    if problems:
        raise ConfigError(problems)


def _memory(suite: Suite, on: object, units: int) -> int | None:
    """What each of several processes of this machine may take of its memory."""
    count = min(process_count(on), units) if isinstance(on, str) else 1
    return None if count == 1 else budget_of(suite) // count


def _remove_stale(folder: Place, plan: UnitPlan, states: list[str]) -> None:
    """Remove the states of units that are not in the plan: of files that were replaced."""
    for name in names_in(folder):
        is_state = name.startswith(f"{plan.name}-") and name.endswith(".state")
        if is_state and str(folder.resolve() / name) not in states:
            (folder / name).unlink(missing_ok=True)
