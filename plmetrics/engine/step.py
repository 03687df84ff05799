"""A stage of a run that reads or holds rows, as it is planned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A stage that reads or holds rows.

    Attributes:
        stage: its name.
        does: what it is for.
        scans: how often it reads the files; of two tables, the one that is read more often.
        at_least: whether what it finds, or the memory budget, may make it read them more often.
        columns: how many columns its widest scan reads; 0 where that was not found out.
        rows: how many rows a scan reads, None where that is not known.
        plans: how many plans it runs together.
        aggregates: how many sums these make.
        fallbacks: the parts of its plans that would not stream.
    """

    stage: str
    does: str
    scans: int
    at_least: bool = False
    columns: int = 0
    rows: int | None = None
    plans: int = 0
    aggregates: int = 0
    fallbacks: tuple[str, ...] = ()
