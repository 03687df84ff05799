"""Calibration without bins, by recalibration and by groups, against loops, scikit-learn, statsmodels and scipy."""

import math
import warnings
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import expit
from scipy.stats import chi2
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

import plmetrics as plm
from plmetrics.catalogue.binary import logistic
from plmetrics.catalogue.needs import Points
from plmetrics.core.errors import ConfigError
from plmetrics.core.segments import Segments
from plmetrics.inference.metric_values import conditions, score_view

EPSILON = 2.220446049250313e-16
FAST = {"replicates": 40, "seed": 3}


def kernel_ce(y, p, w, bandwidth=0.4):
    """By its definition: all pairs of rows."""
    total = 0.0
    for (y1, p1, w1), (y2, p2, w2) in product(zip(y, p, w, strict=True), repeat=2):
        total += w1 * w2 * (p1 - y1) * (p2 - y2) * math.exp(-abs(p1 - p2) / bandwidth)
    return math.sqrt(max(total, 0.0)) / sum(w)


def proper(score, y, p, w):
    if score == "brier":
        return np.average((p - y) ** 2, weights=w)
    return log_loss(y, np.clip(p, EPSILON, 1 - EPSILON), sample_weight=w, labels=[0, 1])


def corp(y, p, w, score, part):
    recalibrated = IsotonicRegression().fit_transform(p, y, sample_weight=w)
    same = np.full(len(y), np.average(y, weights=w))
    costs = {name: proper(score, y, each, w) for name, each in (("p", p), ("c", recalibrated), ("q", same))}
    given, taken = {"miscalibration": "pc", "discrimination": "qc", "uncertainty": "q "}[part]
    return costs[given] - costs.get(taken, 0.0)


def groups_of(y, p, w, groups):
    """Rows and positives, observed and expected, of each group; integer weights count rows."""
    rows = np.repeat(p, w.astype(int))
    edges = np.quantile(rows, np.arange(1, groups) / groups, method="averaged_inverted_cdf")
    found = {}
    for label, score, weight in zip(y, p, w, strict=True):
        held = found.setdefault(sum(score > edge for edge in edges), [0.0, 0.0, 0.0])
        for place, more in enumerate((weight, weight * label, weight * score)):
            held[place] += more
    return list(found.values())


def hosmer_lemeshow(y, p, w, groups=10):
    """Over both classes, as the table of the paper has it."""
    total = 0.0
    for n, positive, expected in groups_of(y, p, w, groups):
        for observed, mean in ((positive, expected), (n - positive, n - expected)):
            total += (observed - mean) ** 2 / mean
    return total


def hosmer_lemeshow_p(y, p, w, groups=10, fewer=0):
    held = len(groups_of(y, p, w, groups))
    return chi2.sf(hosmer_lemeshow(y, p, w, groups), held - fewer) if held > fewer else None


def logits(p):
    held = np.clip(p, EPSILON, 1 - EPSILON)
    return np.log(held) - np.log1p(-held)


