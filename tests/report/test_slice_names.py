"""Names of slices for readers: short edges that stay apart, on the way to the reader alone."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.report.slice_names import SliceNames, with_slice_names
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render


@pytest.fixture(scope="module")
def result() -> plm.Result:
    draw = np.random.default_rng(5)
    frame = {
        "y": draw.integers(0, 2, 900),
        "p": draw.random(900),
        "x": draw.normal(size=900),
        "kind": draw.choice(["[0.12345678, 0.22345678)", "plain"], 900),
    }
    slices = {"x": {"column": "x", "quantiles": 4}, "kind": "kind"}
    return plm.evaluate(frame, label="y", models="p", metrics="brier", slices=slices, uncertainty=True)


def test_reports_have_short_edges_and_tables_all_digits(result: plm.Result) -> None:
    exact = result.metrics.filter(slice_set="x")["slice"].to_list()
    named = summarise(result).metrics.filter(slice_set="x")["slice"].to_list()
    assert min(map(len, exact[1:3])) > 30
    assert max(map(len, named)) <= len("x=[-0.1234, -0.1234)")
    text = render(summarise(result), 100, slices=["x"])
    assert all(name in text for name in named)
    assert not any(name in text for name in exact)
    for edge, name in zip(exact, named, strict=True):
        for part, shown in zip(edge[3:-1].split(", "), name[3:-1].split(", "), strict=True):
            assert float(shown) == pytest.approx(float(part), rel=1e-3)


def test_values_of_a_column_that_look_like_a_bin_are_as_they_are(result: plm.Result) -> None:
    kinds = summarise(result).metrics.filter(slice_set="kind")["slice"].to_list()
    assert kinds == result.metrics.filter(slice_set="kind")["slice"].to_list()
    assert 'kind="[0.12345678, 0.22345678)"' in kinds


def test_edges_stay_apart_and_in_order() -> None:
    draw = np.random.default_rng(1)
    edges = np.unique(
        np.concatenate([draw.random(40), draw.random(40) * 1e-9 + 0.5, draw.normal(size=40) * 1e9])
    )
    texts = [f"a=[{low!r}, {high!r})" for low, high in pairwise(edges.tolist())]
    (named,) = with_slice_names(pl.DataFrame({"slice": texts}))
    lows = [float(text[3:-1].split(", ")[0]) for text in named["slice"]]
    assert all(low < high for low, high in pairwise(lows))
    assert sum(map(len, named["slice"])) < 0.8 * sum(map(len, texts))
    names = SliceNames.of([pl.DataFrame({"slice": texts})])
    assert names.texts.rename(named)["slice"].to_list() == texts


def test_crossed_slices_and_their_values_are_renamed_and_quoted_texts_are_not() -> None:
    text = 'b="x=[0.3000001, 1)", a=[0.30000000000000004, 0.7000000000000001)'
    values = [{"column": "b", "value": "x=[0.3000001, 1)"}, {"column": "a", "value": text.rpartition("=")[2]}]
    (named,) = with_slice_names(pl.DataFrame({"slice": [text], "slice_values": [values]}))
    assert named["slice"].item() == 'b="x=[0.3000001, 1)", a=[0.3000, 0.7000)'
    assert [pair["value"] for pair in named["slice_values"][0]] == ["x=[0.3000001, 1)", "[0.3000, 0.7000)"]


def test_charts_are_asked_for_by_the_texts_of_the_tables_and_give_them_back(result: plm.Result) -> None:
    pytest.importorskip("altair", reason="charts need the extra report")
    exact = result.metrics.filter(slice_set="x")["slice"].to_list()
    figure = result.plot.forest(slices=exact[1:3])
    assert figure.frame["slice"].to_list()[1:] in (exact[1:3], exact[2:0:-1])
    assert exact[1][2:] not in str(figure.specification()["datasets"])
    assert figure.frame.filter(pl.col("slice") != "all")["slice_values"].list.get(0).struct.field(
        "value"
    ).to_list() == [text[2:] for text in figure.frame["slice"].to_list()[1:]]
