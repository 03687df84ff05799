"""Questions to the rows: what is asked together is collected together."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from plmetrics.engine.binding.bind import bind
from plmetrics.engine.inquiry import Inquiry, Question, answer, constant_question, frames_by_name, gather
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.explain.passes import scans
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

ROWS = pl.LazyFrame({"x": [3, 1, 2]})


def deviation() -> Question[float]:
    """A question of two rounds: the second asks with what the first has found."""
    (mean,) = yield [ROWS.select(pl.col("x").mean())]
    (found,) = yield [ROWS.select((pl.col("x") - mean.item()).abs().mean())]
    return float(found.item())


def ends() -> Question[tuple[int, int]]:
    least, most = yield [ROWS.select(pl.col("x").min()), ROWS.select(pl.col("x").max())]
    return least.item(), most.item()


def refused() -> Question[int]:
    yield [ROWS.select(pl.len())]
    msg = "too many rows"
    raise ValueError(msg)


def test_questions_share_their_rounds() -> None:
    inquiry = Inquiry()
    found = inquiry.answer(gather(ends(), deviation(), constant_question("known")), stage="look")
    assert found == ((1, 3), pytest.approx(2 / 3), "known")
    assert [(step.stage, len(step.plans)) for step in inquiry.steps] == [("look", 3), ("look", 1)]


def test_plans_apart_are_collected_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, collect = [], pl.collect_all
    monkeypatch.setattr(pl, "collect_all", lambda plans: numbers.append(len(plans)) or collect(plans))
    inquiry = Inquiry(separate=True)
    assert inquiry.answer(gather(ends(), deviation())) == ((1, 3), pytest.approx(2 / 3))
    assert numbers == [1, 1, 1, 1]
    assert [step.separate for step in inquiry.steps] == [True, True]


def test_questions_within_questions_share_them_too() -> None:
    inquiry = Inquiry()
    assert inquiry.answer(gather(gather(ends(), ends()), deviation()))[0] == ((1, 3), (1, 3))
    assert [len(step.plans) for step in inquiry.steps] == [5, 1]


def test_what_is_known_costs_no_step() -> None:
    inquiry = Inquiry()
    assert inquiry.answer(gather(constant_question(1), frames_by_name({}))) == (1, {})
    assert inquiry.steps == []


def test_errors_of_the_first_question_come_first() -> None:
    with pytest.raises(ValueError, match="too many rows"):
        answer(gather(refused(), deviation()))


@pytest.mark.parametrize(
    ("changes", "rounds"),
    [
        ({"slices": {"g": "g"}}, 1),
        ({"slices": {"g": "g", "x": {"column": "x", "quantiles": 3}}}, 2),
        ({"slices": {"g": "g"}, "baseline": True}, 2),
        (
            {
                "slices": {"x": {"column": "x", "quantiles": 3}, "t": {"column": "g", "top": 2}},
                "baseline": True,
            },
            2,
        ),
    ],
)
def test_the_preparation_asks_in_as_few_rounds_as_answers_wait_for_each_other(
    tmp_path: Path, changes: dict[str, Any], rounds: int
) -> None:
    draw = np.random.default_rng(0)
    table = pl.DataFrame(
        {"y": draw.normal(size=90), "p": draw.normal(size=90), "x": draw.random(90), "g": [0, 1, 2] * 30}
    )
    table.write_parquet(tmp_path / "t.parquet")
    asks: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["r2"]}
    suite = suite_from_arguments(task="regression", **asks, **changes)
    steps = prepare(bind(suite, open_source(str(tmp_path / "t.parquet")))).steps
    reads = [scans(step.plans) for step in steps]
    assert [number for number in reads if number] == [1] * rounds
    assert reads.count(0) == 1, "a look at the first rows alone, for centres and whether slices are few"
