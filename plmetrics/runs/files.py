"""Atomic writing: a reader, or a crash, sees the old file or the new one and never a mixture."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from plmetrics.core.errors import ConfigError, EnvironmentFault, Problem, read_faults, refusal
from plmetrics.core.names import SuitePath, is_address

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place

_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp", re.ASCII)
_DAY = 24 * 60 * 60
# Network and FUSE file systems may not let a directory be synced; the rename itself is still atomic there.
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
_DEVICES = Path("/dev")
_PLAIN = frozenset({str, int, bool, type(None)})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV, errno.EMLINK})


def place_of(text: str | os.PathLike[str], base: Path | None = None, path: SuitePath = ()) -> Place:
    """Place of a path of this machine, or of the address of a bucket.

    `path` is where it stands in the suite.

    Raises:
        ConfigError: it is an address of something else.
        TypeError: it is neither.
    """
    name = os.fspath(text)
    if is_address(name):
        from plmetrics.table.storage.places import BucketPlace

        return BucketPlace.of(name, path)
    return Path(name) if base is None else base / name


def path_argument(value: object, argument: str) -> str:
    """Path or address that was given as an argument.

    Raises:
        ConfigError: it is none.

    >>> path_argument(Path("runs/nightly"), "folder")
    'runs/nightly'
    """
    path = value.__fspath__() if isinstance(value, os.PathLike) else value
    if isinstance(path, str):
        return path
    raise ConfigError(
        Problem(f"this must be a path, not a value of type {type(value).__name__}", (argument,))
    )


def write_atomic(path: Place, content: bytes) -> None:
    """Write a file under a temporary name of its own in the same folder, sync it, and rename it into place.

    An object is written in one request.
    """
    if not isinstance(path, Path):
        path.write_bytes(content)
        return
    with replacement(path) as temporary:
        write_durable(temporary, content)
    sync_directory(path.parent)


def create(path: Place, content: bytes) -> bool:
    """Create a file with all of its content at once; False where it is there already."""
    if not isinstance(path, Path):
        return path.create(content)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        write_durable(temporary, content, "xb")
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _create_without_link(path, content)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)
    return True


def _create_without_link(path: Path, content: bytes) -> bool:
    """Create a file on a file system without links: a crash meanwhile leaves a partial one."""
    try:
        write_durable(path, content, "xb")
    except FileExistsError:
        return False
    sync_directory(path.parent)
    return True


def update(path: Place, change: Callable[[bytes | None], bytes | None]) -> None:
    """Update a file by a function of its content; of an object no concurrent change is lost.

    `change` takes the content, None where there is no file, and gives the new one, None where it is to stay.
    """
    if not isinstance(path, Path):
        path.update(change)
        return
    content = change(path.read_bytes() if path.is_file() else None)
    if content is not None:
        write_atomic(path, content)


def write_durable(path: Path, content: bytes, mode: Literal["wb", "xb"] = "wb") -> None:
    """Write a file and wait until its content is on the disk; its name may not be."""
    with _naming(path.parent), path.open(mode) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Context of writing: errors that name no file, as those of a full disk, name the folder."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(folder)
        raise


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Context of a new file in the same folder, moved to `path` when it is complete, and removed else."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if _is_device(path):
        # The root user may rename over it, and no program of the machine would have it any more.
        raise OSError(errno.EINVAL, "a device or a pipe, in whose place there would be a file", str(path))
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        temporary.open("xb").close()  # Never a file, or a link, that is there already.
    except OSError as error:
        # The name of the folder is what its owner knows.
        error.filename = str(path.parent)
        raise
    try:
        with _naming(path.parent):
            yield temporary
            os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _is_device(path: Path) -> bool:
    """Whether a name is that of a device, a pipe or a socket; /dev/stdout may lead to a file."""
    return (path.exists() and not path.is_file()) or path.absolute().parent == _DEVICES


def remove_temporary(folder: Place, names: Sequence[str] | None = None) -> None:
    """Remove the temporary files of killed processes in a folder, once they are a day old.

    `names` are those in the folder, where they were listed already: it may have ten thousand.
    """
    with suppress(OSError):
        for path in old_temporary_files(folder, names):
            path.unlink()


def old_temporary_files(folder: Place, names: Sequence[str] | None = None) -> list[Path]:
    """Temporary files of killed processes in a folder, a day old or more; a bucket has none."""
    if not isinstance(folder, Path):
        return []
    with suppress(OSError):
        listed = os.listdir(folder) if names is None else names  # noqa: PTH208
        paths = [folder / name for name in listed if _TEMPORARY.fullmatch(name)]
        return [path for path in paths if is_old(path)]
    return []


def names_in(folder: Place) -> list[str]:
    """The names in a folder, quickly also where it has ten thousand."""
    if not isinstance(folder, Path):
        return folder.names()
    with read_faults():
        return os.listdir(folder)  # noqa: PTH208


def sizes_in(folder: Place) -> dict[str, int]:
    """The files in a folder by name, with their sizes; none where there is no such folder."""
    if not isinstance(folder, Path):
        return folder.sizes()
    absent = suppress(FileNotFoundError, NotADirectoryError)
    with absent, read_faults(), os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
    return {}


def modified_below(home: Place, folders: re.Pattern[str], name: str) -> dict[str, float]:
    """Subfolders of a form with a file of a name, with the time of its last change.

    Raises:
        EnvironmentFault: the system does not let it be looked at.
    """
    if not isinstance(home, Path):
        times = home.modified_below(name)
        return {folder: time for folder, time in times.items() if folders.fullmatch(folder)}
    times = {}
    for folder in filter(folders.fullmatch, names_in(home) if home.is_dir() else ()):
        with suppress(OSError), read_faults():
            times[folder] = (home / folder / name).stat().st_mtime
    return times


def content_of(path: Place) -> bytes:
    """Content of a file.

    Raises:
        OSError: there is none.
        EnvironmentFault: the system does not read what is there, so that nothing is known of it.
    """
    with read_faults():
        return path.read_bytes()


def remove_folder(folder: Place) -> None:
    """Remove a folder with all its content, or a link to one; another process may do so at once."""
    if isinstance(folder, Path):
        with suppress(FileNotFoundError):
            folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)
        return
    for name in names_in(folder):
        (folder / name).unlink()


def is_old(path: Place) -> bool:
    """Whether a file or folder was last changed more than a day ago; a link counts as itself."""
    return time.time() - path.lstat().st_mtime > _DAY


def lock_folder(folder: Path) -> int | None:
    """Descriptor with a lock on a folder until it is closed; None if another process has it, or nobody can."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def make_directory(directory: Place) -> None:
    """Create a directory and its absent parents, each of them durable in the one above.

    A bucket needs none.
    """
    if not isinstance(directory, Path):
        return
    absent = [directory]
    while not absent[-1].parent.exists():
        absent.append(absent[-1].parent)
    for path in reversed(absent):
        try:
            path.mkdir()
        except FileExistsError:
            if path.is_symlink() and not path.exists():
                raise FileNotFoundError(errno.ENOENT, "a link that leads nowhere", str(path)) from None
            if not path.is_dir():
                raise
            continue
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        with _naming(directory):
            os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def environment_faults(doing: str) -> Iterator[None]:
    """Context with an error for refusals by the system.

    Raises:
        EnvironmentFault: in place of any OSError.
    """
    try:
        yield
    except OSError as error:
        raise EnvironmentFault(refusal(error, doing)) from error


def json_bytes(value: Any) -> bytes:
    """A JSON document, UTF-8, readable, with a newline at the end. NaN and infinities are null."""
    return (json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def plain(value: Any) -> Any:
    """Value in JSON's types; others become null (NaN) or text.

    >>> plain({"edges": (0.5, float("nan")), 1: None})
    {'edges': [0.5, None], '1': None}
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    return _scalar(value)


def _scalar(value: Any) -> str | int | float | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return value if value is None or isinstance(value, (int, str)) else str(value)
