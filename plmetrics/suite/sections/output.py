"""Sections `output` and `notify`: places of run folders and other results, and recipients of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer
from pydantic_core import PydanticCustomError

from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.suite.sections.section import Column, OrOne, Strict

if TYPE_CHECKING:
    from plmetrics.suite.problems import Findings

DocumentName = Literal["junit", "openmetrics", "markdown", "openlineage"]
"""The documents that a run can write beside its tables."""

MASKED = "***"
"""Mask of a text that may be a secret."""
NAMES = ("suite", "verdict", "interval", "folder", "gates", "text")
"""Fields of a template."""
_FORM = 'write notify: {webhook: "${SLACK_URL}", on: change}'
_ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s]*")


def _entry(value: Any) -> Any:
    """A name, or one name with its path."""
    is_path = isinstance(value, Mapping) and [*map(type, value.values())] == [str] and all(value.values())
    if isinstance(value, str) or is_path:
        return value
    kind, expected = "document", "the name of a document, or a mapping of one name to its path"
    raise PydanticCustomError(kind, expected, {"hint": "write {openmetrics: PATH}"})


_Path = Annotated[dict[DocumentName, Column], Field(min_length=1, max_length=1)]


class MlflowOutput(Strict):
    """Server, experiment and names of a run in MLflow."""

    experiment: Column = Field(description="Name of the experiment; it is made if there is none.")
    uri: Column | None = Field(
        default=None,
        description="Address of the tracking server or store; MLflow's own setting if not given.",
    )
    run_name: Column | None = Field(
        default=None, description="Name of the MLflow run; the run's id if not given."
    )


class Output(Strict):
    """Destinations of results, paths relative to the suite's folder. ${VAR} is replaced in all of it."""

    directory: Column = Field(
        default="runs",
        description="Folder for run folders, under this file's, or the address of one in a bucket. ${VAR} is replaced.",
    )
    report: bool = Field(default=False, description="Whether a run folder gets report.html, with charts.")
    also: Annotated[tuple[Annotated[DocumentName | _Path, BeforeValidator(_entry)], ...], OrOne()] = Field(
        default=(),
        description="Documents that stand in the run folder beside the tables: junit, openmetrics, markdown, "
        "openlineage. {name: path} writes one to a fixed path as well.",
    )
    database: Column | None = Field(
        default=None,
        description="Address of a database whose tables get the results: PostgreSQL, MariaDB, MySQL or SQLite.",
    )
    delta: Column | None = Field(default=None, description="Folder whose Delta tables get the results.")
    mlflow: MlflowOutput | None = Field(default=None, description="Place of the run in MLflow.")

    @property
    def exports(self) -> bool:
        """Whether results go anywhere but into a run folder's tables and report."""
        return bool(self.also) or any(part is not None for part in (self.database, self.delta, self.mlflow))


def _mask(_: str | None) -> str | None:
    return MASKED


def _mask_arguments(command: tuple[str, ...]) -> list[str]:
    return [*command[:1], *(MASKED for _ in command[1:])]


class Notify(Strict):
    """A message about the outcome of a run, to a webhook or a command."""

    webhook: Annotated[Column, PlainSerializer(_mask)] | None = Field(
        default=None,
        description='Address to which {"text": ...} is sent, as Slack takes it. ${VAR} is replaced.',
    )
    command: Annotated[tuple[Column, ...], PlainSerializer(_mask_arguments)] = Field(
        default=(),
        description="Program and arguments, run without a shell; the message is JSON on its input.",
    )
    on: Literal["change", "fail", "always"] = Field(
        default="change",
        description="When: the verdict is another than that of the run before, the exit code is not 0, or always.",
    )
    template: Column | None = Field(
        default=None,
        description="Text of the message, with {suite}, {verdict}, {interval}, {folder}, {gates}, {text}.",
    )


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
    if spec.webhook is not None:
        _check_webhook(spec.webhook, (*path, "webhook"), findings)
    if spec.template is not None:
        _check_template(spec.template, (*path, "template"), findings)


def _check_webhook(address: str, path: SuitePath, findings: Findings) -> None:
    if not _ADDRESS.fullmatch(address):
        findings.add("the webhook is no address that begins with http:// or https://", path)
    elif "@" in re.split("[/?#]", address)[2]:  # it would be looked up as part of the host's name
        hint = "write a token into its path or query, or send the message by a command"
        findings.add("the webhook holds a user or a password", path, hint)


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