def regression(y, p, w, slope):
    """a and b by statsmodels' iterated least squares."""
    api = pytest.importorskip("statsmodels.api")
    x = logits(p)
    design, offset = (
        (np.ones((len(x), 1)), x) if slope == "one" else (np.column_stack([np.ones(len(x)), x]), None)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = api.GLM(y, design, family=api.families.Binomial(), offset=offset, freq_weights=w)
        return model.fit(tol=1e-14, maxiter=200).params


REFERENCES = {
    "kernel_ce": kernel_ce,
    "kernel_ce(bandwidth=0.002)": lambda y, p, w: kernel_ce(y, p, w, 0.002),
    "kernel_ce(bandwidth=5)": lambda y, p, w: kernel_ce(y, p, w, 5.0),
    "hosmer_lemeshow": hosmer_lemeshow,
    "hosmer_lemeshow(groups=4)": lambda y, p, w: hosmer_lemeshow(y, p, w, 4),
    "hosmer_lemeshow_p_value": hosmer_lemeshow_p,
    "hosmer_lemeshow_p_value(groups=6, df=groups-2)": lambda y, p, w: hosmer_lemeshow_p(y, p, w, 6, 2),
    "calibration_slope": lambda y, p, w: regression(y, p, w, "free")[1],
    "calibration_intercept": lambda y, p, w: regression(y, p, w, "one")[0],
    "calibration_intercept(slope=free)": lambda y, p, w: regression(y, p, w, "free")[0],
}
for _score, _part in product(("brier", "log_loss"), ("miscalibration", "discrimination", "uncertainty")):
    _text = f"corp_{_part}" + ("" if _score == "brier" else "(score=log_loss)")
    REFERENCES[_text] = lambda y, p, w, score=_score, part=_part: corp(y, p, w, score, part)
METRICS = {text: plm.metric(text, task="binary") for text in REFERENCES}
BY_POINTS = {text: m for text, m in METRICS.items() if isinstance(m.needs, Points)}
NORMS = [text for text, metric in METRICS.items() if metric.kind == "norm"]


def table(seed=0, rows=90, digits=None, steep=1.6):
    """Miscalibrated scores, weights that may be 0, three slices."""
    rng = np.random.default_rng(seed)
    risk = rng.normal(-0.4, 1.2, rows)
    score = expit(steep * risk)
    return pl.DataFrame(
        {
            "y": (rng.random(rows) < 1 / (1 + np.exp(-risk))).astype(float),
            "p": score if digits is None else score.round(digits),
            "w": rng.integers(0, 4, rows).astype(float),
            "g": rng.choice(["a", "b", "c"], rows),
        }
    )


def evaluated(frame, metrics=tuple(REFERENCES), **arguments):
    return plm.evaluate(frame, label="y", models="p", metrics=list(metrics), **arguments).metrics


def points(frame, weight=None):
    """The point state of a table as one slice, by a loop over scores."""
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    w = np.ones(len(y)) if weight is None else frame[weight].to_numpy()
    scores = np.unique(p)
    parts = {"score": scores}
    for name, label in (("positive", 1), ("negative", 0)):
        parts[name] = np.array([w[(p == score) & (y == label)].sum() for score in scores])
    return parts


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("digits", [None, 1])
def test_values_equal_independent_ones(digits, weight):
    frame = table(1, digits=digits)
    if digits is not None:
        frame = frame.with_columns(pl.col("p").clip(0.1, 0.9))
    found = evaluated(frame, weight=weight, slices={"g": "g"})
    for row in found.iter_rows(named=True):
        part = frame if row["slice"] == "all" else frame.filter(pl.col("g") == row["slice"][2:])
        part = part.filter(pl.col("w") > 0) if weight else part
        y, p, w = (part[name].to_numpy() for name in ("y", "p", "w"))
        wanted = REFERENCES[row["metric"]](y, p, w if weight else np.ones(len(y)))
        assert row["value"] == (None if wanted is None else pytest.approx(wanted, rel=1e-8, abs=1e-10)), row


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", BY_POINTS)
def test_scores_of_0_and_1_are_counted_where_they_are_right_and_wrong(text):
    frame = pl.DataFrame({"y": [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0], "p": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5]})
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    wanted = REFERENCES[text](y, p, np.ones(7))
    assert evaluated(frame, [text])["value"].item() == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_weights_are_repetitions_and_0_is_absent():
    frame = table(2, digits=1).with_columns(pl.col("p").clip(0.1, 0.9))
    repeated = frame.select(pl.all().repeat_by(pl.col("w").cast(pl.Int64))).explode(pl.all()).drop_nulls("y")
    weighted = evaluated(frame, weight="w", slices={"g": "g"})
    alone = evaluated(repeated, slices={"g": "g"})
    assert weighted["status"].to_list() == alone["status"].to_list()
    np.testing.assert_allclose(weighted["value"], alone["value"], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("score", ["brier", "log_loss"])
def test_the_parts_make_up_the_score(score):
    suffix = "" if score == "brier" else "(score=log_loss)"
    parts = [f"corp_{name}{suffix}" for name in ("miscalibration", "discrimination", "uncertainty")]
    found = evaluated(table(3), [score, *parts], slices={"g": "g"}, weight="w")
    for _, slice_ in found.group_by("slice"):
        of = dict(slice_.select("metric", "value").iter_rows())
        assert of[parts[0]] - of[parts[1]] + of[parts[2]] == pytest.approx(of[score], rel=1e-12)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class(label):
    frame = pl.DataFrame({"y": [label] * 4, "p": [0.2, 0.4, 0.4, 0.7]})
    found = dict(evaluated(frame).select("metric", "status").iter_rows())
    absent = "no_negatives" if label else "no_positives"
    for text, status in found.items():
        assert status == (absent if text.startswith(("calibration_slope", "calibration_inter")) else "ok"), (
            text
        )


@pytest.mark.parametrize("text", ["calibration_slope", "calibration_intercept(slope=free)"])
def test_scores_that_are_one_number_have_no_slope(text: str) -> None:
    """0.3 and 0.1 + 0.2 gave a slope of 8e14; of 0.3 alone there is none, and of 0.3 and 0.3001 there is one."""
    for other, status in ((0.1 + 0.2, "no_finite_fit"), (0.3, "no_finite_fit"), (0.3001, "ok")):
        frame = pl.DataFrame({"y": [0, 1, 1, 0, 1, 0, 1], "p": [0.3, other, 0.3, other, other, 0.3, 0.3]})
        found = plm.evaluate(frame, label="y", models="p", metrics=[text]).metrics
        assert found["status"].item() == status


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("p", "finite"),
    [
        ([0.1, 0.2, 0.6, 0.7], False),
        ([0.7, 0.6, 0.2, 0.1], False),
        ([0.1, 0.4, 0.4, 0.7], False),
        ([0.3, 0.3, 0.3, 0.3], False),
        ([0.1, 0.41, 0.4, 0.7], True),
        ([0.4, 0.4, 0.4, 0.7], False),
        ([0.4, 0.45, 0.4, 0.7], True),
    ],
    ids=["apart", "reversed", "touching", "constant", "overlapping", "half", "half overlapping"],
)
def test_separation_has_no_finite_fit(p, finite):
    frame = pl.DataFrame({"y": [0.0, 0.0, 1.0, 1.0], "p": p})
    found = dict(evaluated(frame).select("metric", "status").iter_rows())
    for text in ("calibration_slope", "calibration_intercept(slope=free)"):
        assert found[text] == ("ok" if finite else "no_finite_fit")
    assert found["calibration_intercept"] == "ok"


