"""Messages about a run: to a webhook or a command, within ten seconds each, and never at the cost of the run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from plmetrics.core.process import original_environment
from plmetrics.runs.failure import SKIPPED as WITHOUT_DATA
from plmetrics.runs.failure import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.runs.history.previous_runs import PreviousStatus
    from plmetrics.runs.outcome import ExitPolicy, Outcome
    from plmetrics.suite.sections.output import Notify

SECONDS = 10.0
ERROR, SKIPPED = "error", "skipped"
_MOST_GATES = 10
_OF_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Characters that Slack takes for markup: it would read `<= 0.2, auc >` as a link."""
_UNTOLD = (None, "pass", "none")
"""Verdicts that are no change after no run at all."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message about a run.

    `status` is its verdict, or `error`, or `skipped` where there were no data; `gates` are those that fail it, and
    `reason` says why where its verdict does not.
    """

    suite: str
    status: str
    exit_code: int
    folder: str
    interval: str = ""
    gates: tuple[str, ...] = ()
    reason: str = ""
    error: str = ""

    @property
    def text(self) -> str:
        """The message in one paragraph."""
        head = f"{self.suite}{f' {self.interval}' if self.interval else ''}: {self.status}"
        reasons = "; ".join(filter(None, (self.error, self.reason, ", ".join(self.gates))))
        return f"{head}{f' ({reasons})' if reasons else ''}{f', see {self.folder}' if self.folder else ''}"

    def fill(self, template: str | None, escapes: Mapping[int, str] | None = None) -> str:
        """Text from a template, with `escapes` for characters of the values; its own without a template."""
        values = {
            "suite": self.suite,
            "verdict": self.status,
            "interval": self.interval,
            "folder": self.folder,
            "gates": ", ".join(self.gates),
            "text": self.text,
        }
        escaped = {name: value.translate(escapes or {}) for name, value in values.items()}
        return ("{text}" if template is None else template).format_map(escaped)


def message_of_result(
    name: str, result: Outcome, exit_code: int, exits: ExitPolicy, folder: str, interval: str
) -> Message:
    """Message about a completed run."""
    failed = exits.causes(result.gates)["gate"].unique(maintain_order=True).to_list()
    more = [f"and {len(failed) - _MOST_GATES} more"] if len(failed) > _MOST_GATES else []
    gates = (*failed[:_MOST_GATES], *more)
    reason = exits.reason(result.gates) or ""
    return Message(name, result.verdict, exit_code, folder, interval, gates, reason)


def message_of_failure(name: str, failure: Failure, interval: str) -> Message:
    """Message about a run with an error, or without data."""
    status = SKIPPED if failure.exit_code == WITHOUT_DATA else ERROR
    folder = "" if failure.folder is None else str(failure.folder)
    return Message(name, status, failure.exit_code, folder, interval, error=failure.message)


def notify(
    messages: Iterable[Notify],
    message: Message,
    previous: PreviousStatus,
    folder: Path,
    again: Collection[int] = (),
) -> dict[int, str]:
    """Send the requested messages; a warning for each undelivered one, by its number.

    `previous` is the status of the run before; commands run in `folder`, that of the suite. Of a run that has told its
    status those of the numbers `again` are sent alone, which did not arrive.
    """
    warnings = {}
    for number, spec in enumerate(messages, start=1):
        is_told = number not in previous.undelivered
        if not (number in again if again else _is_due(spec.on, message, previous, is_told=is_told)):
            continue
        kind = "webhook" if spec.webhook is not None else "command"
        fault = _within_time(_sender(spec, message, folder))
        if fault is not None:
            warnings[number] = f"notification {number} ({kind}) is not delivered: {fault}"
    return warnings


def _is_due(on: str, message: Message, previous: PreviousStatus, *, is_told: bool) -> bool:
    if on == "always":
        return True
    if message.status == SKIPPED:
        return False
    if on == "fail":
        return message.exit_code != 0
    if not is_told:
        return True
    last = previous.status
    return message.status not in _UNTOLD if last in _UNTOLD else message.status != last


def _sender(spec: Notify, message: Message, folder: Path) -> Callable[[], str | None]:
    if spec.webhook is not None:
        url, text = spec.webhook, message.fill(spec.template, _OF_SLACK)
        return lambda: _post(url, {"text": text})
    content = {
        "text": message.fill(spec.template),
        "suite": message.suite,
        "verdict": message.status,
        "exit_code": message.exit_code,
        "interval": message.interval or None,
        "folder": message.folder or None,
        "gates": list(message.gates),
        "error": message.error or None,
    }
    return lambda: _execute(spec.command, content, folder)


def _within_time(send: Callable[[], str | None]) -> str | None:
    """Fault in words, if any; a sender beyond its time limit is left to itself."""
    answers: Queue[str | None] = Queue()
    Thread(target=lambda: answers.put(_attempt(send)), daemon=True).start()
    try:
        return answers.get(timeout=SECONDS)
    except Empty:
        return f"no answer within {SECONDS:g} seconds"


def _attempt(send: Callable[[], str | None]) -> str | None:
    """The words of errors may hold an address, and an address a secret: only their kinds are told."""
    try:
        return send()
    except HTTPError as error:
        return f"the server answered {error.code}"
    except URLError as error:
        reason = error.reason
        return (reason.strerror or type(reason).__name__) if isinstance(reason, OSError) else "no connection"
    except TimeoutError:
        return f"no answer within {SECONDS:g} seconds"
    except Exception as error:  # a message must never cost the run
        return type(error).__name__


def _post(url: str, content: Any) -> str | None:
    """Send content as JSON. Redirects are errors, as an address may be a secret."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    body = json.dumps(content, ensure_ascii=False).encode()
    request = Request(url, body, {"Content-Type": "application/json", "User-Agent": "plmetrics"})
    with opener.open(request, timeout=SECONDS) as answer:
        answer.read(1)
    return None


def _execute(command: tuple[str, ...], content: Any, folder: Path) -> str | None:
    """Run a command with the message on its standard input."""
    try:
        done = subprocess.run(
            list(command),
            input=json.dumps(content).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
            cwd=folder,
            env=original_environment(),
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {SECONDS:g} seconds"
    except OSError as error:
        return error.strerror or type(error).__name__
    return f"exit code {done.returncode}" if done.returncode else None
