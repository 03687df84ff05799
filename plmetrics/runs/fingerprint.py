"""What a suite says, in one canonical form, and its hash: cosmetic edits of the YAML do not change it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.metric import Metric
from plmetrics.runs.files import plain

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite

_USER = re.compile(r"(?<=://)[^/@\s]*@")
_SIGNATURE = re.compile(r"([?&][\w.-]+=)[^&\s]+")


def canonical(suite: Suite) -> dict[str, Any]:
    """The suite as JSON-able data: metrics as canonical text, what stands at its default left out.

    Credentials inside of addresses are masked.
    """
    said = _said(suite)
    assert isinstance(said, dict)
    return said


def fingerprint(suite: Suite) -> str:
    """SHA-256 of the canonical suite in hexadecimal, without the order of keys and without `output`."""
    said = {key: value for key, value in canonical(suite).items() if key != "output"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def masked(text: str) -> str:
    """An address without user, password and the values in its query string.

    >>> masked("s3://key:secret@bucket/day.parquet?token=abc")
    's3://***@bucket/day.parquet?token=***'
    """
    return _SIGNATURE.sub(r"\1***", _USER.sub("***@", text)) if "://" in text else text


def _said(value: Any) -> Any:
    if isinstance(value, Metric):
        return value.text
    fields = getattr(type(value), "model_fields", None)
    if fields is not None:
        return {
            name: _said(getattr(value, name))
            for name, field in fields.items()
            if field.is_required() or getattr(value, name) != field.get_default(call_default_factory=True)
        }
    if isinstance(value, Mapping):
        return {str(key): _said(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_said(item) for item in value]
    return masked(value) if isinstance(value, str) else plain(value)
