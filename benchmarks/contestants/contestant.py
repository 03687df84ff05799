"""What a contestant is: work to time, and what it found, to compare with the others."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Values = dict[str, tuple[float, float]]
"""What was found: `model metric slice` -> value, and by how much it may be off besides rounding."""


def as_they_are(found: Values) -> Values:
    """What was found is named already."""
    return found


def nothing(found: Any) -> dict[str, Any]:  # noqa: ARG001
    """Say nothing of what was found."""
    return {}


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to do a scenario's work.

    `load` takes the folder of parquet and makes, before the clock starts, what `work` is given. `values` says what
    was found, `facts` what else is worth telling. `given` says in words what was there when the clock started.
    `packages` are what it needs besides the project.
    """

    name: str
    given: str
    load: Callable[[Path], Any]
    work: Callable[[Any], Any]
    values: Callable[[Any], Values] = nothing
    facts: Callable[[Any], Mapping[str, Any]] = nothing
    packages: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [package for package in self.packages if importlib.util.find_spec(package) is None]


def with_bytecode(folder: Path) -> Path:
    """The table, for processes that find modules compiled, as those of an installed package are.

    The warm-up writes the bytecode beside the tables where the environment forbids it elsewhere.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(folder.with_name("bytecode")))
    return folder
