"""Contestants that are compared for speed must have found the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

TOLERANCE = 1e-9
SHOWN = 3

Found = Mapping[str, Sequence[float]]


def disagreements(found: Mapping[str, Found]) -> list[str]:
    """What contestants found differently, and who found nothing that another found too.

    Two values agree when they differ by no more than 1e-9 of their size (of 1, if they are smaller) and what either
    says it may be off. A contestant without values, such as an import, is left out.

    Args:
        found: contestant -> key -> value, and by how much it may be off.

    Returns:
        A line per disagreement; empty if all agree.
    """
    with_values = {name: values for name, values in found.items() if values}
    lines: list[str] = []
    checked: set[str] = set()
    for (one, ones), (other, others) in combinations(with_values.items(), 2):
        shared = [key for key in ones if key in others]
        checked |= {one, other} if shared else set()
        apart = [key for key in shared if not agree(ones[key], others[key])]
        lines += [f"{key}: {one} {ones[key][0]!r}, {other} {others[key][0]!r}" for key in apart[:SHOWN]]
        if len(apart) > SHOWN:
            lines.append(f"and {len(apart) - SHOWN} more of {one} and {other}")
    if len(with_values) > 1:
        lines += [f"{name} has no value that another has" for name in with_values if name not in checked]
    return lines


def shared_values(found: Mapping[str, Found]) -> int:
    """Number of values that at least two contestants found."""
    times = Counter(key for values in found.values() for key in values)
    return sum(number > 1 for number in times.values())


def agree(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two values are the same, but for rounding and what they may be off."""
    (a, a_slack), (b, b_slack) = one, other
    return abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b)) + a_slack + b_slack
