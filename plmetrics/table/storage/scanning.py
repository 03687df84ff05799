"""How Polars scans objects: credentials and endpoints from the environment alone, as they are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.core.names import is_address
from plmetrics.table.storage.stores import plain_http, retries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.table.files import SourceFile


def scan_options(files: Sequence[SourceFile]) -> dict[str, Any]:
    """What a scan of files is told beside their paths; nothing for those on a local disk."""
    if not files or not is_address(files[0].path):
        return {}
    most, milliseconds = retries()
    options: dict[str, Any] = {"max_retries": most, "retry_timeout_ms": milliseconds}
    # Polars waits for ever for a server that stops in the middle of an answer.
    options["read_timeout"] = f"{milliseconds}ms"
    if plain_http(files[0].path):
        options["allow_http"] = "true"
    return {"credential_provider": None, "storage_options": options}
