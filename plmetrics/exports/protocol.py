"""Protocol of exports: their inputs, their calls, and their paths."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import SuitePath, is_path
from plmetrics.runs.failure import SKIPPED
from plmetrics.runs.folder import moment_of

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.storage.places import Place


@dataclass(frozen=True, kw_only=True)
class EndedRun:
    """Ended run.

    Attributes:
        name: name of the suite.
        base: the folder that its paths are relative to.
        folder: the run folder.
        record: what run.json says.
        suite: the suite as it was written, variables by their names.
        result: tables and verdict; None where the run failed.
    """

    name: str
    base: Path
    folder: Place
    record: Mapping[str, Any]
    suite: Mapping[str, Any] = field(default_factory=dict)
    result: Outcome | None = None

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.record["run_id"])

    @property
    def verdict(self) -> str:
        """Verdict of the gates together, `error` where the run failed, `skipped` where there was no data."""
        if self.result is not None:
            return self.result.verdict
        return "skipped" if self.record.get("exit_code") == SKIPPED else "error"

    @cached_property
    def interval(self) -> tuple[datetime, datetime] | None:
        """Start and end of the run's interval, in UTC; None for a run without one."""
        stated = self.record.get("interval")
        return None if stated is None else (moment_of(stated["start"]), moment_of(stated["end"]))

    @property
    def key(self) -> str:
        """Identity of its results among others of the suite: the interval, or else the run's id."""
        if self.interval is None:
            return self.run_id
        return "/".join(f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in self.interval)

    @property
    def start(self) -> datetime:
        """Start time of the run."""
        return moment_of(self.record["started"])

    @property
    def end(self) -> datetime:
        """End time of the run."""
        return moment_of(self.record["finished"])


class Target(Protocol):
    """Place for results of complete run folders."""

    @property
    def description(self) -> str:
        """Name in messages, without a password."""

    def write(self, run: EndedRun) -> None:
        """Write the results of a complete run.

        Raises:
            EnvironmentFault: they are not there, or not all of them.
        """


def output_path(loaded: LoadedSuite, text: str, path: SuitePath) -> Path:
    """A path of the section `output`, relative to the suite's folder.

    `text` has its variables replaced; `path` is where the suite says so.

    Raises:
        ConfigError: it leads out of the suite's folder, and is not an absolute path given by a variable.
    """
    chosen = Path(text)
    with suppress(RuntimeError):
        chosen = chosen.expanduser()
    if not is_path(str(chosen)) or "://" in text:
        raise ConfigError(Problem("this cannot be a path on a local disk", path))
    written = (template.text for template in loaded.suite.templates if template.path == path)
    if chosen.is_absolute() and "${" in next(written, ""):
        return chosen
    place = (loaded.folder / chosen).resolve()
    if not place.is_relative_to(loaded.folder.resolve()):
        hint = "name a path under the suite's folder, or give an absolute one by a variable: ${VAR}/..."
        raise ConfigError(Problem(f"the path {text!r} leads out of the suite's folder", path, hint))
    return place
