"""Shares and areas at an end of their range, held against those of other rows: tables where nothing differs."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm
from plmetrics.catalogue.needs import ValueKind
from plmetrics.inference.intervals.closed_forms import (
    hidden_error,
    plausible_end,
    plausible_replicates,
    wilson,
)

TABLES = 60 if THOROUGH else 30
LARGE, SMALL, SHARE = 1000, 12, 0.9
ASKED: dict[str, Any] = {"uncertainty": {"replicates": 200}}


def rows(seed: int, sizes: tuple[int, ...] = (LARGE, SMALL), hits: int | None = None) -> pl.DataFrame:
    """Groups of equal rates of calls; the last one with so many hits, if given."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    called = rng.random(len(group)) < SHARE
    if hits is not None:
        called[-sizes[-1] :] = np.arange(sizes[-1]) < hits
    score = np.where(called, 0.9, 0.1)
    return pl.DataFrame({"y": np.arange(len(group)) % 2, "p": score, "g": group})


def compared(frame: pl.DataFrame, **keywords: Any) -> pl.DataFrame:
    asked = {"label": "y", "models": "p", "metrics": ["selection_rate"]} | ASKED | keywords
    return plm.evaluate(frame, **asked).comparisons


@pytest.mark.slow
def test_equal_slices_are_told_apart_no_more_often_than_promised() -> None:
    """Before a share of 1 was taken as certain: in a quarter of such tables."""
    asked: dict[str, Any] = {
        "slices": ["g"],
        "compare": {"slices": {"g": "rest"}, "scales": ["difference", "ratio"]},
    }
    found = pl.concat([compared(rows(seed), **asked) for seed in range(TABLES)])
    wrong = found.group_by("scale").agg((pl.col("p_value") < 0.05).mean())["p_value"].to_numpy()
    assert found["p_value"].null_count() == 0
    assert wrong.max() <= 0.05 + 3 * (0.05 * 0.95 / TABLES) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["difference", "ratio"])
def test_gaps_of_equal_groups_reach_0(kind: str) -> None:
    metric = f"disparity(selection_rate, by=g, kind={kind}, min_share=0)"
    gaps = [
        plm.evaluate(rows(seed), label="y", models="p", metrics=[metric], slices=["g"], **ASKED).metrics
        for seed in range(TABLES)
    ]
    found = pl.concat(gaps).filter(interval_status="ok")
    misses = (found["lower"] > 0) if kind == "difference" else (found["upper"] < 1)
    assert found.height > 0.8 * TABLES
    assert misses.mean() <= 0.025 + 3 * (0.025 * 0.975 / TABLES) ** 0.5


def test_ten_hits_of_ten_are_as_sure_as_their_interval() -> None:
    found = compared(rows(0, (LARGE, 10), hits=10), slices=["g"], compare={"slices": {"g": "rest"}})
    row: dict[str, Any] = found.filter(slice="g=1").to_dicts()[0]
    lower, _ = wilson(np.array([1.0]), np.array([10.0]), 0.95)
    assert row["upper"] - row["difference"] == pytest.approx(1 - lower.item(), rel=0.02)
    assert row["lower"] < 0 < row["upper"]
    assert row["p_value"] > 0.05


def perfect_slice(size: int = 8) -> pl.DataFrame:
    """A slice whose rows are all right beside one with errors."""
    rng = np.random.default_rng(4)
    label = np.arange(100 + size) % 2
    wrong = (rng.random(len(label)) < 0.2) & (np.arange(len(label)) < 100)
    score = np.where(wrong, 1 - label, label) * 0.8 + rng.random(len(label)) * 0.1
    return pl.DataFrame({"y": label, "p": score, "g": ["a"] * 100 + ["b"] * size})


@pytest.mark.exhaustive
@pytest.mark.parametrize("scale", ["difference", "ratio"])
@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_a_value_that_no_replicate_moves_is_not_held_against_other_rows(scale: str, method: str) -> None:
    """Without an interval nothing says how sure it is; shares, functions of rates and ROC areas have one."""
    found = compared(
        perfect_slice(),
        metrics=["average_precision", "pr_auc", "accuracy", "mcc", "cohen_kappa"],
        slices=["g"],
        compare={"slices": {"g": ["rest", "all"]}, "scales": [scale]},
        uncertainty={"replicates": 200, "method": method},
    )
    unknown = pl.col("metric").is_in(["average_precision", "pr_auc"])
    assert set(found.filter(~unknown)["interval_status"]) == {"ok"}
    assert found.filter(~unknown, slice="g=b")["p_value"].min() > 0.05
    others = found.filter(unknown, slice="g=b")
    assert others.height == 4
    assert set(others["interval_status"]) == {"degenerate"}
    assert set(others["status"]) == {"ok"}
    assert others["p_value"].null_count() == others["lower"].null_count() == others.height
    assert others["difference"].null_count() == 0


