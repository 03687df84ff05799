"""How Polars scans objects: credentials and endpoints from the environment alone, as they are listed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from plmetrics.core.names import is_address
from plmetrics.table.storage.stores import retries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.table.files import SourceFile


def plain_http(path: str) -> bool:
    """Whether an object lies on an S3 server that is reached without encryption, as one on this machine."""
    return path.startswith("s3://") and os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")


def scan_options(files: Sequence[SourceFile]) -> dict[str, Any]:
    """What a scan of files is told beside their paths; nothing for those on a local disk."""
    if not files or not is_address(files[0].path):
        return {}
    most, milliseconds = retries()
    options: dict[str, Any] = {"max_retries": most, "retry_timeout_ms": milliseconds}
    if plain_http(files[0].path):
        options["aws_allow_http"] = "true"
    return {"credential_provider": None, "storage_options": options}
