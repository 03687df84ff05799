"""Contrasts: what is not compared, and which side is nearer to 0."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.inference import contrasts
from plmetrics.inference.tables import comparison_columns

COST: dict[str, Any] = {"name": "cost", "formula": "50 * fp + 2000 * fn", "direction": "lower"}
SHARE: dict[str, Any] = {"name": "share", "formula": "(fp + fn) / (tp + fp + fn + tn)", "direction": "lower"}


def decisions(rows: int, seed: int = 3) -> pl.DataFrame:
    """Slices that differ in nothing but their size."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    size = np.arange(rows) % 10
    group = np.where(size < 1, "small", np.where(size < 4, "middle", "big"))
    return pl.DataFrame({"y": label, "p": (0.3 * label + 0.7 * rng.random(rows)), "g": group})


@pytest.mark.exhaustive
@pytest.mark.parametrize("against", ["rest", "all", "pairs", "g=big"])
def test_totals_of_slices_of_different_sizes_are_not_compared(against: str) -> None:
    found = plm.evaluate(
        decisions(2000),
        label="y",
        models="p",
        metrics=[
            "tp",
            "fp",
            "fn",
            "tn",
            {"name": "loss", "sum": "abs(label - score)"},
            COST,
            SHARE,
            "recall",
        ],
        slices=["g"],
        uncertainty={"replicates": 50},
        compare={"slices": {"g": [against]}, "scales": ["difference", "ratio", "relative_change"]},
    ).comparisons
    totals = found.filter(pl.col("metric").is_in(["tp", "fp", "fn", "tn", "loss", "cost"]))
    assert set(totals["status"]) == {"unequal_rows"}
    assert set(totals["note"]) == {"it is a total, which is larger where there are more rows"}
    for column in ("difference", "lower", "std_error", "p_value", "p_adjusted"):
        assert totals[column].null_count() == totals.height
    shares = found.filter(pl.col("metric").is_in(["share", "recall"]))
    assert set(shares["status"]) == {"ok"}
    assert shares["p_value"].null_count() == 0


def test_totals_of_models_over_the_same_rows_are_compared() -> None:
    frame = decisions(300).with_columns(q=1 - pl.col("p"))
    given: dict[str, Any] = {"label": "y", "models": {"a": "p", "b": "q"}, "metrics": ["fp"], "compare": "a"}
    (row,) = plm.evaluate(frame, **given).comparisons.to_dicts()
    negatives = frame.filter(y=0)
    assert row["status"] == "ok"
    assert row["difference"] == sum(negatives["q"] >= 0.5) - sum(negatives["p"] >= 0.5)
    dropped = frame.with_columns(q=pl.when(pl.int_range(300) > 9).then("q"))
    (row,) = plm.evaluate(dropped, missing="drop_per_model", **given).comparisons.to_dicts()
    assert (row["status"], row["difference"]) == ("unequal_rows", None)
    assert row["note"].startswith("the models are of different rows")


def test_totals_of_other_weights_say_so() -> None:
    """A row without one of the weights is left out for both models; of the others totals weigh more for one."""
    weight = pl.when(pl.int_range(300) % 10 > 0).then(1 + pl.int_range(300) % 3).alias("w")
    asked: dict[str, Any] = {"models": "p", "weight": ["w", None], "metrics": ["fp", "brier"], "compare": "p"}
    found = plm.evaluate(decisions(300).with_columns(weight), label="y", missing="drop", **asked)
    assert set(found.metrics["n"]) == {270}
    total, mean = found.comparisons.to_dicts()
    assert (total["status"], total["difference"]) == ("unequal_rows", None)
    assert total["note"].startswith("the models weigh the same rows differently")
    assert (mean["status"], mean["note"]) == ("ok", None)


