from itertools import product
from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.inference.comparisons import tables

ROWS = 600
MODELS = {"a": "a", "b": "b", "same": "a"}
METRICS = ["roc_auc", "accuracy", "accuracy(threshold=0.3)", "brier", "log_loss"]


def scored(seed: int = 0, rows: int = ROWS) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    label = (random.random(rows) < 0.4).astype(int)
    one, other = (1 / (1 + np.exp(-(label * pull - 0.5 + random.normal(size=rows)))) for pull in (1.0, 1.6))
    return pl.DataFrame(
        {
            "y": label,
            "a": one.round(2).clip(0.01, 0.99),
            "b": other.round(2).clip(0.01, 0.99),
            "group": random.choice(["x", "y", "z"], rows),
            "fold": random.integers(0, 5, rows),
            "day": random.integers(0, 30, rows),
            "weight": random.integers(1, 4, rows),
            "customer": random.integers(0, 50, rows),
        }
    )


TABLE = scored()


def compared(tests: list, table: pl.DataFrame = TABLE, **more: object) -> pl.DataFrame:
    given = {"label": "y", "models": MODELS, "metrics": METRICS, "slices": ["group"]} | more
    return plm.evaluate(table, **given, compare={"baseline": "a", "tests": tests}).comparisons


def places(table: pl.DataFrame = TABLE) -> list[tuple[str, pl.DataFrame]]:
    return [("all", table), *((f"group={key}", table.filter(pl.col("group") == key)) for key in "xyz")]


def row(found: pl.DataFrame, test: str, metric: str, piece: str, model: str = "b") -> dict:
    own = found.filter(test=test, metric=metric, slice=piece, model=model)
    assert own.height == 1
    return own.row(0, named=True)


def losses(table: pl.DataFrame, model: str, metric: str) -> np.ndarray:
    label, score = table["y"].to_numpy(), table[model].to_numpy()
    if metric == "brier":
        return (label - score) ** 2
    return np.array([-np.log(p if y else 1 - p) for y, p in zip(label, score, strict=True)])


@pytest.mark.parametrize(("metric", "threshold"), [("accuracy", 0.5), ("accuracy(threshold=0.3)", 0.3)])
def test_mcnemar_counts_the_rows_that_one_model_gains(metric: str, threshold: float) -> None:
    found = compared(["mcnemar"])
    for piece, table in places():
        right = {m: (table[m] >= threshold) == (table["y"] == 1) for m in ("a", "b")}
        b, c = int((right["b"] & ~right["a"]).sum()), int((right["a"] & ~right["b"]).sum())
        tail = sum(comb(b + c, k) for k in range(max(b, c), b + c + 1)) / 2 ** (b + c)
        own = row(found, "mcnemar", metric, piece)
        assert own["p_value"] == pytest.approx(min(1.0, 2 * tail))
        assert own["difference"] == pytest.approx((b - c) / table.height)
        assert (own["n"], own["status"], own["interval_status"]) == (table.height, "ok", "no_interval")


@pytest.mark.slow
def test_models_are_cut_at_thresholds_of_their_own() -> None:
    cuts = {"a": 0.35, "b": 0.6}
    models = {name: {"score": name, "threshold": cut} for name, cut in cuts.items()}
    found = compared(["mcnemar"], models=models)
    for piece, table in places():
        right = {m: ((table[m] >= cut) == (table["y"] == 1)).to_numpy() for m, cut in cuts.items()}
        b, c = int((right["b"] & ~right["a"]).sum()), int((right["a"] & ~right["b"]).sum())
        own = row(found, "mcnemar", "accuracy", piece)
        assert own["p_value"] == pytest.approx(stats.binomtest(b, b + c).pvalue)
        assert own["note"] == f"b {b}, c {c}"
        fixed = row(found, "mcnemar", "accuracy(threshold=0.3)", piece)
        assert (
            fixed["difference"] == row(compared(["mcnemar"]), "mcnemar", fixed["metric"], piece)["difference"]
        )


def test_delong_is_that_of_the_rows_of_each_slice() -> None:
    found = compared(["delong"])
    for piece, table in places():
        alone = plm.tests.delong(table["y"], table["b"], table["a"])
        own = row(found, "delong", "roc_auc", piece)
        areas = [roc_auc_score(table["y"], table[model]) for model in ("b", "a")]
        assert own["difference"] == pytest.approx(areas[0] - areas[1])
        assert own["p_value"] == pytest.approx(alone.p_value)
        assert (own["lower"], own["upper"]) == (pytest.approx(alone.lower), pytest.approx(alone.upper))
        assert (own["method"], own["interval_status"]) == ("delong", "ok")


