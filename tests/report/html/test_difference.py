import polars as pl
import pytest
from report.html.hostile import table
from report.html.test_page import Page

import plmetrics as plm
from plmetrics.report.html.difference import diff_html


def evaluated(frame: pl.DataFrame) -> plm.Result:
    gate = {"metric": "roc_auc", "at_least": 0.9}
    metrics = ["roc_auc", "recall"]
    return plm.evaluate(
        frame,
        label="y",
        models="good",
        metrics=metrics,
        slices=["region"],
        uncertainty={"replicates": 100},
        gates=[gate],
    )


@pytest.fixture(scope="module")
def changes():
    frame = table(1000)
    worse = frame.with_columns(good=(pl.col("good") + 1 - pl.col("y") * 0.9) / 2)
    return plm.diff(evaluated(frame), evaluated(worse))


def test_values_stand_before_and_after_with_their_difference(changes) -> None:
    page = Page(diff_html(changes))
    moved = changes.metrics.filter(change="beyond_interval")
    (caption,) = (caption for caption in page.tables if "beyond the interval" in caption)
    rows = page.tables[caption][1:]
    assert len(rows) == moved.height > 0
    for row, expected in zip(rows, moved.iter_rows(named=True), strict=True):
        numbers = [float(cell[1]["data-value"] or "") for cell in row[3:]]
        assert numbers == [expected["before"], expected["after"], expected["difference"]]


def test_a_caption_counts_what_it_says() -> None:
    frame = table(500)
    near = frame.with_columns(good=pl.when(pl.int_range(pl.len()) % 50 == 0).then(0.5).otherwise("good"))
    changes = plm.diff(evaluated(frame), evaluated(near))
    page = Page(diff_html(changes))
    number = changes.metrics.filter(change="within_interval").height
    assert number > 5
    rows = page.tables[f"{number} values moved within the interval of the difference"]
    assert len(rows) == number + 1


def test_gates_that_changed_and_the_verdicts_are_named(changes) -> None:
    text = diff_html(changes)
    page = Page(text)
    expected = changes.gates.filter("changed").select("before", "after").rows()
    cells = page.tables["Gate checks that changed"]
    columns = [name for name, _ in cells[0]]
    shown = [tuple(row[columns.index(side)][0] for side in ("before", "after")) for row in cells[1:]]
    assert shown == expected == [("pass", "fail")]
    assert f"verdict: {changes.verdicts[0]} → {changes.verdicts[1]}" in text
    assert "CHANGED" in text


def test_a_run_against_itself_is_unchanged() -> None:
    result = evaluated(table(500))
    text = diff_html(plm.diff(result, result))
    assert "UNCHANGED" in text
    assert "0 of 16 values" in text
