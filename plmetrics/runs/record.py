"""The body of run.json: what was asked, what was read, what it was made with, and what came out."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast

from plmetrics.core.hashing import HASH_VERSION
from plmetrics.core.redaction import mask_address
from plmetrics.runs.files import plain
from plmetrics.suite.model import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.core.redaction import Redaction
    from plmetrics.core.results import RecordedFile
    from plmetrics.runs.outcome import Outcome
    from plmetrics.states.state_format import Head
    from plmetrics.suite.model import Suite


SCHEMA_VERSION = 1


def build(suite: Suite, verdict: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The record of an evaluation, ready for JSON. The run folder adds id, status, exit code and times.

    `facts` is what only the run itself knows: `constants`, `files` (path, bytes, rows), `rows` (read, used
    and dropped by model), `timings` in seconds by stage, `warnings`, and `defaults` (files that the suite stands on)
    where there are some. Further facts are kept as they are.
    """
    files = [{**file, "path": mask_address(str(file["path"]))} for file in facts.get("files", ())]
    return {
        "name": suite.name,
        "verdict": verdict,
        "suite": suite_content(suite),
        "fingerprint": fingerprint(suite),
        **_where_identity(suite),
        "versions": versions(),
        "constants": {},
        "rows": {},
        "timings": {},
        **plain(facts),
        "files": plain(files),
        "warnings": [mask_address(str(warning)) for warning in facts.get("warnings", ())],
    }


def _where_identity(suite: Suite) -> dict[str, str | None]:
    """Digest that tells the condition on rows from one with other values, where these are not shown."""
    from plmetrics.runs.history.data import condition_identity

    return {"where_identity": condition_identity(suite)} if suite.has_template("data", "where") else {}


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


def fingerprint(suite: Suite) -> str:
    """SHA-256 of the canonical suite in hexadecimal."""
    text = json.dumps(canonical(suite), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def suite_content(suite: Suite) -> dict[str, Any]:
    """The suite as JSON-able data: what stands at its default left out, credentials in addresses masked."""
    content: dict[str, Any] = _mask(suite.model_dump(mode="json", exclude_defaults=True))
    return content


def suite_of_run(result: Outcome) -> Mapping[str, Any]:
    """Suite of a result, for the record: as it was written, or else as it is."""
    stored: Mapping[str, Any] | None = result.record.get("suite")
    return suite_content(result.suite) if stored is None else stored


def mask_head(variables: Redaction, head: Head) -> Head:
    """The head of a state without values of variables."""
    facts = variables.record(
        {
            "suite": head.suite,
            "files": cast("tuple[RecordedFile, ...]", head.files),
            "warnings": list(head.warnings),
        }
    )
    return replace(head, suite=facts["suite"], files=tuple(facts["files"]), warnings=tuple(facts["warnings"]))


def _mask(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _mask(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_mask(item) for item in value]
    return mask_address(value) if isinstance(value, str) else value
