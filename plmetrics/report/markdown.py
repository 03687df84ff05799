"""A result as GitHub Markdown, for pull requests: verdict, gates, changes, models, worst slices, warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plmetrics.core.names import printable
from plmetrics.report.digest import Grid, digest, warning_texts
from plmetrics.report.sections.verdict import headline, labels_text, reference_texts, sizes

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

LONGEST = 120
_LONGEST_TEXT = 2000
MOST_WARNINGS = 10
_SPECIAL = re.compile(r"[\\`*_\[\]~|$#<>&@:!(){}]|\bhttps?\b|\bwww\b")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_BREAK = "&#8203;"
"""A blank without width: what follows it is no mention, no issue, no address and no emoji."""


def to_markdown(summary: Summary) -> str:
    """The report in Markdown."""
    word, *checks = headline(summary)
    blocks = [f"## {word} {escape(summary.name)}", ", ".join(checks), ", ".join(map(escape, sizes(summary)))]
    origins = [labels_text(summary), *reference_texts(summary)]
    blocks += [escape(text, _LONGEST_TEXT) for text in origins if text]
    for grid in digest(summary):
        blocks += [f"### {escape(grid.title)}", _table(grid)]
        blocks += [escape(grid.remark, _LONGEST_TEXT)] if grid.remark else []
    warnings = [f"- {escape(text, _LONGEST_TEXT)}" for text in warning_texts(summary, MOST_WARNINGS)]
    blocks += ["### Warnings", "\n".join(warnings)] if warnings else []
    if summary.place is not None:
        blocks.append(f"Run folder: {escape(summary.place, _LONGEST_TEXT)}")
    return "\n\n".join(filter(None, blocks)) + "\n"


def escape(text: str, longest: int = LONGEST) -> str:
    r"""Names and values as text without a meaning in Markdown, HTML or GitHub; the middle of a long one is left out.

    >>> escape("a|b `c` <i>"), escape("@team #12")
    ('a\\|b \\`c\\` &lt;i&gt;', '@&#8203;team \\#&#8203;12')
    """
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-longest // 2 :]}"
    return _SPECIAL.sub(_harmless, printable(text))


def _harmless(match: re.Match[str]) -> str:
    symbol, text = match[0], match.string
    before, after = text[: match.start()][-1:], text[match.end() :][:1]
    if symbol in _ENTITIES:
        return _ENTITIES[symbol]
    if symbol in "@:":
        return f"{symbol}{_BREAK}" if after and not after.isspace() else symbol
    if symbol.isalnum():
        return f"{symbol}{_BREAK}" if after in {":", "."} else symbol
    if symbol == "#":
        return rf"\#{_BREAK}" if after.isdigit() else r"\#"
    if symbol == "_" and before.isalnum() and after.isalnum():
        return symbol
    return symbol if symbol in "(){}!" and before != "]" else f"\\{symbol}"


def _table(grid: Grid) -> str:
    head = [" | ".join(map(escape, grid.columns)), " | ".join("---" for _ in grid.columns)]
    rows = [
        " | ".join(_cell(text, strong=(line, place) in grid.strong) for place, text in enumerate(row))
        for line, row in enumerate(grid.rows)
    ]
    return "\n".join(f"| {line} |" for line in head + rows)


def _cell(text: str, *, strong: bool) -> str:
    return f"**{escape(text)}**" if strong else escape(text)