@pytest.mark.parametrize("metric", ["brier", "log_loss"])
def test_losses_are_paired_row_by_row(metric: str) -> None:
    found = compared(["paired_t", "wilcoxon", {"always_valid": {"mixture": 0.01}}])
    for piece, table in places():
        one, other = (losses(table, model, metric) for model in ("b", "a"))
        expected = stats.ttest_rel(one, other)
        own = row(found, "paired_t", metric, piece)
        assert own["p_value"] == pytest.approx(expected.pvalue, rel=1e-8)
        assert own["lower"] == pytest.approx(expected.confidence_interval().low)
        apart = (one - other).round(14)
        ranked = stats.wilcoxon(apart[apart != 0], method="asymptotic", correction=False)
        own = row(found, "wilcoxon", metric, piece)
        assert own["p_value"] == pytest.approx(ranked.pvalue, rel=0.02)
        assert own["difference"] == pytest.approx((one - other).mean())
        error = (one - other).std(ddof=1) / np.sqrt(table.height)
        valid = plm.tests.always_valid(float((one - other).mean()), error, mixture=0.01)
        assert row(found, "always_valid(mixture=0.01)", metric, piece)["p_value"] == pytest.approx(
            valid.p_value
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize("roles", [{}, {"unit": "day"}], ids=["rows", "units"])
@pytest.mark.parametrize("horizon", [1, 3])
def test_losses_of_a_day_are_averaged_before_they_are_put_in_order(
    horizon: int, roles: dict[str, str]
) -> None:
    test = {"diebold_mariano": {"time": "day", "horizon": horizon}}
    found = compared([test], TABLE.sample(fraction=1.0, shuffle=True, seed=3), **roles)
    text = f"diebold_mariano(time=day{', horizon=3' if horizon == 3 else ''})"
    for piece, table in places():
        moved = losses(table, "b", "brier") - losses(table, "a", "brier")
        daily = [moved[(table["day"] == day).to_numpy()].mean() for day in table["day"].unique().sort()]
        alone = plm.tests.diebold_mariano(daily, np.zeros(len(daily)), horizon=horizon)
        own = row(found, text, "brier", piece)
        assert own["p_value"] == pytest.approx(alone.p_value)
        assert own["n"] == len(daily)


TESTS = [
    "mcnemar",
    "delong",
    "paired_t",
    "wilcoxon",
    "always_valid(mixture=0.01)",
    "diebold_mariano(time=day)",
]


def test_models_that_say_the_same_do_not_differ() -> None:
    found = compared(TESTS).filter(pl.col("model") == "same", pl.col("test").is_not_null())
    assert set(found["test"]) == set(TESTS)
    assert found["difference"].abs().max() == 0.0
    assert found["p_value"].min() == 1.0
    assert set(found["status"]) == {"ok"}


def test_models_that_differ_in_their_last_digits_do_not_differ() -> None:
    """The scores are all a digit farther from the label, which a sign test of their losses would be sure of."""
    farther = pl.Series(np.nextafter(TABLE["a"].to_numpy(), 1.0 - TABLE["y"].to_numpy()))
    table = TABLE.with_columns(same=farther)
    asked = {"models": ["a", "same"], "metrics": ["brier", "log_loss"]}
    tests = ["paired_t", "wilcoxon", "paired_permutation", {"diebold_mariano": {"time": "day"}}]
    by_fold = {"fold": "fold"}
    for found in (compared(tests, table, **asked), compared(tests[:3], table, **asked, **by_fold)):
        tested = found.filter(pl.col("test").is_not_null())
        assert tested.height >= 6
        assert tested["difference"].to_list() == [0.0] * tested.height
        assert tested["p_value"].to_list() == [1.0] * tested.height


@pytest.mark.parametrize(
    ("role", "column", "status"), [("weight", "weight", "weighted"), ("unit", "customer", "clustered")]
)
def test_rows_that_do_not_count_alike_are_not_tested(role: str, column: str, status: str) -> None:
    found = compared(TESTS, **{role: column}).filter(pl.col("test").is_not_null())
    assert set(found["test"]) == set(TESTS)
    if status == "clustered":
        found = found.filter(pl.col("test") != "delong")
    assert set(found["status"]) == set(found["interval_status"]) == {status}
    assert found["p_value"].null_count() == found["difference"].null_count() == found.height


@pytest.mark.parametrize("uncertainty", [None, {"replicates": 50}])
def test_areas_of_rows_that_belong_together(uncertainty: Any) -> None:
    found = compared(["delong"], unit="customer", uncertainty=uncertainty).filter(test="delong")
    assert set(found["status"]) == {"ok"}
    for piece, here in places():
        wanted = plm.tests.delong(here["y"], here["b"], here["a"], unit=here["customer"])
        of_pair = row(found, "delong", "roc_auc", piece)
        numbers = [of_pair[name] for name in ("difference", "p_value", "lower", "upper")]
        assert numbers == pytest.approx([wanted.estimate, wanted.p_value, wanted.lower, wanted.upper])


def test_rows_of_the_bootstrap_stay_and_every_test_has_its_own_family() -> None:
    plain = compared([], uncertainty={"replicates": 50})
    found = compared(["delong", "paired_t", "mcnemar"], uncertainty={"replicates": 50})
    bootstrap = found.filter(test="paired_bootstrap")
    assert bootstrap.equals(plain)
    families = found.select("family", "test", "metric", "slice_set").unique()
    assert families["family"].is_unique().all()
    assert "roc_auc / group / delong" in families["family"]
    own = found.filter(family="roc_auc / group / delong")
    assert own["family_size"].to_list() == [6] * 6
    smallest = own.sort("p_value").row(0, named=True)
    assert smallest["p_adjusted"] == pytest.approx(min(1.0, 6 * smallest["p_value"]))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("method", "smooth", "other"),
    [
        ("bootstrap", "paired_bootstrap", "paired_bootstrap"),
        ("auto", "paired_delta", "paired_bootstrap"),
        ("analytic", "paired_delta", None),
        ("jackknife", "paired_jackknife", None),
    ],
)
def test_rows_say_which_replicates_their_test_reads(method: str, smooth: str, other: str | None) -> None:
    asked = {"metrics": ["roc_auc", "accuracy", "ks"], "uncertainty": {"method": method, "replicates": 50}}
    found = compared(["delong"], **asked)
    tests = {metric: set(own["test"]) for (metric,), own in found.group_by("metric")}
    answers = {"delong"} if smooth == "paired_delta" else {smooth, "delong"}
    assert tests == {"roc_auc": answers, "accuracy": {smooth}, "ks": {other}}
    families = found.filter(test=smooth, slice_set="overall", metric="accuracy")["family"]
    assert set(families) == {"accuracy / overall"}


