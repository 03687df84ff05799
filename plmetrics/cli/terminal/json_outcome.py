"""Output of `--format json` where a command fails: one JSON object, as on success."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.core.errors import Problem
    from plmetrics.runs.failure import Failure


def failure_json(failure: Failure) -> str:
    """The failure as a JSON object: its exit code, its problems with place and hint, and the run folder if any."""
    from plmetrics.report.export import json_text

    return json_text(
        {
            "status": "failed",
            "exit_code": failure.exit_code,
            "error": failure.error,
            "message": failure.message,
            "problems": [_entry(problem) for problem in failure.problems],
            "warnings": list(failure.warnings),
            "folder": None if failure.folder is None else str(failure.folder),
        }
    )


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; it need not be valid otherwise.

    >>> wants_json(["run", "--unknown", "--format", "json"]), wants_json(["run", "--format=json"]), wants_json(["json"])
    (True, True, False)
    """
    pairs = itertools.pairwise(arguments)
    return "--format=json" in arguments or any(pair == ("--format", "json") for pair in pairs)


def _entry(problem: Problem) -> dict[str, Any]:
    return {
        "message": problem.message,
        "where": None if problem.where is None else asdict(problem.where),
        "path": list(problem.path),
        "hint": problem.hint,
    }
