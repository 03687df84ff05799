"""Metrics across groups against plain Python over the definitions, against fairlearn, and against published values."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fairlearn import metrics as fairlearn

import plmetrics as plm

DATA = Path(__file__).parents[2] / "configs" / "data"
GROUPS = ("a", "b", "c")


def table(seed: int, rows: int = 400, shift: float = 0.15) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(GROUPS, rows, p=[0.5, 0.3, 0.2])
    label = (rng.random(rows) < 0.4).astype(int)
    score = np.clip(rng.normal(0.35 + 0.2 * label + shift * (group == "a"), 0.25), 0, 1).round(2)
    weight = np.where(rng.random(rows) < 0.1, 0.0, rng.gamma(2.0, 1.0, rows))
    return pl.DataFrame({"y": label, "p": score, "w": weight, "group": group})


def rows_of(frame: pl.DataFrame, metric: str, **keywords: Any) -> pl.DataFrame:
    keywords = {"label": "y", "models": "p", "slices": ["group"]} | keywords
    return plm.evaluate(frame, metrics=[metric], **keywords).metrics


def found(frame: pl.DataFrame, metric: str, **keywords: Any) -> dict[str, Any]:
    """The one row of a metric across groups."""
    (row,) = rows_of(frame, metric, **keywords).to_dicts()
    assert (row["slice_set"], row["slice"]) == ("group", "all")
    return row


def rates(rows: list[tuple[int, float, float]], threshold: float = 0.5) -> dict[str, float]:
    """Rates of (label, score, weight) by their names, NaN where there is nothing to divide by."""
    cell = dict.fromkeys(itertools.product((0, 1), (False, True)), 0.0)
    for label, score, weight in rows:
        cell[label, score >= threshold] += weight
    tp, fn, fp, tn = cell[1, True], cell[1, False], cell[0, True], cell[0, False]
    share = {
        "selected": (tp + fp, tp + fp + fn + tn),
        "rejected": (tn + fn, tp + fp + fn + tn),
        "tpr": (tp, tp + fn),
        "tnr": (tn, tn + fp),
        "fpr": (fp, tn + fp),
        "fnr": (fn, tp + fn),
        "ppv": (tp, tp + fp),
        "npv": (tn, tn + fn),
        "accuracy": (tp + tn, tp + fp + fn + tn),
        "calibration": (sum(w * (p - y) for y, p, w in rows), tp + fp + fn + tn),
    }
    return {name: part / whole if whole else float("nan") for name, (part, whole) in share.items()}


def by_group(frame: pl.DataFrame, weight: str | None) -> dict[str, dict[str, float]]:
    weighted = frame.with_columns(w=pl.col(weight) if weight else pl.lit(1.0))
    out = {
        group: rates(weighted.filter(group=group).select("y", "p", "w").rows())
        for group in sorted(set(frame["group"]))
    }
    return out | {"": rates(weighted.select("y", "p", "w").rows())}


def compared(values: dict[str, float], method: str, *, ratio: bool) -> float:
    """The definition: `values` by group, with "" for all rows; the reference is group b."""
    groups = [value for name, value in values.items() if name]
    centre = {"to_overall": values[""], "reference": values.get("b")}.get(method)
    if centre is None:
        return min(groups) / max(groups) if ratio else max(groups) - min(groups)
    if ratio:
        return min(min(value / centre, centre / value) for value in groups)
    return max(abs(value - centre) for value in groups)


RATES = {
    ("demographic_parity", "positive"): ("selected",),
    ("demographic_parity", "negative"): ("rejected",),
    ("equal_opportunity", "positive"): ("tpr",),
    ("equal_opportunity", "negative"): ("tnr",),
    ("equalized_odds", "positive"): ("tpr", "fpr"),
    ("equalized_odds", "negative"): ("tnr", "fnr"),
    ("predictive_parity", "positive"): ("ppv",),
    ("predictive_parity", "negative"): ("npv",),
    ("fpr_parity", "positive"): ("fpr",),
    ("fpr_parity", "negative"): ("fnr",),
    ("fnr_parity", "positive"): ("fnr",),
    ("fnr_parity", "negative"): ("fpr",),
}
RATIOS = {"demographic_parity", "equal_opportunity", "equalized_odds"}
METHODS = {
    "between_groups": "",
    "to_overall": ", method=to_overall",
    "reference": ", method=reference, reference=b",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("method", METHODS)
def test_rates_are_compared_as_defined(method: str, weight: str | None) -> None:
    frame = table(1)
    known = by_group(frame, weight)
    expected = {}
    for (name, favourable), read in RATES.items():
        flipped = "" if favourable == "positive" else ", favourable=negative"
        for form in ("difference", "ratio") if name in RATIOS else ("difference",):
            each = [
                compared({group: rate[part] for group, rate in known.items()}, method, ratio=form == "ratio")
                for part in read
            ]
            text = f"{name}_{form}(by=group{METHODS[method]}{flipped})"
            expected[text] = min(each) if form == "ratio" else max(each)
            if len(each) > 1:
                mean = f"{name}_{form}(by=group, agg=mean{METHODS[method]}{flipped})"
                expected[mean] = sum(each) / len(each)
    for name, part in (("accuracy_parity_difference", "accuracy"), ("calibration_gap", "calibration")):
        values = {group: rate[part] for group, rate in known.items()}
        expected[f"{name}(by=group{METHODS[method]})"] = compared(values, method, ratio=False)
    result = plm.evaluate(
        frame, label="y", models="p", weight=weight, slices=["group"], metrics=list(expected)
    ).metrics
    assert dict(result.select("metric", "value").iter_rows()) == pytest.approx(expected, rel=1e-12)
    assert result["n"].unique().to_list() == [
        frame.filter(pl.col("w") > 0).height if weight else frame.height
    ]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("threshold", [0.3, 0.5])
@pytest.mark.parametrize("weight", [None, "w"])
def test_same_as_fairlearn(weight: str | None, threshold: float) -> None:
    frame = table(2).filter(pl.col("w") > 0)
    given: dict[str, Any] = {
        "y_true": frame["y"].to_numpy(),
        "y_pred": (frame["p"] >= threshold).cast(pl.Int64).to_numpy(),
        "sensitive_features": frame["group"].to_numpy(),
        "sample_weight": frame["w"].to_numpy() if weight else None,
    }
    names = [f"{name}_{form}" for name in sorted(RATIOS) for form in ("difference", "ratio")]
    expected = {
        f"{name}(by=group, method={method}, threshold={threshold})": getattr(fairlearn, name)(
            **given, method=method
        )
        for name, method in itertools.product(names, ("between_groups", "to_overall"))
    }
    found = plm.evaluate(
        frame, label="y", models="p", weight=weight, slices=["group"], metrics=list(expected)
    ).metrics
    assert found.select("slice_set", "slice").unique().rows() == [("group", "all")]
    assert found["value"].to_list() == pytest.approx(list(expected.values()), rel=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("metric", "weight", "value"),
    [
        ("demographic_parity_difference", None, 0.0300344821842048),
        ("equal_opportunity_difference", None, 0.0621468926553672),
        ("equalized_odds_difference", None, 0.0621468926553672),
        ("demographic_parity_difference", "weight", 0.0571304735174234),
        ("equal_opportunity_difference", "weight", 0.086016805916546),
        ("equalized_odds_difference", "weight", 0.086016805916546),
    ],
)
def test_published_values(metric: str, weight: str | None, value: float) -> None:
    """Of yardstick's table hpc_cv, as its authors had fairlearn compute them."""
    result = plm.evaluate(
        pl.read_parquet(DATA / "hpc_cv.parquet"),
        label="obs",
        positive="VF",
        models={"m": {"prediction": "pred"}},
        weight=weight,
        slices=["Resample"],
        metrics=[f"{metric}(by=Resample)"],
    )
    assert result.metrics["value"].item() == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("favourable", ["positive", "negative"])
