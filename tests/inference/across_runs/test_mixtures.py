"""Shapley and Owen values against enumeration of orders in Python, on games and on rows with scikit-learn."""

from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from sklearn.metrics import average_precision_score, roc_auc_score

import plmetrics as plm
from plmetrics.inference.across_runs import mixtures
from plmetrics.inference.across_runs.decomposition import SetMetric, decompose
from plmetrics.inference.across_runs.mixtures import SlicedPair, bin_starts
from plmetrics.inference.across_runs.owen import Coalitions, Steps
from plmetrics.inference.across_runs.score_decomposition import ScoreChange, SlicedChange
from plmetrics.suite.sections.uncertainty import Uncertainty

Rows = tuple[np.ndarray, np.ndarray]
"""Labels and scores of a slice."""


def values_of(coalitions: Coalitions, worth: np.ndarray) -> np.ndarray:
    return coalitions.mean([worth[coalitions.after], -worth[coalitions.before]])


def by_orders(parts: int, worth: Callable[[frozenset[int]], float]) -> np.ndarray:
    """Shapley values by their definition."""
    total = np.zeros(parts)
    orders = list(permutations(range(parts)))
    for order in orders:
        for place, part in enumerate(order):
            total[part] += worth(frozenset(order[: place + 1])) - worth(frozenset(order[:place]))
    return total / len(orders)


def test_values_of_a_game_are_those_of_all_orders() -> None:
    every = Coalitions.subsets(5)
    worth = np.random.default_rng(1).normal(size=32)
    number = {frozenset(np.flatnonzero(row)): place for place, row in enumerate(every.members)}
    values = values_of(every, worth)
    assert values == pytest.approx(by_orders(5, lambda some: worth[number[some]]))
    assert values.sum() == pytest.approx(worth[-1] - worth[0], abs=1e-14)


def test_a_part_that_does_nothing_has_no_value_and_parts_alike_have_the_same() -> None:
    every = Coalitions.subsets(4)
    size = every.members[:, :2].sum(axis=1) + 0.5 * every.members[:, 3]
    values = values_of(every, size**1.7)
    assert values[2] == pytest.approx(0, abs=1e-15)
    assert values[0] == pytest.approx(values[1])
    assert values[3] < values[0]


def test_orders_with_their_reverses_share_out_pairs_exactly() -> None:
    parts = 20
    draw = np.random.default_rng(2)
    single, pairs = draw.normal(size=parts), np.triu(draw.normal(size=(parts, parts)), 1)
    sampled = Coalitions.along_orders(parts, pairs=2, seed=3)
    members = sampled.members.astype(float)
    worth = members @ single + np.einsum("ci,ij,cj->c", members, pairs, members)
    assert values_of(sampled, worth) == pytest.approx(single + (pairs + pairs.T).sum(axis=0) / 2)


def test_errors_of_drawn_orders_are_as_large_as_they_say() -> None:
    parts = 7
    every = Coalitions.subsets(parts)
    draw = np.random.default_rng(4).normal(size=parts)
    exact = values_of(every, np.exp(every.members @ draw))
    apart, errors = [], []
    for seed in range(60):
        sampled = Coalitions.along_orders(parts, pairs=20, seed=seed)
        worth = np.exp(sampled.members @ draw)
        values = values_of(sampled, worth)
        assert values.sum() == pytest.approx(exact.sum())
        error = sampled.error([worth[sampled.after], -worth[sampled.before]])
        assert error is not None
        apart.append(values - exact)
        errors.append(error)
    ratio = np.mean(np.square(apart), axis=0) / np.mean(np.square(errors), axis=0)
    assert np.mean(ratio) == pytest.approx(1, abs=0.25)
    assert len({tuple(Coalitions.along_orders(parts, 1, seed).before[0]) for seed in range(5)}) > 1


