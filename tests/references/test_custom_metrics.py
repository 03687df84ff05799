"""Metrics that a suite defines, against sums by hand; formulas and metrics over slices against their parts."""

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm


def table(rows=500, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.round(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1), 3),
            "q": rng.uniform(size=rows),
            "w": rng.integers(0, 4, rows),
            "amount": [None if i % 11 == 0 else float(x) for i, x in enumerate(rng.normal(100, 30, rows))],
            "area": rng.integers(1, 9, rows),
            "region": rng.choice(["north", "south", "west"], rows),
            "customer": rng.integers(0, 120, rows),
        }
    )


METRICS = [
    {"name": "rate", "mean": "score < 0.4"},
    {"name": "rate_large", "mean": "score < 0.4", "where": "amount > 100"},
    {"name": "amount_mean", "mean": "amount"},
    {"name": "risk", "sum": "amount * score", "where": "region <> 'west'"},
    {"name": "hits", "sum": "label = 1 AND prediction = 1"},
    {"name": "density", "ratio": {"numerator": "amount * label", "denominator": "area"}},
    {"name": "absent", "null_share": "amount"},
    {"name": "absent_north", "null_share": "amount", "where": "region = 'north'"},
    {"name": "spread", "std": "amount"},
    {"name": "doubled", "mean": "weight * 2"},
]


def by_hand(rows, model, weight):
    """Every metric of the list, row by row."""
    sums = {name: [0.0, 0.0] for name in (metric["name"] for metric in METRICS)}
    amounts = []

    def add(name, w, value, divisor=1.0):
        sums[name][0] += w * value
        sums[name][1] += w * divisor

    for row in rows.iter_rows(named=True):
        w = row[weight] if weight else 1.0
        if w == 0:
            continue
        score, amount = row[model], row["amount"]
        add("rate", w, score < 0.4)
        add("hits", w, row["y"] == 1 and score >= 0.5)
        add("absent", w, amount is None)
        add("doubled", w, 2 * w)
        if row["region"] == "north":
            add("absent_north", w, amount is None)
        if amount is None:
            continue
        amounts.append((w, amount))
        add("amount_mean", w, amount)
        add("density", w, amount * row["y"], row["area"])
        if row["region"] != "west":
            add("risk", w, amount * score)
        if amount > 100:
            add("rate_large", w, score < 0.4)
    out = {name: a / b if b else None for name, (a, b) in sums.items()}
    out["risk"], out["hits"] = sums["risk"][0], sums["hits"][0]
    total = sum(w for w, _ in amounts)
    mean = sum(w * x for w, x in amounts) / total
    out["spread"] = math.sqrt(sum(w * (x - mean) ** 2 for w, x in amounts) / total)
    return out


@pytest.mark.parametrize("weight", [None, "w"])
def test_aggregates_of_rows(weight):
    rows = table()
    found = plm.evaluate(
        rows, label="y", models=["p", "q"], weight=weight, metrics=METRICS, slices="region"
    ).metrics
    for model in ("p", "q"):
        for region in (None, "north", "south", "west"):
            part = rows if region is None else rows.filter(region=region)
            name = "all" if region is None else f"region={region}"
            values = dict(found.filter(model=model, slice=name).select("metric", "value").iter_rows())
            for metric, value in by_hand(part, model, weight).items():
                assert values[metric] == (None if value is None else pytest.approx(value, rel=1e-12)), metric


def test_predictions_are_cut_at_the_threshold_of_the_model():
    rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.35, 0.3, 0.6, 0.1]})
    models = {"low": {"score": "p", "threshold": 0.3}, "plain": "p"}
    metrics = [{"name": "called", "mean": "prediction"}, "selection_rate"]
    found = plm.evaluate(rows, label="y", models=models, metrics=metrics).metrics
    assert found.select("model", "value").rows() == [("low", 0.75)] * 2 + [("plain", 0.25)] * 2


