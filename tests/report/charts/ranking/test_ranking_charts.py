"""Charts of how scores order rows: places read back from the SVG are those of the tables and of scikit-learn."""

import re

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, lines_of, marks_of, texts_of
from sklearn.metrics import average_precision_score, f1_score, roc_curve

import plmetrics as plm
from plmetrics.core.names import number_text

CURVES = ["roc", "pr", "gain", "lift", "cost"]
MODELS = {"champion <b>": "p", "challenger a.b": "q"}
BLUE, ORANGE = "#0072b2", "#d55e00"


def table(rows=160):
    random = np.random.default_rng(3)
    signal = random.normal(size=rows)
    label = (random.random(rows) < 1 / (1 + np.exp(-2 * signal))).astype(int)
    return pl.DataFrame(
        {
            "y": label,
            "p": np.round(1 / (1 + np.exp(-signal - random.normal(size=rows) * 0.7)), 2),
            "q": 1 / (1 + np.exp(-signal - random.normal(size=rows) * 2)),
            "g": random.choice(["a", "b"], rows),
        }
    )


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def result(frame):
    metrics = ["roc_auc", "average_precision", "ks", "recall", "precision(threshold=0.3)"]
    return plm.evaluate(
        frame,
        label="y",
        models=MODELS,
        metrics=metrics,
        curves=[{"curve": curve, "slices": ["g"]} for curve in CURVES],
        slices={"g": "g"},
        uncertainty={"replicates": 40},
    )


def path(mark):
    steps = mark.attributes["d"].strip("MZ").split("L")
    return np.array([[float(number) for number in step.split(",")] for step in steps])


def values_of(marks, mark):
    """The places of a line, on the scale of the axes."""
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    places = path(mark) + np.array([mark.x, mark.y])
    return np.column_stack([x + per_x * places[:, 0], y + per_y * places[:, 1]])


def half_pixel(marks):
    return 0.6 * max(abs(axis_scale(marks)[1]), abs(axis_scale(marks, vertical=True)[1]))


@pytest.mark.parametrize("chart", ["roc", "gain", "lift", "cost"])
def test_lines_go_through_the_points_of_the_table(result, chart):
    figure = getattr(result.plot, chart)()
    marks = marks_of(figure)
    for color, model in zip((BLUE, ORANGE), MODELS, strict=True):
        points = result.curves.filter(curve=chart, model=model, slice="all").select("x", "y").to_numpy()
        (line,) = lines_of(marks, color)
        assert np.abs(values_of(marks, line) - points).max() < half_pixel(marks)
    assert figure.frame.equals(result.curves.filter(curve=chart, slice="all"))


def test_the_roc_curve_is_that_of_scikit_learn(result, frame):
    marks = marks_of(result.plot.roc(models=["champion <b>"]))
    x, y, _ = roc_curve(frame["y"], frame["p"], drop_intermediate=False)
    read = values_of(marks, lines_of(marks, BLUE)[0])
    assert np.abs(read - np.column_stack([x, y])).max() < half_pixel(marks)


@pytest.mark.parametrize(
    ("model", "column", "color"), [("champion <b>", "p", BLUE), ("challenger a.b", "q", ORANGE)]
)
def test_steps_of_precision_enclose_the_average_precision(result, frame, model, column, color):
    marks = marks_of(result.plot.pr())
    (line,) = lines_of(marks, color)
    read = values_of(marks, line)
    area = float(np.sum(np.diff(read[:, 0]) * read[1:, 1]))
    assert area == pytest.approx(average_precision_score(frame["y"], frame[column]), abs=0.002)
    assert result.metrics.filter(model=model, metric="average_precision", slice="all").height == 1


def test_the_prevalence_is_a_line_with_its_number(result, frame):
    marks = marks_of(result.plot.pr())
    assert f"prevalence {number_text(round(float(frame['y'].mean()), 3))}" in texts_of(marks)
    parts = texts_of(marks_of(result.plot.pr(models=["champion <b>"], slice_set="g")))
    for _, part in frame.group_by("g"):
        assert number_text(float(f"{part['y'].mean():.3g}")) in parts


def test_bands_are_those_of_the_table(result):
    marks = marks_of(result.plot.roc(models=["challenger a.b"]))
    (band,) = [mark for mark in marks if mark.kind == "area"]
    read = values_of(marks, band)
    rows = result.curves.filter(curve="roc", model="challenger a.b", slice="all").drop_nulls("lower")
    assert rows.height > 10
    for column in ("lower", "upper"):
        wanted = rows.select("x", column).to_numpy()
        nearest = np.abs(wanted[:, None] - read[None]).max(axis=2).min(axis=1)
        assert nearest.max() < half_pixel(marks), column
    assert "pointwise" in "".join(texts_of(marks, "title-subtitle"))


