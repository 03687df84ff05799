"""Correlations against SciPy, and weighted ones against loops over all pairs."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm

METRICS = ["pearson", "concordance_ccc", "spearman", "kendall"]


def table(rows: int = 200, seed: int = 1, *, ties: bool = True) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.normal(5, 2, rows)
    p = 0.6 * y + rng.normal(0, 1.5, rows)
    if ties:
        y, p = np.round(y), np.round(p * 2) / 2
    weight = rng.choice([0.0, 1.0, 2.0, 3.0], rows)
    return pl.DataFrame({"y": y, "p": p, "w": weight, "g": rng.choice(["a", "b", "c"], rows)})


def of_scipy(y: Any, p: Any) -> dict[str, float]:
    covariance = np.cov(y, p, ddof=0)
    spread = covariance[0, 0] + covariance[1, 1] + (y.mean() - p.mean()) ** 2
    return {
        "pearson": stats.pearsonr(y, p).statistic,
        "concordance_ccc": 2 * covariance[0, 1] / spread,
        "spearman": stats.spearmanr(y, p).statistic,
        "kendall": stats.kendalltau(y, p).statistic,
    }


def evaluated(rows: pl.DataFrame, **more: Any) -> pl.DataFrame:
    return plm.evaluate(rows, task="regression", label="y", models="p", metrics=METRICS, **more).metrics


def values(found: pl.DataFrame) -> dict[str, float]:
    return dict(zip(found["metric"], found["value"], strict=True))


@pytest.mark.exhaustive
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("rows", [2, 3, 17, 400])
def test_values_are_those_of_scipy(rows: int, ties: bool) -> None:
    frame = table(rows, ties=ties)
    expected = of_scipy(frame["y"].to_numpy(), frame["p"].to_numpy())
    assert values(evaluated(frame)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_weight_is_a_repetition() -> None:
    frame = table()
    repeated = frame.select(pl.all().repeat_by(pl.col("w").cast(pl.UInt32))).explode("y", "p", "g")
    expected = of_scipy(repeated["y"].to_numpy(), repeated["p"].to_numpy())
    assert values(evaluated(frame, weight="w")) == pytest.approx(expected, rel=1e-9)


def by_pairs(y: Any, p: Any, w: Any) -> tuple[float, float]:
    """Spearman and Kendall by weighted pairs."""
    mass = w[:, None] * w
    sign_y, sign_p = (np.sign(x[:, None] - x) for x in (y, p))
    kendall = (mass * sign_y * sign_p).sum() / np.sqrt((mass * sign_y**2).sum() * (mass * sign_p**2).sum())
    ranks = [(w * ((x < x[:, None]) + 0.5 * (x == x[:, None]))).sum(axis=1) for x in (y, p)]
    centred = [rank - np.average(rank, weights=w) for rank in ranks]
    product, *squares = (
        np.sum(w * a * b) for a, b in ((centred[0], centred[1]), (centred[0],) * 2, (centred[1],) * 2)
    )
    return float(product / np.sqrt(squares[0] * squares[1])), float(kendall)


def test_weights_that_are_no_counts() -> None:
    frame = table().with_columns(w=pl.Series(np.random.default_rng(3).gamma(1.0, size=200)))
    found = values(evaluated(frame, weight="w"))
    spearman, kendall = by_pairs(*(frame[name].to_numpy() for name in ("y", "p", "w")))
    assert (found["spearman"], found["kendall"]) == pytest.approx((spearman, kendall), rel=1e-10)


def test_every_slice_is_the_table_of_its_rows() -> None:
    frame = table()
    found = evaluated(frame, slices=["g"])
    for group in "abc":
        part = frame.filter(g=group)
        expected = of_scipy(part["y"].to_numpy(), part["p"].to_numpy())
        assert values(found.filter(slice=f"g={group}")) == pytest.approx(expected, rel=1e-9)


def test_constants_have_no_correlation() -> None:
    frame = pl.DataFrame({"y": [1e9 + 0.1] * 4, "p": [1.0, 2.0, 3.0, 4.0]})
    found = evaluated(frame)
    assert found["status"].to_list() == ["zero_denominator", "ok", "zero_denominator", "zero_denominator"]
    same = pl.DataFrame({"y": [2.0] * 4, "p": [2.0] * 4})
    assert evaluated(same)["status"].to_list() == ["zero_denominator"] * 4


@pytest.mark.parametrize("exact", [None, False])
def test_constants_have_no_correlation_under_any_weights(exact: bool | None) -> None:
    """Sums of tenths in another order are other numbers: what is left of them is no variation."""
    rng = np.random.default_rng(3)
    weight = rng.integers(1, 8, 40) / 10.0
    rows = pl.DataFrame(
        {"y": np.full(40, 0.1), "p": rng.choice([0.1, 0.2, 0.3], 40), "w": weight, "g": np.arange(40) % 7}
    )
    for swapped in (rows, rows.rename({"y": "p", "p": "y"})):
        found = evaluated(swapped, weight="w", slices=["g"], exact=exact).filter(
            pl.col("metric") != "concordance_ccc"
        )
        assert found.select("value", "status").unique().rows() == [(None, "zero_denominator")]


def test_offsets_cost_no_digits() -> None:
    frame = table(ties=False)
    far = frame.with_columns(pl.col("y", "p") + 1e9)
    expected = values(evaluated(frame))
    assert values(evaluated(far)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "u"])
def test_standard_errors_are_those_of_fresh_samples(unit: str | None) -> None:
    def drawn(seed: int) -> pl.DataFrame:
        frame = table(400, seed=seed, ties=False)
        if unit is None:
            return frame
        half = frame.with_row_index("u")
        return pl.concat([half, half])

    tables = pl.concat([drawn(100 + seed).with_columns(seed=seed) for seed in range(120)])
    every = evaluated(tables, slices=["seed"]).filter(slice_set="seed")
    spread = every.group_by("metric", maintain_order=True).agg(pl.col("value").std())["value"].to_numpy()
    errors = [
        evaluated(drawn(400 + seed), unit=unit, uncertainty={"replicates": 200, "seed": seed})[
            "std_error"
        ].to_numpy()
        for seed in range(5)
    ]
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.2)


def test_equal_models_do_not_differ() -> None:
    frame = table().with_columns(q="p")
    found = plm.evaluate(
        frame,
        task="regression",
        label="y",
        models=["p", "q"],
        metrics=METRICS,
        slices=["g"],
        uncertainty={"replicates": 50},
        compare={"baseline": "p"},
    )
    assert found.comparisons["difference"].to_list() == [0.0] * 16
    assert (found.metrics["interval_status"] == "ok").all()


def on_grid(rows: pl.DataFrame, **more: Any) -> pl.DataFrame:
    """Rank correlations counted on a grid, each within its bound of SciPy's, slice by slice."""
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models="p",
        metrics=["spearman", "kendall"],
        slices={"g": "g"},
        exact=False,
        uncertainty=None,
        **more,
    ).metrics
    for metric, slice_, value, bound in found.select("metric", "slice", "value", "bound").iter_rows():
        part = rows if slice_ == "all" else rows.filter(pl.col("g") == slice_.removeprefix("g="))
        expected = of_scipy(part["y"].to_numpy(), part["p"].to_numpy())[metric]
        assert abs(value - expected) <= bound + 1e-12, (metric, slice_)
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.99])
def test_counted_on_a_grid_they_are_within_their_bound_of_scipy(correlation: float) -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(size=30_000)
    p = np.exp(correlation * y + np.sqrt(1 - correlation**2) * rng.normal(size=len(y)))
    found = on_grid(pl.DataFrame({"y": y, "p": p, "g": np.where(y > 1.5, "a", "b")}))
    whole = found.filter(pl.col("slice") == "all")
    assert (whole["bound"].is_between(1e-6, 4e-3)).all()


