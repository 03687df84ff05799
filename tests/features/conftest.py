"""Fixtures of features: suites as texts, and the plans that a call runs."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from suites.loading import load, refuse

__all__ = ["load", "plans_run", "refuse"]


@pytest.fixture
def plans_run(monkeypatch: pytest.MonkeyPatch) -> list[pl.LazyFrame]:
    """The plans that run together from now on."""
    plans: list[pl.LazyFrame] = []
    collect_all = pl.collect_all

    def watched(given: Sequence[pl.LazyFrame], **options: Any) -> list[pl.DataFrame]:
        plans.extend(given)
        return collect_all(given, **options)

    monkeypatch.setattr(pl, "collect_all", watched)
    return plans
