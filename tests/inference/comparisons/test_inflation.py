"""How often a norm of a slice is told apart from that of its rest, where both come from one distribution."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH

import plmetrics as plm
from plmetrics.inference.comparisons.inflation import (
    Bearable,
    bearable,
    hides_noise,
    leaves_noise,
    noise_bounds,
    remaining_noise,
    sizes_matter,
    unequal_noise,
)
from plmetrics.inference.comparisons.paired_bootstrap import (
    Difference,
    log_estimate,
    paired_difference,
    paired_ratio,
)
from plmetrics.inference.estimate import Estimate, effective_blocks
from plmetrics.inference.metric_values import bin_view, finalise, score_view
from plmetrics.inference.weights import draw_weights

TABLES, REPLICATES = (400, 300) if THOROUGH else (100, 100)
POINTS = 50
NOISE = 3 * (0.06 * 0.94 / TABLES) ** 0.5
TRUTHS: dict[str, Any] = {
    "calibrated": lambda score: score,
    "too steep": lambda score: 1 / (1 + ((1 - score) / score) ** 0.5),
    "one bin": lambda score: np.where((score > 0.3) & (score < 0.4), score + 0.3, score),
}
SIZES = [(100, 2000), (240, 2000), (300, 900), (1000, 5000)] if THOROUGH else [(100, 1000)]
CASES = (
    [("calibrated", 10), ("calibrated", 15), ("too steep", 10), ("one bin", 15)]
    if THOROUGH
    else [("calibrated", 10)]
)


def counted(rng: Any, rows: int, blocks: int, draw: Any, shape: tuple[int, int]) -> np.ndarray:
    """Counts `[block, point, channel]` of rows drawn anew."""
    point, channels = draw(rng, rows)
    key = rng.integers(blocks, size=rows) * shape[0] + point
    size = blocks * shape[0]
    counts = [np.bincount(key, weights=channel, minlength=size) for channel in channels]
    return np.stack(counts, axis=-1).reshape(blocks, *shape)


def sides(metrics: Any, sizes: tuple[int, int], draw: Any, shape: tuple[int, int], view: Any) -> Any:
    """The estimates of slice and rest of each metric, of all tables."""
    rng, blocks = np.random.default_rng(sum(sizes)), min(sum(sizes), 1000)
    weights = draw_weights(np.ones(blocks, dtype=np.int64), REPLICATES, seed=5).counts.astype(np.float64)
    found: dict[str, list[Estimate]] = {metric.text: [] for metric in metrics}
    for rows in sizes:
        values, groups = {metric.text: ([], []) for metric in metrics}, []
        for _ in range(TABLES):
            counts = counted(rng, rows, blocks, draw, shape)
            mass = counts[..., :2].sum(axis=(1, 2)) if view is of_points else counts[..., 0].sum(axis=1)
            held = np.flatnonzero(mass)
            groups.append(effective_blocks((mass,)))
            drawn = weights[:, held] @ counts[held].reshape(len(held), -1)
            replicates, point = view(drawn.reshape(-1, *shape)), view(counts.sum(axis=0, keepdims=True))
            for metric in metrics:
                values[metric.text][0].append(finalise(metric, point)[0])
                values[metric.text][1].append(finalise(metric, replicates))
        ok = np.full(TABLES, "ok", dtype=object)
        for text, (value, drawn) in values.items():
            made = np.stack(drawn, axis=1)
            found[text].append(Estimate(np.array(value), ok, np.array(groups), made, ()))
    return [(metric, found[metric.text]) for metric in metrics]


def of_scores(bins: int, truth: str) -> Any:
    def draw(rng: Any, rows: int) -> Any:
        score = np.clip(rng.beta(2, 3, rows), 1e-6, 1 - 1e-6)
        label = rng.random(rows) < TRUTHS[truth](score)
        return np.ceil(score * bins).astype(np.int64) - 1, (np.ones(rows), label, score)

    return draw


def rejected(metric: Any, pair: list[Estimate], scale: str, sizes: tuple[int, int]) -> float:
    """The share of tables with p < 0.05, as contrasts of different sizes are made."""
    if hides_noise(metric, np.array(sizes)).any():
        return 0.0
    equal = np.zeros(TABLES, dtype=bool)
    if scale == "ratio":
        made = paired_ratio(*pair, (log_estimate(pair[0]), log_estimate(pair[1])), equal=equal, level=0.95)
    else:
        made = paired_difference(*pair, equal=equal, level=0.95)
    bears = bearable(metric, scale)
    if bears is not None:
        made = made.without_tests(unequal_noise(*pair, bears), "unequal_noise")
    if leaves_noise(metric, scale):
        made = noise_bounds(made, remaining_noise(metric, *pair), ~equal, 0.95)
    return float(np.mean(np.nan_to_num(made.p_value, nan=1.0) < 0.05))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("truth", "bins"), CASES)
def test_equal_calibration_is_told_apart_no_more_often_than_promised(sizes, truth, bins) -> None:
    """About 6 %; of debiased norms up to 7.5 % where bins hold few rows."""
    limits = {
        "": 0.06,
        ", debias=true": 0.075,
        ", norm=l2": 0.06,
        ", norm=l2, debias=true": 0.075,
        ", norm=max": 0.06,
    }
    metrics = {plm.metric(f"ece(bins={bins}{more})", task="binary"): limit for more, limit in limits.items()}
    for metric, pair in sides(list(metrics), sizes, of_scores(bins, truth), (bins, 3), bin_view):
        level = {scale: rejected(metric, pair, scale, sizes) for scale in ("difference", "ratio")}
        print(sizes, bins, truth, metric.text, level)  # noqa: T201
        assert level["difference"] < metrics[metric] + NOISE, metric.text
        assert level["ratio"] < 0.06 + NOISE, metric.text


def of_classes(skill: float, share: float) -> Any:
    def draw(rng: Any, rows: int) -> Any:
        label = rng.random(rows) < share
        score = 1 / (1 + np.exp(-rng.normal(size=rows) - skill * label))
        return (score * POINTS).astype(np.int64), (label, ~label)

    return draw


def of_points(counts: np.ndarray) -> Any:
    return score_view({"positive": counts[..., 0], "negative": counts[..., 1]})


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES[1:] if THOROUGH else SIZES)
@pytest.mark.parametrize("skill", [0.0, 0.5, 1.0, 2.0] if THOROUGH else [0.0])
def test_equal_separation_is_told_apart_no_more_often_than_promised(sizes, skill) -> None:
    metric = plm.metric("ks", task="binary")
    for _, pair in sides([metric], sizes, of_classes(skill, 0.3), (POINTS, 2), of_points):
        level = {scale: rejected(metric, pair, scale, sizes) for scale in ("difference", "ratio")}
        print(sizes, skill, level)  # noqa: T201
        assert max(level.values()) < 0.06 + NOISE, level


def test_noise_that_is_left_widens_on_one_side_only() -> None:
    one = np.array([[0.06], [0.08], [0.10]])
    model = Estimate(np.array([0.06]), np.array(["ok"]), np.array([100]), one, ())
    other = Estimate(np.array([0.01]), np.array(["ok"]), np.array([100]), np.full((3, 1), 0.01), ())
    made = paired_difference(model, other, equal=np.array([False]), level=0.95)
    remaining = remaining_noise(plm.metric("ks", task="binary"), model, other)
    moved: Difference = noise_bounds(made, remaining, np.array([True]), 0.95)
    assert moved.difference[0] == pytest.approx(0.05)
    assert moved.upper[0] == made.upper[0]
    assert moved.lower[0] == pytest.approx(made.lower[0] - 2 * 0.02)
    assert made.p_value[0] < 0.05 < moved.p_value[0]
    assert moved.lower[0] < 0 < moved.upper[0]
    alone = noise_bounds(made, remaining, np.array([False]), 0.95)
    assert (alone.lower[0], alone.p_value[0]) == (made.lower[0], made.p_value[0])


def test_no_distance_is_far_for_the_largest_gap() -> None:
    def of(value: float, drawn: list[float]) -> Estimate:
        return Estimate(np.array([value]), np.array(["ok"]), np.array([100]), np.array(drawn)[:, None], ())

    far = of(0.7, [0.71, 0.72]), of(0.02, [0.05, 0.06])
    assert not unequal_noise(*far, Bearable(0.25, far=True))[0]
    assert unequal_noise(*far, Bearable(0.25, far=False))[0]


@pytest.mark.slow
def test_slices_of_a_row_or_two_a_bin_are_told_apart_no_more_often_than_promised() -> None:
    """Labels that no score and no slice tells anything of: 74 % of the tests of `ece` found a difference."""
    metrics = ["ece", "ece(strategy=quantile)", "mce", "ece(debias=true)"]
    rejected = dict.fromkeys(metrics, 0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = {"y": rng.integers(0, 2, 480), "p": rng.random(480), "g": rng.integers(0, 24, 480)}
        found = plm.evaluate(
            rows,
            label="y",
            models="p",
            metrics=metrics,
            slices=["g"],
            uncertainty={"replicates": 100},
            compare={"slices": {"g": "rest"}},
        )
        p = found.comparisons.sort("metric")["p_value"].fill_null(1.0).to_numpy().reshape(len(metrics), 24)
        for metric, values in zip(metrics, p, strict=True):
            rejected[metric] += int((values < 0.05).sum())
    assert all(count <= 0.1 * 3 * 24 for count in rejected.values()), rejected


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", ["ece", "ece(norm=l2)", "ece(debias=true)", "corp_miscalibration", "ks"])
def test_scores_in_more_bins_are_no_worse_for_their_noise(metric: str) -> None:
    """Calibrated scores against the same cut to two: tests of `ece` told half of them apart, of `corp` all."""
    tables, rows, rng = 60, 300, np.random.default_rng(8)
    score = np.tile(1 / (1 + np.exp(-rng.normal(0, 1.2, rows))), tables)
    table, unit = np.divmod(np.arange(tables * rows), rows)
    high = score >= np.median(score)
    cut = np.where(high, score[high].mean(), score[~high].mean())
    steep = np.clip(0.6 * score + 0.02, 0, 1)
    truth = 0.5 if metric == "ks" else score
    found = plm.evaluate(
        {
            "y": rng.random(len(score)) < truth,
            "p": score,
            "cut": cut,
            "steep": steep,
            "table": table,
            "unit": unit,
        },
        label="y",
        models={name: name for name in ("p", "cut", "steep")},
        metrics=[metric],
        unit="unit",
        slices=["table"],
        max_slices=tables + 1,
        uncertainty={"replicates": 100},
        compare={"baseline": "p", "scales": ["difference", "ratio"]},
    ).comparisons.filter(slice_set="table")
    significant = found.with_columns((pl.col("p_value").fill_null(1.0) < 0.05).alias("found"))
    counts = significant.filter(scale="difference").group_by("model").agg(pl.col("found").sum())
    rejected = dict(counts.rows())
    assert rejected["cut"] <= 0.2 * tables
    assert significant.filter(scale="ratio", model="cut")["found"].sum() <= 0.2 * tables
    assert metric == "ks" or rejected["steep"] > 0.7 * tables
    tested = significant.filter(pl.col("p_value").is_not_null(), scale="difference")
    excludes = (pl.col("lower") > 0) | (pl.col("upper") < 0)
    assert tested.select((excludes == pl.col("found")).all()).item()


@pytest.mark.parametrize(
    ("metric", "scale", "bears", "leaves"),
    [
        ("ks", "difference", Bearable(0.5, far=True), True),
        ("ks", "ratio", Bearable(0.1, far=False), False),
        ("ece", "difference", Bearable(0.25, far=True), False),
        ("ece", "ratio", Bearable(0.25, far=True), False),
        ("mce", "difference", Bearable(0.25, far=False), False),
        ("ece(debias=true)", "difference", None, True),
        ("ece(debias=true)", "ratio", Bearable(0.25, far=True), False),
        ("brier", "difference", None, False),
        ("brier", "ratio", None, False),
        ("roc_auc", "difference", None, False),
    ],
)
def test_contrasts_bear_noise_by_their_metric_and_scale(
    metric: str, scale: str, bears: Bearable | None, *, leaves: bool
) -> None:
    of_name = plm.metric(metric, task="binary")
    assert (bearable(of_name, scale), leaves_noise(of_name, scale)) == (bears, leaves)


@pytest.mark.parametrize(("metric", "least"), [("ece(bins=12)", 60), ("mce(bins=12)", 180), ("brier", 0)])
def test_noise_is_hidden_below_five_rows_a_bin_and_fifteen_of_the_largest_gap(
    metric: str, least: int
) -> None:
    rows = np.array([0, 59, 60, 179, 180, 10**6])
    hidden = hides_noise(plm.metric(metric, task="binary"), rows)
    assert hidden.tolist() == (rows < least).tolist()


@pytest.mark.parametrize("swapped", [False, True])
def test_sizes_matter_where_the_noise_of_fewer_rows_could_be_the_difference(*, swapped: bool) -> None:
    """A norm of 0.1 of 400 rows would be 0.2 of 100: a fifth of an error of 0.5 is as much, of 0.51 more."""
    values, rows = np.array([[0.2, 0.2], [0.1, 0.1]]), np.array([[100, 100], [400, 400]])
    step = -1 if swapped else 1
    assert sizes_matter(values[::step], rows[::step], np.array([0.49, 0.51])).tolist() == [True, False]
