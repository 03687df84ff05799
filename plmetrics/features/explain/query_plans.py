"""Inspection of the plans of Polars: reads of the files, their columns, and operations without streaming."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import polars as pl

_IN_MEMORY = re.compile(r'fillcolor="0\.0 0\.3 1\.0"')
_LABEL = re.compile(r'label="((?:[^"\\]|\\.)*)"')
_COUNTED = "FAST COUNT"
"""A count of lines, which holds none of them."""

_FIRST_ROWS = r"\n\s*PROJECT [^\n]*\n\s*SLICE: Positive { offset: 0,"
_SCAN = re.compile(rf"(?:\w+ SCAN|FAST COUNT \(\w+\)) \[([^\],]*)[^\]]*\](?!{_FIRST_ROWS})")
_PROJECTED = re.compile(r"^\s*PROJECT (?:\*|(\d+))/(\d+) COLUMNS", re.MULTILINE)


def fallbacks(plan: pl.LazyFrame) -> list[str]:
    """Operators of a plan without a streaming form: they collect all their input first.

    Polars marks them in the graph of the physical plan by their colour, and nowhere else.

    >>> import polars as pl
    >>> fallbacks(pl.LazyFrame({"x": [1.0]}).select(pl.col("x").sum()))
    []
    """
    graph = plan.show_graph(engine="streaming", plan_stage="physical", raw_output=True) or ""
    lines = [line for line in graph.splitlines() if _IN_MEMORY.search(line) and _COUNTED not in line]
    return [match[1].replace("\\n", " ") if (match := _LABEL.search(line)) else line for line in lines]


def scans(plans: Sequence[pl.LazyFrame]) -> int:
    """Largest number of reads of a file when plans are collected together; 0 for frames in memory.

    A look at first rows alone is none. Plans of one table share a scan as far as Polars finds that they do.

    >>> import polars as pl
    >>> scans([pl.LazyFrame({"x": [1.0]})])
    0
    """
    of_files = [plan for plan in plans if _SCAN.search(_plan_text([plan]))]
    return max(Counter(_SCAN.findall(_plan_text(of_files))).values(), default=0)


def count_columns(plans: Sequence[pl.LazyFrame]) -> int:
    """Number of columns of the widest scan of some plans."""
    projections = _PROJECTED.findall(_plan_text(plans))
    return max((int(some or every) for some, every in projections), default=0)


def _plan_text(plans: Sequence[pl.LazyFrame]) -> str:
    return pl.explain_all(list(plans)) if plans else ""
