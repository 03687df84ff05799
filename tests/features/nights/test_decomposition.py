"""What moved between intervals, against NumPy over the rows of both."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from suites.nights import Nights, day, rows


def means_of(frame: pl.DataFrame) -> dict[str, tuple[float, float]]:
    """By region its share of the rows and the Brier score of the model `new`."""
    losses = frame.with_columns(loss=(pl.col("new") - pl.col("y")) ** 2)
    by_region = losses.group_by("region").agg(pl.len() / frame.height, pl.col("loss").mean())
    return {region: (share, loss) for region, share, loss in by_region.iter_rows()}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("reference", "first", "last"),
    [("previous", 8, 9), ({"ago": "3d"}, 6, 7), ({"window": "4d"}, 5, 9), ({"same_weekday": 1}, 2, 3)],
)
def test_mix_and_within_are_those_of_the_rows_of_both(
    tmp_path: Path, reference: Any, first: int, last: int
) -> None:
    nights = Nights(tmp_path)
    changes = {"compare": {"run": reference, "decompose": {"region": ["brier"]}}, "gates": None}
    nights.write_suite(keep={"states": "30d"}, **changes)
    for number in range(10):
        nights.write(number)
    result = [nights.run(number) for number in sorted({*range(first - 1, last + 1), 9})][-1]
    assert result.record["references"]["compare.run"]["intervals"] == [
        day(number) for number in range(first, last)
    ]
    table = result.decomposition.filter(model="new", contrast="run")
    seen = {(row["slice"], row["part"]): row["value"] for row in table.iter_rows(named=True)}
    before, after = (
        means_of(frame) for frame in (pl.concat([rows(number) for number in range(first, last)]), rows(9))
    )
    for region in ("n", "s"):
        (w0, m0), (w1, m1) = before[region], after[region]
        assert seen[f"region={region}", "within"] == pytest.approx((w0 + w1) / 2 * (m1 - m0))
        assert seen[f"region={region}", "mix"] == pytest.approx((w1 - w0) * (m0 + m1) / 2)
    change = [np.sum([w * m for w, m in side.values()]) for side in (before, after)]
    assert seen["all", "total"] == pytest.approx(change[1] - change[0])


def test_a_mean_with_a_denominator_of_its_own_moves_from_a_window(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    compare = {"run": {"window": "3d"}, "decompose": {"region": ["precision"]}}
    nights.write_suite(compare=compare, gates=None, metrics=["precision", "brier"])
    for number in range(3):
        nights.write(number)
    result = [nights.run(number) for number in range(3)][-1]
    table = result.decomposition.filter(model="new", contrast="run")
    seen = {(row["slice"], row["part"]): row["value"] for row in table.iter_rows(named=True)}
    called = [
        frame.filter(pl.col("new") >= 0.5)
        for frame in (pl.concat([rows(number) for number in (0, 1)]), rows(2))
    ]
    for region in ("n", "s"):
        parts = [frame.filter(region=region) for frame in called]
        w0, w1 = (part.height / frame.height for part, frame in zip(parts, called, strict=True))
        m0, m1 = (part["y"].mean() for part in parts)
        assert seen[f"region={region}", "within"] == pytest.approx((w0 + w1) / 2 * (m1 - m0))
        assert seen[f"region={region}", "mix"] == pytest.approx((w1 - w0) * (m0 + m1) / 2)
