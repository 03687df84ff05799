"""Data of a run, and whether two runs cover the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite


@dataclass(frozen=True, slots=True)
class RunData:
    """The files of a run and the condition on their rows.

    `files` holds their paths and sizes, `digests` those of their content in order, None where a record lacks one.
    `interval` has the ends of the interval that the rows are of, if they are of one.
    """

    files: frozenset[tuple[str, int]]
    digests: tuple[str, ...] | None
    where: str | None = None
    interval: tuple[datetime, datetime] | None = None

    @classmethod
    def of(
        cls, files: Iterable[Mapping[str, Any]], where: str | None, interval: Mapping[str, Any] | None = None
    ) -> RunData:
        """The data of files as run.json lists them."""
        entries = list(files)
        digests = [file.get("digest") for file in entries]
        valid = [digest for digest in digests if isinstance(digest, str)]
        named = frozenset((str(file["path"]), int(file["bytes"])) for file in entries)
        digests_of_all = tuple(sorted(valid)) if len(valid) == len(entries) else None
        return cls(named, digests_of_all, where, None if interval is None else _ends(interval))

    def same_as(self, other: RunData) -> bool:
        """Whether both are the same rows of files with the same content, wherever these lie.

        Files without digests are told apart by path and size. A table that is no file is never the same.

        >>> day = RunData.of([{"path": "day.csv", "bytes": 9, "digest": "a"}], None)
        >>> day.same_as(RunData.of([{"path": "copy.csv", "bytes": 9, "digest": "a"}], None))
        True
        """
        if not self.files or not other.files or (self.where, self.interval) != (other.where, other.interval):
            return False
        files, other_files = self._comparable_files(other)
        return files == other_files

    def shared_files(self, other: RunData) -> str | None:
        """In words whether both read the same rows of files, or some of them; None where they do not."""
        if self.interval is not None and other.interval is not None:
            (start, end), (other_start, other_end) = self.interval, other.interval
            if end <= other_start or other_end <= start:
                return None
        files, other_files = map(set, self._comparable_files(other))
        if not files & other_files:
            return None
        return "the same files" if files == other_files else "some of the same files"

    def _comparable_files(self, other: RunData) -> tuple[Sequence[Any], Sequence[Any]]:
        """The files of both as they can be told apart in both."""
        if self.digests is None or other.digests is None:
            return sorted(self.files), sorted(other.files)
        return self.digests, other.digests


def condition_identity(suite: Suite) -> str | None:
    """Identity of the condition on rows: its text, or a digest for a secret one."""
    where = suite.data.where
    if where is None or not suite.has_template("data", "where"):
        return where
    return hashlib.sha256(where.encode(errors="surrogateescape")).hexdigest()[:16]


def data_of(record: Mapping[str, Any]) -> RunData:
    """The data of a run, by its record."""
    condition = record.get("where_identity") or (record.get("suite") or {}).get("data", {}).get("where")
    return RunData.of(record.get("files", ()), condition, record.get("interval"))


def _ends(interval: Mapping[str, Any]) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(interval["start"]), datetime.fromisoformat(interval["end"])