def biases(one: float, other: float, tables: int, rows: int) -> pl.DataFrame:
    """Tables, each a slice, with errors of both models around their biases."""
    rng = np.random.default_rng(11)
    errors = {"a": one + rng.normal(size=tables * rows), "b": other + rng.normal(size=tables * rows)}
    return pl.DataFrame({"y": 0.0, **errors, "table": np.repeat(np.arange(tables), rows)})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_biases_as_far_from_zero_differ_but_neither_is_nearer(method: str) -> None:
    given: dict[str, Any] = {"task": "regression", "label": "y", "models": {"a": "a", "b": "b"}}
    given |= {
        "metrics": ["mean_error"],
        "slices": ["table"],
        "compare": {"baseline": "a", "correction": "none"},
    }
    given["uncertainty"] = {"method": method, "replicates": 200}

    def notes(one: float, other: float) -> list[str | None]:
        found = plm.evaluate(biases(one, other, 60, 50), **given).comparisons
        apart = found.filter(pl.col("slice") != "all")
        assert (apart["p_value"] < 0.001).all()
        return apart["note"].to_list()

    alike = notes(-1.0, 1.0)
    assert sum(note is not None for note in alike) <= 9
    assert set(notes(-2.0, 1.0)) == {"nearer to 0"}
    assert set(notes(1.0, -2.0)) == {"farther from 0"}


def test_the_word_is_corrected_as_the_p_value_is() -> None:
    """Of 40 slices with as large biases some are called nearer one by one, and none where all are held together."""
    found = {}
    for correction in ("none", "bonferroni"):
        compare = {"baseline": "a", "correction": correction}
        table = plm.evaluate(
            biases(-1.0, 1.0, 40, 60),
            task="regression",
            label="y",
            models={"a": "a", "b": "b"},
            metrics=["mean_error"],
            slices=["table"],
            uncertainty={"replicates": 200},
            compare=compare,
        ).comparisons
        found[correction] = table["note"].is_not_null().sum()
    assert found["none"] > found["bonferroni"] == 0


NORMS = ["ece", "ece(norm=l2)", "mce", "corp_miscalibration"]


def calibration(shift: float, sizes: tuple[int, ...], seed: int = 5) -> pl.DataFrame:
    """Calibrated scores, but for a shift of the rate in the first slice."""
    rng = np.random.default_rng(seed)
    score, group = rng.beta(2, 3, sum(sizes)), np.repeat(np.arange(len(sizes)), sizes)
    rate = np.clip(score + shift * (group == 0), 0, 1)
    return pl.DataFrame({"y": (rng.random(len(score)) < rate).astype(int), "p": score, "g": group})


def rests(frame: pl.DataFrame, **given: Any) -> plm.Result:
    return plm.evaluate(
        frame,
        label="y",
        models="p",
        metrics=[*NORMS, "ece(debias=true)", "ks", "brier"],
        slices=["g"],
        uncertainty={"replicates": 100},
        compare={"slices": {"g": ["rest"]}, "scales": ["difference", "ratio"], "correction": "none"},
        **given,
    )


@pytest.mark.slow
def test_norms_of_noise_are_not_tested_over_different_numbers_of_rows() -> None:
    gate = {
        "metric": "ece",
        "slices": "g",
        "against": {"slice": "rest"},
        "no_worse_than": 1,
        "using": "interval",
    }
    result = rests(calibration(0.0, (600, 600, 600)), gates=[gate])
    norms = [plm.metric(name, task="binary").text for name in NORMS]
    refused = result.comparisons.filter(
        pl.col("metric").is_in(norms)
        | (pl.col("metric").is_in(["ece(debias=true)", "ks"]) & (pl.col("scale") == "ratio"))
    )
    some = refused.filter(status="ok")
    assert set(some["interval_status"]) == {"unequal_noise"}
    assert some["difference"].null_count() == 0
    assert refused["p_value"].null_count() == refused["lower"].null_count() == refused.height
    assert some["note"].str.contains("noise alone makes it larger").all()
    tested = result.comparisons.join(refused, on=["metric", "scale"], how="anti")
    assert set(tested["metric"]) == {"ece(debias=true)", "ks", "brier"}
    assert tested["p_value"].null_count() == 0
    assert set(result.gates["verdict"]) == {"inconclusive"}


@pytest.mark.slow
def test_norms_are_tested_where_noise_is_small_or_the_same() -> None:
    found = rests(calibration(0.35, (500, 1500))).comparisons.filter(metric="ece", scale="difference")
    assert found["p_value"].null_count() == 0
    assert (found["p_value"] < 0.001).all()
    alike = rests(calibration(0.0, (600, 600))).comparisons.filter(metric="ece", scale="difference")
    assert alike["p_value"].null_count() == 0
    assert (alike["p_value"] > 0.01).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["bootstrap", "auto", "jackknife"])
