"""What is said of a state, beside the state that is then written."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.binding.bind import bind
from plmetrics.features.explain.explanation import StateSize, explain
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.suite.python_words import python_text
from plmetrics.table.opening import open_source

ASKED: dict[str, Any] = {
    "label": "y",
    "models": {"one": "p", "two": "q"},
    "metrics": ["roc_auc", "recall", "brier"],
    "slices": {"g": "g", "gh": ["g", "h"]},
    "uncertainty": {"replicates": 20},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw, rows = np.random.default_rng(0), 60_000
    held = pl.DataFrame(
        {
            "y": draw.integers(0, 2, rows),
            "p": draw.random(rows),
            "q": draw.random(rows),
            "w": draw.gamma(2.0, 1.0, rows),
            "u": draw.integers(0, 9000, rows),
            "g": draw.choice(["a", "b", "c"], rows),
            "h": draw.choice(["x", "y"], rows),
        }
    )
    path = tmp_path_factory.mktemp("explained") / "scores.parquet"
    held.write_parquet(path)
    return path


def said(file: Path, *, look: bool = True, **changes: Any) -> StateSize:
    asked = {**ASKED, **changes}
    found = explain(bind(suite_from_arguments(**asked), open_source(str(file))), data=look).state
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"unit": "u"},
        {"weight": "w"},
        {"uncertainty": None},
        {"metrics": ["recall", "brier"], "unit": "u"},
        {"metrics": ["recall", "tp"], "uncertainty": None},
        {"metrics": ["ece", "roc_auc"], "unit": "u"},
    ],
)
def test_sizes_hold_within_a_factor_of_two(file: Path, changes: dict[str, Any], tmp_path: Path) -> None:
    found = said(file, **changes)
    made = plm.state(str(file), tmp_path / "x.state", **{**ASKED, **changes})
    assert made.path is not None
    assert found.needs_rows == ()
    assert found.kept == len(changes.get("metrics", ASKED["metrics"]))
    for told, written in ((found.rows, made.table.height), (found.bytes, made.path.stat().st_size)):
        assert told is not None
        assert written / 2 <= told <= written * 2


def test_what_needs_the_rows_is_named(file: Path) -> None:
    changes: dict[str, Any] = {
        "metrics": ["brier", "ece(strategy=quantile)", "recall"],
        "models": {"one": "p"},
        "exact": True,
    }
    found = said(file, **changes)
    assert found.kept == 2
    assert [place for place, _ in found.needs_rows] == ["exact", "ece(strategy=quantile)"]
    with pytest.raises(plm.ConfigError) as raised:
        plm.state(str(file), **{**ASKED, **changes})
    for _, why in found.needs_rows:
        assert python_text(why) in str(raised.value)


def test_a_metric_of_classes_is_named_once(file: Path, tmp_path: Path) -> None:
    wide = pl.read_parquet(file).select(pl.col("y").cast(pl.String), p0=1 - pl.col("p"), p1=pl.col("p"))
    wide.write_parquet(tmp_path / "classes.parquet")
    models = {"one": {"proba": {"0": "p0", "1": "p1"}}}
    found = said(
        tmp_path / "classes.parquet",
        task="multiclass",
        models=models,
        slices={},
        metrics=["accuracy", "roc_auc", "classwise_ece(strategy=quantile)"],
        look=False,
    )
    assert [place for place, _ in found.needs_rows] == ["classwise_ece(strategy=quantile)"]
    assert found.kept == 2


def test_rows_that_have_no_names_are_named(file: Path) -> None:
    asked = suite_from_arguments(**ASKED)
    found = explain(bind(asked, open_source(pl.read_parquet(file))), data=False).state
    assert found is not None
    assert [place for place, _ in found.needs_rows] == ["columns.unit"]
    assert (found.rows, found.bytes) == (None, None)
