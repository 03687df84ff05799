"""Learning and validation curves: lines are means of folds, points each fold."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, texts_of
from scipy.stats import t

import plmetrics as plm


@pytest.fixture(
    scope="module", params=[("train_size", [100, 200, 400, 800]), ("parameter", [1.0, 2.0, 3.0, 4.0])]
)
def case(request):
    key, places = request.param
    random = np.random.default_rng(2)
    parts = []
    for place in places:
        for fold in "abc":
            label = random.random(80) < 0.5
            score = label + random.normal(size=80) * (1 + places.index(place))
            parts.append(
                pl.DataFrame(
                    {"y": label, "p": 1 / (1 + np.exp(-score)), key: [place] * 80, "fold": [fold] * 80}
                )
            )
    frame = pl.concat(parts)
    result = plm.evaluate(
        frame, label="y", models="p", metrics=["roc_auc"], fold="fold", cross_validation={key: key}
    )
    return key, result, (result.plot.learning() if key == "train_size" else result.plot.validation())


def test_means_of_folds_stand_over_their_places(case):
    key, result, figure = case
    marks = marks_of(figure)
    start, slope = axis_scale(marks, vertical=True)
    big = [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("stroke") == "#ffffff"]
    read = np.array([start + slope * mark.y for mark in sorted(big, key=lambda mark: mark.x)])
    kind = "learning_curve" if key == "train_size" else "validation_curve"
    means = result.cross_validation.filter(kind=kind).sort("x")["value"].to_numpy()
    assert np.abs(read - means).max() < 0.6 * abs(slope)
    faint = [mark for mark in marks if mark.kind == "symbol" and mark not in big]
    assert len(faint) == result.folds.height == 12


def test_a_geometric_row_has_a_logarithmic_axis(case):
    key, _, figure = case
    marks = marks_of(figure)
    title = next(text for text in texts_of(marks, "axis-title") if "log scale" in text or "Parameter" in text)
    assert ("log scale" in title) == (key == "train_size")
    across = [
        mark for mark in marks if mark.kind == "axis-label" and mark.attributes["text-anchor"] == "middle"
    ]
    steps = np.diff([mark.x for mark in across])
    assert np.allclose(steps, steps[0])
    assert [mark.text for mark in across] == (
        ["100", "200", "400", "800"] if key == "train_size" else ["1", "2", "3", "4"]
    )


def test_configurations_have_panels_of_their_own_and_sizes_all_their_digits():
    errors = {"wide": 2.0, "deep": 3.0}
    parts = [
        pl.DataFrame({"y": [0.0, 0.0], "p": [error + size / 1000] * 2, "fold": [1, 2]}).with_columns(
            size=size, setting=pl.lit(setting)
        )
        for setting, error in errors.items()
        for size in (100, 125, 200)
    ]
    section = {"train_size": "size", "configuration": "setting"}
    asked = {"task": "regression", "label": "y", "models": "p", "metrics": ["mae"], "fold": "fold"}
    marks = marks_of(plm.evaluate(pl.concat(parts), **asked, cross_validation=section).plot.learning())
    words = [mark.text for mark in marks if mark.text]
    assert {"p, wide", "p, deep"} <= set(words)
    sizes = [mark.text for mark in marks if mark.kind == "axis-label" and mark.text in {"100", "125", "200"}]
    assert sizes == ["100", "125", "200"] * 2


def test_words_of_lines_that_end_at_one_place_stand_below_each_other():
    columns = {"y": [1.0, 2.0], "p": [1.5, 1.5], "fold": [1, 1]}
    rows = pl.concat(
        [
            pl.DataFrame(columns | {"size": [size] * 2, "split": [split] * 2})
            for size in (10, 20)
            for split in ("train", "test")
        ]
    )
    result = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models="p",
        metrics=["mae"],
        fold="fold",
        cross_validation={"split": "split", "train_size": "size"},
    )
    marks = marks_of(result.plot.learning())
    train, test = (next(mark.y for mark in marks if mark.text == split) for split in ("train", "test"))
    assert abs(train - test) >= 11


def test_without_sizes_there_is_no_learning_curve():
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4], "fold": [0, 0, 1, 1]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall"], fold="fold")
    with pytest.raises(plm.ConfigError, match="no learning curve"):
        result.plot.learning()


@pytest.mark.parametrize("key", ["train_size", "parameter"])
def test_intervals_are_those_of_the_corrected_resampled_t(key):
    random = np.random.default_rng(6)
    sizes, trained = [40, 50, 70], [30, 70, 120]
    parts = [
        pl.DataFrame(
            {"y": random.random(n) < 0.5, "p": random.random(n), key: place, "fold": fold, "part": part}
        )
        for place in (100.0, 300.0)
        for part, rows in (("test", sizes), ("train", trained))
        for fold, n in enumerate(rows)
    ]
    asked = {"metrics": ["accuracy", "tp"], "fold": "fold", "uncertainty": {"replicates": 20, "level": 0.9}}
    result = plm.evaluate(
        pl.concat(parts), label="y", models="p", cross_validation={key: key, "split": "part"}, **asked
    )
    curve = result.cross_validation.filter(pl.col("kind").is_in(["learning_curve", "validation_curve"]))
    without = curve.filter((pl.col("split") == "train") | (pl.col("metric") == "tp"))
    assert set(without["interval_status"]) == {"not_requested"}
    assert without["lower"].null_count() == without.height == 6
    for row in curve.filter(split="test", metric="accuracy").rows(named=True):
        values = (
            result.folds.filter(split="test", metric="accuracy", x=row["x"]).sort("fold")["value"].to_numpy()
        )
        train = row["x"] if key == "train_size" else np.array(trained)
        ratio = np.mean(np.array(sizes) / train)
        error = np.sqrt((1 / 3 + ratio) * values.var(ddof=1))
        reach = t.ppf(0.95, 2) * error
        assert (row["lower"], row["upper"]) == pytest.approx((values.mean() - reach, values.mean() + reach))
        assert row["std_error"] == pytest.approx(error)
        assert (row["method"], row["interval_status"]) == ("corrected_resampled_t", "ok")
    chart = result.plot.learning if key == "train_size" else result.plot.validation
    figure = chart(metric="accuracy")
    assert "bars: 90% intervals" in texts_of(marks_of(figure), "title-subtitle")[0]


def test_intervals_stay_in_the_range_of_the_metric():
    shares = [1.0, 0.9, 0.6]
    rows = [
        {"y": 1, "p": float(k < 10 * share), "fold": fold}
        for fold, share in enumerate(shares)
        for k in range(10)
    ]
    frame = pl.DataFrame(rows).with_columns(depth=1)
    asked = {"label": "y", "models": "p", "fold": "fold", "cross_validation": {"parameter": "depth"}}
    result = plm.evaluate(frame, metrics=["accuracy"], uncertainty={"replicates": 20}, **asked)
    (row,) = result.cross_validation.filter(kind="validation_curve").rows(named=True)
    reach = t.ppf(0.975, 2) * np.std(shares, ddof=1) * np.sqrt(1 / 3 + 1 / 2)
    assert np.mean(shares) + reach > 1
    assert (row["lower"], row["upper"]) == pytest.approx((np.mean(shares) - reach, 1.0))
