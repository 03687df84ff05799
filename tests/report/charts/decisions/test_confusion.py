"""Confusion matrices: numbers in the cells are those of scikit-learn, words say which axis is which."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import marks_of, texts_of
from sklearn.metrics import confusion_matrix

import plmetrics as plm


def classes(number, rows=600):
    random = np.random.default_rng(number)
    truth = random.integers(0, number, rows)
    called = np.where(random.random(rows) < 0.6, truth, random.integers(0, number, rows))
    names = np.array([f"<{chr(97 + place)}> & co" for place in range(number)])
    frame = pl.DataFrame({"y": names[truth], "called": names[called]})
    result = plm.evaluate(
        frame,
        task="multiclass",
        label="y",
        models={"m": {"prediction": "called"}},
        metrics=["accuracy"],
        curves=["confusion"],
    )
    return frame, result, names


def cells(marks):
    """Shares and rows of the cells by place, in reading order."""
    texts = [mark for mark in marks if mark.kind == "text"]
    shares = [mark for mark in texts if mark.text.endswith("%")]
    counts = [mark for mark in texts if mark.text.replace(",", "").isdigit()]
    order = lambda mark: (round(mark.y), round(mark.x))  # noqa: E731
    return [[mark.text for mark in sorted(part, key=order)] for part in (shares, counts)]


def test_cells_are_those_of_the_table():
    frame, result, names = classes(4)
    shares, counts = cells(marks_of(result.plot.confusion()))
    expected = confusion_matrix(frame["y"], frame["called"], labels=names)
    assert [int(text) for text in counts] == expected.ravel().tolist()
    rates = expected / expected.sum(axis=1, keepdims=True)
    assert shares == [f"{rate:.0%}" for rate in rates.ravel()]


def test_axes_rows_and_classes_are_named():
    _, result, names = classes(4)
    texts = texts_of(marks_of(result.plot.confusion()))
    assert {"True class", "Called class"} <= set(texts)
    assert all(texts.count(name) == 2 for name in names)
    assert sum(text.startswith("n = ") for text in texts) == 4


def test_many_classes_are_told_by_their_largest_confusions():
    frame, result, _ = classes(14)
    figure = result.plot.confusion()
    texts = texts_of(marks_of(figure))
    wrong = frame.filter(pl.col("y") != pl.col("called")).group_by("y", "called").len()
    largest = wrong["len"].sort(descending=True).head(12).to_list()
    shown = [int(text.split(" ")[0]) for text in texts if text.endswith("%)")]
    assert shown == largest
    assert sum(" called " in text for text in texts) == 12
    assert "14 classes: the 12 largest confusions" in figure.notes[0]


def test_a_binary_task_is_counted_by_its_metrics():
    frame = pl.DataFrame({"y": [1, 1, 1, 0, 0, 0, 0, 0], "p": [0.9, 0.8, 0.1, 0.7, 0.2, 0.1, 0.3, 0.4]})
    metrics = [f"{name}(threshold=0.35)" for name in ("tp", "fp", "fn", "tn")]
    result = plm.evaluate(frame, label="y", models="p", metrics=metrics)
    figure = result.plot.confusion()
    marks = marks_of(figure)
    _, counts = cells(marks)
    assert [int(text) for text in counts] == confusion_matrix(frame["y"], frame["p"] >= 0.35).ravel().tolist()
    assert "threshold 0.35" in " ".join(texts_of(marks, "title-subtitle"))
    assert figure.description == "Confusion: p. Largest confusion: 2 rows of negative are called positive."


def test_a_class_without_rows_has_no_shares():
    frame = pl.DataFrame({"y": [1, 1, 1], "p": [0.9, 0.8, 0.1]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["tp", "fp", "fn", "tn"])
    shares, counts = cells(marks_of(result.plot.confusion()))
    assert shares == ["33%", "67%"]
    assert counts == ["0", "0", "1", "2"]


def test_weights_are_not_called_rows():
    frame = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.1, 0.7, 0.2], "w": [1.5, 2.0, 0.25, 3.0]})
    result = plm.evaluate(frame, label="y", models="p", weight="w", metrics=["tp", "fp", "fn", "tn"])
    figure = result.plot.confusion()
    assert "numbers are weights" in " ".join(texts_of(marks_of(figure), "title-subtitle"))
    assert figure.frame["share"].to_list() == pytest.approx([3 / 3.25, 0.25 / 3.25, 2 / 3.5, 1.5 / 3.5])
