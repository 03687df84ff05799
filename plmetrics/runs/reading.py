"""Reading a run that has ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.runs.folder import LATEST, RECORD, table_file

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder that was read: its record, and its tables on request."""

    folder: Path
    record: dict[str, Any]

    def table(self, name: str) -> pl.DataFrame:
        """One result table; a failed run has none.

        Raises:
            DataError: the table is absent or cannot be read.
        """
        path = self.folder / table_file(name)
        try:
            return pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(Problem(f"{path} cannot be read: {error}")) from error


def read_run(folder: Path) -> StoredRun:
    """Read a run folder, or the latest run of a suite's folder.

    A folder whose tables are not all there, of the size its record says, is refused.

    Raises:
        DataError: it is not a run that has ended.
    """
    pointer = folder / LATEST
    if pointer.is_file():
        folder = folder / str(_json(pointer).get("folder"))
    record = _json(folder / RECORD)
    if record.get("status") not in {"complete", "failed"} or folder.name.endswith(".partial"):
        hint = "it is still running, or was killed"
        raise DataError(Problem(f"{folder} is not a run that has ended", hint=hint))
    for name, facts in record.get("tables", {}).items():
        path = folder / table_file(name)
        if not path.is_file() or path.stat().st_size != facts["bytes"]:
            raise DataError(Problem(f"{path} is absent or not as it was written"))
    return StoredRun(folder, record)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(Problem(f"{path} cannot be read: {error}")) from error
    if not isinstance(content, dict):
        raise DataError(Problem(f"{path} is not a record of a run"))
    return content
