"""Treatment effects against their definitions in plain Python, published values and textbook standard errors."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm

SIM_PTE = Path(__file__).parents[2] / "configs" / "data" / "sim_pte.csv"
EFFECTS = [
    "ate",
    "e_value",
    "ate_ipw(propensity=e)",
    "ate_ipw(propensity=e, estimator=horvitz_thompson)",
    "ate_ipw(propensity=e, clip=0.3)",
    "ate_aipw(propensity=e, mu0=m0, mu1=m1)",
]
ORDERED = [
    "qini",
    "qini(method=guelman)",
    "auuc",
    "auuc(method=guelman)",
    "uplift_at_k(k=0.3)",
    "uplift_at_k(k=0.3, by=arm)",
    "uplift_at_k(k=7)",
    "uplift_at_k(k=7, by=arm)",
]
PERFECT = ["qini(normalise=perfect)", "qini(method=guelman, normalise=perfect)"]


def table(rows: int = 120, seed: int = 0, *, binary: bool = False) -> pl.DataFrame:
    """An experiment with ties among the scores, weights of which some are 0, and propensities that matter."""
    rng = np.random.default_rng(seed)
    e = rng.uniform(0.1, 0.9, rows)
    t = rng.random(rows) < e
    score = rng.integers(-4, 5, rows) / 4
    y = 5 + score * t + e + rng.normal(size=rows)
    if binary:
        y = (rng.random(rows) < 0.4 + 0.2 * score * t).astype(float)
    return pl.DataFrame(
        {
            "y": y,
            "t": t,
            "p": score,
            "e": e,
            "m0": 5 + e + rng.normal(0, 0.3, rows),
            "m1": 5 + e + score,
            "w": rng.choice([0.0, 0.5, 1.0, 2.0], rows),
            "one": np.ones(rows),
            "g": rng.choice(["a", "b", "c"], rows),
        }
    )


def evaluate(frame: pl.DataFrame, metrics: Any, **settings: Any) -> plm.Result:
    arguments = {"task": "uplift", "label": "y", "treatment": "t", "models": "p", "metrics": metrics}
    return plm.evaluate(frame, **(arguments | settings))


def values(result: plm.Result) -> dict[tuple[str, str], float]:
    return {(row["slice"], row["metric"]): row["value"] for row in result.metrics.iter_rows(named=True)}


def mean(rows: list[dict[str, Any]], weight: str, value: str = "y") -> float:
    total = sum(row[weight] for row in rows)
    return sum(row[weight] * row[value] for row in rows) / total if total else 0.0


def clipped(e: float, clip: float) -> float:
    return min(max(e, clip), 1 - clip)


def hajek(rows: list[dict[str, Any]], weight: str, clip: float) -> float:
    arms = []
    for arm in (True, False):
        each = [
            (row[weight] / (clipped(row["e"], clip) if arm else 1 - clipped(row["e"], clip)), row["y"])
            for row in rows
            if row["t"] == arm
        ]
        arms.append(sum(w * y for w, y in each) / sum(w for w, _ in each))
    return arms[0] - arms[1]


def effects_by_hand(rows: list[dict[str, Any]], weight: str) -> list[float]:
    treated, control = ([row for row in rows if row["t"] == arm] for arm in (True, False))
    one, other = mean(treated, weight), mean(control, weight)
    ratio = max(one, other) / min(one, other)
    total = sum(row[weight] for row in rows)
    horvitz = robust = 0.0
    for row in rows:
        w, e, y, t = row[weight], row["e"], row["y"], row["t"]
        horvitz += w * (y / e if t else -y / (1 - e))
        residual = (y - row["m1"]) / e if t else -(y - row["m0"]) / (1 - e)
        robust += w * (row["m1"] - row["m0"] + residual)
    return [
        one - other,
        ratio + math.sqrt(ratio * (ratio - 1)),
        hajek(rows, weight, 0.0),
        horvitz / total,
        hajek(rows, weight, 0.3),
        robust / total,
    ]


def curve(rows: list[dict[str, Any]], weight: str, kind: str) -> list[tuple[float, float]]:
    """Points of a curve at the distinct scores, highest first, each from the rows with at least that score."""
    arms = {arm: [row for row in rows if row["t"] == arm] for arm in (True, False)}
    sizes = {arm: sum(row[weight] for row in part) for arm, part in arms.items()}
    points = [(0.0, 0.0)]
    for threshold in sorted({row["p"] for row in rows}, reverse=True):
        n, y = {}, {}
        for arm, part in arms.items():
            above = [row for row in part if row["p"] >= threshold]
            n[arm] = sum(row[weight] for row in above)
            y[arm] = sum(row[weight] * row["y"] for row in above)
        share = (n[True] + n[False]) / (sizes[True] + sizes[False])
        if kind == "qini":
            height = (y[True] - (y[False] * n[True] / n[False] if n[False] else 0.0)) / sizes[True]
        elif kind == "guelman":
            height = y[True] / sizes[True] - y[False] / sizes[False]
        else:
            means = [y[arm] / n[arm] if n[arm] else 0.0 for arm in (True, False)]
            height = share * (means[0] - means[1])
        points.append((share, height))
    return points


def area(points: list[tuple[float, float]]) -> float:
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))


def qini(rows: list[dict[str, Any]], weight: str, kind: str) -> float:
    points = curve(rows, weight, kind)
    return area(points) - points[-1][1] / 2


def top(rows: list[dict[str, Any]], weight: str, size: float) -> list[tuple[float, dict[str, Any]]]:
    """The rows of the top with the weight that each has in it; ties at the cut share what is left."""
    out = []
    left = size
    for threshold in sorted({row["p"] for row in rows}, reverse=True):
        tied = [row for row in rows if row["p"] == threshold]
        mass = sum(row[weight] for row in tied)
        share = min(1.0, left / mass) if mass and left > 1e-12 else 0.0
        out += [(share * row[weight], row) for row in tied]
        left -= share * mass
    return out


def uplift_at(rows: list[dict[str, Any]], weight: str, k: float, by: str) -> float:
    means = []
    arms = {arm: [row for row in rows if row["t"] == arm] for arm in (True, False)}
    for arm, part in arms.items():
        pool = part if by == "arm" else rows
        size = k * sum(row[weight] for row in pool) if k < 1 else k
        own = [(w, row["y"]) for w, row in top(pool, weight, size) if row["t"] == arm]
        means.append(sum(w * y for w, y in own) / sum(w for w, _ in own))
    return means[0] - means[1]


def ordered_by_hand(rows: list[dict[str, Any]], weight: str) -> list[float]:
    return [
        qini(rows, weight, "qini"),
        qini(rows, weight, "guelman"),
        area(curve(rows, weight, "uplift")),
        area(curve(rows, weight, "guelman")),
        *(uplift_at(rows, weight, k, by) for k in (0.3, 7) for by in ("overall", "arm")),
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weight", ["one", "w"])
def test_values_are_those_of_the_definitions(seed: int, weight: str) -> None:
    frame = table(seed=seed)
    found = values(evaluate(frame, EFFECTS + ORDERED, slices={"g": "g"}, weight=weight))
    parts = {"all": frame, **{f"g={g}": frame.filter(g=g) for g in "abc"}}
    for name, part in parts.items():
        rows = part.filter(pl.col(weight) > 0).to_dicts()
        expected = effects_by_hand(rows, weight) + ordered_by_hand(rows, weight)
        for metric, value in zip(EFFECTS + ORDERED, expected, strict=True):
            assert found[name, metric] == pytest.approx(value, rel=1e-10, abs=1e-12), (name, metric)


def by_propensity(frame: pl.DataFrame) -> list[float]:
    """Areas and tops with NumPy: each arm's gains cumulated over distinct scores by inverse propensities."""
    y, p, e, w = (frame[name].to_numpy().astype(float) for name in ("y", "p", "e", "w"))
    t = frame["t"].to_numpy()
    inverse = w * np.where(t, 1 / e, 1 / (1 - e))
    cuts, place = np.unique(-p, return_inverse=True)
    gains = {
        arm: [np.cumsum(np.bincount(place, part * (t == arm), len(cuts))) for part in (inverse, inverse * y)]
        for arm in (True, False)
    }
    (n1, y1), (n0, y0) = gains[True], gains[False]
    with np.errstate(invalid="ignore", divide="ignore"):
        controls = np.where(n0 > 0, y0 / n0, 0.0)
        treated = np.where(n1 > 0, y1 / n1, 0.0)
    share = (n1 + n0) / (n1[-1] + n0[-1])
    curves = [(y1 - controls * n1) / n1[-1], y1 / n1[-1] - y0 / n0[-1], share * (treated - controls)]
    areas = [np.trapezoid(np.append(0, height), np.append(0, share)) for height in curves]
    at = {arm: np.interp(0.4, np.append(0, share), np.append(0, n)) for arm, n in ((True, n1), (False, n0))}
    outcome = {
        arm: np.interp(0.4, np.append(0, share), np.append(0, n)) for arm, n in ((True, y1), (False, y0))
    }
    return [
        areas[0] - curves[0][-1] / 2,
        areas[1] - curves[1][-1] / 2,
        areas[2],
        areas[1],
        outcome[True] / at[True] - outcome[False] / at[False],
        y1[-1] / n1[-1] - y0[-1] / n0[-1],
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("exact", [True, None])
@pytest.mark.parametrize("seed", range(3))
def test_areas_by_inverse_propensities(seed: int, exact: bool | None) -> None:
    frame = table(400, seed)
    metrics = [*ORDERED[:4], "uplift_at_k(k=0.4)", "ate"]
    derive = {"inverse": "w * CASE WHEN t THEN 1 / e ELSE 1 / (1 - e) END"}
    found = values(evaluate(frame, metrics, derive=derive, weight="inverse", exact=exact))
    assert list(found.values()) == pytest.approx(by_propensity(frame), rel=1e-10)
    hajek_of_rows = values(evaluate(frame, "ate_ipw(propensity=e)", weight="w"))
    assert found["all", "ate"] == pytest.approx(*hajek_of_rows.values(), rel=1e-10)


@pytest.mark.exhaustive
@pytest.mark.parametrize("exact", [True, False])
def test_raw_areas_stand_beside_those_by_inverse_propensities(exact: bool) -> None:
    """Each model has weights of its own: values, curves, and merged states, which are the run to the last bit."""
    frame = table(400, 5).with_columns(day=pl.int_range(400))
    derive = {"inverse": "w * CASE WHEN t THEN 1 / e ELSE 1 / (1 - e) END"}
    models = {"raw": "p", "ipw": {"score": "p", "weight": "inverse"}}
    metrics = [*ORDERED[:4], "uplift_at_k(k=0.4)", "ate"]
    asked: dict[str, Any] = {
        "models": models,
        "derive": derive,
        "curves": ["qini"],
        "exact": exact,
        "unit": "day",
    }
    asked |= {"reproducible": True, "uncertainty": {"replicates": 20}}
    found = evaluate(frame, metrics, **asked)
    even = frame.with_columns(e=pl.lit(0.5), w=pl.lit(1.0))
    for model, rows in (("raw", even), ("ipw", frame)):
        ours = found.metrics.filter(model=model)["value"].to_list()
        assert ours == pytest.approx(by_propensity(rows), rel=1e-10)
    end = found.curves.filter(curve="qini", model="ipw").sort("x")["y"][-1]
    assert end == pytest.approx(found.metrics.filter(model="ipw", metric="ate")["value"].item(), rel=1e-10)
    if not exact:
        given: dict[str, Any] = {
            "task": "uplift",
            "label": "y",
            "treatment": "t",
            "metrics": metrics,
            **asked,
        }
        first = plm.state(frame, **given)
        parts = [plm.state(part, **given, constants=first) for part in (frame[150:], frame[:150])]
        merged = plm.merge(*parts)
        assert merged.metrics.equals(found.metrics)
        assert merged.curves.equals(found.curves)


def test_inverse_propensities_undo_who_was_treated() -> None:
    """Who was treated depends on what raises the outcome anyway, and the score on it too: a drawn experiment says 0."""
    rng = np.random.default_rng(8)
    n = 200_000
    risk = rng.normal(size=n)
    e = 1 / (1 + np.exp(-risk))
    frame = pl.DataFrame({"t": rng.random(n) < e, "y": risk + rng.normal(size=n), "p": risk, "e": e})
    derive = {"inverse": "CASE WHEN t THEN 1 / e ELSE 1 / (1 - e) END"}
    raw, weighted = (
        values(evaluate(frame, ["auuc", "ate"], **roles))
        for roles in ({}, {"derive": derive, "weight": "inverse"})
    )
    for metric, least in (("auuc", 0.2), ("ate", 0.7)):
        assert raw["all", metric] > least
        assert abs(weighted["all", metric]) < 0.03


@pytest.mark.parametrize("weight", ["one", "w"])
def test_perfect_is_the_area_of_the_score_that_knows_the_outcome(weight: str) -> None:
    frame = table(binary=True)
    found = values(evaluate(frame, PERFECT, weight=weight))
    knows = frame.with_columns(p=pl.col("y") * (2 * pl.col("t").cast(pl.Float64) - 1))
    for metric, kind in zip(PERFECT, ("qini", "guelman"), strict=True):
        rows, best = (part.filter(pl.col(weight) > 0).to_dicts() for part in (frame, knows))
        expected = qini(rows, weight, kind) / qini(best, weight, kind)
        assert found["all", metric] == pytest.approx(expected, rel=1e-10)
    assert list(values(evaluate(knows, PERFECT, weight=weight)).values()) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("weight", ["one", "w"])
def test_normalised_areas_are_in_units_of_the_effect(weight: str) -> None:
    """As the areas of causalml: the curve divided by the size of its end."""
    frame = table(seed=3)
    names = {"uplift": "auuc(normalise=end)", "guelman": "auuc(method=guelman, normalise=end)"}
    found = values(evaluate(frame, list(names.values()), weight=weight))
    rows = [row for row in frame.to_dicts() if row[weight] > 0]
    treated, control = (mean([row for row in rows if row["t"] is side], weight) for side in (True, False))
    for kind, metric in names.items():
        expected = area(curve(rows, weight, kind)) / abs(treated - control)
        assert found["all", metric] == pytest.approx(expected, rel=1e-10), kind
    same = pl.DataFrame({"t": [0, 1, 0, 1], "y": [1.0, 1.0, 0.0, 0.0], "p": [0.1, 0.2, 0.3, 0.4]})
    result = evaluate(same, ["auuc(normalise=end)"])
    assert result.metrics["status"].to_list() == ["zero_denominator"]
    rows = pl.DataFrame(
        {"t": [0] * 13 + [1] * 29, "y": [0.1] * 42, "p": range(42), "w": [0.1, 0.2, 0.7] * 14}
    )
    result = evaluate(rows, ["auuc(normalise=end)"], weight="w")
    assert result.metrics["status"].to_list() == ["zero_denominator"]


def test_published_values() -> None:
    rows = pl.read_csv(SIM_PTE)
    names = {"label": "outcome", "treatment": "treatment", "models": "uplift"}
    found = values(evaluate(rows, ["auuc(method=guelman)", "qini(method=guelman)"], **names))
    assert found["all", "auuc(method=guelman)"] == pytest.approx(0.120805, abs=5e-7)
    assert found["all", "qini(method=guelman)"] == pytest.approx(0.106805, abs=5e-7)


@pytest.mark.parametrize(
    ("treatment", "outcome", "score", "auuc", "qini_value"),
    [
        ([0, 0, 1, 1], [1, 0, 0, 1], [0.8, 0.5, 0.9, 0.4], -0.25, -0.25),
        ([0, 0, 1, 1], [1, 0, 0, 1], [0.8, 0.5, 0.5, 0.5], -0.25, -0.25),
        ([0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 0.4722222, 0.3055556),
    ],
)
def test_published_examples(
    treatment: list[int], outcome: list[int], score: list[float], auuc: float, qini_value: float
) -> None:
    rows = pl.DataFrame({"t": treatment, "y": outcome, "p": score})
    found = values(evaluate(rows, ["auuc(method=guelman)", "qini(method=guelman)"]))
    assert list(found.values()) == [pytest.approx(auuc, abs=1e-7), pytest.approx(qini_value, abs=1e-7)]


@pytest.mark.parametrize("weight", ["one", "w"])
def test_constant_scores_rank_nobody(weight: str) -> None:
    rows = table().with_columns(p=pl.lit(0.5))
    result = evaluate(rows, ["ate", *ORDERED], weight=weight, uncertainty={"replicates": 100})
    found = values(result)
    ate = found["all", "ate"]
    assert (found["all", "qini"], found["all", "qini(method=guelman)"]) == (0.0, 0.0)
    status = result.metrics.filter(pl.col("metric").str.starts_with("qini"))["interval_status"]
    assert set(status) == {"degenerate"}
    assert found["all", "auuc"] == pytest.approx(ate / 2)
    assert found["all", "auuc(method=guelman)"] == pytest.approx(ate / 2)
    assert all(found["all", metric] == pytest.approx(ate) for metric in ORDERED[4:])


def test_a_large_offset_of_the_outcomes_costs_no_digits() -> None:
    rows = table()
    far = rows.with_columns(pl.col("y") + 2.0**40)
    metrics = ["ate", "ate_ipw(propensity=e)", "ate_ipw(propensity=e, clip=0.3)"]
    near = values(evaluate(rows, metrics))
    for key, value in values(evaluate(far, metrics)).items():
        assert value == pytest.approx(near[key], abs=5e-4)


@pytest.mark.slow
def test_standard_errors_of_effects_are_those_of_the_textbook() -> None:
    rows = table(3000, seed=5)
    result = evaluate(rows, EFFECTS[:4] + EFFECTS[5:], uncertainty={"replicates": 2000, "blocks": 3000})
    errors = dict(result.metrics.select("metric", "std_error").iter_rows())
    t, y, e, m0, m1 = (rows[name].to_numpy() for name in ("t", "y", "e", "m0", "m1"))
    welch = stats.ttest_ind(y[t], y[~t], equal_var=False)
    arms = [np.average(y[arm], weights=w[arm]) for arm, w in ((t, 1 / e), (~t, 1 / (1 - e)))]
    moved = np.where(t, (y - arms[0]) / e / np.mean(t / e), -(y - arms[1]) / (1 - e) / np.mean(~t / (1 - e)))
    horvitz = np.where(t, y / e, -y / (1 - e))
    robust = m1 - m0 + np.where(t, (y - m1) / e, -(y - m0) / (1 - e))
    assert errors["ate"] == pytest.approx((y[t].mean() - y[~t].mean()) / welch.statistic, rel=0.06)
    for metric, psi in zip([*EFFECTS[2:4], EFFECTS[5]], (moved, horvitz, robust), strict=True):
        assert errors[metric] == pytest.approx(psi.std() / math.sqrt(len(psi)), rel=0.06), metric


def of_fresh_sample(seed: int, column: str, **settings: Any) -> Any:
    """A column of the metrics of areas on one of many samples."""
    rng = np.random.default_rng(1000 + seed)
    t, score = rng.random(800) < 0.4, rng.normal(size=800)
    rows = pl.DataFrame({"t": t, "p": score, "y": 100 + score * t + rng.normal(size=800)})
    metrics = ["qini", "auuc(method=guelman)", "uplift_at_k(k=0.3)"]
    return evaluate(rows, metrics, **settings).metrics[column].to_numpy()


@pytest.fixture(scope="module")
def spread_of_areas() -> Any:
    return np.std([of_fresh_sample(seed, "value") for seed in range(120)], axis=0, ddof=1)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", ["exact", "coarse"])
def test_standard_errors_of_areas_are_those_of_fresh_samples(
    blocks: str, spread_of_areas: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks == "coarse":
        monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
        monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    settings = {"uncertainty": {"replicates": 200}}
    stated = [of_fresh_sample(seed, "std_error", **settings) for seed in range(6)]
    np.testing.assert_allclose(np.mean(stated, axis=0), spread_of_areas, rtol=0.22)


@pytest.mark.exhaustive
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("shift", [0.0, -9.0])
def test_a_grid_is_as_near_as_its_bound_says(binary: bool, weight: str | None, shift: float) -> None:
    """The grid of a few rows has wide bins; that of all rows tells nearly all scores apart."""
    rng = np.random.default_rng(5)
    frame = table(2000, seed=6, binary=binary).with_columns(p=pl.col("p") + pl.Series(rng.normal(size=2000)))
    frame = frame if binary else frame.with_columns(pl.col("y") + shift)
    metrics = [*ORDERED, *(PERFECT if binary else [])]
    roles = {
        "task": "uplift",
        "label": "y",
        "treatment": "t",
        "models": "p",
        "metrics": metrics,
        "slices": "g",
    }
    exact = plm.evaluate(frame, **roles, weight=weight).metrics["value"].to_numpy()
    near = plm.evaluate(frame, **roles, weight=weight, exact=False).metrics
    few = plm.state(frame[:50], **roles, weight=weight)
    far = plm.merge(plm.state(frame, **roles, weight=weight, constants=few)).metrics
    for found in (near, far):
        off = np.abs(found["value"].to_numpy() - exact)[np.isfinite(exact)]
        assert (off <= found["bound"].to_numpy()[np.isfinite(exact)] + 1e-9).all()
    assert (off > 1e-4).mean() > 0.5
    areas = pl.col("metric").str.contains("qini|auuc")
    assert near.filter(areas)["bound"].max() < 0.1 * far.filter(areas)["bound"].max()


@pytest.mark.slow
def test_orders_of_effects_add_in_states() -> None:
    frame = table(1200, seed=8, binary=True).with_columns(u=pl.int_range(pl.len()) // 3)
    roles = {
        "task": "uplift",
        "label": "y",
        "treatment": "t",
        "models": "p",
        "metrics": ORDERED[:4],
        "unit": "u",
    }
    roles |= {"slices": "g", "uncertainty": {"replicates": 60}, "curves": ["qini", "uplift", "guelman"]}
    whole = plm.state(frame, **roles)
    states = [plm.state(day, **roles, constants=whole) for day in (frame[:200], frame[200:900], frame[900:])]
    merged = plm.merge(*states).metrics
    assert plm.merge(*states).curves.equals(plm.merge(*states[::-1]).curves)
    assert merged.equals(plm.merge(*states[::-1]).metrics)
    assert merged.equals(plm.merge(whole).metrics)
    rows = plm.evaluate(frame, **roles)
    assert rows.curves.select("curve", "x", "y").equals(plm.merge(whole).curves.select("curve", "x", "y"))
    exact = rows.metrics
    np.testing.assert_allclose(merged["value"], exact["value"], rtol=1e-12)
    width = (exact["upper"] - exact["lower"]).max()
    for end in ("lower", "upper"):
        assert (merged[end] - exact[end]).abs().max() < 0.2 * width


@pytest.mark.slow
def test_what_orders_of_effects_are_counted_on_is_the_same_to_the_last_bit() -> None:
    frame = table(3000, seed=9).with_columns(p=pl.col("p") + pl.col("e"), u=pl.int_range(pl.len()) // 3)
    settings = {"exact": False, "reproducible": True, "unit": "u", "uncertainty": {"replicates": 40}}
    once = evaluate(frame, ORDERED, weight="w", **settings).metrics
    again = evaluate(
        frame.sample(fraction=1.0, shuffle=True, seed=1), ORDERED, weight="w", **settings
    ).metrics
    assert once.equals(again)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_an_e_value_of_equal_means_is_1_whatever_their_order(seed: int) -> None:
    """The root of a rounding of 1e-16 is 1e-8: 1.000000015 was read as a faint confounder."""
    rng = np.random.default_rng(seed)
    outcomes = rng.random(rng.integers(3, 200)) * 10.0 ** rng.integers(-3, 4)
    treated = np.repeat([True, False], len(outcomes))
    frame = pl.DataFrame({"y": [*outcomes, *rng.permutation(outcomes)], "t": treated})
    asked: dict[str, Any] = {"task": "uplift", "label": "y", "treatment": "t", "models": "y"}
    asked |= {"metrics": ["e_value"]}
    assert plm.evaluate(frame, **asked).metrics["value"].item() == 1.0
    larger = frame.with_columns(pl.col("y") * pl.when("t").then(1.0 + 1e-9).otherwise(1.0))
    ratio = 1.0 + 1e-9
    expected = ratio + (ratio * (ratio - 1)) ** 0.5
    assert plm.evaluate(larger, **asked).metrics["value"].item() == pytest.approx(expected, rel=1e-9)


def test_slice_sets_before_its_own_change_no_interval() -> None:
    """Slices of 10 rows, of which many have an arm whose outcomes are all alike."""
    random = np.random.default_rng(1)
    rows = pl.DataFrame(
        {name: random.integers(0, most, 300) for name, most in (("t", 2), ("g", 30), ("h", 2))}
    )
    rows = rows.with_columns(
        y=pl.Series(random.random(300) < 0.1).cast(pl.Int64), s=pl.Series(random.random(300))
    )

    def found(slices: list[str]) -> pl.DataFrame:
        result = plm.evaluate(
            rows,
            task="uplift",
            label="y",
            treatment="t",
            models={"m": "s"},
            metrics=["ate"],
            slices=slices,
            uncertainty={"replicates": 50},
        )
        return result.metrics.filter(slice_set="g").select("value", "lower", "upper", "std_error")

    assert_frame_equal(found(["g"]), found(["h", "g"]), rel_tol=1e-12)
