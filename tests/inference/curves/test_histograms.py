"""Histograms of scores by class against NumPy's."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm

EXACT = pytest.mark.parametrize("exact", [None, False], ids=["rows", "grid"])


def sample(rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.3
    logit = rng.normal(y, 1.5)
    columns = {"y": y, "logit": logit, "p": 1 / (1 + np.exp(-logit)), "points": 300 + 80 * logit}
    extra = {"w": rng.integers(1, 4, rows) / 2, "g": rng.choice(["a", "b"], rows)}
    return pl.DataFrame(columns | extra)


def curve(table, **arguments):
    asked = [{"curve": "score_histogram", "bins": arguments.pop("bins", 40), "slices": "g"}]
    given = {"label": "y", "metrics": ["accuracy"], "slices": "g", "curves": asked}
    return plm.evaluate(table, **{**given, **arguments}).curves


@EXACT
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("bins", [7, 40])
def test_shares_are_those_of_a_histogram(bins, weight, exact):
    table = sample(2_000, seed=1)
    ends = {"p": (0.0, 1.0)}
    both = np.concatenate([table["logit"], table["points"]])
    ends |= dict.fromkeys(("logit", "points"), (both.min(), both.max()))
    found = curve(table, models=list(ends), bins=bins, weight=weight, exact=exact)
    for model, span in ends.items():
        for text, part in [("all", table), ("g=b", table.filter(g="b"))]:
            for name, positive in (("positive", True), ("negative", False)):
                rows = part.filter(y=positive)
                mass = rows["w"] if weight else None
                own = found.filter(model=model, slice=text, **{"class": name})
                expected, edges = np.histogram(rows[model], bins=bins, range=span, weights=mass)
                np.testing.assert_allclose(own["y"], expected / expected.sum(), atol=1e-12)
                np.testing.assert_allclose(own["threshold"], edges[1:], atol=1e-9)
                np.testing.assert_allclose(own["x"], (edges[1:] + edges[:-1]) / 2, atol=1e-9)
                assert own["n"].to_list() == ([None] * bins if weight else expected.tolist())


@EXACT
def test_a_score_at_an_edge_is_called_by_a_threshold_there(exact):
    """Scores of two digits: the bins above an edge hold the rows of a score of at least that."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"y": rng.random(3_000) < 0.4, "p": rng.integers(0, 101, 3_000) / 100, "g": "a"})
    own = curve(table, models="p", bins=20, exact=exact).filter(slice="all")
    for name, positive in (("positive", True), ("negative", False)):
        part = own.filter(**{"class": name})
        scores = table.filter(y=positive)["p"]
        for number, edge in enumerate(part["threshold"][:-1]):
            assert part["n"][number + 1 :].sum() == (scores >= edge).sum()


@EXACT
def test_odd_tables(exact):
    alone = curve(
        pl.DataFrame({"y": [True, True], "s": [7.0, 7.0], "g": "a"}), models="s", exact=exact, bins=4
    )
    assert alone["class"].unique().to_list() == ["positive"]
    assert alone.filter(slice="all")["y"].to_list() == [0, 0, 1, 0]
    assert alone.filter(slice="all")["threshold"].to_list() == [6.75, 7.0, 7.25, 7.5]
    rows = {"y": [True, False, True], "s": [0.2, None, 5.0], "t": [0.1, 0.3, float("nan")], "g": "a"}
    dropped = curve(pl.DataFrame(rows), models=["s", "t"], missing="drop_per_model", exact=exact, bins=2)
    ends = (
        dropped.filter(slice="all")
        .group_by("model", maintain_order=True)
        .agg(pl.col("threshold").unique().sort())
    )
    assert ends["threshold"].to_list() == [[pytest.approx(2.6), 5.0], [0.5, 1.0]]
    assert dropped.filter(slice="all")["n"].to_list() == [1, 1, 1, 0, 1, 0]


def test_merged_states_have_the_histogram_of_all_rows():
    table = sample(1_000, seed=5)
    given = {"label": "y", "metrics": ["accuracy"], "curves": ["score_histogram", "net_benefit"]}
    asked = {**given, "models": "p", "uncertainty": {"replicates": 100}, "unit": "u"}
    table = table.with_columns(u=pl.int_range(pl.len()))
    first = plm.state(table[:400], **asked)
    merged = plm.merge(first, plm.state(table[400:], constants=first, **asked)).curves
    whole = plm.evaluate(table, **asked, exact=False).curves
    assert_frame_equal(merged, whole, abs_tol=1e-9)
    for name, curve in (("points", "score_histogram"), ("p", "roc")):
        asked |= {"models": name, "curves": [curve]}
        first = plm.state(table[:400], **asked)
        found = plm.merge(first, plm.state(table[400:], constants=first, **asked)).curves
        assert found.filter(pl.col("y").is_not_null()).height > 40
        assert found["lower"].is_not_null().any() == (curve == "roc")
    asked = {**asked, "models": "points", "curves": ["score_histogram"]}
    states = [plm.state(part, **asked) for part in (table[:400], table[400:])]
    with pytest.raises(plm.ConfigError, match="ends of the histogram of scores of model 'points'"):
        plm.merge(*states)