def test_statuses_and_counts():
    rows = table().with_columns(
        amount=pl.when(pl.col("region") == "north")
        .then(float("inf"))
        .when(pl.col("region") == "west")
        .then("amount")
    )
    metrics = [
        {"name": "m", "mean": "amount"},
        {"name": "s", "sum": "amount"},
        {"name": "d", "std": "amount"},
    ]
    found = plm.evaluate(rows, label="y", models="p", metrics=metrics, slices="region").metrics
    status = {
        (row["slice"], row["metric"]): (row["status"], row["note"]) for row in found.iter_rows(named=True)
    }
    north = rows.filter(region="north").height
    for metric in "msd":
        assert status["all", metric] == ("not_finite", f"values that are not finite: {north}")
        assert status["region=north", metric][0] == "not_finite"
        assert status["region=west", metric] == ("ok", None)
    assert status["region=south", "m"] == ("zero_denominator", None)
    assert status["region=south", "s"] == ("ok", None)
    assert found.filter(slice="region=south", metric="s")["value"].item() == 0


def test_shares_get_the_intervals_of_proportions():
    rows = table(60).with_columns(p=pl.lit(0.1))
    found = plm.evaluate(
        rows, label="y", models="p", metrics=[{"name": "low", "mean": "score < 0.2"}], uncertainty=True
    )
    row = found.metrics.row(0, named=True)
    assert (row["value"], row["method"], row["upper"]) == (1.0, "wilson", 1.0)


def test_an_interval_is_that_of_the_same_number_in_the_catalogue():
    rows = table(3000)
    metrics = [
        "brier",
        "tp",
        {"name": "b", "mean": "POWER(score - label, 2)"},
        {"name": "t", "sum": "label = 1 AND score >= 0.5"},
    ]
    found = plm.evaluate(
        rows,
        label="y",
        models=["p", "q"],
        unit="customer",
        metrics=metrics,
        uncertainty={"replicates": 200, "interval": "percentile"},  # the scale of t follows the range
        compare="p",
        slices="region",
    )
    for one, other in (("brier", "b"), ("tp", "t")):
        columns = ["value", "lower", "upper", "std_error", "blocks"]
        mine, theirs = (found.metrics.filter(metric=name).select(columns).to_numpy() for name in (one, other))
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
        columns = ["difference", "lower", "upper", "p_value"]
        mine, theirs = (
            found.comparisons.filter(metric=name).select(columns).to_numpy() for name in (one, other)
        )
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_formulas_follow_their_parts():
    rows = table(2000)
    metrics = [
        "fp",
        "fn",
        "recall(threshold=0.3)",
        "roc_auc",
        {"name": "cost", "formula": "50*fp + 2000*fn"},
        {"name": "mix", "formula": "2 * recall(threshold=0.3) - roc_auc / 2"},
        {"name": "nested", "formula": "cost / 2 + rate"},
        {"name": "rate", "mean": "score < 0.4"},
        {"name": "quoted", "formula": '"recall(threshold=0.3)" * 1'},
    ]
    found = plm.evaluate(
        rows,
        label="y",
        models=["p", "q"],
        metrics=metrics,
        slices="region",
        uncertainty={"replicates": 100, "interval": "percentile"},  # the scale of t follows the range
        compare="p",
    )
    wide = found.metrics.pivot("metric", index=["model", "slice"], values="value")
    checks = {
        "cost": 50 * wide["fp"] + 2000 * wide["fn"],
        "mix": 2 * wide["recall(threshold=0.3)"] - wide["roc_auc"] / 2,
        "nested": wide["cost"] / 2 + wide["rate"],
        "quoted": wide["recall(threshold=0.3)"],
    }
    for name, value in checks.items():
        np.testing.assert_allclose(wide[name], value, rtol=1e-12)
    ends = found.metrics.select("metric", "lower", "upper", "std_error")
    recall, quoted = (
        ends.filter(metric=m).drop("metric").to_numpy() for m in ("recall(threshold=0.3)", "quoted")
    )
    np.testing.assert_allclose(recall, quoted, rtol=1e-12)
    assert found.metrics.filter(metric="cost")["std_error"].min() > 0
    assert found.comparisons.filter(metric="cost")["p_value"].null_count() == 0


