"""Possibly compressed text files, opened for their first lines; Polars reads the rows by itself."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from plmetrics.core.errors import needs_extra
from plmetrics.core.names import is_address
from plmetrics.table.storage.faults import is_storage_error
from plmetrics.table.storage.objects import open_binary

if TYPE_CHECKING:
    from plmetrics.table.files import Complaints, SourceFile

COMPRESSIONS = (".gz", ".zst")
DAMAGED = "is damaged: it cannot be decompressed"
UPSTREAM = "the program that writes it may have stopped halfway; write it again"
NOT_UTF8 = "is not UTF-8 text", "convert it to UTF-8, or to parquet"
_FORMS: tuple[tuple[bytes, tuple[str, str]], ...] = (
    (b"\x1f\x8b", ("is compressed by gzip, but its name does not say so", "add .gz to its name")),
    (b"\x28\xb5\x2f\xfd", ("is compressed by zstd, but its name does not say so", "add .zst to its name")),
    (b"PAR1", ("is a parquet file, but its name does not say so", "name it .parquet")),
    (b"PK", ("is an archive or a workbook", "unpack it, or save the sheet as CSV in UTF-8, or as parquet")),
    (b"\xff\xfe", ("is UTF-16 text", NOT_UTF8[1])),
    (b"\xfe\xff", ("is UTF-16 text", NOT_UTF8[1])),
)
_RATIO = 8
_READ_AHEAD = 8 << 20


class CompressionError(ValueError):
    """Bytes of a file contradict the compression of its ending."""


def with_compressions(*endings: str) -> tuple[str, ...]:
    """Endings, and the same for compressed files.

    >>> with_compressions(".csv")
    ('.csv', '.csv.gz', '.csv.zst')
    """
    return (*endings, *(ending + compression for ending in endings for compression in COMPRESSIONS))


def decompressed_size(file: SourceFile) -> int:
    """Estimated size of a file's text in bytes."""
    return file.size * (_RATIO if file.name.lower().endswith(COMPRESSIONS) else 1)


@contextmanager
def open_text(path: str, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """A text file, as `open_bytes` opens it; line ends are kept."""
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
        yield text


@contextmanager
def open_bytes(path: str) -> Iterator[IO[bytes]]:
    """Bytes of a file, decompressed by its ending.

    Raises:
        CompressionError: the compressed bytes are damaged, found when they are read
        EnvironmentFault: zstd needs pyarrow, which is not installed
    """
    try:
        with _open_bytes(path) as raw:
            yield raw
    except (EOFError, zlib.error) as error:
        raise CompressionError(DAMAGED) from error
    except OSError as error:
        if is_damage(error):
            raise CompressionError(DAMAGED) from error
        raise


def encoding_fault(path: str) -> tuple[str, str]:
    """What a file is that is not UTF-8 text, by its first bytes, and the remedy."""
    with open_bytes(path) as stream:
        start = stream.read(4)
    return next((fault for mark, fault in _FORMS if start.startswith(mark)), NOT_UTF8)


def add_fault(complaints: Complaints, path: str, error: OSError) -> None:
    """Note why a file cannot be read: it is damaged, or it was refused."""
    if is_damage(error):
        complaints.add(path, DAMAGED, UPSTREAM)
    else:
        complaints.fault(path, error)


def is_damage(error: OSError) -> bool:
    """Whether an error comes from decompressing, not from the operating system or a store."""
    return error.errno is None and not isinstance(error, PermissionError) and not is_storage_error(error)


def _open_bytes(path: str) -> IO[bytes]:
    name = path.partition("?")[0] if is_address(path) else path
    ending = Path(name).suffix.lower()
    if ending == ".zst":
        return _open_zstd(path)
    if ending == ".gz":
        remote = open_binary(path, _READ_AHEAD) if is_address(path) else None
        return cast("IO[bytes]", gzip.open(path if remote is None else remote, "rb"))
    return open_binary(path, _READ_AHEAD)


def _open_zstd(path: str) -> IO[bytes]:
    with needs_extra("arrow", "looking into a .zst file"):
        import pyarrow
    raw = open_binary(path, _READ_AHEAD) if is_address(path) else path
    stream: IO[bytes] = pyarrow.input_stream(raw, compression="zstd")
    return stream
