import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.inference.intervals.spread import replicate_spread


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e9])
def test_standard_error_is_the_sample_standard_deviation(offset: float) -> None:
    found = replicate_spread(column(1.0, 2.0, 4.0, np.nan) + offset, np.array([1.0]))
    assert found.std_error[0] == pytest.approx(np.sqrt(7 / 3))
    assert found.undefined.tolist() == [1]
    assert not found.constant[0]


@pytest.mark.parametrize(
    ("undefined", "too_many"), [(0, False), (50, False), (51, True), (999, True), (1000, True)]
)
def test_more_than_a_twentieth_is_too_many(undefined: int, too_many: bool) -> None:
    drawn = np.linspace(1, 2, 1000)
    drawn[:undefined] = np.nan
    found = replicate_spread(drawn[:, None], np.array([1.0]))
    assert found.undefined.tolist() == [undefined]
    assert found.too_many_undefined.tolist() == [too_many]


@pytest.mark.parametrize(
    ("drawn", "constant"),
    [
        (column(0.1, 0.1, 0.1), True),
        (column(0.1, 0.1 + 2e-17, 0.3 - 0.2), True),
        (column(0.1, 0.1, np.nan), True),
        (column(0.1, 0.1, 0.1001), False),
        (column(np.nan, np.nan, np.nan), False),
        (column(1e-200, 2e-200, 3e-200), True),
    ],
)
def test_equal_up_to_rounding(drawn: np.ndarray, constant: bool) -> None:
    found = replicate_spread(drawn, np.array([0.1]))
    assert found.constant.tolist() == [constant]
    if constant:
        assert found.std_error.tolist() == [0.0]


def test_one_replicate_has_no_spread() -> None:
    found = replicate_spread(column(1.0), np.array([1.0]))
    assert np.isnan(found.std_error).all()
    assert found.too_many_undefined.all()


def test_infinity_and_overflow_do_not_warn() -> None:
    found = replicate_spread(np.array([[np.inf, 1e300], [np.inf, -1e300], [-np.inf, 1e300]]), np.ones(2))
    assert found.undefined.tolist() == [3, 0]
    assert np.isnan(found.std_error[0])
    assert found.std_error[1] == pytest.approx(1e300 * np.std([1, -1, 1], ddof=1))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [1e-8, 1.0, 1e140])
def test_replicates_that_are_all_defined_are_described_as_if_one_more_were_not(
    order: str, size: float
) -> None:
    drawn = np.random.default_rng(2).normal(1.0, 0.1, (200, 7)) * size
    drawn[:, 3] = size
    found = replicate_spread(np.asarray(drawn, order=order), np.full(7, size))
    other = replicate_spread(np.concatenate([drawn, np.full((1, 7), np.nan)]), np.full(7, size))
    assert found.undefined.tolist() == [0] * 7
    assert other.undefined.tolist() == [1] * 7
    assert found.std_error == pytest.approx(other.std_error, rel=1e-12)
    assert found.constant.tolist() == other.constant.tolist() == [False] * 3 + [True] + [False] * 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [1e300, 1e-200])
@pytest.mark.parametrize("method", ["bootstrap", "jackknife", "analytic"])
def test_intervals_of_values_whose_squares_are_no_numbers(size: float, method: str) -> None:
    rng = np.random.default_rng(2)
    label, score, other = rng.normal(size=(3, 300))
    frames = []
    for unit in (1.0, size):
        rows = pl.DataFrame({"y": unit * label, "p": unit * score, "q": unit * other})
        asked = {"metrics": ["mae", "mean_error"], "uncertainty": {"replicates": 30, "method": method}}
        found = plm.evaluate(rows, task="regression", label="y", models=["p", "q"], compare="p", **asked)
        columns = ["lower", "upper", "std_error"]
        frames.append(
            np.vstack(
                [frame.select(columns).to_numpy() / unit for frame in (found.metrics, found.comparisons)]
            )
        )
    assert np.isfinite(frames[0]).all()
    np.testing.assert_allclose(frames[1], frames[0], rtol=1e-9)


SIZES = {"a": 4, "b": 7, "c": 20}


def few_rows_a_slice() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    group = np.repeat(list(SIZES), list(SIZES.values()))
    return pl.DataFrame(
        {"y": rng.normal(size=31), "p": np.zeros(31), "big": rng.random(31) < 0.4, "g": group}
    )