def test_models_that_no_row_tells_apart_are_equal_up_to_what_the_rows_leave_open(method: str) -> None:
    """Both call the same, with other scores; a third one errs as often, in other rows. By Tango's (1998) interval."""
    rng = np.random.default_rng(4)
    label = np.arange(80) % 2
    wrong, elsewhere = np.arange(80) < 8, np.arange(80) >= 72
    side, noise = np.where(label ^ wrong, 0.6, 0.1), rng.random((3, 80)) * 0.3
    other = np.where(label ^ elsewhere, 0.6, 0.1) + noise[2]
    frame = pl.DataFrame({"y": label, "a": side + noise[0], "b": side + noise[1], "c": other})
    asked: dict[str, Any] = {"label": "y", "models": ["a", "b", "c"]}
    asked["compare"] = {"baseline": "b", "scales": ["difference", "ratio"]}
    metrics = ["accuracy", "recall", "f1", "mcc", "tp", "brier", "prevalence", "brier_uncertainty", "n"]
    formulas = {
        "scaled": "3 * recall",
        "twice": "recall - fnr",
        "both": "accuracy + recall",
        "cost": "fn + fp",
    }
    metrics = [*metrics, *({"name": name, "formula": formula} for name, formula in formulas.items())]
    uncertainty = {"replicates": 100, "method": method}
    found = plm.evaluate(frame, **asked, metrics=metrics, uncertainty=uncertainty).comparisons
    z2 = stats.norm.ppf(0.975) ** 2
    for name, rows in (("accuracy", 80), ("recall", 40)):
        tied = found.filter(model="a", metric=name)
        reach, value = z2 / (rows + z2), 0.9
        difference, ratio = tied.select("lower", "upper", "p_value", "reading").rows()
        assert difference == (pytest.approx(-reach), pytest.approx(reach), 1.0, "unclear")
        assert ratio[:2] == pytest.approx((value / (value + reach), 1 + reach / value))
    for name, factor in (("scaled", 3.0), ("twice", 2.0)):
        scaled = found.filter(model="a", metric=name, scale="difference")
        assert scaled["upper"].item() == pytest.approx(factor * z2 / (40 + z2))
    both = found.filter(model="a", metric="both", scale="difference")["upper"].item()
    assert both == pytest.approx(np.hypot(z2 / (80 + z2), z2 / (40 + z2)))
    assert (
        found.filter(model="a", metric="cost", scale="difference")["interval_status"].item() == "degenerate"
    )
    f1 = found.filter(model="a", metric="f1", scale="difference")
    assert f1["upper"].item() == pytest.approx(
        z2 * 1.1 / 80, rel=0.05
    )  # 1.1 of 80 for each row that is missed
    mcc = found.filter(model="a", metric="mcc", scale="difference")
    assert mcc["upper"].item() == pytest.approx(2 * z2 / (80 + z2), rel=0.05)
    assert set(found.filter(model="a", metric="tp")["interval_status"]) == {"degenerate"}
    of_labels = found.filter(pl.col("metric").is_in(["prevalence", "brier_uncertainty", "n"]))
    sure = pl.col("scale").replace_strict({"difference": 0.0, "ratio": 1.0})
    assert of_labels.select(((pl.col("lower") == sure) & (pl.col("upper") == sure)).all()).item()
    assert set(of_labels["reading"]) == {"equal"}
    called = frame.with_columns(pl.col("a", "b", "c") > 0.5, y=pl.col("y") == 1).cast(pl.String)
    largest = plm.evaluate(
        called, **asked, task="multiclass", metrics=["default_accuracy"], uncertainty={"replicates": 100}
    )
    assert set(largest.comparisons.filter(scale="difference")["reading"]) == {"equal"}
    assert found.filter(model="a", metric="brier", scale="difference")["std_error"].item() > 0
    errs = found.filter(
        pl.col("model") == "c", pl.col("metric").is_in(["accuracy", "mcc", "tp"]), scale="difference"
    )
    assert errs["difference"].to_list() == pytest.approx([0.0] * 3, abs=1e-12)
    assert errs["std_error"].min() > 1e-3
    assert set(errs["reading"]) == {"unclear"}