def test_an_undefined_part_makes_a_formula_undefined_unless_it_says_otherwise():
    rows = pl.DataFrame({"y": [0, 0, 1, 1], "p": [0.1, 0.2, 0.3, 0.4], "g": ["a", "a", "b", "b"]})
    metrics = [
        {"name": "sum_of", "formula": "precision + recall"},
        {"name": "filled", "formula": "COALESCE(precision, 0) + 1"},
        {"name": "divided", "formula": "tp / fp"},
    ]
    found = plm.evaluate(rows, label="y", models="p", metrics=metrics, slices="g", min_rows=3).metrics
    got = {
        (row["slice"], row["metric"]): (row["value"], row["status"]) for row in found.iter_rows(named=True)
    }
    assert got["all", "sum_of"] == (None, "zero_denominator")
    assert got["all", "filled"] == (1.0, "ok")
    assert got["all", "divided"] == (None, "zero_denominator")
    assert got["g=a", "filled"] == (None, "too_few_rows")


@pytest.mark.slow
def test_intervals_of_the_best_of_slices_that_are_all_alike_hold_their_rate():
    held = {"max": [], "min": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows = {
            "y": np.ones(2000, dtype=int),
            "p": rng.random(2000) < 0.8,
            "group": rng.integers(0, 20, 2000),
        }
        found = plm.evaluate(
            pl.DataFrame(rows).with_columns(pl.col("p").cast(pl.Float64)),
            label="y",
            models="p",
            metrics=[
                {"name": agg, "over": {"slice_set": "group", "metric": "accuracy", "agg": agg}}
                for agg in held
            ],
            slices=["group"],
            uncertainty={"replicates": 100},
        ).metrics
        for name, value, lower, upper in found.select("metric", "value", "lower", "upper").iter_rows():
            assert lower <= value <= upper
            held[name].append(lower <= 0.8 <= upper)
    assert all(np.mean(cover) >= 0.75 for cover in held.values()), held


@pytest.mark.exhaustive
@pytest.mark.parametrize("agg", ["mean", "sum", "min", "max", "worst"])
def test_over_slices(agg):
    rows = table(2000)
    metrics = [
        "recall",
        {"name": "over_regions", "over": {"slice_set": "region", "metric": "recall", "agg": agg}},
    ]
    found = plm.evaluate(
        rows,
        label="y",
        models=["p", "q"],
        metrics=metrics,
        slices=["region", "area"],
        uncertainty={"replicates": 60},
        compare="p",
    )
    rule = {"mean": np.mean, "sum": np.sum, "min": np.min, "max": np.max, "worst": np.min}[agg]
    for model in ("p", "q"):
        values = found.metrics.filter(model=model, slice_set="region", metric="recall")["value"]
        row = found.metrics.filter(model=model, metric="over_regions").row(0, named=True)
        assert (row["slice_set"], row["slice"], row["slice_values"]) == ("region", "all", [])
        assert row["value"] == pytest.approx(rule(values.to_numpy()))
        assert row["n"] == rows.height
        assert row["lower"] < row["value"] < row["upper"]
    difference = found.comparisons.filter(metric="over_regions").row(0, named=True)
    by_model = found.metrics.filter(metric="over_regions")["value"]
    assert difference["difference"] == pytest.approx(by_model[1] - by_model[0])
    assert found.metrics.filter(metric="over_regions").height == 2


@pytest.mark.parametrize("uncertainty", [{"replicates": 300}, {"method": "jackknife"}])
def test_a_mean_by_rows_is_that_of_all_rows(uncertainty):
    by_rows = {"name": "by_rows", "over": {"slice_set": "region", "metric": "accuracy", "weight": "n"}}
    found = plm.evaluate(
        table(2000),
        label="y",
        models=["p", "q"],
        metrics=["accuracy", "n", by_rows],
        slices=["region"],
        uncertainty=uncertainty,
        compare="p",
    )
    numbers = ["value", "lower", "upper", "std_error", "n"]
    overall = found.metrics.filter(slice="all", metric="accuracy").select(numbers)
    assert_frame_equal(found.metrics.filter(metric="by_rows").select(numbers), overall, rel_tol=1e-3)
    differences = ["difference", "lower", "upper", "p_value"]
    expected = found.comparisons.filter(slice="all", metric="accuracy").select(differences)
    compared = found.comparisons.filter(metric="by_rows").select(differences)
    assert_frame_equal(compared, expected, rel_tol=2e-3)


def test_slices_are_weighed_by_a_metric():
    rows = table(900).with_columns(sales=pl.int_range(900) % 7 + (pl.col("region") == "north") * 20)
    over = {"slice_set": "region", "metric": "recall"}
    metrics = [
        "recall",
        {"name": "sales", "sum": "sales"},
        {"name": "below", "mean": "sales - 10"},
        {"name": "nothing", "sum": "0 * sales"},
        *({"over": over | {"weight": name}} for name in ("sales", "below", "nothing")),
    ]
    found = plm.evaluate(rows, label="y", models="p", metrics=metrics, slices=["region"]).metrics
    by_region = rows.filter(y=1).group_by("region").agg(recall=(pl.col("p") >= 0.5).mean())
    weights = rows.group_by("region").agg(pl.col("sales").sum())
    pair = by_region.join(weights, on="region")
    expected = (pair["recall"] * pair["sales"]).sum() / pair["sales"].sum()
    answers = {row["metric"]: row for row in found.filter(slice_set="region", slice="all").to_dicts()}
    assert answers["mean_recall_over_region_by_sales"]["value"] == pytest.approx(expected)
    for name, status in {"below": "negative_weight", "nothing": "zero_denominator"}.items():
        answer = answers[f"mean_recall_over_region_by_{name}"]
        assert (answer["value"], answer["status"]) == (None, status)


def test_undefined_slices_are_left_out_and_counted():
    rows = pl.DataFrame(
        {"y": [0, 1, 1, 0, 0, 1], "p": [0.9, 0.8, 0.2, 0.1, 0.6, 0.7], "g": ["a", "a", "a", "b", "c", "c"]}
    )
    metrics = ["recall", {"over": {"slice_set": "g", "metric": "recall"}}]
    found = plm.evaluate(rows, label="y", models="p", metrics=metrics, slices="g")
    row = found.metrics.filter(slice_set="g", slice="all").row(0, named=True)
    assert row["metric"] == "mean_recall_over_g"
    assert row["value"] == pytest.approx((0.5 + 1.0) / 2)
    assert row["note"] == "undefined slices left out: 1"
    assert row["n"] == 5
    nobody = plm.evaluate(rows, label="y", models="p", metrics=metrics, slices="g", min_rows=100)
    row = nobody.metrics.filter(slice_set="g", slice="all").row(0, named=True)
    assert (row["value"], row["status"]) == (None, "no_defined_slices")


def test_gates_on_what_is_put_together_over_slices():
    rows = table()
    metrics = [
        "recall",
        {"name": "worst_recall", "over": {"slice_set": "region", "metric": "recall", "agg": "worst"}},
    ]
    for limit, verdict in ((0.0, "pass"), (1.0, "fail")):
        gate = {"metric": "worst_recall", "at_least": limit}
        found = plm.evaluate(
            rows, label="y", models="p", metrics=metrics, slices=["region", "area"], gates=[gate]
        )
        assert found.gates.select("slice_set", "slice", "verdict").rows() == [("region", "all", verdict)]
    gate = {"metric": "worst_recall", "at_least": 0, "slices": "area"}
    given = {"label": "y", "models": "p", "metrics": metrics, "slices": ["region", "area"], "gates": [gate]}
    with pytest.raises(plm.ConfigError, match="'worst_recall' is not asked for in slice set 'area'"):
        plm.evaluate(rows, **given)


def test_metrics_in_some_slice_sets_only():
    rows = table()
    metrics = [
        "recall",
        {"metric": "roc_auc", "slices": ["region"]},
        {"metric": "ks", "slices": []},
        {"name": "m", "mean": "score", "slices": "area"},
    ]
    found = plm.evaluate(
        rows, label="y", models=["p", "q"], metrics=metrics, slices=["region", "area"], compare="p"
    )
    wanted = {
        "recall": {"overall", "region", "area"},
        "roc_auc": {"overall", "region"},
        "ks": {"overall"},
        "m": {"overall", "area"},
    }
    for table_ in (found.metrics, found.comparisons):
        for metric, sets in wanted.items():
            assert set(table_.filter(metric=metric)["slice_set"]) == sets
    whole = plm.evaluate(rows, label="y", models=["p", "q"], metrics=["roc_auc"], slices=["region", "area"])
    ours = found.metrics.filter(metric="roc_auc", slice_set="region")
    alone = whole.metrics.filter(slice_set="region")["value"].to_list()
    assert ours["value"].to_list() == pytest.approx(alone, rel=1e-12)
    gate = {"metric": "roc_auc", "slices": "all", "at_least": 0}
    gated = plm.evaluate(
        rows, label="y", models="p", metrics=metrics, slices=["region", "area"], gates=[gate]
    )
    assert set(gated.gates["slice_set"]) == {"overall", "region"}
    assert gated.verdict == "pass"


def test_custom_metrics_of_a_regression():
    rows = table().with_columns(y=pl.col("area").cast(pl.Float64))
    metrics = [
        "mae",
        {"name": "own_mae", "mean": "ABS(prediction - label)"},
        {"name": "within", "mean": "ABS(score - label) < 3"},
    ]
    found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=metrics).metrics["value"]
    assert found[0] == pytest.approx(found[1])
    assert found[2] == pytest.approx(((rows["p"] - rows["y"]).abs() < 3).mean())


