"""The exports by name: each module is imported when a suite asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.core.names import function_of

if TYPE_CHECKING:
    from plmetrics.exports.protocol import Run


@dataclass(frozen=True, slots=True)
class Document:
    """A document about a run, whether it failed or not: its file in the run folder, and the function that writes it."""

    file: str
    function: str

    def content(self, run: Run) -> bytes:
        """The document of a run."""
        return str(function_of(self.function)(run)).encode()


DOCUMENTS = {
    "junit": Document("junit.xml", "plmetrics.exports.junit:junit_text"),
    "openmetrics": Document("metrics.prom", "plmetrics.exports.openmetrics:openmetrics_text"),
    "markdown": Document("summary.md", "plmetrics.exports.markdown:markdown_text"),
    "openlineage": Document("openlineage.ndjson", "plmetrics.exports.openlineage:openlineage_text"),
}
"""By name in `output.also`."""

TARGETS = {
    "database": "plmetrics.exports.database.target:database_target",
    "delta": "plmetrics.exports.delta_tables:delta_target",
    "mlflow": "plmetrics.exports.mlflow_run:mlflow_target",
}
"""By key in `output` the function that makes a target of it. Results are written in this order."""
