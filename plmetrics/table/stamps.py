"""Identity of data files: stamps while they are read, and digests from run to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b

from polars.exceptions import PanicException

from plmetrics.core.errors import AbsentDataError, DataError, Problem, read_faults
from plmetrics.core.names import is_address
from plmetrics.table.files import SourceFile, Stamp, shown_path, stamp_of

_END = 1 << 16


def digests_of(files: Sequence[SourceFile]) -> list[str | None]:
    """The digests of files; those of objects are asked for several at a time."""
    from plmetrics.table.storage.objects import each_file

    return list(each_file(digest_of, files))


def digest_of(file: SourceFile) -> str | None:
    """A hash of the size and both ends of a file, where the footer of a parquet file lies; None if it cannot be read.

    Two files of one digest hold the same rows, or differ in the middle alone.
    """
    if file.digest is not None:
        return file.digest
    from plmetrics.table.storage.objects import open_binary

    digest = blake2b(str(file.size).encode(), digest_size=16)
    try:
        with read_faults(), open_binary(file.path, _END, file.size) as opened:
            digest.update(opened.read(_END))
            opened.seek(max(file.size - _END, 0))
            digest.update(opened.read(_END))
    except (OSError, AbsentDataError):
        return None
    return digest.hexdigest()


def stamps_now(paths: Iterable[str]) -> dict[str, Stamp | None]:
    """By path the stamps as they are now; those of objects are asked for several at a time."""
    paths = list(paths)
    remote = [path for path in paths if is_address(path)]
    stamps = {path: stamp_of(path) for path in paths if not is_address(path)}
    if not remote:
        return stamps
    from plmetrics.table.storage.objects import at_once, object_stamp

    return stamps | dict(zip(remote, at_once(object_stamp, remote), strict=True))


@contextmanager
def watch_stamps(
    stamps: Mapping[str, Stamp | None], verb: str = "read", kind: type[DataError] = DataError
) -> Iterator[None]:
    """Context for work on files, with a final check of their stamps.

    A file that changed explains whatever went wrong meanwhile.

    Args:
        stamps: by path the stamp of each file, taken before any of it was read.
        verb: what is done with the files, as a past participle.
        kind: the error to raise.

    Raises:
        DataError: a file was replaced, written to or removed; it is named.
    """
    try:
        yield
    except (Exception, PanicException) as error:
        check_stamps(stamps, verb, kind, error)
        raise
    check_stamps(stamps, verb, kind)


def check_stamps(
    stamps: Mapping[str, Stamp | None],
    verb: str = "read",
    kind: type[DataError] = DataError,
    error: BaseException | None = None,
) -> None:
    """Raise the error of files with changed stamps."""
    changed = [path for path, stamp in stamps_now(stamps).items() if stamp != stamps[path]]
    if changed:
        more = f" (and {len(changed) - 1:,} more)" if len(changed) > 1 else ""
        message = f"{shown_path(changed[0])}{more} changed while it was {verb}: it was replaced, written to or removed"
        raise kind(Problem(message, hint="run again when no program writes to the files")) from error
