"""What a suite says, for the record, and the hash of what it means: cosmetic edits do not change that."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from plmetrics.core.redaction import masked
from plmetrics.suite.model import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.runs.outcome import Outcome
    from plmetrics.suite.model import Suite


def fingerprint(suite: Suite) -> str:
    """SHA-256 of the canonical suite in hexadecimal."""
    text = json.dumps(canonical(suite), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def suite_content(suite: Suite) -> dict[str, Any]:
    """The suite as JSON-able data: what stands at its default left out, credentials in addresses masked."""
    content: dict[str, Any] = _masked(suite.model_dump(mode="json", exclude_defaults=True))
    return content


def suite_of_run(result: Outcome) -> Mapping[str, Any]:
    """What the suite of a result says: as it was written, or else as it is."""
    stored: Mapping[str, Any] | None = result.record.get("suite")
    return suite_content(result.suite) if stored is None else stored


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return masked(value) if isinstance(value, str) else value
