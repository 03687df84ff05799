"""Metrics of ordered classes against NumPy by hand, and against what they are for two classes."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

CLASSES = ["low", "mid", "high", "top"]
ROLES: dict[str, Any] = {
    "task": "multiclass",
    "label": "y",
    "classes": CLASSES,
    "models": {"m": {"proba": {name: f"p_{name}" for name in CLASSES}}},
}


def table(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 4, rows)
    proba = rng.dirichlet([1.0] * 4, rows)
    frame = {
        "y": np.array(CLASSES)[label],
        "w": rng.choice([0.0, 0.5, 2.0], rows),
        "g": rng.choice(["a", "b"], rows),
    }
    return pl.DataFrame(frame).with_columns(
        pl.Series(f"p_{name}", proba[:, number]) for number, name in enumerate(CLASSES)
    )


def each(rows: pl.DataFrame) -> tuple[Any, Any]:
    """The ranked probability score of each row, and how far off its called class is."""
    proba = rows.select(f"p_{name}" for name in CLASSES).to_numpy()
    label = np.array([CLASSES.index(name) for name in rows["y"]])
    step = (np.arange(4) >= label[:, None]).astype(float)
    return ((proba.cumsum(axis=1) - step) ** 2).sum(axis=1) / 3.0, np.abs(proba.argmax(axis=1) - label)


@pytest.mark.parametrize("weight", [None, "w"])
def test_values_are_those_of_their_definitions(weight: str | None) -> None:
    rows = table()
    texts = ["rps", "rps(divide=false)", "adjacent_accuracy", "adjacent_accuracy(distance=0)", "accuracy"]
    found = plm.evaluate(rows, **ROLES, metrics=texts, slices=["g"], weight=weight).metrics
    for name, part in [("all", rows), *((f"g={g}", rows.filter(g=g)) for g in "ab")]:
        scores, off = each(part)
        mass = np.ones(part.height) if weight is None else part["w"].to_numpy()
        rps, near, exact = (np.average(values, weights=mass) for values in (scores, off <= 1, off == 0))
        here = found.filter(slice=name)["value"].to_numpy()
        np.testing.assert_allclose(here, [rps, 3.0 * rps, near, exact, exact], rtol=1e-12)


@pytest.mark.parametrize("classes", [33, 34, 60])
def test_many_classes_with_labels_that_come_later(classes: int) -> None:
    draw = np.random.default_rng(classes)
    label, chance = draw.integers(0, classes, 200), draw.dirichlet(np.ones(classes), 200)
    late, weight = draw.random(200) < 0.2, draw.choice([0.5, 2.0], 200)
    names = [f"{number:02d}" for number in range(classes)]
    rows = pl.DataFrame({"y": [None if late[n] else names[label[n]] for n in range(200)], "w": weight})
    rows = rows.with_columns(pl.Series(f"p_{name}", chance[:, number]) for number, name in enumerate(names))
    options: Any = {"classes": names, "models": {"m": {"proba": "p_"}}, "labels": True, "weight": "w"}
    found = plm.evaluate(rows, task="multiclass", label="y", metrics=["rps"], **options).metrics
    step = (np.arange(classes) >= label[:, None]).astype(float)
    each_row = ((chance.cumsum(axis=1) - step)[:, :-1] ** 2).sum(axis=1) / (classes - 1)
    expected = np.average(each_row[~late], weights=weight[~late])
    assert found["value"].item() == pytest.approx(expected, rel=1e-12)


def test_intervals_are_those_of_means_and_shares() -> None:
    rows = table()
    found = plm.evaluate(
        rows, **ROLES, metrics=["rps", "adjacent_accuracy"], uncertainty={"method": "auto"}
    ).metrics
    scores, _ = each(rows)
    assert found["method"].to_list() == ["t", "wilson"]
    assert found["std_error"][0] == pytest.approx(scores.std(ddof=1) / np.sqrt(rows.height), rel=1e-9)


def test_of_two_classes_it_is_the_brier_score() -> None:
    rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]}).with_columns(q=1 - pl.col("p"))
    models: Any = {"m": {"proba": {"0": "q", "1": "p"}}}
    found = (
        plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["rps"])
        .metrics["value"]
        .item()
    )
    assert found == pytest.approx(
        plm.evaluate(rows, label="y", models="p", metrics=["brier"]).metrics["value"].item()
    )


def test_the_order_of_classes_is_that_of_the_suite() -> None:
    """A certain call two places off costs more than one beside the class; in another order it does not."""
    rows = pl.DataFrame({"y": ["low"], "p_low": [0.0], "p_mid": [0.0], "p_high": [1.0]})
    models: Any = {"m": {"proba": {name: f"p_{name}" for name in CLASSES[:3]}}}
    for classes, expected in ((["low", "mid", "high"], [1.0, 0.0]), (["mid", "low", "high"], [0.5, 1.0])):
        found = plm.evaluate(
            rows,
            task="multiclass",
            label="y",
            models=models,
            classes=classes,
            metrics=["rps", "adjacent_accuracy"],
        ).metrics
        assert found["value"].to_list() == expected
