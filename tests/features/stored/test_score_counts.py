"""Counts of states add alike in every form they are held in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from plmetrics.features.stored import score_counts as counts
from plmetrics.features.stored.score_counts import (
    Counting,
    Dense,
    Fractions,
    Sparse,
    Wanted,
    countings,
    wanted,
)
from plmetrics.features.stored.sparse_counts import PieceRows
from plmetrics.states.stored import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.features.stored.score_counts import Held

SLICES, WIDTH = 7, 50


def batches(most: int, *, distinct: bool, whole: bool = True) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Slots and counts as states hold them: zeros among them, and slots several times where blocks were folded."""
    rng = np.random.default_rng(most)
    for size in (3, 80, 1, 200):
        slots = np.sort(rng.choice(SLICES * WIDTH, size, replace=not distinct))
        held = rng.integers(0, most, size, endpoint=True)
        yield slots, held.astype(np.min_scalar_type(most)) if whole else held * 0.25
    yield np.arange(60, 110), np.full(50, most, dtype=np.min_scalar_type(most))


def total(held: Held) -> np.ndarray:
    out = np.zeros((SLICES, WIDTH))
    for first, slots, values in held.some(SLICES, WIDTH):
        assert (np.diff(slots) > 0).all()
        assert (values != 0).all()
        out.reshape(-1)[first * WIDTH + slots] = values
    return out


@pytest.mark.parametrize("near", [1, 60, 1 << 18])
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("most", [1, 100, 255, 256, 65_535, (1 << 32) - 1])
def test_every_form_adds_alike(monkeypatch: pytest.MonkeyPatch, most: int, distinct: bool, near: int) -> None:
    """Numbers that are held in one byte take more as they grow."""
    monkeypatch.setattr(counts, "_NEAR", near)
    monkeypatch.setattr(counts, "_WAITING", 100)
    forms: list[Held] = [Dense(np.zeros(SLICES * WIDTH, dtype=np.uint8)), Fractions()]
    forms += [Dense(np.zeros(SLICES * WIDTH)), Sparse(44), Sparse(63 - (SLICES * WIDTH).bit_length())]
    plain = np.zeros(SLICES * WIDTH, dtype=object)
    for slots, values in batches(most, distinct=distinct):
        for slot, value in zip(slots.tolist(), values.tolist(), strict=True):
            plain[slot] += value
        for held in forms:
            held.add(slots, values, distinct=distinct)
    for held in forms:
        assert np.array_equal(total(held), plain.reshape(SLICES, WIDTH).astype(float))


def test_fractions_are_kept() -> None:
    forms: list[Held] = [Dense(np.zeros(SLICES * WIDTH)), Fractions()]
    for slots, values in batches(100, distinct=False, whole=False):
        for held in forms:
            held.add(slots, values, distinct=False)
    one, other = map(total, forms)
    assert np.array_equal(one, other)
    assert (one != np.rint(one)).any()


def test_nothing_adds_to_nothing() -> None:
    for held in (Dense(np.zeros(SLICES * WIDTH, dtype=np.uint8)), Sparse(3), Fractions()):
        assert not total(held).any()


def asked(total_of: int | None, entries: int = 100) -> Wanted:
    part = Part("scores", (0,), "m", "coarse", (WIDTH // 2, 2), entries=entries, total=total_of)
    return wanted([part, part], SLICES, 0)


@pytest.mark.parametrize(
    ("known", "room", "held"),
    [
        (10, 1 << 20, Dense),
        (10, 0, Sparse),
        (None, 1 << 20, Dense),
        (None, 0, Fractions),
        (1 << 60, 0, Fractions),
    ],
)
def test_memory_decides_how_counts_are_held(known: int | None, room: int, held: type) -> None:
    keys = np.arange(2, dtype=np.uint64)
    (counting,) = countings([asked(known)], keys, None, room)
    assert isinstance(counting.held, held)


def test_parts_say_what_they_hold() -> None:
    """What a part says of its counts decides how it is added the next time."""
    keys = np.zeros(1, dtype=np.uint64)
    held = Dense(np.zeros(SLICES * WIDTH, dtype=np.uint8))
    held.add(np.array([4, 60, 61]), np.array([3, 0, 7], dtype=np.uint8), distinct=True)
    part, rows = Counting(asked(5), keys, None, held).written()
    assert (part.total, part.entries) == (10, 2)
    found = [(slots.tolist(), values.tolist()) for slots, values in PieceRows.of(rows).entries(WIDTH)]
    assert found == [([4, 61], [3, 7])]
