import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plmetrics as plm

SUITE = "defaults: [common.yaml, nightly.yaml]\nname: x\n"
COMMON = "data: {path: '*.arrow'}\ncolumns: {label: y}\nmodels: {a: p}\nmetrics: [roc_auc]\n"
NIGHTLY = "metrics: [accuracy]\nuncertainty: true\n"


@pytest.fixture(autouse=True)
def folder(root: Path) -> Path:
    pl.DataFrame({"y": [0, 1] * 10, "p": [0.25, 0.75] * 10}).write_ipc("t.arrow")
    for name, text in {"suite": SUITE, "common": COMMON, "nightly": NIGHTLY}.items():
        Path(f"{name}.yaml").write_text(text)
    return root


def record() -> dict[str, Any]:
    (path,) = Path("runs/x").glob("*/run.json")
    return dict(json.loads(path.read_text()))


def test_the_record_names_the_files_and_holds_the_merged_suite(invoke):
    assert invoke("run", "suite.yaml").code == 0
    found = record()
    assert found["defaults"] == ["common.yaml", "nightly.yaml"]
    assert found["suite"]["metrics"] == ["accuracy"]
    assert found["suite"]["data"] == {"path": "*.arrow"}
    (file,) = found["files"]
    assert len(file.pop("digest")) == 32
    assert file.pop("folder") == str(Path.cwd())
    assert file == {"path": "t.arrow", "bytes": Path("t.arrow").stat().st_size, "rows": 20}


def test_the_record_without_defaults_does_not_speak_of_them(invoke):
    Path("suite.yaml").write_text(COMMON + "name: x\n")
    assert invoke("run", "suite.yaml").code == 0
    assert "defaults" not in record()


def test_set_wins(invoke):
    outcome = invoke(
        "run",
        "suite.yaml",
        "--set",
        "uncertainty.replicates=50",
        "--set",
        "metrics=[recall, f1]",
        "--format",
        "json",
    )
    assert outcome.code == 0
    found = record()["suite"]
    assert found["metrics"] == ["recall", "f1"]
    assert found["uncertainty"]["replicates"] == 50


def test_set_in_python():
    result = plm.run("suite.yaml", set={"uncertainty.replicates": 50, "metrics": ["recall"]})
    assert result.suite.uncertainty.replicates == 50
    assert result.metrics["metric"].to_list() == ["recall"]
    assert result.record["defaults"] == ["common.yaml", "nightly.yaml"]


def test_a_refused_suite_leaves_its_record_in_the_directory_of_the_defaults(invoke):
    Path("common.yaml").write_text(COMMON + "output: {directory: elsewhere}\n")
    Path("nightly.yaml").write_text("metrics: [acuracy]\n")
    outcome = invoke("run", "suite.yaml")
    assert outcome.code == 2
    assert "nightly.yaml:1:" in outcome.err
    latest = json.loads(Path("elsewhere/x/latest.json").read_text())
    assert (latest["status"], latest["exit_code"]) == ("failed", 2)
    assert not Path("runs").exists()


@pytest.mark.parametrize(("lines", "recorded"), [("", False), ("output: {directory: runs}\n", True)])
def test_a_refused_suite_whose_defaults_cannot_be_read(invoke, lines, recorded):
    """Without them it is not known where its runs are, unless the suite says so itself."""
    Path("common.yaml").unlink()
    Path("suite.yaml").write_text(SUITE + lines)
    assert invoke("run", "suite.yaml").code == 2
    assert Path("runs/x/latest.json").exists() == recorded


def test_the_schema_knows_the_key(invoke):
    schema = json.loads(invoke("schema").out)
    assert schema["properties"]["defaults"]["anyOf"][0]["type"] == "string"