def test_tests_stand_behind_the_bootstrap_of_their_place() -> None:
    found = compared(["delong", "mcnemar(method=mid_p)"], slices=None, metrics=["roc_auc", "accuracy"])
    assert found.select("model", "metric", "test").rows() == [
        (model, metric, test)
        for model in ("b", "same")
        for metric, tests in (("roc_auc", "delong"), ("accuracy", "mcnemar(method=mid_p)"))
        for test in (None, tests)
    ]


def test_every_pair_is_tested_where_all_are_compared() -> None:
    result = plm.evaluate(
        TABLE, label="y", models=MODELS, metrics=["roc_auc"], compare={"pairs": "all", "tests": ["delong"]}
    )
    tested = result.comparisons.filter(test="delong")
    assert tested.select("model", "baseline").rows() == [("b", "a"), ("same", "a"), ("same", "b")]
    assert tested["p_value"][0] == pytest.approx(tested["p_value"][2])


def test_gates_judge_the_bootstrap_and_no_other_row() -> None:
    gate = {"metric": "roc_auc", "model": "b", "against": "a", "at_least": 0.0}
    given = {"label": "y", "models": MODELS, "metrics": ["roc_auc"], "gates": [gate]}
    gates = plm.evaluate(TABLE, **given, compare={"baseline": "a", "tests": ["delong"]}).gates
    assert gates["verdict"].to_list() == ["pass"]


@pytest.mark.slow
def test_models_are_compared_on_the_rows_that_count_for_both() -> None:
    table = TABLE.with_columns(
        pl.when(pl.col("day") == 0).then(None).otherwise("a").alias("a"),
        pl.when(pl.col("day") == 1).then(None).otherwise("b").alias("b"),
    )
    both = TABLE.filter(pl.col("day") > 1)
    found = compared(TESTS, table, missing="drop_per_model")
    expected = compared(TESTS, both)
    own, other = (
        part.filter(pl.col("test").is_not_null(), model="b").select(
            "test", "metric", "slice", "difference", "p_value", "n"
        )
        for part in (found, expected)
    )
    assert own.select("test", "metric", "slice", "n").equals(other.select("test", "metric", "slice", "n"))
    for name in ("difference", "p_value"):
        np.testing.assert_allclose(own[name].to_numpy(), other[name].to_numpy(), rtol=1e-9, atol=1e-12)


def test_small_slices_are_listed_without_tests() -> None:
    found = compared(["delong", "paired_t"], min_rows=205).filter(pl.col("test").is_not_null())
    sizes = {piece: table.height for piece, table in places()}
    for own in found.iter_rows(named=True):
        few = own["slice"] != "all" and sizes[own["slice"]] < 205
        assert (own["status"] == "too_few_rows") == few
        assert (own["p_value"] is None) == few
    assert 0 < (found["status"] == "too_few_rows").sum() < found.height


def test_a_slice_of_one_class_has_no_areas_to_compare() -> None:
    table = TABLE.filter((pl.col("group") != "x") | (pl.col("y") == 1))
    own = row(compared(["delong"], table), "delong", "roc_auc", "group=x")
    assert (own["status"], own["p_value"], own["difference"]) == ("no_negatives", None, None)


