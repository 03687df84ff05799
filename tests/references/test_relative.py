"""A metric over that of another model, and the overall weighted average, by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import mean_absolute_error

import plmetrics as plm

MODELS = ("model", "naive")
OWA = "(relative(smape, to=naive) + relative(mase(scale=scale), to=naive)) / 2"


def table(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.normal(10, 2, 300)
    columns: dict[str, Any] = {"y": label, "w": rng.gamma(2.0, 1.0, 300), "g": rng.choice(["a", "b"], 300)}
    columns |= {"scale": np.where(columns["g"] == "a", 1.0, 5.0)}
    columns |= {
        name: label + rng.normal(0.1, spread, 300) for name, spread in zip(MODELS, (1, 2), strict=True)
    }
    return pl.DataFrame(columns)


def owa(rows: pl.DataFrame) -> float:
    """The mean of the ratios of sMAPE and MASE, as in the M4 competition."""
    y, w = rows["y"].to_numpy(), rows["w"].to_numpy()
    ratios = []
    for scale in (None, rows["scale"].to_numpy()):
        errors = []
        for name in MODELS:
            away = np.abs(rows[name].to_numpy() - y)
            size = (np.abs(y) + np.abs(rows[name].to_numpy())) / 2 if scale is None else scale
            errors.append(np.average(away / size, weights=w))
        ratios.append(errors[0] / errors[1])
    return float(np.mean(ratios))


def test_values_are_ratios_on_the_same_rows() -> None:
    frame = table()
    asked = {"task": "regression", "label": "y", "models": list(MODELS), "weight": "w", "slices": ["g"]}
    metrics = ["relative(mae, to=naive)", {"name": "owa", "formula": OWA}]
    found = plm.evaluate(frame, **asked, metrics=metrics).metrics
    parts = {"all": frame, **{f"g={name}": frame.filter(g=name) for name in "ab"}}
    for place, rows in parts.items():
        mae = [mean_absolute_error(rows["y"], rows[name], sample_weight=rows["w"]) for name in MODELS]
        here = dict(found.filter(model="model", slice=place).select("metric", "value").rows())
        assert here == pytest.approx({"relative(mae, to=naive)": mae[0] / mae[1], "owa": owa(rows)})
    assert (found.filter(model="naive")["value"] == 1).all()


def test_intervals_are_those_of_the_paired_ratio() -> None:
    """As far from each other as the forms of the interval are: of the log of a ratio, and of the ratio."""
    asked = {"task": "regression", "label": "y", "models": list(MODELS), "uncertainty": {"replicates": 500}}
    compare = {"baseline": "naive", "scales": ["ratio"]}
    result = plm.evaluate(table(), **asked, metrics=["mae", "relative(mae, to=naive)"], compare=compare)
    (ratio,) = result.comparisons.filter(metric="mae").to_dicts()
    (value,) = result.metrics.filter(metric="relative(mae, to=naive)", model="model").to_dicts()
    assert value["value"] == pytest.approx(ratio["difference"])
    assert value["lower"] == pytest.approx(ratio["lower"], rel=0.05)
    assert value["upper"] == pytest.approx(ratio["upper"], rel=0.05)


@pytest.mark.parametrize("metric", ["relative(mae, to=naive)", {"name": "owa", "formula": OWA}])
def test_a_model_is_sure_to_be_as_good_as_itself(metric: Any) -> None:
    asked = {"task": "regression", "label": "y", "models": list(MODELS), "uncertainty": {"replicates": 50}}
    gate = {"metric": metric if isinstance(metric, str) else "owa", "at_most": 1, "using": "interval"}
    result = plm.evaluate(table(), **asked, metrics=[metric], gates=[gate])
    own, other = (
        result.metrics.row(by_predicate=pl.col("model") == model, named=True) for model in MODELS[::-1]
    )
    assert (own["lower"], own["upper"], own["method"]) == (1.0, 1.0, "definition")
    assert other["lower"] < other["value"] < other["upper"]
    assert result.gates.filter(model="naive")["verdict"].item() == "pass"


def test_another_model_without_error_and_one_that_is_not_there() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0], "model": [1.5, 2.5], "naive": [1.0, 2.0]})
    asked: dict[str, Any] = {"task": "regression", "label": "y", "models": list(MODELS)}
    found = plm.evaluate(frame, **asked, metrics=["relative(mae, to=naive)"]).metrics
    assert found["status"].to_list() == ["zero_denominator", "zero_denominator"]
    for metric in ("relative(mae, to=nave)", {"name": "x", "formula": "2 * relative(mae, to=nave)"}):
        with pytest.raises(plm.ConfigError, match="'nave' is not one of the models"):
            plm.evaluate(frame, **asked, metrics=[metric])


def test_numbers_of_two_signs_have_no_ratio() -> None:
    frame = pl.DataFrame({"y": [1.0, 2.0], "model": [1.5, 2.5], "naive": [0.0, 1.0]})
    asked: dict[str, Any] = {"task": "regression", "label": "y", "models": list(MODELS)}
    found = plm.evaluate(frame, **asked, metrics=["relative(mean_error, to=naive)"]).metrics
    ratios = dict(found.select("model", pl.struct("value", "status")).iter_rows())
    assert ratios["model"] == {"value": None, "status": "nonpositive_values"}
    assert ratios["naive"] == {"value": 1.0, "status": "ok"}