@pytest.mark.parametrize("steep", [-1.0, 1e-3, 0.2, 30.0, 300.0])
def test_fits_settle_however_far_off_the_scores_are(steep):
    frame = table(4, rows=400, steep=steep).with_columns(p=pl.col("p").clip(1e-300, 1.0))
    found = dict(
        evaluated(frame, [text for text in REFERENCES if text.startswith("calibration_")])
        .select("metric", "value")
        .iter_rows()
    )
    y, x = frame["y"].to_numpy(), logits(frame["p"].to_numpy())
    a, b = found["calibration_intercept(slope=free)"], found["calibration_slope"]
    left = y - expit(a + b * x)
    assert abs(left.sum()) < 1e-9 * len(y)
    assert abs((left * x).sum()) < 1e-9 * np.abs(x).sum()
    assert abs((y - expit(found["calibration_intercept"] + x)).sum()) < 1e-9 * len(y)


@pytest.mark.parametrize(
    ("scores", "rows", "positives"),
    [
        ((0.0, 1.0), (1000, 1000), (1, 999)),
        ((0.4999, 0.5001), (1000, 1000), (1, 999)),
        ((0.1, 0.9), (1000, 1000), (999, 1)),
        ((0.5, 0.6), (100_000, 10), (1, 9)),
    ],
    ids=["hard calls", "timid", "reversed", "rare"],
)
def test_two_scores_that_nearly_part_the_classes_have_the_line_through_their_rates(scores, rows, positives):
    p = np.repeat(scores, rows)
    y = np.concatenate([np.arange(n) < k for n, k in zip(rows, positives, strict=True)]).astype(float)
    asked = ["calibration_slope", "calibration_intercept(slope=free)"]
    slope, level = evaluated(pl.DataFrame({"y": y, "p": p}), asked)["value"]
    low, high = logits(np.array(positives) / np.array(rows))
    first, last = logits(np.array(scores))
    assert slope == pytest.approx((high - low) / (last - first))
    assert level == pytest.approx(low - slope * first, abs=1e-9)


def test_a_constant_score_has_one_group_and_a_known_level():
    frame = pl.DataFrame({"y": [1.0, 0.0, 0.0, 0.0], "p": [0.5] * 4})
    found = {row["metric"]: row for row in evaluated(frame).iter_rows(named=True)}
    assert found["calibration_intercept"]["value"] == pytest.approx(math.log(1 / 3))
    assert found["hosmer_lemeshow"]["value"] == pytest.approx((1 - 2) ** 2 / (4 * 0.25))
    assert found["hosmer_lemeshow_p_value"]["value"] == pytest.approx(chi2.sf(1.0, 1))
    assert found["hosmer_lemeshow_p_value(groups=6, df=groups-2)"]["status"] == "too_few_rows"
    assert found["kernel_ce"]["value"] == pytest.approx(0.25)
    assert found["corp_discrimination"]["value"] == 0.0


