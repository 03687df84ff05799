"""Objects copied to a folder of this machine for as long as something reads them there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from plmetrics.core.errors import AbsentDataError, EnvironmentFault, PlmetricsError, Problem
from plmetrics.core.names import is_address
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.objects import at_once, list_folder, read_object

T = TypeVar("T")
"""An item that is no address, and stays as it is."""


@contextmanager
def local_copies(items: Sequence[T], ending: str) -> Iterator[tuple[Sequence[T | Path], Mapping[Path, str]]]:
    """Items with addresses replaced by copies in a temporary folder.

    An address whose name does not end as the objects do stands for those right below it.

    Yields:
        The items, and by path of a copy the address that it is of. Errors name the address.

    Raises:
        AbsentDataError: there is no such object.
        EnvironmentFault: the store cannot be reached or denies access, or this machine has no room.
    """
    if not any(map(_is_remote, items)):
        yield items, {}
        return
    with tempfile.TemporaryDirectory(prefix="plmetrics-copies-") as folder:
        local: list[T | Path] = []
        names: dict[Path, str] = {}
        for number, item in enumerate(items):
            copies = _copy(str(item), ending, Path(folder) / str(number)) if _is_remote(item) else {}
            local += copies or [item]
            names |= copies
        try:
            yield local, names
        except PlmetricsError as error:
            raise type(error)([_with_addresses(problem, names) for problem in error.problems]) from error


def _is_remote(item: object) -> bool:
    return isinstance(item, (str, os.PathLike)) and is_address(os.fspath(item))


def _copy(place: str, ending: str, folder: Path) -> dict[Path, str]:
    """Copies of one object, or of all right below a folder, with their addresses."""
    address = parse_address(place)
    addresses = [address] if address.key.endswith(ending) else _right_below(address, ending)
    contents = at_once(read_object, addresses)
    paths = [folder / PurePosixPath(each.key).name for each in addresses]
    try:
        folder.mkdir()
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentFault(
            Problem(f"{address.message_text}: cannot be copied to this machine: {reason}")
        ) from error
    return {path: each.message_text for path, each in zip(paths, addresses, strict=True)}


def _right_below(address: Address, ending: str) -> list[Address]:
    below = address.key.strip("/") or "."
    paths = [PurePosixPath(entry.key) for entry in list_folder(address)]
    chosen = sorted(
        str(path)
        for path in paths
        if str(path.parent) == below and path.name.endswith(ending) and not path.name.startswith(".")
    )
    if not chosen:
        raise AbsentDataError(Problem(f"{address.message_text}: no object in it ends in {ending}"))
    return [address._replace(key=key) for key in chosen]


def _with_addresses(problem: Problem, names: Mapping[Path, str]) -> Problem:
    message = problem.message
    for path, name in names.items():
        message = message.replace(str(path), name)
    return replace(problem, message=message)
