"""`plmetrics validate`: check a suite against its data without reading rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.cli.console import write_result
from plmetrics.cli.guard import guarded
from plmetrics.cli.options import Debug, Settings, SuiteFile, overrides

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite


def validate(suite: SuiteFile, settings: Settings = None, debug: Debug = False) -> None:
    """Check a suite and its columns, without reading rows."""
    with guarded(debug=debug):
        from plmetrics import api

        report = api.validate(suite, set=overrides(settings))
        write_result(_text(report.suite, len(report.schema)))


def _text(suite: Suite, columns: int) -> str:
    from plmetrics.report.layout import printable
    from plmetrics.report.numbers import plural

    things = [
        plural(columns, "column"),
        plural(len(suite.models), "model"),
        plural(len(suite.metrics), "metric"),
        plural(len(suite.slices), "slice set"),
        plural(len(suite.gates), "gate"),
    ]
    return f"valid: {printable(suite.name)} ({', '.join(things)})\n"