def rows(seed: int, sizes: dict[str, int], noise: dict[str, float]) -> dict[str, Rows]:
    draw = np.random.default_rng(seed)
    out = {}
    for name, size in sizes.items():
        label = (draw.uniform(size=size) < 0.35).astype(int)
        score = np.round(label + draw.normal(size=size) * noise[name], 1)
        out[name] = label, score
    return out


def pair_of(before: dict[str, Rows], after: dict[str, Rows], names: list[str]) -> SlicedPair:
    """Both tables on a bin for each score."""
    scores = np.unique(np.concatenate([score for side in (before, after) for _, score in side.values()]))
    counts = np.zeros((2, len(names), 2, len(scores)))
    for side, table in enumerate((before, after)):
        for place, name in enumerate(names):
            label, score = table.get(name, (np.zeros(0, dtype=int), np.zeros(0)))
            np.add.at(counts[side, place], (label, np.searchsorted(scores, score)), 1)
    return SlicedPair.of(*counts)


def by_rows(
    metric: Callable[..., float], before: dict[str, Rows], after: dict[str, Rows], names: list[str]
) -> dict[tuple[str, str], float]:
    """Within and mix by enumeration of orders of slices and of the halves in each, on rows with weights."""
    sizes = [sum(len(label) for label, _ in side.values()) for side in (before, after)]

    @cache
    def worth(state: frozenset[tuple[str, str]]) -> float:
        labels, scores, weights = [], [], []
        for name in names:
            there = [side for side in (before, after) if name in side]
            of_share = (after if (name, "mix") in state else before).get(name)
            total = sizes[1] if (name, "mix") in state else sizes[0]
            label, score = (
                there[0][name] if len(there) == 1 else (after if (name, "within") in state else before)[name]
            )
            share = 0.0 if of_share is None else len(of_share[0]) / total
            labels.append(label)
            scores.append(score)
            weights.append(np.full(len(label), share / len(label)))
        return metric(np.concatenate(labels), np.concatenate(scores), sample_weight=np.concatenate(weights))

    parts = dict.fromkeys(product(names, ("within", "mix")), 0.0)
    number = 0
    for order in permutations(names):
        for halves in product((("within", "mix"), ("mix", "within")), repeat=len(names)):
            number += 1
            state: frozenset[tuple[str, str]] = frozenset()
            for name, both in zip(order, halves, strict=True):
                for half in both:
                    parts[name, half] += worth(state | {(name, half)}) - worth(state)
                    state |= {(name, half)}
    return {key: value / number for key, value in parts.items()}


def decomposed(pair: SlicedPair, names: list[str], *metrics: str, seed: int = 0) -> pl.DataFrame:
    subjects = [
        SetMetric("region", metric, "", metric)
        for metric in (plm.metric(text, task="binary") for text in metrics)
    ]
    change = SlicedChange(pair, names, [[] for _ in names], {"model": "m", "baseline": "b"})
    return decompose([ScoreChange(change, subjects, Uncertainty(seed=seed))])


def cells(frame: pl.DataFrame, **facts: Any) -> dict[tuple[str, str], Any]:
    return {(row["slice"], row["part"]): row["value"] for row in frame.filter(**facts).iter_rows(named=True)}


@pytest.mark.parametrize("sizes", [{"n": 90, "s": 40, "w": 70}, {"n": 30, "s": 150}])
def test_parts_are_those_of_rows_in_every_order(sizes: dict[str, int]) -> None:
    names, noise = ["n", "s", "w"], {"n": 0.6, "s": 0.9, "w": 1.5}
    before = rows(1, {"n": 60, "s": 60, "w": 30}, noise)
    after = rows(2, sizes, {**noise, "s": 2.0})
    frame = decomposed(pair_of(before, after, names), names, "roc_auc", "average_precision")
    for text, metric in (("roc_auc", roc_auc_score), ("average_precision", average_precision_score)):
        seen = cells(frame, metric=text)
        for (name, part), value in by_rows(metric, before, after, names).items():
            assert seen[name, part] == pytest.approx(value, abs=1e-12), (text, name, part)
        of_each = [seen[name, "shapley"] for name in names]
        assert sum(of_each) == pytest.approx(seen["all", "total"], abs=1e-14)
        for part in ("within", "mix"):
            assert seen["all", part] == pytest.approx(sum(seen[name, part] for name in names), abs=1e-14)
        ends = [
            metric(*(np.concatenate(column) for column in zip(*side.values(), strict=True)))
            for side in (before, after)
        ]
        assert seen["all", "total"] == pytest.approx(ends[1] - ends[0], abs=1e-12)
    if "w" not in sizes:
        assert seen["w", "within"] == 0
        assert seen["w", "mix"] == seen["w", "shapley"] != 0


