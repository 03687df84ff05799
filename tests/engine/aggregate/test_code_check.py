from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import PlmetricsError
from plmetrics.engine.aggregate.totals import check_codes
from plmetrics.engine.prepare import preparation
from plmetrics.table.slice_keys import SliceKey
from plmetrics.table.slices import Cube, KeyCodes

VALUES = {
    "text": ["a", "b", "c"],
    "number": [4, 5, 6],
    "share": [0.25, 0.5, 0.75],
    "flag": [False, True, True],
}


def cube(column: str, values: list[Any]) -> Cube:
    key = SliceKey(column, column, pl.col(column), "column")
    return Cube((KeyCodes.of(key, pl.Series(column, values)),), ())


@pytest.mark.parametrize("column", VALUES)
@pytest.mark.parametrize("place", [0, 2])
def test_counted_rows_of_a_value_without_a_code_are_an_error(column: str, place: int) -> None:
    value = VALUES[column][place]
    listed = cube(column, [other for other in VALUES[column] if other != value])
    sums = pl.DataFrame({column: [*VALUES[column], None], "a|n": [1, 1, 1, 1], "b|n": [1, 0, 0, 1]})
    check_codes(cube(column, VALUES[column]), sums, ["a|n", "b|n"])
    with pytest.raises(PlmetricsError, match=rf"no slice was listed for {column} = {value!r}"):
        check_codes(listed, sums, ["a|n", "b|n"])
    uncounted = sums.with_columns(pl.when(pl.col(column) != value).then(pl.col("^.*n$")).otherwise(0))
    check_codes(listed, uncounted, ["a|n", "b|n"])


@pytest.mark.parametrize("metrics", [["accuracy"], ["accuracy", "roc_auc"]])
@pytest.mark.parametrize("options", [{}, {"exact": False}, {"uncertainty": {"replicates": 20}}])
def test_a_run_counts_no_row_of_another_slice(
    monkeypatch: pytest.MonkeyPatch, metrics: list[str], options: dict[str, Any]
) -> None:
    codes_of = preparation.key_codes

    def without_the_first(*arguments: Any) -> dict[str, KeyCodes]:
        return {
            name: KeyCodes(codes.key, codes.values.sort()[1:]) for name, codes in codes_of(*arguments).items()
        }

    monkeypatch.setattr(preparation, "key_codes", without_the_first)
    table = pl.DataFrame({"y": [1, 0, 1, 0], "s": [0.9, 0.1, 0.2, 0.7], "g": ["a", "b", None, "c"]})
    with pytest.raises(PlmetricsError, match="no slice was listed for g = 'a'"):
        plm.evaluate(table, label="y", models="s", metrics=metrics, slices=["g"], **options)
