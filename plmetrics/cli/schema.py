"""`plmetrics schema`: the JSON Schema of suites, for editors."""

from __future__ import annotations

from plmetrics.cli.options import Debug  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import guard


def schema(debug: Debug = False) -> None:
    """Print the JSON Schema of suites, for editors."""
    with guard(debug=debug):
        from plmetrics.report.export import indented_json
        from plmetrics.suite.schema import json_schema

        write_result(indented_json(json_schema()))
