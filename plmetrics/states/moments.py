"""Sums of powers and products of distances from centres: change of centre, and addition.

The moments of an entry are about a centre of its own, so that they keep their digits however far the values of other
entries lie. Those of several entries are brought to one centre, and add then as all sums do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plmetrics.core.ops import Array, Codes, Flags

CENTRE = "@centre|"
"""Prefix of the column of a centre."""

DISTANT = 1e4
"""A mean is far from a centre where its squared distance is so many times the variance: digits of that are lost."""

LOST = 1e10
"""Where it is so many times, hardly more than six digits are left."""

_ROUNDING = 8 * sys.float_info.epsilon
"""Of a sum of squares of equal numbers: what is left of it around their mean, and of their mean what it is wrong by."""

SIGN = 1e-312
"""Least addend of a number other than 0 to a sum of squares, which tells it from 0 where its square underflows."""


def centre_name(key: str) -> str:
    """Name of the centre of a metric's moments of a value."""
    return f"{key}_centre"


@dataclass(frozen=True, slots=True)
class Moment:
    """Terms of a column of moments: products of distances from one or two centres, times a mass.

    `mass` is the column with the sum of that, `alone` are, of two centres, those with the sums of each distance.
    """

    centres: tuple[str, ...]
    mass: str
    alone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Centres:
    """The centre of each entry by name, one number where all share it; and the moments about them by column."""

    at: Mapping[str, Array | float] = field(default_factory=dict)
    moments: Mapping[str, Moment] = field(default_factory=dict)

    @property
    def differ(self) -> bool:
        """Whether entries have different centres."""
        return any(np.size(centre) > 1 and np.ptp(centre) != 0 for centre in self.at.values())

    def take(self, index: Any) -> Centres:
        """The centres of some entries."""
        taken_at = {name: at[index] if isinstance(at, np.ndarray) else at for name, at in self.at.items()}
        return Centres(taken_at, self.moments)

    def of(self, first: int, last: int) -> dict[str, Array]:
        """The centres of the entries from one up to another."""
        return {
            name: at[first:last] if isinstance(at, np.ndarray) else np.full(last - first, at)
            for name, at in self.at.items()
        }


def about_common_centre(
    columns: Mapping[str, Array], centres: Centres, place: Codes, places: int
) -> tuple[dict[str, Array], Centres]:
    """The sums of entries with all moments of a place about one centre, and these centres by place.

    The centre is the median of the means of a place's entries by mass: no few odd ones move it away from the others.
    Where these differ by no more than their rounding, it is the farthest of the centres before, beside which that does
    not look like variation; one that all entries have stays.
    """
    if not centres.differ:
        single = {name: float(np.ravel(at)[0]) for name, at in centres.at.items() if np.size(at)}
        return dict(columns), Centres(single, centres.moments)
    at: dict[str, Array | float] = {}
    fixed = points(columns, centres.moments)
    for name, (mean, mass) in means(columns, centres).items():
        at[name] = medians = _medians(place, places, mean, mass)
        if name in fixed:
            before = np.broadcast_to(centres.at[name], mean.shape)
            at[name] = _farthest(place, medians, mean, before, fixed[name], mass > 0)
    common = Centres(at, centres.moments)
    return move_moments(columns, centres, common.take(place)), common


def move_moments(columns: Mapping[str, Array], before: Centres, after: Centres) -> dict[str, Array]:
    """The sums of entries with their moments about other centres.

    The square of an entry that is one number is that of its distance, 0 from a centre that is that number: what is left
    of differences of squares is noise.

    >>> sums = {"n": np.array([2.0]), "x": np.array([0.0]), "x2": np.array([2.0])}
    >>> moments = {"x": Moment(("c",), "n"), "x2": Moment(("c", "c"), "n", ("x", "x"))}
    >>> found = move_moments(sums, Centres({"c": 5.0}, moments), Centres({"c": 2.0}, moments))
    >>> found["x"].tolist(), found["x2"].tolist()
    ([6.0], [20.0])
    """
    out = dict(columns)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = {name: at - after.at[name] for name, at in before.at.items()}
        fixed = points(columns, before.moments)
        moments = {name: moment for name, moment in before.moments.items() if name in columns}
        for name, moment in moments.items():
            centre, mass = moment.centres[0], columns[moment.mass]
            if not moment.alone:
                out[name] = columns[name] + steps[centre] * mass
            if not moment.alone and np.any(fixed.get(centre, False)):
                there = before.at[centre] + columns[name] / mass == after.at[centre]
                out[name] = np.where(fixed[centre] & there, 0.0, out[name])
        for name, moment in moments.items():
            if not moment.alone:
                continue
            step, other = (steps[centre] for centre in moment.centres)
            mass, (first, two) = columns[moment.mass], (columns[part] for part in moment.alone)
            moved = columns[name] + (other * first + step * two) + step * other * mass
            alone = np.any([fixed[centre] for centre in moment.centres if centre in fixed], axis=0)
            if np.any(alone):
                left, right = (out[part] for part in moment.alone)
                moved = np.where(alone, left * (right / np.where(alone, mass, 1.0)), moved)
            if moment.centres[0] == moment.centres[1]:
                away = out[moment.alone[0]]
                tiny = (moved == 0) & (away != 0) & (away * (away / np.where(mass > 0, mass, 1.0)) == 0)
                moved = np.where(tiny, SIGN * mass, moved)
            out[name] = moved
    return out


