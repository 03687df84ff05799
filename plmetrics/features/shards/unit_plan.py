"""Plan of a table's units: the files of each, and their shared facts; one file of JSON lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from plmetrics.core.errors import CallError, DataError, Problem, os_message
from plmetrics.core.names import did_you_mean, name_list
from plmetrics.runs.files import environment_faults, make_directory, write_atomic
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place

FORMAT = 2
TASK = "plmetrics.features.shards.unit_states:write_unit"
"""The task of a runner for a unit: it takes and gives JSON."""

PLAN = "units.plan"
"""The name of a plan beside the states of its units."""

_SHOWN = 16


class UnitFacts(TypedDict):
    """A unit as people and schedulers read it."""

    id: str
    files: list[str]
    rows: int | None
    bytes: int


@dataclass(frozen=True, slots=True)
class Unit:
    """Files with their rows counted together.

    `id` depends on what is asked, the constants, the files, and the versions of what counts them.
    """

    id: str
    files: tuple[Mapping[str, Any], ...]
    rows: int | None
    bytes: int

    @property
    def short_id(self) -> str:
        """Enough of the id to tell units apart."""
        return self.id[:_SHOWN]

    @property
    def text(self) -> str:
        """The unit in words: its id and its files."""
        return f"{self.short_id} ({name_list([str(file['name']) for file in self.files], 1)})"

    def facts(self) -> UnitFacts:
        """Its entry in a list of units."""
        names = [file["name"] for file in self.files]
        return {"id": self.id, "files": names, "rows": self.rows, "bytes": self.bytes}


@dataclass(frozen=True)
class UnitPlan:
    """Units of a table, and their shared facts.

    `suite` is what is asked, with the names of variables for their values; `values` its fingerprint with these,
    `variables` those names. `table` is what all files share, `constants` the head and the table of a
    state that has them; None where states need none.
    """

    name: str
    suite: Mapping[str, Any]
    fingerprint: str
    values: str
    variables: tuple[str, ...]
    versions: Mapping[str, Any]
    table: Mapping[str, Any]
    constants: Mapping[str, Any] | None
    units: tuple[Unit, ...]

    @property
    def digest(self) -> str:
        """Hash of the ids of its units, equal for equal plans."""
        return hashlib.sha256(" ".join(unit.id for unit in self.units).encode()).hexdigest()[:_SHOWN]

    @cached_property
    def size(self) -> tuple[int, str]:
        """Size of the plan and its measure: rows where all files know their number, else bytes."""
        rows = [unit.rows for unit in self.units if unit.rows is not None]
        if len(rows) == len(self.units):
            return sum(rows), "rows"
        return sum(unit.bytes for unit in self.units), "bytes"

    def size_of(self, unit: Unit) -> int:
        """Size of a unit in the measure of the plan, rows or bytes."""
        size = unit.rows if self.size[1] == "rows" else unit.bytes
        assert size is not None
        return size

    def unit(self, text: str) -> Unit:
        """The unit of an id, or of its beginning.

        Raises:
            ConfigError: there is none, or several.
        """
        units = [unit for unit in self.units if text and unit.id.startswith(text)]
        if len(units) == 1:
            return units[0]
        msg = f"{len(units) or 'no'} units have an id that begins with '{text}'"
        hint = did_you_mean(text, [unit.short_id for unit in self.units]) or "plmetrics units lists them"
        raise CallError(Problem(msg, hint=hint))

    def content(self) -> bytes:
        """Plan as a file: a line with the hash of the others, one of the shared facts, and one a unit."""
        shared = {key: value for key, value in asdict(self).items() if key != "units"}
        lines = [_line(shared), *(_line(asdict(unit)) for unit in self.units)]
        body = "".join(lines)
        digest = hashlib.sha256(body.encode()).hexdigest()
        return (_line({"format": FORMAT, "sha256": digest}) + body).encode()

    def write(self, path: Place) -> None:
        """Write the plan atomically; a file with the same content is left alone."""
        with environment_faults(f"the plan {shown_path(path)} cannot be written"):
            content = self.content()
            make_directory(path.parent)
            if not path.is_file() or path.read_bytes() != content:
                write_atomic(path, content)


def read_plan(path: Place) -> UnitPlan:
    """The plan in a file.

    Raises:
        DataError: there is none, or it is damaged or of another version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"the plan {shown_path(path)} cannot be read: {os_message(error)}"
        raise DataError(Problem(msg)) from error
    except ValueError as error:
        raise _damage(shown_path(path)) from error
    return read_content(text, shown_path(path))


def read_content(text: str, place: str) -> UnitPlan:
    """Plan from the text of a file; `place` is its name for people.

    Raises:
        DataError: it is damaged or of another version.
    """
    try:
        first, _, body = text.partition("\n")
        head = json.loads(first)
        if head["format"] != FORMAT:
            msg = f"{place} is a plan of format {head['format']}, and this version reads {FORMAT}"
            raise DataError(Problem(msg, hint="make it again: plmetrics units"))
        whole = hashlib.sha256(body.encode()).hexdigest() == head["sha256"]
        shared, *units = map(json.loads, body.removesuffix("\n").split("\n"))
        if not whole:
            raise _damage(place)
        return UnitPlan(**{**shared, "variables": tuple(shared["variables"])}, units=tuple(map(_unit, units)))
    except (ValueError, KeyError, TypeError) as error:
        raise _damage(place) from error


def _damage(place: str) -> DataError:
    msg = f"{place} is no plan of units, or damaged"
    return DataError(Problem(msg, hint="plmetrics units SUITE --plan FILE writes one"))


def _unit(content: Mapping[str, Any]) -> Unit:
    return Unit(content["id"], tuple(content["files"]), content["rows"], content["bytes"])


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def balanced_shard(units: Sequence[Unit], index: int, count: int) -> list[Unit]:
    """Units of one shard of several: the largest first, each to the shard with the least by then.

    >>> units = [Unit(name, (), None, size) for name, size in (("a", 5), ("b", 3), ("c", 3), ("d", 1))]
    >>> [[unit.id for unit in balanced_shard(units, index, 2)] for index in (1, 2)]
    [['a', 'd'], ['b', 'c']]
    """
    loads = [0] * count
    chosen = []
    for unit in sorted(units, key=lambda unit: (-unit.bytes, unit.id)):
        place = loads.index(min(loads))
        loads[place] += unit.bytes
        if place == index - 1:
            chosen.append(unit)
    return chosen


def read_shard(text: str) -> tuple[int, int]:
    """Number of a shard and of all, from a text such as 3/8.

    Raises:
        ConfigError: it is none.

    >>> read_shard("3/8")
    (3, 8)
    """
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count):
        return int(index), int(count)
    raise CallError(Problem(f"'{text}' is no shard", hint="write 3/8 for the third of eight: 1/8 to 8/8"))