def many(slices: int, seed: int) -> tuple[SlicedPair, list[str]]:
    names = [f"r{number}" for number in range(slices)]
    noise = {name: 0.5 + place / slices for place, name in enumerate(names)}
    before = rows(seed, dict.fromkeys(names, 60), noise)
    after = rows(seed + 1, {name: 30 + 7 * place for place, name in enumerate(names)}, noise)
    return pair_of(before, after, names), names


def test_halves_of_more_slices_are_drawn_and_shapley_values_are_not() -> None:
    pair, names = many(9, seed=5)
    frame = decomposed(pair, names, "roc_auc")
    (worth,) = pair.worths([plm.metric("roc_auc", task="binary")], Steps.of(9, 0).mixtures)
    exact = values_of(Coalitions.subsets(9), worth.value[: 1 << 9])
    seen = cells(frame)
    assert [seen[name, "shapley"] for name in names] == pytest.approx(exact, abs=1e-15)
    assert frame.filter(part="shapley")["sampling_error"].null_count() == 9
    assert (frame.filter(part="within")["sampling_error"].drop_nulls() > 0).all()
    assert "random orders" in frame["note"][0]
    for name in names:
        assert seen[name, "within"] + seen[name, "mix"] == pytest.approx(seen[name, "shapley"])


def test_orders_of_many_slices_follow_the_seed_and_lie_near_each_other() -> None:
    pair, names = many(14, seed=7)
    frames = [decomposed(pair, names, "roc_auc", seed=seed) for seed in (1, 1, 2)]
    assert frames[0].equals(frames[1])
    first, second = (cells(frame, part="shapley") for frame in frames[1:])
    errors = frames[0].filter(part="shapley")["sampling_error"].to_numpy()
    apart = np.array([first[key] - second[key] for key in first])
    assert 0 < np.abs(apart).max() < 6 * errors.max()
    assert errors.max() < 0.02 * max(abs(value) for value in first.values())
    assert sum(first.values()) == pytest.approx(cells(frames[0])["all", "total"], abs=1e-14)


def test_joined_bins_leave_the_total_and_cost_less_than_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pair, names = many(4, seed=9)
    exact = decomposed(pair, names, "roc_auc", "ks")
    monkeypatch.setattr(mixtures, "_IN_ALL", 24 * 80)
    joined = decomposed(pair, names, "roc_auc", "ks")
    for text in ("roc_auc", "ks"):
        fine, coarse = cells(exact, metric=text), cells(joined, metric=text)
        bound = joined.filter(metric=text, part="shapley")["bound"].to_numpy()
        apart = np.array([fine[name, "shapley"] - coarse[name, "shapley"] for name in names])
        assert np.abs(apart).max() > 0
        assert (np.abs(apart) <= 2 * bound).all()
        assert coarse["all", "total"] == pytest.approx(fine["all", "total"], abs=1e-12)
        assert sum(coarse[name, "shapley"] for name in names) == pytest.approx(
            fine["all", "total"], abs=1e-12
        )


