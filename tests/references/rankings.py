"""Independent formulas for metrics of an order of scores, point by point as they are defined. NaN: undefined."""

from itertools import pairwise

import numpy as np
from sklearn import metrics as sk

TIE = 1e-12


def points(y, p, w):
    """(threshold, tp, fp) at each distinct score, from high to low, of rows with weight."""
    out = []
    for t in sorted(set(p[w > 0]), reverse=True):
        called = p >= t
        out.append((t, w[y & called].sum(), w[~y & called].sum()))
    return out


def masses(y, w):
    return w[y].sum(), w[~y].sum()


def partial_auc(y, p, w, limit):
    positives, negatives = masses(y, w)
    if positives == 0 or negatives == 0:
        return np.nan
    curve = [(0.0, 0.0), *((fp / negatives, tp / positives) for _, tp, fp in points(y, p, w))]
    area = 0.0
    for (x0, y0), (x1, y1) in pairwise(curve):
        end = min(x1, limit)
        if end > x0:
            area += (end - x0) * (y0 + y0 + (y1 - y0) * (end - x0) / (x1 - x0)) / 2
    chance = limit**2 / 2
    return (1 + (area - chance) / (limit - chance)) / 2


def hull_auc(y, p, w):
    positives, negatives = masses(y, w)
    if positives == 0 or negatives == 0:
        return np.nan
    hull = []
    for x, z in [(0.0, 0.0), *((fp / negatives, tp / positives) for _, tp, fp in points(y, p, w))]:
        while len(hull) > 1:
            (x0, z0), (x1, z1) = hull[-2:]
            if (x1 - x0) * (z - z0) < (z1 - z0) * (x - x0):
                break
            hull.pop()
        hull.append((x, z))
    return sum((x1 - x0) * (z0 + z1) / 2 for (x0, z0), (x1, z1) in pairwise(hull))


def by_recall(y, p, w):
    """(recall, smallest, largest precision) of each distinct recall, ascending, with the anchor."""
    positives, _ = masses(y, w)
    levels = {0.0: [1.0]}
    for _, tp, fp in points(y, p, w):
        levels.setdefault(tp, []).append(tp / (tp + fp))
    return [(tp / positives, min(found), max(found)) for tp, found in sorted(levels.items())]


def trapezoid(y, p, w, upper=False):
    if not y.any() or masses(y, w)[0] == 0:
        return np.nan
    levels = by_recall(y, p, w)
    return sum(
        (r1 - r0) * ((high0 if upper else low0) + high1) / 2
        for (r0, low0, high0), (r1, _, high1) in pairwise(levels)
    )


def sklearn_trapezoid(y, p, w):
    if masses(y, w)[0] == 0:
        return np.nan
    precision, recall, _ = sk.precision_recall_curve(y, p, sample_weight=w)
    return sk.auc(recall, precision)


def davis_goadrich(y, p, w, steps=4000):
    positives, _ = masses(y, w)
    if positives == 0:
        return np.nan
    area = 0.0
    for (_, t0, f0), (_, t1, f1) in pairwise([(None, 0.0, 0.0), *points(y, p, w)]):
        if t1 == t0:
            continue
        x = np.linspace(t0, t1, steps + 1)
        middle = (x[1:] + x[:-1]) / 2
        alarms = f0 + (f1 - f0) * (middle - t0) / (t1 - t0)
        area += (middle / (middle + alarms)).mean() * (t1 - t0)
    return area / positives


def interpolated(y, p, w, levels):
    positives, _ = masses(y, w)
    if positives == 0:
        return np.nan
    curve = [(tp / positives, tp / (tp + fp)) for _, tp, fp in points(y, p, w)]
    if levels == "all":
        total, before = 0.0, 0.0
        for recall, _ in curve:
            total += (recall - before) * max(z for r, z in curve if r >= recall - TIE)
            before = recall
        return total
    wanted = [i / (levels - 1) for i in range(levels)]
    return float(np.mean([max(z for r, z in curve if r >= level - TIE) for level in wanted]))


