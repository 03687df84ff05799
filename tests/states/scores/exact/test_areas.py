"""Areas alone: what sorted integers tell is what the points of all scores tell."""

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.inference.metric_values import conditions, finalise, score_view
from plmetrics.states.scores.exact import areas
from plmetrics.states.scores.exact.areas import AreaRows

ROC_AUC = plm.metric("roc_auc")
LARGE = 1 << 40


@pytest.fixture(autouse=True, params=[1 << 16, 7])
def piece(request, monkeypatch):
    """Rows are looked at in pieces, also in some that ties go beyond."""
    monkeypatch.setattr(areas, "_PIECE", request.param)
    if request.param == 7:
        monkeypatch.setattr(areas, "_PACKED", 11)
        monkeypatch.setattr(areas, "_ALONE", 1)
        monkeypatch.setattr(areas, "processors", lambda: 3)


@pytest.mark.exhaustive
@settings(phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 120), st.integers(1, 60), st.integers(1, 5), st.floats(0, 1), st.integers(0, 2**20))
def test_areas_are_those_of_scikit_learn(rows, scores, slices, share, seed):
    rng = np.random.default_rng(seed)
    score, positive = rng.integers(0, scores, rows) / scores * 1e3, rng.random(rows) < share
    code = rng.integers(-1, slices, rows)
    sliced = AreaRows(pl.Series(score, dtype=pl.Float64), pl.Series(positive)).regroup(code, slices)
    view = score_view(sliced.point_state())
    value, reasons = finalise(ROC_AUC, view), dict(conditions(ROC_AUC, view))
    for number in range(slices):
        own = code == number
        one, other = int(positive[own].sum()), int((~positive[own]).sum())
        assert (sliced.positives[number], sliced.negatives[number]) == (one, other)
        if one and other:
            assert value[number] == pytest.approx(roc_auc_score(positive[own], score[own]), abs=1e-13)
        else:
            assert any(condition[number] for condition in reasons.values())


def test_a_single_positive_wins_against_the_negatives_below():
    positive = pl.Series([False, False, True, False, False])
    areas_alone = AreaRows(pl.Series([0.1, 0.2, 0.3, 0.3, 0.4]), positive).regroup(None, 1)
    assert finalise(ROC_AUC, score_view(areas_alone.point_state())) == pytest.approx([2.5 / 4])


def test_chunks_of_a_column_follow_one_another():
    rng = np.random.default_rng(1)
    parts = [pl.Series(rng.random(size)) for size in (3, 0, 5)]
    score = pl.concat(parts, rechunk=False)
    positive = pl.Series(rng.random(8) < 0.5)
    assert score.n_chunks() > 1
    whole = AreaRows(score.rechunk(), positive)
    assert AreaRows(score, positive).keys.tolist() == whole.keys.tolist()


def test_rows_of_one_slice_are_sorted_where_they_lie():
    rng = np.random.default_rng(2)
    score, positive = pl.Series(rng.integers(0, 9, 100) / 9), pl.Series(rng.random(100) < 0.4)
    once = AreaRows(score, positive, once=True)
    found, again, plain = (rows.regroup(None, 1) for rows in (once, once, AreaRows(score, positive)))
    assert found.won == again.won == plain.won
    assert once.keys.tolist() == sorted(AreaRows(score, positive).keys.tolist())


def test_scores_below_zero_do_not_sort_by_their_bits():
    assert AreaRows.fits(pl.Series([0.0, 2.0]))
    assert AreaRows.fits(pl.Series([], dtype=pl.Float64))
    assert not AreaRows.fits(pl.Series([0.5, -1e-300]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("shift", [0.0, -0.5])
@pytest.mark.parametrize("slices", [None, {"group": "g"}])
def test_areas_alone_are_those_beside_other_metrics(shift, slices):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "y": rng.random(900) < 0.3,
            "p": rng.integers(0, 40, 900) / 40 + shift,
            "g": rng.integers(0, 30, 900),
        }
    ).with_columns(q=pl.col("p") / 2 + rng.random(900) / 3)
    names = ["roc_auc", "gini"]
    asked = {"label": "y", "models": {"a": "p", "b": "q"}, "slices": slices, "exact": True}
    asked["compare"] = {"baseline": "a"} | ({"slices": {"group": "rest"}} if slices else {})
    alone = plm.evaluate(frame, metrics=names, **asked)
    beside = plm.evaluate(frame, metrics=[*names, "ks"], **asked)
    for table in ("metrics", "comparisons"):
        plain = getattr(beside, table).filter(pl.col("metric").is_in(names))
        numbers = [name for name, dtype in plain.schema.items() if dtype == pl.Float64]
        own = getattr(alone, table)
        assert own.drop(numbers).equals(plain.drop(numbers))
        for name in numbers:
            assert own[name].to_list() == pytest.approx(plain[name].to_list(), abs=1e-13, nan_ok=True), name


def test_totals_of_large_tables_are_exact():
    places = np.array([LARGE, LARGE + 1, LARGE + 3])
    found = areas._by_slice(places, places * 3, np.array([0, LARGE + 1, LARGE + 1, LARGE + 4]))
    assert found.tolist() == [3 * LARGE, 0, 6 * LARGE + 12]
