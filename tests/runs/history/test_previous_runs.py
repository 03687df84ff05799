"""Which earlier runs serve as a reference, and which gates count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.runs.history.data import RunData
from plmetrics.runs.history.previous_runs import (
    MANY,
    complete_runs,
    distinct_results,
    reference_run,
    results_of,
)

if TYPE_CHECKING:
    from plmetrics.runs.reading import StoredRun
    from tests.runs.conftest import Forge


AHEAD = {"finished": "2199-01-01T00:00:00.000Z"}


def covering(digest: str) -> RunData:
    return RunData.of([{"path": "day.csv", "bytes": 9, "digest": digest}], None)


def taken(home: Path, data: str = "now", choice: str = "accepted") -> tuple[str | None, list[str]]:
    found = reference_run(home, covering(data), choice, results_of)
    return found.run_id and found.run_id[13:15], [reason for _, reason in found.passed_over]


def test_a_reference_is_never_of_the_same_data(forge: Forge) -> None:
    home = forge(1, "a").parent
    forge(2, "b")
    forge(3, "now")
    forge(4, "now", verdict="fail")
    assert taken(home) == ("02", ["the same data", "the same data"])
    assert taken(home, choice="any") == ("02", ["the same data", "the same data"])
    assert taken(home, "a") == ("03", ["its gates failed"])


@pytest.mark.parametrize(("choice", "second"), [("accepted", "01"), ("any", "03")])
def test_a_run_whose_gates_failed_is_a_reference_only_where_any_is(
    forge: Forge, choice: str, second: str
) -> None:
    home = forge(1, "a", verdict="inconclusive").parent
    forge(2, "b", verdict="fail")
    forge(3, "c", verdict="fail")
    forge(4, "d", status="failed")
    assert taken(home, choice=choice)[0] == second


def test_nothing_may_serve(forge: Forge, tmp_path: Path) -> None:
    home = forge(1, "now").parent
    forge(2, "b", verdict="fail")
    assert taken(home) == (None, ["its gates failed", "the same data"])
    assert taken(tmp_path / "absent") == (None, [])


def test_the_record_orders_and_a_copy_does_not_count(forge: Forge) -> None:
    """The first to begin may be the last to end; a copy has a name of its own."""
    late = forge(1, "a", finished="2020-11-20T02:59:00.000Z")
    forge(2, "b")
    forge(3, "c", name="reference")
    forge(4, "d", name="20201121T000000Z-4fa1c2")
    runs = complete_runs(late.parent, warnings := [])
    assert [run.run_id[13:15] for run in runs] == ["01", "02"]
    assert warnings == []
    assert taken(late.parent)[0] == "01"


def test_of_a_long_history_only_the_end_is_read(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are as old as their runs; a copy that lost that is read, and comes in its place."""
    from datetime import UTC, datetime, timedelta

    import plmetrics.runs.history.previous_runs as earlier

    ends = [datetime(2020, 11, 21, tzinfo=UTC) + timedelta(days=day) for day in range(12)]
    for number, end in enumerate(ends):
        folder = forge(number, finished=end.isoformat())
        moment = end.timestamp() if number != 3 else datetime.now(UTC).timestamp()
        os.utime(folder / "run.json", (moment, moment))
    opened: list[str] = []
    usual = earlier.read_record
    monkeypatch.setattr(
        earlier, "read_record", lambda folder: opened.append(folder.name[13:15]) or usual(folder)
    )
    runs = complete_runs(folder.parent, [])
    assert [next(runs).run_id[13:15] for _ in range(2)] == ["11", "10"]
    assert set(opened) <= {"03", "11", "10", "09"}
    assert [run.run_id[13:15] for run in runs] == [f"{number:02}" for number in reversed(range(10))]


def test_a_run_from_the_future_is_a_warning(forge: Forge) -> None:
    home = forge(1, "a").parent
    forge(2, "b", **AHEAD)
    found = reference_run(home, covering("now"), "accepted", results_of)
    assert found.run_id is not None
    assert found.run_id[13:15] == "01"
    (words,) = found.warnings
    assert "20201120T020002Z-4fa1c2 does not count yet" in words
    assert len(distinct_results(home, covering("now"), 3)[0]) == 1


