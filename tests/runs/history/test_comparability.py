"""What two suites say of the meaning of values of one name."""

from typing import Any

import pytest

import plmetrics as plm
from plmetrics.runs.history.comparability import misleading


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"label": "y"}, {"label": "y"}, []),
        ({"label": "y"}, {}, ["columns.label was 'y' and is not given"]),
        ({"classes": ["a", "b"]}, {"classes": ["a", "c"]}, ["columns.classes.1 was 'b' and is 'c'"]),
        ({"classes": ["a"]}, {"classes": ["a", "b"]}, ['columns.classes was ["a"] and is ["a", "b"]']),
        ({"classes": ["a", "b"]}, {"classes": "ab"}, ['columns.classes was ["a", "b"] and is \'ab\'']),
        ({"classes": "ab"}, {"classes": ["a", "b"]}, ['columns.classes was \'ab\' and is ["a", "b"]']),
        ({"unit": "u"}, {"unit": "v"}, []),
    ],
)
def test_what_differs_is_told_by_its_place(
    before: dict[str, Any], after: dict[str, Any], words: list[str]
) -> None:
    assert misleading({"columns": before}, {"columns": after}, ()) == words


def test_a_section_that_is_new_is_told_key_by_key() -> None:
    words = ["data.where was not given and is 'a > 0'"]
    assert misleading({}, {"data": {"where": "a > 0", "path": "rows.csv"}}, ()) == words


@pytest.mark.parametrize(("length", "cut"), [(58, False), (59, True)])
def test_texts_of_more_than_sixty_signs_are_cut(length: int, *, cut: bool) -> None:
    """Two quotes belong to the text."""
    (words,) = misleading({"positive": "x" * length}, {}, ())
    whole = f"'{'x' * length}'"
    assert words == f"positive was {whole[:57] + '...' if cut else whole} and is not given"


@pytest.mark.parametrize(
    ("model", "metric", "told"),
    [
        ({"quantiles": {"0.5": "q50"}}, "wis", True),
        ({"mean": "mu", "sd": "sd"}, "crps", True),
        ({"quantiles": {"0.1": "p10", "0.9": "p90"}}, "wis", False),
        ({"quantiles": "q_"}, "wis", False),
        ({"quantiles": {"0.5": "q50"}}, "mae", False),
    ],
)
def test_quantiles_at_other_levels_are_told_where_a_metric_is_their_mean(
    model: dict[str, Any], metric: str, *, told: bool
) -> None:
    before = {"task": "quantile", "models": {"m": {"quantiles": {"0.1": "q10", "0.9": "q90"}}}}
    words = misleading(before, before | {"models": {"m": model}}, [plm.metric(metric, task="quantile")])
    assert [f"of which {metric} is a mean, are at other levels" in text for text in words] == [True] * told
