"""What a run's time is told from: counted by hand on small suites."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from plmetrics.engine.binding.bind import bind
from plmetrics.engine.memory import run_memory
from plmetrics.engine.run_plan import RunPlan
from plmetrics.features.explain.explanation import Explanation, explain
from plmetrics.features.explain.work import Work, costs, expected_time
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

ROWS = 1000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("work")
    draw = np.random.default_rng(0)
    columns = {"y": draw.integers(0, 2, ROWS), "p": draw.random(ROWS), "q": draw.random(ROWS)}
    columns |= {"g": draw.choice(["a", "b"], ROWS), "u": draw.integers(0, 40, ROWS)}
    frame = pl.DataFrame(columns)
    frame.write_parquet(folder / "t.parquet")
    frame.write_csv(folder / "t.csv")
    for day in (1, 2, 3):
        place = folder / "days" / f"day={day}"
        place.mkdir(parents=True)
        for half in (0, 1):
            frame[half * 400 : half * 400 + 100 * day].write_parquet(place / f"{half}.parquet")
    return {kind: str(folder / f"t.{kind}") for kind in ("parquet", "csv")} | {"days": str(folder / "days")}


def explained(path: str, **asked: Any) -> Explanation:
    base = {"label": "y", "models": {"one": "p", "two": "q"}, "metrics": ["brier", "log_loss"]}
    return explain(bind(suite_from_arguments(**base | asked), open_source(path)))


def number(plan: Explanation, kind: str, stage: str | None = None) -> float:
    return sum(part.number for part in plan.work if part.kind == kind and stage in {None, part.stage})


def test_sums_are_counted_by_row_model_and_metric(files: dict[str, str]) -> None:
    plan = explained(files["parquet"])
    assert number(plan, "rows by sum") == ROWS * 2 * 2
    assert number(plan, "rows by group") == 0
    assert number(plan, "cells of numbers", "aggregate") == ROWS * 3
    assert number(plan, "cells of texts") == 0
    grouped = explained(files["parquet"], slices={"g": "g"})
    assert number(grouped, "rows by group") == ROWS
    assert number(grouped, "cells of texts") == pytest.approx(ROWS)  # one scan finds slices and sums


def test_replicates_are_counted_by_block_slice_and_column(files: dict[str, str]) -> None:
    few, more = (
        explained(files["parquet"], slices={"g": "g"}, unit="u", uncertainty={"replicates": replicates})
        for replicates in (100, 300)
    )
    assert number(few, "weights") == 100 * 40
    for kind in ("weights", "products of sums", "values of replicates"):
        assert number(more, kind) == 3 * number(few, kind)
    assert number(few, "values of replicates") == 100 * 3 * 2 * 2
    assert number(few, "rows of units") == ROWS


def test_ordered_rows_are_counted_by_model(files: dict[str, str]) -> None:
    plan = explained(files["parquet"], metrics=["roc_auc"])
    assert number(plan, "scores in memory, sorted") == 2 * ROWS
    on_grid = explained(files["parquet"], metrics=["roc_auc"], exact=False)
    assert number(on_grid, "scores in memory, sorted") == 0
    assert number(on_grid, "scores on a grid") == 2 * ROWS


def test_text_files_are_parsed_byte_by_byte(files: dict[str, str]) -> None:
    assert number(explained(files["parquet"]), "bytes of text files") == 0
    plan = explained(files["csv"])
    scans = sum(part.scans for part in plan.passes)
    assert number(plan, "bytes of text files") == scans * plan.source.bytes > 0


def test_time_is_the_sum_of_what_each_kind_costs() -> None:
    known = costs().seconds
    time = expected_time(
        [Work("aggregate", "rows by sum", 1e9), Work("order", "scores on a grid", 2e9)], ("drift",)
    )
    assert time.stages["aggregate"] == pytest.approx(1e9 * known["rows by sum"])
    assert time.processor == pytest.approx(1e9 * known["rows by sum"] + 2e9 * known["scores on a grid"])
    assert time.wall == pytest.approx(time.processor / time.processors)
    assert time.omissions == ("drift",)


def test_constants_name_their_machine_and_their_error() -> None:
    known = costs()
    assert known.machine
    assert known.date
    assert min(known.seconds.values()) >= 0
    assert known.error["suites"] >= 20


@pytest.mark.parametrize(("unit", "units", "files_of_largest"), [("file", 6, 1), ("folder", 3, 2)])
def test_units_are_files_or_folders(
    files: dict[str, str], unit: str, units: int, files_of_largest: int
) -> None:
    plan = explained(files["days"], engine={"on": "inline", "unit": unit})
    assert plan.shards is not None
    assert plan.state is not None
    assert plan.shards.units == units
    assert plan.shards.states == units * plan.state.bytes
    assert plan.source.bytes / units < plan.shards.largest <= plan.source.bytes * files_of_largest / 6 * 2


def test_what_no_state_holds_has_no_states(files: dict[str, str]) -> None:
    plan = explained(files["days"], metrics=["roc_auc"], exact=True)
    assert plan.shards is not None
    assert (plan.shards.units, plan.shards.states, plan.shards.merge) == (6, None, None)


def test_what_was_not_measured_is_named(files: dict[str, str]) -> None:
    plan = explained(files["parquet"], compare={"baseline": "one", "tests": ["delong"]}, metrics=["roc_auc"])
    assert plan.time is not None
    assert plan.time.omissions == ("delong",)


def test_columns_of_sums_are_counted_as_often_for_many_slice_sets(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    read = run_memory.sum_plans

    def counted(plan: RunPlan) -> list[list[pl.LazyFrame]]:
        calls[-1] += 1
        return read(plan)

    monkeypatch.setattr(run_memory, "sum_plans", counted)
    for sets in (3, 12):
        calls.append(0)
        slices = {f"g{number}": {"where": f"u > {number}"} for number in range(sets)}
        plan = explained(files["parquet"], slices=slices, uncertainty={"replicates": 50})
        assert number(plan, "products of sums") > 0
    assert calls == [1, 1]
