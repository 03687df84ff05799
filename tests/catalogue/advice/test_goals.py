"""Goals name metrics of their tasks, hold where a table has what they need, and are silent elsewhere."""

from typing import Any

import pytest

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.advice_rule import TableFacts
from plmetrics.catalogue.advice.goals import GOALS, goal_by_name, goals_of
from plmetrics.core.text import parse_call
from plmetrics.suite.reader import metric_from_text

RULES = [(goal, rule) for goal in GOALS for rule in goal.rules]
SHARES = {"score_low": 0.0, "score_high": 1.0, "top_score": 1.0, "bottom_score": 0.0, "values": 100}
SCORES = {"smallest": 500, "prevalence": 0.3, "largest": 0.7}
TABLES: dict[str, list[dict[str, Any]]] = {
    "binary": [
        {"rows": 20_000, **SCORES, **SHARES, "cost_fp": 1.0, "cost_fn": 5.0},
        {"rows": 30_000, **SCORES, **SHARES},
        {"rows": 20_000, **SCORES, **SHARES, "score_high": 3.0, "cost_fp": 1.0, "cost_fn": 5.0},
        {"rows": 20_000, **SCORES, "called": 1},
    ],
    "multiclass": [{"rows": 2000, "classes": 12, "score_low": 0.0, "score_high": 1.0}],
    "multilabel": [{"rows": 2000, "classes": 4, "score_low": 0.0, "score_high": 1.0}],
    "regression": [
        {"rows": 900, "label_low": 1.0, "label_high": 99.0, "nearness": 0.1, "decades": 2.0, "score_low": 0.5}
    ],
    "quantile": [{"rows": 900, "levels": 9, "widest": 0.8, "median": 1}],
    "ranking": [{"rows": 900, "documents": 30.0, "relevant": 4.0, "grades": 4}],
    "uplift": [{"rows": 900, "treated": 0.5}],
}


@pytest.mark.parametrize(("goal", "rule"), RULES, ids=lambda each: getattr(each, "id", ""))
def test_rules_of_goals(goal: Any, rule: Any) -> None:
    tables = [TableFacts(task=rule.task, **figures) for figures in TABLES[rule.task]]
    fitting = [facts for facts in tables if rule.holds(facts)]
    assert fitting
    assert not rule.holds(TableFacts(task=rule.task))
    assert any(character.isdigit() for character in rule.source)
    for facts in fitting:
        assert rule in goal.rules_of(facts)
        assert "?" not in rule.explanation(facts)
        for text in rule.texts(facts):
            assert metric_from_text(rule.task, text).name == parse_call(text).name


def test_goals_are_told_apart() -> None:
    assert len({goal.name for goal in GOALS}) == len(GOALS)
    assert len({rule.id for _, rule in RULES}) == len(RULES)
    assert {goal.kind for goal in GOALS} == {"question", "domain"}
    assert {task for goal in GOALS for task in goal.tasks} == set(registry.tasks()) - {"experiment"}


def test_names() -> None:
    assert all(goal_by_name(goal.name.replace("_", "-").upper()) is goal for goal in GOALS)
    assert goal_by_name("weather") is None
    assert {goal.name for goal in goals_of("uplift")} == {"advertising"}


def test_a_first_page_is_no_longer_than_half_of_the_documents() -> None:
    cuts = {
        documents: TableFacts(task="ranking", documents=documents) for documents in (1.0, 4, 10, 30, 1000)
    }
    assert {documents: facts.cut for documents, facts in cuts.items()} == {
        1: 1,
        4: 1,
        10: 5,
        30: 10,
        1000: 10,
    }
    assert {documents: facts.candidates for documents, facts in cuts.items()} == {
        1: 1,
        4: 1,
        10: 5,
        30: 10,
        1000: 100,
    }
