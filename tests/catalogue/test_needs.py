"""What metrics declare: needs of every kind, by users as by us, and of what a mean is one."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue import needs, registry
from plmetrics.catalogue.composite_metrics import AcrossSlices, DerivedMetric
from plmetrics.catalogue.metric import Facts, Metric, leaves
from plmetrics.catalogue.ranking.base import QueryMetric
from plmetrics.core import ops
from plmetrics.states.scores.sliced_scores import Binning
from plmetrics.states.sums import RowValue, View

ROWS = 400


class Foreign(plm.Metric):
    """What others write: the facts that must be stated."""

    task, range, direction = "binary", (-1e9, 1e9), "higher"


class Promised(Foreign):
    """Mean score of the rows that are positive, from sums."""

    name, family = "promised", "sums"

    def atoms(self):
        return {"promise": plm.Atom("promise", lambda rows: rows.score * rows.label)}

    def finalise(self, state):
        return ops.ratio(state.promise, state.positives)


class Won(Foreign):
    """Pairs of a positive and a negative that are ordered rightly, from what an area is made of."""

    name, needs = "won", needs.Points("area")

    def finalise(self, state):
        below = ops.cumulative(state.negative) - state.negative / 2.0
        return ops.ratio(ops.total(state.positive * below), state.positives * state.negatives)


class Distance(Foreign):
    """The distance of Kolmogorov and Smirnov, from a curve."""

    name, family, reads, kind = "distance", "scores", "curve", "pr_area"

    def finalise(self, state):
        one, other = (
            ops.ratio(ops.cumulative(held), ops.broadcast(ops.total(held), held))
            for held in (state.positive, state.negative)
        )
        return ops.largest(ops.absolute(one - other))


class Ties(Foreign):
    """Sum of the squared share of the rows at each score, from distinct scores."""

    name, family = "ties", "scores"

    def finalise(self, state):
        mass = state.positive + state.negative
        return ops.ratio(ops.total(mass * mass), state.weight * state.weight)


class Level(Foreign):
    """Mean score of the positives, from the scores themselves."""

    name, needs = "level", needs.Points("scores")

    def finalise(self, state):
        return ops.ratio(ops.total(state.score * state.positive), state.positives)


class Fullest(Foreign):
    """Share of the rows in the fullest of four bins."""

    name, needs = "fullest", needs.Bins(Binning(4))

    def finalise(self, state):
        return ops.ratio(ops.largest(state.bin_weight), state.weight)


@dataclass(frozen=True)
class Reached(Foreign):
    """The score that a share of the rows reaches, from rows in the order of a number."""

    share: float = 0.25
    name, family = "reached", "scores"

    @property
    def needs(self) -> needs.Quantiles:
        return needs.Quantiles(self.share, by=RowValue("own score", lambda rows: rows.score))

    def finalise(self, state):
        running = ops.cumulative(state.mass)
        wanted = ops.broadcast(ops.largest(running), running) * self.share
        return -ops.largest(ops.where(running > wanted * (1 + 1e-12), -state.value, -np.inf))


class Gained(Foreign, DerivedMetric):
    """Recall less false positive rate, from other metrics."""

    name = "gained"

    def parts(self):
        return plm.metric("recall"), plm.metric("fpr")

    def finalise(self, state):
        return state["recall"] - state["fpr"]


@dataclass(frozen=True)
class Spread(Foreign, AcrossSlices):
    """How far recall differs between the slices of a set."""

    name, slice_set = "spread", "g"

    def parts(self):
        return (plm.metric("recall"),)

    def finalise(self, state):
        return np.ptp(state.values["recall"], axis=-1)


class Concordance(Foreign):
    """Spearman's correlation squared, from moments of ranks."""

    task, name, family, reads = "regression", "concordance", "ranks", "ranks"

    def finalise(self, state):
        return ops.ratio(state.rank_product**2, state.prediction_square * state.label_square)


