"""How Polars scans objects: credentials and endpoints from the environment alone, as they are listed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from plmetrics.table.storage.addresses import is_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.table.files import SourceFile


def scan_options(files: Sequence[SourceFile]) -> dict[str, Any]:
    """What a scan of files is told beside their paths; nothing for those on a local disk."""
    if not files or not is_address(files[0].path):
        return {}
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://") and files[0].path.startswith("s3://")
    return {"credential_provider": None} | ({"storage_options": {"aws_allow_http": "true"}} if plain else {})