@pytest.mark.parametrize(("y", "status"), [([0.0, 1.0], "zero_denominator"), ([0.0, 0.0], "ok")])
def test_a_group_that_expects_no_positives_must_have_none(y, status):
    frame = pl.DataFrame({"y": [*y, 1.0, 0.0], "p": [0.0, 0.0, 0.5, 0.5]})
    found = evaluated(frame, ["hosmer_lemeshow(groups=2)", "hosmer_lemeshow_p_value(groups=2)"])
    assert found["status"].to_list() == [status] * 2


@pytest.mark.parametrize("tenths", [1.0, 0.1])
@pytest.mark.parametrize(("last", "status"), [(0, "zero_denominator"), (1, "ok")])
def test_scores_of_1_expect_no_negatives_under_any_weights(tenths, last, status):
    """Their weighted mean is 1 up to rounding: the variance of such a group is 0, not what is left of it."""
    weight = [5 * tenths, 2 * tenths, 7 * tenths, 1 * tenths, 1 * tenths, 7 * tenths, 3 * tenths]
    p = [0.2, 1.0, 0.5, 1.0, 0.2, 0.5, 1.0]
    rows = pl.DataFrame({"y": [0, 1, 1, last, 0, 0, 1], "p": p, "w": weight})
    found = plm.evaluate(rows, label="y", models="p", weight="w", metrics=["hosmer_lemeshow"]).metrics
    assert found["status"].item() == status
    if status == "ok":
        assert found["value"].item() == pytest.approx(tenths * 1.2**2 / (6 * 0.2 * 0.8))


@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_the_level_of_hard_scores_is_that_of_their_clipped_odds(scale):
    """Of a positives at 1 and b negatives at 0, clipped alike, a exp(-x) = b exp(x)."""
    rows = pl.DataFrame({"y": [1, 0, 1], "p": [1.0, 0.0, 1.0], "w": [1 * scale, 6 * scale, 4 * scale]})
    found = plm.evaluate(rows, label="y", models="p", weight="w", metrics=["calibration_intercept"]).metrics
    assert found["value"].item() == pytest.approx(math.log(5 / 6) / 2, rel=1e-9)


@pytest.mark.parametrize("text", BY_POINTS)
def test_replicates_and_slices_are_finalised_alike(text):
    """Leading axes and segments give what each table alone gives; empty slices are undefined."""
    metric = METRICS[text]
    rng = np.random.default_rng(5)
    masses = rng.integers(0, 4, (2, 3, 12)).astype(float)
    masses[:, 1, 4:8] = 0.0
    score = np.sort(rng.random((12,)))
    whole = {"score": score, "positive": masses[0], "negative": masses[1]}
    offsets = np.array([0, 4, 8, 8, 12])
    ragged = {name: Segments(part, offsets) for name, part in whole.items()}
    views = {"dense": score_view(whole), "ragged": score_view(ragged)}
    with np.errstate(all="ignore"):
        found = {name: np.asarray(metric.finalise(view)) for name, view in views.items()}
        lost = {
            name: np.any([where for _, where in conditions(metric, view)], 0) for name, view in views.items()
        }
        for replicate in range(3):
            for index, (first, last) in enumerate(pairwise(offsets)):
                alone = {name: part[..., first:last] for name, part in whole.items()}
                view = score_view({**alone, **{n: alone[n][replicate] for n in ("positive", "negative")}})
                reasons = np.any([where for _, where in conditions(metric, view)])
                assert lost["ragged"][replicate, index] == reasons
                if not reasons:
                    assert found["ragged"][replicate, index] == pytest.approx(metric.finalise(view), rel=1e-9)
            view = score_view({**whole, "positive": masses[0, replicate], "negative": masses[1, replicate]})
            assert found["dense"][replicate] == pytest.approx(metric.finalise(view), rel=1e-9)
    assert lost["ragged"][:, 2].all()
    assert lost["ragged"][1, 1]


