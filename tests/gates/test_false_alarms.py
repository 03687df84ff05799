"""How often gates decide wrongly: data sets of known truth, each a slice of one table, or a family of 20 slices."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from numpy.typing import NDArray

import plmetrics as plm
from plmetrics.catalogue.needs import ValueKind
from plmetrics.gates.rules import Rule
from plmetrics.gates.simultaneous import widen_intervals
from plmetrics.inference.comparisons.paired_bootstrap import paired_difference
from plmetrics.inference.estimate import Estimate
from plmetrics.inference.weights import draw_weights

pytestmark = pytest.mark.slow

TABLES, REPLICATES = (2000, 1000) if THOROUGH else (250, 300)
FAMILIES, SLICES = (2000, 20) if THOROUGH else (150, 20)
LEVEL = 0.95
SHARE = (1 - LEVEL) / 2
ROWS, HIT = 300, 0.8
GAP = 0.1
METRICS = {"accuracy": GAP, "recall": GAP, "brier": 0.8 * GAP, "f1": None}

Array = NDArray[np.float64]


def at_most(observed: float, expected: float, number: int, slack: float = 0.0) -> bool:
    """Within four standard errors of the simulation."""
    return observed <= expected + slack + 4 * (expected * (1 - expected) / number) ** 0.5


def tables(gap: float, seed: int) -> pl.DataFrame:
    """Two models that are right by chances that differ by `gap`: Brier scores of 0.01 and 0.81."""
    rng = np.random.default_rng(seed)
    size = TABLES * ROWS
    label = rng.integers(0, 2, size)
    columns = {"y": label, "table": np.repeat(np.arange(TABLES), ROWS)}
    for name, chance in (("a", HIT), ("b", HIT - gap)):
        right = rng.random(size) < chance
        columns[name] = np.where(right == (label == 1), 0.9, 0.1)
    return pl.DataFrame(columns)


def shares(
    frame: pl.DataFrame, gates: list[dict[str, Any]], models: dict[str, str]
) -> list[dict[str, float]]:
    """Of each gate the shares of its verdicts over the tables."""
    named = [{"name": str(place), "slices": "table"} | gate for place, gate in enumerate(gates)]
    result = plm.evaluate(
        frame,
        label="y",
        models=models,
        metrics=list(METRICS),
        slices=["table"],
        gates=named,
        uncertainty={"replicates": REPLICATES, "level": LEVEL, "seed": 4},
    )
    found = result.gates.group_by("gate", "verdict").len()
    assert result.gates.height == TABLES * len(gates)
    held = {(gate, verdict): number / TABLES for gate, verdict, number in found.iter_rows()}
    verdicts = ("pass", "fail", "inconclusive")
    return [{name: held.get((str(place), name), 0.0) for name in verdicts} for place in range(len(gates))]


BOTH = {"a": "a", "b": "b"}


def against(metric: str, **rule: Any) -> dict[str, Any]:
    return {"metric": metric, "model": "b", "against": "a", "using": "interval"} | rule


def test_at_the_margin_a_gate_decides_wrongly_no_more_often_than_it_may() -> None:
    margins = [(metric, margin) for metric, margin in METRICS.items() if margin is not None]
    gates = [against(metric, no_worse_than=margin) for metric, margin in margins]
    for found in shares(tables(GAP, seed=1), gates, BOTH):
        assert at_most(found["pass"], SHARE, TABLES, slack=0.01)
        assert at_most(found["fail"], SHARE, TABLES, slack=0.01)
        assert found["inconclusive"] > 0.85


def test_without_a_difference_gates_are_as_sure_as_their_margins_are_wide() -> None:
    error = (2 * HIT * (1 - HIT) / ROWS) ** 0.5
    narrow, wide, better, value = shares(
        tables(0.0, seed=2),
        [
            against("accuracy", no_worse_than=0.5 * error),
            against("accuracy", no_worse_than=4 * error),
            against("accuracy", better_than=0.0),
            {"metric": "accuracy", "model": "a", "using": "interval", "at_least": HIT - 0.001},
        ],
        BOTH,
    )
    assert narrow["inconclusive"] > 0.8
    assert wide["pass"] > 0.9
    assert at_most(wide["fail"], 0.001, TABLES)
    for verdict in ("pass", "fail"):
        assert at_most(better[verdict], SHARE, TABLES, slack=0.01)
        assert at_most(value[verdict], SHARE, TABLES, slack=0.02)


@pytest.mark.parametrize("correction", ["none", "holm", "bonferroni", "benjamini_hochberg"])
def test_equal_models_never_fail(correction: str) -> None:
    rules: list[dict[str, Any]] = [{"no_worse_than": margin} for margin in (0.0, 0.01, "0%")]
    gates = [against(metric, correction=correction, **rule) for metric in METRICS for rule in rules]
    for found in shares(tables(0.0, seed=3), gates, {"a": "a", "b": "a"}):
        assert found["pass"] == 1


def families(truth: float, blocks: int, kind: str) -> pl.DataFrame:
    """Differences in families of slices, each a mean over its own units, with their paired intervals."""
    rng = np.random.default_rng(6)
    shape = (FAMILIES * SLICES, blocks)
    drawn = {
        "normal": lambda: rng.normal(size=shape),
        "skewed": lambda: rng.gamma(3.0, size=shape) - 3.0,
        "coins": lambda: rng.integers(0, 2, shape) - rng.integers(0, 2, shape).astype(np.float64),
    }[kind]()
    weights = draw_weights(np.ones(blocks, dtype=np.int64), 400, seed=5).counts / blocks
    differences = drawn + truth
    zero = np.zeros_like(differences)
    made = paired_difference(
        *(estimate(values, weights) for values in (differences, zero)),
        equal=np.zeros(len(differences), dtype=np.bool_),
        level=LEVEL,
    )
    return pl.DataFrame(
        {
            "observed": made.difference,
            "lower": made.lower,
            "upper": made.upper,
            "std_error": made.std_error,
            "blocks": made.blocks,
            "method": pl.Series(made.method.tolist(), dtype=pl.String),
            "family": np.repeat(np.arange(FAMILIES), SLICES),
        }
    )


def estimate(values: Array, weights: Array) -> Estimate:
    count, blocks = values.shape
    ok = np.full(count, "ok", dtype=object)
    return Estimate(values.mean(axis=1), ok, np.full(count, blocks), weights @ values.T, ())


def share_with(rows: pl.DataFrame, correction: str, verdict: str, limit: float = 0.0) -> float:
    """The share of families in which some slice gets a verdict of a gate at the limit."""
    rule = Rule(limit, None, "a", by_interval=True, correction=correction)
    if correction != "none":
        parts = rows.partition_by("family", maintain_order=True)
        given: dict[str, Any] = {"kind": ValueKind(), "scale": "difference", "level": LEVEL}
        rows = pl.concat([widen_intervals(part, limit, correction, **given) for part in parts])
    judged = rows.with_columns(verdict=rule.verdict())
    return float(judged.group_by("family").agg((pl.col("verdict") == verdict).any())["verdict"].mean() or 0)


@pytest.mark.parametrize(
    ("kind", "blocks"), [("normal", 25), ("normal", 150), ("coins", 150), ("skewed", 150)]
)
def test_over_20_slices_corrected_gates_keep_the_error_of_one(kind: str, blocks: int) -> None:
    rows = families(0.0, blocks, kind)
    alone = 1 - (1 - SHARE) ** SLICES
    slack = 0.03 if kind == "skewed" else 0.01
    for verdict in ("pass", "fail"):
        for correction in ("holm", "bonferroni", "benjamini_hochberg"):
            found = share_with(rows, correction, verdict)
            assert at_most(found, SHARE, FAMILIES, slack=slack), (correction, verdict, found)
        uncorrected = share_with(rows, "none", verdict)
        assert not at_most(uncorrected, SHARE, FAMILIES, slack=slack)
        assert abs(uncorrected - alone) < 0.1 + 4 * (alone * (1 - alone) / FAMILIES) ** 0.5


def test_corrected_gates_still_find_what_is_far_from_the_limit() -> None:
    rows = families(0.0, 100, "normal")
    for correction in ("holm", "bonferroni", "benjamini_hochberg"):
        assert share_with(rows, correction, "fail", limit=0.5) > 0.99
        assert share_with(rows, correction, "pass", limit=-0.5) > 0.99
