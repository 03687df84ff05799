"""The built-in baseline: what it gives for each task."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm


def rows():
    random = np.random.default_rng(3)
    size = 60
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, size),
            "p": random.random(size),
            "w": random.integers(1, 4, size),
            "amount": random.normal(10, 3, size).round(1),
            "forecast": random.normal(10, 3, size),
            "kind": random.choice(["ant", "bee", "cat"], size, p=[0.2, 0.5, 0.3]),
            "guess": random.choice(["ant", "bee", "cat"], size),
            "ant": np.full(size, 0.25),
            "bee": np.full(size, 0.25),
            "cat": np.full(size, 0.5),
            "q": np.repeat(np.arange(12), 5),
            "arm": random.integers(0, 2, size),
            "site": random.choice(["north", "south"], size),
        }
    )


def constants(**keywords):
    result = plm.evaluate(rows(), baseline=True, **keywords)
    return result, result.record["constants"]["baseline"]


def value_of(result, metric, model="baseline", **where):
    return result.metrics.filter(metric=metric, model=model, **{"slice": "all", **where})["value"].item()


def labels(column, weight):
    """A column with each row as often as its weight says."""
    return np.repeat(rows()[column].to_numpy(), 1 if weight is None else rows()[weight].to_numpy())


@pytest.mark.parametrize("weight", [None, "w"])
def test_binary_is_the_share_of_positives(weight):
    result, found = constants(
        label="y", models={"a": "p"}, weight=weight, metrics=["brier", "roc_auc", "log_loss_skill"]
    )
    share = float(labels("y", weight).mean())
    assert found == pytest.approx({"score": share})
    assert value_of(result, "brier") == pytest.approx(share * (1 - share))
    assert value_of(result, "roc_auc") == 0.5
    assert value_of(result, "log_loss_skill") == pytest.approx(0, abs=1e-12)


def test_the_share_is_that_of_the_rows_that_are_evaluated_and_the_same_in_slices():
    result, found = constants(
        label="y",
        models={"a": "p"},
        where="p < 0.5",
        slices=["site"],
        metrics=[{"name": "given", "mean": "score"}],
    )
    assert found == pytest.approx({"score": rows().filter(pl.col("p") < 0.5)["y"].mean()})
    assert set(result.metrics.filter(model="baseline")["value"].round(12)) == {round(found["score"], 12)}


def test_all_are_called_positive_where_the_share_reaches_the_threshold():
    share = rows()["y"].mean()
    metrics = [f"selection_rate(threshold={share - 0.01})", f"selection_rate(threshold={share + 0.01})"]
    result, _ = constants(label="y", models={"a": "p"}, metrics=metrics)
    assert result.metrics.filter(model="baseline")["value"].to_list() == [1, 0]


@pytest.mark.parametrize("weight", [None, "w"])
def test_regression_is_the_mean(weight):
    result, found = constants(
        task="regression", label="amount", models={"a": "forecast"}, weight=weight, metrics=["r2"]
    )
    assert found == pytest.approx({"score": labels("amount", weight).mean()})
    assert value_of(result, "r2") == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_multiclass_are_the_shares_of_the_classes(weight):
    kinds = ["ant", "bee", "cat"]
    models = {"a": {"proba": {kind: kind for kind in kinds}}}
    result, found = constants(
        task="multiclass", label="kind", models=models, weight=weight, metrics=["accuracy", "log_loss"]
    )
    drawn = labels("kind", weight)
    shares = {f"proba|{kind}": np.mean(drawn == kind) for kind in kinds}
    assert found == pytest.approx(shares)
    assert value_of(result, "accuracy") == pytest.approx(max(shares.values()))
    entropy = -sum(share * np.log(share) for share in shares.values())
    assert value_of(result, "log_loss") == pytest.approx(entropy)


def test_multiclass_without_probabilities_is_the_most_frequent_class():
    result, _ = constants(task="multiclass", label="kind", models={"a": "guess"}, metrics=["accuracy"])
    assert value_of(result, "accuracy") == pytest.approx(rows()["kind"].value_counts()["count"].max() / 60)


@pytest.mark.parametrize("weight", [None, "w"])
def test_quantiles_are_those_of_the_label(weight):
    levels = (0.05, 0.25, 0.5, 0.9)
    models = {"a": {"quantiles": dict.fromkeys(levels, "forecast")}}
    _, found = constants(task="quantile", label="amount", models=models, weight=weight, metrics=["wis"])
    expected = np.quantile(labels("amount", weight), levels, method="averaged_inverted_cdf")
    assert list(found.values()) == pytest.approx(expected.tolist())


def test_normal_forecasts_are_mean_and_standard_deviation():
    models = {"a": {"mean": "forecast", "sd": "p"}}
    _, found = constants(task="quantile", label="amount", models=models, metrics=["crps"])
    assert found == pytest.approx({"mean": rows()["amount"].mean(), "sd": rows()["amount"].std(ddof=0)})


def test_members_of_an_ensemble_are_medians():
    models = {"a": {"members": ["forecast", "p", "w"]}}
    _, found = constants(task="quantile", label="amount", models=models, metrics=["crps"])
    assert found == dict.fromkeys(["member|0", "member|1", "member|2"], rows()["amount"].median())


def test_ranking_ties_all():
    result, found = constants(task="ranking", label="y", models={"a": "p"}, query="q", metrics=["ndcg"])
    assert found == {"score": 0.0}
    assert set(result.metrics["model"]) == {"a", "baseline"}


def test_it_is_compared_with_and_judged_only_where_it_is_named():
    keywords = {"label": "y", "models": {"a": "p"}, "metrics": ["brier"], "compare": "baseline"}
    gates = [{"metric": "brier", "at_most": 1}, {"metric": "brier", "model": "baseline", "at_most": 1}]
    gates.append({"metric": "brier", "against": "baseline", "at_most": 1})
    result, _ = constants(**keywords, gates=gates)
    assert result.comparisons.select("model", "baseline").rows() == [("a", "baseline")]
    difference = value_of(result, "brier", "a") - value_of(result, "brier")
    assert result.comparisons["difference"].to_list() == pytest.approx([difference])
    assert result.gates["model"].to_list() == ["a", "baseline", "a"]


def test_without_it_nothing_is_found():
    result = plm.evaluate(rows(), label="y", models={"a": "p"}, metrics=["brier"])
    assert "baseline" not in result.record["constants"]


@pytest.mark.parametrize("parts", [1, 2])
def test_units_without_a_prediction_of_any_model_are_resampled(parts):
    """Its intervals are those of a model that gives the same number in a run of its own."""
    asked = {"label": "y", "metrics": ["brier", "ece(bins=4)"], "unit": "q", "missing": "drop_per_model"}
    asked["uncertainty"] = {"replicates": 100, "seed": 3}
    frame = rows().with_columns(p=pl.when(pl.col("q") >= 4).then("p"))
    first = plm.state(frame, models="p", baseline=True, **asked)
    states = [
        plm.state(
            frame.filter(pl.col("q") % parts == part), models="p", baseline=True, constants=first, **asked
        )
        for part in range(parts)
    ]
    share = first.head.constants["baseline"]["score"]
    alone = plm.evaluate(frame.with_columns(baseline=share), models="baseline", **asked).metrics
    ends = ["value", "lower", "upper", "std_error", "blocks"]
    for result in (plm.evaluate(frame, models="p", baseline=True, **asked), plm.merge(*states)):
        found = result.metrics.filter(model="baseline").select(ends)
        assert found.to_numpy() == pytest.approx(alone.select(ends).to_numpy(), abs=1e-12)
