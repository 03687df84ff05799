"""A result as HTML for notebooks: the report in short, in the colours of the notebook."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, Template

from plmetrics.core.names import printable
from plmetrics.report.digest import Grid, digest, warning_texts
from plmetrics.report.numbers import plural
from plmetrics.report.sections.verdict import headline, sizes

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

MOST_BYTES = 8192
_LONGEST = 60
_WARNINGS = 5
_TITLES = ("Gates", "Readout", "Models", "Outcomes", "Worst", "Changes", "Differences")
"""Parts in the order of what is worth the room."""

_WIDE = {"Models": "model", "Outcomes": "outcome"}
"""Parts with a column each of these."""

_ROWS = (12, 8, 5, 3, 2, 1)
"""Numbers of rows to try, one after another, until the text fits."""

_CELL = "padding:1px 8px;text-align:left"
_TEMPLATE = """\
<div class="plmetrics-result" style="color:inherit;font-size:.92em;line-height:1.45;overflow-x:auto">
<div><strong>{{ word }}</strong> {{ name }}: {{ checks }}</div>
<div style="opacity:.7">{{ sizes }}</div>
{% for grid in grids %}
<div style="margin-top:.7em"><strong>{{ grid.title }}</strong></div>
<table style="border-collapse:collapse;color:inherit;background:none;margin:.2em 0;white-space:nowrap">
<tr>{% for name in grid.columns %}<th style="{{ cell }};opacity:.7">{{ name }}</th>{% endfor %}</tr>
{% for row in grid.rows %}
<tr style="background:none">
{%- for text, strong in row -%}
<td style="{{ cell }}{% if strong %};font-weight:600{% endif %}">{{ text }}</td>
{%- endfor -%}
</tr>
{% endfor %}
</table>
{% if grid.remark %}<div style="opacity:.7">{{ grid.remark }}</div>{% endif %}
{% endfor %}
{% if warnings %}<div style="margin-top:.7em"><strong>Warnings</strong></div>{% endif %}
{% for text in warnings %}<div>{{ text }}</div>{% endfor %}
{% if absent %}<div style="opacity:.7;margin-top:.7em">{{ absent }}</div>{% endif %}
</div>
"""


def to_html(summary: Summary) -> str:
    """The short form as HTML of at most 8 KB: parts are cut until it fits, and say so."""
    every_grid = digest(summary)
    grids = [grid for title in _TITLES for grid in every_grid if grid.title.startswith(title)]
    every = len(grids)
    for rows in _ROWS:
        least = 1 if rows == 1 else max(every - (rows <= _ROWS[2]), 1)
        for parts in range(every, least - 1, -1):
            text = _html(summary, grids, parts, rows)
            if len(text.encode()) <= MOST_BYTES:
                return text
    return _html(summary, grids, 0, 0)


def _html(summary: Summary, grids: Sequence[Grid], parts: int, rows: int) -> str:
    """The text with so many parts, and so many rows of each at most."""
    warnings = min(rows, _WARNINGS)
    word, *checks = headline(summary)
    left_out = [grid.title for grid in grids[parts:]]
    return _template().render(
        word=word,
        name=_short(summary.name),
        checks=", ".join(checks),
        sizes=_short(", ".join(sizes(summary)), 400),
        grids=[_cut(grid, rows) for grid in grids[:parts]],
        warnings=[_short(text, 300) for text in warning_texts(summary, warnings)] if warnings else [],
        absent=_short(f"not shown: {', '.join(left_out)}; print(result) shows all", 400) if left_out else "",
        cell=_CELL,
    )


def _cut(grid: Grid, rows: int) -> dict[str, object]:
    """Grid of some rows, and of some models if they are columns, with a remark on the omitted ones."""
    columns = max(rows, 2) if grid.title in _WIDE else len(grid.columns)
    remarks = [grid.remark] if grid.remark else []
    if len(grid.rows) > rows:
        remarks.append(f"{plural(len(grid.rows) - rows, 'more row')} in print(result)")
    if len(grid.columns) > columns:
        remarks.append(f"{plural(len(grid.columns) - columns, f'more {_WIDE[grid.title]}')} in print(result)")
    return {
        "title": _short(grid.title),
        "columns": [_short(name) for name in grid.columns[:columns]],
        "rows": [
            [(_short(text), (line, place) in grid.strong) for place, text in enumerate(row[:columns])]
            for line, row in enumerate(grid.rows[:rows])
        ],
        "remark": "; ".join(remarks),
    }


def _short(text: str, longest: int = _LONGEST) -> str:
    """Text of a cell's width: the middle of a long one is left out."""
    text = printable(text)
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 :]}"


@cache
def _template() -> Template:
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_TEMPLATE)
