import numpy as np
import polars as pl
import pytest
from references.formulas import BINARY, REGRESSION
from references.rankings import RANKINGS

import plmetrics as plm

CASES = ["ties", "continuous", "one_row", "one_class", "constant_score", "ends", "two_rows"]


def table(case, seed=1):
    rng = np.random.default_rng(seed)
    n = {"one_row": 1, "two_rows": 2}.get(case, 400)
    y = rng.random(n) < 0.35
    p = rng.beta(1 + y, 2 - y)
    if case == "ties":
        p = np.round(p, 1)
    elif case == "one_class":
        y[:] = True
    elif case == "constant_score":
        p[:] = 0.5
    elif case == "ends":
        p = np.round(p)
    elif case == "two_rows":
        y = np.array([True, False])
    group = np.where(rng.random(n) < 0.3, "a", np.where(rng.random(n) < 0.1, None, "b"))
    weight = rng.integers(0, 4, n) * 0.5
    weight[0] = 1.5
    return pl.DataFrame(
        {"y": y, "p": p, "g": group, "w": weight, "q": 1 - p}, schema_overrides={"g": pl.String}
    )


def expected(frame, formulas, score, weighted):
    frame = frame.filter(pl.col("w") > 0) if weighted else frame
    slices = {"all": frame}
    for (name,), part in frame.group_by("g"):
        slices[f"g={'null' if name is None else name}"] = part
    return {
        (text, metric): formula(
            part["y"].to_numpy(),
            part[score].to_numpy(),
            part["w"].to_numpy() if weighted else np.ones(part.height),
        )
        for text, part in slices.items()
        for metric, formula in formulas.items()
    }


def compare(found, wanted):
    assert found.height == len(wanted)
    for row in found.iter_rows(named=True):
        value = wanted[row["slice"], row["metric"]]
        place = (row["slice"], row["metric"], row["value"], value)
        if np.isnan(value):
            assert row["value"] is None, place
            assert row["status"] != "ok", place
        else:
            assert row["status"] == "ok", place
            assert row["value"] == pytest.approx(value, rel=1e-9, abs=1e-12), place


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("formulas", [BINARY, RANKINGS], ids=["sums", "order"])
@pytest.mark.parametrize("case", CASES)
def test_binary_metrics_equal_independent_formulas(case, formulas, weighted):
    frame = table(case)
    result = plm.evaluate(
        frame,
        label="y",
        models={"m": "p", "other": "q"},
        weight="w" if weighted else None,
        metrics=list(formulas),
        slices={"g": "g"},
    )
    for model, score in (("m", "p"), ("other", "q")):
        compare(result.metrics.filter(model=model), expected(frame, formulas, score, weighted))


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("case", ["plain", "one_row", "constant", "zeros"])
def test_regression_metrics_equal_independent_formulas(case, offset, weighted):
    rng = np.random.default_rng(5)
    n = 1 if case == "one_row" else 300
    y = rng.normal(3, 1, n) + offset
    if case == "constant":
        y[:] = 7.0
    if case == "zeros":
        y[::3] = 0.0
    frame = pl.DataFrame(
        {
            "y": y,
            "p": y + rng.normal(0, 0.3, n),
            "g": rng.choice(["a", "b"], n),
            "w": rng.integers(1, 4, n) * 0.5,
        }
    )
    result = plm.evaluate(
        frame,
        task="regression",
        label="y",
        models={"m": "p"},
        weight="w" if weighted else None,
        metrics=list(REGRESSION),
        slices={"g": "g"},
    )
    compare(result.metrics, expected(frame, REGRESSION, "p", weighted))


def test_quantile_bins_of_ece():
    frame = table("continuous")
    result = plm.evaluate(frame, label="y", models="p", metrics=["ece(bins=5, strategy=quantile)"])
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    edges = np.quantile(p, np.arange(1, 5) / 5, method="averaged_inverted_cdf")
    index = np.searchsorted(edges, p)
    gaps = [abs(p[index == b].sum() - y[index == b].sum()) for b in range(5)]
    assert result.metrics["value"].item() == pytest.approx(sum(gaps) / len(p), rel=1e-12)
