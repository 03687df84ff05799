"""Readings of comparisons, against plain words of the rules and against the numbers of whole runs."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.core.results import COMPARISONS_SCHEMA
from plmetrics.inference.comparisons.readings import with_readings
from plmetrics.suite.model import Suite
from plmetrics.suite.reader import suite_from_mapping

USUAL = {
    "contrast": "model",
    "scale": "difference",
    "model": "new",
    "baseline": "old",
    "slice_set": "overall",
    "metric": "m",
    "difference": 0.1,
    "lower": 0.0,
    "upper": 0.2,
    "p_value": 0.001,
    "p_adjusted": 0.01,
}


def of_sets(suite: Suite) -> list[Any]:
    """Gates with the slice sets that they name."""
    return [(gate, gate.sets_among(("overall", "g", "h"))) for gate in suite.gates]


def read(changes: dict[str, Any], direction: str, **options: Any) -> str | None:
    row = {name: (USUAL | changes).get(name) for name in COMPARISONS_SCHEMA}
    frame = pl.DataFrame([row], schema=COMPARISONS_SCHEMA)
    word: str | None = with_readings(frame, {row["metric"]: direction}, **options)["reading"].item()
    return word


@pytest.mark.parametrize(
    ("changes", "direction", "word"),
    [
        ({"difference": 0.1}, "higher", "better"),
        ({"difference": 0.1}, "lower", "worse"),
        ({"difference": -0.1}, "lower", "better"),
        ({"difference": -0.1}, "higher", "worse"),
        ({"difference": -0.1}, "none", "lower"),
        ({"difference": 0.1}, "none", "higher"),
        ({"difference": 0.1, "note": None}, "zero", "higher"),
        ({"difference": -0.1, "note": "independent samples"}, "zero", "lower"),
        ({"difference": 0.1, "note": "independent samples; nearer to 0"}, "zero", "better"),
        ({"difference": 0.1, "note": "farther from 0"}, "zero", "worse"),
        ({"difference": 0.1, "note": "nearer to 0", "p_adjusted": 0.1}, "zero", "unclear"),
        ({"difference": 0.1, "note": "farther from 0"}, "higher", "better"),
        ({"p_adjusted": 0.0501}, "higher", "unclear"),
        ({"p_adjusted": None, "p_value": 0.2}, "higher", "unclear"),
        ({"p_adjusted": None, "p_value": None}, "higher", None),
        ({"difference": 0.0, "lower": 0.0, "upper": 0.0, "p_adjusted": 1.0}, "higher", "equal"),
        (
            {"scale": "ratio", "difference": 1.0, "lower": 1.0, "upper": 1.0, "p_adjusted": 1.0},
            "none",
            "equal",
        ),
        ({"difference": None}, "higher", None),
        ({"scale": "ratio", "difference": 0.9}, "higher", "worse"),
        ({"scale": "ratio", "difference": 1.1}, "higher", "better"),
        ({"scale": "relative_change", "difference": 0.1}, "lower", "worse"),
        ({"scale": "statistic", "difference": 7.0}, "higher", None),
        ({"scale": "mean_rank", "difference": -1.0}, "higher", "better"),
        ({"scale": "mean_rank", "difference": 1.0}, "higher", "worse"),
    ],
)
def test_words(changes: dict[str, Any], direction: str, word: str | None) -> None:
    assert read(changes, direction) == word


def test_the_level_is_that_of_the_suite() -> None:
    assert [read({"p_adjusted": 0.06}, "higher", level=level) for level in (None, 0.95, 0.9)] == [
        "unclear",
        "unclear",
        "better",
    ]


GATES = [
    {"metric": "roc_auc", "model": "new", "against": "old", "no_worse_than": 0.02},
    {"metric": "roc_auc", "against": "old", "no_worse_than": 0.05, "slices": ["g"]},
    {"metric": "log_loss", "against": "old", "no_worse_than": "3%"},
    {"metric": "roc_auc", "at_least": 0.1},
]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"lower": -0.01, "upper": 0.015}, "equivalent"),
        ({"lower": -0.01, "upper": 0.02}, "unclear"),
        ({"lower": -0.02, "upper": 0.01}, "unclear"),
        ({"lower": None, "upper": None}, "unclear"),
        ({"lower": -0.01, "upper": 0.015, "model": "newer"}, "unclear"),
        ({"lower": -0.01, "upper": 0.015, "baseline": "oldest"}, "unclear"),
        ({"lower": -0.01, "upper": 0.015, "contrast": "run"}, "unclear"),
        ({"lower": -0.01, "upper": 0.015, "scale": "relative_change"}, "unclear"),
        ({"lower": -0.01, "upper": 0.015, "p_adjusted": 0.01}, "better"),
        ({"lower": -0.04, "upper": 0.04, "slice_set": "g"}, "equivalent"),
        ({"lower": -0.01, "upper": 0.01, "slice_set": "h"}, "unclear"),
        ({"metric": "log_loss", "scale": "relative_change", "lower": -0.02, "upper": 0.02}, "equivalent"),
        ({"metric": "log_loss", "scale": "difference", "lower": -0.02, "upper": 0.02}, "unclear"),
    ],
)
def test_equivalence_needs_a_margin_and_all_of_the_interval(changes: dict[str, Any], word: str) -> None:
    suite = suite_from_mapping(
        {
            "columns": {"label": "y"},
            "models": {"old": "p", "new": "q"},
            "metrics": ["roc_auc", "log_loss"],
            "slices": {"g": "g", "h": "h"},
            "compare": {"baseline": "old", "scales": ["difference", "relative_change"]},
            "uncertainty": {},
            "gates": GATES,
        }
    )
    usual = {"metric": "roc_auc", "difference": 0.001, "p_adjusted": 0.5}
    assert read(usual | changes, "higher", gates=of_sets(suite)) == word


def test_many_margins_make_no_longer_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    with_columns = pl.DataFrame.with_columns

    def measured(frame: pl.DataFrame, *arguments: Any, **named: Any) -> pl.DataFrame:
        sizes[-1] += sum(str(expression).count("col(") for expression in named.values())
        return with_columns(frame, *arguments, **named)

    rows = [USUAL | {"model": f"m{n}", "lower": -0.01, "upper": 0.01, "p_adjusted": 0.5} for n in range(40)]
    comparisons = pl.DataFrame([{name: row.get(name) for name in COMPARISONS_SCHEMA} for row in rows])
    comparisons = comparisons.cast(dict(COMPARISONS_SCHEMA))
    for gates in (2, 40):
        suite = suite_from_mapping(
            {
                "columns": {"label": "y"},
                "models": {"old": "o"} | {f"m{n}": f"p{n}" for n in range(40)},
                "metrics": [{"name": "m", "mean": "score", "direction": "higher"}],
                "compare": "old",
                "gates": [
                    {"metric": "m", "model": f"m{n}", "against": "old", "no_worse_than": 0.02 - n % 2 * 0.01}
                    for n in range(gates)
                ],
            }
        )
        sizes.append(0)
        with monkeypatch.context() as patch:
            patch.setattr(pl.DataFrame, "with_columns", measured)
            readings = with_readings(comparisons, {}, gates=of_sets(suite))["reading"].to_list()
        assert readings == ["equivalent" if n < gates and n % 2 == 0 else "unclear" for n in range(40)]
    assert 0 < sizes[0] == sizes[1]


def frame() -> pl.DataFrame:
    noise = np.random.default_rng(5).normal(size=(4, 3000))
    truth = noise[0] > 0
    scores = {
        "old": noise[0] + 2 * noise[1],
        "new": noise[0] + 1.2 * noise[2],
        "same": noise[0] + 2 * noise[1],
    }
    probabilities = {name: stats.norm.cdf(values) for name, values in scores.items()}
    return pl.DataFrame({"y": truth, **probabilities})


def test_a_whole_run_reads_as_its_numbers_do() -> None:
    result = plm.evaluate(
        frame(),
        label="y",
        models=["old", "new", "same"],
        metrics=["roc_auc", "log_loss", "selection_rate"],
        uncertainty={"replicates": 200},
        compare={"baseline": "old", "tests": ["delong", "paired_t"], "correction": "bonferroni"},
    )
    words = {
        (row["model"], row["metric"]): row["reading"]
        for row in result.comparisons.filter(
            pl.col("test").str.starts_with("paired_delta") | (pl.col("test") == "paired_bootstrap")
        ).rows(named=True)
    }
    assert words["new", "roc_auc"] == words["new", "log_loss"] == "better"
    assert {word for (model, _), word in words.items() if model == "same"} == {"equal"}
    for row in result.comparisons.filter(pl.col("p_value").is_not_null()).rows(named=True):
        if row["statistic"] is None:
            assert row["model"] == "same"
            continue
        assert np.sign(row["statistic"]) == np.sign(row["difference"])
        if row["test"] in {"delong", "paired_t"}:
            p = (
                2 * stats.norm.sf(abs(row["statistic"]))
                if row["test"] == "delong"
                else (2 * stats.t.sf(abs(row["statistic"]), row["n"] - 1))
            )
            assert row["p_value"] == pytest.approx(p, rel=1e-9)
        half = (row["upper"] - row["lower"]) / 2
        assert (abs(row["statistic"]) > 1.9) == (abs(row["difference"]) > half * 0.95)


def test_the_statistic_of_a_paired_comparison_is_its_t() -> None:
    result = plm.evaluate(
        frame().head(50),
        label="y",
        models=["old", "new"],
        metrics=["log_loss"],
        uncertainty={"replicates": 400},
        compare={"baseline": "old", "scales": ["difference", "ratio"]},
    )
    difference, ratio = result.comparisons.rows(named=True)
    assert difference["p_value"] == pytest.approx(2 * stats.t.sf(abs(difference["statistic"]), 49), rel=1e-6)
    assert difference["difference"] / difference["statistic"] == pytest.approx(
        difference["std_error"], rel=0.02
    )
    assert ratio["p_value"] == pytest.approx(2 * stats.t.sf(abs(ratio["statistic"]), 49), rel=1e-6)
    assert np.sign(ratio["statistic"]) == np.sign(ratio["difference"] - 1)


@pytest.mark.parametrize(
    "gate",
    [
        {"metric": "disparity(brier, by=g)"},
        {"metric": "brier", "between": "g"},
        {"metric": "mean_of_g"},
        {"metric": "mean_of_g", "slices": "all"},
    ],
)
def test_margins_of_metrics_across_slices_make_them_equivalent(gate: dict[str, Any]) -> None:
    noise = pl.lit(pl.Series(np.random.default_rng(6).normal(scale=0.001, size=3000)))
    rows = frame().with_columns(g=pl.int_range(pl.len()) % 3, near=(pl.col("old") + noise).clip(0.001, 0.999))
    rows = rows.with_columns(pl.col("old").clip(0.001, 0.999))
    over = {"name": "mean_of_g", "over": {"slice_set": "g", "metric": "brier"}}
    result = plm.evaluate(
        rows,
        label="y",
        models=["old", "near"],
        metrics=["brier", "disparity(brier, by=g)", over],
        slices={"g": "g"},
        uncertainty={"replicates": 200},
        compare="old",
        gates=[{**gate, "against": "old", "no_worse_than": 0.2}],
    )
    (metric,) = result.gates["metric"].unique()
    row = result.comparisons.filter(metric=metric, slice_set="g", slice="all").row(0, named=True)
    assert -0.2 < row["lower"] < row["upper"] < 0.2
    assert row["p_adjusted"] > 0.05
    assert row["reading"] == "equivalent"


def test_margins_are_those_of_the_slice_that_a_gate_names() -> None:
    rows = frame().with_columns(g=pl.int_range(pl.len()) % 3)
    result = plm.evaluate(
        rows,
        label="y",
        models="old",
        metrics=["brier"],
        slices={"g": "g"},
        uncertainty={"replicates": 200},
        compare={"slices": {"g": ["all", "g=0"]}, "correction": "none"},
        gates=[{"metric": "brier", "slices": "g", "against": {"slice": "all"}, "no_worse_than": 0.2}],
    )
    words = result.comparisons.filter(pl.col("p_value") > 0.05).select("baseline", "reading").unique()
    assert dict(words.iter_rows()) == {"all": "equivalent", "g=0": "unclear"}