@pytest.mark.parametrize("text", [text for text in NORMS if text in BY_POINTS])
def test_deviation_is_0_at_the_point_and_grows_with_distance(text):
    metric = METRICS[text]
    state = points(table(6), "w")
    near, far = ({**state, "positive": state["positive"] * (1 + 0.1 * k)} for k in (1, 8))
    point = score_view(state)
    moved = [float(metric.deviation(score_view(each), point)) for each in (state, near, far)]
    assert moved[0] == pytest.approx(0.0, abs=1e-12)
    assert 0 < moved[1] < moved[2]


def test_the_kernel_error_obeys_the_triangle():
    metric = METRICS["kernel_ce"]
    one = points(table(7))
    other = {**one, "positive": one["negative"], "negative": one["positive"]}
    values = [metric.finalise(score_view(state)) for state in (one, other)]
    moved = metric.deviation(score_view(other), score_view(one))
    assert abs(values[0] - values[1]) <= moved <= sum(values)


@pytest.mark.parametrize("weight", [None, "w"])
def test_intervals_are_finite_and_sensible(weight):
    found = evaluated(
        table(8, rows=600), weight=weight, slices={"g": "g"}, uncertainty={"replicates": 100, "seed": 1}
    )
    tested = found["metric"].str.starts_with("hosmer_lemeshow_p")
    assert set(found.filter(tested)["interval_status"]) == {"not_estimable"}
    rest = found.filter(~tested)
    assert set(rest["interval_status"]) == {"ok"}
    assert ((rest["lower"] <= rest["value"]) & (rest["lower"] < rest["upper"])).all()
    assert (rest["std_error"] > 0).all()
    centred = rest.filter(method="centred")
    assert set(centred["metric"]) == set(NORMS)
    slope = rest.filter(metric="calibration_slope", slice="all").row(0, named=True)
    assert slope["lower"] < 1 / 1.6 < slope["upper"]
    assert slope["upper"] < 1


def test_intervals_of_a_calibrated_model_reach_down_to_0():
    rng = np.random.default_rng(9)
    p = rng.random(3000)
    frame = pl.DataFrame({"y": (rng.random(3000) < p).astype(float), "p": p})
    texts = ["kernel_ce", "corp_miscalibration", "corp_miscalibration(score=log_loss)", "hosmer_lemeshow"]
    found = evaluated(frame, [*texts, "calibration_slope", "calibration_intercept"], uncertainty=FAST)
    assert (found["lower"][:3] < [0.003, 0.001, 0.003]).all()
    assert found["lower"][3] < 1.0
    assert ((found["lower"][4:] < [1.0, 0.0]) & (found["upper"][4:] > [1.0, 0.0])).all()


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("slices", [None, {"g": "g"}])
def test_coarse_standard_errors_are_those_of_exact_replicates(monkeypatch, weight, slices):
    frame = table(10, rows=6000)
    texts = [text for text in BY_POINTS if "0.002" not in text]
    arguments = {"weight": weight, "slices": slices, "uncertainty": {"replicates": 60, "seed": 1}}
    exact = evaluated(frame, texts, **arguments)
    monkeypatch.setattr("plmetrics.states.scores.coarse.EXACT_REPLICATES", 0)
    monkeypatch.setattr("plmetrics.states.scores.coarse._OF_A_SLICE", 0)
    coarse = evaluated(frame, texts, **arguments)
    assert coarse["value"].to_list() == pytest.approx(exact["value"].to_list(), rel=1e-9)
    for one, other in zip(coarse.iter_rows(named=True), exact.iter_rows(named=True), strict=True):
        assert one["std_error"] == pytest.approx(other["std_error"], rel=0.06), one
        for end in ("lower", "upper"):
            room = 0.6 if one["method"] == "centred" else 0.2
            assert abs(one[end] - other[end]) < room * other["std_error"], (end, one, other)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text", ["kernel_ce", "corp_miscalibration", "calibration_slope", "calibration_intercept"]
)
def test_standard_errors_are_the_spread_of_fresh_samples(text):
    samples, rows = 150, 600
    frame = table(11, rows=samples * rows, steep=2.5).with_columns(s=pl.int_range(pl.len()) % samples)
    drawn = evaluated(frame, [text], slices={"s": "s"}).filter(slice_set="s")["value"].std()
    claimed = evaluated(
        frame.filter(pl.col("s") < 12), [text], slices={"s": "s"}, uncertainty={"replicates": 80, "seed": 2}
    )
    mean = claimed.filter(slice_set="s")["std_error"].mean()
    assert mean / drawn == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("text", ["corp_discrimination", "corp_discrimination(score=log_loss)"])