def test_a_gate_on_a_value_that_no_replicate_moves_is_inconclusive() -> None:
    gate = {
        "metric": "average_precision",
        "slices": "g",
        "against": {"slice": "rest"},
        "better_than": 0.0,
        "using": "interval",
    }
    asked: dict[str, Any] = {"slices": ["g"], "compare": {"slices": {"g": "rest"}}} | ASKED
    asked["metrics"] = ["average_precision"]
    made = plm.evaluate(perfect_slice(), label="y", models="p", gates=[gate], **asked).gates
    assert made.filter(slice="g=b")["verdict"].to_list() == ["inconclusive"]


@pytest.mark.parametrize("kind", ["difference", "ratio"])
def test_a_gap_to_a_value_that_no_replicate_moves_has_no_interval(kind: str) -> None:
    """A gap is as sure as its groups; areas of 1 and 0.6 were always told apart."""
    metrics = [f"disparity({name}, by=g, kind={kind})" for name in ("accuracy", "average_precision", "mcc")]
    asked: dict[str, Any] = {"slices": ["g"], "metrics": metrics} | ASKED
    made = plm.evaluate(perfect_slice(), label="y", models="p", **asked).metrics.sort("metric")
    assert made["interval_status"].to_list() == ["ok", "undefined_replicates", "ok"]
    assert made["lower" if kind == "difference" else "upper"][-1] == float(kind == "ratio")
    assert made["value"].null_count() == 0


@pytest.mark.slow
def test_equal_slices_of_few_rows_are_told_apart_no_more_often_than_promised() -> None:
    """Before in 14 % of the tests of average precision, 16 % of those of KS, and each F1 of 1."""
    rng = np.random.default_rng(8)
    metrics, found = ["f1", "mcc", "average_precision", "ks"], []
    for _ in range(TABLES):
        label = rng.integers(0, 2, 200)
        score = 1 / (1 + np.exp(-2 * (rng.normal(size=200) + 2 * label - 1)))
        frame = pl.DataFrame({"y": label, "p": score, "g": np.arange(200) // 20})
        made = compared(frame, metrics=metrics, slices=["g"], compare={"slices": {"g": "rest"}})
        found.append(made.group_by("metric").agg((pl.col("p_value") < 0.05).mean()))
    wrong = pl.concat(found).group_by("metric").agg(pl.col("p_value").mean())
    assert wrong["p_value"].to_numpy().max() <= 0.05 + 3 * (0.05 * 0.95 / (10 * TABLES)) ** 0.5


def test_shares_at_both_ends_differ() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 50, "p": [0.9] * 50 + [0.1] * 50, "g": ["a"] * 50 + ["b"] * 50})
    found = compared(frame, slices=["g"], compare={"slices": {"g": "rest"}})
    assert found["difference"].to_list() == [1.0, -1.0]
    assert found.filter(pl.col("p_value") < 1e-6).height == 2


def test_precision_of_a_few_calls_is_no_proof() -> None:
    """Both models are right in nine of ten calls, one of them called eight rows."""
    calls = 300
    right = [place % 10 != 0 for place in range(calls)]
    frame = pl.DataFrame(
        {
            "y": [*right, *[True] * 8, *[False] * 200],
            "many": [*[1.0] * calls, *[0.0] * 208],
            "few": [*[0.0] * calls, *[1.0] * 8, *[0.0] * 200],
        }
    )
    found = compared(frame, models=["few", "many"], metrics=["precision", "accuracy"], compare="many")
    few = found.filter(metric="precision")
    assert few["difference"].item() == pytest.approx(0.1)
    assert few["p_value"].item() > 0.3


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", ["precision", "false_discovery_rate"])
@pytest.mark.parametrize("hits", [7, 10])
def test_equally_many_calls_of_other_rows_are_not_the_same_rows(metric: str, hits: int) -> None:
    """Ten hits of ten calls against some of ten others, by Wilson's interval and Student's t."""
    label = [*[True] * 10, *[True] * hits, *[False] * (10 - hits), *[False] * 40]
    scores = {"a": [1.0] * 10 + [0.0] * 50, "b": [0.0] * 10 + [1.0] * 10 + [0.0] * 40}
    frame = pl.DataFrame({"y": label, **scores}).with_columns(pl.col("a", "b") + pl.int_range(60) * 1e-4)
    asked: dict[str, Any] = {"models": ["a", "b"], "metrics": [metric], "compare": "b"}
    found = compared(frame, **asked, uncertainty={"replicates": 2000}).row(0, named=True)
    reach = 1 - wilson(np.array([1.0]), np.array([10.0]), 0.95)[0].item()
    share = hits / 10
    spread = stats.t.ppf(0.975, 9) * (share * (1 - share) / 9) ** 0.5
    half = np.hypot(reach, spread if hits < 10 else reach)
    assert abs(found["difference"]) == pytest.approx(1 - share)
    assert (found["upper"] - found["lower"]) / 2 == pytest.approx(half, rel=0.1)


