"""The plans of a readout stream: nothing holds all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.explain import fallbacks

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE = pl.DataFrame(
    {
        "arm": ["A", "B"] * 20,
        "y": [float(i % 7) for i in range(40)],
        "c": [i % 3 for i in range(40)],
        "user": [i // 4 * 2 + i % 2 for i in range(40)],
    }
)


@pytest.mark.parametrize("unit", [None, "user"])
def test_nothing_falls_back(monkeypatch: pytest.MonkeyPatch, unit: str | None) -> None:
    seen: list[pl.LazyFrame] = []
    collect_all = pl.collect_all

    def watched(plans: Sequence[pl.LazyFrame], **options: Any) -> list[pl.DataFrame]:
        seen.extend(plans)
        return collect_all(plans, **options)

    monkeypatch.setattr(pl, "collect_all", watched)
    plm.readout(TABLE, "y", arm="arm", control="A", by=["c"], unit=unit)
    assert len(seen) == (6 if unit is None else 4)
    assert [fallbacks(plan) for plan in seen] == [[]] * len(seen)