def test_tests_of_classes_and_of_numbers() -> None:
    random = np.random.default_rng(1)
    classes = pl.DataFrame({"y": random.choice(list("abc"), 90)}).with_columns(
        p=pl.Series(random.choice(list("abc"), 90)), q=pl.Series(random.choice(list("abc"), 90))
    )
    found = plm.evaluate(
        classes,
        task="multiclass",
        label="y",
        models={"p": {"prediction": "p"}, "q": {"prediction": "q"}},
        metrics=["accuracy"],
        compare={"baseline": "p", "tests": ["mcnemar"]},
    ).comparisons
    alone = plm.tests.mcnemar(classes["y"], classes["q"], classes["p"])
    own = row(found, "mcnemar", "accuracy", "all", "q")
    assert (own["p_value"], own["difference"]) == (
        pytest.approx(alone.p_value),
        pytest.approx(alone.estimate),
    )
    values = pl.DataFrame({name: random.normal(size=70) for name in ("y", "p", "q")})
    found = plm.evaluate(
        values,
        task="regression",
        label="y",
        models={"p": "p", "q": "q"},
        metrics=["mae", "rmse"],
        compare={"baseline": "p", "tests": ["paired_t", "wilcoxon"]},
    ).comparisons
    one, other = ((values["y"] - values[name]).abs() for name in ("q", "p"))
    assert row(found, "paired_t", "mae", "all", "q")["p_value"] == pytest.approx(
        stats.ttest_rel(one, other).pvalue
    )
    assert row(found, "wilcoxon", "mae", "all", "q")["p_value"] == pytest.approx(
        stats.wilcoxon(one, other, method="asymptotic", correction=False).pvalue
    )
    assert found.filter(pl.col("metric") == "rmse", pl.col("test").is_not_null()).is_empty()


@pytest.mark.slow
def test_queries_are_the_pairs_of_a_ranking() -> None:
    random = np.random.default_rng(2)
    table = pl.DataFrame(
        {"query": np.repeat(np.arange(40), 6), "y": random.integers(0, 3, 240)}
    ).with_columns(p=pl.Series(random.random(240)), q=pl.Series(random.random(240)))
    given = {"task": "ranking", "label": "y", "query": "query", "metrics": ["ndcg"]}
    models = {"p": "p", "q": "q"}
    found = plm.evaluate(
        table, **given, models=models, compare={"baseline": "p", "tests": ["paired_t", "wilcoxon"]}
    )
    values = {}
    for model in models:
        values[model] = [
            plm.evaluate(own, **given, models={model: model}).metrics["value"].item()
            for _, own in sorted(table.group_by("query"))
        ]
    kept = [(q, p) for q, p in zip(values["q"], values["p"], strict=True) if q is not None and p is not None]
    one, other = map(np.array, zip(*kept, strict=True))
    own = row(found.comparisons, "paired_t", "ndcg", "all", "q")
    assert own["p_value"] == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert own["n"] == len(kept)
    assert row(found.comparisons, "wilcoxon", "ndcg", "all", "q")["p_value"] == pytest.approx(
        plm.tests.wilcoxon(one, other).p_value, rel=1e-6
    )


def test_a_null_time_is_an_error_of_the_data() -> None:
    table = TABLE.with_columns(pl.when(pl.col("day") > 2).then("day").alias("day"))
    with pytest.raises(plm.DataError, match=r"'day' \(time of diebold_mariano\) is null in"):
        compared(["diebold_mariano(time=day)"], table)
    with pytest.raises(plm.DataError, match=r"'day' \(time of diebold_mariano\) is null in"):
        compared(
            ["diebold_mariano(time=day)"],
            table.with_columns(pl.col("day").cast(pl.Float64).fill_null(np.nan)),
        )
    months = TABLE.with_columns(pl.format("day {}", "day").alias("day"))
    with pytest.raises(plm.DataError, match=r"'day' \(time of diebold_mariano\): 'day \d+' is no ISO date"):
        compared(["diebold_mariano(time=day)"], months)
    with pytest.raises(plm.DataError, match=r"'dya' \(time\) is not in the data"):
        compared(["diebold_mariano(time=dya)"])


def test_tests_are_left_out_where_the_rows_do_not_fit() -> None:
    found = compared(["delong", "paired_t"], memory=2000)
    assert set(found.filter(test="delong")["status"]) == {"rows_do_not_fit"}
    assert set(found.filter(test="paired_t")["status"]) == {"ok"}


def fold_values(metric: str, model: str, table: pl.DataFrame) -> list[float]:
    parts = [table.filter(pl.col("fold") == fold) for fold in range(5)]
    return [float(losses(part, model, metric).mean()) for part in parts]


