import numpy as np
import pytest

import plmetrics as plm
from plmetrics.states import moving_thresholds
from plmetrics.states.moving_thresholds import ScoredRows, replicate_thresholds
from plmetrics.states.scores.exact.sorted_rows import SortedRows

RULES = ["max(f1)", "at(recall=0.8)", "at(fpr=0.1)", "at(precision=0.99)"]


def rows(number: int, blocks: int, *, weighted: bool) -> SortedRows:
    rng = np.random.default_rng(number)
    positive = rng.random(number) < 0.3
    score = np.sort(rng.normal(positive * 1.0))
    weight = rng.random(number) if weighted else None
    return SortedRows(score, positive, weight, rng.integers(0, blocks, number).astype(np.int32))


def choosers(texts: list[str]) -> list:
    return [plm.metric(f"recall(threshold={text})").threshold.choose for text in texts]


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_by_block_choose_as_rows_do(monkeypatch: pytest.MonkeyPatch, *, weighted: bool) -> None:
    ordered, weights = rows(600, 30, weighted=weighted), np.random.default_rng(0).poisson(1.0, (50, 30)) * 1.0
    by_rows = replicate_thresholds(ordered, weights, choosers(RULES), [])
    monkeypatch.setattr(moving_thresholds, "replicates_rows", lambda *_: False)
    np.testing.assert_array_equal(by_rows, replicate_thresholds(ordered, weights, choosers(RULES), []))


def test_few_candidates_are_near_the_best_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    ordered, weights = rows(4000, 100, weighted=False), np.random.default_rng(0).poisson(1.0, (30, 100)) * 1.0
    every = np.array(replicate_thresholds(ordered, weights, choosers(["at(recall=0.8)"]), []))
    monkeypatch.setattr(moving_thresholds, "CANDIDATES", 200)
    few = np.array(replicate_thresholds(ordered, weights, choosers(["at(recall=0.8)"]), [0.25]))
    assert np.abs(every - few).max() < 0.05
    assert (few <= every).all()


def test_a_replicate_without_rows_has_no_threshold() -> None:
    ordered = SortedRows(np.array([0.1, 0.2]), np.array([False, True]), None, np.zeros(2, dtype=np.int32))
    (chosen,) = replicate_thresholds(ordered, np.array([[0.0], [2.0]]), choosers(["max(f1)"]), [])
    np.testing.assert_array_equal(chosen, [np.nan, 0.2])


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_slices_at_the_threshold_of_each_replicate(*, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    score, positive = rng.integers(0, 5, 60) / 4, rng.random(60) < 0.5
    block, code = rng.integers(0, 7, 60).astype(np.int32), rng.integers(-1, 4, 60)
    weight = rng.random(60) if weighted else None
    thresholds, weights = np.array([0.5, 0.25, np.nan, 0.5, 2.0]), rng.integers(0, 3, (5, 7)) * 1.0
    found = ScoredRows(score, positive, block, weight).cells(thresholds, weights, code, 5)
    for replicate, threshold in enumerate(thresholds):
        for number in range(5):
            wanted = dict.fromkeys(("tp", "fp", "fn", "tn"), 0.0)
            for row in range(60):
                name = (
                    ("tp" if positive[row] else "fp")
                    if score[row] >= threshold
                    else ["tn", "fn"][int(positive[row])]
                )
                if code[row] == number:
                    wanted[name] += weights[replicate, block[row]] * (1.0 if weight is None else weight[row])
            cells = {name: column[replicate, number] for name, column in found.items()}
            if np.isnan(threshold):
                assert np.isnan(list(cells.values())).all()
            else:
                assert cells == pytest.approx(wanted, abs=1e-12)
