"""Scores of forecasts against their definitions in plain Python, and against numbers that others published."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import integrate, stats

import plmetrics as plm

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
QUANTILES = {"m": {"quantiles": {level: f"q_{level}" for level in LEVELS}}}
COVID = Path(__file__).parents[2] / "configs" / "data" / "covid_forecasts.parquet"


def table(rows: int = 300, seed: int = 1) -> pl.DataFrame:
    """Quantiles of a forecast that is too narrow, some of which cross; weights of which some are 0."""
    rng = np.random.default_rng(seed)
    mean, label = rng.normal(10, 3, rows), rng.normal(10, 4, rows)
    quantiles = mean[:, None] + 2 * stats.norm.ppf(LEVELS)
    crossed = rng.random(rows) < 0.1
    quantiles[crossed, 1] += 4
    label[:20] = quantiles[:20, 0]
    frame = pl.DataFrame(
        {"y": label, "w": rng.choice([0.0, 0.5, 1.0, 2.0], rows), "g": rng.choice(["a", "b"], rows)}
    )
    return frame.with_columns(pl.Series(f"q_{level}", quantiles[:, i]) for i, level in enumerate(LEVELS))


def pinball(y: float, q: float, tau: float) -> float:
    return tau * (y - q) if y >= q else (1 - tau) * (q - y)


def interval_score(y: float, low: float, high: float, level: float) -> float:
    a = 1 - level
    return (high - low) + 2 / a * max(low - y, 0) + 2 / a * max(y - high, 0)


def by_hand(rows: pl.DataFrame, weight: Sequence[float]) -> dict[str, float]:
    """Every metric from its definition, row by row."""
    out: dict[str, list[float]] = {}
    for row in rows.iter_rows(named=True):
        y, q = row["y"], [row[f"q_{level}"] for level in LEVELS]
        wis = (
            0.5 * abs(y - q[2])
            + sum(
                (1 - level) / 2 * interval_score(y, low, high, level)
                for level, low, high in ((0.5, q[1], q[3]), (0.9, q[0], q[4]))
            )
        ) / 2.5
        found = {
            "wis": wis,
            "crps": wis,
            "quantile_loss(tau=0.25)": pinball(y, q[1], 0.25),
            "interval_coverage(level=0.9)": float(q[0] <= y <= q[4]),
            "interval_coverage(level=0.5)": float(q[1] <= y <= q[3]),
            "interval_width(level=0.5)": q[3] - q[1],
            "interval_score(level=0.9)": interval_score(y, q[0], q[4], 0.9),
            "crossing_rate": float(any(q[i] > q[i + 1] for i in range(4))),
            "mae": abs(y - q[2]),
            "mean_error": q[2] - y,
        }
        for name, value in found.items():
            out.setdefault(name, []).append(value)
    return {name: float(np.average(values, weights=weight)) for name, values in out.items()}


def values(rows: pl.DataFrame, models: Any, metrics: Any, **more: Any) -> dict[str, float]:
    found = plm.evaluate(
        rows, task="quantile", label="y", models=models, metrics=list(metrics), **more
    ).metrics
    return dict(zip(found["metric"], found["value"], strict=True))


@pytest.mark.parametrize("weight", [None, "w"])
def test_scores_of_quantiles_are_those_of_their_definitions(weight: str | None) -> None:
    rows = table()
    expected = by_hand(rows, np.ones(len(rows)) if weight is None else rows["w"])
    assert values(rows, QUANTILES, expected, weight=weight) == pytest.approx(expected, rel=1e-12)


def test_every_slice_is_the_table_of_its_rows() -> None:
    rows = table()
    expected = by_hand(rows, np.ones(len(rows)))
    found = plm.evaluate(
        rows,
        task="quantile",
        label="y",
        models=QUANTILES,
        metrics=list(expected),
        slices=["g"],
        uncertainty={"replicates": 50},
    ).metrics
    for group in ("a", "b"):
        own = found.filter(slice=f"g={group}")
        part = rows.filter(g=group)
        assert dict(zip(own["metric"], own["value"], strict=True)) == pytest.approx(
            by_hand(part, np.ones(len(part))), rel=1e-12
        )
        assert (own["interval_status"] == "ok").all()


def test_rows_whose_quantiles_cross_are_told() -> None:
    rows = table()
    crossing = round(by_hand(rows, np.ones(len(rows)))["crossing_rate"] * len(rows))
    found = plm.evaluate(
        rows, task="quantile", label="y", models=QUANTILES, metrics=["wis", "crossing_rate"]
    ).metrics
    assert found["note"].to_list() == [f"quantiles decrease in rows of weight {crossing}", None]


def test_the_weight_of_crossing_rows_reads_alike_in_any_order() -> None:
    """The weights 0.1, 0.2 and 0.3 sum to 0.6 or to 0.6000000000000001."""
    quantiles = {"q_0.05": 2.0, "q_0.25": 1.0, "q_0.5": 3.0, "q_0.75": 4.0, "q_0.95": 5.0}
    for weights in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
        rows = pl.DataFrame({"w": weights}).with_columns(
            y=pl.lit(2.0), **{k: pl.lit(v) for k, v in quantiles.items()}
        )
        found = plm.evaluate(rows, task="quantile", label="y", weight="w", models=QUANTILES, metrics=["wis"])
        assert found.metrics["note"].to_list() == ["quantiles decrease in rows of weight 0.6"]


def integrated(y: float, mean: float, sd: float) -> float:
    """The score as the integral that defines it."""
    low, _ = integrate.quad(lambda x: stats.norm.cdf(x, mean, sd) ** 2, mean - 12 * sd, y)
    high, _ = integrate.quad(lambda x: (stats.norm.cdf(x, mean, sd) - 1) ** 2, y, mean + 12 * sd)
    return low + high


def test_normal_forecasts() -> None:
    rng = np.random.default_rng(4)
    rows = pl.DataFrame(
        {"y": rng.normal(size=12), "mu": rng.normal(size=12), "sd": [0.0, *rng.uniform(0.5, 2, 11)]}
    )
    parts = [
        abs(y - mu) if sd == 0 else integrated(y, mu, sd)
        for y, mu, sd in rows.select("y", "mu", "sd").iter_rows()
    ]
    ends = [stats.norm.interval(0.8, mu, sd) if sd else (mu, mu) for _, mu, sd in rows.iter_rows()]
    held = [low <= y <= high for (low, high), y in zip(ends, rows["y"], strict=True)]
    found = values(rows, {"m": {"mean": "mu", "sd": "sd"}}, ["crps", "mae", "interval_coverage(level=0.8)"])
    assert found["crps"] == pytest.approx(np.mean(parts), rel=1e-7)
    assert found["mae"] == pytest.approx((rows["y"] - rows["mu"]).abs().mean(), rel=1e-12)
    assert found["interval_coverage(level=0.8)"] == pytest.approx(np.mean(held))


@pytest.mark.parametrize("members", [2, 3, 10, 51])
def test_ensembles(members: int) -> None:
    rng = np.random.default_rng(5)
    drawn, y = rng.normal(size=(40, members)), rng.normal(size=40)
    rows = pl.DataFrame({"y": y, **{f"x{i}": drawn[:, i] for i in range(members)}})
    spread = [np.abs(row[:, None] - row).sum() for row in drawn]
    distance = np.abs(drawn - y[:, None]).mean(axis=1)
    found = values(rows, {"m": {"members": [f"x{i}" for i in range(members)]}}, ["crps", "crps(fair=true)"])
    plain = distance - np.array(spread) / (2 * members**2)
    fair = distance - np.array(spread) / (2 * members * (members - 1))
    assert found["crps"] == pytest.approx(plain.mean(), rel=1e-12)
    assert found["crps(fair=true)"] == pytest.approx(fair.mean(), rel=1e-12)


PUBLISHED = {
    "EuroCOVIDhub-ensemble, target_type=Cases": (17900, 0.391, 0.805, 24100),
    "EuroCOVIDhub-baseline, target_type=Cases": (28500, 0.328, 0.82, 38500),
    "epiforecasts-EpiNow2, target_type=Cases": (20800, 0.469, 0.789, 27900),
    "EuroCOVIDhub-ensemble, target_type=Deaths": (41.4, 0.875, 1.0, 53.1),
    "EuroCOVIDhub-baseline, target_type=Deaths": (159, 0.664, 1.0, 233),
    "UMass-MechBayes, target_type=Deaths": (52.7, 0.461, 0.875, 78.5),
    "epiforecasts-EpiNow2, target_type=Deaths": (66.6, 0.42, 0.908, 105),
}
"""wis, coverage at 50 and 90 %, absolute error of the median: the README of scoringutils, to three digits."""

KEYS = ["location", "target_end_date", "target_type", "forecast_date", "model", "horizon"]


def suite(
    tmp_path: Path, long: str = f"{{by: [{', '.join(KEYS)}], level: quantile_level, value: predicted}}"
) -> Path:
    file = tmp_path / "forecasts.yaml"
    file.write_text(
        f"""task: quantile
