"""The types of keyword arguments are those of the suite's models, and a type checker reads them so."""

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, Required, get_origin, get_type_hints

import pytest

import plmetrics as plm
from docs import keywords as written
from plmetrics.features.cross_validation.cross_validation_section import CrossValidation, Diagnosis
from plmetrics.features.drift.drift_section import Drift, DriftGate
from plmetrics.features.leakage.leakage_section import Leakage, LeakageLimits
from plmetrics.features.slice_search.search_section import FindSlices
from plmetrics.suite import keywords, section_keywords
from plmetrics.suite.sections.basics import Calibrate, Compare, Curve, ModelColumns, SliceSet
from plmetrics.suite.sections.gates import Gate, Opponent
from plmetrics.suite.sections.references import Band
from plmetrics.suite.sections.uncertainty import Uncertainty

SECTIONS: tuple[Any, ...] = (
    Band, Calibrate, Compare, CrossValidation, Curve, Diagnosis, Drift, DriftGate, FindSlices, Gate, Leakage,
    LeakageLimits, ModelColumns, Opponent, SliceSet, Uncertainty,
)  # fmt: skip

CALLS = """
from pathlib import Path

import polars as pl

import plmetrics as plm

run = plm.evaluate
frame = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": ["a", "b"]})


def right() -> None:
    run(frame, label="y", models="p")
    run("scores/*.parquet", label="y", models={"a": "p", "b": {"score": "q"}}, task="binary", missing="drop")
    run([Path("a.csv")], label="y", models=["p"], uncertainty={"replicates": 20}, slices={"g": "g"})
    run(frame.lazy(), label="y", models={"m": {"proba": {0: "p0", 1: "p1"}}}, uncertainty=True, classes=[0, 1])
    run(frame, label="y", models={"m": {"quantiles": {0.1: "low", 0.9: "high"}}}, task="quantile")
    run({"trec": {"qrels": "q.txt", "run": {"bm25": "r.txt"}}}, task="ranking")
    run(frame, label="y", models="p", metrics=["recall", plm.metric("f1"), {"fbeta": {"beta": 2}}, {"f1": None}])
    run(frame, label="y", models="p", metrics=[{"metric": "brier", "slices": "g"}, {"name": "m", "mean": "p < 1"}])
    run(frame, label="y", models="p", slices=["g", ["g", "h"]], curves=["roc", {"curve": "pr"}])
    run(frame, label="y", models="p", gates=[{"metric": "recall", "at_least": 0.5, "against": {"slice": "rest"}}])
    earlier = run(frame, label="y", models="p", compare={"run": "runs", "tests": ["delong"]})
    run(frame, label="y", models="p", compare={"run": earlier, "slices": {"g": "rest"}}, drift={"run": earlier})
    run(frame, label="y", models="p", leakage={"train": frame, "keys": "id"}, drift={"reference": ["a.csv"]})
    run(frame, label="y", models="p", find_slices={"columns": ["g"], "metric": "log_loss"})
    plm.state(frame, label="y", models="p", uncertainty={"replicates": 20})


def wrong() -> None:
    run(frame, label="y", models="p", uncertainty={"replicats": 20})  # type: ignore
    run(frame, label="y", models="p", uncertainty={"replicates": "20"})  # type: ignore
    run(frame, label="y", models="p", task="binray")  # type: ignore
    run(frame, label="y", models="p", missing="dorp")  # type: ignore
    run(frame, label="y", models="p", gates=[{"metric": "f1", "at_leest": 1}])  # type: ignore
    run(frame, label="y", models="p", find_slices={"columns": ["g"]})  # type: ignore
    run(frame, label="y", models="p", leakage={"keys": "id", "levle": "warn"})  # type: ignore
    run(frame, label="y", models="p", compare={"p_value": "z"})  # type: ignore
    run(3, label="y", models="p")  # type: ignore
    plm.metric("f1", task="binray")  # type: ignore
    plm.state(frame, label="y", models="p", sede=3)  # type: ignore
"""


@pytest.mark.parametrize("file", written.module_texts(), ids=lambda file: file.stem)
def test_the_modules_are_current(file: Path) -> None:
    assert file.read_text("utf-8") == written.module_texts()[file], "run python -m docs.generate"


@pytest.mark.parametrize("model", SECTIONS)
def test_a_section_has_the_keys_of_its_model(model: Any) -> None:
    typed = getattr(section_keywords, model.__name__)
    assert set(typed.__annotations__) - {"column"} == set(model.model_fields) - {"column"}
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    hints = get_type_hints(typed, include_extras=True)
    if model is Gate:  # four_fifths stands in the place of a metric
        required.remove("metric")
    assert {key for key, hint in hints.items() if get_origin(hint) is Required} == required


def test_the_arguments_are_those_of_evaluate() -> None:
    asked = inspect.signature(plm.evaluate).parameters
    names = {name for name, parameter in asked.items() if parameter.kind is parameter.KEYWORD_ONLY}
    assert set(keywords.Arguments.__annotations__) == names - {"on"}, (
        "where rows are counted is no key of a suite"
    )


@pytest.mark.slow
def test_a_type_checker_takes_right_calls_and_refuses_wrong_ones(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    root = Path(plm.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(root / ".mypy_cache"), str(file)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
