"""What shares of single columns do to a change, against scikit-learn's metrics of reweighted rows."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import plmetrics as plm
from plmetrics.inference.across_runs.mixtures import SlicedPair
from plmetrics.inference.across_runs.score_decomposition import column_codes, column_parts

METRICS = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
BINS = 20


def rows(seed, height=4_000, columns=2):
    """Values of columns (0 and 1), labels, and scores on few values, which depend on these."""
    draw = np.random.default_rng(seed)
    values = (draw.random((columns, height)) < 0.3 + 0.15 * seed).astype(int)
    values[-1] ^= (draw.random(height) < 0.3) & (values[0] == 1)
    y = draw.random(height) < 0.2 + 0.3 * values[0]
    score = y * (0.4 + 0.3 * seed) + draw.normal(0, 0.4, height) - 0.3 * values[-1]
    return values, y, np.clip(np.floor((score + 1) / 3 * BINS), 0, BINS - 1).astype(int)


def counts(values, y, score):
    """Rows by slice, class and bin."""
    place = values.T @ (1 << np.arange(len(values)))
    out = np.zeros((1 << len(values), 2, BINS))
    np.add.at(out, (place, y.astype(int), score), 1)
    return out


def shares(values, members, mix):
    """The weight of each row that gives the values of some columns the shares of other rows."""
    if not members:
        return np.ones(values.shape[1])
    code, other = (part[list(members)].T @ (1 << np.arange(len(members))) for part in (values, mix))
    size = 1 << len(members)
    share, wanted = (np.bincount(part, minlength=size) / len(part) for part in (code, other))
    return wanted[code] / share[code]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(METRICS))
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_parts_are_shapley_values_of_reweighted_rows(name, columns):
    sides = [rows(seed, columns=columns) for seed in (0, 1)]
    every = tuple(range(columns))

    def worth(side, members):
        values, y, score = sides[side]
        if side == 0:
            weight = shares(values, members, sides[1][0])
        else:  # rows of the second table at the mix of the first one, moved by the ratios of this
            back = shares(values, every, sides[0][0])
            first, second = (_joint(part[0], members) for part in sides)
            weight = back * (second / first)[_code(values, members)]
        return METRICS[name](y, score, sample_weight=weight)

    expected = np.zeros(columns)
    orders = list(permutations(every))
    for order in orders:
        for place, column in enumerate(order):
            before, after = tuple(sorted(order[:place])), tuple(sorted(order[: place + 1]))
            steps = [worth(side, after) - worth(side, before) for side in (0, 1)]
            expected[column] += np.mean(steps) / len(orders)
    pair = SlicedPair.of(*(counts(*side) for side in sides))
    codes = (np.arange(1 << columns) >> np.arange(columns)[:, None]) & 1
    metric = plm.metric(name, task="binary")
    (part,) = column_parts(pair, codes, [metric])
    assert part.value == pytest.approx(expected, abs=1e-12)
    ends = [worth(side, every) - worth(side, ()) for side in (0, 1)]
    assert part.value.sum() == pytest.approx(np.mean(ends), abs=1e-12)


def _code(values, members):
    return (
        values[list(members)].T @ (1 << np.arange(len(members)))
        if members
        else np.zeros(values.shape[1], int)
    )


def _joint(values, members):
    return np.bincount(_code(values, members), minlength=1 << len(members)) / values.shape[1]


def test_columns_with_the_same_shares_do_nothing():
    values, y, score = rows(0)
    pair = SlicedPair.of(counts(values, y, score), counts(values, ~y, score))
    codes = np.array([[0, 1, 0, 1], [0, 0, 1, 1]])
    (part,) = column_parts(pair, codes, [plm.metric("roc_auc", task="binary")])
    assert part.value == pytest.approx([0.0, 0.0], abs=1e-15)


def test_the_rest_has_values_of_its_own():
    pairs = [[{"column": "a", "value": "x"}, {"column": "b", "value": None}], []]
    names, codes = column_codes(pairs)
    assert (names, codes.tolist()) == (["a", "b"], [[0, 1], [0, 1]])
