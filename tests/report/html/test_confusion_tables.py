import numpy as np
import polars as pl
import pytest
from report.html.test_page import Page
from sklearn.metrics import confusion_matrix

import plmetrics as plm
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render


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


@pytest.mark.parametrize("weights", [[3.0, 1.0, 1.0, 5.0], [0.5, 1.5, 1.25, 0.75]])
def test_weights_are_not_called_rows(weights: list[float]) -> None:
    frame = {"y": [1, 1, 0, 0], "p": [0.9, 0.1, 0.9, 0.1], "w": weights}
    asked = {"label": "y", "models": "p", "weight": "w"}
    shares = [
        f"{weights[3] / (weights[2] + weights[3]):.1%}",
        f"{weights[0] / (weights[0] + weights[1]):.1%}",
    ]

    rows = plm.evaluate(frame, metrics=["recall"], curves=["confusion"], **asked)
    page = Page(html_text(summarise(rows)))
    cells = page.tables["Confusion of p"]
    assert cells[0][-1][0] == "rows"
    assert [row[-1][0] for row in cells[1:]] == ["2", "2"]
    assert [cells[1][1][0], cells[2][2][0]] == [f"1 {share}" for share in shares]
    assert any("rows with their share of the true class by weight;" in text for text in page.texts)
    assert "rows, share of the true class by weight" in render(summarise(rows), 100)

    sums = plm.evaluate(frame, metrics=["tp", "fp", "fn", "tn"], **asked)
    page = Page(html_text(summarise(sums)))
    cells = page.tables["Confusion of p"]
    assert cells[0][-1][0] == "weights"
    assert any("weights with their share of the true class by weight;" in text for text in page.texts)


def test_rows_without_weights_are_called_rows() -> None:
    frame = {"y": [1, 1, 0, 0], "p": [0.9, 0.1, 0.9, 0.1]}
    plain = plm.evaluate(frame, label="y", models="p", metrics=["tp", "fp", "fn", "tn"])
    page = Page(html_text(summarise(plain)))
    assert page.tables["Confusion of p"][0][-1][0] == "rows"
    assert any("rows with their share of the true class;" in text for text in page.texts)
