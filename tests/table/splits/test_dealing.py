from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.table.splits.dealing import deal

STRATA = st.lists(st.integers(0, 60), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(STRATA, st.integers(2, 9))
def test_equal_shares_differ_by_one_in_every_stratum_and_overall(strata: list[int], folds: int) -> None:
    dealt = deal(np.array(strata), [1 / folds] * folds)
    assert dealt.sum(axis=1).tolist() == strata
    assert np.ptp(dealt, axis=1).max() <= 1
    assert np.ptp(dealt.sum(axis=0)) <= 1


@settings(max_examples=60, deadline=None)
@given(STRATA, st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_any_shares_add_up_and_are_met_overall(strata: list[int], parts: list[int]) -> None:
    shares = [part / sum(parts) for part in parts]
    dealt = deal(np.array(strata), shares)
    assert dealt.sum(axis=1).tolist() == strata
    assert dealt.min() >= 0
    wanted = sum(strata) * np.array(shares)
    assert np.abs(dealt.sum(axis=0) - wanted).max() < 1 + 1e-6
    assert (dealt >= np.floor(np.outer(strata, shares) - 1e-6)).all()


def test_nothing_to_deal() -> None:
    assert deal(np.zeros(0, dtype=np.int64), [0.5, 0.5]).shape == (0, 2)
    assert deal(np.array([0, 1]), [0.5, 0.5]).tolist() == [[0, 0], [1, 0]]
