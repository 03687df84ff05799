import re
from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

TABLE = pl.DataFrame(
    {
        "y": [1, 0, 1, 0, 1, 0, 1, 0],
        "a": [0.9, 0.2, 0.4, 0.3, 0.8, 0.6, 0.7, 0.1],
        "b": [0.6, 0.7, 0.2, 0.9, 0.8, 0.1, 0.7, 0.3],
        "part": ["u", "u", "u", "u", "v", "v", "v", "v"],
    }
)


def shown(tests: list, width: int = 100, **options: Any) -> list[str]:
    result = plm.evaluate(
        TABLE,
        label="y",
        models={"a": "a", "b": "b"},
        metrics=["roc_auc", "accuracy"],
        slices=["part"],
        compare={"baseline": "a", "tests": tests},
        **options,
    )
    lines = render(summarise(result), width).splitlines()
    assert all(len(line) <= width for line in lines)
    starts = [place for place, line in enumerate(lines) if line.startswith("Tests")]
    if not starts:
        return []
    end = next(place for place in range(starts[0], len(lines)) if not lines[place])
    return lines[starts[0] : end]


def test_a_line_a_test_of_all_rows_and_one_for_slices() -> None:
    lines = shown(["delong", "mcnemar", {"friedman": {"over": "part"}}])
    assert lines[0] == "Tests (p adjusted by holm)"
    words = [line.split() for line in lines[2:-1]]
    assert [line[0] for line in words] == ["roc_auc", "accuracy", "roc_auc", "accuracy"]
    names = ("friedman(over=part)", "delong", "mcnemar")
    assert [next(name for name in names if name in line) for line in words] == [names[0], *names]
    assert "statistic" in lines[2]
    assert "b against a" in lines[4]
    assert lines[-1].strip() == "in slices: 0 of 3 tests with p below 0.05"


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ([{"nemenyi": {"over": "part"}}], "adjusted by the studentised range"),
        ([{"friedman": {"over": "part"}}], "not adjusted: each alone in its family"),
        (
            [{"friedman": {"over": "part"}}, {"nemenyi": {"over": "part"}}],
            "not adjusted: each alone in its family; Nemenyi's by the studentised range",
        ),
        (["mcnemar", {"nemenyi": {"over": "part"}}], "adjusted by holm; Nemenyi's by the studentised range"),
    ],
)
def test_the_title_says_how_p_values_were_adjusted(tests: list, words: str) -> None:
    assert shown(tests)[0] == f"Tests (p {words})"


def test_no_section_without_tests() -> None:
    assert shown([]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("tests", [[], ["mcnemar"], ["delong"]])
def test_delongs_test_is_among_them_where_it_was_asked_for(tests: list[str]) -> None:
    """With his intervals it stands for the usual test of two areas, too."""
    lines = shown(tests, uncertainty={"methods": ["delong"], "replicates": 20})
    assert [line.split()[4] for line in lines[2:] if "against" in line] == tests


def test_posterior_probabilities_are_said() -> None:
    (line,) = (line for line in shown(["correlated_t"], fold="part") if "P(" in line and "accuracy" in line)
    below, above = re.findall(r"P\([<>] 0\) = (0\.\d{3})", line)
    assert float(below) + float(above) == pytest.approx(1, abs=0.002)


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_cut_nothing(width: int) -> None:
    text = " ".join(" ".join(shown(["delong"], width)).split())
    assert "roc_auc b against a delong" in text


def test_tests_of_one_metric_stand_below_its_name_where_lines_are_short() -> None:
    tests = ["paired_t", "wilcoxon", "paired_permutation"]
    models = {"a": "a", "b": "b"}
    result = plm.evaluate(
        TABLE,
        task="regression",
        label="y",
        models=models,
        metrics=["mse", "mae"],
        compare={"baseline": "a", "tests": tests},
    )
    lines = [line.split() for line in render(summarise(result), 60).splitlines()]
    lines = lines[next(place for place, line in enumerate(lines) if line[:1] == ["Tests"]) :]
    words = [word for line in lines for word in line if word in {"mse", "mae", *tests}]
    assert words == ["mse", *tests, "mae", *tests]


@pytest.mark.parametrize(
    ("column", "words"),
    [("unit", "rows as independent, and they share units"), ("weight", "counts every row once")],
)
def test_a_test_that_was_not_made_says_why(column: str, words: str) -> None:
    table = TABLE.with_columns(u=pl.Series([1, 1, 2, 2, 3, 3, 4, 4]))
    asked = {"metrics": ["accuracy"], "compare": {"baseline": "a", "tests": ["mcnemar"]}, column: "u"}
    result = plm.evaluate(table, label="y", models=["a", "b"], **asked)
    assert words in " ".join(render(summarise(result), 100).split())