CONFIG, DATA = plm.ConfigError, plm.DataError


@pytest.mark.parametrize(
    ("metric", "error", "words"),
    [
        ({"mean": "amout"}, DATA, "column 'amout' (in metric 'm') is not in the data"),
        ({"mean": "region"}, CONFIG, "does not fit the columns' types"),
        ({"mean": "(SELECT 1)"}, CONFIG, "a subquery is not allowed"),
        ({"mean": "AVG(amount)"}, CONFIG, "aggregate AVG is not allowed"),
        ({"mean": "'x'"}, CONFIG, "is a text, not a number"),
        ({"mean": "score", "where": "amount + 1"}, CONFIG, "is not a condition"),
        ({"mean": "score", "were": "amount > 1"}, CONFIG, "unknown key 'were'"),
        ({"ratio": "a / b"}, CONFIG, "ratio needs a numerator and a denominator"),
        ({"mean": True}, CONFIG, "must be an SQL expression"),
        ({"name": None, "mean": "score"}, CONFIG, "needs a name"),
        ({"name": "recall", "mean": "score"}, CONFIG, "'recall' is a metric of the catalogue already"),
        ({"name": "tpr", "mean": "score"}, CONFIG, "'tpr' is a metric of the catalogue already"),
        ({"mean": "score", "direction": "up"}, CONFIG, "direction must be one of"),
        ({"quantile": "score"}, CONFIG, "quantile needs q"),
        ({"formula": "50*fpp"}, CONFIG, "unknown metric 'fpp'"),
        ({"formula": "50"}, CONFIG, "names no metric"),
        ({"formula": "recall >"}, CONFIG, "'recall >'"),
        ({"formula": "m + recall"}, CONFIG, "defined by itself: m -> m"),
        ({"formula": "recall > 0.5"}, CONFIG, "is no number"),
        ({"over": {"metric": "recall"}}, CONFIG, "over needs slice_set and metric"),
        (
            {"over": {"slice_set": "region", "metric": "recall", "agg": "max", "weight": "n"}},
            CONFIG,
            "weight is of a mean, not of agg max",
        ),
        ({"over": {"slice_set": "regio", "metric": "recall"}}, CONFIG, "did you mean 'region'?"),
        ({"over": {"slice_set": "region", "metric": "recall", "agg": "avg"}}, CONFIG, "agg must be one of"),
        ({"over": {"slice_set": "region", "metric": "n", "agg": "worst"}}, CONFIG, "'n' has no worse side"),
        ({"metric": "recall", "slices": ["regin"]}, CONFIG, "'regin' is not one of the slice sets"),
        ({"metric": "recall", "slices": 3}, CONFIG, "slices must be a slice set or a list"),
    ],
)
def test_what_is_wrong_is_said(metric, error, words):
    metric = metric if "metric" in metric else {"name": "m"} | metric
    given = {key: value for key, value in metric.items() if value is not None}
    with pytest.raises(error) as caught:
        plm.evaluate(table(20), label="y", models="p", metrics=[given], slices="region")
    assert words in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_two_definitions_of_one_name():
    metrics = [{"name": "m", "mean": "score"}, {"name": "m", "sum": "score"}]
    with pytest.raises(plm.ConfigError, match="the metric 'm' is defined twice"):
        plm.evaluate(table(20), label="y", models="p", metrics=metrics)


