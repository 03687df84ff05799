"""Ordered metrics read what they declare: their values depend on nothing that stands beside them."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.catalogue.parameters import parameters
from plmetrics.core import ops


class Foreign(plm.Metric):
    """What others write: the facts that must be stated, and a value from the points."""

    task, family, range, direction = "binary", "scores", (0.0, 1e9), "higher"


class Distance(Foreign):
    """A Kolmogorov-Smirnov distance whose author finds the interval of an area suitable."""

    name, kind = "distance", "roc_area"

    def finalise(self, state):
        one, other = (
            ops.ratio(running, ops.broadcast(ops.largest(running), running), otherwise=0.0)
            for running in (ops.cumulative(state.positive), ops.cumulative(state.negative))
        )
        return ops.largest(ops.absolute(one - other))


class Ties(Foreign):
    """Sum of the squared share of the rows at each score: joined scores would tell."""

    name, kind = "ties", "pr_area"

    def finalise(self, state):
        mass = state.positive + state.negative
        return ops.ratio(ops.total(mass * mass), state.weight * state.weight)


@dataclass(frozen=True)
class Level(Foreign):
    """Mean score of the positives, an area by its kind as well."""

    name, kind, reads = "level", "roc_area", "scores"

    def finalise(self, state):
        return ops.ratio(ops.total(state.score * state.positive), state.positives)


class Undeclared(Level):
    """Reads scores and does not say so."""

    name, reads = "undeclared", "order"


FOREIGN = [Distance(), Ties(), Level()]
ASKED = {"label": "y", "models": "p"}
NEEDED = {"recall": 0.4, "precision": 0.5, "fpr": 0.2, "volume": 0.3, "k": 0.1}


def catalogue():
    """Every metric of the scores of two classes, with parameters where it must have some."""
    for metric in registry.classes("binary"):
        if metric.family == "scores":
            yield metric(**{name: NEEDED[name] for name in parameters(metric) if name in NEEDED})
    yield plm.metric("roc_auc(max_fpr=0.2)")
    yield plm.metric("roc_auc(min_recall=0.8)")


def table(rows=700):
    rng = np.random.default_rng(5)
    positive = rng.random(rows) < 0.3
    score = np.round(np.clip(rng.normal(0.4 + 0.2 * positive, 0.2), 0.01, 0.99), 2)
    return pl.DataFrame({"y": positive, "p": score, "w": np.ones(rows)})


def values(metrics, frame=None, **asked):
    found = plm.evaluate(table() if frame is None else frame, metrics=metrics, **ASKED, **asked).metrics
    return dict(found.select("metric", "value").rows())


def by_hand(frame):
    label, score = frame["y"].to_numpy(), frame["p"].to_numpy()
    cuts = np.unique(score)
    shares = [
        np.searchsorted(np.sort(score[label == of]), cuts, side="right") / (label == of).sum()
        for of in (1, 0)
    ]
    ties = np.unique(score, return_counts=True)[1]
    return {
        "distance": np.abs(shares[0] - shares[1]).max(),
        "ties": (ties / len(score)) @ (ties / len(score)),
        "level": score[label].mean(),
    }


FEW = {"replicates": 5, "seed": 1}


@pytest.mark.exhaustive
@pytest.mark.parametrize("beside", [{}, {"weight": "w"}, {"uncertainty": FEW}, {"curves": ["roc"]}], ids=str)
def test_values_are_the_same_alone_and_beside_every_other(beside):
    metrics = [*catalogue(), *FOREIGN]
    together = values(metrics, **beside)
    for name, value in by_hand(table()).items():
        assert together[name] == pytest.approx(value, rel=1e-12), name
    for metric in metrics:
        assert values([metric])[metric.text] == pytest.approx(together[metric.text], rel=1e-9), metric.text


def test_points_of_large_tables_are_distinct_scores_where_those_are_read(monkeypatch):
    monkeypatch.setattr("plmetrics.engine.memory.budget.POINT_ROWS", 100)
    monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    frame = table()
    for asked in ({}, {"uncertainty": FEW}):
        found = values([Distance(), Ties(), "ks", "roc_auc"], frame, **asked)
        assert found["ties"] == pytest.approx(by_hand(frame)["ties"], rel=1e-12)
        assert found["distance"] == pytest.approx(found["ks"], rel=1e-12)


def test_a_metric_that_reads_undeclared_scores_is_refused_with_words():
    with pytest.raises(plm.ConfigError, match=r"undeclared reads state\.score.*\n.*reads = 'scores'"):
        values([Undeclared()], uncertainty=FEW)
    with pytest.raises(plm.ConfigError, match="level needs the sorted rows"):
        values([Level()], exact=False)
    Nothing = type("Nothing", (Distance,), {"reads": "nothing"})
    with pytest.raises(plm.ConfigError, match="reads of the metric class Nothing must be one of area"):
        values([Nothing()])


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_ranks_of_a_slice_without_rows_of_one_model_are_undefined(method):
    draw = np.random.default_rng(1)
    half = np.repeat(["a", "b"], 200)
    rows = pl.DataFrame({"y": draw.normal(size=400), "p": draw.normal(size=400), "half": half})
    rows = rows.with_columns(q=pl.when(pl.col("half") == "a").then("p"))
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models=["p", "q"],
        metrics=["spearman", "kendall_tau"],
        slices=["half"],
        missing="drop_per_model",
        uncertainty={"method": method, "replicates": 20},
    ).metrics
    absent = found.filter(model="q", slice="half=b")
    assert absent["status"].to_list() == ["no_rows"] * 2
    assert absent["value"].null_count() == absent["lower"].null_count() == 2
    columns = ["metric", "value", "lower", "upper"]
    there, alone = (found.filter(model=model, slice="half=a").select(columns) for model in ("q", "p"))
    assert there.equals(alone)
