"""Provenance of a run: host, command line, the suite's file and its git commit, and labels of the caller."""

from __future__ import annotations

import re
import socket
import subprocess
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.redaction import mask_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from plmetrics.core.redaction import Redaction

_SECRET = re.compile(
    r"(?i)^((?:--?|[\w.]*)[\w.-]*(?:password|passwd|secret|token|credential|key|database|webhook|notify|auth)[\w.-]*)=.*",
    re.DOTALL,
)
_GIT_SECONDS = 2
_LABEL = re.compile(r"[\w.-]{1,100}", re.ASCII)


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
    """A word of a command line without what may be a secret.

    >>> mask_argument("output.database=sqlite:///x.db"), mask_argument("data.path=s3://me:pw@bucket/x")
    ('output.database=***', 'data.path=s3://***@bucket/x')
    """
    return mask_address(_SECRET.sub(r"\1=***", argument))


def git_commit(folder: Path) -> str | None:
    """The commit that a folder is at; None where it is in no repository, or git does not answer."""
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
