"""`plmetrics init`: a first suite for a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from plmetrics.cli.options import Debug, LabelColumn, ReplaceFile, ScoreColumns  # noqa: TC001 (typer reads them)
from plmetrics.cli.terminal.console import say, shown_path, write_result
from plmetrics.cli.terminal.guard import guard, refuse_existing
from plmetrics.cli.terminal.progress import Progress


def init(
    data: Annotated[str, Argument(metavar="DATA", help="A file, folder or glob of predictions.")],
    label: LabelColumn = None,
    score: ScoreColumns = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the suite there.", readable=False)
    ] = None,
    force: ReplaceFile = False,
    debug: Debug = False,
) -> None:
    """Write a first suite for a table.

    Task, label, scores, weight, unit, slices and metrics are guessed from names, types and values, with the reason
    of each guess beside it. Without --output, the suite is printed, with paths as seen from here.
    """
    with guard(debug=debug):
        from plmetrics.features.advice import suggestion

        if output is not None:
            refuse_existing(output, force=force)
        folder = Path.cwd() if output is None else output.resolve().parent
        with Progress(sys.stderr) as progress:
            progress("look at the table")
            text = suggestion.starter(data, folder, label, tuple(score or ()))
        if output is None:
            write_result(text)
        else:
            _write(output, text)
            say(f"written: {shown_path(output)}; plmetrics run {shown_path(output)} runs it")


def _write(output: Path, text: str) -> None:
    from plmetrics.runs.files import environment_faults, write_atomic

    with environment_faults("the suite cannot be written"):
        write_atomic(output, text.encode())
