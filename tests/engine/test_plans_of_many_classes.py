"""Plans of models of many classes: they grow with the number of classes, not with its square."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine import streaming
from plmetrics.engine.streaming import node_aggregates

NORMALISED = {"models": {"m": {"proba": "p_", "normalise": True}}}
CASES: dict[str, dict[str, Any]] = {
    "the class called": {"metrics": ["accuracy"]},
    "divided by their sum": {"metrics": ["log_loss"], **NORMALISED},
    "the first of them": {"metrics": ["top_k_accuracy(k=3)"]},
    "added in their order": {"metrics": ["ranked_probability_score"]},
    **{
        method: {
            "metrics": ["log_loss"],
            "calibrate": {"method": method, "fit_on": "fitted"},
            **(NORMALISED if method == "temperature" else {}),
        }
        for method in ("temperature", "vector", "isotonic")
    },
}


def table(classes: int) -> pl.DataFrame:
    draw = np.random.default_rng(classes)
    names = [f"{number:02d}" for number in range(classes)]
    label = np.concatenate([np.arange(classes)] * 30)
    score = draw.normal(size=(len(label), classes)) + 1.5 * np.eye(classes)[label]
    chance = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    columns = {f"p_{name}": chance[:, number] for number, name in enumerate(names)}
    fitted = np.arange(len(label)) % 3 > 0
    return pl.DataFrame({"y": [names[number] for number in label], "fitted": fitted, **columns})


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
def test_plans_grow_with_the_number_of_classes(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, sizes = streaming.frames_of, []

    def measured(plans: Any, *arguments: Any, **options: Any) -> Any:
        plans = list(plans)
        sizes[-1] += sum(len(plan.serialize()) for plan in plans)
        return read(plans, *arguments, **options)

    monkeypatch.setattr("plmetrics.engine.inquiry.frames_of", measured)
    for classes in (10, 40):
        sizes.append(0)
        arguments = {"models": {"m": {"proba": "p_"}}, **CASES[case]}
        table(classes).write_parquet(tmp_path / "t.parquet")
        plm.evaluate(tmp_path / "t.parquet", task="multiclass", label="y", **arguments)
    few, many = sizes
    assert many < 5 * few


def test_expressions_nest_no_deeper_the_more_classes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time and memory of planning grow with the square of the depth: 1.4 GB for the log loss of 1,000 classes."""
    read, depths = streaming.frames_of, []

    def measured(plans: Any, *arguments: Any, **options: Any) -> Any:
        for plan in (plans := list(plans)):
            opens = np.array([(letter == "(") - (letter == ")") for letter in plan.explain(optimized=False)])
            depths.append(int(opens.cumsum().max()))
        return read(plans, *arguments, **options)

    monkeypatch.setattr("plmetrics.engine.inquiry.frames_of", measured)
    frame, metrics = table(150), ["accuracy", "log_loss", "brier"]
    result = plm.evaluate(frame, task="multiclass", label="y", models={"m": {"proba": "p_"}}, metrics=metrics)
    assert max(depths) < 100
    names = sorted(name for name in frame.columns if name.startswith("p_"))
    chance, label = frame.select(names).to_numpy(), frame["y"].to_numpy()
    truth = np.array([name.removeprefix("p_") for name in names]) == label[:, None]
    expected = [
        (chance.argmax(1) == truth.argmax(1)).mean(),
        -np.log(chance[truth]).mean(),
        ((chance - truth) ** 2).sum(1).mean(),
    ]
    np.testing.assert_allclose(result.metrics["value"].to_numpy(), expected, rtol=1e-12)


def test_wide_tables_have_few_nodes_of_aggregates() -> None:
    """Each plan of a scan walks its common columns: 1,000 labels took three times as long in nodes of 400."""
    wide = [pl.col(f"x{number}").sum() for number in range(3000)]
    narrow = [(pl.col("x") > number).sum() for number in range(3000)]
    assert [len(node_aggregates(each)) for each in (wide, narrow)] == [1, 8]