class Agreeing(Foreign):
    """Concordant less discordant pairs for each pair of labels that differ, from pairs of rows."""

    task, name, needs = "regression", "agreeing", needs.Ranks()

    def finalise(self, state):
        return ops.ratio(state.concordance, state.label_untied)


class Found(QueryMetric):
    """Whether the first row is relevant, from numbers of each query."""

    name = "found"

    def per_query(self, ranked):
        return ranked.reciprocal(1.0, 1)


BY_TASK = {
    "binary": [Promised(), Won(), Distance(), Ties(), Level(), Fullest(), Reached(), Gained(), Spread()],
    "regression": [Concordance(), Agreeing()],
    "ranking": [Found()],
}
USERS = [metric for metrics in BY_TASK.values() for metric in metrics]
FEW = {"uncertainty": {"replicates": 20, "seed": 1}}
ASKED: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"weight": "w"},
    "intervals": FEW,
    "weights and intervals": {"weight": "w"} | FEW,
    "reproducible": {"reproducible": True, "weight": "w"},
}


def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    positive = rng.random(ROWS) < 0.3
    score = np.round(np.clip(rng.normal(0.4 + 0.2 * positive, 0.2), 0.01, 0.99), 2)
    rows = {"y": positive.astype(float), "p": score, "w": rng.integers(1, 4, ROWS).astype(float)}
    judged = np.ones(ROWS, dtype=np.bool_)
    return pl.DataFrame(
        rows | {"g": rng.choice(["a", "b"], ROWS), "q": np.arange(ROWS) // 8, "judged": judged}
    )


def others(task: str) -> Iterator[Metric]:
    """The metrics of a task that need no parameter."""
    for metric in registry.classes(task):
        if all(field.default is not MISSING for field in fields(metric)) and metric.name != "mase":
            yield metric()


def found(
    task: str, metrics: list[Metric], asked: Mapping[str, Any]
) -> dict[tuple[str, str], tuple[Any, ...]]:
    frame = table()
    if task == "ranking":
        frame = frame.with_columns(pl.col("w", "g").first().over("q"))
        asked = {"query": "q", **asked}
    done = plm.evaluate(frame, task=task, label="y", models="p", metrics=metrics, slices=["g"], **asked)
    columns = [name for name in ("value", "lower", "upper") if name in done.metrics.columns]
    rows = done.metrics.select("metric", "slice", *columns, "status").iter_rows()
    return {(metric, piece): rest for metric, piece, *rest in rows}


TOGETHER: dict[tuple[str, str], dict[tuple[str, str], tuple[Any, ...]]] = {}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("metric", USERS, ids=lambda metric: metric.name)
def test_a_metric_of_every_need_is_the_same_alone_and_beside_all_others(metric: Metric, asked: str) -> None:
    if (metric.task, asked) not in TOGETHER:
        metrics = [*BY_TASK[metric.task], *others(metric.task)]
        TOGETHER[metric.task, asked] = found(metric.task, metrics, ASKED[asked])
    together = TOGETHER[metric.task, asked]
    alone = found(metric.task, [metric], ASKED[asked])
    assert alone
    for (text, piece), (*numbers, status) in alone.items():
        assert status == together[text, piece][-1] == "ok"
        for number, other in zip(numbers, together[text, piece], strict=False):
            assert number == (None if other is None else pytest.approx(other, rel=1e-9)), (text, piece)


def by_hand(frame: pl.DataFrame) -> dict[str, float]:
    label, score, weight = (frame[name].to_numpy() for name in ("y", "p", "w"))
    positive, negative = weight * label, weight * (1 - label)
    order, cuts = np.argsort(score), np.unique(score)
    mass = np.array([weight[score == cut].sum() for cut in cuts])
    below = [
        np.array([held[score <= cut].sum() for cut in cuts]) / held.sum() for held in (positive, negative)
    ]
    pairs = np.sign(score[:, None] - score) / 2 + 0.5
    called, place = score >= 0.5, np.cumsum(weight[order])
    recall, fpr = ((held * called).sum() / held.sum() for held in (positive, negative))
    part = [frame.filter(g=name) for name in ("a", "b")]
    recalls = [((p["y"] * p["w"] * (p["p"] >= 0.5)).sum()) / (p["y"] * p["w"]).sum() for p in part]
    return {
        "promised": positive @ score / positive.sum(),
        "won": positive @ pairs @ negative / positive.sum() / negative.sum(),
        "distance": np.abs(below[0] - below[1]).max(),
        "ties": mass @ mass / weight.sum() ** 2,
        "level": positive @ score / positive.sum(),
        "fullest": np.histogram(np.ceil(score * 4), np.arange(0.5, 5), weights=weight)[0].max()
        / weight.sum(),
        "reached": score[order][np.searchsorted(place, 0.25 * weight.sum(), side="right")],
        "gained": recall - fpr,
        "spread": abs(recalls[0] - recalls[1]),
    }


def test_values_are_those_by_hand() -> None:
    made = found("binary", BY_TASK["binary"], ASKED["weights"])
    for name, value in by_hand(table()).items():
        piece = "all"
        assert made[name, piece][0] == pytest.approx(value, rel=1e-9), name


def test_the_last_word_of_a_class_counts() -> None:
    again = type("Again", (Level,), {"name": "again", "reads": "curve"})()
    assert (again.needs, again.family) == (needs.Points("curve"), "scores")
    other = type("Other", (Ties,), {"name": "other", "needs": needs.Sums()})()
    assert (other.needs, other.family) == (needs.Sums(), "sums")


def test_users_have_every_need() -> None:
    kinds = {need for need in vars(needs).values() if isinstance(need, type) and issubclass(need, needs.Need)}
    assert {type(metric.needs) for metric in USERS} == kinds - {needs.Need, needs.OrderedRows}
    points = [metric.needs.reads for metric in USERS if isinstance(metric.needs, needs.Points)]
    assert sorted(points) == ["area", "curve", "order", "scores"]


def test_what_is_declared_a_mean_is_one() -> None:
    for metric in (metric for task in registry.tasks() for metric in others(task)):
        for _, own in metric.with_facts(Facts(("a", "b", "c"))).per_class():
            for leaf in leaves(own):
                assert leaf.mean == mean_of(leaf), metric


def mean_of(metric: Metric) -> str | None:
    """Of what a metric is a mean, tried out: value x denominator adds, for any two states."""
    if not isinstance(metric.needs, needs.Sums) or metric.additive:
        return None
    one, other = any_state(metric, 1), any_state(metric, 2)
    both = {name: one[name] + other[name] for name in one}
    with np.errstate(all="ignore"):
        masses = [metric.denominators(View(state)) for state in (one, other, both)]
        if any(len(mass) != 1 for mass in masses):
            return None
        moments = [
            np.asarray(metric.finalise(View(state))) * mass[0]
            for state, mass in zip((one, other, both), masses, strict=True)
        ]
    if not np.allclose(moments[0] + moments[1], moments[2], rtol=1e-9, atol=1e-9):
        return None
    return "rows" if np.allclose(masses[0][0], one["weight"], rtol=1e-9) else "mass"


def any_state(metric: Metric, seed: int) -> dict[str, Any]:
    """Any state: masses that add up to the weight, and sums of any size."""
    drawn = np.random.default_rng(seed)
    positives, negatives = drawn.uniform(1, 2, (2, 8))
    weight = positives + negatives
    state = {"n": weight, "weight": weight, "positives": positives, "negatives": negatives}
    hits, alarms = drawn.uniform(0.1, 0.9, (2, 8))
    counts = {"tp": hits, "fn": positives - hits, "fp": alarms, "tn": negatives - alarms}
    for name, part in metric.atoms().items():
        shape = (8, len(part)) if isinstance(part, tuple) else (8,)
        state[name] = counts[name] if name in counts else drawn.uniform(0.1, 0.9, shape)
    return state
