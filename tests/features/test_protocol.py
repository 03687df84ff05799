"""What adding a feature takes: one folder, and one line in the registry."""

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from architecture.watching import watched

import plmetrics as plm
from plmetrics.features.registry import FEATURES
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render
from plmetrics.suite.schema import json_schema

SUITE: dict[str, Any] = {
    "data": {"path": "rows.parquet"},
    "columns": {"label": "y"},
    "models": {"m": "p"},
    "metrics": ["roc_auc"],
    "slices": {"g": "g"},
}


@pytest.fixture(autouse=True)
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(FEATURES, "toy", "features.toy:ToyFeature")
    rows = {"y": [1, 0, 1, 0, 0, 1], "p": [0.9, 0.2, 0.4, 0.3, 0.6, 0.7], "g": ["a", "a", "a", "b", "b", "b"]}
    pl.DataFrame(rows).write_parquet("rows.parquet")
    return root


def run(**sections: Any) -> plm.Result:
    Path("suite.yaml").write_text(yaml.safe_dump(SUITE | sections))
    return plm.run("suite.yaml")


def test_a_feature_has_a_section_a_sum_a_table_a_gate_and_a_part_of_the_report() -> None:
    result = run(toy=2)
    assert result.others["toy"].rows() == [("overall", "all", 3), ("g", "g=a", 2), ("g", "g=b", 1)]
    assert result.verdict == "fail"
    assert result.warnings == ("toy: g=b has few positives",)
    assert result.metrics["metric"].unique().to_list() == ["roc_auc"]
    assert result.folder is not None
    assert pl.read_parquet(result.folder / "toy.parquet").equals(result.others["toy"])
    assert "Toy\n  all: 3\n  g=a: 2\n  g=b: 1\n" in render(summarise(result))
    assert json_schema()["properties"]["toy"]["description"] == "Positives by slice."


def test_it_adds_no_scan() -> None:
    numbers = []
    for sections in ({}, {"toy": {"at_least": 1}}):
        with watched() as made:
            run(**sections)
        numbers.append(sum(each.scans for each in made))
    assert numbers[0] == numbers[1]


def test_a_wrong_section_is_refused_where_it_stands() -> None:
    with pytest.raises(plm.ConfigError, match="at_least"):
        run(toy={"at_least": "many"})


def test_a_suite_without_it_does_not_load_it() -> None:
    sys.modules.pop("features.toy", None)
    run()
    assert "features.toy" not in sys.modules
