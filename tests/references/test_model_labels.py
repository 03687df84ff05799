"""Models with labels and weights of their own, against scikit-learn on each label and weight by itself."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import wilcoxon
from sklearn import metrics as sk
from sklearn.linear_model import LogisticRegression

import plmetrics as plm

RNG = np.random.default_rng(12)
ROWS = 1_500
TABLE = pl.DataFrame(
    {
        "late": RNG.random(ROWS) < 0.3,
        "score": RNG.random(ROWS).round(2),
        "weight": RNG.integers(0, 4, ROWS) / 2,
        "region": RNG.choice(["north", "south"], ROWS),
    }
).with_columns(lost=pl.col("score") + RNG.normal(0, 0.3, ROWS) > 0.6)
METRICS = {
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
    "log_loss": sk.log_loss,
    "f1": lambda y, p, **weights: sk.f1_score(y, p >= 0.5, **weights),
}
SIDES = {
    "first": ("late", "weight"),
    "first_unweighted": ("late", None),
    "second": ("lost", "weight"),
    "second_unweighted": ("lost", None),
}
MODELS = {"first": "score", "second": {"score": "score", "label": "lost"}}


def expected(rows, label, weight):
    weights = {} if weight is None else {"sample_weight": rows[weight].to_numpy()}
    numbers = rows[label].to_numpy(), rows["score"].to_numpy()
    return {name: metric(*numbers, **weights) for name, metric in METRICS.items()}


def evaluate(table=TABLE, **options):
    given = {"label": "late", "weight": ["weight", None], "models": MODELS, "metrics": list(METRICS)}
    return plm.evaluate(table, **{**given, **options})


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"exact": True, "memory": "60MB"}])
def test_labels_and_weights_are_those_of_each_model(options):
    result = evaluate(slices=["region"], **options)
    assert result.metrics.height == 4 * 3 * len(METRICS)
    for row in result.metrics.to_dicts():
        rows = TABLE if row["slice"] == "all" else TABLE.filter(region=row["slice"].removeprefix("region="))
        assert row["value"] == pytest.approx(expected(rows, *SIDES[row["model"]])[row["metric"]], abs=1e-12)


def test_binned_areas_are_within_their_bounds():
    result = evaluate(exact=False, metrics=["roc_auc"])
    for row in result.metrics.to_dicts():
        gap = abs(row["value"] - expected(TABLE, *SIDES[row["model"]])["roc_auc"])
        assert gap <= (row["bound"] or 0.0) + 1e-12


def test_rows_of_weight_0_are_absent_where_weights_count():
    result = evaluate(metrics=["f1"])
    counts = dict(result.metrics.select("model", "n").iter_rows())
    present = TABLE.filter(pl.col("weight") > 0).height
    assert counts == {
        "first": present,
        "first_unweighted": ROWS,
        "second": present,
        "second_unweighted": ROWS,
    }


def test_effective_sizes_and_methods_heed_weights_of_single_models():
    models = {"plain": "score", "heavy": {"score": "score", "weight": "weight"}}
    options = {"weight": None, "models": models, "metrics": ["accuracy"]}
    result = evaluate(**options, uncertainty={"replicates": 50})
    weights = TABLE["weight"].to_numpy()
    sizes = dict(result.metrics.select("model", "blocks").iter_rows())
    assert sizes["plain"] == ROWS
    assert sizes["heavy"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), abs=1)
    assert "wilson" not in evaluate(**options, uncertainty={"method": "analytic"}).metrics["method"].to_list()


def test_weighted_is_compared_with_unweighted_in_one_bootstrap():
    result = evaluate(models="score", metrics=["f1"], compare="score", uncertainty={"replicates": 200})
    row = result.comparisons.row(0, named=True)
    both = [expected(TABLE, "late", weight)["f1"] for weight in (None, "weight")]
    assert (row["model"], row["baseline"]) == ("score_unweighted", "score")
    assert row["difference"] == pytest.approx(both[0] - both[1], abs=1e-12)
    assert row["lower"] < row["difference"] < row["upper"]


def test_errors_of_regressions_have_labels_of_their_own():
    models = {"a": {"score": "score", "label": "weight", "weight": False}, "b": "score"}
    table = TABLE.with_columns(target=pl.col("lost").cast(pl.Float64))
    result = plm.evaluate(
        table,
        label="target",
        weight="weight",
        models=models,
        task="regression",
        metrics=["rmse", "pearson", "spearman"],
    )
    values = {(row["model"], row["metric"]): row["value"] for row in result.metrics.to_dicts()}
    y, p, w = (table[name].to_numpy() for name in ("target", "score", "weight"))
    assert values["a", "rmse"] == pytest.approx(sk.root_mean_squared_error(w, p))
    assert values["b", "rmse"] == pytest.approx(sk.root_mean_squared_error(y, p, sample_weight=w))
    assert values["a", "pearson"] == pytest.approx(np.corrcoef(w, p)[0, 1])
    assert values["b", "pearson"] == pytest.approx(
        np.cov(y, p, aweights=w)[0, 1] / np.sqrt(np.prod(np.diag(np.cov(y, p, aweights=w))))
    )
    from scipy.stats import spearmanr

    assert values["a", "spearman"] == pytest.approx(spearmanr(w, p).statistic)


@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
def test_rows_that_count_for_no_model_are_absent(missing):
    table = TABLE.with_columns(other=pl.col("weight").reverse(), size=pl.int_range(ROWS), none="score")
    junk = table.with_columns(
        size=pl.lit(ROWS, pl.Int64), region=pl.lit("nowhere"), weight=0.0, other=0.0, late=None
    )
    halves = {"m": (pl.col("weight") > 0, "score"), "k": (pl.col("other") > 0, "none")}
    table = table.with_columns(
        pl.when(present).then("score").alias(score) for present, score in halves.values()
    )
    options = {
        "label": "late",
        "weight": "weight",
        "models": {"m": "score", "k": {"score": "none", "weight": "other"}},
        "metrics": ["brier"],
        "slices": {"half": {"column": "size", "quantiles": 2}, "top": {"column": "region", "top": 2}},
    }
    wanted = plm.evaluate(table, missing=missing, **options).metrics.filter(pl.col("n") > 0)
    found = plm.evaluate(pl.concat([table, junk, junk]), missing=missing, **options).metrics
    assert wanted["n"][0] == (TABLE["weight"] > 0).sum()
    assert_frame_equal(found.filter(pl.col("n") > 0), wanted)


@pytest.mark.parametrize("labels", [False, True])
def test_quantiles_and_tops_are_of_rows_that_some_model_counts(labels):
    table = TABLE.with_columns(size=pl.int_range(ROWS))
    junk = table.with_columns(size=pl.lit(ROWS, pl.Int64), region=pl.lit("nowhere"), score=None)
    options = {
        "label": "late",
        "models": "score",
        "metrics": ["brier"],
        "slices": {"half": {"column": "size", "quantiles": 2}, "top": {"column": "region", "top": 2}},
        "labels": labels,
    }
    both = pl.concat([table, junk, junk])
    apart, shared = (plm.evaluate(both, missing=way, **options).metrics for way in ("drop_per_model", "drop"))
    assert apart["slice"].to_list() == shared["slice"].to_list()
    assert apart["n"].to_list() == shared["n"].to_list()


def test_bad_values_of_one_model_drop_the_row_for_it_alone():
    table = TABLE.with_columns(
        lost=pl.when(pl.int_range(ROWS) < 100).then(None).otherwise("lost"),
        other=pl.when(pl.int_range(ROWS) >= 1_450).then(None).otherwise("weight"),
    )
    models = {"a": "score", "b": {"score": "score", "label": "lost", "weight": "other"}}
    options = {"label": "late", "models": models, "metrics": ["f1"]}
    result = plm.evaluate(table, **options, missing="drop_per_model")
    sound = table.slice(100, 1_350).filter(pl.col("weight") > 0)
    assert result.metrics["n"].to_list() == [ROWS, sound.height]
    assert result.metrics["value"][1] == pytest.approx(expected(sound, "lost", "weight")["f1"])
    absent = table[:100].filter(pl.col("weight") > 0).height
    with pytest.raises(plm.DataError, match=rf"label of model 'b'.*{absent} of 1,500 values are null"):
        plm.evaluate(table, **options)


def test_the_label_of_a_table_is_not_needed_where_each_model_has_one():
    models = {"a": {"score": "score", "label": "late"}, "b": {"score": "score", "label": "lost"}}
    result = plm.evaluate(TABLE, models=models, metrics=["roc_auc"])
    assert result.metrics["value"].to_list() == pytest.approx(
        [expected(TABLE, label, None)["roc_auc"] for label in ("late", "lost")]
    )


AGAINST = {"metric": "f1", "against": "first", "no_worse_than": 0.1}
PLATT = {"method": "platt", "fit_on": "region = 'north'", "models": ["second"]}
RANKING = {"task": "ranking", "query": "region", "metrics": "map"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compare": "first"}, "models 'second' and 'first' have different labels, 'lost' and 'late'"),
        ({"gates": [AGAINST | {"model": "second"}]}, "models 'second' and 'first' have different labels"),
        (
            {"task": "uplift", "treatment": "late", "metrics": ["ate"]},
            "a label of one model belongs to task binary, multiclass, regression, quantile$",
        ),
        (
            RANKING | {"models": {"a": {"score": "score", "weight": "w"}}},
            "a weight of one model belongs to task binary, multiclass, regression, quantile, multilabel, uplift",
        ),
        (
            {"calibrate": PLATT, "gates": [AGAINST | {"model": "second_platt"}]},
            "models 'second_platt' and 'first' have different labels",
        ),
        ({"baseline": True}, "baseline reads one label"),
        ({"weight": ["weight"]}, "several weights are a list of different columns"),
        ({"models": {**MODELS, "first_unweighted": "score"}}, "would be named 'first_unweighted'"),
    ],
)
def test_what_labels_of_single_models_do_not_go_with(options, words):
    with pytest.raises(plm.ConfigError, match=words):
        evaluate(**{"metrics": ["f1"], **options})


@pytest.mark.parametrize(
    "metric",
    [
        "mase(time=t)",
        "scaled_mae(by=g)",
        "relative(mase(time=t), to=p)",
        "disparity(scaled_mae(by=g), by=g)",
        {"name": "half", "formula": "mase(time=t) / 2"},
        {"name": "mean", "over": {"slice_set": "g", "metric": "mase(time=t)"}},
    ],
)
@pytest.mark.parametrize(
    "several",
    [{"weight": ["w", None], "models": ["p"]}, {"models": {"p": "p", "o": {"score": "p", "label": "other"}}}],
)
def test_scales_of_the_labels_of_other_rows_are_of_one_label_and_one_weight(metric, several):
    rows = {"t": [0, 1, 2], "y": [1.0, 2.0, 4.0], "other": [5.0, 5.0, 8.0], "p": [1.0] * 3, "w": [1, 0, 1]}
    asked = {"task": "regression", "label": "y", "slices": ["g"], "metrics": [metric]}
    with pytest.raises(plm.ConfigError, match=r"reads one label and one weight, and models have some"):
        plm.evaluate(pl.DataFrame(rows).with_columns(g=pl.lit("a")), **asked, **several)


@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
def test_slices_whose_weights_are_0_are_those_of_the_model_without_weights(missing):
    """A level of weight 0 throughout, beside another slice column that it is crossed with."""
    level = np.where(TABLE["weight"] == 0, 7, np.arange(ROWS) % 2)
    table = TABLE.with_columns(level=pl.Series(level))
    found = evaluate(
        table, models={"first": "score"}, metrics=["brier"], slices=["level", "region"], missing=missing
    )
    rows = found.metrics.filter(model="first_unweighted").select("slice", "n", "value")
    wanted = {"all": table}
    wanted |= {f"level={number}": table.filter(level=number) for number in (0, 1, 7)}
    wanted |= {f"region={name}": table.filter(region=name) for name in ("north", "south")}
    assert rows["slice"].to_list() == list(wanted)
    assert rows["n"].to_list() == [part.height for part in wanted.values()]
    errors = [((part["score"] - part["late"].cast(pl.Int8)) ** 2).mean() for part in wanted.values()]
    assert rows["value"].to_list() == pytest.approx(errors)


@pytest.mark.exhaustive
@pytest.mark.parametrize("fit_on", ["region = 'north'", "fold"])
@pytest.mark.parametrize("missing", ["error", "drop_per_model"])
def test_calibrators_are_fitted_to_the_label_and_weight_of_their_model(fit_on, missing):
    table = TABLE.with_columns(pl.col("score").clip(0.01, 0.99))
    fold = {"fold": "region"} if fit_on == "fold" else {}
    calibrate = {"method": "platt", "fit_on": fit_on}
    found = evaluate(table, calibrate=calibrate, metrics=["log_loss"], missing=missing, **fold).metrics
    values = dict(found.select("model", "value").iter_rows())
    for name, (label, weight) in SIDES.items():
        losses, masses = [], []
        for here, there in (("south", "north"), ("north", "south"))[: 2 if fold else 1]:
            chances, rows = calibrated(table, here, there, label, weight)
            mass = np.ones(rows.height) if weight is None else rows[weight].to_numpy()
            losses.append(sk.log_loss(rows[label].to_numpy(), chances, sample_weight=mass))
            masses.append(mass.sum())
        assert values[f"{name}_platt"] == pytest.approx(np.average(losses, weights=masses), abs=1e-7)


def test_tests_of_folds_read_the_weights_of_each_model_and_tests_of_rows_say_why_not():
    table = TABLE.with_columns(fold=pl.int_range(ROWS) % 8, other=pl.col("score").reverse() + 0.01)
    models = {"a": {"score": "score", "weight": "weight"}, "b": "other"}
    tests = {"baseline": "a", "tests": ["wilcoxon", "mcnemar"]}
    options = {"label": "late", "models": models, "fold": "fold", "compare": tests}
    found = plm.evaluate(table, metrics=["accuracy"], **options).comparisons.drop_nulls("test")
    gaps = []
    for fold in range(8):
        rows = table.filter(fold=fold)
        label, mass = rows["late"], rows["weight"].to_numpy()
        values = [
            sk.accuracy_score(label, rows[score] >= 0.5, sample_weight=weight)
            for score, weight in (("other", None), ("score", mass))
        ]
        gaps.append(values[0] - values[1])
    by_test = {row["test"]: row for row in found.to_dicts()}
    assert by_test["wilcoxon"]["p_value"] == pytest.approx(wilcoxon(gaps).pvalue)
    assert by_test["mcnemar"]["status"] == "weighted"
    labels = {**models, "b": {"score": "other", "label": "lost"}}
    with pytest.raises(plm.ConfigError, match="a test reads one label"):
        plm.evaluate(table, metrics=["accuracy"], **{**options, "models": labels})


def calibrated(table, here, there, label, weight):
    """Chances of the rows of one region by scikit-learn's logistic regression on those of the other."""
    inner, outer = table.filter(region=here), table.filter(region=there)
    odds = [np.log(rows["score"] / (1 - rows["score"])).to_numpy()[:, None] for rows in (inner, outer)]
    mass = None if weight is None else outer[weight].to_numpy()
    curve = LogisticRegression(C=np.inf, tol=1e-10).fit(odds[1], outer[label].to_numpy(), mass)
    return curve.predict_proba(odds[0])[:, 1], inner


