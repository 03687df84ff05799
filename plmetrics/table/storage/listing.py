"""Listing of the objects of an address, a glob or a folder of a store, with sizes and stamps, sorted by name."""

from __future__ import annotations

import glob
import posixpath
import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import quote

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import file_hint, name_list
from plmetrics.table.files import (
    PARTITION,
    Complaints,
    SourceFile,
    ending_of,
    refuse_twice,
)
from plmetrics.table.formats.lakehouse import DELTA, ICEBERG, loose_files
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.folders import ANY_DEPTH, NOT_DATA
from plmetrics.table.storage.objects import at_once, facts_stamp, list_folder, names_in, object_facts

if TYPE_CHECKING:
    from plmetrics.table.storage.stores import ObjectFacts

_TABLE = re.compile(r"(?P<table>.*?)/?((?P<log>_delta_log/)|metadata/[^/]*\.metadata\.json$)", re.DOTALL)
_PATH = ("data", "path")


def list_objects(paths: Sequence[str], endings: Collection[str], complaints: Complaints) -> list[SourceFile]:
    """Data files of addresses, in the form `plmetrics.table.files.list_files` gives for paths.

    Raises:
        ConfigError: an address cannot be read, addresses are of several buckets, or an object is named twice.
        EnvironmentFault: the store cannot be reached, or denies access.
    """
    addresses = [parse_address(path) for path in paths]
    roots = {address.root for address in addresses}
    if len(roots) > 1:
        message = f"the files of one table lie in one bucket, not in {name_list(sorted(roots))}"
        raise ConfigError(Problem(message, path=_PATH))
    folders: list[str] = []
    objects: list[tuple[Address, ObjectFacts]] = []
    for address in addresses:
        web = _expand_data_set(address, complaints) if address.scheme == "hf" else None
        folder, facts = web[1:] if web else _expand(address, endings, complaints)
        place = web[0] if web else address
        folders.append(folder)
        objects += [(place._replace(key=entry.key), entry) for entry in facts]
    refuse_twice(address.message_text for address, _ in objects)
    folder = _above_partitions(posixpath.commonpath([f"/{folder}" for folder in folders]))
    files = (_source_file(address, facts, folder) for address, facts in objects)
    return sorted(files, key=lambda file: file.name)


def inspect_objects(
    files: Sequence[SourceFile], endings: Collection[str], complaints: Complaints
) -> tuple[SourceFile, ...]:
    """Nonempty files of known ending; complaints take the others."""
    objects = []
    for file in files:
        if ending_of(file.name, endings) is None:
            hint = f"data files end in {', '.join(endings)}"
            complaints.add(file.path, "the ending of the name is not known", hint)
        elif file.size == 0:
            complaints.add(
                file.path, "is empty (0 bytes)", "the program that writes it may have stopped halfway"
            )
        else:
            objects.append(file)
    return tuple(objects)


def _expand(
    address: Address, endings: Collection[str], complaints: Complaints
) -> tuple[str, list[ObjectFacts]]:
    """Base folder of names, and the objects of one address."""
    if glob.has_magic(address.path) and not address.is_web:
        return _expand_glob(address, complaints)
    folder = posixpath.dirname(address.path)
    facts = None if address.path.endswith("/") or not address.path else object_facts(address)
    if facts is not None:
        return folder, [facts]
    if address.is_web:
        complaints.absent(str(address), "no such file", "a web server lists nothing: name the files")
        return folder, []
    below = address.path.strip("/")
    listed = list_folder(address)
    _refuse_tables(address, listed)
    if not listed:
        complaints.absent(str(address), "no such object or folder", _nearest(address))
        return below, []
    chosen = [entry for entry in listed if _is_data(entry, below)]
    if not chosen:
        complaints.no_data(str(address), endings)
    return below, chosen


def _expand_data_set(address: Address, complaints: Complaints) -> tuple[Address, str, list[ObjectFacts]]:
    """Server, base folder of names, and the files of one address of the Hugging Face hub."""
    from plmetrics.table.storage.web import data_set_files

    start, path, names = data_set_files(address)
    pattern = path.split("/") if path else []
    fixed = next((place for place, part in enumerate(pattern) if glob.has_magic(part)), len(pattern))
    folder = posixpath.dirname(path) if path in names else "/".join(pattern[:fixed])
    places = [
        start._replace(key=f"{start.key}/{quote(name)}")
        for name in names
        if _fits(pattern, name.split("/")) and (name == path or not _is_hidden(name, folder))
    ]
    if not places:
        complaints.absent(str(address), "no such file or folder in the data set", file_hint(path, names))
    facts = [entry for entry in at_once(object_facts, places) if entry is not None]
    return start, f"{start.key}/{quote(folder)}".rstrip("/"), facts


def _expand_glob(address: Address, complaints: Complaints) -> tuple[str, list[ObjectFacts]]:
    parts = address.key.split("/")
    fixed = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    folder = "/".join(parts[:fixed])
    listed = list_folder(address._replace(key=folder))
    _refuse_tables(address, listed)
    pattern = [part for part in parts if part]
    chosen = [entry for entry in listed if _is_data(entry, folder) and _fits(pattern, entry.key.split("/"))]
    if not chosen:
        complaints.absent(str(address), "no object matches")
    return folder, chosen


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a key, or a folder above it, matches a glob.

    >>> _fits(["day=*", "*.csv"], ["day=1", "a.csv"]), _fits(["day=*"], ["day=1", "a.csv"]), _fits(["**", "a"], ["a"])
    (True, True, True)
    """
    if not pattern:
        return True
    if pattern[0] == ANY_DEPTH:
        return any(_fits(pattern[1:], parts[place:]) for place in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(pattern[1:], parts[1:])


def _is_data(entry: ObjectFacts, folder: str) -> bool:
    """Whether an object is data: neither hidden nor the marker of a folder."""
    marker = entry.size == 0 and "." not in posixpath.basename(entry.key)
    return not marker and entry.key != folder and not _is_hidden(entry.key, folder)


def _is_hidden(key: str, folder: str) -> bool:
    """Whether a part of a key below a folder marks it as hidden."""
    below = key[len(folder) :].lstrip("/")
    return any(part.startswith(NOT_DATA) for part in below.split("/"))


def _source_file(address: Address, facts: ObjectFacts, folder: str) -> SourceFile:
    name = f"/{address.path}"[len(folder) :].lstrip("/")
    return SourceFile(str(address), name, facts.size, stamp=facts_stamp(address, facts))


def _above_partitions(folder: str) -> str:
    while PARTITION.fullmatch(posixpath.basename(folder)):
        folder = posixpath.dirname(folder)
    return folder


def _refuse_tables(address: Address, listed: Sequence[ObjectFacts]) -> None:
    """Refuse folders with a Delta or Iceberg table: some files may no longer belong to it."""
    tables = {
        match["table"]: match["log"] is not None for entry in listed if (match := _TABLE.match(entry.key))
    }
    problems = [
        loose_files(address._replace(key=folder).message_text, DELTA if is_delta else ICEBERG)
        for folder, is_delta in tables.items()
    ]
    if problems:
        raise DataError(problems)


def _nearest(address: Address) -> str | None:
    """Nearest name to an object or folder, where it is looked for."""
    folder, name = posixpath.split(address.path.strip("/"))
    return file_hint(name, names_in(address._replace(key=folder)))
