import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm

TABLE = pl.DataFrame(
    {
        "variant": ["A"] * 300 + ["B"] * 300,
        "bought": [1] * 30 + [0] * 270 + [1] * 45 + [0] * 255,
        "spent": [float(i % 7) for i in range(600)],
        "country": ["de", "fr"] * 300,
        "user": [i // 2 for i in range(600)],
    }
)
ASKED = ("--outcome", "bought", "--arm", "variant", "--control", "A")


@pytest.fixture
def data(tmp_path: Path) -> str:
    TABLE.write_parquet(tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


def test_text_is_for_people(invoke: Any, data: str) -> None:
    outcome = invoke("readout", data, *ASKED, "--outcome", "spent", "--by", "country")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("sample ratio (p 1.00): arms as expected: A 300 of 300, B 300 of 300")
    assert "bought (two_proportion_z, 95% intervals)" in outcome.out
    line = next(line for line in outcome.out.splitlines() if line.split()[:2] == ["overall", "B"])
    assert line.split()[2:6] == ["300", "0.15", "300", "0.1"]
    assert line.split()[6:] == ["+0.050", "[-0.003,", "+0.103]", "+50.0%", "0.0641", "0.13"]
    assert "country=fr" in outcome.out


def test_a_note_of_some_slices_names_them(invoke: Any, tmp_path: Path) -> None:
    exact = pl.col("country") == "de"
    known = pl.when(exact).then("spent").otherwise(pl.int_range(pl.len()) % 2)
    TABLE.with_columns(known=known).write_parquet(tmp_path / "rows.parquet")
    options = ("--arm", "variant", "--control", "A", "--outcome", "spent", "--covariate", "known")
    out = invoke("readout", str(tmp_path / "rows.parquet"), *options, "--by", "country").out
    assert "\ncountry=de: the covariate takes 100% off the variance" in out.replace("  ", "")
    assert "\noverall: the covariate takes" in out.replace("  ", "")


def test_a_note_of_one_of_several_arms_names_it(invoke: Any, tmp_path: Path) -> None:
    third = TABLE.filter(variant="B").with_columns(variant=pl.lit("C"), spent=pl.col("spent") * 2)
    known = pl.col("spent") + pl.int_range(pl.len()) % 3
    pl.concat([TABLE, third]).with_columns(known=known).write_parquet(tmp_path / "rows.parquet")
    options = ("--arm", "variant", "--control", "A", "--outcome", "spent", "--covariate", "known")
    out = invoke("readout", str(tmp_path / "rows.parquet"), *options).out.replace("  ", "")
    assert "\nB, overall: the covariate takes" in out
    assert "\nC, overall: the covariate takes" in out


def test_missing_values_name_the_option_that_leaves_them_out(invoke: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "rows.parquet")
    TABLE.with_columns(spent=pl.when(pl.col("user") > 0).then("spent")).write_parquet(path)
    options = ("--arm", "variant", "--control", "A", "--outcome", "spent")
    outcome = invoke("readout", path, *options)
    assert outcome.code == 4
    assert "--missing drop" in outcome.err
    assert invoke("readout", path, *options, "--missing", "drop").code == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("extra", [(), ("--unit", "user"), ("--mde", "0.1", "--no-ranks", "--level", "0.9")])
def test_csv_and_json_hold_the_table(invoke: Any, data: str, extra: tuple[str, ...]) -> None:
    options: dict[str, Any] = {"unit": "user"} if "--unit" in extra else {}
    if "--mde" in extra:
        options = {"mde": 0.1, "ranks": False, "level": 0.9}
    table = plm.readout(TABLE, "bought", arm="variant", control="A", **options)
    as_json = invoke("readout", data, *ASKED, *extra, "--format", "json")
    assert (as_json.code, as_json.err) == (0, "")
    read = pl.DataFrame(json.loads(as_json.out), schema=table.schema)
    assert_frame_equal(read, table)
    rows = list(csv.DictReader(io.StringIO(invoke("readout", data, *ASKED, *extra, "--format", "csv").out)))
    assert list(rows[0]) == table.columns
    assert float(rows[0]["p_value"]) == pytest.approx(table["p_value"][0])


def test_a_mismatch_is_a_warning(invoke: Any, data: str) -> None:
    shares = ("--share", "A=0.8", "--share", "B=0.2")
    outcome = invoke("readout", data, *ASKED, *shares, "--format", "csv")
    assert outcome.code == 0
    assert outcome.err.startswith("warning: sample ratio mismatch: do not trust the rest: A 300 of 480")
    assert invoke("readout", data, *ASKED, *shares).out.startswith("SAMPLE RATIO MISMATCH (p <0.001)")


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--outcome", "bought", "--arm", "variant", "--control", "C"), 2, "known: A, B"),
        ((*ASKED, "--share", "A"), 2, "expected ARM=SHARE"),
        ((*ASKED, "--share", "A=1"), 2, "shares must be of all arms"),
        ((*ASKED, "--share", "A=0.3", "--share", "A=0.5"), 2, "--share has two values for 'A'"),
        ((*ASKED, "--ratio", "r=bought/user", "--ratio", "r=bought/spent"), 2, "two values for 'r'"),
        ((*ASKED, "--quantile", "q=spent@0.5", "--quantile", "q=spent@0.9"), 2, "two values for 'q'"),
        ((*ASKED, "--covariate", "bought=user", "--covariate", "bought=spent"), 2, "two values for 'bought'"),
        ((*ASKED, "--quantile", "=spent@0.5"), 2, "expected NAME=COLUMN@LEVEL"),
        ((*ASKED, "--by", "land"), 4, "column 'land' (slices) is not in the data"),
        (("--outcome", "country", "--arm", "variant", "--control", "A"), 4, "must hold numbers or booleans"),
    ],
)
def test_what_is_wrong_is_said(
    invoke: Any, data: str, options: tuple[str, ...], code: int, words: str
) -> None:
    outcome = invoke("readout", data, *options)
    assert (outcome.code, outcome.out) == (code, "")
    assert words in outcome.err


def test_ratios_covariates_and_strata(invoke: Any, data: str) -> None:
    asked = (
        "--outcome",
        "bought",
        "--ratio",
        "rate=bought/spent",
        "--covariate",
        "bought=user",
        "--strata",
        "country",
    )
    outcome = invoke("readout", data, *asked, "--arm", "variant", "--control", "A", "--format", "json")
    assert (outcome.code, outcome.err.count("warning:")) == (0, 1)
    assert "covariate 'user' differs between the arms" in outcome.err  # Ids count on from arm to arm.
    table = plm.readout(
        TABLE,
        "bought",
        "variant",
        "A",
        ratio={"rate": ["bought", "spent"]},
        covariate={"bought": "user"},
        strata="country",
    )
    assert_frame_equal(pl.DataFrame(json.loads(outcome.out), schema=table.schema), table)
    wrong = invoke("readout", data, *ASKED, "--ratio", "bought")
    assert (wrong.code, "expected NAME=COLUMN/COLUMN" in wrong.err) == (2, True)