@pytest.mark.slow
def test_states_of_halves_add_to_the_run_of_all_rows():
    options = {
        "label": "late",
        "weight": ["weight", None],
        "models": MODELS,
        "metrics": ["f1", "roc_auc"],
        "slices": ["region"],
        "exact": False,
    }
    first = plm.state(TABLE.head(700), **options)
    second = plm.state(TABLE.tail(-700), **options, constants=first)
    merged = plm.merge(first, second)
    by_hand = evaluate(slices=["region"], metrics=["f1"])
    joined = by_hand.metrics.join(merged.metrics, on=["model", "slice", "metric"], suffix="|merged")
    assert joined.height == by_hand.metrics.height
    assert joined["value|merged"].to_list() == pytest.approx(joined["value"].to_list(), abs=1e-12)


def test_labels_and_weights_may_be_expressions():
    label, weight = {"expression": "score + 0 > 0.7"}, {"expression": "weight * 2 + 1"}
    models = {"a": "score", "b": {"score": "score", "label": label, "weight": weight}}
    result = plm.evaluate(
        TABLE, label={"expression": "weight > 0.5"}, models=models, metrics=["average_precision"]
    )
    rows = TABLE.with_columns(
        first=pl.col("weight") > 0.5, second=pl.col("score") > 0.7, mass=pl.col("weight") * 2 + 1
    )
    assert result.metrics["value"].to_list() == pytest.approx(
        [expected(rows, *side)["average_precision"] for side in (("first", None), ("second", "mass"))]
    )