def test_a_metric_class_with_columns_of_its_own():
    class Exposure(plm.Metric):
        name, task, family = "exposure", "binary", "sums"
        range, direction = (0.0, math.inf), "lower"

        def columns(self):
            return ("area",)

        def atoms(self):
            return {"at_risk": plm.Atom("area_at_risk", lambda rows: rows.column("area") * rows.score)}

        def finalise(self, state):
            return state.at_risk / state.weight

    rows = table()
    found = plm.evaluate(rows, label="y", models="p", weight="w", metrics=[Exposure()], uncertainty=True)
    row = found.metrics.row(0, named=True)
    wanted = (rows["area"] * rows["p"] * rows["w"]).sum() / rows["w"].sum()
    assert row["value"] == pytest.approx(wanted)
    assert row["lower"] < wanted < row["upper"]
    assert rows.select(Exposure().expr("y", "p", "w")).item() == pytest.approx(wanted)


class Constants(plm.Metric):
    """Sums of constants, as a plug-in may write them."""

    name, task, family = "constants", "binary", "sums"
    range, direction = (0.0, math.inf), "none"

    def atoms(self):
        counted = plm.Atom("every row", lambda _: pl.lit(value=True), counts=True)
        return {"twos": plm.Atom("twos", lambda _: pl.lit(2.0)), "rows": counted}

    def finalise(self, state):
        return state.twos + 100 * state.rows


