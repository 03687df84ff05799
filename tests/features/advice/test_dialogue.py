"""The dialogue asks for what a task takes, with guesses as defaults, and leaves out what was said already."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from plmetrics.features.advice.dialogue import Answers, ask
from plmetrics.features.advice.suggestion import TableSample
from plmetrics.features.advice.table_roles import Wishes

ROWS = 300
DRAW = np.random.default_rng(5)
P = DRAW.random(ROWS)
TABLE = pl.DataFrame({"shop": np.arange(ROWS) // 10, "y": (DRAW.random(ROWS) < P).astype(int), "score": P})


class Script:
    """Answers by question, else the default; the questions that were asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.questions: list[str] = []
        self.defaults: list[Any] = []

    def say(self, text: str) -> None:
        assert text

    def _answer(self, question: str, default: Any) -> Any:
        self.questions.append(question)
        self.defaults.append(default)
        return next(
            (value for word, value in self.answers.items() if word.replace("_what", "?") in question), default
        )

    def choose(self, question: str, choices: Mapping[str, str], default: str | None) -> str | None:
        answer = self._answer(question, default)
        assert answer is None or answer in choices
        return answer

    def choose_several(
        self, question: str, choices: Mapping[str, str], default: Sequence[str]
    ) -> tuple[str, ...]:
        answers = tuple(self._answer(question, default))
        assert set(answers) <= set(choices)
        return answers

    def number(self, question: str) -> float | None:
        return self._answer(question, None)


def asked(script: Script, answers: Answers | None = None) -> dict[str, Any]:
    return ask(TableSample.of(TABLE), answers or Answers(Wishes()), script).arguments


def test_defaults_leave_the_guesses_to_suggest() -> None:
    script = Script()
    assert asked(script) == Answers(Wishes()).arguments
    assert script.defaults == ["binary", "y", ("score",), ()]


def test_a_task_asks_for_its_columns() -> None:
    script = Script(predicted="ranking", queries="shop", for_what=("search",))
    arguments = asked(script)
    assert (arguments["task"], arguments["query"], arguments["goal"]) == ("ranking", "shop", ("search",))
    assert any("queries apart" in question for question in script.questions)


def test_costs_are_asked_for_where_they_count() -> None:
    arguments = asked(Script(for_what=("asymmetric_costs",), positive=1.0, negative=5.0))
    assert (arguments["cost_fp"], arguments["cost_fn"]) == (1.0, 5.0)
    arguments = asked(Script(for_what=("asymmetric_costs",), positive=1.0))
    assert (arguments["cost_fp"], arguments["cost_fn"]) == (None, None)


def test_what_was_said_is_not_asked() -> None:
    script = Script()
    asked(script, Answers(Wishes(task="binary", label="y", scores=("score",)), ("fraud",)))
    assert script.questions == []
