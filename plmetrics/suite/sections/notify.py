"""The section `notify` of a suite: whom a run tells how it ended."""

from __future__ import annotations

import re
from string import Formatter
from typing import TYPE_CHECKING, Any

from plmetrics.core.names import did_you_mean
from plmetrics.suite.sections.output import Notify

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.suite.problems import Findings

NAMES = ("suite", "verdict", "interval", "folder", "gates", "text")
"""What a template may name."""
_FORM = 'write notify: {webhook: "${SLACK_URL}", on: change}'
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s]*")


def read_notify(value: Any, findings: Findings) -> tuple[Notify, ...]:
    """The messages of a suite: one mapping, or a list of them."""
    out: list[Notify] = []
    for path, spec in findings.models(Notify, value, "notify", _FORM):
        _check(spec, path, findings)
        out.append(spec)
    return tuple(out)


def _check(spec: Notify, path: SuitePath, findings: Findings) -> None:
    if (spec.webhook is None) == (not spec.command):
        findings.add("a message needs either a webhook or a command", path, _FORM)
    if spec.webhook is not None and not _ADDRESS.fullmatch(spec.webhook):
        findings.add("the webhook is no address that begins with http:// or https://", (*path, "webhook"))
    if spec.template is not None:
        _check_template(spec.template, (*path, "template"), findings)


def _check_template(template: str, path: SuitePath, findings: Findings) -> None:
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        findings.add(f"the template cannot be read: {error}", path, "write {{ and }} for braces")
        return
    for _, name, form, conversion in parts:
        if name is not None and (name not in NAMES or form or conversion):
            hint = did_you_mean(name, NAMES)
            findings.add(f"the template names {{{name}}}, which is no plain name of it", path, hint)