def test_a_quantile_of_a_column_is_equal_and_one_of_predictions_is_not() -> None:
    rng = np.random.default_rng(8)
    rows = {name: rng.normal(size=200) for name in ("y", "a", "b", "cost")}
    quantiles = {"cost_p90": "cost", "label_p90": "label", "error_p90": "abs(label - score)", "asked": "cost"}
    metrics = [{"name": name, "quantile": sql, "q": 0.9} for name, sql in quantiles.items()]
    metrics[-1] |= {"where": "score > 0"}
    asked: dict[str, Any] = {"task": "regression", "label": "y", "models": ["a", "b"], "compare": "a"}
    found = plm.evaluate(rows, **asked, metrics=metrics, uncertainty={"replicates": 100}).comparisons
    assert (found["reading"] == "equal").to_list() == [True, True, False, False]


def test_facts_of_queries_are_equal_whatever_the_model() -> None:
    rng = np.random.default_rng(6)
    rows = pl.DataFrame({"q": np.repeat(np.arange(30), 8), "y": rng.integers(0, 3, 240)})
    rows = rows.with_columns(a=pl.Series(rng.random(240)), b=pl.Series(rng.random(240)))
    asked: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": ["a", "b"]}
    facts = ["default_ndcg", "num_rel", "num_q", "num_q_without_relevant", "labelled"]
    found = plm.evaluate(
        rows, **asked, metrics=[*facts, "ndcg"], uncertainty={"replicates": 100}, compare={"baseline": "a"}
    ).comparisons
    assert found["reading"].to_list() == [*["equal"] * len(facts), "unclear"]
    assert found.filter(pl.col("metric") != "ndcg").select(
        "difference", "lower", "upper"
    ).unique().rows() == [(0.0, 0.0, 0.0)]


@pytest.mark.slow
def test_a_model_and_its_scaling_are_equal_to_metrics_of_the_order() -> None:
    """Platt's scaling keeps the order of all rows. Equal areas of few rows, or of 1, may be of other orders."""
    rng = np.random.default_rng(5)
    label = (rng.random(400) < 0.3).astype(int)
    score = 1 / (1 + np.exp(-rng.normal(label * 1.3, 1.0)))
    swapped = score.copy()
    order = np.argsort(score)
    near = order[np.flatnonzero(np.diff(label[order]))[50] + np.array([0, 1])]  # a positive beside a negative
    swapped[near] = score[near[::-1]]
    group = np.where(np.arange(400) < 12, "few", "most")
    frame = pl.DataFrame({"y": label, "p": score, "platt": score**2, "swapped": swapped, "g": group})
    asked: dict[str, Any] = {"label": "y", "compare": {"baseline": "p", "scales": ["difference", "ratio"]}}
    asked |= {"uncertainty": {"replicates": 100}, "slices": {"g": "g"}, "models": ["p", "platt", "swapped"]}
    metrics = ["recall_at_fpr(fpr=0.1)", "ks", "roc_auc", "average_precision", "brier"]
    found = plm.evaluate(frame, **asked, metrics=metrics).comparisons
    scaled = found.filter(pl.col("model") == "platt", pl.col("metric") != "brier")
    assert scaled.height == 2 * 3 * 4
    sure = pl.col("scale").replace_strict({"difference": 0.0, "ratio": 1.0})
    assert scaled.select(((pl.col("lower") == sure) & (pl.col("upper") == sure)).all()).item()
    assert set(scaled["reading"]) == {"equal"}
    assert found.filter(model="platt", metric="brier")["std_error"].min() > 0
    other = found.filter(model="swapped", metric="roc_auc", scale="difference", slice="all")
    assert other["std_error"].item() > 0

    arms = frame.with_columns(t=pl.Series(rng.random(400) < 0.5).cast(pl.Int8))
    uplift = {"qini", "auuc", "uplift_at_k(k=0.3)", "ate"}
    effects = plm.evaluate(arms, **asked, metrics=[*uplift], task="uplift", treatment="t").comparisons
    equal = effects.filter(reading="equal", scale="difference", slice="all")
    assert set(equal.filter(model="platt")["metric"]) == uplift
    assert set(equal.filter(model="swapped")["metric"]) == {"ate"}

    few = plm.evaluate(frame[:60], **asked, metrics=["roc_auc"]).comparisons
    assert set(few.filter(model="platt")["interval_status"]) == {"degenerate"}
    sides = frame.with_columns(
        p=pl.col("y") * 0.5 + 0.3 + pl.col("p") / 10, platt=pl.col("y") * 0.5 + pl.col("p") / 4
    )
    ends = plm.evaluate(sides, **asked, metrics=["roc_auc", "average_precision"]).comparisons
    assert ends.filter(model="platt", reading="equal").is_empty()


