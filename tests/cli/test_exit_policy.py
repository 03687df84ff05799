"""Options of `run` that choose its exit code; run.json and latest.json have the same."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

SUITE = """\
name: nightly
data: {path: "scores/day=${DAY}"}
columns: {label: y}
models: {m: p}
metrics: [roc_auc, log_loss]
gates:
  - {metric: log_loss, at_most: 0.01, level: warn}
  - {metric: roc_auc, at_least: 0.5, slices: [g]}
slices: {g: [g]}
"""


@pytest.fixture
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAY", "2026-03-01")
    Path("scores/day=2026-03-01").mkdir(parents=True)
    frame = pl.DataFrame({"y": [0, 1, 0, 0], "p": [0.1, 0.9, 0.2, 0.3], "g": ["a", "a", "b", "b"]})
    frame.write_parquet("scores/day=2026-03-01/x.parquet")
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    return root


def recorded(folder: Path) -> tuple[int, str]:
    pointer = json.loads((folder / "runs/nightly/latest.json").read_text())
    record = json.loads((folder / "runs/nightly" / pointer["folder"] / "run.json").read_text())
    assert (pointer["exit_code"], pointer["verdict"]) == (record["exit_code"], record.get("verdict"))
    return record["exit_code"], record.get("verdict")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("options", "code", "last"),
    [
        ((), 0, "warning"),
        (("--fail-on", "warn"), 3, "exit code 3: failed checks of level warn: 1 (--fail-on warn)"),
        (("--fail-on", "inconclusive"), 3, "exit code 3: inconclusive checks: 1 (--fail-on inconclusive)"),
        (("--fail-on", "inconclusive, warn"), 3, "exit code 3: inconclusive checks: 1 (--fail-on inconc"),
        (("--fail-on", "warn", "--fail-on", "inconclusive"), 3, "exit code 3: failed checks of level warn"),
    ],
)
def test_fail_on(invoke: Any, folder: Path, options: tuple[str, ...], code: int, last: str) -> None:
    outcome = invoke("run", "suite.yaml", "--format", "json", *options)
    assert outcome.code == code
    assert json.loads(outcome.out)["exit_code"] == code
    assert json.loads(outcome.out)["verdict"] == "inconclusive"
    assert outcome.err.splitlines()[-1].startswith(last)
    assert recorded(folder) == (code, "inconclusive")


def test_an_unknown_word(invoke: Any, folder: Path) -> None:
    outcome = invoke("run", "suite.yaml", "--fail-on", "warning")
    assert (outcome.code, Path("runs").exists()) == (2, False)
    assert "did you mean 'warn'?" in outcome.err


def test_skip_if_empty(invoke: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAY", "2026-03-02")
    for options, code in ((), 5), (("--skip-if-empty",), 99):
        outcome = invoke("run", "suite.yaml", *options)
        assert outcome.code == code
        assert "day=2026-03-01 before it" in outcome.err
        assert recorded(folder) == (code, None)
    file = folder / "scores/day=2026-03-02/x.parquet"
    file.parent.mkdir()
    file.write_bytes(b"damaged")
    assert invoke("run", "suite.yaml", "--skip-if-empty").code == 4
