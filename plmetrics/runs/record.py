"""The body of run.json: what was asked, what was read, what it was made with, and what came out."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from plmetrics.core.hashing import HASH_VERSION
from plmetrics.core.redaction import masked
from plmetrics.runs.files import plain
from plmetrics.runs.fingerprint import fingerprint, suite_content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.suite.model import Suite

SCHEMA_VERSION = 1


def build(suite: Suite, verdict: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The record of an evaluation, ready for JSON. The run folder adds id, status, exit code and times.

    `facts` is what only the run itself knows: `constants`, `files` (path, bytes, rows), `rows` (read, used
    and dropped by model), `timings` in seconds by stage, `warnings`, and `defaults` (files that the suite stands on)
    where there are some. Further facts are kept as they are.
    """
    files = [{**file, "path": masked(str(file["path"]))} for file in facts.get("files", ())]
    return {
        "name": suite.name,
        "verdict": verdict,
        "suite": suite_content(suite),
        "fingerprint": fingerprint(suite),
        "versions": versions(),
        "constants": {},
        "rows": {},
        "timings": {},
        **plain(facts),
        "files": plain(files),
        "warnings": [masked(str(warning)) for warning in facts.get("warnings", ())],
    }


def versions() -> dict[str, str | int]:
    """Versions of what decides the numbers; `hash` is that of the unit hash."""
    from plmetrics.core.version import VERSION

    return {
        "plmetrics": VERSION,
        **{package: _version(package) for package in ("polars", "numpy", "scipy")},
        "python": platform.python_version(),
        "hash": HASH_VERSION,
    }


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