@pytest.mark.parametrize("reproducible", [False, True])
def test_sums_of_constants_count_every_row(reproducible):
    rows = table().drop("w")
    metrics = [
        {"name": "rows", "sum": "1"},
        {"name": "weights", "sum": "weight"},
        {"name": "thirds", "sum": "1 / 3", "where": "TRUE"},
        {"name": "ten", "mean": "10"},
        {"name": "filled", "null_share": "1"},
        {"name": "rate", "formula": "tp / rows"},
        "tp",
        Constants(),
    ]
    arguments = {"label": "y", "models": {"m": "p"}, "slices": "region", "metrics": metrics}
    found = plm.evaluate(rows, **arguments, where="1 = 1", reproducible=reproducible).metrics
    for (slice_,), part in found.group_by("slice"):
        own = rows if slice_ == "all" else rows.filter(region=slice_.removeprefix("region="))
        value = dict(part.select("metric", "value").iter_rows())
        tp = own.filter(y=1).filter(pl.col("p") >= 0.5).height
        wanted = [own.height, own.height, own.height / 3, 10.0, 0.0, tp / own.height, tp, 102 * own.height]
        assert list(value.values()) == pytest.approx(wanted, rel=1e-12), slice_


@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
def test_a_null_share_counts_nan(missing):
    """Of a score by its column, of another column in either width, of a quotient; a text `NaN` is one like others."""
    nan = float("nan")
    scores = [0.1, nan, 0.7, 0.9] if missing != "error" else [0.1, 0.2, 0.7, 0.9]
    rows = pl.DataFrame(
        {"y": [0, 1, 0, 1], "p": scores, "x": [nan, None, 0.0, 2.0], "t": ["NaN", None, "a", "b"]}
    ).with_columns(narrow=pl.col("x").cast(pl.Float32))
    asked = {"score": "p", "column": "x", "narrow": "narrow", "quotient": "x / x", "text": "t", "bare": "1"}
    metrics = [{"name": name, "null_share": sql} for name, sql in asked.items()]
    found = plm.evaluate(rows, label="y", models={"m": "p"}, metrics=metrics, missing=missing).metrics
    shares = dict(found.select("metric", "value").iter_rows())
    expected = [0 if missing == "error" else 1 / 4, 1 / 2, 1 / 2, 3 / 4, 1 / 4, 0]
    assert shares == dict(zip(asked, expected, strict=True))


