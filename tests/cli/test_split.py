from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.cli.split import OPTIONS, Method, parameters_of

TABLE = pl.DataFrame({"id": range(40), "y": [i % 2 for i in range(40)], "g": [i // 4 for i in range(40)]})


@pytest.fixture
def data(tmp_path: Path) -> str:
    TABLE.write_parquet(tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("--method", "stratified", "--label", "y", "--key", "id", "--folds", "4", "--seed", "2"),
            lambda: plm.splits.stratified(TABLE, 4, label="y", key="id", seed=2),
        ),
        (("--method", "grouped", "--group", "g"), lambda: plm.splits.grouped(TABLE, group="g")),
        (
            ("--method", "nested", "--key", "id", "--folds", "3", "--inner", "2", "--wide"),
            lambda: plm.splits.nested(TABLE, 3, 2, key="id", long=False),
        ),
        (
            ("--method", "time_ordered", "--time", "id", "--folds", "2", "--gap", "2.5", "--test", "6"),
            lambda: plm.splits.time_ordered(TABLE, 2, time="id", gap=2.5, test=6),
        ),
        (
            ("--method", "holdout", "--key", "g", "--share", "train=0.5", "--share", "test=0.5", "--by-hash"),
            lambda: plm.splits.holdout(TABLE, {"train": 0.5, "test": 0.5}, key="g", exact=False),
        ),
        (
            ("--method", "holdout", "--key", "id", "--share", "0.25"),
            lambda: plm.splits.holdout(TABLE, 0.25, key="id"),
        ),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_the_file_is_what_the_function_gives(
    invoke: Any, tmp_path: Path, data: str, options: tuple[str, ...], expected: Any, ending: str
) -> None:
    output = tmp_path / "new" / f"out.{ending}"
    outcome = invoke("split", data, *options, "--output", str(output))
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("written: ")
    read = pl.read_parquet(output) if ending == "parquet" else pl.read_csv(output)
    assert read.rows() == expected().rows()
    assert [path.name for path in output.parent.iterdir()] == [output.name]


def test_a_file_is_not_replaced_unasked(invoke: Any, tmp_path: Path, data: str) -> None:
    output = tmp_path / "out.csv"
    output.write_text("mine")
    refused = invoke("split", data, "--method", "k_fold", "--output", str(output))
    assert (refused.code, output.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert invoke("split", data, "--method", "k_fold", "--output", str(output), "--force").code == 0
    assert pl.read_csv(output).height == 40


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--method", "stratified"), 2, "method stratified needs --label"),
        (("--method", "k_fold", "--label", "y"), 2, "--label is not for method k_fold"),
        (("--method", "k_fold", "--folds", "1"), 2, "folds must be a whole number of 2 or more"),
        (("--method", "grouped", "--group", "h"), 4, "column 'h' (group) is not in the data"),
        (("--method", "grouped", "--group", "g", "--folds", "11"), 4, "too few for 11 folds"),
        (
            ("--method", "holdout", "--share", "a=0.2", "--share", "0.8"),
            2,
            "expected a number, or PART=SHARE",
        ),
        (("--method", "holdout", "--share", "x"), 2, "expected a number, or PART=SHARE"),
        (("--method", "time_ordered", "--time", "id", "--gap", "2d"), 2, "holds numbers: write a number"),
    ],
)
def test_what_is_wrong_is_said(
    invoke: Any, tmp_path: Path, data: str, options: tuple[str, ...], code: int, words: str
) -> None:
    outcome = invoke("split", data, *options, "--output", str(tmp_path / "out.parquet"))
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [
        ("rows.parquet", 2, "is part of the data"),
        ("out.xlsx", 2, "end the name in .parquet or .csv"),
        ("rows.parquet/out.csv", 6, "cannot be written"),
    ],
)
def test_where_a_file_cannot_be(
    invoke: Any, tmp_path: Path, data: str, output: str, code: int, words: str
) -> None:
    place = str(tmp_path / output)
    outcome = invoke("split", data, "--method", "k_fold", "--output", place, "--force")
    assert outcome.code == code
    assert words in outcome.err
    assert pl.read_parquet(data).equals(TABLE)


def test_every_method_has_its_function_and_options() -> None:
    assert set(get_args(Method)) == set(plm.splits.__all__)
    options = [parameters_of(method) for method in get_args(Method)]
    assert {option for of_method in options for option in of_method} == set(OPTIONS)
    assert all({"name"} < of_method.keys() for of_method in options)


@pytest.mark.parametrize("options", [("--by-hash", "--key", "id"), ()], ids=["by hash", "exact"])
def test_an_empty_table_is_one_without_data_yet(
    invoke: Any, tmp_path: Path, options: tuple[str, ...]
) -> None:
    TABLE.clear().write_csv(tmp_path / "empty.csv")
    output = tmp_path / "out.csv"
    outcome = invoke("split", str(tmp_path / "empty.csv"), "--method", "k_fold", *options, "-o", str(output))
    assert (outcome.code, output.exists()) == (5, False)
    assert "the table has no rows" in outcome.err


@pytest.mark.parametrize("value", [b"x", [1], {"a": 1}, timedelta(1)], ids=lambda value: type(value).__name__)
def test_a_column_that_csv_has_no_form_for_is_told(invoke: Any, tmp_path: Path, value: Any) -> None:
    pl.DataFrame({"id": [1, 2], "extra": [value, value]}).write_parquet(tmp_path / "rows.parquet")
    words = ("split", str(tmp_path / "rows.parquet"), "--method", "k_fold", "--folds", "2", "-o")
    outcome = invoke(*words, str(tmp_path / "out.csv"))
    assert outcome.code == 2
    assert "column 'extra' is of type" in outcome.err
    assert invoke(*words, str(tmp_path / "out.parquet")).code == 0