def test_discrimination_on_a_grid_is_within_its_bound(monkeypatch, text):
    monkeypatch.setattr("plmetrics.engine.order.encoding.FINE_BINS", 16)
    monkeypatch.setattr("plmetrics.engine.order.encoding._LEAST_BINS", 16)
    frame = table(12, rows=400)
    near, true = (evaluated(frame, [text], exact=exact, slices={"g": "g"}) for exact in (False, True))
    assert ((true["value"] >= near["value"]) & (true["value"] <= near["value"] + near["bound"])).all()
    assert (near["bound"] > 0).all()
    apart = frame.with_columns(p=pl.col("y"))
    assert evaluated(apart, [text], exact=False)["bound"].item() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", [15, 18])
def test_the_bound_of_discrimination_is_not_negative_by_rounding(seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"y": rng.integers(0, 2, 60), "p": rng.random(60).round(2), "g": np.arange(60) % 20})
    assert (evaluated(frame, ["corp_discrimination"], slices={"g": "g"}, exact=False)["bound"] >= 0).all()


@pytest.mark.parametrize("text", ["kernel_ce", "calibration_slope", "corp_miscalibration", "hosmer_lemeshow"])
def test_what_needs_the_rows_is_refused_on_a_grid(text):
    with pytest.raises(ConfigError, match="needs the sorted rows") as refused:
        evaluated(table(), [text], exact=False)
    assert "strategy" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kernel_ce(bandwidth=0)", "bandwidth must be a finite number of at least 0.002"),
        ("corp_miscalibration(score=brier_skill)", "score must be brier or log_loss"),
        ("calibration_intercept(slope=two)", "slope must be one or free"),
        ("hosmer_lemeshow(groups=1)", "groups must be a whole number from 2 to 10,000"),
        ("hosmer_lemeshow(df=8)", "df must be groups or groups-2"),
    ],
)
def test_parameters_outside_their_domain_are_refused(text, said):
    with pytest.raises(ConfigError, match=said):
        evaluated(table(), [text])


def test_scores_must_be_probabilities_where_they_are_read():
    frame = table().with_columns(p=pl.col("p") * 3 - 1)
    with pytest.raises(plm.DataError, match="0"):
        evaluated(frame, ["calibration_slope"])
    scaled, plain = (evaluated(each, ["corp_discrimination"])["value"].item() for each in (frame, table()))
    assert scaled == pytest.approx(plain, rel=1e-12)


def test_models_are_compared_pair_by_pair():
    frame = table(13, rows=500).with_columns(q=pl.col("p") * 0.5 + 0.2)
    found = plm.evaluate(
        frame,
        label="y",
        models={"a": "p", "b": "q"},
        metrics=list(REFERENCES),
        compare={"baseline": "a"},
        uncertainty=FAST,
    ).comparisons
    values = dict(found.select("metric", "interval_status").iter_rows())
    assert values.pop("hosmer_lemeshow_p_value") == "not_estimable"
    assert values["kernel_ce"] == values["calibration_slope"] == values["corp_miscalibration"] == "ok"


@pytest.mark.slow
def test_steps_are_taken_by_few_points_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All replicates at once had their points in memory, not in the cache; how they are parted shows in no digit."""
    rng = np.random.default_rng(8)
    frame = pl.DataFrame({"p": rng.random(3000), "g": rng.integers(0, 9, 3000)})
    frame = frame.with_columns(y=rng.random(3000) < frame["p"].to_numpy())
    asked = {"label": "y", "models": "p", "metrics": ["calibration_slope"], "slices": {"g": "g"}}
    whole = plm.evaluate(frame, **asked, uncertainty=FAST).metrics
    points, newton = [], logistic._newton

    def counted(positive, negative, odds, line):
        points.append(len(odds.values) if odds.offsets.size > 2 else 0)
        return newton(positive, negative, odds, line)

    monkeypatch.setattr(logistic, "_ROOM", 1000)
    monkeypatch.setattr(logistic, "_newton", counted)
    parted = plm.evaluate(frame, **asked, uncertainty=FAST).metrics
    assert 0 < max(points) <= 1000
    assert_frame_equal(parted, whole, rel_tol=1e-12)
