"""`--format json` prints one JSON object for every outcome, and the page of errors has its schema."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
SUITE = """\
name: nightly
data: {path: day.parquet}
columns: {label: y}
models: {m: p}
metrics: [roc_auc]
gates: [{metric: roc_auc, at_least: 0.5}]
"""
JSON = ("--format", "json")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    block = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert block is not None
    content: dict[str, Any] = json.loads(block[1])
    jsonschema.Draft202012Validator.check_schema(content)
    return content


@pytest.fixture
def folder(root: Path) -> Path:
    pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7]}).write_parquet("day.parquet")
    pl.DataFrame({"y": [0, 1], "p": [0.1, None]}).write_parquet("nulls.parquet")
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")
    Path("wrong.yaml").write_text(SUITE.replace("roc_auc]", "roc_acu]"), encoding="utf-8")
    Path("strict.yaml").write_text(SUITE.replace("0.5", "0.99"), encoding="utf-8")
    Path("nulls.yaml").write_text(SUITE.replace("day", "nulls"), encoding="utf-8")
    return root


def one_object(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(text)
    jsonschema.validate(content, schema)
    return content


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        ("run suite.yaml", 0, None),
        ("run suite.yaml --quiet", 0, None),
        ("run strict.yaml", 3, None),
        ("run wrong.yaml", 2, "ConfigError"),
        ("run nulls.yaml", 4, "DataError"),
        ("run suite.yaml --set missing=1", 2, "ConfigError"),
        ("run suite.yaml --set nothing", 2, "UsageError"),
        ("run suite.yaml --unknown", 2, "UsageError"),
        ("run", 2, "UsageError"),
        ("unknown", 2, "UsageError"),
        ("--unknown run suite.yaml", 2, "UsageError"),
        ("run suite.yaml --output day.parquet", 6, "EnvironmentFault"),
        ("validate suite.yaml", 0, None),
        ("validate wrong.yaml", 2, "ConfigError"),
        ("validate", 2, "UsageError"),
        ("state suite.yaml --output here.state", 0, None),
        ("state nulls.yaml", 4, "DataError"),
        ("merge day.parquet", 4, "StateFault"),
        ("metrics roc_acu", 2, "UsageError"),
        ("explain wrong.yaml", 2, "ConfigError"),
    ],
)
def test_every_outcome_is_one_object(
    invoke: Any, folder: Path, schema: dict[str, Any], command: str, code: int, error: str | None
) -> None:
    outcome = invoke(*command.split(), *JSON)
    content = one_object(outcome.out, schema)
    assert (outcome.code, content["exit_code"], content.get("error")) == (code, code, error)
    assert content["status"] == ("complete" if error is None else "failed")
    if error is not None:
        assert outcome.err
        assert content["problems"]


def test_a_failed_run_names_its_folder_and_the_place(invoke: Any, folder: Path, schema: Any) -> None:
    for suite, place in (("wrong.yaml", ["metrics", 0]), ("nulls.yaml", ["models", "m"])):
        content = one_object(invoke("run", suite, *JSON).out, schema)
        record = json.loads((Path(content["folder"]) / "run.json").read_text())
        (problem,) = content["problems"]
        assert (record["status"], record["exit_code"]) == ("failed", content["exit_code"])
        assert record["problems"][0]["message"] == problem["message"]
        where = problem["where"]
        assert record["problems"][0]["where"] == f"{where['file']}:{where['line']}:{where['column']}"
        assert (problem["path"], where["file"]) == (place, suite)


def test_reports_and_differences(invoke: Any, folder: Path, schema: Any) -> None:
    first = one_object(invoke("run", "suite.yaml", *JSON).out, schema)["folder"]
    second = one_object(invoke("run", "strict.yaml", *JSON).out, schema)["folder"]
    assert one_object(invoke("report", second, *JSON).out, schema)["folder"] == second
    page = invoke("report", second, "--html", "page.html", *JSON)
    assert one_object(page.out, schema)["verdict"] == "fail"
    assert Path("page.html").is_file()
    assert one_object(invoke("diff", first, second, *JSON).out, schema)["exit_code"] == 0
    failed = invoke("diff", first, second, "--fail-on", "change", *JSON)
    assert (failed.code, one_object(failed.out, schema)["exit_code"]) == (3, 3)
    assert one_object(invoke("report", "nowhere", *JSON).out, schema)["error"] == "AbsentRun"
    (Path(second) / "metrics.parquet").write_bytes(b"")
    assert one_object(invoke("diff", first, second, *JSON).out, schema)["status"] == "failed"


def test_merged_states(invoke: Any, folder: Path, schema: Any) -> None:
    written = one_object(invoke("state", "suite.yaml", *JSON).out, schema)
    merged = one_object(invoke("merge", written["state"], "--output", "out", *JSON).out, schema)
    assert Path(merged["folder"], "run.json").is_file()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), ZeroDivisionError("\x1b[2J"), pl.exceptions.PanicException("x")]
)
def test_bugs_and_interrupts(invoke: Any, api_run: Any, schema: Any, error: BaseException) -> None:
    api_run(error)
    outcome = invoke("run", "suite.yaml", *JSON)
    content = one_object(outcome.out, schema)
    assert content["exit_code"] == outcome.code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert "\x1b" not in outcome.out
    assert content["folder"] is None


@pytest.mark.slow
def test_a_process_prints_one_object(folder: Path, schema: Any) -> None:
    words = [sys.executable, "-m", "plmetrics", "run", "suite.yaml", "--format=json", "--outptu", "x"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == one_object(done.stdout, schema)["exit_code"] == 2
    assert "No such option" in done.stderr


def test_other_formats_print_nothing_where_they_fail(invoke: Any, folder: Path) -> None:
    assert invoke("run", "wrong.yaml", "--format", "csv").out == ""
    assert invoke("run", "wrong.yaml", "--unknown").out == ""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_behind_a_stream_is_told_on_the_other_one(folder: Path) -> None:
    command = [sys.executable, "-m", "plmetrics", "run", "suite.yaml", *JSON]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        no_result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        no_words = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert (no_result.returncode, no_words.returncode) == (6, 0)
    assert "no space left on device" in no_result.stderr
    assert "Traceback" not in no_result.stderr
    assert json.loads(no_words.stdout)["verdict"] == "pass"
