import csv
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from plmetrics.cli.run import result_text
from plmetrics.core.results import TABLES
from plmetrics.report import export
from plmetrics.report.export import to_csv, to_json


def refuse(text: str) -> None:
    raise AssertionError(text)


def test_json_holds_all_tables(result: SimpleNamespace) -> None:
    content = json.loads(to_json(result, Path("runs/x")), parse_constant=refuse)
    assert list(content) == ["status", "exit_code", "name", "verdict", "run_id", "folder", *TABLES]
    assert (content["name"], content["verdict"], content["folder"]) == ("credit-risk", "fail", "runs/x")
    assert content["run_id"] == "20261120T020000Z-4fa1c2"
    for name, schema in TABLES.items():
        assert content[name] == getattr(result, name).to_dicts()
        assert all(list(row) == list(schema) for row in content[name])


def test_json_by_parts_of_tables_is_that_of_the_whole(
    result: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of a million rows, and the texts of their lines, took 7 GB."""
    heights: list[int] = []
    written = export.json_text

    def measured(content: Any) -> str:
        heights.append(len(content) if isinstance(content, list) else 0)
        return written(content)

    monkeypatch.setattr(export, "json_text", measured)
    monkeypatch.setattr(export, "_ROWS_AT_ONCE", 2)
    text = to_json(result)
    assert result.metrics.height > 2 == max(heights)
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_json_has_null_for_what_is_no_number(result: SimpleNamespace, number: float) -> None:
    changed = type(result)(**vars(result))
    changed.metrics = result.metrics.head(2).with_columns(threshold=pl.Series([number, 0.5]))
    rows = json.loads(to_json(changed), parse_constant=refuse)["metrics"]
    assert [row["threshold"] for row in rows] == [None, 0.5]


def test_csv_is_the_metrics_table(result: SimpleNamespace) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(result))))
    for row, expected in zip(rows, result.metrics.rows(named=True), strict=True):
        pairs = "; ".join(f"{pair['column']}={pair['value']}" for pair in expected.pop("slice_values"))
        assert row.pop("slice_values") == pairs
        for column, value in expected.items():
            text = row[column]
            assert (
                (text == "")
                if value is None
                else (float(text) == value if isinstance(value, float) else text == str(value))
            )


def test_csv_keeps_awkward_names_apart(result: SimpleNamespace) -> None:
    changed = type(result)(**vars(result))
    values = [[{"column": "a", "value": 'say "hi", you'}, {"column": "b", "value": "two\nlines"}], []]
    changed.metrics = result.metrics.head(2).with_columns(
        slice_values=pl.Series(values, dtype=result.metrics.schema["slice_values"])
    )
    first, second = csv.DictReader(io.StringIO(to_csv(changed)))
    assert first["slice_values"] == 'a=say "hi", you; b=two\nlines'
    assert second["slice_values"] == ""


def test_no_export_writes_control_characters_to_a_terminal(
    result: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "north\x1b[2J\x9b\u202e"
    changed = type(result)(**vars(result) | {"folder": None})
    changed.metrics = result.metrics.with_columns(slice=pl.lit(evil))
    assert {row["slice"] for row in json.loads(to_json(changed))["metrics"]} == {evil}
    assert evil in result_text(changed, "csv", quiet=True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for form in ("csv", "json"):
        text = result_text(changed, form, quiet=True)
        assert all(character == "\n" or character.isprintable() for character in text)