def test_a_slice_that_nothing_moves_is_not_tested_against_its_rest() -> None:
    """Errors of 0.3 throughout a slice may be other ones in other rows; a slice of all rows is equal to them."""
    error = np.where(np.arange(90) < 30, 0.3, np.random.default_rng(2).random(90))
    frame = pl.DataFrame(
        {"y": 0.0, "p": error, "g": np.where(np.arange(90) < 30, "flat", "other"), "h": "one"}
    )
    found = plm.evaluate(
        frame,
        task="regression",
        label="y",
        models="p",
        metrics=["mae"],
        slices=["g", "h"],
        uncertainty={"replicates": 100},
        compare={"slices": {"g": ["rest"], "h": ["all"]}},
    ).comparisons
    flat = found.filter(slice="g=flat")
    assert flat.select("interval_status", "lower", "p_value", "status").row(0) == (
        "degenerate",
        None,
        None,
        "ok",
    )
    assert flat["difference"].item() == pytest.approx(0.3 - error[30:].mean())
    same = found.filter(slice="h=one")
    assert same.select("difference", "lower", "upper", "reading").row(0) == (0.0, 0.0, 0.0, "equal")


def test_models_that_order_some_rows_alike_are_not_equal_in_these() -> None:
    rng = np.random.default_rng(8)
    rows, label, score = 240, rng.integers(0, 2, 240), rng.random(240)
    alike = np.arange(rows) < 100
    frame = pl.DataFrame(
        {"y": label, "a": score, "b": np.where(alike, score**2, rng.random(rows)), "g": alike}
    )
    found = plm.evaluate(
        frame,
        label="y",
        models=["a", "b"],
        metrics=["roc_auc"],
        slices=["g"],
        uncertainty={"replicates": 100},
        compare="a",
    ).comparisons
    part = found.filter(slice="g=true")
    assert part["difference"].item() == 0.0
    assert part.select("interval_status", "lower").row(0) == ("degenerate", None)


@pytest.mark.slow
def test_a_norm_of_fewer_rows_is_not_tested_and_one_of_as_many_is() -> None:
    wanted = pl.col("metric").is_in(["ece", "brier"]) & (pl.col("scale") == "difference")
    read = ["metric", "interval_status", pl.col("note").str.contains("noise alone")]
    uneven, even = (
        rests(calibration(0.0, sizes)).comparisons.filter(wanted) for sizes in ((300, 900), (400, 400))
    )
    assert sorted(uneven.select(read).unique().rows()) == [
        ("brier", "ok", None),
        ("ece", "unequal_noise", True),
    ]
    assert uneven.filter(metric="ece")["difference"].null_count() == 0
    assert sorted(even.select(read).unique().rows()) == [("brier", "ok", None), ("ece", "ok", None)]


CALLED = [
    {"name": "twice", "formula": "2 * recall"},
    {"name": "called", "mean": "prediction"},
    {"name": "over_g", "over": {"slice_set": "g", "metric": "recall", "agg": "mean"}},
    "disparity(recall, by=g)",
    "recall",
]
UNCALLED = ["brier", "recall(threshold=0.3)", {"name": "low", "mean": "score < 0.2"}]


def test_what_is_made_of_calls_differs_where_one_score_is_cut_at_two_thresholds() -> None:
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"y": rng.integers(0, 2, 400), "p": rng.random(400), "g": rng.integers(0, 2, 400)})
    found = plm.evaluate(
        rows,
        label="y",
        models={"a": "p", "b": {"score": "p", "threshold": 0.7}},
        metrics=[*CALLED, *UNCALLED],
        slices={"g": "g"},
        compare="a",
        uncertainty={"replicates": 40},
    )
    values = {
        (row["model"], row["slice"], row["metric"]): row["value"] for row in found.metrics.rows(named=True)
    }
    for row in found.comparisons.rows(named=True):
        a, b = (values[model, row["slice"], row["metric"]] for model in "ab")
        same = row["metric"] in {"brier", "recall(threshold=0.3)", "low"}
        assert row["difference"] == b - a
        assert (a == b) == same
        assert (row["reading"] == "equal") == same


