"""The explanation of a run as text or JSON."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.engine.memory.budget import LIBRARIES
from plmetrics.report.export import indented_json
from plmetrics.report.layout import (
    FAINT,
    Column,
    definition_list,
    flow,
    heading,
    join_blocks,
    remarks,
    table_or_stack,
    to_text,
)
from plmetrics.report.numbers import count, plural
from plmetrics.report.terminal import NARROWEST

if TYPE_CHECKING:
    from plmetrics.features.explain.explanation import Explanation, Pass

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_UNKNOWN = "?"
_NAMED = 3
_MINUTES, _HOURS = 120, 7200
"""Seconds from which a time is told in minutes, or in hours."""


def explain_json(explanation: Explanation) -> str:
    """One JSON object; facts without a look-up are null."""
    return indented_json(dataclasses.asdict(explanation) | {"streams": explanation.streams})


def explain_text(explanation: Explanation, width: int = 100, *, color: bool = False) -> str:
    """The explanation in lines of at most `width` cells (40 at the least)."""
    width = max(width, NARROWEST)
    sections = (_head, _reads, _sets, _cubes, _passes, _memory, _time, _state, _advice)
    return to_text(join_blocks(section(explanation, width) for section in sections), width, color=color)


def size(value: int) -> str:
    """A number of bytes, for people.

    >>> size(277044), size(12)
    ('277.0 kB', '12 B')
    """
    for unit, word in _UNITS:
        if value >= unit:
            return f"{value / unit:.1f} {word}"
    return f"{value} B"


def _head(explanation: Explanation, width: int) -> list[Text]:
    name = Text.assemble((f"{printable(explanation.name)}:", "bold"))
    counts = [
        f"{explanation.task},",
        f"{plural(explanation.models, 'model')},",
        f"{plural(explanation.metrics, 'metric')}",
    ]
    lines = flow([name, *map(Text, counts)], width, indent=0, gap=1)
    number = [
        plural(number, word)
        for number, word in ((explanation.estimates, "value"), (explanation.comparisons, "difference"))
        if number
    ]
    if explanation.replicates is not None:
        blocks = "" if explanation.blocks is None else f" over {plural(explanation.blocks, 'block')}"
        units = "" if explanation.units is None else f" of {plural(explanation.units, 'unit')}"
        number.append(f"{plural(explanation.replicates, 'replicate')}{blocks}{units}")
    if explanation.intervals not in {(), ("bootstrap",)}:
        number.append(f"intervals by {', '.join(explanation.intervals)}")
    pieces = [Text(text + ("," if i < len(number) - 1 else ""), FAINT) for i, text in enumerate(number)]
    lines += flow(pieces, width, indent=0, gap=1)
    if explanation.verdict is not None:
        color = "green" if explanation.verdict.kind in {"fits", "passes"} else "yellow"
        lines += remarks([f"Verdict: {explanation.verdict.text}"], width, color, indent=0)
    return lines


def _reads(explanation: Explanation, width: int) -> list[Text]:
    source = explanation.source
    pairs = []
    if source.files:
        pairs.append(("files", f"{plural(source.files, source.kind + ' file')}, {size(source.bytes)}"))
        if source.pruned:
            pairs.append(("skipped", f"{plural(source.pruned, 'file')}: `where` rules out their folders"))
    rows = [f"{count(source.rows)} in the files" if source.rows is not None else ""]
    rows.append(f"{count(explanation.rows)} to evaluate" if explanation.rows is not None else "")
    pairs.append(("rows", ", ".join(filter(None, rows)) or "not known without reading them"))
    columns = f"{len(source.columns)} of {source.columns_there}: {', '.join(map(printable, source.columns))}"
    return heading("Reads", width=width) + definition_list([*pairs, ("columns", columns)], width)


def _sets(explanation: Explanation, width: int) -> list[Text]:
    rows = [
        [
            Text(printable(part.name)),
            Text(_UNKNOWN if part.slices is None else count(part.slices)),
            Text(" x ".join(map(printable, part.by)), FAINT),
        ]
        for part in explanation.sets
    ]
    columns = [Column("slice set"), Column("slices", "right"), Column("by")]
    return heading("Slices", width=width) + table_or_stack(columns, rows, width)


def _cubes(explanation: Explanation, width: int) -> list[Text]:
    if not explanation.cubes:
        return []
    rows = [
        [
            Text(" x ".join(map(printable, cube.keys)) or "all rows"),
            Text(count(cube.cells)),
            Text(count(cube.blocks)),
            Text(count(cube.entries)),
            Text(", ".join(map(printable, cube.sets)), FAINT),
        ]
        for cube in explanation.cubes
    ]
    columns = [Column("grouped by"), *(Column(word, "right") for word in ("cells", "blocks", "entries"))]
    remark = "one grouping serves several slice sets; entries: about so many sums of each kind"
    return heading("Cubes", remark, width) + table_or_stack([*columns, Column("serves")], rows, width)


def _passes(explanation: Explanation, width: int) -> list[Text]:
    rows = []
    for part in explanation.passes:
        scans = f"{count(part.scans)}{'+' if part.at_least else ''}"
        rows_read = "" if part.rows is None or not part.scans else count(part.rows * part.scans)
        cells = [scans, count(part.columns) if part.columns else "", rows_read]
        rows.append([Text(part.stage), *map(Text, cells), Text(_does(part))])
    columns = [Column("stage"), *(Column(word, "right") for word in ("scans", "columns", "rows"))]
    remark = "a scan reads the files once; +: or more, as what it finds and the memory budget ask for"
    lines = heading("Passes", remark, width) + table_or_stack([*columns, Column("does")], rows, width)
    if not explanation.cubes:
        return lines
    stuck = list(dict.fromkeys(label for part in explanation.passes for label in part.fallbacks))
    if not stuck:
        return lines + remarks(["every plan streams"], width)
    return lines + remarks([f"does not stream: {label}" for label in stuck], width, "yellow")


def _does(part: Pass) -> str:
    """Purpose of a pass, and its number of sums."""
    if not part.aggregates:
        return part.does
    plans = f" in {part.plans} plans" if part.plans > 1 else ""
    return f"{part.does}: {plural(part.aggregates, 'aggregate')}{plans}"


def _memory(explanation: Explanation, width: int) -> list[Text]:
    if explanation.peak is None:
        return []
    pairs = [(what, f"about {size(number)}") for what, number in explanation.memory.items()]
    libraries = size(LIBRARIES)
    pairs.append(
        ("at the peak", f"about {size(explanation.peak)}, and {libraries} that Python and Polars take")
    )
    pairs.append(("budget", size(explanation.budget)))
    if explanation.exact is not None:
        exact, counted = "exact: sorted in memory, or in passes", "counted on a grid, with a bound"
        pairs.append(("ordered metrics", exact if explanation.exact else counted))
    return heading("Memory", width=width) + definition_list(pairs, width)


def duration(seconds: float) -> str:
    """Seconds, for people.

    >>> duration(0.034), duration(12.4), duration(754), duration(9000)
    ('0.03 s', '12 s', '13 min', '2.5 h')
    """
    if seconds < _MINUTES:
        return (
            f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
        )
    return f"{seconds / 60:.0f} min" if seconds < _HOURS else f"{seconds / 3600:.1f} h"


def _time(explanation: Explanation, width: int) -> list[Text]:
    time = explanation.time
    if time is None:
        return []
    pairs = [(stage, f"about {duration(seconds)}") for stage, seconds in time.stages.items()]
    clock = f"at least {duration(time.wall)} by the clock, if all of {plural(time.processors, 'processor')} are free"
    pairs.append(("in all", f"about {duration(time.processor)} of one processor: {clock}"))
    if time.omissions:
        pairs.append(("without", ", ".join(time.omissions)))
    return heading("Time", f"as measured on {time.source}", width) + definition_list(pairs, width)


def _state(explanation: Explanation, width: int) -> list[Text]:
    """Content of a state, and examples of refused results for lack of rows."""
    state = explanation.state
    if state is None:
        return []
    share = count(state.kept) if state.kept < explanation.metrics else "all"
    pairs = [("keeps", f"{share} of {plural(explanation.metrics, 'metric')}")]
    if state.rows is not None and state.bytes is not None:
        drift = ", beside what drift counts" if state.drift else ""
        pairs.append(("size", f"about {plural(state.rows, 'row')}, {size(state.bytes)}{drift}"))
    shards = explanation.shards
    if shards is not None:
        each = f"a {shards.unit} each, the largest of {size(shards.largest)}"
        pairs.append(("units", f"{plural(shards.units, 'unit')}, {each}"))
        if shards.states is not None and shards.units > 1:
            spent = f"written in {duration(shards.write or 0)}, added in {duration(shards.merge or 0)}"
            pairs.append(("", f"their states: at most about {size(shards.states)}, {spent}"))
    named = [why if why.startswith(place) else f"{place}: {why}" for place, why in state.needs_rows[:_NAMED]]
    if len(state.needs_rows) > _NAMED:
        named[-1] += f"; and {len(state.needs_rows) - _NAMED} more"
    pairs += [("" if index else "refuses", printable(text)) for index, text in enumerate(named)]
    remark = "what `plmetrics state` would write of these rows, to be merged with those of others"
    return heading("State", remark, width) + definition_list(pairs, width)


def _advice(explanation: Explanation, width: int) -> list[Text]:
    if not explanation.advice:
        return []
    return heading("Worth a thought", width=width) + remarks(explanation.advice, width, "yellow")
