"""What exact sums are told of the rows: how large values are, also where another run said so."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import plmetrics as plm

SUITE = {
    "name": "x",
    "task": "regression",
    "reproducible": True,
    "data": {"path": "first.parquet"},
    "columns": {"label": "y"},
    "models": {"m": "p"},
    "metrics": ["rmse", "mae", "r2"],
}


def table(scale: float, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.normal(size=400) * scale
    return pl.DataFrame({"y": label, "p": label + rng.normal(size=400) * scale})


def test_exponents_are_constants_of_a_run_that_asks_for_them() -> None:
    rows = table(1.0, 1)
    arguments = {"task": "regression", "label": "y", "models": {"m": "p"}, "metrics": ["mse"]}
    found = plm.evaluate(rows, **arguments, reproducible=True).record["constants"]["exponents"]
    largest = ((rows["p"] - rows["y"]) ** 2).max()
    assert list(found) == ["m|squared_error"]
    assert 2.0 ** (found["m|squared_error"] - 4) < largest <= 2.0 ** found["m|squared_error"]
    assert "exponents" not in plm.evaluate(rows, **arguments).record["constants"]


def test_what_is_known_of_any_rows_is_not_looked_up() -> None:
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.5, 0.5, 0.25], "w": [1.0, 2.0, 30.0]})
    arguments = {"label": "y", "models": {"m": "p"}, "metrics": ["brier"], "reproducible": True}
    assert plm.evaluate(rows, **arguments).record["constants"]["exponents"] == {"m|brier": 0}
    weighted = plm.evaluate(rows, **arguments, weight="w").record["constants"]["exponents"]
    assert set(weighted.values()) == {8}


@pytest.mark.parametrize(("scale", "warned"), [(2.0, False), (1e7, True)])
def test_a_later_table_with_larger_values_is_right_and_says_what_it_cannot_keep(
    scale: float, warned: bool, tmp_path: Path
) -> None:
    parts = {"first": table(1.0, 1), "second": table(scale, 2)}
    for name, rows in (*parts.items(), ("both", pl.concat(parts.values()))):
        rows.write_parquet(tmp_path / f"{name}.parquet")
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump(SUITE))
    first = plm.state(file, tmp_path / "first.state")
    path = {"data.path": str(tmp_path / "second.parquet")}
    second = plm.state(file, tmp_path / "second.state", set=path, constants=first)
    merged = plm.merge(first, second)
    both = {"data.path": str(tmp_path / "both.parquet")}
    whole = plm.run(file, output=tmp_path / "runs", set=both)
    values = [result.metrics["value"].to_list() for result in (merged, whole)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    said = [word for word in merged.record["warnings"] if word.startswith("reproducible")]
    assert bool(said) == warned
    if warned:
        assert "'m|absolute_error'" in said[0]


def test_states_of_other_exponents_do_not_add(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(yaml.safe_dump({**SUITE, "metrics": ["mse"]}))
    states = []
    for name, scale in (("first", 1.0), ("second", 1e3)):
        table(scale, 1).write_parquet(tmp_path / f"{name}.parquet")
        path = {"data.path": str(tmp_path / f"{name}.parquet")}
        states.append(plm.state(file, tmp_path / f"{name}.state", set=path))
    with pytest.raises(plm.ConfigError, match=r"the exponent of the sum 'm\|squared_error' \(reproducible\)"):
        plm.merge(*states)


@pytest.mark.parametrize(("weight", "exponent"), [(None, 0), ("w", 4)])
def test_what_is_added_in_bins_has_an_exponent_of_its_own(weight: str | None, exponent: int) -> None:
    rows = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.5, 0.6, 0.25, 0.1], "w": [1.0, 12.0, 2.0, 0.5]})
    asked = {"label": "y", "models": {"m": "p"}, "metrics": ["ece"], "weight": weight, "exact": False}
    found = plm.evaluate(rows, **asked, reproducible=True)
    assert found.record["constants"]["exponents"]["in bins of scores"] == exponent
    plain = plm.evaluate(rows, **asked).metrics["value"].item()
    assert found.metrics["value"].item() == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize("weight", [None, "w"])
def test_quantiles_of_some_of_many_rows_are_the_same_in_any_order(
    weight: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plmetrics.engine.prepare.slices.EXACT_ROWS", 300)
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {"y": rng.integers(0, 2, 2_000), "p": rng.random(2_000), "age": rng.normal(size=2_000)}
    )
    rows = rows.with_columns(w=rng.gamma(2.0, 1.0, 2_000))
    orders = [rows, rows.sample(fraction=1.0, shuffle=True, seed=1)]
    suite: dict[str, Any] = {"label": "y", "models": {"m": "p"}, "metrics": ["brier"], "weight": weight}
    suite["slices"] = {"age": {"column": "age", "quantiles": 4}}
    one, other = (plm.evaluate(order, **suite, reproducible=True).metrics for order in orders)
    assert one.equals(other)
    one, other = (plm.evaluate(order, **suite).metrics for order in orders)
    assert not one.equals(other)


def test_the_grid_of_a_sample_is_the_same_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plmetrics.engine.order.encoding.SAMPLE_ROWS", 50)
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"y": rng.integers(0, 2, 2_000), "p": rng.random(2_000)})
    orders = [rows, rows.sample(fraction=1.0, shuffle=True, seed=1)]
    asked = {"label": "y", "models": {"m": "p"}, "metrics": ["roc_auc", "ks"], "exact": False}
    one, other = (plm.evaluate(order, **asked, reproducible=True).metrics for order in orders)
    assert one.equals(other)
    one, other = (plm.evaluate(order, **asked).metrics for order in orders)
    assert not one.equals(other)