def test_gaps_of_classes_by_a_rule_are_compared() -> None:
    rng = np.random.default_rng(3)
    rows = pl.DataFrame(
        {f"{kind}_{name}": rng.random(200) for kind in "pq" for name in "ab"}
        | {f"is_{name}": rng.integers(0, 2, 200) for name in "ab"}
        | {"g": rng.integers(0, 2, 200)}
    )
    text = "disparity(precision(threshold=max(f1)), by=g)"
    found = plm.evaluate(
        rows,
        task="multilabel",
        label="is_",
        models={"m": {"proba": "p_"}, "n": {"proba": "q_"}, "same": {"proba": "p_"}},
        metrics=[text],
        slices={"g": "g"},
        compare="m",
    )
    values = dict(found.metrics.select("model", "value").iter_rows())
    assert found.comparisons["difference"].to_list() == [values["n"] - values["m"], 0.0]
    assert values["n"] != values["m"]


def test_differences_end_within_what_two_values_can_have() -> None:
    """Of four rows Student's quantiles reach beyond a difference of 1; without a range there is no limit."""
    frame = pl.DataFrame(
        {"y": [1, 0, 1, 0], "p": [0.9, 0.1, 0.95, 0.02], "q": [0.05, 0.9, 0.1, 0.99], "g": list("abab")}
    )
    asked: dict[str, Any] = {
        "label": "y",
        "models": ["p", "q"],
        "metrics": ["brier", "log_loss"],
        "uncertainty": {"replicates": 100},
    }
    compare = {"baseline": "q", "tests": ["paired_t"], "scales": ["difference", "ratio"]}
    result = plm.evaluate(frame, compare=compare, **asked)
    rows = result.comparisons.filter(metric="brier", scale="difference")
    assert rows.filter(test="paired_t")["lower"].item() == -1.0
    assert rows["lower"].min() == -1.0
    unlimited = result.comparisons.filter(metric="log_loss", scale="difference")
    assert (unlimited["lower"] < -4).all()


def test_all_pairs_of_models_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 320 models 51,040 pairs one by one took a third of the run; their differences are those of the values."""
    made = []

    def counted(difference: Any, *arguments: Any, **keywords: Any) -> dict[str, Any]:
        made.append(len(difference.difference))
        return comparison_columns(difference, *arguments, **keywords)

    monkeypatch.setattr(contrasts, "comparison_columns", counted)
    draw = np.random.default_rng(4)
    scores = {f"m{number:02}": draw.random(60) for number in range(12)}
    rows = {"y": draw.integers(0, 2, 60), "g": draw.choice(["a", "b"], 60), **scores}
    result = plm.evaluate(
        pl.DataFrame(rows),
        label="y",
        models=list(scores),
        metrics=["brier", "log_loss"],
        slices=["g"],
        compare={"pairs": "all"},
        uncertainty={"replicates": 20},
    )
    pairs = 12 * 11 // 2
    assert sorted(made) == sorted([pairs, 2 * pairs] * 2)
    values = {row[:3]: row[3] for row in result.metrics.select("model", "slice", "metric", "value").rows()}
    found = result.comparisons.select("model", "baseline", "slice", "metric", "difference").rows()
    for model, baseline, name, metric, difference in found:
        expected = values[model, name, metric] - values[baseline, name, metric]
        assert difference == pytest.approx(expected, abs=1e-12)
    assert len({row[:4] for row in found}) == len(found) == 2 * 3 * pairs


@pytest.mark.parametrize("method", ["jackknife", "analytic", "bootstrap"])
def test_gaps_to_all_rows_of_areas_that_nobody_lists_are_compared(method: str) -> None:
    random = np.random.default_rng(8)
    label, group = np.tile([0, 1], 150), np.repeat(list("abc"), 100)
    scores = {name: label + random.normal(scale=2.0, size=300) for name in ("old", "new")}
    metric = "disparity(roc_auc, by=g, method=to_overall)"
    found = plm.evaluate(
        pl.DataFrame({"y": label, "g": group, **scores}),
        label="y",
        models=["old", "new"],
        metrics=[metric],
        slices={"g": "g"},
        uncertainty={"method": method, "replicates": 50},
        compare="old",
    )
    gaps = {
        name: max(
            abs(roc_auc_score(label[group == one], score[group == one]) - roc_auc_score(label, score))
            for one in "abc"
        )
        for name, score in scores.items()
    }
    assert dict(found.metrics.select("model", "value").iter_rows()) == pytest.approx(gaps)
    assert found.comparisons["difference"].to_list() == pytest.approx([gaps["new"] - gaps["old"]])