@pytest.mark.parametrize("piece", ["all", "group=y"])
def test_folds_are_what_is_paired_where_there_are_folds(piece: str) -> None:
    folded = {"fold": "fold", "cross_validation": {"slices": "group"}}
    named = ["paired_t", "wilcoxon", "paired_permutation", "corrected_resampled_t", "five_by_two_cv_f"]
    found = compared(named, **folded)
    table = dict(places())[piece]
    one, other = (np.array(fold_values("brier", model, table)) for model in ("b", "a"))
    own = row(found, "paired_t", "brier", piece)
    assert own["p_value"] == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert own["n"] == 5
    ranked = stats.wilcoxon(one, other, method="exact")
    assert row(found, "wilcoxon", "brier", piece)["p_value"] == pytest.approx(ranked.pvalue)
    signs = np.array(list(product([-1, 1], repeat=5)))
    share = np.mean(np.abs(signs @ (one - other)) >= abs((one - other).sum()) - 1e-12)
    assert row(found, "paired_permutation", "brier", piece)["p_value"] == pytest.approx(share)
    sizes = [table.filter(pl.col("fold") == fold).height for fold in range(5)]
    ratio = np.mean([size / (sum(sizes) - size) for size in sizes])
    alone = plm.tests.corrected_resampled_t(one, other, ratio=float(ratio))
    own = row(found, "corrected_resampled_t", "brier", piece)
    assert (own["p_value"], own["lower"]) == (pytest.approx(alone.p_value), pytest.approx(alone.lower))
    assert row(found, "five_by_two_cv_f", "brier", piece)["status"] == "not_five_by_two"
    fixed = compared([{"corrected_resampled_t": {"ratio": 0.25}}], **folded)
    alone = plm.tests.corrected_resampled_t(one, other, ratio=0.25)
    assert row(fixed, "corrected_resampled_t(ratio=0.25)", "brier", piece)["p_value"] == pytest.approx(
        alone.p_value
    )


def test_folds_without_a_value_were_trained_on() -> None:
    table = TABLE.with_columns(y=pl.when(pl.col("fold") == 0).then(1).otherwise("y"))
    own = row(
        compared(["corrected_resampled_t"], table, fold="fold"), "corrected_resampled_t", "roc_auc", "all"
    )
    parts = [table.filter(pl.col("fold") == fold) for fold in range(1, 5)]
    scores = [[roc_auc_score(part["y"], part[model]) for part in parts] for model in ("b", "a")]
    ratio = np.mean([part.height / (table.height - part.height) for part in parts])
    alone = plm.tests.corrected_resampled_t(*scores, ratio=float(ratio))
    assert (own["p_value"], own["lower"], own["n"]) == (
        pytest.approx(alone.p_value),
        pytest.approx(alone.lower),
        4,
    )


def test_weights_do_not_forbid_tests_of_folds() -> None:
    found = compared(["paired_t"], fold="fold", weight="weight")
    own = row(found, "paired_t", "brier", "all")
    values = {}
    for model in ("a", "b"):
        parts = [TABLE.filter(pl.col("fold") == fold) for fold in range(5)]
        values[model] = [np.average(losses(p, model, "brier"), weights=p["weight"]) for p in parts]
    assert own["p_value"] == pytest.approx(stats.ttest_rel(values["b"], values["a"]).pvalue)


def test_five_repeats_of_two_folds() -> None:
    table = pl.concat(
        TABLE.with_columns(pl.lit(repeat).alias("repeat"), pl.Series("half", halves))
        for repeat, halves in enumerate(np.random.default_rng(4).integers(0, 2, (5, ROWS)))
    )
    found = compared(
        ["five_by_two_cv_f"], table, fold="half", cross_validation={"repeat": "repeat"}, slices=None
    )
    scores = {
        model: [
            float(losses(table.filter(repeat=repeat, half=half), model, "brier").mean())
            for repeat in range(5)
            for half in range(2)
        ]
        for model in ("a", "b")
    }
    alone = plm.tests.five_by_two_cv_f(scores["b"], scores["a"])
    own = row(found, "five_by_two_cv_f", "brier", "all")
    assert (own["p_value"], own["n"]) == (pytest.approx(alone.p_value), 10)