@pytest.mark.parametrize("chart", ["roc", "pr", "gain", "lift"])
def test_thresholds_of_metrics_are_points(result, frame, chart):
    figure = getattr(result.plot, chart)(models=["challenger a.b"])
    marks = marks_of(figure)
    called = {value: frame.filter(pl.col("q") >= value) for value in (0.3, 0.5)}
    positives, negatives = frame["y"].sum(), (1 - frame["y"]).sum()
    expected = []
    for part in called.values():
        recall, share = part["y"].sum() / positives, part.height / frame.height
        precision = part["y"].mean()
        expected.append(
            {
                "roc": ((1 - part["y"]).sum() / negatives, recall),
                "pr": (recall, precision),
                "gain": (share, recall),
                "lift": (share, precision / frame["y"].mean()),
            }[chart]
        )
    (x, per_x), (y, per_y) = axis_scale(marks), axis_scale(marks, vertical=True)
    dots = [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("fill") == BLUE]
    read = np.array(sorted([x + per_x * mark.x, y + per_y * mark.y] for mark in dots))
    assert np.abs(read - np.array(sorted(expected))).max() < half_pixel(marks)
    assert {"0.3", "0.5"} <= set(texts_of(marks))


def test_the_largest_gap_is_the_statistic(result):
    marks = marks_of(result.plot.ks(models=["challenger a.b"]))
    value = result.metrics.filter(metric="ks", model="challenger a.b", slice="all")["value"][0]
    y, per_y = axis_scale(marks, vertical=True)
    (rule,) = [mark for mark in marks if mark.kind == "rule" and mark.attributes["stroke"] == "#1f2933"]
    assert abs(rule.y2 - rule.y) * abs(per_y) == pytest.approx(value, abs=0.004)
    assert any(text.startswith(f"{value:.3g} at ") for text in texts_of(marks))
    assert y > 0


def test_shares_by_threshold_are_those_of_the_rows(result, frame):
    marks = marks_of(result.plot.thresholds(models=["challenger a.b"]))
    at = np.sort(frame["q"].to_numpy())
    called = [frame.filter(pl.col("q") >= value) for value in at]
    precision = np.array([part["y"].mean() for part in called])
    recall = np.array([part["y"].sum() / frame["y"].sum() for part in called])
    wanted = {
        BLUE: precision,
        ORANGE: recall,
        "#009e73": 2 * precision * recall / np.maximum(precision + recall, 1e-12),
        "#cc79a7": np.array([part.height / frame.height for part in called]),
    }
    for color, shares in wanted.items():
        (line,) = lines_of(marks, color)
        read = values_of(marks, line)
        corners = np.column_stack([at, shares])
        distance = np.abs(corners[:, None] - read[None]).max(axis=2).min(axis=1)
        # Where no positive is called, precision does not tell how many rows are.
        ok = precision > 0 if color == "#cc79a7" else np.full(len(at), True)
        assert distance[ok].max() < half_pixel(marks), color
    assert texts_of(marks, "legend-label") == ["precision", "recall", "F1", "share called"]


def test_the_lowest_cost_is_marked(result):
    figure = result.plot.cost(models=["champion <b>"])
    rows = result.curves.filter(curve="cost", model="champion <b>", slice="all")
    low = rows.filter(pl.col("y") == rows["y"].min()).row(0, named=True)
    texts = texts_of(marks_of(figure))
    cost, threshold = (number_text(float(f"{low[name]:.3g}")) for name in ("y", "x"))
    assert f"{cost} at {threshold}" in texts


def test_areas_stand_beside_the_names(result):
    figure = result.plot.roc()
    labels = texts_of(marks_of(figure), "legend-label")
    for label, (model, row) in zip(
        labels,
        [
            (m, result.metrics.filter(metric="roc_auc", model=m, slice="all").row(0, named=True))
            for m in MODELS
        ],
        strict=True,
    ):
        assert label.startswith(model)
        numbers = [float(part.strip("[],")) for part in label.removeprefix(model).split()]
        assert numbers == pytest.approx([row["value"], row["lower"], row["upper"]], abs=0.006)


def test_lines_of_one_f1_are_drawn_when_asked_for(result):
    assert "F1 0.4" not in texts_of(marks_of(result.plot.pr()))
    assert {"F1 0.2", "F1 0.8"} <= set(texts_of(marks_of(result.plot.pr(iso_f1=True))))


