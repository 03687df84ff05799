"""Labels of an interval: due or not, there or not."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from plmetrics.features.nights.maturity import Maturity
from plmetrics.suite.sections.labels import Labels

END = datetime.fromisoformat("2026-03-02T00:00+00:00")
EARLY, LATE = (datetime.fromisoformat(f"2026-03-{day}T00:00+00:00") for day in ("08", "10"))


def metrics(*shares: float) -> pl.DataFrame:
    return pl.DataFrame({"slice_set": ["overall"] * len(shares), "labelled": list(shares)})


@pytest.mark.parametrize(
    ("now", "coverage", "share", "awaits", "lacks"),
    [
        (EARLY, None, 0.0, True, False),
        (EARLY, None, 0.5, True, False),
        (EARLY, 0.9, 1.0, False, False),
        (LATE, None, 0.0, False, True),
        (LATE, None, 0.5, False, False),
        (LATE, 0.9, 0.5, False, True),
        (LATE, 0.9, 0.95, False, False),
    ],
)
def test_labels_are_awaited_until_they_are_due(
    now: datetime, coverage: float | None, share: float, awaits: bool, lacks: bool
) -> None:
    maturity = Maturity.of(Labels(mature_after="7d", coverage=coverage), END, now)
    table = metrics(1.0, share)
    assert (maturity.awaits(table), maturity.lacks(table)) == (awaits, lacks)


def test_a_suite_without_labels_that_come_later_has_all() -> None:
    maturity = Maturity.of(None, END, EARLY)
    assert not maturity.awaits(metrics().drop("labelled"))
    assert not maturity.lacks(metrics().drop("labelled"))
