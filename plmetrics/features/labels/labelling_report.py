"""Labels: the number of rows with one, and the difference of their scores to the others'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import FAINT, Column, align, heading, remarks, table_or_stack
from plmetrics.report.numbers import count, estimate, number_or_missing, plural

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST = 5
_COLUMNS = [
    Column("model"),
    Column("slice"),
    Column("labelled", "right"),
    Column("mean score", "right"),
    Column("without", "right"),
    Column("difference"),
    Column("in sd", "right", optional=True),
    Column("", "right", optional=True),
]


def labelling(summary: Summary, width: int) -> list[Text]:
    """A line a model overall, then the slices of every model where scores differ most."""
    frame = summary.others.get("labelling")
    if frame is None or frame.is_empty():
        return []
    overall = frame.filter(slice_set="overall")
    far = frame.filter(pl.col("slice_set") != "overall", pl.col("standardised").is_not_null())
    far = far.sort(pl.col("standardised").abs(), descending=True, maintain_order=True).head(_MOST)
    lines = heading("Labels", "scores of rows with a label, and without", width)
    rows = [*overall.iter_rows(named=True), *far.iter_rows(named=True)]
    lines += table_or_stack(_COLUMNS, _cells(rows), width)
    without = frame.filter(pl.col("slice_set") != "overall", status="unlabelled")["slice"].unique()
    words = [f"{plural(len(without), 'slice')} without labels"] if len(without) else []
    return lines + remarks(words, width)


def _cells(rows: list[dict[str, Any]]) -> list[list[Text]]:
    differences = align(
        [estimate(row["difference"], row["lower"], row["upper"], signed=True) for row in rows]
    )
    return [
        [
            Text(printable(row["model"])),
            Text(printable(row["slice"])),
            Text("-" if row["share"] is None else f"{row['share']:.1%}"),
            Text(number_or_missing(row["mean_labelled"])),
            Text(number_or_missing(row["mean_unlabelled"])),
            difference,
            Text(number_or_missing(row["standardised"], signed=True)),
            Text(
                f"{count(row['n_labelled'])} of {count(row['n_labelled'] + row['n_unlabelled'])} rows", FAINT
            ),
        ]
        for row, difference in zip(rows, differences, strict=True)
    ]
