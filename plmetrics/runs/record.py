"""Body of run.json: the request, the input, versions and machine, and the outcome."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.hashing import HASH_VERSION
from plmetrics.core.redaction import Redaction, mask_address
from plmetrics.core.version import VERSION
from plmetrics.runs.files import plain
from plmetrics.suite.model import Suite, canonical

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.core.results import RecordedFile
    from plmetrics.runs.outcome import Outcome
    from plmetrics.states.state_format import Head

SCHEMA_VERSION = 1
_SECRET = re.compile(
    r"(?i)^((?:--?|[\w.]*)[\w.-]*(?:password|passwd|secret|token|credential|key|database|webhook|notify|auth)[\w.-]*)=.*",
    re.DOTALL,
)
_GIT_SECONDS = 2
_LABEL = re.compile(r"[\w.-]{1,100}", re.ASCII)


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
    """Digest to tell conditions on rows with other values apart, if these are secret."""
    from plmetrics.runs.history.data import condition_identity

    return {"where_identity": condition_identity(suite)} if suite.has_template("data", "where") else {}


def versions() -> dict[str, str | int]:
    """Versions of the packages behind the numbers; `hash` is that of the unit hash."""
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


def fingerprint_with_values(suite: Suite) -> str:
    """As `fingerprint`, of the values of variables too: where it differs, so may the results of the same files."""
    return fingerprint(suite.with_templates(()))


def suite_content(suite: Suite) -> dict[str, Any]:
    """Suite as JSON-able data: without defaults, credentials in addresses masked."""
    content: dict[str, Any] = _mask(suite.model_dump(mode="json", exclude_defaults=True))
    return content


def suite_of_run(result: Outcome) -> Mapping[str, Any]:
    """Suite of a result, for the record: as it was written, or else as it is."""
    stored: Mapping[str, Any] | None = result.record.get("suite")
    return suite_content(result.suite) if stored is None else stored


def rows_read(record: Mapping[str, Any]) -> int | None:
    """Rows of the table that a run read; None where it is not known. Of rankings `read` counts queries."""
    rows = record.get("rows", {})
    number: int | None = rows.get("pairs_read", rows.get("read"))
    return number


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


def provenance(
    suite: Path,
    variables: Redaction,
    labels: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Entries of run.json on where a run comes from.

    Values of `variables` are not told; `command` is None where the run was not started by one.

    Raises:
        ConfigError: a label has no proper name.
    """
    for name in labels or {}:
        if not _LABEL.fullmatch(name):
            msg = f"{name!r} cannot be the name of a label"
            raise ConfigError(Problem(msg, hint="use letters, digits, dots, '-' and '_'"))
    file = suite.resolve()
    return {
        "host": socket.gethostname(),
        "command": None if command is None else [variables.text(mask_argument(word)) for word in command],
        "suite_file": variables.text(str(file)),
        "git_commit": git_commit(file.parent),
        "run_labels": {name: variables.text(text) for name, text in (labels or {}).items()},
    }


def mask_argument(argument: str) -> str:
    """Word of a command line without possible secrets.

    >>> mask_argument("output.database=sqlite:///x.db"), mask_argument("data.path=s3://me:pw@bucket/x")
    ('output.database=***', 'data.path=s3://***@bucket/x')
    """
    return mask_address(_SECRET.sub(r"\1=***", argument))


def git_commit(folder: Path) -> str | None:
    """Current commit of a folder; None outside a repository, or without an answer of git."""
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return None
    words = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    text = done.stdout.strip()
    return text if re.fullmatch(r"[0-9a-f]{40,64}", text) else None