def test_disparate_impact_and_average_odds_hold_groups_against_one(favourable: str) -> None:
    frame = table(3)
    known = by_group(frame, None)
    read, pair = ("selected", ("tpr", "fpr")) if favourable == "positive" else ("rejected", ("tnr", "fnr"))
    impact = min(known[group][read] / known["a"][read] for group in ("b", "c"))
    text = f"by=group, reference=a, favourable={favourable}"
    assert found(frame, f"disparate_impact({text})")["value"] == pytest.approx(impact)
    rows = rows_of(frame, f"average_odds_difference({text})")
    assert rows["slice"].to_list() == [f"group={group}" for group in GROUPS]
    gaps = [sum(known[group][part] - known["a"][part] for part in pair) / 2 for group in GROUPS]
    assert rows["value"].to_list() == pytest.approx(gaps)
    assert rows["note"].to_list() == ["the reference", None, None]
    counts = frame.group_by("group").len().sort("group")["len"]
    assert rows["n"].to_list() == counts.to_list()


def test_disparate_impact_of_no_named_group_is_the_parity_ratio() -> None:
    ratio = found(table(4), "demographic_parity_ratio(by=group)")["value"]
    assert found(table(4), "disparate_impact(by=group)")["value"] == ratio


def gap(values: list[float]) -> float:
    return max(values) - min(values)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("task", "models", "metric"),
    [
        ("binary", "p", "roc_auc"),
        ("binary", "p", "recall(threshold=0.3)"),
        ("binary", "p", "ece(bins=5)"),
        ("binary", "p", "precision_at_k(k=0.2)"),
        ("regression", "p", "rmse"),
        ("regression", "p", "median_absolute_error"),
        ("multiclass", {"m": {"proba": {"0": "q", "1": "p"}}}, "recall"),
        ("quantile", {"m": {"quantiles": {0.1: "q", 0.9: "r"}}}, "wis"),
        ("ranking", "p", "ndcg(k=5)"),
    ],
)
def test_disparity_of_any_metric_of_any_task(task: str, models: Any, metric: str) -> None:
    frame = table(5).with_columns(q=1 - pl.col("p"), r=2 - pl.col("p"), query=pl.int_range(pl.len()) // 8)
    frame = frame.with_columns(group=pl.col("group").first().over("query")) if task == "ranking" else frame
    texts = [metric, f"disparity({metric}, by=group)", f"disparity({metric}, by=group, kind=ratio)"]
    result = plm.evaluate(
        frame,
        task=task,  # type: ignore[arg-type]
        label="y",
        models=models,
        query="query" if task == "ranking" else None,
        slices=["group"],
        metrics=texts,
    ).metrics
    slices = result.filter(pl.col("slice_set") == "group", metric=metric)["value"].to_list()
    assert len(slices) == 3
    across = dict(result.filter(slice="all", slice_set="group").select("metric", "value").iter_rows())
    assert across == pytest.approx({texts[1]: gap(slices), texts[2]: min(slices) / max(slices)})


def test_disparity_of_a_metric_with_classes_has_a_row_for_each() -> None:
    frame = table(6).with_columns(q=1 - pl.col("p"))
    rows = rows_of(
        frame,
        "disparity(recall(average=none), by=group)",
        task="multiclass",
        models={"m": {"proba": {"0": "q", "1": "p"}}},
    )
    assert rows["class"].to_list() == ["0", "1"]
    for name in ("0", "1"):
        called = pl.when(pl.col("p") > pl.col("q")).then(1).otherwise(0)
        recalls = (
            frame.filter(pl.col("y") == int(name)).group_by("group").agg(hit=(called == int(name)).mean())
        )
        assert rows.filter(pl.col("class") == name)["value"].item() == pytest.approx(
            gap(recalls["hit"].to_list())
        )


def test_disparity_of_a_metric_that_the_suite_defines() -> None:
    frame = table(7)
    own = {"name": "certain", "mean": "score > 0.9 OR score < 0.1"}
    asked: list[Any] = [
        own,
        "disparity(certain, by=group)",
        {"disparity": {"metric": "recall", "by": "group"}},
    ]
    rows = plm.evaluate(frame, label="y", models="p", slices=["group"], metrics=asked).metrics
    shares = rows.filter(metric="certain", slice_set="group")["value"].to_list()
    assert rows.filter(metric="disparity(certain, by=group)")["value"].item() == pytest.approx(gap(shares))
    assert rows.filter(metric="disparity(recall, by=group)")["status"].item() == "ok"


def test_a_group_without_a_rate_is_named_and_not_judged() -> None:
    frame = table(8).with_columns(y=pl.when(pl.col("group") == "c").then(0).otherwise(pl.col("y")))
    known = by_group(frame, None)
    row = found(frame, "equal_opportunity_difference(by=group)", uncertainty={"replicates": 50})
    assert row["value"] == pytest.approx(abs(known["a"]["tpr"] - known["b"]["tpr"]))
    assert row["note"] == "not judged: group=c (no_positives)"
    assert row["n"] == frame.filter(pl.col("group") != "c").height
    assert row["interval_status"] == "ok"
    each = rows_of(frame, "average_odds_difference(by=group, reference=a)")
    assert each["status"].to_list() == ["ok", "ok", "no_positives"]


def test_crossed_groups_that_are_not_judged_are_set_apart() -> None:
    rows = pl.DataFrame({"a": ["x"] * 40 + ["y"] * 2, "b": ["u", "v"] * 21}).with_columns(y=1, p=0.7)
    text = "demographic_parity_difference(by=a_b, min_share=0.1)"
    result = plm.evaluate(rows, label="y", models="p", slices={"a_b": ["a", "b"]}, metrics=[text])
    assert result.metrics["note"].item() == "not judged: a=y, b=u; a=y, b=v (below_min_share)"


def test_fewer_than_two_groups_have_no_value() -> None:
    frame = table(9).with_columns(y=pl.when(pl.col("group") == "a").then(pl.col("y")).otherwise(0))
    row = found(frame, "equalized_odds_difference(by=group)", uncertainty={"replicates": 50})
    assert (row["value"], row["status"]) == (None, "too_few_groups")
    assert row["interval_status"] == "undefined_value"
    assert row["note"] == "not judged: group=b, group=c (no_positives)"


@pytest.mark.parametrize("weight", [None, "w"])
def test_groups_below_a_share_of_the_weight_are_not_judged(weight: str | None) -> None:
    frame = table(10)
    total = frame.select(pl.col(weight).sum() if weight else pl.len()).item()
    own = frame.filter(group="c").select(pl.col(weight).sum() if weight else pl.len()).item()
    text = "demographic_parity_difference(by=group, min_share={})"
    kept = found(frame, text.format(own / total - 1e-6), weight=weight)
    assert kept["note"] is None
    row = found(frame, text.format(own / total + 1e-6), weight=weight)
    assert row["note"] == "not judged: group=c (below_min_share)"
    known = by_group(frame, weight)
    assert row["value"] == pytest.approx(abs(known["a"]["selected"] - known["b"]["selected"]))
    small = found(frame, "disparate_impact(by=group, reference=c, min_share=0.4)", weight=weight)
    assert (small["value"], small["status"]) == (None, "reference_not_judged")


def test_a_reference_that_is_not_judged_leaves_no_value() -> None:
    metric = "disparity(recall, by=group, method=reference, reference=c, min_share=0.25)"
    assert found(table(11), metric)["status"] == "reference_not_judged"


def test_slices_with_too_few_rows_are_not_judged() -> None:
    row = found(table(12), "demographic_parity_difference(by=group)", min_rows=100)
    assert row["note"] == "not judged: group=c (too_few_rows)"


@pytest.mark.parametrize(
    ("metric", "status"),
    [
        ("demographic_parity_ratio(by=group, threshold=2)", "zero_denominator"),
        ("disparate_impact(by=group, reference=a, threshold=2)", "zero_denominator"),
        ("disparity(mcc(threshold=0.9), by=group, kind=ratio)", "nonpositive_values"),
    ],
)
def test_ratios_that_cannot_be(metric: str, status: str) -> None:
    frame = pl.DataFrame(
        {"y": [0, 1, 0, 1] * 2, "p": [0.2, 0.95, 0.3, 0.4, 0.95, 0.2, 0.3, 0.4], "group": list("aaaabbbb")}
    )
    row = found(frame, metric)
    assert (row["value"], row["status"]) == (None, status)


def test_positive_groups_have_no_ratio_to_rows_with_a_negative_mean() -> None:
    frame = pl.DataFrame({"y": [1.0] * 60 + [100.0], "p": [2.0] * 60 + [0.0], "group": [*"ab" * 30, "c"]})
    asked = "disparity(mean_error, by=group, kind=ratio, method=to_overall)"
    row = found(frame, asked, task="regression")
    assert (row["value"], row["status"]) == (None, "nonpositive_values")


@pytest.mark.parametrize(
    "method", ["between_groups", "to_overall", "reference, reference=a", "reference, reference=b"]
)
@pytest.mark.parametrize(
    "metric",
    ["demographic_parity_ratio(by=group, method={})", "disparity(recall, by=group, kind=ratio, method={})"],
)
def test_a_group_that_is_never_selected_is_the_largest_disparity(metric: str, method: str) -> None:
    frame = pl.DataFrame(
        {"y": [0, 1] * 4, "p": [0.2, 0.3, 0.1, 0.4, 0.8, 0.9, 0.1, 0.6], "group": list("bbbbaaaa")}
    )
    row = found(frame, metric.format(method))
    assert (row["value"], row["status"]) == (0.0, "ok")


def test_many_groups_and_groups_that_overlap() -> None:
    frame = pl.DataFrame({"g": np.arange(6000) % 600, "y": [1, 0] * 3000, "p": np.linspace(0, 1, 6000) ** 2})
    rows = plm.evaluate(
        frame,
        label="y",
        models="p",
        task="regression",
        slices={"g": "g", "named": {"where": {"low": "g < 300", "some": "g > 200", "none": "g < 0"}}},
        metrics=["mae", "disparity(mae, by=g, min_share=0)", "disparity(mae, by=named, method=to_overall)"],
        uncertainty={"replicates": 20},
    ).metrics
    own = rows.filter(slice_set="g", metric="mae")["value"].to_list()
    assert len(own) == 600
    first, second = rows.filter(pl.col("metric").str.starts_with("disparity")).to_dicts()
    assert first["value"] == pytest.approx(gap(own))
    overall = rows.filter(slice_set="overall")["value"].item()
    named = rows.filter(slice_set="named", metric="mae")["value"].drop_nulls()
    assert second["value"] == pytest.approx((named - overall).abs().max())
    assert second["note"] == "not judged: named=none (no_rows)"


def test_values_do_not_depend_on_the_way_scores_are_held() -> None:
    frame = table(13)
    text = "disparity(roc_auc, by=group, method=to_overall)"
    exact, binned = (found(frame, text, exact=way)["value"] for way in (True, False))
    assert binned == pytest.approx(exact, abs=1e-3)


def simulated(seed: int, chances: tuple[float, ...]) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, len(chances), 900)
    chosen = rng.random(900) < np.array(chances)[group]
    return pl.DataFrame({"y": rng.integers(0, 2, 900), "p": chosen.astype(float), "group": group})


