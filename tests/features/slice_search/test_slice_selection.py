"""The search for slices against loops over its definition, and in simulations with a known truth."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from plmetrics.core.hashing import BLOCK_SALT, SEARCH_SALT, mix_int
from plmetrics.features.slice_search.slice_selection import searched_slices
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

Row = dict[str, Any]
LEVEL, BLOCKS = 0.3, 10


def search(frame: pl.DataFrame, spec: dict[str, Any], **arguments: Any) -> pl.DataFrame:
    given = {"label": "y", "models": "p", "unit": "u", "find_slices": spec} | arguments
    return searched_slices(suite_from_arguments(**given), open_source(frame))[0]


# What the definitions say, row by row.


def hits(row: Row) -> float:
    return float((row["p"] >= 0.5) == (row["y"] == 1))


def accuracy(rows: Sequence[Row]) -> float | None:
    mass = sum(row["w"] for row in rows)
    return sum(row["w"] * hits(row) for row in rows) / mass if rows else None


def brier(rows: Sequence[Row]) -> float | None:
    mass = sum(row["w"] for row in rows)
    return sum(row["w"] * (row["p"] - row["y"]) ** 2 for row in rows) / mass if rows else None


def precision(rows: Sequence[Row]) -> float | None:
    return accuracy([row for row in rows if row["p"] >= 0.5])


METRICS: dict[str, tuple[Callable[[Sequence[Row]], float | None], int, Callable[[Row], bool]]] = {
    "accuracy": (accuracy, -1, lambda _: True),
    "brier": (brier, 1, lambda _: True),
    "precision": (precision, -1, lambda row: row["p"] >= 0.5),
}


def equal_blocks(rows: Sequence[Row], counts: Callable[[Row], bool]) -> int:
    masses = [sum(row["w"] for row in rows if row["block"] == b and counts(row)) for b in range(BLOCKS)]
    squares = sum(mass**2 for mass in masses)
    return int(np.floor(sum(masses) ** 2 / squares + 1e-9)) if squares else 0


def jackknife(values: Sequence[float]) -> float:
    """Standard error from a value and those without each block."""
    error = float(np.sqrt((BLOCKS - 1) / BLOCKS * sum((value - values[0]) ** 2 for value in values[1:])))
    return error if error > 1e-12 else 0.0


def alike_error(first: float, second: float, sizes: tuple[int, int], apart: float) -> float:
    """Standard error of a side whose blocks are all alike, of the spread of both sides, at most what Wilson leaves."""
    if (first == 0) == (second == 0):
        return 0.0
    (alike, size), (varying, other) = sorted(zip((first, second), sizes, strict=True))
    assert alike == 0
    within = (other - 1) * other * varying**2
    squares = within + size * other / (size + other) * apart**2
    error = float(np.sqrt(squares / (size + other - 1) / size))
    _, upper = proportion_confint(0, size, method="wilson")
    return min(error, (within / other + apart**2) / abs(apart) * upper / 1.959964) if apart else error


def values_of(value: Callable[[Sequence[Row]], float | None], side: list[Row]) -> list[float] | None:
    """A value, and those without each block: the jackknife of all blocks is that of the m with rows, (m - 1) / m."""
    values = [value([row for row in side if row["block"] != block]) for block in (None, *range(BLOCKS))]
    if None in values:
        return None
    occupied = max(len({row["block"] for row in side}), 2)
    factor = np.sqrt((occupied - 1) / occupied * BLOCKS / (BLOCKS - 1))
    return [values[0] + factor * (left_out - values[0]) for left_out in values]


def compare(metric: str, part: list[Row], rest: list[Row]) -> dict[str, float] | None:
    """Difference, standard error, degrees of freedom and one-sided p value; None where there is no test."""
    value, sign, counts = METRICS[metric]

    here, there = (values_of(value, side) for side in (part, rest))
    sizes = equal_blocks(part, counts), equal_blocks(rest, counts)
    blocks = min(sizes)
    if here is None or there is None or blocks < 2:
        return None
    differences = [sign * (one - other) for one, other in zip(here, there, strict=True)]
    whole = differences[0]
    error = float(
        np.hypot(jackknife(differences), alike_error(jackknife(here), jackknife(there), sizes, whole))
    )
    p = 2.0**-blocks if whole > 1e-13 else 1.0
    if error > 1e-12:
        p = float(stats.t.sf(whole / error, blocks - 1))
    return {"difference": sign * whole, "error": error, "freedom": blocks - 1, "p": p}


def adjusted(p: Sequence[float]) -> list[float]:
    return [] if not p else list(stats.false_discovery_control(p))


def holds(row: Row, name: frozenset[tuple[str, str]]) -> bool:
    return all(row[column] == value for column, value in name)


def by_loops(rows: list[Row], columns: Sequence[str], metric: str, depth: int) -> dict[str, dict[str, float]]:
    """The table `found_slices` by slice."""
    for row in rows:
        unit = mix_int(row["u"] ^ BLOCK_SALT)
        row["block"] = unit % BLOCKS
        row["searched"] = mix_int(unit ^ SEARCH_SALT ^ mix_int(0)) < 1 << 63
    first, second = ([row for row in rows if row["searched"] == half] for half in (True, False))
    names = {
        frozenset((column, row[column]) for column in chosen)
        for size in range(1, depth + 1)
        for chosen in combinations(columns, size)
        for row in rows
    }

    def rest(half: list[Row], name: frozenset[tuple[str, str]]) -> Any:
        return compare(
            metric, [row for row in half if holds(row, name)], [row for row in half if not holds(row, name)]
        )

    said = {name: rest(first, name) for name in names}
    tested = [
        name for name in names if said[name] is not None and sum(holds(row, name) for row in first) >= 1
    ]
    standing_out = [
        name
        for name, p in zip(tested, adjusted([said[name]["p"] for name in tested]), strict=True)
        if p <= LEVEL
    ]
    kept: list[frozenset[tuple[str, str]]] = []
    for size in range(1, depth + 1):
        here = [name for name in standing_out if len(name) == size]
        explained: dict[frozenset[tuple[str, str]], float] = {}
        for name in here:
            for parent in (one for one in kept if one < name):
                inside = [row for row in first if holds(row, parent)]
                found = compare(
                    metric,
                    [row for row in inside if holds(row, name)],
                    [row for row in inside if not holds(row, name)],
                )
                explained[name] = max(explained.get(name, 0.0), 1.0 if found is None else found["p"])
        corrected = dict(zip(explained, adjusted(list(explained.values())), strict=True))
        kept += [name for name in here if corrected.get(name, 0.0) <= LEVEL]
    honest = {name: rest(second, name) for name in kept}
    defined = [name for name in kept if honest[name] is not None]
    q = dict(zip(defined, adjusted([honest[name]["p"] for name in defined]), strict=True))
    return {
        ", ".join(f"{c}={v}" for c, v in sorted(name)): {
            "searched": said[name]["difference"],
            **(honest[name] or {}),
            **({"p_adjusted": q[name]} if name in q else {}),
        }
        for name in kept
    }


row = st.fixed_dictionaries(
    {
        "y": st.integers(0, 1),
        "p": st.sampled_from([0.1, 0.3, 0.6, 0.9]),
        "w": st.sampled_from([1.0, 1.0, 2.0]),
        "u": st.integers(0, 40),
        "a": st.sampled_from(["x", "y", "null"]),
        "b": st.sampled_from(["k", "l"]),
        "c": st.sampled_from(["m", "n"]),
    }
)


@pytest.mark.slow
@given(
    rows=st.lists(row, min_size=30, max_size=120),
    metric=st.sampled_from(sorted(METRICS)),
    depth=st.integers(1, 3),
    weighted=st.booleans(),
    bad=st.sampled_from(["x", "y"]),
)
@settings(max_examples=25, deadline=None)
def test_against_loops(rows: list[Row], metric: str, depth: int, weighted: bool, bad: str) -> None:
    rows = [dict(one) for one in rows]
    for one in rows:
        one["w"] = one["w"] if weighted else 1.0
        if one["a"] == bad and one["b"] == "k":  # else nothing would ever be found
            one["p"] = 0.9 if one["y"] == 0 else 0.1
    frame = pl.DataFrame(rows).with_columns(pl.col("a").replace("null", None))
    spec = {"columns": ["a", "b", "c"], "metric": metric, "depth": depth, "min_rows": 1, "level": LEVEL}
    weight = {"weight": "w"} if weighted else {}
    found = search(frame, spec | {"blocks": BLOCKS, "largest": 1000}, **weight)
    expected = by_loops(rows, ["a", "b", "c"], metric, depth)
    assert set(found["slice"]) == set(expected)
    for line in found.iter_rows(named=True):
        said = expected[line["slice"]]
        assert line["searched"] == pytest.approx(said["searched"], abs=1e-9)
        if "error" not in said:
            assert line["status"] != "ok"
            assert line["p_value"] is line["p_adjusted"] is line["std_error"] is None
            continue
        assert line["status"] == "ok"
        assert line["p_value"] == pytest.approx(said["p"], rel=1e-6, abs=1e-12)
        assert line["p_adjusted"] == pytest.approx(said["p_adjusted"], rel=1e-6, abs=1e-12)
        assert line["difference"] == pytest.approx(said["difference"], abs=1e-9)
        assert line["std_error"] == pytest.approx(said["error"], rel=1e-6, abs=1e-9)
        if said["error"] > 1e-9:
            half = stats.t.ppf(0.975, said["freedom"]) * said["error"]
            assert line["lower"] == pytest.approx(said["difference"] - half, rel=1e-6)
            assert line["upper"] == pytest.approx(said["difference"] + half, rel=1e-6)
        assert line["confirmed"] == (said["p_adjusted"] <= LEVEL)


# Simulations: one row a unit, losses known.


def losses(seed: int, rows: int, groups: int, extra: float) -> pl.DataFrame:
    """Absolute errors of mean 1, and of mean 1 + extra where both columns are 0."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, groups, rows), rng.integers(0, 2, rows)
    loss = rng.exponential(1.0, rows) + extra * ((a == 0) & (b == 0))
    values = {"a": a.astype(str), "b": b.astype(str), "y": loss, "p": np.zeros(rows), "u": np.arange(rows)}
    return pl.DataFrame(values)