@pytest.mark.parametrize("metric", ["brier", "roc_auc"])
def test_models_are_ranked_in_slices(metric: str) -> None:
    tests = [{name: {"over": "group"}} for name in ("friedman", "iman_davenport", "nemenyi")]
    models = {"a": "a", "b": "b", "c": "weight"}
    table = TABLE.with_columns(weight=pl.Series(np.random.default_rng(5).random(ROWS)))
    result = plm.evaluate(
        table,
        label="y",
        models=models,
        metrics=METRICS,
        slices=["group"],
        compare={"baseline": "a", "tests": tests},
    )
    held = result.metrics.filter(metric=metric, slice_set="group")
    values = {model: held.filter(model=model)["value"].to_list() for model in models}
    found = result.comparisons.filter(pl.col("contrast") == "models", pl.col("metric") == metric)
    (own,) = found.filter(test="friedman(over=group)").rows(named=True)
    expected = stats.friedmanchisquare(*values.values())
    assert (own["difference"], own["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert (own["model"], own["baseline"], own["scale"], own["slice_set"], own["slice"], own["n"]) == (
        (None, None, "statistic", "group", "all", 3)
    )
    pairs = plm.tests.nemenyi(values, higher_is_better=metric == "roc_auc")
    ranked = found.filter(test="nemenyi(over=group)")
    np.testing.assert_allclose(ranked["difference"], pairs["difference"])
    assert ranked.select("model", "baseline").equals(pairs.select("model", "baseline"))
    assert set(ranked["scale"]) == {"mean_rank"}
    assert all(note.startswith("critical difference of mean ranks: 1.91") for note in ranked["note"])


@pytest.mark.parametrize("family", ["metric", "suite"])
def test_pairs_of_mean_ranks_are_not_corrected_twice(family: str) -> None:
    noise = np.random.default_rng(2).normal(size=(3, 600)) * np.array([[0.1], [0.5], [0.9]])
    label = np.arange(600) % 2
    models = dict(zip("abc", np.clip(0.5 + (label - 0.5) * 0.6 + noise, 0.01, 0.99), strict=True))
    result = plm.evaluate(
        {"y": label, "g": np.arange(600) // 2 % 8, **models},
        label="y",
        models=[*models],
        metrics=["brier"],
        slices=["g"],
        compare={"pairs": "all", "family": family, "tests": [{"nemenyi": {"over": "g"}}]},
    )
    values = {model: result.metrics.filter(slice_set="g", model=model)["value"] for model in models}
    ranked = result.comparisons.filter(scale="mean_rank")
    expected = plm.tests.nemenyi(values, higher_is_better=False)["p_value"]
    np.testing.assert_allclose(ranked["p_adjusted"], expected, rtol=1e-12)
    limit = plm.tests.nemenyi(values)["critical_difference"][0]
    assert ((ranked["reading"] != "unclear") == (ranked["difference"].abs() > limit)).all()
    assert set(ranked["reading"]) == {"worse", "unclear"}


def test_models_are_ranked_in_folds() -> None:
    found = compared(["friedman", "nemenyi"], fold="fold", slices=None).filter(metric="brier")
    values = [fold_values("brier", model, TABLE) for model in ("a", "b", "a")]
    expected = stats.friedmanchisquare(*values)
    (own,) = found.filter(test="friedman").rows(named=True)
    assert (own["difference"], own["p_value"], own["n"]) == (
        pytest.approx(expected.statistic),
        pytest.approx(expected.pvalue),
        5,
    )
    assert found.filter(test="nemenyi").height == 3


def test_training_rows_of_folds_are_counted_where_the_table_has_them() -> None:
    window = pl.col("fold") < pl.col("of")
    expanding = TABLE.join(pl.DataFrame({"of": [1, 2, 3, 4]}), how="cross").filter(
        pl.col("fold") <= pl.col("of")
    )
    table = expanding.with_columns(split=pl.when(window).then(pl.lit("train")).otherwise(pl.lit("test")))
    table = table.drop("fold").rename({"of": "fold"})
    section = {"fold": "fold", "cross_validation": {"split": "split"}}
    found = compared(["corrected_resampled_t", "correlated_t"], table, **section)
    tested = [table.filter(fold=fold, split="test") for fold in range(1, 5)]
    scores = [[float(losses(part, model, "brier").mean()) for part in tested] for model in ("b", "a")]
    trained = [table.filter(fold=fold, split="train").height for fold in range(1, 5)]
    ratio = float(np.mean([part.height / size for part, size in zip(tested, trained, strict=True)]))
    alone = plm.tests.corrected_resampled_t(*scores, ratio=ratio)
    for test in ("corrected_resampled_t", "correlated_t"):
        own = row(found, test, "brier", "all")
        assert (own["lower"], own["upper"]) == pytest.approx((alone.lower, alone.upper))


def test_one_slice_ranks_nothing() -> None:
    table = TABLE.with_columns(group=pl.lit("x"))
    tests = [{name: {"over": "group"}} for name in ("friedman", "iman_davenport", "nemenyi")]
    found = compared(tests, table).filter(pl.col("contrast") == "models")
    assert set(found["status"]) == set(found["interval_status"]) == {"too_few_units"}
    assert found["p_value"].null_count() == found["difference"].null_count() == found.height


def test_folds_that_are_too_many_to_list_have_a_status() -> None:
    table = TABLE.with_columns(fold=pl.int_range(ROWS) // 2)
    own = row(
        compared(["corrected_resampled_t"], table, fold="fold"), "corrected_resampled_t", "brier", "all"
    )
    assert (own["status"], own["p_value"]) == ("folds_not_listed", None)


@pytest.mark.parametrize("scales", [["ratio"], ["difference", "relative_change"]])
def test_tests_are_of_differences_whatever_the_bootstrap_compares(scales: list[str]) -> None:
    compare = {"baseline": "a", "tests": ["delong"], "scales": scales}
    found = plm.evaluate(TABLE, label="y", models=MODELS, metrics=["roc_auc"], compare=compare).comparisons
    assert set(found.filter(test="delong")["scale"]) == {"difference"}
    assert found.filter(model="b").select("scale", "test").rows() == [
        *((scale, None) for scale in scales),
        ("difference", "delong"),
    ]


def test_values_of_rows_by_sql_are_paired_where_they_are() -> None:
    cost = {"name": "cost", "mean": "day * abs(label - score)", "where": "day > 10"}
    found = compared(["paired_t", "wilcoxon"], metrics=[cost], slices=None)
    held = TABLE.filter(pl.col("day") > 10)
    one, other = (held["day"] * (held["y"] - held[model]).abs() for model in ("b", "a"))
    own = row(found, "paired_t", "cost", "all")
    assert own["p_value"] == pytest.approx(stats.ttest_rel(one, other).pvalue)
    assert own["n"] == row(found, "wilcoxon", "cost", "all")["n"] == held.height


def test_accuracies_at_thresholds_that_each_model_chose() -> None:
    metrics = ["accuracy(threshold=max(f1))", "accuracy(threshold=at(precision=1))"]
    result = plm.evaluate(
        TABLE.with_columns(b=pl.col("b").reverse()),
        label="y",
        models=MODELS,
        metrics=metrics,
        compare={"baseline": "a", "tests": ["mcnemar"]},
    )
    cuts = dict(result.metrics.filter(metric=metrics[0]).select("model", "threshold").rows())
    table = TABLE.with_columns(b=pl.col("b").reverse())
    called = {model: (table[model] >= cuts[model]).cast(pl.Int64) for model in ("a", "b")}
    alone = plm.tests.mcnemar(table["y"], called["b"], called["a"])
    own = row(result.comparisons, "mcnemar", metrics[0], "all")
    assert (own["p_value"], own["difference"]) == (
        pytest.approx(alone.p_value),
        pytest.approx(alone.estimate),
    )
    statuses = dict(result.metrics.filter(metric=metrics[1]).select("model", "status").rows())
    expected = "ok" if statuses["a"] == statuses["b"] == "ok" else "unreachable"
    assert row(result.comparisons, "mcnemar", metrics[1], "all")["status"] == expected


def test_a_single_model_is_compared_with_nothing() -> None:
    tests = ["delong", "mcnemar", "paired_t", {"friedman": {"over": "group"}}]
    assert compared(tests, models={"a": "a"}).is_empty()


def test_metrics_of_classes_stand_beside_tests() -> None:
    random = np.random.default_rng(6)
    table = pl.DataFrame({name: random.choice(list("abc"), 60) for name in ("y", "p", "q")})
    found = plm.evaluate(
        table,
        task="multiclass",
        label="y",
        models={"p": {"prediction": "p"}, "q": {"prediction": "q"}},
        metrics=["accuracy", "f1(average=none)"],
        compare={"baseline": "p", "tests": ["mcnemar"]},
    ).comparisons
    assert found.select("metric", "class", "test").rows() == [
        ("accuracy", None, None),
        ("accuracy", None, "mcnemar"),
        *(("f1(average=none)", name, None) for name in "abc"),
    ]


def test_delong_answers_once_where_it_is_the_method_of_the_intervals() -> None:
    """One p value for one question; other scales, other metrics and other methods retain their rows."""
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 400)
    frame = pl.DataFrame(
        {"y": label, "a": label + rng.normal(size=400), "b": label + 2 * rng.normal(size=400)}
    )
    compare = {"baseline": "a", "tests": ["delong"], "scales": ["difference", "ratio"]}

    def tests(method: str) -> dict[tuple[str, str], list[str]]:
        given: dict[str, Any] = {"label": "y", "models": {"a": "a", "b": "b"}, "metrics": ["roc_auc", "f1"]}
        result = plm.evaluate(
            frame, compare=compare, uncertainty={"methods": [method, "bootstrap"], "replicates": 50}, **given
        )
        found = result.comparisons.group_by("metric", "scale", maintain_order=True).agg("test").rows()
        return {(metric, scale): names for metric, scale, names in found}

    one = tests("delong")
    assert one["roc_auc", "difference"] == ["delong"]
    assert one["roc_auc", "ratio"] == ["paired_delta"]
    assert one["f1", "difference"] == ["paired_bootstrap"]
    assert tests("bootstrap")["roc_auc", "difference"] == ["paired_bootstrap", "delong"]


def covariance_of_areas(label: np.ndarray, *scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Areas and their covariance by placements from ranks, each class with its size less 1."""
    total = 0.0
    for own in (label == 1, label == 0):
        placed = [
            (stats.rankdata(score)[own] - stats.rankdata(score[own])) / np.count_nonzero(~own)
            for score in scores
        ]
        total = total + np.cov(placed, ddof=1) / np.count_nonzero(own)
        areas = np.mean(placed, axis=1)
    return 1 - areas, total


@pytest.mark.slow
@pytest.mark.parametrize("method", ["delong", "auto"])
def test_areas_are_compared_by_the_method_of_their_intervals_whether_its_test_is_asked_for_or_not(
    method: str,
) -> None:
    table = scored(6_000)
    asked: dict[str, Any] = {"metrics": ["roc_auc"], "uncertainty": {"methods": [method], "replicates": 50}}
    asked |= {"label": "y", "models": MODELS, "slices": ["group"]}
    gate = {"metric": "roc_auc", "model": "b", "against": "a", "no_worse_than": 0.01, "using": "interval"}
    result = plm.evaluate(table, **asked, compare="a", gates=[gate | {"slices": ["group"]}])
    for piece, rows in places(table):
        areas, covariance = covariance_of_areas(*(rows[name].to_numpy() for name in ("y", "b", "a")))
        error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
        found = row(result.comparisons, "delong", "roc_auc", piece)
        assert found["std_error"] == pytest.approx(error, rel=1e-9)
        assert found["p_value"] == pytest.approx(
            2 * stats.norm.sf(abs(areas[0] - areas[1]) / error), rel=1e-6
        )
    assert set(result.comparisons["test"]) == {"delong"}
    shown = result.comparisons.filter(slice_set="group", model="b").select("slice", "lower", "upper")
    assert result.gates.filter(slice_set="group").select("slice", "lower", "upper").equals(shown)
    alone = plm.evaluate(table, **asked, gates=[gate | {"slices": ["group"]}])
    assert alone.comparisons.is_empty()
    assert alone.gates.equals(result.gates)
    both = plm.evaluate(table, **asked, compare={"baseline": "a", "tests": ["delong"]})
    assert both.comparisons.equals(result.comparisons)


@pytest.mark.parametrize(("power", "known"), [(-100, True), (-245, True), (-266, False), (-532, False)])
def test_paired_t_of_tiny_losses_has_its_p_value_or_none(power: int, known: bool) -> None:
    rng = np.random.default_rng(0)
    label = rng.normal(size=200)
    guesses = {name: label + spread * rng.normal(size=200) for name, spread in (("p", 1.0), ("q", 1.2))}
    rows = pl.DataFrame({"y": label, **guesses}) * 2.0**power
    compare = {"baseline": "q", "tests": ["paired_t"]}
    asked = {"task": "regression", "label": "y", "models": ["p", "q"], "metrics": ["mse"], "compare": compare}
    found = plm.evaluate(rows, **asked).comparisons.filter(test="paired_t")["p_value"].to_list()
    losses = [((guess - label) ** 2) for guess in guesses.values()]
    assert found == ([pytest.approx(stats.ttest_rel(*losses).pvalue, rel=1e-9)] if known else [None])


def test_rows_of_a_test_are_made_for_all_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame a pair of models took 1.5 ms; what one pair lacks is absent in its own rows alone."""
    made, rows = [], tables.tested_columns

    def counted(*arguments: Any) -> pl.DataFrame:
        made.append(rows(*arguments))
        return made[-1]

    monkeypatch.setattr(tables, "tested_columns", counted)
    models = {"a": "a", "b": "b", "c": "weight", "same": "a"}
    table = TABLE.with_columns(pl.col("weight") / 4)
    tests = ["mcnemar", "delong"]
    asked = {"metrics": ["roc_auc", "accuracy"], "slices": ["group"], "min_rows": 1}
    both = plm.evaluate(table, label="y", models=models, compare={"pairs": "all", "tests": tests}, **asked)
    assert [frame.height for frame in made] == [6, 6, 18, 18]
    for pair in (("b", "a"), ("same", "a"), ("same", "c")):
        two = {name: models[name] for name in reversed(pair)}
        alone = plm.evaluate(table, label="y", models=two, compare={"pairs": "all", "tests": tests}, **asked)
        columns = ["slice", "metric", "test", "p_value", "statistic", "status", "note", "n", "lower"]
        chosen = both.comparisons.filter(pl.col("test").is_in(tests), model=pair[0], baseline=pair[1])
        expected = alone.comparisons.filter(pl.col("test").is_in(tests))
        assert chosen.select(columns).equals(expected.select(columns))