def test_numbers_that_many_rows_share_leave_nothing_open() -> None:
    rng = np.random.default_rng(8)
    y = rng.integers(1, 6, 20_000).astype(float)
    frame = pl.DataFrame(
        {"y": y, "p": (y + rng.normal(size=len(y))).round(1), "g": rng.choice(["a", "b"], len(y))}
    )
    assert on_grid(frame)["bound"].max() == 0.0
    counts = pl.DataFrame({"y": rng.poisson(np.exp(rng.normal(size=len(y)))), "p": y / 7.0, "g": frame["g"]})
    assert on_grid(counts.with_columns(pl.col("y").cast(float)))["bound"].max() < 1e-3
    constant = frame.with_columns(p=pl.lit(-0.0))
    told = plm.evaluate(
        constant, task="regression", label="y", models="p", metrics=["kendall"], exact=False
    ).metrics
    assert told["status"].to_list() == ["zero_denominator"]


def test_a_grid_of_weighted_rows_is_that_of_repeated_ones() -> None:
    rows = table(4_000, ties=False)
    repeated = rows.select(pl.all().repeat_by(pl.col("w").cast(pl.UInt32))).explode("y", "p", "g")
    expected = of_scipy(repeated["y"].to_numpy(), repeated["p"].to_numpy())
    found = evaluated(rows, weight="w", exact=False).filter(pl.col("bound").is_not_null())
    for metric, value, bound in found.select("metric", "value", "bound").iter_rows():
        assert abs(value - expected[metric]) <= bound < 5e-3, metric


