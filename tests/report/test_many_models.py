"""Reports of many models: short, the best first, with the numbers of the tables."""

import re

import numpy as np
import polars as pl
import pytest
from rich.cells import cell_len

import plmetrics as plm
from plmetrics.report.html.blocks import Table
from plmetrics.report.html.sections.models import models
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

MODELS = [f"m{number:02}" for number in range(50)]


@pytest.fixture(scope="module")
def result() -> plm.Result:
    noise = np.random.default_rng(1).normal(size=(51, 600))
    scores = {name: noise[0] + (2 + number / 10) * noise[number + 1] for number, name in enumerate(MODELS)}
    frame = pl.DataFrame(
        {"y": noise[0] > 0} | {name: 1 / (1 + np.exp(-part)) for name, part in scores.items()}
    )
    return plm.evaluate(
        frame,
        label="y",
        models=MODELS,
        metrics=["selection_rate", "log_loss", "roc_auc", "brier", "recall", "precision", "f1", "accuracy"],
        uncertainty={"replicates": 30},
        compare="m20",
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_a_board_in_place_of_columns(result: plm.Result, width: int) -> None:
    text = render(summarise(result), width)
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len(lines) < (60 if width >= 80 else 200)
    assert "Models by log_loss" in text
    assert "Overall" not in text
    values = dict(result.metrics.filter(metric="log_loss").select("model", "value").rows())
    best = sorted(MODELS, key=values.__getitem__)[:20]
    assert re.findall(r"^  (?:\s*)(m\d\d)\b", text, re.MULTILINE)[:20] == best
    assert (
        f"and 30 models more in metrics.parquet, {max(MODELS, key=values.__getitem__)} the last"
        in " ".join(text.split())
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [70, 100, 130, 200])
def test_metrics_without_room_are_counted(result: plm.Result, width: int) -> None:
    text = render(summarise(result), width)
    header, more = re.findall(r"^  .*log_loss  .*|^  \d metrics? more.*", text, re.MULTILINE)[:2]
    metrics = {"selection_rate", "log_loss", "roc_auc", "brier", "recall", "precision", "f1", "accuracy"}
    assert int(more.split()[0]) == 8 - len(metrics.intersection(header.split()))


def test_differences_are_counted(result: plm.Result) -> None:
    text = render(summarise(result), 160)
    assert "Differences of models (49 comparisons" in text
    (line,) = re.findall(r"^  log_loss  .*", text[text.index("Differences of models") :], re.MULTILINE)
    counts = dict(result.comparisons.filter(metric="log_loss")["reading"].value_counts().rows())
    assert sorted(map(int, re.findall(r"\d+", line))) == sorted(counts.values())
    row = result.comparisons.row(
        by_predicate=(pl.col("metric") == "log_loss") & (pl.col("model") == "m00"), named=True
    )
    (shown,) = re.findall(r"^  m00 .*", text, re.MULTILINE)
    assert row["reading"] in shown
    number = re.search(r"[-+]0\.\d+", shown)
    assert number is not None
    assert float(number[0]) == pytest.approx(row["difference"], abs=0.006)


def test_eight_models_are_columns_still(result: plm.Result) -> None:
    frame = pl.DataFrame({"y": [0, 1] * 20} | {name: [0.2, 0.9] * 20 for name in MODELS[:9]})
    of_eight, of_nine = (
        render(summarise(plm.evaluate(frame, label="y", models=MODELS[:number], metrics=["brier"])), 120)
        for number in (8, 9)
    )
    assert "Overall" in of_eight
    assert "Models by brier" in of_nine


def test_models_of_a_metric_across_slices_alone_have_one_board_in_all_forms() -> None:
    draw = np.random.default_rng(4)
    scores = {name: draw.random(300) for name in MODELS[:9]}
    frame = {"y": draw.integers(0, 2, 300), "g": draw.choice(list("uv"), 300), **scores}
    gap = "disparity(selection_rate, by=g)"
    result = plm.evaluate(frame, label="y", models=MODELS[:9], metrics=[gap], slices={"g": "g"})
    shares = {
        name: [np.mean(part[np.array(frame["g"]) == group] >= 0.5) for group in "uv"]
        for name, part in scores.items()
    }
    gaps = {name: abs(low - high) for name, (low, high) in shares.items()}
    ordered = sorted(gaps, key=gaps.__getitem__)
    text = render(summarise(result), 120)
    lines = text[text.index(f"Models by {gap} over g") :].splitlines()
    assert lines[1].split("  ") == ["", "model", "rank", f"{gap} over g"]
    rows = [line.split() for line in lines[2:11]]
    assert [(model, int(rank)) for model, rank, _ in rows] == list(zip(ordered, range(1, 10), strict=True))
    assert [float(value) for *_, value in rows] == pytest.approx([gaps[name] for name in ordered], rel=1e-3)
    assert lines[11] == ""
    board = [line.split(" | ") for line in result.to_markdown().splitlines() if line.startswith("| ")][2:]
    assert [model for _, model, _ in board] == ordered
    (table,) = models(summarise(result)).blocks
    assert isinstance(table, Table)
    assert [cells[0].text for cells in table.rows] == ordered
    assert table.notes == [f"9 models, the best by {gap} over g first"]