@pytest.mark.slow
@pytest.mark.parametrize("chances", [(0.4, 0.4, 0.4), (0.3, 0.5, 0.4)])
def test_intervals_cover(chances: tuple[float, ...]) -> None:
    """Of the true difference and ratio, also where there is none: replicates alone would never reach that."""
    truth = {"difference": gap(list(chances)), "ratio": min(chances) / max(chances)}
    names = {f"demographic_parity_{form}(by=group)": value for form, value in truth.items()}
    covered = dict.fromkeys(names, 0)
    for seed in range(40):
        rows = plm.evaluate(
            simulated(seed, chances),
            label="y",
            models="p",
            slices=["group"],
            metrics=list(names),
            uncertainty={"replicates": 100, "seed": seed},
        ).metrics
        assert rows["method"].unique().to_list() == ["centred"]
        for row in rows.to_dicts():
            covered[row["metric"]] += (
                row["lower"] <= names[row["metric"]] + 1e-12 and row["upper"] >= names[row["metric"]] - 1e-12
            )
    assert min(covered.values()) >= 34


@pytest.mark.parametrize("weight", [None, "w"])
def test_differences_of_binned_areas_are_within_their_bounds(weight: str | None) -> None:
    """Of groups against each other, all rows and one group, and of what is put together over slices."""
    rng = np.random.default_rng(6)
    columns = {"y": rng.integers(0, 2, 3000), "p": rng.normal(size=3000), "w": rng.choice([0.5, 2.0], 3000)}
    rows = pl.DataFrame(columns | {"g": rng.choice(["x", "y", "z"], 3000)})
    forms = ("", ", method=to_overall", ", method=reference, reference=x", ", kind=ratio")
    metrics: list[Any] = [f"disparity({name}, by=g{form})" for name in ("roc_auc", "ks") for form in forms]
    metrics += [
        {"name": agg, "over": {"slice_set": "g", "metric": "average_precision", "agg": agg}}
        for agg in ("mean", "sum", "worst", "max")
    ]
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": metrics, "slices": "g", "weight": weight}
    exact, binned = (plm.evaluate(rows, **asked, exact=exact).metrics for exact in (True, False))
    assert exact["bound"].null_count() == len(exact)
    off = (exact["value"] - binned["value"]).abs()
    ratios = binned["metric"].str.contains("ratio")
    assert binned["bound"].is_null().to_list() == ratios.to_list()
    assert (off <= binned["bound"] + 1e-12).filter(~ratios).all()
    assert (binned["bound"] > 0).filter(~ratios & ~binned["metric"].str.contains("ks")).all()