@pytest.mark.slow
def test_many_passes_count_the_same_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(3_000, ties=False)
    options: dict[str, Any] = {"exact": False, "slices": {"g": "g"}, "uncertainty": {"replicates": 20}}
    monkeypatch.setattr("plmetrics.states.joint_counts.FINE", 256)
    expected = evaluated(rows, **options)
    monkeypatch.setattr("plmetrics.engine.order.on_grid.counting_room", lambda *_, **__: 5_000_000)
    assert evaluated(rows, **options).equals(expected)
    monkeypatch.setattr("plmetrics.engine.order.encoding.EncodedRows.bytes", 1 << 40)
    assert evaluated(rows, **options).equals(expected)


@pytest.mark.slow
def test_replicates_of_a_grid_vary_as_those_of_rows() -> None:
    rows = table(20_000, ties=False)
    options: dict[str, Any] = {"uncertainty": {"replicates": 100}, "slices": {"g": "g"}}
    exact, counted = (
        evaluated(rows, exact=way, **options).filter(pl.col("metric").is_in(["spearman", "kendall"]))
        for way in (None, False)
    )
    assert counted["std_error"].to_numpy() == pytest.approx(exact["std_error"].to_numpy(), rel=0.03)


def test_rows_of_one_model_alone_have_ranks_of_their_own() -> None:
    rows = table(500).with_columns(q=pl.when(pl.int_range(pl.len()) % 3 > 0).then("p"))
    found = plm.evaluate(
        rows.lazy(),
        task="regression",
        label="y",
        models=["p", "q"],
        metrics=["kendall"],
        missing="drop_per_model",
        exact=False,
        uncertainty=None,
    ).metrics
    expected = [
        of_scipy(*(part[name].to_numpy() for name in ("y", "p")))["kendall"]
        for part in (rows, rows.drop_nulls())
    ]
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("other", [0.3, 0.1 + 0.2])
def test_constants_up_to_their_last_digits_have_no_concordance(other: float) -> None:
    """Labels and predictions are 0.3 or 0.1 + 0.2: alike, opposite or each a constant, they are one number."""
    y = np.r_[np.random.default_rng(5).normal(size=20) * 1e6, [0.3, 0.1 + 0.2] * 10]
    rows = pl.DataFrame(
        {"y": y, "p": np.r_[y[:20] + 1.0, [other, 0.3] * 10], "g": ["far"] * 20 + ["near"] * 20}
    )
    asked = {"label": "y", "models": "p", "metrics": ["concordance_ccc"], "slices": "g"}
    for table in (rows, rows.tail(20)):
        found = plm.evaluate(table, task="regression", **asked).metrics.filter(slice="g=near")
        assert found.select("value", "status").row(0) == (None, "zero_denominator")