def slices_with(method: str) -> plm.Result:
    return plm.evaluate(
        few_rows_a_slice(),
        task="regression",
        label="y",
        models={"m": "p"},
        metrics=[
            "mean_error",
            {"name": "total", "sum": "big"},
            {"name": "average", "over": {"slice_set": "g", "metric": "mean_error", "agg": "mean"}},
        ],
        slices={"g": "g"},
        min_rows=2,
        uncertainty={"method": method},
        compare={"slices": {"g": "rest"}},
    )


@pytest.mark.parametrize("method", ["analytic", "jackknife"])
def test_a_mean_over_slices_varies_as_independent_samples_do(method: str) -> None:
    """With the blocks of the whole table counted, slices of m units had m / (m - 1) too little, or too much."""
    rows = few_rows_a_slice()
    of_means = [part["y"].var() / part.height for part in rows.partition_by("g")]  # type: ignore[operator]
    error = slices_with(method).metrics.filter(metric="average")["std_error"].item()
    assert error == pytest.approx(np.sqrt(sum(of_means)) / 3, rel=1e-6)


def test_rates_of_some_rows_of_few_vary_as_independent_samples_do() -> None:
    rng = np.random.default_rng(5)
    rows = pl.DataFrame({"y": rng.random(60) < 0.5, "p": rng.random(60), "g": ["a", "b", "b", "b"] * 15})
    average = {"name": "average", "over": {"slice_set": "g", "metric": "recall", "agg": "mean"}}
    found = plm.evaluate(
        rows,
        label="y",
        models={"m": "p"},
        metrics=["recall", average],
        slices={"g": "g"},
        uncertainty={"method": "analytic"},
        compare={"slices": {"g": "rest"}},
    )
    hits = [rows.filter("y", g=name)["p"].to_numpy() >= 0.5 for name in ("a", "b")]
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in hits))
    of_average = found.metrics.filter(metric="average")["std_error"].item()
    assert of_average == pytest.approx(error / 2, rel=1e-5)
    of_difference = found.comparisons.filter(metric="recall", slice="g=a")["std_error"].item()
    assert of_difference == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("method", ["analytic", "jackknife"])
def test_a_slice_and_its_rest_vary_as_independent_samples_do(method: str) -> None:
    rows = few_rows_a_slice()
    compared = slices_with(method).comparisons.filter(metric="mean_error", contrast="rest")
    for name in SIZES:
        sides = rows.filter(g=name)["y"], rows.filter(pl.col("g") != name)["y"]
        error = np.sqrt(sum(side.var() / len(side) for side in sides))  # type: ignore[operator, misc]
        assert compared.filter(slice=f"g={name}")["std_error"].item() == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("method", ["analytic", "jackknife"])
def test_all_rows_of_the_table_count_in_the_spread_of_a_slice_s_total(method: str) -> None:
    rows = few_rows_a_slice()
    totals = slices_with(method).metrics.filter(metric="total")
    for name in SIZES:
        counted = (rows["big"] & (rows["g"] == name)).to_numpy()
        error = np.sqrt(31) * counted.std(ddof=1)
        assert totals.filter(slice=f"g={name}")["std_error"].item() == pytest.approx(error, rel=1e-6)


def test_equal_values_without_each_of_a_few_units_have_no_spread() -> None:
    """Pearson's r of two rows is 1 or -1: of three that both models order alike, no unit moves the difference."""
    random = np.random.default_rng(3)
    order = random.permuted(np.tile(np.arange(3), (40, 1)), axis=1)
    one, two = (np.sort(random.random((40, 3)), axis=1) for _ in range(2))
    rows = {"y": random.normal(size=120), "slice": np.repeat(np.arange(40), 3)}
    rows |= {name: np.take_along_axis(p, order, axis=1).ravel() for name, p in (("one", one), ("two", two))}
    result = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models=["one", "two"],
        metrics=["pearson"],
        slices=["slice"],
        uncertainty={"method": "jackknife"},
        compare="one",
    )
    found = result.comparisons.filter(slice_set="slice")
    assert found.height == 40
    assert set(found["interval_status"]) == {"degenerate"}
    assert found["std_error"].to_list() == [0.0] * 40
