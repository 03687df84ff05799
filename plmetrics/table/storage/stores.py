"""Buckets of S3, Google and Azure through obstore: facts of objects, their bytes, and listings.

Credentials, endpoints and regions come from environment variables alone, the same that Polars reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from plmetrics.core.errors import needs_extra
from plmetrics.core.names import is_address

if TYPE_CHECKING:
    from plmetrics.table.files import SourceFile

_VARIABLES = ("AWS_", "GOOGLE_", "AZURE_", "POLARS_CLOUD_")
_ENDPOINTS = {"s3": "AWS_ENDPOINT_URL", "az": "AZURE_STORAGE_ENDPOINT", "gs": "GOOGLE_BASE_URL"}
_RETRIES, _PATIENCE = 8, 30_000
_PAGE = 1000


class ObjectFacts(NamedTuple):
    """Facts of one object in a store: `identity` changes with its content, `modified` is a time in seconds."""

    key: str
    size: int
    identity: str
    modified: float = 0.0


def head(root: str, key: str) -> ObjectFacts:
    """The facts of one object.

    Raises:
        Exception: as obstore raises it: FileNotFoundError where there is no such object, others of its own.
    """
    import_obstore()
    import obstore

    return _facts(obstore.head(_store(root), key))


def read_range(root: str, key: str, start: int, length: int) -> bytes:
    """Some bytes of an object."""
    import_obstore()
    import obstore

    return bytes(obstore.get_range(_store(root), key, start=start, length=length)) if length else b""


def read(root: str, key: str) -> tuple[bytes, Any]:
    """All bytes of an object, and their version, as `write` takes it."""
    import_obstore()
    import obstore

    answer = obstore.get(_store(root), key)
    version = {"e_tag": answer.meta["e_tag"], "version": answer.meta["version"]}
    return bytes(answer.bytes()), {name: text for name, text in version.items() if text is not None}


def write(root: str, key: str, content: bytes, mode: Any = "overwrite") -> bool:
    """Write an object, all of it or nothing.

    Modes are `overwrite`; `create` where there must be none; or the version that must be there.

    Returns:
        Whether it was written; False where something else is there than must be.
    """
    import_obstore()
    import obstore
    from obstore.exceptions import AlreadyExistsError, PreconditionError

    try:
        # What has a condition is one request, which a store accepts or refuses.
        parts = None if mode == "overwrite" else False
        obstore.put(_store(root), key, content, mode=mode, use_multipart=parts)
    except (AlreadyExistsError, PreconditionError):
        return False
    return True


def delete(root: str, key: str) -> None:
    """Remove an object, if there is one."""
    import_obstore()
    import obstore

    with suppress(FileNotFoundError):
        obstore.delete(_store(root), key)


def list_below(root: str, folder: str) -> Iterator[ObjectFacts]:
    """Objects below a folder: with keys of the folder and a slash at their start; of a bucket if it is empty."""
    import_obstore()
    import obstore

    for page in obstore.list(_store(root), folder or None, chunk_size=_PAGE):
        yield from map(_facts, page)


def list_in(root: str, folder: str) -> tuple[list[str], list[ObjectFacts]]:
    """The names of the folders right below a folder, and the objects there."""
    import_obstore()
    import obstore

    listed = obstore.list_with_delimiter(_store(root), folder or None)
    folders = [path.rstrip("/").rpartition("/")[2] for path in listed["common_prefixes"]]
    return folders, list(map(_facts, listed["objects"]))


def import_obstore() -> None:
    """Import obstore, or say how to install it.

    Raises:
        EnvironmentFault: it is not installed.
    """
    with needs_extra("s3", "an object store"):
        import obstore  # noqa: F401


def retries() -> tuple[int, int]:
    """Number of retries of a request, and their time in milliseconds; the variables are those of Polars."""
    return _number("POLARS_CLOUD_MAX_RETRIES", _RETRIES), _number("POLARS_CLOUD_RETRY_TIMEOUT_MS", _PATIENCE)


def plain_http(path: str) -> bool:
    """Whether a store is reached without encryption, as one on this machine: its endpoint says so."""
    return os.environ.get(_ENDPOINTS.get(path.partition(":")[0], ""), "").startswith("http://")


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default


def _store(root: str) -> Any:
    return _store_of(root, frozenset(item for item in os.environ.items() if item[0].startswith(_VARIABLES)))


@lru_cache(maxsize=8)
def _store_of(root: str, environment: frozenset[tuple[str, str]]) -> Any:  # noqa: ARG001
    """Store for the current environment: another environment is another store."""
    from obstore.store import from_url

    most, milliseconds = retries()
    patience: Any = {"max_retries": most, "retry_timeout": timedelta(milliseconds=milliseconds)}
    return from_url(root, retry_config=patience, client_options={"allow_http": plain_http(root)})


def _facts(entry: Mapping[str, Any]) -> ObjectFacts:
    tag = (entry["e_tag"] or "").strip('"')  # Azure quotes it in answers, not in listings
    identity = tag or entry["last_modified"].isoformat()
    return ObjectFacts(entry["path"], entry["size"], identity, entry["last_modified"].timestamp())


def scan_options(files: Sequence[SourceFile]) -> dict[str, Any]:
    """Options of a scan of files beside their paths; none for those on a local disk."""
    if not files or not is_address(files[0].path):
        return {}
    most, milliseconds = retries()
    options: dict[str, Any] = {"max_retries": most, "retry_timeout_ms": milliseconds}
    # Polars waits for ever for a server that stops in the middle of an answer.
    options["read_timeout"] = f"{milliseconds}ms"
    if plain_http(files[0].path):
        options["allow_http"] = "true"
    return {"credential_provider": None, "storage_options": options}
