"""Reasons of rules in the singular and in the plural."""

import pytest

from plmetrics.catalogue.advice.advice_rule import TableFacts
from plmetrics.catalogue.advice.advice_rules import RULES


@pytest.mark.parametrize(
    ("rule", "facts", "words"),
    [
        ("multiclass/macro-few-rows", {"smallest": 1}, "the smallest class has 1 row and counts"),
        ("multiclass/macro-few-rows", {"smallest": 21}, "has 21 rows and"),
        ("ranking/one", {"relevant": 1.0}, "a query has 1 relevant document"),
        ("ranking/one", {"relevant": 1.1}, "a query has 1.1 relevant documents"),
        ("ranking/few-documents", {"documents": 1.0}, "a query has 1 document:"),
        ("multilabel/rows", {"per_row": 1.0}, "rows have 1 class on average"),
        ("multilabel/rows", {"per_row": 0.1}, "rows have 0.1 classes on average"),
        ("binary/test-many-rows", {"rows": 30_001}, "with 30,001 rows it"),
    ],
)
def test_nouns_go_with_their_numbers(rule: str, facts: dict[str, float], words: str) -> None:
    (found,) = (each for each in RULES if each.id == rule)
    assert words in found.explanation(TableFacts(task=found.task, **facts))  # type: ignore[arg-type]
