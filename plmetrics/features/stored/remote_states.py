"""States in object stores: written as one object, and copied to a folder of this machine to be merged."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from plmetrics.core.errors import PlmetricsError, Problem
from plmetrics.core.names import is_address
from plmetrics.features.stored.state_files import ENDING, AbsentState
from plmetrics.runs.files import environment_faults
from plmetrics.runs.folder import check_name
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.objects import at_once, list_folder, read_object, write_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

T = TypeVar("T")


def write_remote_state(output: str, name: str, content: bytes, digest: str) -> str:
    """Write a state to the object that is named, or to one of its own below that; a reader sees all of it or nothing.

    Returns:
        The address of the object.
    """
    address = parse_address(output)
    if not address.key.endswith(ENDING):
        check_name(name)
        address = address._replace(key=f"{address.key.rstrip('/')}/{name}-{digest[:12]}{ENDING}".lstrip("/"))
    write_object(address, content)
    return str(address)


@contextmanager
def local_states(states: Sequence[T]) -> Iterator[tuple[Sequence[T | Path], Mapping[Path, str]]]:
    """States of which those in object stores are copied to a folder that is removed afterwards.

    Yields:
        The states, and by path of a copy the address that it is of. Errors name the address.
    """
    if not any(is_address(str(state)) for state in states if isinstance(state, (str, Path))):
        yield states, {}
        return
    with tempfile.TemporaryDirectory(prefix="plmetrics-states-") as folder:
        copies: list[T | Path] = []
        names: dict[Path, str] = {}
        for number, state in enumerate(states):
            if not (isinstance(state, (str, Path)) and is_address(str(state))):
                copies.append(state)
                continue
            made = _copy(parse_address(str(state)), Path(folder) / str(number))
            copies += made
            names |= made
        try:
            yield copies, names
        except PlmetricsError as error:
            raise type(error)([_with_addresses(problem, names) for problem in error.problems]) from error


def _copy(address: Address, folder: Path) -> dict[Path, str]:
    """Copies of one state, or of all right below a folder, with their addresses."""
    keys = [address.key]
    if not address.key.endswith(ENDING):
        below = address.key.strip("/")
        listed = (entry.key for entry in list_folder(address))
        keys = sorted(key for key in listed if str(PurePosixPath(key).parent) == (below or "."))
        keys = [key for key in keys if key.endswith(ENDING) and not PurePosixPath(key).name.startswith(".")]
    if not keys:
        hint = "plmetrics state SUITE --output s3://BUCKET/FOLDER writes one there"
        raise AbsentState(Problem(f"{address.shown}: no object in it ends in {ENDING}", hint=hint))
    addresses = [address._replace(key=key) for key in keys]
    contents = at_once(read_object, addresses)
    with environment_faults("the states cannot be copied to this machine"):
        folder.mkdir()
        paths = [folder / PurePosixPath(key).name for key in keys]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
    return {path: place.shown for path, place in zip(paths, addresses, strict=True)}


def _with_addresses(problem: Problem, names: Mapping[Path, str]) -> Problem:
    message = problem.message
    for path, name in names.items():
        message = message.replace(str(path), name)
    return replace(problem, message=message)
