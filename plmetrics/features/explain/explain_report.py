"""What a run would do, as text or JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.report.layout import (
    FAINT,
    GAP,
    INDENT,
    Column,
    flow,
    heading,
    printable,
    separated,
    table_or_stack,
    to_text,
    wrapped,
)
from plmetrics.report.numbers import count, plural
from plmetrics.report.terminal import NARROWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.features.explain.explanation import Explanation, Pass

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_UNKNOWN = "?"
_NAMED = 3


def explain_json(found: Explanation) -> str:
    """One JSON object; what was not looked up is null."""
    content = dataclasses.asdict(found) | {"streams": found.streams}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def explain_text(found: Explanation, width: int = 100, *, color: bool = False) -> str:
    """The explanation in lines of at most `width` cells (40 at the least)."""
    width = max(width, NARROWEST)
    sections = [_head(found, width), _reads(found, width), _sets(found, width), _cubes(found, width)]
    sections += [_passes(found, width), _memory(found, width), _state(found, width), _advice(found, width)]
    return to_text(separated(sections), width, color=color)


def size(value: int) -> str:
    """A number of bytes, for people.

    >>> size(277044), size(12)
    ('277.0 kB', '12 B')
    """
    for unit, word in _UNITS:
        if value >= unit:
            return f"{value / unit:.1f} {word}"
    return f"{value} B"


def _head(found: Explanation, width: int) -> list[Text]:
    name = Text.assemble((f"{printable(found.name)}:", "bold"))
    said = [f"{found.task},", f"{plural(found.models, 'model')},", f"{plural(found.metrics, 'metric')}"]
    lines = flow([name, *map(Text, said)], width, indent=0, gap=1)
    made = [
        plural(made, word)
        for made, word in ((found.estimates, "value"), (found.comparisons, "difference"))
        if made
    ]
    if found.replicates is not None:
        blocks = "" if found.blocks is None else f" over {plural(found.blocks, 'block')}"
        units = "" if found.units is None else f" of {plural(found.units, 'unit')}"
        made.append(f"{plural(found.replicates, 'replicate')}{blocks}{units}")
    if found.intervals not in {(), ("bootstrap",)}:
        made.append(f"intervals by {', '.join(found.intervals)}")
    pieces = [Text(text + ("," if i < len(made) - 1 else ""), FAINT) for i, text in enumerate(made)]
    return lines + flow(pieces, width, indent=0, gap=1)


def _reads(found: Explanation, width: int) -> list[Text]:
    source = found.source
    said = []
    if source.files:
        said.append(("files", f"{plural(source.files, source.kind + ' file')}, {size(source.bytes)}"))
        if source.pruned:
            said.append(("skipped", f"{plural(source.pruned, 'file')}: `where` rules out their folders"))
    rows = [f"{count(source.rows)} in the files" if source.rows is not None else ""]
    rows.append(f"{count(found.rows)} to evaluate" if found.rows is not None else "")
    said.append(("rows", ", ".join(filter(None, rows)) or "not known without reading them"))
    columns = f"{len(source.columns)} of {source.columns_there}: {', '.join(map(printable, source.columns))}"
    return heading("Reads", width=width) + _listed([*said, ("columns", columns)], width)


def _sets(found: Explanation, width: int) -> list[Text]:
    rows = [
        [
            Text(printable(part.name)),
            Text(_UNKNOWN if part.slices is None else count(part.slices)),
            Text(" x ".join(map(printable, part.by)), FAINT),
        ]
        for part in found.sets
    ]
    columns = [Column("slice set"), Column("slices", "right"), Column("by")]
    return heading("Slices", width=width) + table_or_stack(columns, rows, width)


def _cubes(found: Explanation, width: int) -> list[Text]:
    if not found.cubes:
        return []
    rows = [
        [
            Text(" x ".join(map(printable, cube.keys)) or "all rows"),
            Text(count(cube.cells)),
            Text(count(cube.blocks)),
            Text(count(cube.entries)),
            Text(", ".join(map(printable, cube.sets)), FAINT),
        ]
        for cube in found.cubes
    ]
    columns = [Column("grouped by"), *(Column(word, "right") for word in ("cells", "blocks", "entries"))]
    remark = "one grouping serves several slice sets; entries: about so many sums of each kind"
    return heading("Cubes", remark, width) + table_or_stack([*columns, Column("serves")], rows, width)


def _passes(found: Explanation, width: int) -> list[Text]:
    rows = []
    for part in found.passes:
        read = [_times(part), count(part.columns) if part.columns else "", _rows_of(part)]
        rows.append([Text(part.stage), *map(Text, read), Text(_does(part))])
    columns = [Column("stage"), *(Column(word, "right") for word in ("scans", "columns", "rows"))]
    remark = "a scan reads the files once; +: or more, as what it finds and the memory budget ask for"
    lines = heading("Passes", remark, width) + table_or_stack([*columns, Column("does")], rows, width)
    if not found.cubes:
        return lines
    stuck = list(dict.fromkeys(label for part in found.passes for label in part.fallbacks))
    if not stuck:
        return lines + wrapped(Text("every plan streams", FAINT), width)
    for label in stuck:
        lines += wrapped(Text(f"does not stream: {printable(label)}", "yellow"), width)
    return lines


def _times(part: Pass) -> str:
    """How often a pass reads the files."""
    return f"{count(part.scans)}{'+' if part.at_least else ''}"


def _rows_of(part: Pass) -> str:
    """How many rows a pass reads, all its scans together."""
    return "" if part.rows is None or not part.scans else count(part.rows * part.scans)


def _does(part: Pass) -> str:
    """What a pass is for, and how many sums it makes."""
    if not part.aggregates:
        return part.does
    plans = f" in {part.plans} plans" if part.plans > 1 else ""
    return f"{part.does}: {plural(part.aggregates, 'aggregate')}{plans}"


def _memory(found: Explanation, width: int) -> list[Text]:
    if found.peak is None:
        return []
    said = [(what, f"about {size(held)}") for what, held in found.memory.items()]
    said.append(("at the peak", f"about {size(found.peak)}, beside what Python and Polars take at the start"))
    said.append(("budget", size(found.budget)))
    if found.exact is not None:
        how = "exact: the sorted rows fit" if found.exact else "counted on a grid, with a bound"
        said.append(("ordered metrics", how))
    return heading("Memory", width=width) + _listed(said, width)


def _state(found: Explanation, width: int) -> list[Text]:
    """What a state would hold, and what needs the rows: a few of those."""
    state = found.state
    if state is None:
        return []
    kept = f"{count(state.kept)} of {plural(found.metrics, 'metric')}"
    said = [("keeps", kept if state.kept < found.metrics else f"all of {plural(found.metrics, 'metric')}")]
    if state.rows is not None and state.bytes is not None:
        beside = ", beside what drift counts" if state.drift else ""
        said.append(("size", f"about {plural(state.rows, 'row')}, {size(state.bytes)}{beside}"))
    named = [why if why.startswith(place) else f"{place}: {why}" for place, why in state.needs_rows[:_NAMED]]
    if len(state.needs_rows) > _NAMED:
        named[-1] += f"; and {len(state.needs_rows) - _NAMED} more"
    said += [("" if index else "refuses", printable(text)) for index, text in enumerate(named)]
    remark = "what `plmetrics state` would write of these rows, to be merged with those of others"
    return heading("State", remark, width) + _listed(said, width)


def _advice(found: Explanation, width: int) -> list[Text]:
    if not found.advice:
        return []
    lines = heading("Worth a thought", width=width)
    for words in found.advice:
        lines += wrapped(Text(printable(words), "yellow"), width)
    return lines


def _listed(pairs: Sequence[tuple[str, str]], width: int) -> list[Text]:
    start = INDENT + max(len(name) for name, _ in pairs) + GAP
    lines = []
    for name, said in pairs:
        first, *more = wrapped(Text(said), width, indent=start)
        label = Text(" " * INDENT).append(name, FAINT)
        lines += [label + first[label.cell_len :], *more]
    return lines
