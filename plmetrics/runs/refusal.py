"""Record of a run with an invalid suite, so that nobody takes an older run for the latest."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import PlmetricsError
from plmetrics.runs.failure import failure_of
from plmetrics.runs.folder import RunFolder, resolve_output
from plmetrics.suite.sections.output import Output
from plmetrics.suite.yaml.document import parse_document
from plmetrics.suite.yaml.load import read_layers
from plmetrics.suite.yaml.variables import expand

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.table.storage.places import Place


def record_refusal(
    file: Path, error: PlmetricsError, output: str | Path | None, overrides: Mapping[str, Any] | None
) -> Place | None:
    """Leave a failed run folder, if the suite's name and directory can be known despite its problems.

    Returns:
        The run folder, or None: then stderr and the exit code are the only record.
    """
    with suppress(PlmetricsError):
        value = _suite_content(file, overrides) | dict(overrides or {})
        section = value.get("output")
        directory = section.get("directory") if isinstance(section, dict) else None
        directory = value.get("output.directory", Output().directory if directory is None else directory)
        name = value.get("name") or file.stem
        if not isinstance(name, str) or not isinstance(directory, str):
            return None
        name, directory = expand(name), expand(directory)
        if name is None or directory is None:
            return None
        failure = failure_of(error)
        run = RunFolder.start(resolve_output(file.parent, directory, name, output), name)
        return run.fail(failure.exit_code, failure.message, failure.problems, failure.error)
    return None


def _suite_content(file: Path, overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """Content of the suite with its defaults, or of the suite alone if the defaults are bad and not needed."""
    try:
        return read_layers(file, overrides).value
    except PlmetricsError:
        value = parse_document(file).value
        section = value.get("output")
        if not (isinstance(section, dict) and "directory" in section and "name" in value):
            raise
        return value
