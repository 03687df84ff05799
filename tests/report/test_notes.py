"""Notes of many values in few lines."""

import polars as pl
import pytest

from plmetrics.report.sections.gaps import note_counts


@pytest.mark.parametrize(
    ("notes", "lines"),
    [
        (
            [
                "9 queries without a relevant row are left out",
                "12 queries without a relevant row are left out",
            ],
            ["9 to 12 queries without a relevant row are left out (2 values)"],
        ),
        (
            ["labels of -1 or less: 1,045; k is 3", "labels of -1 or less: 64; k is 3", None],
            ["labels of -1 or less: 64 to 1,045; k is 3 (2 values)"],
        ),
        (
            ["classes left out: 1", "classes left out: 2"],
            [f"classes left out: {name} (1 value)" for name in (1, 2)],
        ),
        (["rows of weight 0.5", "rows of weight 0.5"], ["rows of weight 0.5 (2 values)"]),
        (["smallest: #", "smallest: 5"], ["smallest: # (1 value)", "smallest: 5 (1 value)"]),
        (["weight 2e+06", "weight 1.5e+06"], ["weight 1.5e+06 to 2e+06 (2 values)"]),
        (["largest at g=1", "largest at g=2"], ["largest at g=1 (1 value)", "largest at g=2 (1 value)"]),
    ],
)
def test_notes_that_differ_in_counts_are_one(notes: list[str | None], lines: list[str]) -> None:
    assert note_counts(pl.DataFrame({"note": notes}), 5) == lines


def test_other_notes_are_counted() -> None:
    notes = pl.DataFrame({"note": ["one", "one", "two", "three"]})
    assert note_counts(notes, 1) == ["one (2 values)", "and 2 notes more in metrics.parquet"]