def simulated(seed: int, extra: float, level: float) -> pl.DataFrame:
    spec = {"columns": ["a", "b"], "metric": "mae", "min_rows": 40, "level": level, "seed": seed}
    return search(losses(seed, 2400, 5, extra), spec, task="regression")


@pytest.mark.slow
def test_without_any_effect_little_is_confirmed() -> None:
    runs = [simulated(seed, 0.0, 0.25) for seed in range(60)]
    looked_at = [run for run in runs if run.height]
    confirmed = [run for run in runs if run["confirmed"].any()]
    assert len(looked_at) >= 4
    assert len(confirmed) / len(runs) <= 0.25
    assert len(confirmed) < len(looked_at)


@pytest.mark.slow
def test_a_planted_slice_is_found_and_estimated_without_bias() -> None:
    extra, wanted = 0.22, "a=0, b=0"
    truth = extra
    rows = [run.filter(slice=wanted) for run in (simulated(seed, extra, 0.1) for seed in range(80))]
    found = pl.concat(rows)
    assert found.height >= 20
    covered = ((found["lower"] <= truth) & (truth <= found["upper"])).mean()
    assert isinstance(covered, float)
    assert covered >= 0.85
    both = pl.col("searched", "difference")
    (searched, honest), noise = found.select(both.mean() - truth).row(0), found.select(both.std()).row(0)
    assert searched > 3 * noise[0] / np.sqrt(found.height)  # it found what is large there, partly by chance
    assert abs(honest) < 3 * noise[1] / np.sqrt(found.height)
