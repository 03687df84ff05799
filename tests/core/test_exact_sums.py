"""Sums that are the same in any order: held against exact sums of the same numbers."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.exact_sums import (
    FIXED,
    LEFT,
    SplitSums,
    exact_columns,
    exact_products,
    exact_total,
    exponent_of,
    fixed_sums,
    ordered_sum,
    product,
)


def values(size: int, seed: int, scale: float, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    drawn = {
        "uniform": rng.random(size),
        "normal": rng.normal(size=size),
        "heavy": rng.standard_cauchy(size),
        "tiny": np.where(rng.random(size) < 0.9, 1e-9, 1.0) * rng.random(size),
        "whole": rng.integers(-3, 4, size).astype(float),
        "cancelling": np.concatenate([np.full(size // 2, 0.1), np.full(size // 2, -0.1)]),
    }
    return drawn[kind] * scale


def total(held: np.ndarray, parts: int, exponent: int) -> tuple[float, float]:
    """The exact total of numbers that were added in parts, and the ordinary one."""
    frames = [
        pl.DataFrame({"x": part}, schema={"x": pl.Float64}).select(
            pl.len().cast(pl.Int64).alias("n"), pl.col("x").sum(), *fixed_sums("x", pl.col("x"), exponent)
        )
        for part in np.array_split(held, parts)
    ]
    added = pl.concat(frames).sum()
    columns = dict(exact_columns(added, {"x": exponent}))
    return columns["x"].item(), added["x"].item()


@given(
    size=st.integers(1, 300),
    seed=st.integers(0, 1 << 20),
    scale=st.sampled_from([1.0, 1e-200, 1e200, 3e-7, 12345.6]),
    kind=st.sampled_from(["uniform", "normal", "heavy", "tiny", "whole", "cancelling"]),
    parts=st.integers(1, 9),
)
def test_totals_are_right_and_the_same_in_any_order_and_parts(size, seed, scale, kind, parts):
    held = values(size, seed, scale, kind)
    most = float(np.abs(held).max(initial=0.0))
    exponent = exponent_of(most)
    found, _ = total(held, 1, exponent)
    shuffled, _ = total(np.random.default_rng(seed).permutation(held), parts, exponent)
    assert found == shuffled
    assert not math.copysign(1.0, found) < 0 or found < 0
    allowed = len(held) * 2.0 ** (exponent - 88) + abs(math.fsum(held)) * 2.0**-51
    assert abs(found - math.fsum(held)) <= allowed


def test_ordinary_sums_depend_on_the_order_where_exact_ones_do_not():
    held = values(5_000, 1, 1.0, "uniform")
    both = {total(np.random.default_rng(seed).permutation(held), 3, 0) for seed in range(20)}
    assert len({ordinary for _, ordinary in both}) > 1
    assert len({exact for exact, _ in both}) == 1


def test_more_rows_than_64_bits_hold_are_added_modulo_2_to_the_64():
    held = np.full(4_000, 0.999)
    found, ordinary = total(held, 1, 0)
    assert 4_000 * 0.999 * 2.0**58 > 2.0**63
    assert found == pytest.approx(math.fsum(held), rel=1e-15)
    assert found == pytest.approx(ordinary, rel=1e-13)


@pytest.mark.parametrize("most", [0.0, 1e-320, 1e-300, 0.5, 1.0, 1.0000001, 2.0**37, 1e300])
def test_exponents_hold_the_largest_value_and_little_more(most):
    exponent = exponent_of(most)
    assert exponent % 4 == 0
    assert most <= 2.0 ** min(exponent, 1023)
    assert exponent == exponent_of(0.0) or most > 2.0 ** (exponent - 4)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 1e9, -3.7e4])
def test_values_beyond_the_exponent_leave_the_ordinary_sum(odd):
    held = np.append(values(50, 3, 1.0, "uniform"), odd)
    found, ordinary = total(held, 1, 0)
    assert np.array_equal([found], [ordinary], equal_nan=True)


def test_values_a_little_beyond_the_exponent_still_add_exactly():
    held = values(500, 3, 15.9, "uniform")
    both = {total(np.random.default_rng(seed).permutation(held), 2, 0)[0] for seed in range(5)}
    assert len(both) == 1
    assert both.pop() == pytest.approx(math.fsum(held), rel=1e-14)


def test_sums_near_the_largest_float_are_right_or_infinite() -> None:
    values = np.array([1.1e308, -1.5e308, 0.9e308])
    exponent = exponent_of(1.5e308)
    for chosen, expected in ((values, 0.5e308), (values[[0, 2]], math.inf)):
        frame = pl.DataFrame({"x": chosen})
        held = frame.select(pl.len().alias("n"), pl.col("x").sum(), *fixed_sums("x", pl.col("x"), exponent))
        totals = dict(exact_columns(held, {"x": exponent}))
        assert totals["x"].item() == pytest.approx(expected)


def test_nulls_are_no_part_of_a_sum():
    frame = pl.DataFrame({"x": [0.25, None, 0.5]})
    sums = frame.select(pl.len().alias("n"), pl.col("x").sum(), *fixed_sums("x", pl.col("x"), 0))
    assert dict(exact_columns(sums, {"x": 0}))["x"].to_list() == [0.75]


def test_columns_without_whole_numbers_stay_as_they_are():
    wholes = {f"{FIXED}x": [1 << 55, 1 << 56], f"{LEFT}x": [0, 0]}
    frame = pl.DataFrame({"n": [3, 4], "x": [0.125, 0.25], "y": [0.1, 0.2], **wholes})
    found = dict(exact_columns(frame, {"x": 0}))
    assert {name: column.to_list() for name, column in found.items()} == {
        "n": [3, 4], "x": [0.125, 0.25], "y": [0.1, 0.2],
    }  # fmt: skip


def test_names_of_columns_are_listed_once_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[int] = []
    names = pl.DataFrame.columns

    def counted(frame: pl.DataFrame) -> list[str]:
        listed[-1] += 1
        return names.fget(frame)

    for columns in (5, 20):
        sums = {f"a{number}": [1.5] for number in range(columns)}
        exact = {f"{kind}{name}": [0] for kind in (FIXED, LEFT) for name in sums}
        frame = pl.DataFrame({"n": [1], **sums, **exact})
        listed.append(0)
        with monkeypatch.context() as patch:
            patch.setattr(pl.DataFrame, "columns", property(counted))
            totals = dict(exact_columns(frame, dict.fromkeys(sums, 4)))
        assert len(totals) == columns + 1
    assert 0 < listed[0] == listed[1]


def test_an_empty_state_has_no_totals():
    none = np.zeros(0, dtype=np.int64)
    assert len(exact_total(np.zeros(0), none, none, 0, none)) == 0


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_totals_far_below_the_largest_value_of_the_run_are_right_all_the_same(size):
    for scale in 10.0 ** np.arange(-40, 1):
        held = values(size, 2, scale, "uniform")
        found, _ = total(held, 1, 0)
        assert found == pytest.approx(math.fsum(held), rel=1e-12)


def states(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(80, np.full(80, 1 / 80), size=30).astype(float)
    return weights, rng.normal(size=(3, 80, 5)) * 10.0 ** rng.integers(-9, 9, size=(3, 1, 5))


def test_products_do_not_depend_on_the_order_of_their_terms_and_are_right():
    weights, held = states(1)
    order = np.random.default_rng(2).permutation(80)
    with exact_products(enabled=True):
        one, other = product(weights, held), product(weights[:, order], held[:, order])
    assert np.array_equal(one, other)
    assert not np.array_equal(product(weights, held), product(weights[:, order], held[:, order]))
    for place, row, column in [(0, 0, 0), (1, 7, 2), (2, 29, 4)]:
        terms = (weights[row] * held[place, :, column]).tolist()
        assert one[place, row, column] == pytest.approx(math.fsum(terms), rel=1e-12, abs=1e-14)


def test_products_of_whole_numbers_and_of_what_is_not_finite_are_the_plain_ones():
    weights, held = states(3)
    for other in (np.rint(held * 1e3), np.where(held > 2, np.inf, held)):
        with np.errstate(invalid="ignore"), exact_products(enabled=True):
            found = product(weights, other)
        with np.errstate(invalid="ignore"):
            assert np.array_equal(found, product(weights, other), equal_nan=True)


def test_products_of_states_far_below_the_largest_are_right_all_the_same():
    held = 10.0 ** -np.arange(0, 300, 5.0)
    weights = np.eye(len(held)) * 3.0
    with exact_products(enabled=True):
        assert product(weights, held[:, None])[:, 0] == pytest.approx(3.0 * held, rel=1e-12, abs=0.0)


def in_parts(held: np.ndarray, place: np.ndarray, exponent: int, cuts: int) -> np.ndarray:
    """Totals by place of numbers that come in some batches."""
    counts = np.zeros(3)
    parts = SplitSums(counts, exponent)
    for part, where in zip(np.array_split(held, cuts), np.array_split(place, cuts), strict=True):
        for array, cut in parts.cut(part):
            np.add.at(array, where, cut)
    parts.join()
    parts.join()
    return counts


@given(
    size=st.integers(1, 300),
    seed=st.integers(0, 1 << 20),
    scale=st.sampled_from([1.0, 1e-200, 1e200, 3e-7, 12345.6]),
    kind=st.sampled_from(["uniform", "normal", "heavy", "tiny", "whole", "cancelling"]),
    cuts=st.integers(1, 9),
)
def test_sums_in_parts_are_right_and_the_same_in_any_order_and_batches(size, seed, scale, kind, cuts):
    held = values(size, seed, scale, kind)
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 3, len(held))
    most = float(np.abs(held).max(initial=0.0))
    exponent = exponent_of(most)
    found = in_parts(held, place, exponent, 1)
    order = rng.permutation(len(held))
    assert found.tobytes() == in_parts(held[order], place[order], exponent, cuts).tobytes()
    for number in range(3):
        exact = math.fsum(held[place == number])
        slack = len(held) * 2.0 ** (exponent - 72)
        assert abs(found[number] - exact) <= max(slack, abs(exact) * 2.0**-52)
        frame = pl.DataFrame({"x": held[place == number]})
        one, other = (
            each.select(ordered_sum(pl.col("x"), exponent)).item()
            for each in (frame, frame.sample(fraction=1.0, shuffle=True, seed=seed))
        )
        assert one == other
        assert abs(one - exact) <= max(slack, abs(exact) * 2.0**-51)


def test_parts_are_carried_over_before_they_are_full(monkeypatch):
    held = values(5_000, 2, 1.0, "uniform")
    place = np.zeros(len(held), dtype=np.int64)
    whole = in_parts(held, place, 0, 1)
    monkeypatch.setattr("plmetrics.core.exact_sums._BEFORE_CARRY", 100)
    assert in_parts(held, place, 0, 50).tobytes() == whole.tobytes()


def test_parts_with_an_infinite_value_leave_the_others_alone():
    held = np.array([0.1, np.inf, 0.2, np.nan, 0.7])
    found = in_parts(held, np.array([0, 1, 0, 2, 0]), 0, 2)
    assert found[0] == math.fsum([0.1, 0.2, 0.7])
    assert found[1] == np.inf
    assert np.isnan(found[2])
