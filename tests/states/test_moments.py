"""Moments about centres of their own add to those of all rows, against sums of fractions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from plmetrics.states.complements import ComplementSums
from plmetrics.states.moments import Centres, Moment, about_common_centre, distant, means, move_moments
from plmetrics.states.sums import SumsState

MOMENTS = {
    "x": Moment(("x",), "w"),
    "y": Moment(("y",), "w"),
    "xx": Moment(("x", "x"), "w", ("x", "x")),
    "xy": Moment(("x", "y"), "w", ("x", "y")),
}
LEVELS = (0.0, 1e6, 1e12, -1e9, 1e12)


def rows(seed: int = 0, size: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    cell, block = rng.integers(0, len(LEVELS), size), rng.integers(0, 3, size)
    x = np.array(LEVELS)[cell] + rng.normal(size=size)
    return {
        "cell": cell,
        "block": block,
        "x": x,
        "y": x + rng.normal(size=size),
        "w": rng.gamma(2.0, size=size),
    }


def state_of(table: dict[str, Any]) -> SumsState:
    """Entries by cell and block, each about its first values."""
    keys, place = np.unique(table["cell"] * 3 + table["block"], return_inverse=True)
    first = np.unique(place, return_index=True)[1]
    at = {name: table[name][first] for name in "xy"}
    x, y = (table[name] - at[name][place] for name in "xy")
    values = {"n": np.ones(len(x)), "w": table["w"], "x": table["w"] * x, "y": table["w"] * y}
    values |= {"xx": table["w"] * x * x, "xy": table["w"] * x * y}
    columns = {name: np.bincount(place, part) for name, part in values.items()}
    return SumsState(keys // 3, keys % 3, columns, 3, Centres(at, MOMENTS))


def together(one: SumsState, other: SumsState) -> SumsState:
    """The entries of two states, each about its own centres."""
    columns = {name: np.concatenate([one.columns[name], other.columns[name]]) for name in one.columns}
    at = {
        name: np.concatenate([state.centres.of(0, len(state.cell))[name] for state in (one, other)])
        for name in "xy"
    }
    cell, block = (
        np.concatenate([getattr(state, key) for state in (one, other)]) for key in ("cell", "block")
    )
    return SumsState(cell, block, columns, 3, Centres(at, MOMENTS))


def covariation(table: dict[str, Any], mask: Any, one: str, other: str) -> float:
    """Sum of w (x - mean x)(y - mean y), without any rounding."""
    w, x, y = ([Fraction(float(v)) for v in table[name][mask]] for name in ("w", one, other))
    mass = sum(w)
    means = [sum(a * b for a, b in zip(w, part, strict=True)) / mass for part in (x, y)]
    return float(sum(a * (b - means[0]) * (c - means[1]) for a, b, c in zip(w, x, y, strict=True)))


def found(sums: dict[str, Any], one: str, other: str) -> Any:
    return sums[one + other] - sums[one] * sums[other] / sums["w"]


def totals(sums: Any, slices: int) -> dict[str, Any]:
    return {name: part.sum(axis=1) for name, part in sums.by_block(0, slices).items()}


@pytest.mark.parametrize("part", ["slices", "rests", "merged", "replicate"])
def test_moments_keep_their_digits_however_far_levels_lie(part: str) -> None:
    table = rows()
    state, codes = state_of(table), lambda cells: np.minimum(cells, 3)
    if part == "merged":
        halves = [{name: held[half::2] for name, held in table.items()} for half in (0, 1)]
        state = together(*map(state_of, halves))
    sliced = state.roll_up(codes(state.cell), 4)
    masks = [codes(table["cell"]) == number for number in range(4)]
    sums = totals(sliced, 4)
    if part == "rests":
        sums = totals(ComplementSums(state.roll_up(codes(state.cell) + 1, 5)), 4)
        masks = [~mask for mask in masks]
    if part == "replicate":
        sums = {name: held[:, [0, 0, 2]].sum(axis=1) for name, held in sliced.by_block(0, 4).items()}
        table = {
            name: np.concatenate([held[table["block"] == block] for block in (0, 0, 2)])
            for name, held in table.items()
        }
        masks = [codes(table["cell"]) == number for number in range(4)]
    for one, other in ("xx", "xy"):
        wanted = [covariation(table, mask, one, other) for mask in masks]
        assert found(sums, one, other) == pytest.approx(wanted, rel=1e-9)


def test_a_rest_far_from_all_others_has_a_centre_of_its_own() -> None:
    rng = np.random.default_rng(1)
    cell = np.repeat([0, 1], [900, 30])
    x = np.where(cell == 0, 1e12, 0.0) + rng.normal(size=len(cell))
    table = {"cell": cell, "block": rng.integers(0, 3, len(cell)), "x": x, "y": x, "w": np.ones(len(cell))}
    state = state_of(table)
    complements = ComplementSums(state.roll_up(state.cell + 1, 3))
    wanted = [covariation(table, cell == other, "x", "x") for other in (1, 0)]
    assert found(totals(complements, 2), "x", "x") == pytest.approx(wanted, rel=1e-9)
    assert np.abs(complements.centred_at(0, 2)["x"] - [0.0, 1e12]).max() < 5


def test_one_odd_entry_does_not_move_the_centre_of_the_others() -> None:
    mass, at = np.array([5.0, 5.0, 1.0, 5.0]), np.array([1.0, 2.0, 1e12, 3.0])
    columns = {"w": mass, "x": np.zeros(4), "y": np.zeros(4), "xx": mass, "xy": mass}
    _, made = about_common_centre(columns, Centres({"x": at, "y": at}, MOMENTS), np.array([0, 0, 0, 1]), 3)
    assert made.at["x"].tolist() == [2.0, 3.0, 0.0]  # type: ignore[union-attr]


def test_squares_of_tiny_distances_are_told_from_none() -> None:
    """Days of one row each: 1e-170 from 3e-170 is a distance, though its square is too small for a number."""
    moments = {"x": Moment(("c",), "n"), "x2": Moment(("c", "c"), "n", ("x", "x"))}
    days = {"n": np.ones(2), "x": np.zeros(2), "x2": np.zeros(2)}
    moved = move_moments(
        days, Centres({"c": np.array([1e-170, 3e-170])}, moments), Centres({"c": 1e-170}, moments)
    )
    assert moved["x"].tolist() == pytest.approx([0.0, 2e-170])
    assert (moved["x2"][0], moved["x2"][1] > 0, moved["x2"][1] < 1e-301) == (0.0, True, True)


def test_equal_centres_are_left_alone() -> None:
    columns = {"w": np.ones(2), "x": np.array([1.0, 2.0]), "xx": np.array([1.0, 4.0])}
    same, made = about_common_centre(
        columns, Centres({"x": np.full(2, 7.0)}, MOMENTS), np.zeros(2, dtype=np.int64), 1
    )
    assert all(same[name] is columns[name] for name in columns)
    assert made.at == {"x": 7.0}


def test_what_is_far_is_what_loses_digits() -> None:
    columns = {
        "w": np.full(3, 4.0),
        "x": np.array([0.0, 4e3, 4e3]),
        "xx": np.array([4.0, 4e6 + 4.0, 4e6 + 4e3]),
    }
    assert distant(columns, {name: MOMENTS[name] for name in ("x", "xx")})["x"].tolist() == [
        False,
        True,
        False,
    ]
    mean, mass = means(columns, Centres({"x": 10.0}, {"x": MOMENTS["x"]}))["x"]
    assert mean.tolist() == [10.0, 1010.0, 1010.0]
    assert mass.tolist() == [4.0, 4.0, 4.0]
    there = move_moments(columns, Centres({"x": 0.0}, MOMENTS), Centres({"x": 1e3}, MOMENTS))
    assert there["x"].tolist() == [-4e3, 0.0, 0.0]
    assert there["xx"].tolist() == [4.0 + 4e6, 4.0, 4e3]


@pytest.mark.exhaustive
@pytest.mark.parametrize("near", [False, True], ids=["far", "near"])
@pytest.mark.parametrize("entries", [1, 2, 4])
def test_equal_numbers_stay_equal_whatever_their_centres(entries: int, near: bool) -> None:
    """What rounding leaves of one number has no variation beside its distance from the centre."""
    rng = np.random.default_rng(5)
    for value, level in rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-3, 7, (200, 2)):
        w = rng.integers(1, 4, entries).astype(float)
        at = np.where(np.arange(entries) % 2 == 0, level, value if near else 2 * level)
        others = rng.normal(size=3) + 10 * level
        x, y = value - at, 3 * value - at
        columns = {"w": w, "x": w * x, "y": w * y, "xx": w * x * x, "xy": w * x * y}
        columns = {name: np.append(held, 1.0 if name == "w" else 0.0) for name, held in columns.items()}
        place, centre = np.append(np.zeros(entries, dtype=int), 1), np.append(at, others[0])
        moved, made = about_common_centre(columns, Centres({"x": centre, "y": centre}, MOMENTS), place, 2)
        sums = {name: held[:-1].sum() for name, held in moved.items()}
        assert found(sums, "x", "x") <= 1e-12 * sums["xx"], (value, level, w, at, made)
        spread = float(made.at["x"][0]) - value  # type: ignore[index]
        assert sums["xx"] == pytest.approx(w.sum() * spread**2, rel=1e-9, abs=1e-12 * level**2)
