"""The heat map: numbers are values, and shades what the comparisons say."""

import polars as pl
import pytest
from references.svg_marks import marks_of, texts_of

from plmetrics.report.charts.theme import LIGHT


@pytest.fixture(scope="module")
def heatmap(binary):
    return binary.plot.heatmap(slice_set="region")


def filled(figure):
    """The fill of each cell by its row and column, from the places of the rectangles."""
    cells = [mark for mark in marks_of(figure) if mark.kind == "rect" and mark.attributes.get("stroke")]
    return [mark.attributes["fill"] for mark in cells]


def test_a_cell_a_slice_and_metric_and_one_of_all_rows(binary, heatmap):
    rows = binary.metrics.filter(
        pl.col("model") == "champion",
        pl.col("metric") != "tp",
        pl.col("slice_set").is_in(["overall", "region"]),
    )
    assert heatmap.frame.height == rows.height == 33
    assert len(filled(heatmap)) == 33
    assert (
        heatmap.frame.select("slice", "metric", "value")
        .sort("slice", "metric")
        .equals(rows.select("slice", "metric", "value").sort("slice", "metric"))
    )


def test_shades_are_those_of_the_comparisons(binary, heatmap):
    tests = binary.comparisons.filter(contrast="rest", model="champion")
    surely = tests.filter((pl.col("lower") > 0) | (pl.col("upper") < 0), pl.col("metric") != "tp")
    pale = LIGHT["neutral"]
    assert sum(fill != pale for fill in filled(heatmap)) == surely.height
    worse = {LIGHT[f"worse-{number}"] for number in (1, 2, 3)}
    sign = pl.when(pl.col("metric") == "log_loss").then(-1).otherwise(1)
    assert (
        sum(fill in worse for fill in filled(heatmap))
        == surely.filter(pl.col("difference") * sign < 0).height
    )


def test_undefined_is_a_dot_with_its_reason_above(heatmap):
    assert "\N{MIDDLE DOT}" in texts_of(marks_of(heatmap))
    assert "dot: undefined (no negatives)" in str(heatmap.specification()["title"])


def test_numbers_have_contrast_on_every_shade():
    def luminance(color):
        parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    from plmetrics.report.charts.theme import DARK

    for theme in (LIGHT, DARK):
        for shade in ("worse-3", "worse-2", "worse-1", "neutral", "better-1", "better-2", "better-3"):
            ink = theme["ink"]
            low, high = sorted((luminance(theme[shade]), luminance(ink)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (shade, ink)
