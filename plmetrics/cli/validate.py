"""`plmetrics validate`: check a suite against its data without a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.cli.options import Debug, Outcome, Settings, SuiteFile, overrides
from plmetrics.cli.terminal.console import say_warnings, write_result
from plmetrics.cli.terminal.guard import guard
from plmetrics.core.names import printable

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite


def validate(
    suite: SuiteFile, settings: Settings = None, form: Outcome = "text", debug: Debug = False
) -> None:
    """Check a suite and its columns on zero rows.

    A sample of the rows tells which of its metrics may mislead.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.api import inspection
        from plmetrics.report.export import json_text

        report = inspection.validate(suite, set=overrides(settings))
        if form == "json":
            head = {"status": "complete", "exit_code": 0, "name": report.suite.name, "folder": None}
            write_result(json_text(head | {"warnings": list(report.warnings)}))
        else:
            write_result(_text(report.suite, len(report.schema)))
        say_warnings(report.warnings)


def _text(suite: Suite, columns: int) -> str:
    from plmetrics.report.numbers import plural

    things = [
        plural(columns, "column"),
        plural(len(suite.models), "model"),
        plural(len(suite.metrics), "metric"),
        plural(len(suite.slices), "slice set"),
        plural(len(suite.gates) + sum(part.gate_count for part in suite.sections.values()), "gate"),
    ]
    return f"valid: {printable(suite.name)} ({', '.join(things)})\n"
