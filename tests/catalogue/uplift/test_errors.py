"""The standard error of an average effect is that of all rows, however many blocks the bootstrap would draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.suite.yaml.load import load_suite

ROWS = 20_000


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(1)
    treated = random.random(ROWS) < 0.3
    outcome = 1e3 + random.gamma(2, 3, ROWS) + treated * random.normal(1, 4, ROWS)
    columns = {"y": outcome, "t": treated.astype(int), "w": random.choice([0.0, 0.5, 1, 4], ROWS)}
    return pl.DataFrame(columns | {"p": 0.5, "g": random.choice(list("abc"), ROWS, p=[0.7, 0.2, 0.1])})


def evaluate(frame: pl.DataFrame, **settings: Any) -> pl.DataFrame:
    given: dict[str, Any] = {
        "task": "uplift",
        "label": "y",
        "treatment": "t",
        "models": "p",
        "metrics": "ate",
    }
    given |= {"slices": "g", "uncertainty": {"method": "analytic"}}
    return plm.evaluate(frame, **(given | settings)).metrics


def arms(frame: pl.DataFrame, place: str, column: str) -> list[np.ndarray]:
    rows = frame if place == "all" else frame.filter(g=place[-1])
    return [rows.filter(t=arm)[column].to_numpy() for arm in (1, 0)]


@pytest.mark.parametrize("method", ["analytic", "delta"])
def test_the_standard_error_is_welch_s(frame: pl.DataFrame, method: str) -> None:
    found = evaluate(frame, uncertainty={"methods": [method]})
    assert found["slice"].to_list() == ["all", "g=a", "g=b", "g=c"]
    for row in found.iter_rows(named=True):
        one, other = arms(frame, row["slice"], "y")
        test = stats.ttest_ind(one, other, equal_var=False)
        assert row["std_error"] == pytest.approx((one.mean() - other.mean()) / test.statistic, rel=1e-9)
        half = stats.t.ppf(0.975, min(len(one), len(other)) - 1) * row["std_error"]
        assert row["upper"] - row["lower"] == pytest.approx(2 * half, rel=1e-9)
        assert row["method"] == "delta"


def test_it_is_that_of_a_readout(frame: pl.DataFrame) -> None:
    found = evaluate(frame)["std_error"].to_list()
    effects = plm.readout(frame, "y", "t", 0, by="g").filter(pl.col("outcome").is_not_null())
    assert effects["std_error"].to_list() == pytest.approx(found, rel=1e-9)


def test_weights_do_not_count_rows(frame: pl.DataFrame) -> None:
    for row in evaluate(frame, weight="w").iter_rows(named=True):
        variance = 0.0
        for y, w in zip(arms(frame, row["slice"], "y"), arms(frame, row["slice"], "w"), strict=True):
            rows = np.count_nonzero(w)
            away = y - np.average(y, weights=w)
            variance += rows / (rows - 1) * np.sum((w * away) ** 2) / w.sum() ** 2
        assert row["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-9)
        sizes = [w.sum() ** 2 / np.sum(w**2) for w in arms(frame, row["slice"], "w")]
        half = stats.t.ppf(0.975, np.floor(min(sizes)) - 1) * row["std_error"]
        assert row["upper"] - row["lower"] == pytest.approx(2 * half, rel=1e-9)


@pytest.mark.parametrize(
    ("uncertainty", "squares"),
    [
        ("null", False),
        ("{method: auto}", False),
        ("{methods: [bootstrap, jackknife]}", False),
        ("{methods: [delta]}", True),
    ],
)
def test_squares_are_summed_only_where_such_intervals_are_asked_for(
    tmp_path: Path, uncertainty: str, squares: bool
) -> None:
    suite = tmp_path / "s.yaml"
    columns = "columns: {label: y, treatment: t}\nmodels: {p: p}\nmetrics: [ate]"
    suite.write_text(f"task: uplift\ndata: {{path: t.csv}}\n{columns}\nuncertainty: {uncertainty}\n")
    needed = [metric.text for metric in load_suite(suite).suite.needed("overall")]
    assert needed == ["ate", *(["ate_standard_error"] if squares else [])]


def test_an_arm_of_one_number_does_not_hide_the_other() -> None:
    rows = pl.DataFrame({"y": [9, 7, 8, 1, 1, 1], "t": [1, 1, 1, 0, 0, 0], "p": 0.5})
    assert evaluate(rows, slices=None)["std_error"].item() == pytest.approx(np.sqrt(1 / 3))
    grouped = pl.concat(
        [rows.with_columns(g=pl.lit("a")), rows.with_columns(g=pl.lit("b"), y=pl.col("y") * 2)]
    )
    assert evaluate(grouped, metrics="cochran_q(by=g)")["value"].item() == pytest.approx(
        7**2 / (1 / 3 + 4 / 3)
    )
