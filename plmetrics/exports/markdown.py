"""The report of a run as GitHub Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.markdown import escape, to_markdown
from plmetrics.report.summary import summarise
from plmetrics.table.files import shown_path

if TYPE_CHECKING:
    from plmetrics.exports.protocol import EndedRun


def markdown_text(run: EndedRun) -> str:
    """Text of `plmetrics report RUN --format markdown`; of a failed run, the reason."""
    place = shown_path(run.folder)
    if run.result is not None:
        return to_markdown(summarise(run.result, place))
    message = escape(str(run.record.get("message", "")), 2000)
    name = " ".join(filter(None, (run.name, (run.record.get("interval") or {}).get("key"))))
    return f"## {run.verdict.upper()} {escape(name)}\n\n{message}\n\nRun folder: {escape(place, 2000)}\n"