def test_positives_are_the_same_rows_for_each_model() -> None:
    """Recall of 1 against 0.8: replicates show the rows that one model misses."""
    frame = pl.DataFrame(
        {"y": [1] * 50 + [0] * 50, "a": [0.9] * 50 + [0.1] * 50, "w": np.arange(100) % 3 + 0.1}
    )
    frame = frame.with_columns(b=pl.when(pl.int_range(100) < 10).then(0.2).otherwise("a"))
    asked: dict[str, Any] = {"models": ["a", "b"], "metrics": ["recall", "accuracy"], "compare": "b"}
    found = compared(frame, **asked, uncertainty={"replicates": 2000}).sort("metric")
    error = [(share * (1 - share) / rows) ** 0.5 for share, rows in ((0.1, 100), (0.2, 50))]
    assert found["std_error"].to_list() == pytest.approx(error, rel=0.1)
    weighted = compared(frame, **asked, weight="w").sort("metric")
    assert weighted["std_error"].to_numpy() == pytest.approx(error, rel=0.5)


@pytest.mark.parametrize("keep", [True, False])
def test_runs_are_as_sure_as_slices(keep: bool) -> None:
    few, many = rows(1, (10,), hits=10), rows(2, (LARGE,))
    asked = ASKED["uncertainty"] | {"keep": keep}
    found = compared(few, compare={"run": compared_run(many, asked)}, uncertainty=asked)
    assert found["p_value"].item() > 0.2
    same = compared(few, compare={"run": compared_run(few, asked)}, uncertainty=asked)
    assert same["difference"].item() == 0


def compared_run(frame: pl.DataFrame, asked: Any) -> plm.Result:
    return plm.evaluate(frame, label="y", models="p", metrics=["selection_rate"], uncertainty=asked)


def test_gaps_to_a_share_of_1_reach_as_far_as_it_may_be() -> None:
    """Three hits of three may be half: the gap may be larger than that of the shares, too."""
    metric = "disparity(selection_rate, by=g, min_share=0)"
    frame = rows(3, (LARGE, 4), hits=4)
    found = plm.evaluate(frame, label="y", models="p", metrics=[metric], slices=["g"], **ASKED).metrics
    assert found["lower"].item() == 0
    assert found["upper"].item() > 0.25


@pytest.mark.parametrize(
    ("name", "bounds"), [("roc_area", (0.0, 1.0)), ("roc_area", (-1.0, 1.0)), ("proportion", (0.0, 1.0))]
)
def test_ends_are_inside_the_range(name: Any, bounds: tuple[float, float]) -> None:
    value = np.array([bounds[0], 0.3, bounds[1], np.nan])
    ends = plausible_end(value, (np.full(4, 6.0), np.full(4, 9.0)), ValueKind(name, bounds), 0.9)
    assert ends is not None
    assert bounds[0] < ends[2] < ends[2] + 1e-3 < bounds[1]
    assert ends[1] == 0.3
    drawn = plausible_replicates(np.tile(value, (500, 1)), value, ends, 0.9)
    assert np.nanmin(drawn) >= bounds[0]
    assert np.nanmax(drawn) <= bounds[1]
    assert set(drawn[:, 1]) == {0.3}
    assert np.mean(drawn[:, 2] < ends[2]) == pytest.approx(0.05, abs=0.03)


def test_there_is_nothing_hidden_inside_the_range() -> None:
    inside = np.array([0.2, 0.8])
    assert plausible_end(inside, (np.full(2, 9.0),), ValueKind("other", (0.0, 1.0)), 0.95) is None
    assert hidden_error((None, np.zeros(2)), np.array([1, 9]), 0.95).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_a_formula_of_a_share_of_1_stands_beside_models_without_one(method: str) -> None:
    """Formulas of some models hide something, of others nothing: each is compared as it is by itself."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 200)
    scores = {"a": rng.random(200), "b": rng.random(200), "c": np.where(label == 1, 0.9, rng.random(200))}
    frame = pl.DataFrame({"y": label, **scores})
    asked: dict[str, Any] = {
        "metrics": [{"name": "both", "formula": "COALESCE(precision, 0) + 2 * recall"}],
        "uncertainty": {"method": method} | ({"replicates": 100} if method == "bootstrap" else {}),
        "compare": {"baseline": "a", "correction": "none"},
    }
    together = compared(frame, models={name: name for name in "abc"}, **asked)
    apart = pl.concat([compared(frame, models={"a": "a", name: name}, **asked) for name in "bc"])
    columns = ["model", "difference", "lower", "upper", "p_value"]
    assert_frame_equal(together.select(columns), apart.select(columns), rel_tol=1e-9)
