"""The sections of contrasts: ratios, earlier runs, slices and decompositions."""

import numpy as np
import polars as pl
import pytest
from rich.cells import cell_len

import plmetrics as plm
from plmetrics.report.summary import Summary, summarise
from plmetrics.report.terminal import render


def table(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, 400)
    region = draw.choice([f"r{number}" for number in range(12)], 400)
    return pl.DataFrame(
        {
            "label": label,
            "a": 0.3 * label + draw.uniform(0, 0.6, 400),
            "b": draw.uniform(0, 1, 400),
            "region": region,
        }
    )


def summary(*, intervals: bool = True) -> Summary:
    keywords = {
        "label": "label",
        "models": {"a": "a", "b": "b"},
        "metrics": ["log_loss", "recall(threshold=1)"],
        "slices": ["region"],
        "uncertainty": {"replicates": 40} if intervals else None,
    }
    compare = {
        "baseline": "a",
        "scales": ["difference", "ratio"],
        "slices": {"region": ["rest", "all"]},
        "decompose": ["region"],
        "run": plm.evaluate(table(1), name="before", **keywords),
    }
    return summarise(plm.evaluate(table(2), compare=compare, **keywords))


@pytest.fixture(scope="module")
def made() -> Summary:
    return summary()


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_every_contrast_has_its_block(made: Summary, width: int) -> None:
    text = render(made, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    said = " ".join(text.split())
    for words in (
        "b against a (difference, p adjusted by holm)",
        "b against a (ratio, p adjusted by holm)",
        "b against run before (difference, p adjusted by holm)",
        "a: slices of region (difference, p adjusted by holm)",
        "a: slices of region (ratio, p adjusted by holm)",
        "log_loss over region (b against a, what moved)",
        "log_loss over region (a against run before, what moved)",
        "comparisons more in comparisons.parquet",
        "6 slices more in decomposition.parquet",
        "without a value",
    ):
        assert words in said, words


def test_the_comparison_with_the_smallest_p_value_comes_first(made: Summary) -> None:
    rows = made.comparisons.filter(contrast="rest", model="b", scale="difference", status="ok")
    both = pl.concat(
        [rows, made.comparisons.filter(contrast="slice", model="b", scale="difference", status="ok")]
    )
    first = both.sort(
        "p_adjusted", pl.col("difference").abs(), descending=[False, True], nulls_last=True
    ).row(0, named=True)
    lines = render(made, 160).splitlines()
    start = lines.index("b: slices of region (difference, p adjusted by holm)")
    assert lines[start + 2].split()[:2] == [first["slice"], first["baseline"]]


def test_a_ratio_above_one_of_a_loss_is_worse(made: Summary) -> None:
    lines = render(made, 160).splitlines()
    start = lines.index("b against a (ratio, p adjusted by holm)")
    row = next(line for line in lines[start:] if "log_loss" in line)
    assert "worse" in row
    assert "+" not in row


def test_without_intervals_there_is_nothing_to_read() -> None:
    text = render(summary(intervals=False), 120)
    assert "b against a (ratio)" in text
    assert "reading" not in text
    assert "log_loss over region (b against a, what moved)" in text


def test_a_change_without_a_value_names_its_slices_once() -> None:
    result = plm.evaluate(
        {"label": [0, 0, 0], "a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1], "region": ["x", "x", "y"]},
        label="label",
        models=["a", "b"],
        metrics=["recall"],
        slices=["region"],
        compare={"baseline": "a", "decompose": {"region": ["recall"]}},
    )
    lines = render(summarise(result), 100).splitlines()
    place = lines.index("recall over region (b against a, what moved)")
    assert lines[place + 1].strip() == "- (zero_denominator)"


def test_delongs_answer_stands_among_the_differences() -> None:
    frame = table(3)
    result = plm.evaluate(
        frame,
        label="label",
        models={"a": "a", "b": "b"},
        metrics=["roc_auc"],
        uncertainty={"methods": ["delong"]},
        compare={"baseline": "a", "tests": ["delong"]},
    )
    lines = [line for line in render(summarise(result), 100).splitlines() if "roc_auc " in line]
    p = result.comparisons["p_value"].to_list()
    assert len(p) == 1
    assert len([line for line in lines if "<0.001" in line or f"{p[0]:.2g}" in line]) == 2
