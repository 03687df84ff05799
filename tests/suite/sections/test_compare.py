from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.suite.sections.basics import Compare

FRAME = pl.DataFrame(
    {
        "y": [0, 1, 0, 1, 1, 0],
        "a": [0.1, 0.7, 0.4, 0.6, 0.3, 0.2],
        "b": [0.2, 0.9, 0.3, 0.5, 0.4, 0.6],
        "region": ["n", "n", "s", "s", "n", "s"],
        "tags": ["x|y", "x", "y", "x", "y", "x"],
    }
)


def refused(compare: Any, **keywords: Any) -> plm.PlmetricsError:
    given: dict[str, Any] = {
        "label": "y",
        "models": {"a": "a", "b": "b"},
        "metrics": ["log_loss", "roc_auc"],
        "slices": {
            "region": "region",
            "tag": {"tags": "tags"},
            "any": {"where": {"low": "a < 1", "high": "a >= 0"}},
        },
    }
    given["slices"] = {"region": "region", "any": {"where": {"low": "a < 1", "high": "a >= 0"}}}
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(FRAME, **(given | keywords), compare=compare)
    return caught.value


@pytest.mark.parametrize(
    ("compare", "place", "words"),
    [
        (3, "compare", "name of a model or a mapping"),
        ({}, "compare", "does not say what is compared"),
        ({"baseline": "c"}, "compare.baseline", "'c' is not one of the models"),
        ({"baseline": "a", "pairs": "all"}, "compare.pairs", "both say what models"),
        ({"pairs": "some"}, "compare.pairs", "pairs must be all"),
        ({"run": "runs", "reference": "last"}, "compare.reference", "accepted"),
        ({"baseline": "a", "reference": "any"}, "compare.reference", "run names none"),
        ({"baseline": "a", "scales": ["odds"]}, "compare.scales.0", "difference, ratio or relative_change"),
        ({"baseline": "a", "scales": []}, "compare.scales", "a list that is not empty"),
        ({"slices": {"regio": "rest"}}, "compare.slices.regio", "did you mean 'region'?"),
        ({"slices": "rest"}, "compare.slices", "slices must be a mapping"),
        ({"slices": {"region": 3}}, "compare.slices.region", "must be a list"),
        (
            {"slices": {"region": "region=w"}},
            "compare.slices.region",
            "'region=w' is not a slice of 'region'",
        ),
        (
            {"slices": {"region": ["pairs", "region=n"]}},
            "compare.slices.region",
            "pairs compares every slice",
        ),
        ({"baseline": "a", "decompose": ["x"]}, "compare.decompose.x", "not one of the slice sets"),
        (
            {"slices": {"region": "rest"}, "decompose": ["region"]},
            "compare.decompose",
            "two models or two runs",
        ),
        ({"baseline": "a", "decompose": ["any"]}, "compare.decompose.any", "may overlap"),
        (
            {"baseline": "a", "decompose": {"region": ["roc_auc"]}},
            "compare.decompose.region",
            "'roc_auc' is not a mean",
        ),
        (
            {"baseline": "a", "decompose": {"region": "mae"}},
            "compare.decompose.region.0",
            "'mae' is not in metrics",
        ),
        ({"baseline": "a", "colour": 1}, "compare.colour", "unknown key 'colour'"),
    ],
)
def test_says_what_is_wrong_and_where(compare: Any, place: str, words: str) -> None:
    problems = refused(compare).problems
    assert any(
        ".".join(map(str, problem.path)).startswith(place) and words in f"{problem.message} {problem.hint}"
        for problem in problems
    ), problems


def test_pairs_need_two_models() -> None:
    error = refused({"pairs": "all"}, models={"a": "a"})
    assert [problem.path for problem in error.problems] == [("compare", "pairs")]


def test_no_mean_to_decompose() -> None:
    error = refused({"baseline": "a", "decompose": ["region"]}, metrics=["roc_auc"])
    assert "none of 'roc_auc' is a mean" in str(error)


def test_too_many_pairs_of_slices() -> None:
    frame = FRAME.with_columns(region=pl.Series([f"r{n}" for n in range(6)]))
    with pytest.raises(plm.ConfigError, match="15 pairs of slices, more than max_slices = 14"):
        plm.evaluate(
            frame,
            label="y",
            models="a",
            slices=["region"],
            max_slices=14,
            compare={"slices": {"region": "pairs"}},
        )


@pytest.mark.parametrize(
    ("models", "compare", "expected"),
    [
        ("abc", Compare(baseline="b"), [("a", "b"), ("c", "b")]),
        ("abc", Compare(pairs="all"), [("b", "a"), ("c", "a"), ("c", "b")]),
        ("a", Compare(baseline="a"), []),
        ("ab", Compare(slices={"region": ("rest",)}), []),
    ],
)
def test_pairs_of_models(models: str, compare: Compare, expected: list[tuple[str, str]]) -> None:
    assert list(compare.pairs_of(models)) == expected


def test_short_forms() -> None:
    result = plm.evaluate(
        FRAME,
        label="y",
        models={"a": "a", "b": "b"},
        metrics=["brier"],
        slices=["region"],
        compare={
            "baseline": "a",
            "scales": "ratio",
            "slices": {"region": ["overall", "all"]},
            "decompose": "region",
        },
    )
    compare = result.suite.compare
    assert compare is not None
    assert compare.scales == ("ratio",)
    assert compare.slices == {"region": ("all",)}
    assert compare.decompose == {"region": ()}
