"""`plmetrics schema`: the JSON Schema of suites, for editors."""

from __future__ import annotations

from plmetrics.cli.options import Debug  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import guard


def schema(debug: Debug = False) -> None:
    """Print the JSON Schema of suites, for editors."""
    with guard(debug=debug):
        import json

        from plmetrics.suite.schema import json_schema

        write_result(json.dumps(json_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
