"""Paths that exports may write to: below the suite's folder, or those that the operator's environment allows."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import is_path

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.yaml.load import LoadedSuite


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
    if chosen.is_absolute() and "${" in _suite_text(loaded, path):
        return chosen
    place = (loaded.folder / chosen).resolve()
    if not place.is_relative_to(loaded.folder.resolve()):
        hint = "name a path under the suite's folder, or give an absolute one by a variable: ${VAR}/..."
        raise ConfigError(Problem(f"the path {text!r} leads out of the suite's folder", path, hint))
    return place


def _suite_text(loaded: LoadedSuite, path: SuitePath) -> str:
    """A text as the suite's file has it where variables are replaced in it; else an empty one."""
    return next((template.text for template in loaded.suite.templates if template.path == path), "")
