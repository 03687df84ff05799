"""How a run folder comes into sight, whatever the system does meanwhile, and what killed runs leave."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import plmetrics as plm
from plmetrics.runs import folder as folders
from plmetrics.runs.folder import RunFolder
from plmetrics.runs.work_folder import work_folder
from tests.runs.conftest import SUITE, write_day

OLD = time.time() - 25 * 60 * 60


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_day(tmp_path, 18)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SUITE))
    return tmp_path / "s.yaml"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("right", "verdict"), [(18, "pass"), (2, "fail")])
@pytest.mark.parametrize("fails", ["sync_directory", "update"])
def test_what_goes_wrong_once_a_run_is_in_sight_is_a_warning(
    suite: Path, monkeypatch: pytest.MonkeyPatch, fails: str, right: int, verdict: str
) -> None:
    home = suite.parent / "runs" / "nightly"
    usual = getattr(folders, fails)

    def broken(path: Path, *content: Any) -> None:
        if any(home.glob("2*")) and home in (path, path.parent):
            raise OSError(5, "Input/output error")
        usual(path, *content)

    write_day(suite.parent, right)
    monkeypatch.setattr(folders, fails, broken)
    result = plm.run(suite)
    assert result.verdict == verdict
    assert result.folder is not None
    assert (result.folder / "metrics.parquet").is_file()
    (words,) = [text for text in result.record["warnings"] if "the run is in" in text]
    assert str(result.folder) in words
    assert "input/output error" in words
    assert (home / "latest.json").is_file() == (fails == "sync_directory")


def test_the_pointer_stays_with_the_run_that_ended_last(suite: Path) -> None:
    home = suite.parent / "runs" / "nightly"
    runs = [RunFolder.start(suite.parent / "runs", "nightly") for _ in range(2)]
    names = [run.fail(4, "broken").name for run in reversed(runs)]
    pointer = home / "latest.json"
    assert json.loads(pointer.read_text())["folder"] == names[-1]
    later = json.loads(pointer.read_text())
    runs[0].record["finished"] = runs[1].record["finished"]
    runs[0]._point()
    runs[1].record["finished"] = "2000-01-01T00:00:00.000Z"
    runs[1]._point()
    assert json.loads(pointer.read_text())["folder"] == later["folder"]
    for odd in ('{"finished": "2999-01-01T00:00:00.000Z"}', '{"finished": 3}', "[" * 100_000, "[]"):
        pointer.write_text(odd)
        runs[1]._point()
        assert json.loads(pointer.read_text())["folder"] == runs[1].run_id


def test_leftovers_of_killed_runs_go_once_they_are_a_day_old(suite: Path) -> None:
    """Those of a run that is still at work stay, however old they are, and so do folders of others."""
    home = suite.parent / "runs" / "nightly"
    killed, young = "20261101T020000Z-aaaaaa", "20261101T020000Z-bbbbbb"
    for name in (killed, young):
        (home / work_folder(name)).mkdir(parents=True)
        ((home / work_folder(name)) / "run.json").write_text("{}")
    (home / ".mine.partial").mkdir()
    (home / ".0123456789abcdef.tmp").touch()
    alive = RunFolder.start(suite.parent / "runs", "nightly")
    for path in (home / ".mine.partial", home / ".0123456789abcdef.tmp", home / work_folder(killed)):
        os.utime(path, (OLD, OLD))
    os.utime(home / work_folder(alive.run_id), (OLD, OLD))
    plm.run(suite)
    left = {path.name for path in home.iterdir() if path.name.startswith(".")}
    assert left == {f".{young}.partial", f".{alive.run_id}.partial", ".mine.partial"}
    assert alive.fail(4, "broken").is_dir()