@pytest.mark.parametrize("damage", ["cut", "absent", "flipped"])
def test_a_damaged_run_is_passed_over_with_a_warning(forge: Forge, damage: str) -> None:
    home = forge(1, "a").parent
    table = forge(2, "b") / "metrics.parquet"
    content = table.read_bytes()
    table.unlink()
    if damage == "cut":
        table.write_bytes(content[:-9])
    elif damage == "flipped":
        table.write_bytes(content.replace(b"accuracy", b"accurate"))
    found = reference_run(home, covering("now"), "accepted", results_of)
    assert found.run_id == "20201120T020001Z-4fa1c2"
    assert found.passed_over == (("20201120T020002Z-4fa1c2", "it cannot be read"),)
    (words,) = found.warnings
    assert "an earlier run does not count" in words
    assert "metrics.parquet" in words


def test_a_record_that_cannot_be_read_is_said_once_it_is_come_by(forge: Forge) -> None:
    old, new = forge(1, "a"), forge(3, "c")
    forge(2, "b")
    (old / "run.json").write_text("{}")
    assert distinct_results(new.parent, covering("now"), 2)[1] == []
    (new / "run.json").write_text("[" * 100_000)
    results, warnings = distinct_results(new.parent, covering("now"), 1)
    assert [result.record["run_id"][13:15] for result in results] == ["02"]
    (words,) = warnings
    assert str(new) in words


def test_runs_of_the_same_data_count_once(forge: Forge) -> None:
    home = forge(1, "a").parent
    for second, data in enumerate(["b", "c", "b", "b", "now", "c"], start=2):
        forge(second, data)
    results, _ = distinct_results(home, covering("now"), 9)
    assert [result.record["run_id"][13:15] for result in results] == ["07", "05", "01"]
    assert len(distinct_results(home, covering("now"), 2)[0]) == 2


def test_what_a_run_lacks_is_told_where_no_run_has_it(forge: Forge) -> None:
    from plmetrics.core.errors import DataError

    def check(run: StoredRun) -> None:
        msg = f"{run.run_id} lacks it"
        raise DataError(msg)

    home = forge(1, "a").parent
    last = forge(2, "b")
    found = reference_run(home, covering("now"), "accepted", results_of, check)
    assert found.run_id is None
    assert f"{last.name} lacks it" in str(found.lack)


METRICS = ["recall", "precision", "f1", "mcc", "accuracy", "specificity"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    pl.DataFrame({"y": [0, 1, 1, 0] * 5, "p": [0.1, 0.9, 0.4, 0.6] * 5}).write_parquet(tmp_path / "t.parquet")
    file = tmp_path / "s.yaml"
    file.write_text(
        "data: {path: t.parquet}\ncolumns: {label: y}\nmodels: {m: p}\noutput: {directory: runs}\n"
    )
    return file


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
def test_the_sixth_choice_is_told_and_a_repeated_one_is_not(suite: Path) -> None:
    def told(**settings: Any) -> list[str]:
        warnings = plm.run(suite, set=settings).warnings
        return [text for text in warnings if text.startswith("the same rows")]

    assert [told(metrics=[name]) for name in METRICS[:MANY]] == [[]] * MANY
    assert told(metrics=METRICS[:1]) == []
    (text,) = told(metrics=[METRICS[MANY]])
    assert text.startswith(
        f"the same rows were evaluated in {MANY + 1} earlier runs, with {MANY} other choices"
    )
    assert told(metrics=[METRICS[MANY]]) == []
    assert told(**{"metrics": ["brier"], "data.where": "p < 0.8"}) == []
    frame = pl.read_parquet(suite.parent / "t.parquet")
    frame.head(12).write_parquet(suite.parent / "t.parquet")
    assert told(metrics=["brier"]) == []