def test_a_constant_select_on_and_fit_on_hold_for_every_row():
    rows = table()
    chosen = plm.evaluate(
        rows, label="y", models={"m": "p"}, metrics=["precision(threshold=max(f1, select_on='TRUE'))"]
    )
    assert any(f"{rows.height:,} rows" in warning for warning in chosen.record["warnings"])
    with pytest.raises(plm.DataError, match=f"holds for all {rows.height:,} rows"):
        plm.evaluate(
            rows,
            label="y",
            models={"m": "p"},
            metrics=["brier"],
            calibrate={"method": "platt", "fit_on": "TRUE"},
        )


def test_a_mean_over_units_has_no_interval_of_the_units_that_replicates_draw():
    """Replicates hold 63 % of the units: their means over those vary by three quarters of what they should."""
    draw = np.random.default_rng(5)
    unit = np.repeat(np.arange(60), draw.integers(1, 6, 60))
    rate = draw.random(60)
    hits = {name: (draw.random(len(unit)) < rate[unit]).astype(int) for name in ("a", "b")}
    rows = pl.DataFrame({"unit": unit, **hits}).with_columns(y=pl.lit(1))
    macro = {"name": "macro", "over": {"slice_set": "unit", "metric": "accuracy", "agg": "mean"}}
    total = {"name": "total", "over": {"slice_set": "unit", "metric": "tp", "agg": "sum"}}

    def of(method):
        models = {name: {"prediction": name} for name in hits}
        return plm.evaluate(
            rows, label="y", models=models, metrics=[macro, total, "tp"], slices="unit", unit="unit",
            compare="a", uncertainty={"method": method, "replicates": 100},
        )  # fmt: skip

    drawn, left_out = of("bootstrap"), of("jackknife")
    without = drawn.metrics.filter(metric="macro")
    assert without["interval_status"].to_list() == ["undefined_replicates"] * 2
    assert drawn.comparisons.filter(metric="macro")["p_value"].to_list() == [None]
    totals = drawn.metrics.filter(pl.col("slice") == "all", pl.col("metric") != "macro", model="a")
    assert totals["interval_status"].to_list() == ["ok", "ok"]
    assert totals["std_error"][0] == pytest.approx(totals["std_error"][1])
    means = rows.group_by("unit").agg(pl.col("a", "b").mean())
    difference = (means["b"] - means["a"]).to_numpy()
    reach = stats.t.ppf(0.975, 59) * difference.std(ddof=1) / np.sqrt(60)
    found = left_out.comparisons.filter(metric="macro").row(0, named=True)
    assert found["lower"] == pytest.approx(difference.mean() - reach)
    assert found["upper"] == pytest.approx(difference.mean() + reach)


@pytest.mark.parametrize(
    ("task", "label", "model", "words"),
    [
        ("multilabel", {"a": "one", "b": "two"}, {"proba": {"a": "low", "b": "high"}}, "one score a row"),
        ("quantile", "y", {"quantiles": {0.1: "low", 0.9: "high"}}, "the quantile 0.5"),
    ],
)
@pytest.mark.parametrize("metric", [{"mean": "y - score"}, {"quantile": "prediction", "q": 0.5}])
def test_a_model_without_one_score_a_row_has_none_in_expressions(task, label, model, words, metric):
    rows = pl.DataFrame(
        {"y": [1.0, 2.0], "low": [0.1, 0.2], "high": [0.8, 0.9], "one": [0, 1], "two": [1, 1]}
    )
    asked = {"task": task, "label": label, "models": {"m": model}}
    with pytest.raises(plm.ConfigError, match=f"k needs {words}, which model 'm' does not have"):
        plm.evaluate(rows, **asked, metrics=[{"name": "k"} | metric])
    assert plm.evaluate(rows, **asked, metrics=[{"name": "k", "mean": "low"}]).metrics.height == 1


def test_a_linear_formula_has_the_bound_of_its_metric():
    random = np.random.default_rng(1)
    score = random.random(60_000) ** 8
    rows = pl.DataFrame({"p": score, "y": (random.random(60_000) < score).astype(int)})
    metrics = ["average_precision", {"name": "loss", "formula": "1 - 3 * average_precision"}]
    exact, found = (
        plm.evaluate(rows, label="y", models="p", metrics=metrics, exact=exact).metrics
        for exact in (True, False)
    )
    area, loss = found["bound"].to_list()
    assert loss == pytest.approx(3 * area)
    assert 0 < abs(found["value"][1] - exact["value"][1]) <= loss
