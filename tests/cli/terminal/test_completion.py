import os
import subprocess
import sys
from pathlib import Path

import pytest

from plmetrics.catalogue import registry
from plmetrics.cli.options import metric_names, run_folders, suite_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.yaml", "ab.yml", "notes.txt", "sub/c.yaml", "sub/deep/d.yaml", ".hidden/e.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ("runs/nightly/latest.json", "runs/nightly/2026-1/run.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("incomplete", "found"),
    [
        ("", ["a.yaml", "ab.yml", "sub/c.yaml"]),
        ("a", ["a.yaml", "ab.yml"]),
        ("sub/", ["sub/c.yaml", "sub/deep/d.yaml"]),
        ("./a", ["./a.yaml", "./ab.yml"]),
        ("nowhere/", []),
        ("zzz", []),
    ],
)
def test_suites(folder: Path, incomplete: str, found: list[str]) -> None:
    assert suite_files(incomplete) == found


@pytest.mark.parametrize(
    ("incomplete", "found"),
    [
        ("", ["runs/nightly"]),
        ("ru", ["runs/nightly"]),
        ("runs/", ["runs/nightly"]),
        ("runs/nightly/", ["runs/nightly/2026-1"]),
        ("x", []),
    ],
)
def test_runs(folder: Path, incomplete: str, found: list[str]) -> None:
    assert run_folders(incomplete) == found


def test_absolute_paths(folder: Path) -> None:
    assert suite_files(f"{folder}/a") == [f"{folder}/a.yaml", f"{folder}/ab.yml"]


def test_metrics() -> None:
    names = {metric.name for metric in registry.classes()}
    assert set(metric_names("")) == names
    assert set(metric_names("re")) == {name for name in names if name.startswith("re")}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("words", "number", "found"),
    [
        ("plmetrics va", 1, "validate"),
        ("plmetrics run sub/", 2, "sub/c.yaml"),
        ("plmetrics metrics roc_a", 2, "roc_auc"),
    ],
)
def test_the_shell_asks(folder: Path, words: str, number: int, found: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(number), "_PLMETRICS_COMPLETE": "complete_bash"}
    paths = os.pathsep.join(filter(None, [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "plmetrics"],
        env=os.environ | asked | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found in done.stdout.split()
