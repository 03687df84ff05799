"""Reads that the system refuses: a night ends with exit code 6, and never rests on other results than it should."""

import errno
import io
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from conftest import THOROUGH
from suites.faults import age
from suites.nights import Nights, day, nights

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.api.nights.collection import collect_garbage
from plmetrics.api.result import Result
from plmetrics.core.errors import EnvironmentFault

__all__ = ["nights"]

WINDOW: dict[str, Any] = {
    "compare": {"run": {"window": "2d"}},
    "drift": {"reference": "previous"},
    "keep": {"states": "9d"},
    "gates": [
        {"metric": "roc_auc", "against": {"run": True}, "no_worse_than": 0.1},
        {"metric": "brier", "within": {"sd": 3, "last": 3, "min_intervals": 3}},
    ],
}
BEFORE: dict[str, Any] = {
    "compare": {"run": "previous"},
    "gates": [
        {"metric": "roc_auc", "against": {"run": True}, "no_worse_than": 0.1},
        {"metric": "roc_auc", "at_least": 0.75, "consecutive": 2},
    ],
}


def refuse_read(monkeypatch: pytest.MonkeyPatch, home: Path, at: int, number: int) -> list[str]:
    """Let the system refuse one read below a folder; the paths that were read, in their order."""
    reads: list[str] = []

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def read(path: Any, *arguments: Any, **options: Any) -> Any:
            writes = bool(arguments) and not set(str(arguments[0])) <= {"r", "b"}
            if not writes and not isinstance(path, int) and Path(path).is_relative_to(home):
                reads.append(str(path))
                if len(reads) == at:
                    raise OSError(number, os.strerror(number), str(path))
            return call(path, *arguments, **options)

        return read

    monkeypatch.setattr(io, "open", guarded(io.open))
    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))
    return reads


def summary(result: Result) -> tuple[object, ...]:
    """What an operator sees of a night, and what it was compared with."""
    references = result.record["references"].values()
    names = [(entry["intervals"], entry["passed_over"]) for entry in references]
    gates = result.gates.select("gate", "model", "slice", "verdict", "status", "observed").rows()
    return result.verdict, gates, names


def copies(nights: Nights, folder: Path) -> Iterator[tuple[int, Nights]]:
    """Copies of the nights, without end."""
    for at in count(-2, 1 if THOROUGH else 7):
        copy = Nights(folder / str(at))
        shutil.copytree(nights.folder, copy.folder, ignore=shutil.ignore_patterns(folder.name))
        yield at, copy


@pytest.mark.slow
@pytest.mark.parametrize("changes", [WINDOW, BEFORE], ids=["window", "before"])
def test_every_read_may_be_refused(nights: Nights, tmp_path: Path, changes: dict[str, Any]) -> None:
    nights.write_suite(**changes)
    for number in range(4):
        nights.run(number)
    nights.write(2, bad=True)  # a night with two manifests
    accept(nights.home / nights.run(2).folder.name, because="so it is", by="ann")
    nights.write(3, bad=True)
    trials = copies(nights, tmp_path / "copies")
    undisturbed = summary(next(trials)[1].run(3))
    for at, copy in trials:
        with pytest.MonkeyPatch.context() as patch:
            reads = refuse_read(patch, copy.home, at, errno.EIO if at % 2 else errno.EACCES)
            told = ""
            try:
                assert summary(copy.run(3)) == undisturbed, reads[at - 1 : at]
            except EnvironmentFault as fault:
                told = str(fault)
            assert not told or reads[at - 1] in told
        assert summary(copy.run(3)) == undisturbed, reads[at - 1 : at]
        if len(reads) < at:
            break
    assert at > 20


@pytest.mark.exhaustive
@pytest.mark.alike
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
@pytest.mark.parametrize("name", ["000002.json", "run.json", "metrics.parquet", "removed.json"])
def test_a_reference_that_is_not_read(
    nights: Nights, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """It was passed over: the gate on it was not judged, and the night that should fail ended with 0, for good."""
    nights.write_suite(**BEFORE)
    nights.run(0)
    nights.write(0, height=70)
    nights.run(0)
    nights.write(1, bad=True)
    with monkeypatch.context() as patch:
        opened = io.open

        def refuse(path: Any, *arguments: Any, **options: Any) -> Any:
            if str(path).endswith(name) and ".partial" not in str(path):
                raise OSError(number, os.strerror(number), str(path))
            return opened(path, *arguments, **options)

        patch.setattr(io, "open", refuse)
        with pytest.raises(EnvironmentFault, match=name):
            nights.run(1)
    assert nights.exit_code(1) == 3
    assert nights.run(1).record["references"]["compare.run"]["intervals"] == [day(0)]


def test_a_roll_up_that_is_not_read_stays(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record says that it is of no interval: what cannot be read may not be removed as a failed run."""
    nights.write_suite(keep={"states": "9d"}, gates=None)
    nights.run(0)
    nights.run(1)
    month = plm.merge(nights.home, interval=f"{day(0)}/{day(2)}", output=nights.folder / "runs")
    assert month.folder is not None
    age(nights.home)
    with monkeypatch.context() as patch:
        refuse_read(patch, Path(month.folder) / "run.json", 1, errno.EIO)
        with pytest.raises(EnvironmentFault, match=r"run\.json: input/output error"):
            collect_garbage(nights.suite)
    collect_garbage(nights.suite)
    assert plm.load(month.folder).record["rows"] == month.record["rows"]