@pytest.mark.parametrize("method", ["between_groups", "to_overall"])
def test_groups_of_equal_values_differ_by_0_without_an_interval(method: str) -> None:
    """What rounding leaves of weighted means of one number is no difference, and has no interval."""
    rng = np.random.default_rng(1)
    size = 60
    rows = pl.DataFrame(
        {
            "y": [0.7] * size,
            "p": [1.0] * size,
            "w": rng.random(size),
            "g": ["a", "b", "c"] * (size // 3),
            "u": range(size),
        }
    )
    result = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models="p",
        weight="w",
        unit="u",
        metrics=[f"disparity(mae, by=g, method={method})"],
        slices="g",
        uncertainty={"replicates": 60},
    )
    row = result.metrics.row(0, named=True)
    assert (row["value"], row["interval_status"], row["upper"]) == (0.0, "degenerate", None)


@pytest.mark.parametrize("method", ["bootstrap", "jackknife", "analytic"])
def test_the_reference_of_other_groups_passes_gates_by_interval_and_is_no_question(method: str) -> None:
    metric = "average_odds_difference(by=group, reference=a)"
    gate = {
        "metric": metric,
        "slices": "group",
        "using": "interval",
        "correction": "bonferroni",
        "at_least": -0.9,
    }
    result = plm.evaluate(
        table(3).with_columns(q=1 - pl.col("p")),
        label="y",
        models=["p", "q"],
        slices=["group"],
        metrics=[metric],
        compare="p",
        uncertainty={"method": method, "replicates": 60},
        gates=[gate, gate | {"correction": "none", "at_least": 0.01, "level": "warn"}],
    )
    reference = result.metrics.row(0, named=True)
    assert (reference["slice"], reference["method"]) == ("group=a", "definition")
    assert (reference["lower"], reference["value"], reference["upper"]) == (0.0, 0.0, 0.0)
    verdicts = result.gates.filter(model="p", slice="group=a")["verdict"].to_list()
    assert verdicts == ["pass", "fail"]
    assert result.gates.filter(slice="group=b")["note"].to_list()[:2] == ["4 judged together"] * 2
    compared = result.comparisons.row(0, named=True)
    assert [compared[name] for name in ("difference", "lower", "upper", "p_value")] == [0.0, 0.0, 0.0, 1.0]
    assert result.comparisons["reading"][0] == "equal"
    assert "equal" not in result.comparisons["reading"][1:].to_list()