def test_mixtures_without_a_value_leave_the_total_alone() -> None:
    before = {
        "n": (np.array([1, 1, 0]), np.array([0.9, 0.4, 0.3])),
        "s": (np.zeros(2, int), np.array([0.1, 0.2])),
    }
    after = {
        "n": (np.zeros(3, int), np.array([0.9, 0.4, 0.3])),
        "s": (np.array([1, 0]), np.array([0.1, 0.2])),
    }
    frame = decomposed(pair_of(before, after, ["n", "s"]), ["n", "s"], "roc_auc")
    assert frame.filter(pl_part := (frame["part"] == "total"))["value"].to_list() == [-1.0]
    assert frame.filter(~pl_part)["status"].unique().to_list() == ["no_positives"]
    lost = decomposed(pair_of(before, {"n": after["n"]}, ["n", "s"]), ["n", "s"], "roc_auc")
    assert lost.select("slice", "part", "value", "status").rows() == [("all", "total", None, "no_positives")]


FINE = 400


def drawn(draw: np.random.Generator, shares: list[float], noise: list[float], per: int) -> Any:
    """Counts of a table of units of some rows each, on fine bins, and its rows."""
    units = 600 // per
    unit = np.repeat(np.arange(units), per)
    region = np.repeat(draw.choice(len(shares), units, p=shares), per)
    label = (draw.uniform(size=len(unit)) < 0.3).astype(int)
    shock = np.repeat(draw.normal(size=units) * (per > 1), per)
    score = 1.6 * label - 1 + shock + np.array(noise)[region] * draw.normal(size=len(unit))
    place = np.minimum((FINE / (1 + np.exp(-score))).astype(int), FINE - 1)
    fine = np.zeros((len(shares), 2, FINE))
    np.add.at(fine, (region, label, place), 1)
    return fine, (region, unit, label, place)


def resampled(seed: int, per: int) -> pl.DataFrame:
    """The parts of a change with intervals: the share of the last slice grows, the scores of the second get worse."""
    draw = np.random.default_rng([seed, per])
    before = drawn(draw, [0.4, 0.4, 0.2], [1, 1, 2.5], per)
    after = drawn(draw, [0.3, 0.3, 0.4], [1, 1.5, 2.5], per)
    starts = bin_starts(before[0] + after[0], 128)
    bin_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=FINE))
    blocks = []
    for _, (region, unit, label, place) in (before, after):
        counts = np.zeros((3, 700, 2, len(starts)))
        np.add.at(counts, (region, unit, label, bin_of[place]), 1)
        blocks.append(counts)
    names = ["n", "s", "w"]
    pair = SlicedPair.of(before[0], after[0])
    change = SlicedChange(
        pair, names, [[]] * 3, {"model": "m", "baseline": "b"}, None, (blocks[0], blocks[1])
    )
    metric = plm.metric("roc_auc", task="binary")
    subjects = [SetMetric("region", metric, "", metric)]
    return decompose([ScoreChange(change, subjects, Uncertainty(replicates=60, seed=seed))])


@pytest.mark.slow
@pytest.mark.parametrize("per", [1, 4])
def test_intervals_are_as_wide_as_parts_vary(per: int) -> None:
    """Rows that are units, and units of several rows."""
    number = 300 if THOROUGH else 24
    frames = [resampled(seed, per) for seed in range(number)]
    values = np.array([frame["value"] for frame in frames])
    errors = np.sqrt(np.mean(np.square([frame["std_error"] for frame in frames]), axis=0))
    ratio = errors / values.std(axis=0, ddof=1)
    # Parts vary together: of other 300 tables the mean ratio is 1.00 to 1.07.
    assert np.exp(np.log(ratio).mean()) == pytest.approx(1, abs=0.12 if THOROUGH else 0.25)
    assert np.abs(np.log(ratio)).max() < (0.2 if THOROUGH else 0.7)
    low, high = (np.array([frame[end] for frame in frames]) for end in ("lower", "upper"))
    inside = (low <= values.mean(axis=0)) & (values.mean(axis=0) <= high)
    assert inside.mean() == pytest.approx(0.95, abs=0.03 if THOROUGH else 0.06)
