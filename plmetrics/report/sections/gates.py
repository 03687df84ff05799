"""Gates: failed and undecided checks first, one by one; passed ones, briefly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.core.results import GATE_OUTCOMES
from plmetrics.inference.comparisons.readings import OMITTED
from plmetrics.report.layout import (
    FAINT,
    GAP,
    INDENT,
    Column,
    align,
    filled_places,
    flow,
    heading,
    remarks,
    table,
)
from plmetrics.report.numbers import Row, ValueText, count, estimate, number, plural

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.report.summary import Summary

CHECK_TITLES = ("verdict", "gate", "rule", "model", "slice", "observed", "note")
_STYLES = {
    "fail": "bold red",
    "inconclusive": "bold yellow",
    "warn": "yellow",
    "skipped": "dim",
    "pass": "green",
}
_LOWEST, _HIGHEST = ("at_least", "band_lower"), ("at_most", "band_upper")
_QUIET = frozenset({"pass", "skipped"})
_SHOWN_EACH = 3
_MOST = 60


def outcome_counts(frame: pl.DataFrame) -> list[str]:
    """The number of checks of each outcome, such as `3 fail`; without gates says so."""
    counts = Counter(outcome(row) for row in frame.select("level", "verdict").iter_rows(named=True))
    return [f"{count(counts[name])} {name}" for name in GATE_OUTCOMES if counts[name]] or ["no gates"]


def gates(summary: Summary, width: int) -> list[Text]:
    """Line per check, fail and inconclusive ones first; many passed checks of a gate are one line."""
    if summary.gates.is_empty():
        return []
    checks = gate_checks(summary.gates)
    rows = list(_condense(checks))
    shown, words = _common_notes(rows[:_MOST], checks)
    if len(rows) > _MOST:
        words.append(f"and {count(len(rows) - _MOST)} more in the table gates")
    return heading("Gates", width=width) + _lines(shown, width) + remarks(words, width)


def gate_checks(frame: pl.DataFrame) -> list[Row]:
    """Checks with their `outcome`: failed ones first, and of one outcome the worst first."""
    checks = [row | {"outcome": outcome(row)} for row in frame.iter_rows(named=True)]
    return sorted(checks, key=lambda row: (GATE_OUTCOMES.index(row["outcome"]), -_severity(row)))


def _severity(row: Row) -> float:
    """Distance of a check beyond its limit, in half widths of its interval, else in units of the limit; 0 within it.

    Those that need no action keep their order, as do those without a value.
    """
    observed, lower, upper = row["observed"], row["lower"], row["upper"]
    if row["outcome"] in _QUIET or observed is None:
        return 0.0
    lowest, highest = (
        [row[name] for name in names if row[name] is not None] for names in (_LOWEST, _HIGHEST)
    )
    beyond = max(
        [limit - observed for limit in lowest] + [observed - limit for limit in highest], default=0.0
    )
    unit = (upper - lower) / 2 if lower is not None and upper is not None else 0.0
    if not 0 < unit < inf:
        unit = max((abs(limit) for limit in lowest + highest), default=1.0) or 1.0
    return beyond / unit


def _common_notes(rows: list[Row], checks: list[Row]) -> tuple[list[Row], list[str]]:
    """Rows without their common notes, and these notes, each once with the number of its checks."""
    lines = Counter(filter(None, map(_check_note, rows)))
    common = [note for note, number in lines.items() if number > _SHOWN_EACH]
    without_common = [row | {"note": None} if _check_note(row) in common else row for row in rows]
    times = Counter(map(_check_note, checks))
    return without_common, [f"{printable(note)} ({plural(times[note], 'check')})" for note in common]


def _lines(rows: list[Row], width: int) -> list[Text]:
    cells = [_cells(row) for row in rows]
    observed = align([observed_text(row) for row in rows])
    grid = [[*before, value, note] for (*before, _, note), value in zip(cells, observed, strict=True)]
    filled = filled_places(grid)
    longest = max(len(row["outcome"]) for row in rows)
    columns = [Column(CHECK_TITLES[i]) for i in filled]
    fitting = table(columns, [[row[i] for i in filled] for row in grid], width, least=longest)
    if fitting is not None:
        return fitting
    by_gate = groupby(cells, key=lambda row: [cell.plain for cell in row[:3]])
    return [line for _, group in by_gate for line in _block(list(group), longest, width)]


def _cells(row: Row) -> list[Text]:
    verdict, *names, _, note = check_texts(row)
    return [
        Text(verdict, _STYLES[verdict]),
        *(Text(printable(name)) for name in names),
        align([observed_text(row)])[0],
        Text(printable(note), FAINT),
    ]


def check_texts(row: Row) -> list[str]:
    """The texts of a check below `CHECK_TITLES`: its name if it has one, and its note.

    A gate without a name is called by its rule, and by its class where there are classes.
    """
    name, rule = row["gate"] or "", f"{row['metric']} {row['rule']}"
    if name in {rule, f"{rule} [{row['class']}]"}:
        name, rule = "", name
    return [
        row["outcome"],
        name,
        rule,
        row["model"] or "",
        _place_text(row),
        str(observed_text(row)),
        _check_note(row),
    ]


def _check_note(row: Row) -> str:
    """Note of a check; of one that passed only what its value leaves out, as groups that are too small."""
    note: str = row["note"] or ""
    if row["outcome"] != "pass":
        return note
    starts = [note.find(start) for start in OMITTED if start in note]
    return note[min(starts) :] if starts else ""


def _block(group: list[list[Text]], longest: int, width: int) -> list[Text]:
    """Outcome in the margin; beside it the gate and its rule, and below them the observations."""
    margin = INDENT + longest + GAP
    outcome, *gate = group[0][:3]
    lines = flow(gate, width, indent=margin)
    lines[0] = Text(" " * INDENT) + outcome + lines[0][INDENT + outcome.cell_len :]
    observations = [row[3:] for row in group]
    widths = [max(cells.cell_len for cells in column) for column in zip(*observations, strict=True)]
    fits = margin + sum(widths) + GAP * (sum(map(bool, widths)) - 1) <= width
    for pieces in observations:
        for piece, cells in zip(pieces, widths, strict=True):
            piece.append(" " * (cells - piece.cell_len if fits else 0))
        joined = Text(" " * GAP).join(piece for piece in pieces if piece.plain)
        lines += [Text(" " * margin) + joined] if fits else flow(pieces, width, indent=margin)
    return lines


def _condense(checks: list[Row]) -> Iterator[Row]:
    """Checks, with many of one gate without a need of action as one row."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for place, row in enumerate(checks):
        key = (row["outcome"], row["gate"], row["metric"], row["rule"])
        groups.setdefault(key if row["outcome"] in _QUIET else (str(place),), []).append(row)
    for group in groups.values():
        if len(group) <= _SHOWN_EACH:
            yield from group
        else:
            yield group[0] | {
                "model": _several([row["model"] or "" for row in group], "models"),
                "place": _several([_place_text(row) for row in group], "slices"),
                "note": group[0]["note"] if len({_check_note(row) for row in group}) == 1 else None,
                "together": [row["observed"] for row in group if row["observed"] is not None],
            }


def _several(names: list[str], word: str) -> str:
    different = set(names)
    return names[0] if len(different) == 1 else f"{len(different)} {word}"


def _place_text(row: Row) -> str:
    """Slice of a check, or the set of a metric across slices."""
    if "place" in row:
        return str(row["place"])
    return str(row["slice_set"] if row["slice"] == "all" else row["slice"])


def observed_text(row: Row) -> ValueText:
    """Observed value of a check, with its interval, or the range of several."""
    together = row.get("together")
    signed = row["scale"] in {"difference", "relative_change"}
    limits = [row[name] for name in (*_LOWEST, *_HIGHEST) if row[name] is not None]
    if together is None:
        return estimate(
            row["observed"], row["lower"], row["upper"], status=row["status"], signed=signed, limits=limits
        )
    if not together:
        return ValueText("-", f"({row['status']})")
    least, most = (number(end, signed=signed, limits=limits) for end in (min(together), max(together)))
    return ValueText(least, f"to {most}")


def outcome(row: Row) -> str:
    """Outcome of a check: a failed one of level warn is a warning."""
    failed_softly = row["verdict"] == "fail" and row["level"] == "warn"
    return "warn" if failed_softly else str(row["verdict"])
