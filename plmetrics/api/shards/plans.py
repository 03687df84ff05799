"""The plan of a suite's units, as schedulers read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.stopwatch import Stopwatch
from plmetrics.api.suite_files import error_places, open_rows, without_values
from plmetrics.features.shards.engine_feature import EngineSection
from plmetrics.runs.files import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plmetrics.api.stopwatch import Progress
    from plmetrics.features.shards.unit_plan import UnitFacts, UnitPlan
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.source import Source


def units(
    path: str | Path,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002
    plan: str | Path | None = None,
    constants: str | Path | None = None,
    progress: Progress | None = None,
) -> list[UnitFacts]:
    """List the units of a suite's table: files that are counted together, each into a state of its own.

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
    made = plan_of(loaded, Stopwatch(progress), None if constants is None else Path(constants))
    if plan is not None:
        made.write(place_of(plan))
    return [unit.facts() for unit in made.units]


def plan_of(
    loaded: LoadedSuite,
    watch: Stopwatch,
    constants: Path | None = None,
    opened: Callable[[Source], object] | None = None,
) -> UnitPlan:
    """The plan of a suite's units.

    `opened` is handed the rows before constants are looked up in them.
    """
    from plmetrics.features.shards.planning import plan_units

    section = engine_of(loaded)
    with without_values(loaded), error_places(loaded):
        source = open_rows(loaded)
        if opened is not None:
            opened(source)
        return plan_units(
            loaded.suite,
            source,
            watch.stage,
            variables=[name for _, name in loaded.variables.names],
            constants=constants,
            by_folder=section.unit == "folder",
            folder=loaded.folder,
        )


def engine_of(loaded: LoadedSuite) -> EngineSection:
    """Section of the engine that counts a suite's units, with defaults for what it leaves out."""
    return EngineSection.find(loaded.suite) or EngineSection()
