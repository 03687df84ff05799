"""Reliability on bins of equal width and of equal weight, against scikit-learn and plain loops."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from references.samples import EXACT, probability_sample
from scipy.special import chdtri
from sklearn.calibration import calibration_curve

import plmetrics as plm


def curve(table, bins, strategy, **arguments):
    asked = {"curve": "reliability", "bins": bins, "strategy": strategy, "slices": "g"}
    given = {"label": "y", "models": "p", "metrics": ["accuracy"], "slices": "g", "curves": [asked]}
    return plm.evaluate(table, **{**given, **arguments}).curves


@pytest.mark.exhaustive
@EXACT
@pytest.mark.parametrize("bins", [2, 10, 25])
@pytest.mark.parametrize(("strategy", "theirs"), [("width", "uniform"), ("count", "quantile")])
def test_bins_are_those_of_scikit_learn(bins, strategy, theirs, exact):
    table = probability_sample(2_000, seed=1)
    parts = [("all", table)]
    if strategy == "width":
        parts += [(f"g={value}", table.filter(g=value)) for value in "ab"]
    found = curve(table, bins, strategy, exact=exact)
    for text, part in parts:
        own = found.filter(slice=text)
        y, x = calibration_curve(part["y"], part["p"], n_bins=bins, strategy=theirs)
        np.testing.assert_allclose(own["x"], x, atol=1e-12)
        np.testing.assert_allclose(own["y"], y, atol=1e-12)
        assert own["n"].sum() == part.height
        assert ((own["lower"] < own["y"]) & (own["y"] < own["upper"]) | own["y"].is_in([0.0, 1.0])).all()


@pytest.mark.exhaustive
@EXACT
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("decimals", [1, 2])
def test_rows_of_one_score_are_in_one_bin_and_bins_weigh_alike(decimals, weight, exact):
    table = probability_sample(3_000, seed=2, decimals=decimals)
    found = curve(table, 6, "count", weight=weight, exact=exact)
    for text, part in [("all", table), ("g=a", table.filter(g="a"))]:
        own = found.filter(slice=text)
        by_score = (
            part.group_by("p")
            .agg(w=pl.col("w").sum() if weight else pl.len().cast(pl.Float64), right=_right(weight))
            .sort("p")
        )
        p, w, right = (by_score[name].to_numpy() for name in ("p", "w", "right"))
        reached = np.array([np.flatnonzero(np.cumsum(w) >= i / 6 * w.sum() - 1e-9)[0] for i in range(1, 6)])
        number = (np.arange(len(p))[:, None] > reached).sum(axis=1)
        held = np.unique(number)
        x = [np.average(p[number == b], weights=w[number == b]) for b in held]
        y = [right[number == b].sum() / w[number == b].sum() for b in held]
        np.testing.assert_allclose(own.select("x", "y"), np.column_stack([x, y]), atol=1e-12)
        edges = [max(p[number == b]) for b in held]
        lowest = [min(p[number == b]) for b in held[1:]] + [1.0]
        for edge, low, high in zip(own["threshold"], edges, lowest, strict=True):
            assert low - 1e-6 <= edge <= high + 1e-6


def _right(weight):
    positive = pl.col("y").cast(pl.Float64)
    return (positive * pl.col("w")).sum() if weight else positive.sum()


@EXACT
def test_weighted_bands_of_bins_of_equal_weight_are_a_bootstrap(exact):
    table = probability_sample(1_500, seed=3)
    settings = {"weight": "w", "uncertainty": {"replicates": 1000}, "exact": exact}
    own = curve(table, 5, "count", **settings).filter(slice="all")
    rng = np.random.default_rng(0)
    p, y, w = (table[name].to_numpy() for name in "pyw")
    bin_of = np.searchsorted(own["threshold"].to_numpy()[:-1], p)
    draws = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), size=1000) * w
    for number, row in enumerate(own.iter_rows(named=True)):
        inside = draws[:, bin_of == number]
        rates = inside @ y[bin_of == number] / inside.sum(axis=1)
        width = np.diff(np.quantile(rates, [0.025, 0.975]))[0]
        assert row["upper"] - row["lower"] == pytest.approx(width, rel=0.12)


@EXACT
def test_bands_of_rows_in_units_are_a_bootstrap_of_the_units(exact):
    base = probability_sample(60, seed=4)
    table = pl.concat([base.with_columns(u=pl.int_range(pl.len()))] * 12)
    own = curve(table, 3, "width", unit="u", uncertainty={"replicates": 1000}, exact=exact).filter(
        slice="all"
    )
    assert own["n"].sum() == table.height
    rng = np.random.default_rng(0)
    p, y = base["p"].to_numpy(), base["y"].to_numpy()
    bin_of = np.searchsorted(own["threshold"].to_numpy()[:-1], p)
    draws = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), size=4000)
    for number, row in enumerate(own.iter_rows(named=True)):
        inside = draws[:, bin_of == number]
        rates = (inside @ y[bin_of == number])[inside.sum(axis=1) > 0] / inside.sum(axis=1)[
            inside.sum(axis=1) > 0
        ]
        width = np.diff(np.quantile(rates, [0.025, 0.975]))[0]
        assert row["upper"] - row["lower"] == pytest.approx(width, rel=0.15)
    without = curve(table, 3, "width", unit="u", exact=exact)
    assert without["lower"].is_null().all()


@EXACT
@pytest.mark.parametrize("role", ["unit", "weight"])
def test_a_bin_of_one_class_is_not_certain_of_it(role, exact):
    rows = {"y": [0] * 40 + [1] * 40, "p": [0.1] * 40 + [0.9] * 40, "g": ["a"] * 80}
    weights = np.tile([1.0, 1.0, 2.0, 4.0], 20)
    table = pl.DataFrame({**rows, "unit": np.arange(80) // 4, "weight": weights})
    own = curve(table, 2, "width", uncertainty={"replicates": 100}, exact=exact, **{role: role})
    blocks = 10 if role == "unit" else weights[:40].sum() ** 2 / (weights[:40] ** 2).sum()
    reach = chdtri(1, 0.05) / (blocks + chdtri(1, 0.05))
    for part in own.partition_by("slice"):
        np.testing.assert_allclose(part.select("lower", "upper"), [[0, reach], [1 - reach, 1]], atol=1e-9)


def test_states_have_no_bins_of_equal_weight():
    asked = [{"curve": "reliability", "strategy": "count"}]
    with pytest.raises(plm.ConfigError, match="bins of equal weight needs the rows in order"):
        plm.state(probability_sample(50, seed=4), label="y", models="p", metrics=["accuracy"], curves=asked)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            [{"curve": "roc", "bins": 5}],
            "bins belongs to curve 'reliability' or 'score_histogram', not to 'roc'",
        ),
        ([{"curve": "score_histogram", "strategy": "count"}], "strategy belongs to curve 'reliability'"),
        ([{"curve": "reliability", "bins": 1}], "bins must be at least 2"),
        ([{"curve": "reliability", "strategy": "rank"}], "strategy must be width or count"),
        (["reliability", {"curve": "reliability", "bins": 5}], "is drawn for one kind of bins"),
    ],
)
def test_what_is_wrong_is_said(asked, words):
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(probability_sample(20, seed=1), label="y", models="p", curves=asked)
    assert words in str(caught.value)


def histogram_sample(rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.3
    logit = rng.normal(y, 1.5)
    columns = {"y": y, "logit": logit, "p": 1 / (1 + np.exp(-logit)), "points": 300 + 80 * logit}
    extra = {"w": rng.integers(1, 4, rows) / 2, "g": rng.choice(["a", "b"], rows)}
    return pl.DataFrame(columns | extra)


def histogram(table, **arguments):
    asked = [{"curve": "score_histogram", "bins": arguments.pop("bins", 40), "slices": "g"}]
    given = {"label": "y", "metrics": ["accuracy"], "slices": "g", "curves": asked}
    return plm.evaluate(table, **{**given, **arguments}).curves


@pytest.mark.exhaustive
@EXACT
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("bins", [7, 40])
def test_shares_are_those_of_a_histogram(bins, weight, exact):
    table = histogram_sample(2_000, seed=1)
    ends = {"p": (0.0, 1.0)}
    both = np.concatenate([table["logit"], table["points"]])
    ends |= dict.fromkeys(("logit", "points"), (both.min(), both.max()))
    found = histogram(table, models=list(ends), bins=bins, weight=weight, exact=exact)
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
    own = histogram(table, models="p", bins=20, exact=exact).filter(slice="all")
    for name, positive in (("positive", True), ("negative", False)):
        part = own.filter(**{"class": name})
        scores = table.filter(y=positive)["p"]
        for number, edge in enumerate(part["threshold"][:-1]):
            assert part["n"][number + 1 :].sum() == (scores >= edge).sum()


@EXACT
def test_odd_tables(exact):
    alone = histogram(
        pl.DataFrame({"y": [True, True], "s": [7.0, 7.0], "g": "a"}), models="s", exact=exact, bins=4
    )
    assert alone["class"].unique().to_list() == ["positive"]
    assert alone.filter(slice="all")["y"].to_list() == [0, 0, 1, 0]
    assert alone.filter(slice="all")["threshold"].to_list() == [6.75, 7.0, 7.25, 7.5]
    rows = {"y": [True, False, True], "s": [0.2, None, 5.0], "t": [0.1, 0.3, float("nan")], "g": "a"}
    dropped = histogram(pl.DataFrame(rows), models=["s", "t"], missing="drop_per_model", exact=exact, bins=2)
    ends = (
        dropped.filter(slice="all")
        .group_by("model", maintain_order=True)
        .agg(pl.col("threshold").unique().sort())
    )
    assert ends["threshold"].to_list() == [[pytest.approx(2.6), 5.0], [0.5, 1.0]]
    assert dropped.filter(slice="all")["n"].to_list() == [1, 1, 1, 0, 1, 0]


@pytest.mark.slow
def test_merged_states_have_the_histogram_of_all_rows():
    table = histogram_sample(1_000, seed=5)
    given = {"label": "y", "metrics": ["accuracy"], "curves": ["score_histogram", "net_benefit"]}
    asked = {**given, "models": "p", "uncertainty": {"replicates": 100}, "unit": "u"}
    table = table.with_columns(u=pl.int_range(pl.len()))
    first = plm.state(table[:400], **asked)
    merged = plm.merge(first, plm.state(table[400:], constants=first, **asked)).curves
    whole = plm.evaluate(table, **asked, exact=False).curves
    assert_frame_equal(merged, whole, abs_tol=1e-9)
    for name, chosen in (("points", "score_histogram"), ("p", "roc")):
        asked |= {"models": name, "curves": [chosen]}
        first = plm.state(table[:400], **asked)
        found = plm.merge(first, plm.state(table[400:], constants=first, **asked)).curves
        assert found.filter(pl.col("y").is_not_null()).height > 40
        assert found["lower"].is_not_null().any() == (chosen == "roc")
    asked = {**asked, "models": "points", "curves": ["score_histogram"]}
    states = [plm.state(part, **asked) for part in (table[:400], table[400:])]
    with pytest.raises(plm.ConfigError, match="ends of the histogram of scores of model 'points'"):
        plm.merge(*states)
