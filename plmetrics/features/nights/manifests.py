"""Manifests of intervals: each lists the files of one result with their hashes, and is never written again.

`<home>/intervals/<interval>/000001.json` is the first result of an interval, the file of the highest number the one
that counts. Another run, an acceptance by a person, or files that were removed are one more manifest. A manifest is
created with all of its content at once, which fails where another writer was first: so readers see whole manifests
only, and writers lose none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import read_faults
from plmetrics.runs.documents import Shape, misfit
from plmetrics.runs.files import (
    content_of,
    create,
    environment_faults,
    json_bytes,
    make_directory,
    names_in,
    remove_temporary,
    sizes_in,
)

if TYPE_CHECKING:
    from plmetrics.features.nights.calendar import Interval
    from plmetrics.table.storage.places import Place

INTERVALS = "intervals"
SCHEMA_VERSION = 1

_NAME = re.compile(r"\d{6,}\.json", re.ASCII)
_HASHED_BY_RECORD = ".parquet"
_SHAPE: Shape = {
    "schema_version!": int,
    **dict.fromkeys(("interval!", "start!", "end!", "timezone!", "run!", "verdict!"), str),
    **dict.fromkeys(("fingerprint!", "data!", "references!"), str),
    **dict.fromkeys(("exit_code!", "rows!"), int),
    "files!": {str: {"bytes!": int, "sha256!": str}},
    **dict.fromkeys(("times", "tables", "candidates"), str),
    **dict.fromkeys(("awaits_labels", "lacks_labels"), bool),
    "accepted!": ({"because!": str, "by!": str, "at!": str}, None),
}


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A person's acceptance of a result with failed gates: reason, name and time."""

    because: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """One result of one interval.

    Attributes:
        interval: its name.
        start: its first moment in ISO 8601.
        end: the first moment after it.
        timezone: that of its calendar.
        run: the id of the run, which is the name of its folder.
        verdict: what the gates say together.
        exit_code: the exit code of the run.
        fingerprint: the hash of what the suite asks for, with the values of variables.
        data: the hash of the files that were read, or of the rows that a column says to be of the interval.
        references: the hash of what it was compared with.
        times: the hash of when the files were written; empty where `data` is of rows.
        tables: the hash of the files that features read beside the rows; empty without any.
        candidates: the hash of the manifests among which the references were chosen; empty where one cannot be read.
        rows: rows that were read.
        files: by path below the home their size and SHA-256.
        awaits_labels: whether rows had no label that was still to come.
        lacks_labels: whether labels were due, and too few rows had one.
        accepted: by whom it was accepted; None where nobody had to.
        sequence: its number among the manifests of the interval; 0 where it is not written yet.
    """

    interval: str
    start: str
    end: str
    timezone: str
    run: str
    verdict: str
    exit_code: int
    fingerprint: str
    data: str
    references: str
    rows: int
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    times: str = ""
    tables: str = ""
    candidates: str = ""
    awaits_labels: bool = False
    lacks_labels: bool = False
    accepted: Acceptance | None = None
    sequence: int = 0

    @property
    def is_accepted(self) -> bool:
        """Whether it may be the reference of others."""
        return self.verdict != "fail" or self.accepted is not None

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """Its first moment, and the first after it."""
        return datetime.fromisoformat(self.start), datetime.fromisoformat(self.end)

    def of(self, interval: Interval) -> bool:
        """Whether it is of the interval by its start and end: one of equal name may be of another time zone."""
        return self.moments == (interval.start, interval.end)

    @staticmethod
    @lru_cache(maxsize=4096)
    def read(content: bytes, sequence: int) -> Manifest | None:
        """A manifest from its file, which many later intervals read again; None where it is none."""
        with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            fields = json.loads(content)
            if misfit(fields, _SHAPE) is not None or not _names_one_folder(fields["run"], fields["files"]):
                return None
            accepted = fields.pop("accepted")
            known = {name: fields[name] for name in Manifest.__slots__ if name in fields}
            manifest = Manifest(**known | {"sequence": sequence})
            first, after = manifest.moments
            if first >= after:
                return None
            return replace(manifest, accepted=None if accepted is None else Acceptance(**accepted))
        return None

    def content(self) -> bytes:
        """Content of its file."""
        return json_bytes({"schema_version": SCHEMA_VERSION, **asdict(self)})


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of a suite's intervals; `home` is the folder of its runs."""

    home: Place

    def interval_keys(self) -> list[str]:
        """Names of the intervals with manifests, in their order."""
        with environment_faults("the intervals cannot be listed"), suppress(FileNotFoundError):
            names = names_in(self.home / INTERVALS)
            return sorted(name for name in names if not name.startswith("."))
        return []

    def is_empty(self, key: str) -> bool:
        """Whether nothing was ever written of an interval: its folder remains of a killed run."""
        return not _names(self.home / INTERVALS / key)

    def current(self, key: str) -> Manifest | None:
        """Manifest in force of an interval; None without one."""
        return next(self.latest_first(key), None)

    def current_of(self, keys: Sequence[str]) -> list[Manifest]:
        """Manifests in force of some intervals, in their order; of a bucket several are read at once."""
        there = set(self.interval_keys())  # One listing tells which need none.
        known = [key for key in keys if key in there]
        if isinstance(self.home, Path):
            manifests = list(map(self.current, known))
        else:
            from plmetrics.table.storage.objects import at_once

            manifests = at_once(self.current, known)
        return [manifest for manifest in manifests if manifest is not None]

    def latest_first(self, key: str) -> Iterator[Manifest]:
        """Manifests of an interval, the last one first, without invalid ones."""
        folder = self.home / INTERVALS / key
        for name in reversed(_names(folder)):
            with suppress(OSError):
                manifest = Manifest.read(content_of(folder / name), _number(name))
                if manifest is not None and manifest.interval == key:
                    yield manifest

    def commit(self, manifest: Manifest) -> Manifest:
        """Write a manifest with the next number of its interval: from then on it counts."""
        committed = self._commit(manifest, None)
        assert committed is not None
        return committed

    def change(self, manifest: Manifest, **changes: Any) -> Manifest | None:
        """Write a manifest anew with some fields changed; None where it does not count any more."""
        return self._commit(replace(manifest, **changes), manifest.sequence)

    def _commit(self, manifest: Manifest, after: int | None) -> Manifest | None:
        """Write a manifest with the next number, as long as that of number `after` is in force."""
        folder = self.home / INTERVALS / manifest.interval
        with environment_faults(f"the manifest of {manifest.interval} cannot be written"):
            make_directory(folder)
            remove_temporary(folder)
            number = 0
            while True:
                # The number first: who commits while `current` is looked at takes it.
                number = max([number, *map(_number, _names(folder))]) + 1
                current = self.current(manifest.interval) if after is not None else None
                if after is not None and (current is None or current.sequence != after):
                    return None
                numbered = replace(manifest, sequence=number)
                path = folder / f"{number:06}.json"
                if create(path, numbered.content()):
                    return numbered
                # A listing may lag behind: what another writer has committed is looked at by its name.
                if after is not None and Manifest.read(path.read_bytes(), number) is not None:
                    return None

    def sizes_fit(self, manifest: Manifest) -> bool:
        """Whether the files of a manifest exist with their recorded sizes; reads none of them."""
        sizes = sizes_in(self.home / manifest.run)
        files = manifest.files.items()
        return all(
            sizes.get(name.removeprefix(f"{manifest.run}/")) == facts["bytes"] for name, facts in files
        )

    def damage(self, manifest: Manifest, *, thorough: bool = False) -> str | None:
        """Fault of the files of a manifest; None where there is none.

        `thorough` compares all with their hashes, and not only those without one in the run's record.
        """
        sizes = sizes_in(self.home / manifest.run)
        for name, facts in manifest.files.items():
            size = sizes.get(name.removeprefix(f"{manifest.run}/"))
            if size is None:
                return f"{name} is absent"
            if size != facts["bytes"]:
                return f"{name} is not as it was written"
            hashed = thorough or not name.endswith(_HASHED_BY_RECORD)
            try:
                if hashed and digest_of_file(self.home / name) != facts["sha256"]:
                    return f"{name} does not fit its hash"
            except OSError:
                return f"{name} is absent"
        return None


def digest_of_file(path: Place) -> str:
    """The SHA-256 of a file."""
    with read_faults(), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_value(value: object) -> str:
    """The SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _names_one_folder(run: str, files: Mapping[str, Any]) -> bool:
    """Whether a run and its files are names in the folder of runs, and lead nowhere else."""
    parts = [run, *(name.removeprefix(f"{run}/") for name in files)]
    return all(part not in ("", ".", "..") and not set("/\\\0") & set(part) for part in parts)


def _names(folder: Place) -> list[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        return sorted(filter(_NAME.fullmatch, names_in(folder)), key=_number)
    return []


def _number(name: str) -> int:
    return int(name.partition(".")[0])
