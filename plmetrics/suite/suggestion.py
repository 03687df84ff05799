"""A suite for a table by the rules of advice, as YAML text: each metric with its reason, and those to avoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.suite.starter import one_line, starter_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from plmetrics.suite.advice import Advice
    from plmetrics.suite.starter import Table

_WIDEST = 44
_HEAD = (
    "# A suite for this table: each metric with the reason why, and below them those to be careful with.",
    "# Read each line before you rely on it. plmetrics run FILE runs it as it is.",
)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suite for a table.

    `text` is the suite as YAML, with reasons as comments. `advice` is a frame with a row per metric and rule: its
    `verdict` is `advise` or `advise_against`, `companions` are metrics beside which one that is advised against does
    no harm, `source` is the literature. `task` is that of the suite, and `note` what the table holds beyond it.
    """

    task: str
    text: str
    advice: pl.DataFrame
    note: str | None = None

    def __str__(self) -> str:
        return self.text


def suggestion(table: Table, advice: Advice, note: str | None = None) -> Suggestion:
    """Put the advice on a table into a suite."""
    head = [*_HEAD, f"# {one_line(note)}"] if note else list(_HEAD)
    text = starter_text(table, head=head, metrics=list(_metrics(advice)))
    return Suggestion(table.task, text, advice.frame(), note)


def _metrics(advice: Advice) -> Iterator[str]:
    """The section `metrics`, a reason behind each, unless the one before has the same; then what to avoid."""
    yield "metrics:"
    longest = max((len(_entry(text)) for text, _ in advice.chosen), default=0)
    before = None
    for text, reason in advice.chosen:
        said = "likewise" if reason == before else reason
        entry = _entry(text)
        if len(entry) > _WIDEST:
            yield f"  # {said}:"
            yield entry
        else:
            yield f"{entry:<{min(longest, _WIDEST)}}  # {said}"
        before = reason
    warnings = advice.warnings()
    if warnings:
        yield "  # Be careful with:"
    for names, reason in warnings:
        yield f"  # {names}: {reason}"
    yield f"  # plmetrics metrics --task {advice.known.task} lists them all"


def _entry(text: str) -> str:
    return f"  - {text}"
