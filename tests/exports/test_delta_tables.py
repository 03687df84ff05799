import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exports.examples import of_interval
from polars.testing import assert_frame_equal

from plmetrics.core.errors import EnvironmentFault
from plmetrics.exports.delta_tables import DeltaTarget
from plmetrics.exports.protocol import EndedRun
from plmetrics.exports.tidy import RESULTS, RUN_KEYS


def read(folder: Path, table: str, key: str = "") -> pl.DataFrame:
    frame = pl.read_delta(str(folder / table))
    return frame.filter(run_key=key) if key else frame


def test_the_tables_are_those_of_the_run_folder(tmp_path: Path, ended: EndedRun) -> None:
    assert ended.result is not None
    DeltaTarget(tmp_path).write(ended)
    for name in RESULTS:
        stored = read(tmp_path, name)
        assert_frame_equal(stored.drop(RUN_KEYS), ended.result.tables[name], check_exact=True)
        assert stored["run_id"].unique().to_list() == [ended.run_id]
    (run,) = read(tmp_path, "runs").rows(named=True)
    assert (run["run_key"], run["verdict"], run["started"]) == (ended.run_id, "fail", ended.start)


def test_an_interval_is_replaced_and_others_stay(tmp_path: Path, ended: EndedRun) -> None:
    assert ended.result is not None
    first, other = of_interval(ended, 20), dataclasses.replace(of_interval(ended, 20), name="it's")
    for run in (first, other):
        DeltaTarget(tmp_path).write(run)
    none = dataclasses.replace(ended.result, gates=ended.result.gates.clear())  # type: ignore[type-var]
    again = dataclasses.replace(of_interval(ended, 20), result=none)
    DeltaTarget(tmp_path).write(again)
    runs = read(tmp_path, "runs").sort("suite")
    assert runs["run_id"].to_list() == [again.run_id, other.run_id]
    assert read(tmp_path, "gates")["suite"].unique().to_list() == ["it's"]
    assert read(tmp_path, "metrics").height == 2 * ended.result.metrics.height


def test_a_run_that_is_there_is_not_written_again(tmp_path: Path, ended: EndedRun) -> None:
    run = of_interval(ended, 20)
    for _ in range(2):
        DeltaTarget(tmp_path).write(run)
    assert [path.name for path in (tmp_path / "gates" / "_delta_log").glob("*.json")] == [
        "00000000000000000000.json"
    ]


def test_a_column_of_a_later_version_is_kept(
    tmp_path: Path, ended: EndedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    import plmetrics.exports.delta_tables as module

    tables = module.run_tables

    def wider(*args: Any) -> dict[str, pl.DataFrame]:
        return {name: frame.with_columns(later=pl.lit(1)) for name, frame in tables(*args).items()}

    monkeypatch.setattr(module, "run_tables", wider)
    DeltaTarget(tmp_path).write(of_interval(ended, 21))
    monkeypatch.undo()
    DeltaTarget(tmp_path).write(of_interval(ended, 20))
    assert read(tmp_path, "runs").sort("run_key")["later"].to_list() == [None, 1]


@pytest.mark.slow
@pytest.mark.parametrize("days", [[*range(1, 7)], [20] * 3], ids=["intervals", "one interval"])
def test_writers_at_the_same_time(tmp_path: Path, ended: EndedRun, days: list[int]) -> None:
    assert ended.result is not None
    runs = [of_interval(ended, day) for day in days]
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(DeltaTarget(tmp_path).write, runs))
    written = read(tmp_path, "runs")
    assert written["run_key"].sort().to_list() == sorted({run.key for run in runs})
    for key in written["run_key"]:
        for name in RESULTS:
            stored = read(tmp_path, name, key)
            assert stored["run_id"].unique().to_list() == written.filter(run_key=key)["run_id"].to_list()
            assert stored.height == ended.result.tables[name].height


def runs_in(folder: Path) -> set[str]:
    return {run for name in (*RESULTS, "runs") for run in read(folder, name)["run_id"].to_list()}


def test_a_run_that_is_written_between_the_tables_of_another(
    tmp_path: Path, ended: EndedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    import plmetrics.exports.delta_tables as module

    first, second = of_interval(ended, 20), of_interval(ended, 20)
    replace = module._replace

    def between(table: Path, *rest: Any) -> None:
        replace(table, *rest)
        monkeypatch.setattr(module, "_replace", replace)
        DeltaTarget(tmp_path).write(second)

    monkeypatch.setattr(module, "_replace", between)
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    DeltaTarget(tmp_path).write(first)
    assert runs_in(tmp_path) == {first.run_id}


def test_a_mixture_that_a_killed_run_left_is_mended_by_the_next_try(
    tmp_path: Path, ended: EndedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    import plmetrics.exports.delta_tables as module

    first, second = of_interval(ended, 20), of_interval(ended, 20)
    DeltaTarget(tmp_path).write(first)

    def killed(table: Path, *rest: Any) -> None:
        replace(table, *rest)
        raise KeyboardInterrupt

    replace = module._replace
    monkeypatch.setattr(module, "_replace", killed)
    with pytest.raises(KeyboardInterrupt):
        DeltaTarget(tmp_path).write(second)
    monkeypatch.undo()
    assert runs_in(tmp_path) == {first.run_id, second.run_id}
    DeltaTarget(tmp_path).write(first)
    assert runs_in(tmp_path) == {first.run_id}


def test_a_table_without_statistics_is_written_once(tmp_path: Path, ended: EndedRun) -> None:
    from deltalake import DeltaTable

    DeltaTarget(tmp_path).write(of_interval(ended, 20))
    metrics = DeltaTable(str(tmp_path / "metrics"))
    metrics.alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "0"})
    again = of_interval(ended, 20)
    DeltaTarget(tmp_path).write(again)
    assert runs_in(tmp_path) == {again.run_id}
    assert DeltaTable(str(tmp_path / "runs")).version() == 1


def test_a_conflict_that_stays_is_a_fault(
    tmp_path: Path, ended: EndedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deltalake.exceptions import CommitFailedError

    attempts = []

    def conflict(*_: Any, **__: Any) -> None:
        attempts.append(1)
        raise CommitFailedError("a concurrent transaction changed the table")

    monkeypatch.setattr("plmetrics.exports.delta_tables.write_deltalake", conflict)
    monkeypatch.setattr("plmetrics.exports.delta_tables._PAUSE", 0.0)
    with pytest.raises(EnvironmentFault, match="metrics: a concurrent transaction changed the table"):
        DeltaTarget(tmp_path).write(ended)
    assert len(attempts) == 6


def test_a_suite_names_the_folder(suite_file: Callable[..., Path]) -> None:
    import plmetrics as plm

    file = suite_file({"delta": "lake"})
    result = plm.run(file)
    stored = read(file.parent / "lake", "metrics")
    assert_frame_equal(stored.drop(RUN_KEYS), result.metrics, check_exact=True)
