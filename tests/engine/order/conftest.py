from typing import Any

import pytest

from plmetrics.engine.memory import budget
from plmetrics.engine.order.by_ranges import RangeReader


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The orders of each reading of rows in ranges, of which a run takes as many as its memory asks for."""
    seen: list[Any] = []
    read = RangeReader.read
    monkeypatch.setattr(budget, "POINT_ROWS", 1000)
    monkeypatch.setattr(
        RangeReader, "read", lambda self, orders, limits: (seen.append(orders), read(self, orders, limits))[1]
    )
    return seen
