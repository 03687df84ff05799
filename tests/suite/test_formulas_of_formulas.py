"""Formulas over formulas: the work grows with their number, however often one stands in others."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue.composite_metrics import Formula


def formulas(levels: int) -> list[dict[str, str]]:
    first = [
        {"name": "z0", "formula": "recall + precision + fp / 100"},
        {"name": "z1", "formula": "recall - precision"},
    ]
    return first + [{"name": f"z{n}", "formula": f"(z{n - 1} + 2 * z{n - 2}) / 3"} for n in range(2, levels)]


@pytest.mark.slow
def test_parts_that_formulas_share_are_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, calls = np.random.default_rng(2), []
    label, score = draw.integers(0, 2, 400), draw.random((2, 400))
    rows = pl.DataFrame({"y": label, "a": score[0], "b": score[1], "g": draw.integers(0, 3, 400)})
    parts = Formula.parts

    def counted(formula: Formula) -> Any:
        calls[-1][formula.name] += 1
        return parts(formula)

    monkeypatch.setattr(Formula, "parts", counted)
    for levels in (6, 16):
        calls.append(Counter[str]())
        result = plm.evaluate(
            rows,
            label="y",
            models=["a", "b"],
            metrics=[
                *formulas(levels),
                {"name": "spread", "over": {"slice_set": "g", "metric": f"z{levels - 1}", "agg": "max"}},
            ],
            slices=["g"],
            uncertainty={"replicates": 20, "method": "auto"},
            compare="a",
            gates=[{"metric": f"z{levels - 1}", "at_least": 0}],
        )
        values = [_first(label, score[0] >= 0.5), _second(label, score[0] >= 0.5)]
        for n in range(2, levels):
            values.append((values[n - 1] + 2 * values[n - 2]) / 3)
        found = result.metrics.filter(model="a", slice="all", metric=f"z{levels - 1}")["value"].item()
        assert found == pytest.approx(values[-1], rel=1e-12)
    few, many = (max(counts.values()) for counts in calls)
    assert 0 < many <= 6 * few  # as a tree, a hundred times as often


def _first(label: Any, called: Any) -> float:
    hits, false = (label & called).sum(), (~label.astype(bool) & called).sum()
    return float(hits / label.sum() + hits / called.sum() + false / 100)


def _second(label: Any, called: Any) -> float:
    hits = (label & called).sum()
    return float(hits / label.sum() - hits / called.sum())
