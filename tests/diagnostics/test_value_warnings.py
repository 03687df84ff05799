"""Warnings by values: they come where noise does not explain a value, once a model, and not otherwise."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

RNG = np.random.default_rng(2)
N = 2000
LABEL = (RNG.random(N) < 0.3).astype(int)
SIGNAL = LABEL + RNG.normal(0, 1, N)
FRAME = pl.DataFrame(
    {
        "y": LABEL,
        "good": 1 / (1 + np.exp(-SIGNAL)),
        "turned": 1 / (1 + np.exp(SIGNAL)),
        "noise": RNG.random(N),
        "amount": SIGNAL * 3 + 10,
        "off": SIGNAL * 3 + 40,
        "rare": np.where(LABEL == 1, RNG.random(N) < 0.1, RNG.random(N) < 0.9),
    }
)


def warnings_of(frame: pl.DataFrame = FRAME, **options: Any) -> list[str]:
    return list(plm.evaluate(frame, **options).warnings)


@pytest.mark.parametrize("uncertainty", [None, True])
def test_an_area_below_chance_is_told(uncertainty: Any) -> None:
    models = ["good", "turned", "noise"]
    (text,) = warnings_of(label="y", models=models, metrics=["roc_auc", "recall"], uncertainty=uncertainty)
    assert text.startswith("model 'turned': roc_auc 0.")
    assert "which class scores are of" in text


@pytest.mark.exhaustive
@pytest.mark.parametrize("uncertainty", [None, True])
@pytest.mark.parametrize("away", [0.0, 0.01])
def test_the_prevalence_for_all_rows_is_no_worse_than_nothing(uncertainty: Any, away: float) -> None:
    """The skill of a constant is 0 up to rounding, or that of another sample's prevalence."""
    constant = FRAME.with_columns(p=pl.lit(LABEL.mean() + away))
    assert (
        warnings_of(constant, label="y", models="p", metrics=["brier_skill"], uncertainty=uncertainty) == []
    )
    wrong = FRAME.with_columns(p=pl.lit(0.5))
    (text,) = warnings_of(wrong, label="y", models="p", metrics=["brier_skill"], uncertainty=uncertainty)
    assert text.startswith("model 'p': brier_skill -0.")


def test_a_few_rows_are_no_evidence() -> None:
    rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.1, 0.9, 0.2, 0.8], "q": [1.0, 5.0, 2.0, 0.0]})
    assert warnings_of(rows, label="y", models="p", metrics=["roc_auc"]) == []
    assert warnings_of(rows, label="y", models="p", metrics=["r2"], task="regression") == []


@pytest.mark.parametrize("uncertainty", [None, True])
def test_what_a_constant_does_better_is_told_once(uncertainty: Any) -> None:
    options = {"label": "amount", "task": "regression", "uncertainty": uncertainty}
    metrics = ["r2", "rmse_skill", "rmse", "mae"]
    (text,) = warnings_of(models=["off"], metrics=metrics, **options)
    assert text.startswith("model 'off': r2 -")
    texts = warnings_of(models=["off"], metrics=["rmse", "mae"], baseline=True, **options)
    assert len(texts) == 1
    assert "worse than the baseline" in texts[0]
    assert "rmse 30" in texts[0]
    assert "mae 30" in texts[0]


def test_areas_of_slices_of_other_prevalence_do_not_compare() -> None:
    metrics = ["average_precision", "prevalence"]
    options = {"label": "y", "models": "good", "metrics": metrics}
    (text,) = warnings_of(slices=["rare"], **options)
    assert "prevalence runs from" in text
    assert warnings_of(**options) == []
    assert warnings_of(slices={"noise": {"column": "noise", "quantiles": 3}}, **options) == []
    models = {"good": "good", "rarely": {"score": "good", "label": "seldom"}}
    seldom = FRAME.with_columns(
        seldom=pl.when(pl.int_range(N) % 7 == 0).then("y").otherwise(0), half=pl.int_range(N) % 2
    )
    texts = warnings_of(seldom, **options | {"models": models, "slices": ["half"]})
    assert not [text for text in texts if "prevalence runs from" in text]


def test_merged_states_say_what_a_run_says() -> None:
    call = {"label": "y", "models": ["good", "turned"], "metrics": ["roc_auc"]}
    (of_run,) = warnings_of(**call)
    merged = plm.merge(plm.state(FRAME, **call)).warnings
    told = [text for text in merged if text.startswith("model")]
    assert [text[:24] for text in told] == [of_run[:24]] == ["model 'turned': roc_auc "]


def test_percentile_p_values_are_too_coarse_where_slices_make_a_large_family() -> None:
    """The least p value of R replicates is 2 / (R + 1): of 39 replicates 0.05, which a correction for 3 makes 0.15."""
    frame = FRAME.with_columns(part=pl.int_range(N) % 3, row=pl.int_range(N))
    compare = {"baseline": "good", "p_value": "percentile"}
    options = {"label": "y", "models": ["good", "noise"], "metrics": ["accuracy"], "unit": "row"}
    options |= {"compare": compare}
    (text,) = warnings_of(frame, **options, slices=["part"], uncertainty={"replicates": 60})
    assert "60 replicates are too coarse for the 3 of the family 'accuracy / part'" in text
    assert warnings_of(frame, **options, slices=["part"], uncertainty={"replicates": 120}) == []
    assert warnings_of(frame, **options, uncertainty={"replicates": 60}) == []
    merged = plm.merge(plm.state(frame, **options, slices=["part"], uncertainty={"replicates": 60}))
    assert text in merged.warnings


