"""What runs keep of slices whose denominator is 0, and what later runs read of it, against sums by hand."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm


def sales(seed: int, bias: float, unsold: int) -> pl.DataFrame:
    """Labels and predictions; nothing is sold in `closed`, where errors are counted all the same."""
    rng = np.random.default_rng(seed)
    shop = np.repeat(["north", "closed", "south", "west"], [40, unsold, 20, 30])
    label = np.where(shop == "closed", 0.0, rng.exponential(1, len(shop)) + 0.1)
    return pl.DataFrame({"shop": shop, "y": label, "p": label * (1 + bias) + rng.normal(0, 0.2, len(shop))})


def evaluated(rows: pl.DataFrame, earlier: plm.Result | None = None, **further: Any) -> plm.Result:
    compare = {} if earlier is None else {"compare": {"run": earlier, "decompose": ["shop"]}}
    slices = {"shop": {"column": "shop", "exclude": ["south", "west"]}}
    return plm.evaluate(
        rows, task="regression", label="y", models="p", metrics=["wmape"], slices=slices, **compare, **further
    )


def errors(rows: pl.DataFrame, *shops: str) -> float:
    part = rows.filter(pl.col("shop").is_in(shops))
    return float((part["p"] - part["y"]).abs().sum())


def share_and_mean(rows: pl.DataFrame, *shops: str) -> tuple[float, float]:
    size = float(rows.filter(pl.col("shop").is_in(shops))["y"].sum())
    return size / float(rows["y"].sum()), 100 * errors(rows, *shops) / size


@pytest.mark.parametrize("further", [{}, {"uncertainty": {"replicates": 50}}])
def test_the_remainder_has_nothing_of_slices_without_a_denominator(further: dict[str, Any]) -> None:
    old, new = sales(1, 0.0, 30), sales(2, 0.3, 50)
    before = evaluated(old, evaluated(old, **further), **further)
    after = evaluated(new, before, **further)
    found = {(row["slice"], row["part"]): row for row in after.decomposition.iter_rows(named=True)}
    for name, shops in (("shop=north", ["north"]), ("rest", ["south", "west"])):
        (w0, m0), (w1, m1) = (share_and_mean(rows, *shops) for rows in (old, new))
        assert found[name, "within"]["value"] == pytest.approx((w0 + w1) / 2 * (m1 - m0))
        assert found[name, "mix"]["value"] == pytest.approx((w1 - w0) * (m0 + m1) / 2)
    change = after.metrics.filter(slice="all")["value"] - before.metrics.filter(slice="all")["value"]
    assert found["all", "total"]["value"] == pytest.approx(change.item())
    assert {found["all", part]["status"] for part in ("within", "mix")} == {"zero_denominator"}


def test_what_such_slices_add_is_kept_and_nothing_where_there_is_none() -> None:
    rows = sales(1, 0.0, 30)
    (entry,) = evaluated(rows, evaluated(rows)).record["masses"]
    added = 100 * errors(rows, "closed") / float(rows["y"].sum())
    assert json.loads(json.dumps(entry))["massless"] == {"shop=closed": pytest.approx(added)}
    exact = rows.with_columns(p=pl.when(pl.col("shop") == "closed").then(0.0).otherwise("p"))
    (entry,) = evaluated(exact, evaluated(exact)).record["masses"]
    assert "massless" not in entry


def test_slices_of_too_few_rows_are_in_the_remainder() -> None:
    old, new = sales(1, 0.0, 3), sales(2, 0.3, 3)
    before = evaluated(old, evaluated(old), min_rows=10)
    after = evaluated(new, before, min_rows=10)
    found = {(row["slice"], row["part"]): row for row in after.decomposition.iter_rows(named=True)}
    (w0, m0), (w1, m1) = (share_and_mean(rows, "south", "west", "closed") for rows in (old, new))
    assert found["rest", "within"]["value"] == pytest.approx((w0 + w1) / 2 * (m1 - m0))
    assert found["rest", "mix"]["value"] == pytest.approx((w1 - w0) * (m0 + m1) / 2)
    assert {row["status"] for row in found.values()} == {"ok"}