def points(columns: Mapping[str, Array], moments: Mapping[str, Moment]) -> dict[str, Flags]:
    """Masks of constant entries by name of a centre, from their squares about it, to the rounding of these."""
    out: dict[str, Flags] = {}
    for centre, mass, first, squares in _squares(columns, moments):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            fixed = (
                (mass > 0) & (squares - first * (first / mass) <= _ROUNDING * squares) & np.isfinite(squares)
            )
        out[centre] = out.get(centre, True) & fixed
    return out


def _squares(
    columns: Mapping[str, Array], moments: Mapping[str, Moment]
) -> Iterator[tuple[str, Array, Array, Array]]:
    """The centre of each sum of squares about one, and mass, sum and sum of squares of the distances from it."""
    for name, moment in moments.items():
        if name in columns and len(set(moment.centres)) == 1 and moment.alone:
            yield moment.centres[0], columns[moment.mass], columns[moment.alone[0]], columns[name]


def means(columns: Mapping[str, Array], centres: Centres) -> dict[str, tuple[Array, Array]]:
    """The mean of the values behind each centre in every entry, or the centre where there are none; and its mass."""
    sums: dict[str, tuple[Any, Any]] = {}
    for name, moment in centres.moments.items():
        if not moment.alone and name in columns:
            total, mass = sums.get(moment.centres[0], (0.0, 0.0))
            sums[moment.centres[0]] = total + columns[name], mass + columns[moment.mass]
    out = {}
    for name, (total, mass) in sums.items():
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mean = centres.at[name] + total / mass
        out[name] = np.where(np.isfinite(mean), mean, centres.at[name]), np.nan_to_num(mass)
    return out


def distant(
    columns: Mapping[str, Array], moments: Mapping[str, Moment], variances: float = DISTANT
) -> dict[str, Flags]:
    """Masks of entries far from a centre, by its name: their variance would lose digits.

    Squared distances of more than so many `variances` are far. Squares that overflow have lost all digits.
    """
    out: dict[str, Flags] = {}
    for centre, mass, first, total in _squares(columns, moments):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            mean, squares = first / mass, total / mass
            far = mean * mean > variances * (squares - mean * mean)
            far |= np.isfinite(mean) & ~np.isfinite(squares)
        out[centre] = out.get(centre, np.zeros(len(mass), dtype=np.bool_)) | far
    return out


def _medians(place: Codes, places: int, values: Array, mass: Array) -> Array:
    """The median by mass of the values of each place, 0 where there are none."""
    order = np.lexsort((values, place))
    running = np.cumsum(mass[order])
    starts, ends = (np.searchsorted(place[order], np.arange(places), side) for side in _SIDES)
    before = np.where(starts > 0, running[starts - 1], 0.0) if len(running) else np.zeros(places)
    occupied = ends > starts
    half = (before[occupied] + running[ends[occupied] - 1]) / 2.0
    middle = np.clip(np.searchsorted(running, half), starts[occupied], ends[occupied] - 1)
    out = np.zeros(places)
    out[occupied] = values[order][middle]
    return out


def _farthest(
    place: Codes, medians: Array, mean: Array, before: Array, fixed: Flags, occupied: Flags
) -> Array:
    """Centres of places; of entries constant but for rounding, the farthest earlier one."""
    out, places = medians.copy(), len(medians)
    distance, off = np.abs(mean - before), np.where(occupied, np.abs(mean - medians[place]), 0.0)
    blur = np.where(distance > 0, _ROUNDING * (distance + np.abs(mean)), 0.0)
    varies = occupied & ~(fixed & (off <= blur + _largest(place, blur, places)[place]))
    reach = np.where(occupied, distance, -1.0)
    farthest = np.flatnonzero(occupied & (reach == _largest(place, reach, places)[place]))
    out[place[farthest]] = before[farthest]
    moved = occupied & (before != out[place])
    equal = (_largest(place, off, places) == 0) & (_largest(place, moved, places) > 0)
    return np.where(equal | (_largest(place, varies, places) > 0), medians, out)


def _largest(place: Codes, values: Array | Flags, places: int) -> Array:
    """The largest value of each place, at least 0."""
    out = np.zeros(places)
    np.maximum.at(out, place, values)
    return out


_SIDES: Sequence[Any] = ("left", "right")