data: {{path: {COVID}, missing: drop, long: {long}}}
columns: {{label: observed}}
models: {{f: {{quantiles: predicted_}}}}
metrics: [wis, interval_coverage(level=0.5), interval_coverage(level=0.9), mae]
slices: {{group: [model, target_type]}}
"""
    )
    return file


def test_published_values_from_the_long_table(tmp_path: Path) -> None:
    found = plm.run(suite(tmp_path), output=tmp_path).metrics.filter(slice_set="group")
    for name, expected in PUBLISHED.items():
        own = found.filter(slice=f"model={name}")["value"].to_list()
        assert [float(f"{value:.3g}") for value in own] == pytest.approx(expected, rel=1e-9), name
    without = found.filter(pl.col("slice").str.starts_with("model=null"))  # rows of the truth alone
    assert set(without["status"]) == {"no_rows"}
    assert found["slice"].n_unique() == len(PUBLISHED) + without["slice"].n_unique()


def test_a_model_of_the_long_table_has_columns_of_its_own(tmp_path: Path) -> None:
    keys = "location, target_end_date, target_type, horizon"
    text = suite(
        tmp_path, f"{{by: [{keys}], level: quantile_level, value: predicted, model: model}}"
    ).read_text()
    text = text.replace("{f: {quantiles: predicted_}}", "{e: {quantiles: predicted_EuroCOVIDhub-ensemble_}}")
    file = tmp_path / "own.yaml"
    file.write_text(text.replace("group: [model, target_type]", "group: target_type"))
    found = plm.run(file, output=tmp_path).metrics.filter(slice_set="group", metric="wis")
    assert [float(f"{value:.3g}") for value in found["value"]] == [17900, 41.4]


BAD: list[tuple[str, type[Exception], list[str]]] = [
    ("by: [location], level: quantile_level", plm.DataError, ["stands in", "rows: location="]),
    ("by: [place], level: quantile_level", plm.DataError, ["'place'", "is not in the data"]),
    ("by: [location], level: model", plm.DataError, ["'model' (level)", "must hold numbers"]),
    ("by: [location]", plm.ConfigError, ["'level' is missing"]),
    (
        "by: [location, location], level: quantile_level",
        plm.ConfigError,
        ["column 'location'", "in data.long twice"],
    ),
    (
        "by: [quantile_level], level: quantile_level",
        plm.ConfigError,
        ["column 'quantile_level'", "in data.long twice"],
    ),
]


@pytest.mark.parametrize(("long", "kind", "words"), BAD)
def test_long_tables_that_are_wrong(
    tmp_path: Path, long: str, kind: type[Exception], words: list[str]
) -> None:
    with pytest.raises(kind) as error:
        plm.run(suite(tmp_path, f"{{{long}, value: predicted}}"), output=tmp_path)
    assert "forecasts.yaml:2:" in str(error.value)
    for word in words:
        assert word in str(error.value)


WRONG: list[tuple[Any, list[str], list[str]]] = [
    (
        {"m": {"quantiles": {0.1: "q_0.05"}}},
        ["quantile_loss(tau=0.9)"],
        ["needs the quantile 0.9, which model 'm'"],
    ),
    ({"m": {"quantiles": {0.1: "q_0.05"}}}, ["mae"], ["needs the quantile 0.5"]),
    ({"m": {"mean": "q_0.5"}}, ["mae"], ["mean and sd stand together"]),
    ({"m": {"mean": "q_0.5", "sd": "y"}}, ["wis"], ["wis needs quantiles"]),
    ({"m": {"quantiles": {1.5: "q_0.5"}}}, ["wis"], ["between 0 and 1, not at 1.5"]),
    ({"m": {"quantiles": {5: "q_0.05", 95: "q_0.95"}}}, ["wis"], ["not at 5", "write 0.05 for 5 per cent"]),
    ({"m": {"quantiles": "r_"}}, ["wis"], ["no column is 'r_' and a level", '"quantiles": {"0.1": "COLUMN"']),
    ({"m": {"quantiles": "q_"}}, ["interval_coverage(level=0.8)"], ["needs the quantile 0.1", "give the"]),
    (
        {"m": {"quantiles": {"0.5": "q_0.5", "0.50": "q_0.95"}}},
        ["wis"],
        ["a level stands in quantiles twice"],
    ),
    ({"m": {"quantiles": "r"}}, ["wis"], ["columns 'r0.5' and 'r0.50' have one level"]),
    ({"m": "q_0.5"}, ["wis"], ["a model of task 'quantile' has no score"]),
]


@pytest.mark.parametrize(("models", "metrics", "words"), WRONG)
def test_models_that_lack_what_metrics_read(models: Any, metrics: list[str], words: list[str]) -> None:
    rows = table().with_columns(**{"r0.5": pl.lit(1.0), "r0.50": pl.lit(2.0)})
    with pytest.raises((plm.ConfigError, plm.DataError)) as error:
        plm.evaluate(rows, task="quantile", label="y", models=models, metrics=metrics)
    for word in words:
        assert word in str(error.value)


def test_a_negative_standard_deviation_is_a_data_error() -> None:
    rows = pl.DataFrame({"y": [1.0, 2.0], "mu": [1.0, 2.0], "sd": [1.0, -2.0]})
    with pytest.raises(plm.DataError, match=r"standard deviation of model 'm'.*negative.*-2.0"):
        plm.evaluate(
            rows, task="quantile", label="y", models={"m": {"mean": "mu", "sd": "sd"}}, metrics=["crps"]
        )