def test_metrics_are_one_family_of_percentile_p_values_where_the_suite_is() -> None:
    compare = {"baseline": "good", "p_value": "percentile"}
    metrics = ["accuracy", "recall", "precision"]
    options = {
        "label": "y",
        "models": ["good", "noise"],
        "metrics": metrics,
        "uncertainty": {"replicates": 60},
    }
    assert warnings_of(compare=compare, **options) == []
    with pytest.raises(plm.ConfigError, match="60 replicates are too coarse for 3 at once"):
        warnings_of(compare=compare | {"family": "suite"}, **options)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "asked",
    [
        {"compare": "good"},
        {"gates": [{"metric": "brier", "model": "noise", "against": "good", "no_worse_than": 1}]},
        {"metrics": ["relative(mae, to=good)"], "task": "regression"},
        {"metrics": [{"name": "owa", "formula": "relative(mae, to=good) / 2"}], "task": "regression"},
    ],
)
def test_models_that_are_compared_on_other_rows_are_told(asked: dict[str, Any]) -> None:
    def held(rows: int) -> pl.DataFrame:
        return FRAME.with_columns(noise=pl.when(pl.int_range(N) < rows).then("noise"))

    options: dict[str, Any] = {"label": "y", "models": ["good", "noise"], "metrics": ["brier"]} | asked
    (text,) = warnings_of(held(1000), missing="drop_per_model", **options)
    assert text.startswith("models 'noise' and 'good' are compared on different rows, 1,000 and 2,000: ")
    assert text.endswith('missing="drop" keeps those that all models have')
    assert warnings_of(held(1000), missing="drop", **options) == []
    assert warnings_of(held(1990), missing="drop_per_model", **options) == []


def test_models_side_by_side_may_have_other_rows() -> None:
    frame = FRAME.with_columns(noise=pl.when(pl.col("y") == 1).then("noise"))
    asked = {"label": "y", "models": ["good", "noise"], "metrics": ["brier"]}
    assert warnings_of(frame, missing="drop_per_model", **asked) == []


QUANTILES = {level: f"q_{level}" for level in (0.1, 0.25, 0.5, 0.75, 0.9)}
FORECASTS = pl.DataFrame({"y": [0.5, -0.3, 1.2, 0.1]}).with_columns(
    *(pl.lit(4 * level - 2).alias(name) for level, name in QUANTILES.items()),
    mean=pl.lit(0.0),
    sd=pl.lit(1.0),
)


@pytest.mark.parametrize(
    ("other", "metric", "counts"),
    [
        ({"quantiles": {0.5: "q_0.5"}}, "wis", "1 and 5"),
        ({"quantiles": {0.5: "q_0.5"}}, {"name": "skill", "formula": "1 - crps / mae"}, "1 and 5"),
        ({"mean": "mean", "sd": "sd"}, "crps", "all and 5"),
        ({"mean": "mean", "sd": "sd"}, "interval_score(level=0.5)", None),
        ({"quantiles": "q_"}, "wis", None),
    ],
)
def test_forecasts_that_are_compared_by_means_over_other_quantiles_are_told(
    other: dict[str, Any], metric: Any, counts: str | None
) -> None:
    options: dict[str, Any] = {"task": "quantile", "label": "y", "metrics": ["mae", metric]}
    models = {"full": {"quantiles": QUANTILES}, "other": other}
    texts = warnings_of(FORECASTS, models=models, compare="full", **options)
    told = [text for text in texts if "different quantiles" in text]
    assert [f"over different quantiles, {counts}: " in text for text in told] == [True] * (counts is not None)
    assert not any("different quantiles" in text for text in warnings_of(FORECASTS, models=models, **options))


@pytest.mark.parametrize(
    ("calls", "rows", "told"), [("pass", 20, True), ("no", 20, False), ("pass", 8, False)]
)
@pytest.mark.parametrize(
    ("metrics", "missing"),
    [(["accuracy"], "error"), (["f1", "mcc"], "error"), (["accuracy"], "drop_per_model")],
)
def test_calls_with_other_names_than_the_labels_are_told(
    calls: str, rows: int, metrics: list[str], missing: str, *, told: bool
) -> None:
    frame = pl.DataFrame({"y": ["yes", "no"] * (rows // 2), "m": [calls, "fail"] * (rows // 2)})
    frame = frame.with_columns(m=pl.when(pl.int_range(rows) == 3).then(pl.lit(calls)).otherwise("m"))
    texts = warnings_of(frame, task="multiclass", label="y", models=["m"], metrics=metrics, missing=missing)
    words = "model 'm' calls no row by the class that it has: "
    assert [text.endswith("fail, no, pass, yes") for text in texts if text.startswith(words)] == [True] * told