def at_limit(y, p, w, kind, limit):
    """(value, threshold) of the metrics at an operating point."""
    positives, negatives = masses(y, w)
    curve = points(y, p, w)
    if kind in {"precision_at_recall", "fpr_at_recall"}:
        if positives == 0 or (kind == "fpr_at_recall" and negatives == 0):
            return np.nan, np.nan
        met = [(t, tp, fp) for t, tp, fp in curve if tp / positives >= limit - TIE]
        if kind == "precision_at_recall":
            t, tp, fp = met[0]
            return tp / (tp + fp), t
        least = min(fp for _, _, fp in met)
        return least / negatives, max(t for t, _, fp in met if fp == least)
    if kind == "precision_at_volume":
        t, tp, fp = next(point for point in curve if (point[1] + point[2]) / w.sum() >= limit - TIE)
        return tp / (tp + fp), t
    if positives == 0:
        return np.nan, np.nan
    if kind == "recall_at_precision":
        met = [(t, tp) for t, tp, fp in curve if tp / (tp + fp) >= limit - TIE]
        if not met:
            return np.nan, np.nan
    else:
        if negatives == 0:
            return np.nan, np.nan
        met = [(t, tp) for t, tp, fp in curve if fp / negatives <= limit + TIE]
        if not met:
            return 0.0, np.nan
    most = max(tp for _, tp in met)
    return most / positives, max(t for t, tp in met if tp == most)


def top_hits(y, p, w, k):
    """Expected positives in the top k, and k in units of weight; None with fewer rows."""
    size = k * w.sum() if k < 1 else k
    if size > w.sum() * (1 + 1e-12):
        return None, size
    hits, left = 0.0, size
    for t in sorted(set(p[w > 0]), reverse=True):
        tied = p == t
        mass = w[tied].sum()
        take = min(left, mass)
        hits += w[tied & y].sum() * take / mass
        left -= take
    return hits, size


def at_top(y, p, w, kind, k):
    hits, size = top_hits(y, p, w, k)
    positives, _ = masses(y, w)
    if hits is None or (kind != "precision" and positives == 0):
        return np.nan
    return {
        "precision": hits / size,
        "recall": hits / positives if positives else np.nan,
        "lift": hits / size / (positives / w.sum()) if positives else np.nan,
    }[kind]


def max_accuracy(y, p, w):
    positives, negatives = masses(y, w)
    return max([negatives, *(tp + negatives - fp for _, tp, fp in points(y, p, w))]) / (positives + negatives)


def _limit(kind, limit):
    return lambda y, p, w: at_limit(y, p, w, kind, limit)[0]


def _top(kind, k):
    return lambda y, p, w: at_top(y, p, w, kind, k)


LIMITS = {
    f"{kind}({parameter}={limit})": (kind, limit)
    for kind, parameter in {
        "precision_at_recall": "recall",
        "fpr_at_recall": "recall",
        "precision_at_volume": "volume",
        "recall_at_precision": "precision",
        "recall_at_fpr": "fpr",
    }.items()
    for limit in (0.05, 0.3, 0.75, 1)
}
RANKINGS = {
    **{f"roc_auc(max_fpr={x})": lambda y, p, w, x=x: partial_auc(y, p, w, x) for x in (0.05, 0.3, 1)},
    **{f"roc_auc(min_recall={x})": lambda y, p, w, x=x: partial_auc(~y, -p, w, 1 - x) for x in (0, 0.3, 0.9)},
    "roc_hull_auc": hull_auc,
    "pr_auc": trapezoid,
    "pr_auc(method=upper_trapezoid)": lambda y, p, w: trapezoid(y, p, w, upper=True),
    "interpolated_ap": lambda y, p, w: interpolated(y, p, w, 11),
    "interpolated_ap(points=101)": lambda y, p, w: interpolated(y, p, w, 101),
    "interpolated_ap(points=all)": lambda y, p, w: interpolated(y, p, w, "all"),
    **{text: _limit(*given) for text, given in LIMITS.items()},
    **{f"precision_at_k(k={k})": _top("precision", k) for k in (1, 20, 0.1)},
    **{f"recall_at_k(k={k})": _top("recall", k) for k in (3, 0.37)},
    **{f"lift_at_k(k={k})": _top("lift", k) for k in (5, 0.05)},
    "max_accuracy": max_accuracy,
    "default_accuracy": lambda y, p, w: max(masses(y, w)) / w.sum(),
}
