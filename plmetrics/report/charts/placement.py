"""Places for words and legends in a panel: where no line runs and no other word stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plmetrics.report.charts.texts import width as width_of

_STEP = 2.0
"""Pixels between the places of a line that are looked at."""

_SIZE = 10.5
"""Of words, in pixels."""

_MARKER = 5.0
"""Half the side of a marker, in pixels."""

Side = tuple[str, float, float]
"""Alignment of a word, and how far it stands from its point, to the right and downwards."""

SIDES: tuple[Side, ...] = (
    ("left", 8, 10),
    ("right", -8, -10),
    ("left", 8, -10),
    ("right", -8, 10),
    ("left", 10, 24),
    ("right", -10, -24),
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, from the panel's top left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, points: NDArray[np.float64]) -> int:
        """Number of these points inside."""
        x, y = points[:, 0], points[:, 1]
        return int(((x >= self.left) & (x <= self.right) & (y >= self.top) & (y <= self.bottom)).sum())

    def overlaps(self, other: Box) -> bool:
        """Whether two rectangles share a place."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


@dataclass(slots=True)
class Canvas:
    """Panel with its occupied places."""

    width: float
    height: float
    x_domain: Sequence[float]
    y_domain: Sequence[float]
    _points: list[NDArray[np.float64]] = field(default_factory=list)
    _boxes: list[Box] = field(default_factory=list)

    @property
    def _reach(self) -> float:
        return max(self.width, self.height)

    def pixels(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Places in pixels, a row a point."""
        (left, right), (low, high) = self.x_domain, self.y_domain
        return np.column_stack(
            [(x - left) / (right - left) * self.width, (high - y) / (high - low) * self.height]
        )

    def line(self, x: Iterable[float | None], y: Iterable[float | None]) -> None:
        """Take the places of a line."""
        across, up = np.array(list(x), dtype=np.float64), np.array(list(y), dtype=np.float64)
        places = self.pixels(across, up)
        # Far outside the panel a line takes no place, and has no end.
        places = places[np.isfinite(places).all(axis=1)].clip(-self._reach, 2 * self._reach)
        if len(places) == 0:
            return
        way = np.append(0.0, np.cumsum(np.hypot(*np.diff(places, axis=0).T)))
        steps = np.linspace(0, way[-1], int(way[-1] / _STEP) + 2)
        self._points.append(np.column_stack([np.interp(steps, way, places[:, axis]) for axis in (0, 1)]))

    def take(self, box: Box) -> None:
        """Take a rectangle."""
        self._boxes.append(box)

    def marker(self, x: float, y: float) -> None:
        """Take the place of a point's marker."""
        across, down = self.pixels(np.array([x]), np.array([y]))[0]
        self.take(Box(across - _MARKER, down - _MARKER, across + _MARKER, down + _MARKER))

    def cost(self, box: Box) -> float:
        """Cost of covering a rectangle: 0 where it is free."""
        outside = (
            max(0.0, -box.left)
            + max(0.0, box.right - self.width)
            + max(0.0, -box.top)
            + max(0.0, box.bottom - self.height)
        )
        texts = sum(box.overlaps(other) for other in self._boxes)
        return 20 * outside + 1000.0 * texts + sum(box.holds(points) for points in self._points)

    def corner(self, size: tuple[float, float], corners: Sequence[str], offset: float) -> str | None:
        """Occupy the first corner with room for a rectangle of this size; None without such a corner."""
        wide, high = size
        for name in corners:
            top = offset if name.startswith("top") else self.height - offset - high
            left = offset if name.endswith("left") else self.width - offset - wide
            box = Box(left, top, left + wide, top + high)
            if self.cost(box) == 0:
                self.take(box)
                return name
        return None

    def side(self, x: float, y: float, text: str) -> Side | None:
        """Take a free side of a point for a word; None if each would cover another word or a marker."""
        place = self.pixels(np.array([x]), np.array([y]))[0]
        boxes = {side: _word(place, side, text) for side in SIDES}
        side = min(boxes, key=lambda side: self.cost(boxes[side]))
        if any(boxes[side].overlaps(other) for other in self._boxes):
            return None
        self.take(boxes[side])
        return side

    def spot(
        self, places: Sequence[tuple[float, float]], text: str, sides: Sequence[Side]
    ) -> tuple[float, float, Side]:
        """Occupy the place and side with the least overlap for a word."""
        spots = [(x, y, side) for x, y in places for side in sides]
        pixels = self.pixels(*np.array(places, dtype=np.float64).T)
        boxes = [_word(place, side, text) for place in pixels for side in sides]
        best = min(range(len(spots)), key=lambda number: self.cost(boxes[number]))
        self.take(boxes[best])
        return spots[best]


def _word(place: NDArray[np.float64], side: Side, text: str) -> Box:
    align, dx, dy = side
    wide = width_of(text, _SIZE)
    left = place[0] + dx - (wide if align == "right" else 0)
    middle = place[1] + dy
    return Box(left - 2, middle - _SIZE / 2 - 2, left + wide + 2, middle + _SIZE / 2 + 2)
