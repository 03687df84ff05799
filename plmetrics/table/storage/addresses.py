"""Addresses of objects, such as `s3://bucket/scores/day.parquet`: their parts, and their texts in messages."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.redaction import mask_address

_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(/(?P<rest>.*)|$)", re.DOTALL)
_WEB = ("http", "https")
_SYNONYMS = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az"}
_BUCKETS = ("s3", "gs", "az")
SCHEMES = (*_BUCKETS, "hf", *_WEB)
_CREDENTIALS = (
    "credentials come from environment variables, such as AWS_ACCESS_KEY_ID, and stand in no address"
)


class Address(NamedTuple):
    """The parts of an address: `root` is the bucket or server, `key` the object in it, of a server with its query."""

    scheme: str
    root: str
    key: str

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"

    @property
    def is_web(self) -> bool:
        """Whether the address is of a web server, without listings."""
        return self.scheme in _WEB

    @property
    def is_bucket(self) -> bool:
        """Whether it is of an object store."""
        return self.scheme in _BUCKETS

    @property
    def path(self) -> str:
        """The key without the query of a web server."""
        return urlsplit(f"/{self.key}").path.lstrip("/") if self.is_web else self.key

    @property
    def message_text(self) -> str:
        """As messages show it, without the values of a signature."""
        return mask_address(str(self)) if self.is_web else str(self)


def parse_address(text: str) -> Address:
    """The parts of an address.

    >>> parse_address("s3a://bucket/scores/day=1/a.parquet")
    Address(scheme='s3', root='s3://bucket', key='scores/day=1/a.parquet')

    Raises:
        ConfigError: it holds a user or password, no bucket, or is of another scheme. The message holds none of them.
    """
    match = _ADDRESS.match(text)
    scheme = match["scheme"].lower() if match else ""
    scheme = _SYNONYMS.get(scheme, scheme)
    if match is None or scheme not in SCHEMES:
        message = f"'{mask_address(text)}' is not an address that can be read"
        hint = f"addresses start with {', '.join(f'{name}://' for name in SCHEMES)}; others are paths on a local disk"
        raise ConfigError(Problem(message, path=("data", "path"), hint=hint))
    bucket, _, key = (match["rest"] or "").removeprefix("/").partition("/")  # a Path has one slash of two
    user, at, host = bucket.rpartition("@")
    # abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/key
    if at and match["scheme"].lower().startswith("abfs"):
        user, bucket = "", user
    if user:
        message = f"'{scheme}://***@{host}/...' holds a user or a password"
        raise ConfigError(Problem(message, path=("data", "path"), hint=_CREDENTIALS))
    if not bucket:
        message = f"'{mask_address(text)}' names no bucket or server"
        raise ConfigError(Problem(message, path=("data", "path"), hint=f"write {scheme}://NAME/..."))
    return Address(scheme, f"{scheme}://{bucket}", key)
