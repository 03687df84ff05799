"""Text, Markdown and notebook against the result tables: counts of slices, distances, scales and limits."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.report.digest import digest
from plmetrics.report.leaderboard import clear_bests
from plmetrics.report.sections.differences import leading_scale, reading_counts
from plmetrics.report.sections.gates import observed_text, outcome_counts
from plmetrics.report.sections.verdict import sizes
from plmetrics.report.sections.worst import distance_to_overall
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render


def table(rows: int = 400) -> dict[str, object]:
    draw = np.random.default_rng(9)
    truth = draw.random(rows) < 0.5
    scores = {
        name: 1 / (1 + np.exp(-np.where(truth, 0.8, -0.8) - spread * draw.normal(size=rows)))
        for name, spread in (("a", 0.6), ("b", 2.5))
    }
    return {"y": truth, **scores, "g": draw.choice(list("uvw"), rows)}


@pytest.fixture(scope="module")
def relative() -> plm.Result:
    return plm.evaluate(
        table(),
        label="y",
        models=["a", "b"],
        metrics=["roc_auc", "recall", "disparity(recall, by=g)"],
        slices={"g": "g"},
        compare={"baseline": "a", "scales": ["relative_change", "ratio"]},
        uncertainty={"replicates": 60},
    )


def test_values_across_slices_are_no_slices(relative: plm.Result) -> None:
    assert relative.metrics.filter(slice_set="g", slice="all").height == 2
    assert "3 slices" in sizes(summarise(relative))


def test_comparisons_on_other_scales_than_the_difference_are_shown(relative: plm.Result) -> None:
    summary = summarise(relative)
    grid = next(grid for grid in digest(summary) if grid.title == "Differences")
    assert list(grid.columns) == ["model", "against", "metric", "relative change", "p", "reading"]
    shown = {row[2]: float(row[3].split(" ")[0]) for row in grid.rows}
    for row in relative.comparisons.filter(scale="relative_change", slice="all").rows(named=True):
        label = row["metric"] + (" over g" if row["slice_set"] == "g" else "")
        assert shown.pop(label) == pytest.approx(row["difference"], rel=0.2, abs=0.005)
    assert not shown
    assert "relative change" in relative.to_markdown()
    assert ("roc_auc", "a") in clear_bests(summary)
    both = pl.concat([relative.comparisons, relative.comparisons.with_columns(scale=pl.lit("difference"))])
    assert leading_scale(both)["scale"].unique().to_list() == ["difference"]
    assert leading_scale(both.clear()).is_empty()


def test_models_are_compared_by_metrics_across_slices(relative: plm.Result) -> None:
    text = render(summarise(relative), 120)
    block = text.split("b against a (relative change")[1].split("\n\n")[0]
    assert "disparity(recall, by=g) over g" in block
    tested = relative.comparisons.filter(
        pl.col("slice") != "all", pl.col("p_value").is_not_null(), scale="relative_change"
    )
    counts = block.split("in slices: ")[1].split("\n")[0]
    assert sum(int(part.split(" ")[0]) for part in counts.split(", ")) == tested.height


@pytest.mark.parametrize(
    ("value", "lower", "upper", "text"),
    [
        (0.9, None, None, "-0.04120"),
        (0.87654321, None, None, "-0.0647"),
        (0.94119, None, None, "-1.000e-05"),
        (0.85, 0.80, 0.90, "-0.09"),
        (7.0, None, None, "+6.059"),
        (1.0, 1.0, 1.0, "+0.05880"),
    ],
)
def test_a_distance_has_digits_of_its_own_without_an_interval(
    value: float, lower: float | None, upper: float | None, text: str
) -> None:
    row = {"value": value, "whole": 0.9412, "lower": lower, "upper": upper, "status": "ok", "errors": None}
    assert distance_to_overall({**row, "interval_status": "not_requested"})[0] == text


def test_the_overall_value_beside_a_slice_has_no_interval_of_the_slice() -> None:
    frame = {"y": [1, 0] * 30 + [1, 0], "p": [0.9, 0.2] * 30 + [0.1, 0.8], "g": ["big"] * 60 + ["small"] * 2}
    result = plm.evaluate(
        frame, label="y", models="p", metrics=["log_loss"], slices=["g"], uncertainty={"replicates": 20}
    )
    grid = next(grid for grid in digest(summarise(result)) if grid.title.startswith("Worst"))
    whole = result.metrics.filter(slice="all")["value"].item()
    row = next(row for row in grid.rows if row[0] == "g=small")
    assert row[2].endswith("[-]")
    assert float(row[3]) == pytest.approx(whole, abs=0.0001)


def test_the_range_of_several_checks_is_not_rounded_to_a_limit() -> None:
    row = {"scale": None, "at_least": None, "band_lower": None, "at_most": 0.05, "band_upper": None}
    shown = observed_text({**row, "status": "ok", "together": [0.0123456, 0.04999999]})
    assert str(shown) == "0.01235 to 0.04999999"
    moved = observed_text({**row, "scale": "difference", "status": "ok", "together": [-0.01, 0.02]})
    assert str(moved) == "-0.01 to +0.02"


def test_counts_have_their_thousands_apart() -> None:
    gates = pl.DataFrame({"level": ["fail"] * 1234, "verdict": ["pass"] * 1234})
    assert outcome_counts(gates) == ["1,234 pass"]
    assert reading_counts(pl.DataFrame({"reading": ["unclear"] * 2048})) == "2,048 unclear"
    one = summarise(plm.evaluate({"y": [1], "p": [0.3]}, label="y", models="p", metrics=["brier"]))
    assert sizes(one)[0] == "1 row read"
