"""Counts of states add alike in every form they are held in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from plmetrics.features.stored import summation as counts
from plmetrics.features.stored.sparse_counts import PieceRows
from plmetrics.features.stored.summation import Dense, ScoreCounts, Sparse, form_of
from plmetrics.states.state_format import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    Form = Dense | Sparse

SLICES, WIDTH = 7, 50


def batches(most: int, *, distinct: bool, whole: bool = True) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Slots and counts as states hold them: zeros among them, and slots several times where blocks were folded."""
    rng = np.random.default_rng(most)
    for size in (3, 80, 1, 200):
        slots = np.sort(rng.choice(SLICES * WIDTH, size, replace=not distinct))
        held = rng.integers(0, most, size, endpoint=True)
        yield slots, held.astype(np.min_scalar_type(most)) if whole else held * 0.25
    yield np.arange(60, 110), np.full(50, most, dtype=np.min_scalar_type(most))


def total(held: Form) -> np.ndarray:
    out = np.zeros((SLICES, WIDTH))
    for first, slots, values in held.nonzero(SLICES, WIDTH):
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
    forms: list[Form] = [Dense(np.zeros(SLICES * WIDTH, dtype=np.uint8)), Sparse()]
    forms.append(Dense(np.zeros(SLICES * WIDTH)))
    plain = np.zeros(SLICES * WIDTH, dtype=object)
    for slots, values in batches(most, distinct=distinct):
        for slot, value in zip(slots.tolist(), values.tolist(), strict=True):
            plain[slot] += value
        for held in forms:
            held.add(slots, values, distinct=distinct)
    for held in forms:
        assert np.array_equal(total(held), plain.reshape(SLICES, WIDTH).astype(float))


def test_fractions_are_kept() -> None:
    forms: list[Form] = [Dense(np.zeros(SLICES * WIDTH)), Sparse()]
    for slots, values in batches(100, distinct=False, whole=False):
        for held in forms:
            held.add(slots, values, distinct=False)
    one, other = map(total, forms)
    assert np.array_equal(one, other)
    assert (one != np.rint(one)).any()


def test_nothing_adds_to_nothing() -> None:
    for held in (Dense(np.zeros(SLICES * WIDTH, dtype=np.uint8)), Sparse()):
        assert not total(held).any()


@pytest.mark.parametrize(
    ("known", "room", "form", "size"),
    [
        (10, 1 << 20, Dense, 1),
        (300, 1 << 20, Dense, 2),
        (None, 1 << 20, Dense, 8),
        (10, 0, Sparse, 0),
        (None, 0, Sparse, 0),
    ],
)
def test_memory_decides_how_counts_are_added(known: int | None, room: int, form: type, size: int) -> None:
    part = Part("scores", (0,), "m", "coarse", (WIDTH // 2, 2), entries=100, total=known and known // 2)
    found, taken = form_of([part, part], 2 * SLICES * WIDTH, room)
    assert isinstance(found, form)
    assert taken == size * 2 * SLICES * WIDTH


def test_parts_say_what_they_hold() -> None:
    """What a part says of its counts decides how it is added the next time."""
    keys = np.zeros(1, dtype=np.uint64)
    held = Dense(np.zeros(SLICES * WIDTH, dtype=np.uint8))
    held.add(np.array([4, 60, 61]), np.array([3, 0, 7], dtype=np.uint8), distinct=True)
    asked = Part("scores", (0,), "m", "coarse", (WIDTH // 2, 2))
    part, rows = ScoreCounts(asked, SLICES, 0, keys, None, held).write()
    assert (part.total, part.entries) == (10, 2)
    found = [(slots.tolist(), values.tolist()) for slots, values in PieceRows.of(rows).entries(WIDTH)]
    assert found == [([4, 61], [3, 7])]
