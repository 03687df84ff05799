"""`plmetrics units`: list the units of a suite's table, for schedulers."""

from __future__ import annotations

import sys
from typing import Annotated

from typer import Option

from plmetrics.cli.options import ConstantsFile, Debug, PlanFile, Settings, SuiteFile, overrides
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.progress import Progress


def units(
    suite: SuiteFile,
    plan: PlanFile = None,
    settings: Settings = None,
    constants: ConstantsFile = None,
    debug: Debug = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """List the units of a table, each a state of its own.

    A line of JSON a unit: its id, files, rows (null where files do not say) and bytes. With --plan the units are also
    written to a file, with the constants that their states share: quantile edges, thresholds, the grid of scores. Any
    scheduler runs `plmetrics state SUITE --plan FILE --shard 3/8` or `--unit ID`, and in the end `plmetrics merge`.
    """
    with guard(debug=debug):
        from plmetrics.api.shards import plans
        from plmetrics.report.export import json_line

        with Progress(sys.stderr, quiet=quiet) as progress:
            listed = plans.units(
                suite, set=overrides(settings), plan=plan, constants=constants, progress=progress
            )
        write_result("".join(json_line(unit) for unit in listed))
