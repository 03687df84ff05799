"""Questions of stages about the rows before any count; questions asked together share scans.

A question is a generator. It yields plans and receives their frames, as often as it needs what it has learned to ask
on, and returns its answer. Questions that are asked together go on in rounds: the plans of a round are one collection.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import polars as pl

from plmetrics.engine.streaming import frames_of


@dataclass(frozen=True, slots=True)
class Step:
    """Plans collected together by a stage of a run, with shared scans, or one after another.

    `does` is what they are for, empty where other steps of the stage say it. They are collected `times` often, or more
    with `at_least`, as what they find, or the memory budget, asks for. The first `sums` plans make sums. With
    `separate` each has scans of its own, since memory has no room for what would wait in shared ones.
    """

    stage: str
    plans: tuple[pl.LazyFrame, ...] = ()
    does: str = ""
    times: int = 1
    at_least: bool = False
    sums: int = 0
    separate: bool = False

    def collect(self) -> list[pl.DataFrame]:
        """The frames of its plans, in their order."""
        return frames_of(self.plans, separate=self.separate)


Answer = TypeVar("Answer")
Other = TypeVar("Other")
Third = TypeVar("Third")
Question = Generator[Sequence[pl.LazyFrame], list[pl.DataFrame], Answer]


@overload
def gather(one: Question[Answer], other: Question[Other], /) -> Question[tuple[Answer, Other]]: ...
@overload
def gather(
    one: Question[Answer], other: Question[Other], third: Question[Third], /
) -> Question[tuple[Answer, Other, Third]]: ...
@overload
def gather(*questions: Question[Answer]) -> Question[tuple[Answer, ...]]: ...
def gather(*questions: Question[Any]) -> Question[tuple[Any, ...]]:
    """The answers to some questions, in order: each round collects the next plans of all open questions."""
    answers: list[Any] = [None] * len(questions)
    frames: dict[int, Any] = dict.fromkeys(range(len(questions)))
    while frames:
        plans: dict[int, Sequence[pl.LazyFrame]] = {}
        for place, known in frames.items():
            try:
                plans[place] = questions[place].send(known)
            except StopIteration as done:
                answers[place] = done.value
        frames, known = {}, None  # what is known is let go before more is asked
        if plans:
            collected = iter(
                (yield [plan for plans_of_question in plans.values() for plan in plans_of_question])
            )
        frames = {
            place: [next(collected) for _ in plans_of_question] for place, plans_of_question in plans.items()
        }
    return tuple(answers)


def frames_by_name(plans: Mapping[str, pl.LazyFrame]) -> Question[dict[str, pl.DataFrame]]:
    """The frames of some plans, by name."""
    frames = yield list(plans.values())
    return dict(zip(plans, frames, strict=True))


def answers_by_name(questions: Mapping[str, Question[Answer]]) -> Question[dict[str, Answer]]:
    """Answers to simultaneous questions, by name."""
    answers = yield from gather(*questions.values())
    return dict(zip(questions, answers, strict=True))


def first_plans(question: Question[Answer]) -> Sequence[pl.LazyFrame]:
    """Plans of the first round of an unasked question."""
    return next(question, ())


def constant_question(answer: Answer) -> Question[Answer]:
    """Question with a constant answer, without a scan."""
    yield from ()
    return answer


class Inquiry:
    """Asker of questions, with a list of their steps; the plans of a round share their scans unless `separate`."""

    def __init__(self, steps: Iterable[Step] = (), *, separate: bool = False) -> None:
        self.steps = list(steps)
        self._separate = separate

    def answer(self, question: Question[Answer], stage: str = "prepare") -> Answer:
        """Ask a question, round by round."""
        frames: Any = None
        while True:
            try:
                plans = question.send(frames)
            except StopIteration as done:
                answer: Answer = done.value
                return answer
            frames = []
            if plans:
                self.steps.append(Step(stage, tuple(plans), separate=self._separate))
                frames = self.steps[-1].collect()


def answer(question: Question[Answer], *, separate: bool = False) -> Answer:
    """Answer to a question of a stage with a list of steps of its own."""
    return Inquiry(separate=separate).answer(question)
