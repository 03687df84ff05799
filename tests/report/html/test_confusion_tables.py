import numpy as np
import polars as pl
import pytest
from report.html.test_page import Page
from sklearn.metrics import confusion_matrix

import plmetrics as plm
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise


def test_classes_are_counted_as_scikit_learn_does() -> None:
    draw = np.random.default_rng(3)
    truth = draw.choice(["a", "b", "c"], 300)
    called = np.where(draw.random(300) < 0.7, truth, draw.choice(["a", "b", "c"], 300))
    frame = pl.DataFrame({"y": truth, "m": called})
    result = plm.evaluate(
        frame,
        task="multiclass",
        label="y",
        models={"m": {"prediction": "m"}},
        metrics=["accuracy"],
        curves=["confusion"],
    )
    head, *rows = Page(html_text(summarise(result))).tables["Confusion of m"]
    assert [name for name, _ in head] == ["", "called a", "called b", "called c", "rows"]
    assert [row[0][0] for row in rows] == ["true a", "true b", "true c"]
    expected = confusion_matrix(truth, called)
    assert [[float(cell[1]["data-value"]) for cell in row[1:-1]] for row in rows] == expected.tolist()
    shares = [[float(cell[0].split()[1].rstrip("%")) / 100 for cell in row[1:-1]] for row in rows]
    assert shares == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=0.0006)


def test_four_metrics_are_a_matrix_of_two_classes() -> None:
    frame = pl.DataFrame({"y": [1, 1, 1, 0, 0], "p": [0.9, 0.8, 0.1, 0.7, 0.2]})
    result = plm.evaluate(frame, label="y", models="p", metrics=["tp", "fp", "fn", "tn"])
    _, negative, positive = Page(html_text(summarise(result))).tables["Confusion of p"]
    assert [cell[0] for cell in negative] == ["true negative", "1 50.0%", "1 50.0%", "2"]
    assert [cell[0] for cell in positive] == ["true positive", "1 33.3%", "2 66.7%", "3"]
    assert [cell[1].get("class") for cell in positive] == [None, "number worse-3", "number", "number"]
