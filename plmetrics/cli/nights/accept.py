"""`plmetrics accept`: let a result be a reference although gates failed."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from plmetrics.cli.options import Debug, RunPath  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import guard, usage


def accept(
    run: RunPath,
    because: Annotated[str, Option("--because", metavar="TEXT", help="Why it is to count.")],
    by: Annotated[
        str | None,
        Option("--by", metavar="NAME", help="Name of the person who accepts it; the user if not given."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Accept the result of an interval although gates failed.

    It may then be a reference of later intervals. Who says so, and why, is recorded, and shown in the history.
    """
    with guard(debug=debug):
        from plmetrics.api.nights.acceptance import accept as accept_run
        from plmetrics.core.names import printable

        with usage():
            manifest = accept_run(run, because, by)
        assert manifest.accepted is not None
        words = (
            f"{manifest.interval}: {manifest.run} ({manifest.verdict}) is accepted by {manifest.accepted.by}"
        )
        write_result(f"{printable(words)}\n")
