"""Bytes per row of points in the order of scores, read in ranges and in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.catalogue.needs import Quantiles
from plmetrics.suite.tasks import BINNED_CURVES

if TYPE_CHECKING:
    from plmetrics.engine.request import Request

_SCORE, _WEIGHT, _NUMBER = 8, 8, 2
"""Bytes of a number, of a weight or outcome, and of that of a cell."""

_JOINED, _DISTINCT = 1, 10
"""Bytes a row that points keep in each slice set: joined between positives (about), or each score with its counts."""

_JOINED_WEIGHTS, _DISTINCT_WEIGHTS = 7, 17
"""The same where they are weights: about three points for four rows, if classes are of equal size."""

_WHOLE, _BROKEN = 2, 9
"""The same of the weights of both arms, or of their outcomes: whole numbers, or others."""

_IN_ORDER = 4
"""Bytes a row of a set of slices with complements, and of a complement, beside weight and score."""

_SORTED = 3
"""How often a model's scores are there while they are sorted: by cell, and two slices."""


def points_bytes(request: Request) -> int:
    """Upper bound of the bytes per row of an ordering's points."""
    scores = _reads_numbers(request)
    in_order = _IN_ORDER + _WEIGHT * _further_numbers(request) + _SCORE * int(scores)
    complements = sum(request.has_complements(of_set.name) for of_set in request.view.sets)
    return len(request.view.sets) * _in_a_set(request, scores=scores) + complements * in_order


def _in_a_set(request: Request, *, scores: bool) -> int:
    if request.view.roles.treatment is not None:
        broken = request.suite.has_weights, request.suite.has_weights or not _whole_outcomes(request)
        return sum(_BROKEN if each else _WHOLE for each in broken) + _SCORE * int(scores)
    weighted = request.suite.has_weights
    joined, distinct = (_JOINED_WEIGHTS, _DISTINCT_WEIGHTS) if weighted else (_JOINED, _DISTINCT)
    return joined + (distinct if scores else 0)


def bytes_in_hand(request: Request, orders: int, cubes: int) -> int:
    """Bytes per row in a pass: the cells, waiting models' scores, and those being sorted.

    Weights are held once, and once more beside the scores that are sorted, as outcomes are; all rows of a set are
    where complements are made. Numbers that have classes of their own have cells and weights of their own, too.
    """
    further = _WEIGHT * (1 + _SORTED) * _further_numbers(request)
    complements = any(request.has_complements(of_set.name) for of_set in request.view.sets)
    ordered = 0 if not complements else _SCORE * _SORTED + further // 2
    waiting = _SCORE + (_NUMBER * cubes + _WEIGHT * int(request.suite.has_weights) if request.values else 0)
    return _NUMBER * cubes + waiting * (orders - 1) + _SCORE * _SORTED + further + ordered


def _reads_numbers(request: Request) -> bool:
    """Whether the ordered numbers themselves are read, as for thresholds, quantiles, and curves, beyond their order."""
    has_curves = any(curve.curve not in BINNED_CURVES for curve in request.suite.row_curves)
    if request.view.roles.treatment is not None:
        return has_curves or any(metric.needs.scores or metric.finds_threshold for metric in request.scores)
    quantiles = any(isinstance(need, Quantiles) for need in request.orders)
    return has_curves or quantiles or any(metric.reads_points for metric in request.scores)


def _further_numbers(request: Request) -> int:
    """Number of values of a row beside its ordering number: its weight, and its outcome."""
    return int(request.suite.has_weights) + int(request.view.roles.treatment is not None)


def _whole_outcomes(request: Request) -> bool:
    """Whether outcomes are whole numbers by their type."""
    view = request.view
    kind = view.schema.get(view.roles.label)
    return kind is not None and (kind.is_integer() or not kind.is_numeric())
