"""Every stage that reads labels reads the labelled rows: what it gives is that of a table without the others."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.catalogue.metric import leaves
from plmetrics.engine.binding.bind import bind
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

ROWS = 2400


def table(seed: int = 4) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    score = generator.random(ROWS)
    frame = pl.DataFrame(
        {
            "p": score,
            "q": np.clip(score + generator.normal(0, 0.2, ROWS), 0, 1),
            "y": (generator.random(ROWS) < score).astype(int),
            "u": np.arange(ROWS) % 80,
            "f": np.arange(ROWS) % 3,
            "split": generator.choice(["fit", "test"], ROWS),
            "g": generator.choice(["a", "b"], ROWS),
            "z": generator.normal(0, 1, ROWS) + 1e6,
        }
    )
    return frame.with_columns(y=pl.when(pl.Series(generator.random(ROWS) < 0.3 + 0.5 * score)).then("y"))


SUITES: dict[str, dict[str, Any]] = {
    "thresholds": {"metrics": ["precision(threshold=max(f1))", "recall(threshold=at(fpr=0.1))"]},
    "thresholds elsewhere": {
        "metrics": [{"metric": "precision(threshold=max(f1))", "select_on": "split = 'fit'"}],
        "where": "split = 'test'",
    },
    "calibrators": {
        "calibrate": {"method": "platt", "fit_on": "split = 'fit'"},
        "metrics": ["brier", "log_loss"],
    },
    "calibrators by fold": {
        "calibrate": {"method": "isotonic", "fit_on": "fold"},
        "fold": "f",
        "metrics": ["brier"],
    },
    "baseline": {"baseline": True, "metrics": ["brier", "roc_auc"]},
    "curves": {"curves": ["roc", "pr", "reliability", "score_histogram", {"curve": "lift", "slices": ["g"]}]},
    "tests": {
        "compare": {"baseline": "m", "tests": ["mcnemar", "delong", "paired_t", "wilcoxon"]},
        "metrics": ["accuracy", "roc_auc", "brier"],
    },
    "rests": {
        "compare": {"baseline": "m", "slices": {"g": "rest"}, "decompose": ["g"]},
        "metrics": ["brier", "roc_auc", "recall"],
    },
    "delta": {"uncertainty": {"method": "analytic"}, "metrics": ["f1", "brier", "mcc", "accuracy"]},
    "delong": {"uncertainty": {"method": "auto"}, "metrics": ["roc_auc", "precision"]},
    "grid": {"exact": False, "metrics": ["roc_auc", "ks", "ece"]},
    "reproducible": {"reproducible": True, "metrics": ["brier", "log_loss", "roc_auc"]},
    "folds": {"fold": "f", "metrics": ["brier", "roc_auc"]},
    "fairness": {"metrics": ["equalized_odds_difference(by=g)", "calibration_gap(by=g)"]},
    "custom": {
        "metrics": [{"name": "s", "std": "z * label"}, {"name": "m", "mean": "z", "where": "label = 1"}]
    },
}
TABLES = ("metrics", "comparisons", "curves", "decomposition", "folds", "cross_validation")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SUITES)
def test_it_gives_what_it_gives_without_the_others(name: str) -> None:
    frame, asked = table(), {"label": "y", "models": {"m": "p", "o": "q"}, "slices": ["g"], **SUITES[name]}
    late = plm.evaluate(frame, **asked, labels=True)
    complete = plm.evaluate(frame.filter(pl.col("y").is_not_null()), **asked)
    for key in TABLES:
        found, expected = getattr(late, key), getattr(complete, key)
        resampled = SUITES[name].get("uncertainty") or SUITES[name].get("compare")
        loose = [
            c for c in ("lower", "upper", "std_error", "blocks", "undefined_replicates") if c in found.columns
        ]
        if not resampled or name == "delta":
            loose = []
        drop = [*loose, "labelled"]
        assert_frame_equal(found.drop(drop, strict=False), expected.drop(drop, strict=False), abs_tol=1e-9)
    constants = ("thresholds", "calibrators", "baseline")
    for key in constants:
        if key in complete.record["constants"]:
            assert str(late.record["constants"][key]) == str(complete.record["constants"][key])


FREE: dict[str, Any] = {
    "plain": {},
    "delta": {"uncertainty": {"method": "analytic"}},
    "wilson": {"uncertainty": {"method": "auto"}},
    "by unit": {"unit": "u", "uncertainty": True},
    "reproducible": {"reproducible": True},
    "rest": {"compare": {"slices": {"g": "rest"}}, "unit": "u", "uncertainty": True},
    "models": {"compare": "m", "uncertainty": True},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FREE)
def test_what_needs_no_label_is_that_of_all_rows(name: str) -> None:
    metrics: list[Any] = ["selection_rate", "demographic_parity_ratio(by=g)", "n"]
    metrics += [
        {"name": "mean", "mean": "z"},
        {"name": "sd", "std": "z"},
        {"name": "far", "std": "z + 1000000000.0"},
    ]
    asked = {"label": "y", "models": {"m": "p", "o": "q"}, "slices": ["g"], "metrics": metrics, **FREE[name]}
    frame = table()
    late = plm.evaluate(frame, **asked, labels=True)
    filled = plm.evaluate(frame.with_columns(pl.col("y").fill_null(1)), **asked)
    assert_frame_equal(late.metrics.drop("labelled"), filled.metrics, rel_tol=1e-9)
    assert_frame_equal(late.comparisons, filled.comparisons, rel_tol=1e-7)


def test_drift_looks_at_all_rows() -> None:
    frame = table()
    asked: dict[str, Any] = {"label": "y", "models": {"m": "p"}, "metrics": ["brier"]}
    section = {"reference": frame.drop("y").with_columns(y=pl.lit(1)), "columns": ["z"]}
    late = plm.evaluate(frame, **asked, labels=True, drift=section).drift
    filled = plm.evaluate(frame.with_columns(pl.col("y").fill_null(1)), **asked, drift=section).drift
    score = pl.col("subject") != "label"
    assert_frame_equal(late.filter(score), filled.filter(score))
    assert late.filter(score)["n_current"].unique().to_list() == [ROWS]


def test_a_search_for_slices_and_leakage_look_at_labelled_rows() -> None:
    frame = table()
    asked: dict[str, Any] = {
        "label": "y",
        "models": {"m": "p"},
        "metrics": ["brier"],
        "find_slices": {"columns": ["g", "split"], "metric": "brier", "min_rows": 10},
        "leakage": {"attributes": ["z", "g"], "limit": {}},
    }
    late = plm.evaluate(frame, **asked, labels=True)
    complete = plm.evaluate(frame.filter(pl.col("y").is_not_null()), **asked)
    assert late.record["find_slices"]["tested"] == complete.record["find_slices"]["tested"]
    assert_frame_equal(late.leakage, complete.leakage)
    mean = {"name": "low", "mean": "z - 1000000", "direction": "higher"}
    free = {**asked, "metrics": [mean], "find_slices": {**asked["find_slices"], "metric": "low"}}
    late = plm.evaluate(frame, **free, labels=True)
    filled = plm.evaluate(frame.with_columns(pl.col("y").fill_null(1)), **free)
    assert late.record["find_slices"] == filled.record["find_slices"]
    assert_frame_equal(late.found_slices, filled.found_slices)


def test_a_threshold_waits_for_labels() -> None:
    frame = table().with_columns(y=pl.lit(None, dtype=pl.Int64))
    metrics = ["precision(threshold=max(f1))", "selection_rate(threshold=max(f1))", "selection_rate"]
    late = plm.evaluate(
        frame, label="y", models="p", metrics=metrics, labels=True, uncertainty=True, baseline=True
    )
    assert late.metrics.filter(model="p")["status"].to_list() == ["unlabelled", "unreachable", "ok"]


def test_a_bad_score_is_an_error_with_and_without_a_label() -> None:
    frame = table().with_columns(p=pl.when(pl.col("y").is_null()).then(None).otherwise("p"))
    with pytest.raises(plm.DataError, match="column 'p'"):
        plm.evaluate(frame, label="y", models="p", metrics=["brier"], labels=True)
    late = plm.evaluate(
        frame, label="y", models="p", metrics=["brier", "labelled"], labels=True, missing="drop"
    )
    assert late.record["rows"]["unlabelled"] == {"p": 0}
    assert late.record["rows"]["dropped"] == {"p": frame["y"].null_count()}
    assert late.metrics["value"].to_list()[1] == 1.0


def test_no_more_scans_are_made() -> None:
    from architecture.watching import watched

    scans = []
    for frame, labels in ((table().drop_nulls(), None), (table(), True)):
        with watched() as made:
            plm.evaluate(
                frame.lazy(),
                label="y",
                models="p",
                metrics=["brier", "roc_auc", "selection_rate"],
                slices=["g"],
                labels=labels,
            )
        scans.append(sum(each.scans for each in made))
    assert scans[0] == scans[1]


def test_what_needs_labels_is_what_moves_with_them() -> None:
    frame = table().with_columns(pl.col("y").fill_null(0))
    moved = frame.with_columns(y=(pl.col("q") > 0.8).cast(pl.Int64))
    metrics = [
        "n", "prevalence", "selection_rate", "accuracy", "precision", "tp", "f1", "mcc", "roc_auc",
        "ks", "brier", "log_loss", "ece", "calibration_ratio", "max_accuracy", "default_accuracy",
        "demographic_parity_difference(by=g)", "calibration_gap(by=g)", "disparate_impact(by=g, reference=a)",
    ]  # fmt: skip
    values = [
        dict(
            plm.evaluate(rows, label="y", models="p", metrics=metrics, slices=["g"])
            .metrics.filter(pl.col("slice") == "all")
            .select("metric", "value")
            .iter_rows()
        )
        for rows in (frame, moved)
    ]
    suite = suite_from_arguments(frame, label="y", models="p", metrics=metrics, slices=["g"], labels=True)
    free = bind(suite, open_source(frame)).label_free
    unmoved = {name for name in values[0] if values[0][name] == values[1][name]} - {
        "prevalence",
        "default_accuracy",
    }
    found = {metric.text for metric in suite.metrics if {leaf.text for leaf in leaves(metric)} <= free}
    assert found == unmoved
