"""Row expressions checked on zero rows: of the columns that they read, however many others there are."""

from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.binding import row_expressions

READERS: dict[str, dict[str, Any]] = {
    "derived columns": {"derive": {f"d{n}": f"x{n} + 1" for n in range(5)}},
    "conditions": {"slices": {"s": {"where": {f"d{n}": f"x{n} > 1" for n in range(5)}}}},
    "metrics": {"metrics": [{"name": f"d{n}", "mean": f"x{n} > 1"} for n in range(5)]},
}


@pytest.mark.parametrize("reader", READERS)
def test_checks_do_not_grow_with_the_other_columns(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    check = row_expressions._check_types

    def measured(value: pl.LazyFrame, *arguments: Any) -> None:
        sizes[-1] += len(value.serialize())
        check(value, *arguments)

    monkeypatch.setattr(row_expressions, "_check_types", measured)
    for columns in (5, 100):
        sizes.append(0)
        rows = pl.DataFrame(
            {"y": [0, 1] * 9, "p": [0.2, 0.7] * 9, **{f"x{n}": [1, 2] * 9 for n in range(columns)}}
        )
        result = plm.evaluate(
            rows, label="y", models={"m": "p"}, **{"metrics": ["recall"], **READERS[reader]}
        )
        assert result.metrics["value"].is_between(0, 1).all()
    few, many = sizes
    assert few == many > 0


def test_expressions_may_read_roles_alone() -> None:
    rows = {"y": [0, 1, 1], "p": [0.2, 0.7, 0.4]}
    asked = [{"name": "base", "mean": "label = 1"}, {"name": "low", "mean": "score < 0.3"}]
    result = plm.evaluate(rows, label="y", models={"m": "p"}, metrics=asked)
    assert result.metrics["value"].to_list() == pytest.approx([2 / 3, 1 / 3])
