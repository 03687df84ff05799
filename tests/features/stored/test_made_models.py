"""Models that a run makes, calibrated ones and the built-in baseline, in states: constants that all of them share."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

import plmetrics as plm

ROWS, FILES = 900, 5
FIT = "day <= 1"
CLASSES = ["blue", "green", "red"]
QUANTILES = {"0.1": "low", "0.5": "middle", "0.9": "high"}
EACH = {"models": {"a": "a", "b": "b"}}
SUITES: dict[str, dict[str, Any]] = {
    "weights": {
        **EACH,
        "columns": {"label": "y", "weight": "w"},
        "data": {"path": "rows", "missing": "drop_per_model", "where": "w > 0.2"},
        "metrics": ["brier", "roc_auc"],
        "calibrate": {"method": "platt", "fit_on": FIT},
    },
    "binary": {
        "models": {"a": "a"},
        "metrics": ["roc_auc", "brier", "log_loss", "recall(threshold=max(f1))"],
        "calibrate": [
            {"method": name, "fit_on": FIT} for name in ("platt", "isotonic", "temperature", "beta")
        ],
    },
    "margins": {
        "models": {"a": {"margin": "margin"}},
        "metrics": ["brier"],
        "calibrate": [{"method": name, "fit_on": FIT} for name in ("platt", "temperature")],
    },
    "multiclass": {
        "task": "multiclass",
        "classes": CLASSES,
        "columns": {"label": "kind"},
        "models": {"m": {"proba": {name: name for name in CLASSES}}},
        "metrics": ["log_loss", "accuracy"],
        "calibrate": [
            {"method": name, "fit_on": FIT} for name in ("temperature", "vector", "dirichlet", "isotonic")
        ],
    },
    "regression": {
        "models": {"a": "a"},
        "task": "regression",
        "columns": {"label": "amount"},
        "metrics": ["mae", "r2"],
    },
    "quantile": {
        "task": "quantile",
        "columns": {"label": "amount"},
        "models": {"m": {"quantiles": QUANTILES}},
        "metrics": ["wis", "crps"],
    },
    "ranking": {
        **EACH,
        "task": "ranking",
        "columns": {"label": "y", "query": "query"},
        "metrics": ["ndcg@3"],
    },
}


def table() -> pl.DataFrame:
    """Rows of all tasks; the first two days are whole files, and queries lie in one file each."""
    rng = np.random.default_rng(11)
    label, day = rng.random(ROWS) < 0.4, np.sort(rng.integers(0, FILES, ROWS))
    chances = rng.dirichlet(np.ones(3), ROWS)
    amount = rng.lognormal(size=ROWS)
    return pl.DataFrame(
        {
            "y": label.astype(int),
            "a": np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0.0, 1.0),
            "b": np.clip(rng.normal(0.4 + 0.1 * label, 0.2), 0.0, 1.0),
            "margin": rng.normal(label * 1.0, 1.0),
            "w": rng.random(ROWS),
            "kind": pl.Series(CLASSES).gather([rng.choice(3, p=chance) for chance in chances]),
            **dict(zip(CLASSES, chances.T, strict=True)),
            "amount": amount,
            **{name: amount + float(level) for level, name in QUANTILES.items()},
            "query": day * 1000 + rng.integers(0, 30, ROWS),
            "day": day,
        }
    )


def write(folder: Path, rows: pl.DataFrame, suite: dict[str, Any]) -> Path:
    """The rows in a file for each day, one without any, and the suite."""
    (folder / "rows").mkdir()
    rows.clear().write_parquet(folder / "rows/none.parquet")
    for (day,), part in rows.partition_by("day", as_dict=True).items():
        part.write_parquet(folder / f"rows/{day}.parquet")
    common = {"data": {"path": "rows"}, "columns": {"label": "y"}, "baseline": True, "exact": False}
    intervals = {"uncertainty": {"replicates": 20}, "reproducible": True}
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump({**common, **intervals, "compare": "baseline", **suite}))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("task", SUITES)
def test_units_share_what_models_are_made_of(tmp_path: Path, task: str) -> None:
    """Units of which one or two hold nothing but rows to fit on give the bytes of one run over all rows."""
    rows = table()
    if task == "weights":
        rows = rows.with_columns(pl.when(pl.col("a") > 0.05).then("a"))
    file = write(tmp_path, rows, SUITES[task])
    plain, units = plm.run(file), plm.run(file, on="inline")
    assert "baseline" in plain.metrics["model"].unique()
    for name, frame in plain.tables.items():
        assert units.tables[name].serialize() == frame.serialize(), name
    assert units.record["rows"] == plain.record["rows"]
    assert set(units.record["warnings"]) == set(plain.record["warnings"])
    for name in ("calibrators", "baseline"):
        assert units.record["constants"].get(name) == plain.record["constants"].get(name)


def test_merged_states_have_the_models_of_the_state_whose_constants_they_share(tmp_path: Path) -> None:
    """A curve and a rate of the first days, judged on others: scikit-learn's, in a merge of merges."""
    rows = table()
    fitted, other = rows.filter(pl.col("day") <= 1), rows.filter(pl.col("day") >= 2)
    suite = {
        **SUITES["binary"],
        **EACH,
        "metrics": ["brier"],
        "calibrate": {"method": "isotonic", "fit_on": FIT},
    }
    file = write(tmp_path, rows, {**suite, "uncertainty": None, "reproducible": False})
    first = plm.state(
        file, tmp_path / "0.state", set={"data.path": ["rows/0.parquet", "rows/1.parquet", "rows/2.parquet"]}
    )
    further = [
        plm.state(file, tmp_path / f"{day}.state", set={"data.path": f"rows/{day}.parquet"}, constants=first)
        for day in (3, 4)
    ]
    plm.merge(first, further[0], state=tmp_path / "together.state")
    merged = plm.merge(tmp_path / "together.state", further[1])
    values = dict(merged.metrics.select("model", "value").rows())
    rate = other.filter(pl.col("day") == 2)["y"].mean()
    assert values["baseline"] == pytest.approx(((other["y"] - rate) ** 2).mean(), rel=1e-12)
    for model in "ab":
        curve = IsotonicRegression(out_of_bounds="clip").fit(fitted[model], fitted["y"])
        expected = brier_score_loss(other["y"], curve.predict(other[model]))
        assert values[f"{model}_isotonic"] == pytest.approx(expected, rel=1e-12)
    assert merged.record["rows"]["fitted"] == fitted.height
    assert merged.record["rows"]["read"] == other.height


def test_states_whose_models_were_made_of_other_rows_do_not_add(tmp_path: Path) -> None:
    suite = {**SUITES["binary"], "metrics": ["brier"], "calibrate": {"method": "platt", "fit_on": "a > 0.5"}}
    file = write(tmp_path, table(), suite)
    states = [
        plm.state(file, tmp_path / f"{day}.state", set={"data.path": f"rows/{day}.parquet"}) for day in (0, 1)
    ]
    with pytest.raises(plm.ConfigError) as raised:
        plm.merge(*states)
    assert "the calibrator of model 'a_platt'" in str(raised.value)
    assert "what the built-in baseline gives is {'score': 0." in str(raised.value)


def test_calibrating_by_fold_is_refused() -> None:
    asked = {"label": "y", **EACH, "metrics": ["brier"], "fold": "day"}
    with pytest.raises(plm.ConfigError, match="calibrating by fold fits the rows of each fold to all others"):
        plm.state(table(), **asked, calibrate={"method": "platt", "fit_on": "fold"})
