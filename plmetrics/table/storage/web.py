"""Files on web servers: facts and bytes by range requests, which a signed address allows, too.

Data sets of the Hugging Face hub, `hf://datasets/USER/NAME@REVISION/PATH`, are web addresses of a commit's files.
"""

from __future__ import annotations

import json
import os
import re
import time
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from plmetrics.core.errors import (
    AbsentDataError,
    ConfigError,
    DataError,
    EnvironmentFault,
    PlmetricsError,
    Problem,
)
from plmetrics.table.storage.addresses import Address, parse_address
from plmetrics.table.storage.stores import ObjectFacts, retries

_PAUSE = 0.1
_LONGEST_PAUSE = 5
_PARTIAL = 206
_NO_RANGE = 416
_ABSENT = (404, 410)
_SERVER_FAULTS = (429, 500, 502, 503, 504)

_DATA_SET = re.compile(r"(?P<name>[\w.-]+/[\w.-]+?)(@(?P<revision>[^/]+))?(/(?P<path>.*))?", re.DOTALL)
_PUBLIC = "https://huggingface.co"
_EXAMPLE = "write hf://datasets/USER/NAME/PATH, or hf://datasets/USER/NAME@REVISION/PATH"


def head(address: Address) -> ObjectFacts:
    """The facts of one file.

    Raises:
        AbsentDataError: there is none.
        DataError: the server sends whole files only.
        EnvironmentFault: the server cannot be reached, or denies access.
    """
    _, headers = _get(address, 0, 1)
    size = int(headers.get("content-range", "/0").rpartition("/")[2])
    return ObjectFacts(address.key, size, headers.get("etag") or headers.get("last-modified") or "")


def read_range(address: Address, start: int, length: int) -> bytes:
    """Some bytes of a file."""
    return _get(address, start, length)[0] if length else b""


def read_text(address: Address) -> str:
    """Answer of a server, as text."""
    return _get(address)[0].decode()


def _get(address: Address, start: int = 0, length: int | None = None) -> tuple[bytes, dict[str, str]]:
    most, milliseconds = retries()
    patience = max(milliseconds / 1000, 1)
    end = time.monotonic() + patience
    for attempt in range(most + 1):
        try:
            return _request(address, start, length, patience)
        except HTTPError as error:
            error.close()
            if error.code == _NO_RANGE:
                return b"", {"content-range": "/0"}
            if error.code not in _SERVER_FAULTS or attempt == most or time.monotonic() > end:
                raise _fault(address, error.code, error.reason) from None
        except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
            if attempt == most or time.monotonic() > end:
                reason = getattr(error, "reason", error)
                raise EnvironmentFault(
                    Problem(f"{address.message_text}: cannot be reached: {reason}")
                ) from None
        time.sleep(min(_PAUSE * 2**attempt, _LONGEST_PAUSE))
    raise AssertionError


def _request(
    address: Address, start: int, length: int | None, patience: float
) -> tuple[bytes, dict[str, str]]:
    """Some bytes, or all of them where no length is said; and the headers. `patience` is in seconds."""
    headers = {} if length is None else {"Range": f"bytes={start}-{start + length - 1}"}
    with urlopen(Request(str(address), headers=headers), timeout=patience) as answer:
        if headers and answer.status != _PARTIAL:
            hint = "the server must answer requests for ranges of bytes; or copy the file to a local disk"
            raise DataError(Problem(f"{address.message_text}: the server sends whole files only", hint=hint))
        return answer.read(), {name.lower(): value for name, value in answer.headers.items()}


def _fault(address: Address, status: int, reason: str) -> PlmetricsError:
    if status in _ABSENT:
        return AbsentDataError(Problem(f"{address.message_text}: no such file: {status} {reason}"))
    words = " ".join(reason.partition("\n")[0].split())
    return EnvironmentFault(Problem(f"{address.message_text}: the server answers {status} {words}"))


class DataSetFiles(NamedTuple):
    """Files of a data set at an address: the start of all web addresses, its path, and the paths of all files."""

    start: Address
    path: str
    names: tuple[str, ...]


def data_set_files(address: Address) -> DataSetFiles:
    """Ask the hub for the commit and the files of a data set. It must be public.

    Raises:
        ConfigError: the address names no data set.
        AbsentDataError: there is no such data set or revision.
        EnvironmentFault: the hub cannot be reached, or denies access.
    """
    match = _DATA_SET.fullmatch(address.key)
    if address.root != "hf://datasets" or match is None:
        message = f"'{address}' names no data set of the hub"
        raise ConfigError(Problem(message, path=("data", "path"), hint=_EXAMPLE))
    hub = os.environ.get("HF_ENDPOINT", _PUBLIC).rstrip("/")
    revision = quote(match["revision"] or "main", safe="")
    answer = json.loads(read_text(parse_address(f"{hub}/api/datasets/{match['name']}/revision/{revision}")))
    names = tuple(sorted(str(entry["rfilename"]) for entry in answer["siblings"]))
    start = parse_address(f"{hub}/datasets/{match['name']}/resolve/{answer['sha']}")
    return DataSetFiles(start, (match["path"] or "").strip("/"), names)