def test_models_and_slices_have_panels(result):
    marks = marks_of(result.plot.roc(slice_set="g"))
    assert [text for text in texts_of(marks, "title-text") if text.startswith("g=")] == ["g=a", "g=b"]
    assert len(lines_of(marks, BLUE)) == len(lines_of(marks, ORANGE)) == 2


def test_more_than_five_models_have_panels_and_more_than_twelve_are_counted():
    frame = table(60)
    models = {f"m{number}": "p" if number % 2 else "q" for number in range(14)}
    result = plm.evaluate(frame, label="y", models=models, metrics=["roc_auc"], curves=["roc"])
    figure = result.plot.roc()
    marks = marks_of(figure)
    assert len(lines_of(marks, BLUE)) == 12
    assert (
        len([mark for mark in marks if mark.kind == "line" and mark.attributes.get("stroke") == "#9aa5b1"])
        == 144
    )
    assert figure.notes == ("12 of 14 shown, 2 more are in the table",)
    assert "12 of 14 shown" in " ".join(texts_of(marks, "title-subtitle"))


def test_a_lone_threshold_is_shown_as_a_point():
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.3] * 4})
    result = plm.evaluate(frame, label="y", models="p", metrics=["recall"], curves=["pr", "lift"])
    for chart, points in (("thresholds", 4), ("lift", 1)):
        marks = marks_of(getattr(result.plot, chart)())
        assert len([mark for mark in marks if mark.kind == "symbol"]) == points, chart


@pytest.mark.slow
def test_descriptions_tell_what_there_is_to_see(result, frame):
    label = frame["y"].to_numpy()
    for name, column in (("challenger a.b", "q"),):
        score = frame[column].to_numpy()
        order = np.argsort(-score, kind="stable")
        hits = np.cumsum(label[order])
        tenth = hits[len(hits) // 10 - 1] / hits[-1]
        assert f"recall {tenth:.3g}" in result.plot.gain(models=[name]).description
        assert f"lift {10 * tenth:.3g}" in result.plot.lift(models=[name]).description
        best = max((f1_score(label, score >= limit), limit) for limit in score)
        told = result.plot.thresholds(models=[name]).description
        assert f"F1 is highest, {best[0]:.3g}, at {best[1]:.3g}" in told
        gap = roc_curve(label, score)
        place = np.argmax(gap[1] - gap[0])
        told = result.plot.ks(models=[name]).description
        assert f"largest gap {gap[1][place] - gap[0][place]:.3g} at {gap[2][place]:.3g}" in told


def test_few_calls_are_grey(result, frame):
    label, score = frame["y"].to_numpy(), frame["q"].to_numpy()
    hits = np.cumsum(label[np.argsort(-score, kind="stable")])
    figure = result.plot.pr(models=["challenger a.b"])
    marks = marks_of(figure)
    x, per_x = axis_scale(marks)
    (grey,) = (mark for mark in marks if mark.kind == "rect" and mark.attributes["fill"] == "#9aa5b1")
    width = re.search(r"h([\d.]+)", grey.attributes["d"])
    assert float(width[1]) * per_x == pytest.approx(hits[4] / hits[-1], abs=0.6 * per_x)
    assert x + per_x * grey.x == pytest.approx(0, abs=2 * per_x)
    assert "grey: fewer than 5 calls" in texts_of(marks, "title-subtitle")[0]


def test_classes_without_a_value_each_are_named_without_a_metric():
    rng = np.random.default_rng(4)
    scores = rng.dirichlet([1, 1, 1], 120)
    rows = {"y": rng.choice(list("abc"), 120)} | {
        f"p{label}": scores[:, place] for place, label in enumerate("abc")
    }
    models = {"m": {"proba": {label: f"p{label}" for label in "abc"}}}
    result = plm.evaluate(
        rows, task="multiclass", label="y", models=models, metrics=["roc_auc"], curves=["roc"]
    )
    assert result.plot.roc().description == "ROC curve: m. Series: a; b; c."


@pytest.mark.parametrize("chart", ["ks", "thresholds"])
def test_models_on_different_scales_have_axes_of_their_own(chart):
    rows = table().with_columns(grade=1 + (pl.col("p") * 4).round())
    made = plm.evaluate(rows, label="y", models=["p", "grade"], metrics=["ks"], curves=["roc", "pr"])
    marks = marks_of(getattr(made.plot, chart)())
    (_, probability), (_, grade) = (axis_scale(marks, number=number) for number in (0, 1))
    assert grade / probability == pytest.approx(4, rel=0.2)