def test_expressions_may_divide_and_have_lines():
    rows = TABLE.with_columns(pl.col("weight") + 1)
    label = {"expression": "weight\n / 2"}
    found = plm.evaluate(rows, task="regression", label=label, models="score", metrics=["mae"])
    error = (rows["weight"] / 2 - rows["score"]).abs().mean()
    assert found.metrics["value"].item() == pytest.approx(error)
    for expression in ("weight \\ 2", "weight || 'a'"):
        with pytest.raises(plm.PlmetricsError):
            plm.evaluate(
                rows, task="regression", label={"expression": expression}, models="score", metrics=["mae"]
            )


@pytest.mark.parametrize(
    ("expression", "error", "words"),
    [
        ("score >", plm.ConfigError, "label.expression: 'score >': something is missing"),
        (3, plm.ConfigError, "label.expression: expression is an SQL expression, not 3"),
        ("scor > 1", plm.DataError, "column 'scor'"),
        ("score + 1", plm.DataError, "neither 0 nor 1"),
    ],
)
def test_expressions_that_are_no_labels(expression, error, words):
    with pytest.raises(error, match=words) as raised:
        plm.evaluate(TABLE, label={"expression": expression}, models="score", metrics=["f1"])
    assert len(raised.value.problems) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
@pytest.mark.parametrize("bad", [None, float("nan"), -1.0])
def test_shares_of_nulls_are_of_the_rows_that_count_for_a_model(missing, bad):
    table = TABLE.with_row_index("row").with_columns(
        late=pl.when(pl.col("row") % 7 > 0).then("late"),
        other=pl.when(pl.col("row") % 11 == 0).then(bad).otherwise(pl.col("row") % 3).cast(pl.Float64),
    )
    models = {
        "first": {"score": "score", "weight": "weight"},
        "second": {"score": "score", "weight": "other"},
        "third": "score",
    }
    metrics = [{"name": "gap", "null_share": "label"}]
    result = plm.evaluate(
        table, label="late", models=models, metrics=metrics, missing=missing, slices=["region"]
    )
    assert result.metrics.height == 9
    for row in result.metrics.to_dicts():
        rows = table if row["slice"] == "all" else table.filter(region=row["slice"].removeprefix("region="))
        column = {"first": "weight", "second": "other", "third": None}[row["model"]]
        weight = np.ones(rows.height) if column is None else rows[column].to_numpy().astype(float)
        sound = np.nan_to_num(weight) > 0
        gap = weight[sound & rows["late"].is_null().to_numpy()].sum() / weight[sound].sum()
        assert (row["n"], row["weight"], row["value"]) == (
            sound.sum(),
            weight[sound].sum(),
            pytest.approx(gap),
        )
