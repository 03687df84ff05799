"""Tables as people have them in memory, and the words for what is none."""

import array
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.table.frames import as_frame

ROWS = pl.DataFrame({"y": [1, 0, 1, 0], "A": [0.9, 0.2, 0.4, 0.3], "g": ["a", "b", "a", None]})
TEXTS = ["a", "b", "a", None]
SCORES = [0.9, 0.2, 0.4, 0.3]


class Stream:
    """A table of a library that nobody knows."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return ROWS.__arrow_c_stream__(requested_schema)


FORMS = {
    "arrays": {"y": np.array([1, 0, 1, 0]), "A": np.array(SCORES), "g": TEXTS},
    "series": {"y": [1, 0, 1, 0], "A": pd.Series(SCORES, index=[7, 7, 7, 7]), "g": ROWS["g"]},
    "objects": {"y": (1, 0, 1, 0), "A": pa.array(SCORES), "g": np.array(TEXTS, dtype=object)},
    "buffers": {"y": pd.Series([1, 0, 1, 0]), "A": array.array("d", SCORES), "g": pd.Series(TEXTS)},
    "records": np.rec.fromarrays([[1, 0, 1, 0], SCORES, np.array(TEXTS, dtype=object)], names="y,A,g"),
    "stream": Stream(),
    "batches": pa.RecordBatchReader.from_batches(ROWS.to_arrow().schema, ROWS.to_arrow().to_batches()),
    "narwhals": nw.from_native(ROWS),
    "lazy narwhals": nw.from_native(ROWS.lazy()),
    "narwhals of pandas": nw.from_native(ROWS.to_pandas()),
    "pandas": ROWS.to_pandas(),
    "pandas with an index": ROWS.to_pandas().set_index("g", append=True)[["y", "A"]],
    "pandas with the name of a column": ROWS.to_pandas().set_index("g", drop=False)[["y", "A", "g"]],
    "sparse pandas": ROWS.to_pandas().astype({"y": pd.SparseDtype("int64", 0), "A": "Sparse[float]"}),
    "pyarrow": ROWS.to_arrow(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_table_in_many_forms(form: str) -> None:
    frame = as_frame(FORMS[form])
    assert frame is not None
    assert_frame_equal(frame.lazy().collect(), ROWS)


def test_nan_of_pandas_is_null_and_of_numpy_is_not() -> None:
    frame = as_frame({"a": pd.Series([1.0, np.nan]), "b": np.array([1.0, np.nan])})
    assert isinstance(frame, pl.DataFrame)
    assert frame.null_count().row(0) == (1, 0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (np.array([1, 0]), "numpy.ndarray holds values without names of columns"),
        (np.zeros((4, 2)), "numpy.ndarray holds values without names"),
        ([1, 0, 1], "list holds values without names"),
        ([[1, 0.5], [0, 0.4]], "list holds values without names"),
        (pl.Series([1]), "polars.series.series.Series holds values without names"),
        (pd.Series([1]), "Series holds values without names"),
        (pa.array([1]), "Int64Array holds values without names"),
        ({"y": [1, 0], "A": np.zeros((2, 2))}, r"column 'A' is an array of shape \(2, 2\)"),
        (
            {"y": [1, 0], "A": np.zeros((2, 1))},
            r"column 'A' is an array of .*\n.* a name: {'A': array\[:, 0\]}",
        ),
        ({"y": [1, 0], "A": 0.5}, "column 'A' is not an array or a list of values, but of type float"),
        (
            {"y": [1, 0], "A": np.array(0.5)},
            "column 'A' is not an array or a list of values, but of type numpy.ndarray",
        ),
        ({"y": [1, 0], "A": "scores"}, "column 'A' is not an array or a list of values, but of type str"),
        ({0: [1, 0]}, "names of columns are texts, not 0"),
    ],
)
def test_arrays_are_refused_with_the_way(data: object, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words) as caught:
        plm.evaluate(data, label="y", models=["A"])  # type: ignore[arg-type]
    hint = str(caught.value.problems[0].hint)
    assert "name the columns" in hint or "a name" in hint


def test_a_section_of_a_suite_is_no_table() -> None:
    with pytest.raises(plm.ConfigError, match=r"hand over a path, .* other keys as arguments: where="):
        plm.evaluate({"path": "a.csv", "where": "x > 1"}, label="y", models=["A"])  # type: ignore[arg-type]


def test_arrays_one_after_another_as_others_take_them() -> None:
    y, scores = np.array([1, 0]), np.array([0.9, 0.1])
    with pytest.raises(plm.ConfigError, match="evaluate takes one table"):
        plm.evaluate(y, scores)  # type: ignore[arg-type]


def test_columns_that_do_not_fit_together() -> None:
    with pytest.raises(plm.DataError, match="not of the same length: y 2, A 3"):
        as_frame({"y": [1, 0], "A": [1, 2, 3]})


def test_columns_go_wherever_a_table_does() -> None:
    columns = {"y": [1, 0, 1, 0] * 30, "A": SCORES * 30, "id": list(range(120))}
    frame = pl.DataFrame(columns)
    asked = {"label": "y", "models": ["A"], "metrics": ["brier"]}
    of_frame, of_columns = (
        plm.evaluate(
            data,
            **asked,
            drift={"reference": data, "columns": ["id"]},
            leakage={"train": data, "keys": ["id"]},
        )
        for data in (frame, columns)
    )
    assert of_frame.leakage["rows"].to_list() == [120]
    for name, table in of_frame.tables.items():
        assert_frame_equal(of_columns.tables[name], table)
    brier = plm.merge(plm.state(columns, **asked)).metrics["value"].item()
    assert brier == pytest.approx(of_frame.metrics["value"].item())
    assert plm.suggest(columns).text == plm.suggest(frame).text


BEYOND = [2**53 + 1, None]
LATE = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
ZONED = pl.Datetime("us", "Europe/Vienna")


@pytest.mark.parametrize(
    ("column", "dtype", "values"),
    [
        (pa.array(BEYOND), pl.Int64, BEYOND),
        (pa.chunked_array([BEYOND, [1]]), pl.Int64, [*BEYOND, 1]),
        (pa.array([0.5, None]), pl.Float64, [0.5, None]),
        (pa.array([["a"], None]), pl.List(pl.String), [["a"], None]),
        (pa.array([LATE], pa.timestamp("us", "Europe/Vienna")), ZONED, [LATE]),
        (pd.array(BEYOND, "Int64"), pl.Int64, BEYOND),
        (pd.array([True, None], "boolean"), pl.Boolean, [True, None]),
        (pd.Categorical(["a", None]), pl.Categorical(), ["a", None]),
        (pd.period_range("2026-01", "2026-02", freq="M"), pl.String, ["2026-01", "2026-02"]),
        (
            np.array(["2026-01-01T23:30:00", "NaT"], "M8[s]"),
            pl.Datetime("us"),
            [LATE.replace(tzinfo=None), None],
        ),
        (np.array(["2026-01", "NaT"], "M8[M]"), pl.Date, [LATE.date(), None]),
        (np.array([36], "m8[h]"), pl.Duration("us"), [timedelta(days=1.5)]),
    ],
)
def test_columns_of_other_libraries_keep_nulls_digits_and_zones(
    column: Any, dtype: pl.DataType, values: list[Any]
) -> None:
    found = as_frame({"x": column})
    assert isinstance(found, pl.DataFrame)
    assert found.schema == {"x": dtype}
    assert found["x"].to_list() == values


def test_arrays_of_objects_that_are_no_column() -> None:
    lists = np.array([np.array(["a"]), np.array(["b", "c"]), None], dtype=object)
    assert as_frame({"x": lists}).schema == {"x": pl.Object}


def test_masked_values_of_an_array_are_null() -> None:
    scores = np.ma.array([0.1, 0.9, 0.4], mask=[False, True, False])
    frame = as_frame({"y": np.array([0, 1, 1]), "p": scores})
    assert isinstance(frame, pl.DataFrame)
    assert frame["p"].to_list() == [0.1, None, 0.4]
    found = plm.evaluate(
        {"y": [0, 1, 1], "p": scores}, label="y", models="p", metrics=["accuracy"], missing="drop"
    )
    assert found.metrics.select("value", "n").rows() == [(0.5, 2)]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]"), pl.Datetime("ns")),
        (np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"), pl.Date),
        (np.array([1, 2], dtype=np.uint8), pl.UInt8),
        (np.array([0.1, 0.2], dtype=np.float32), pl.Float32),
        (np.array([True, False]), pl.Boolean),
        (np.array(["a", "b"]), pl.String),
    ],
)
@pytest.mark.parametrize("mask", [[False, True], [True, True], [False, False]])
def test_masked_arrays_keep_their_type(values: np.ndarray, dtype: pl.DataType, mask: list[bool]) -> None:
    column = as_frame({"x": np.ma.array(values, mask=mask)})["x"]
    assert column.dtype == dtype
    expected = pl.Series(values).to_list()
    assert column.to_list() == [
        None if hidden else value for hidden, value in zip(mask, expected, strict=True)
    ]


@pytest.mark.parametrize("names", [["y", "p", "p"], ["y", "p", "p", 0, "0", 0]])
def test_columns_of_one_name_are_told(names: list[Any]) -> None:
    values = [[0, 0.25, 0.75, 1, 2, 3][: len(names)], [1, 0.5, 0.5, 1, 2, 3][: len(names)]]
    table = pd.DataFrame(values, columns=names)
    expected = f"has several columns of the name {', '.join(['p', '0'][: len(names) // 3])}"
    with pytest.raises(plm.DataError, match=f"the pandas DataFrame {expected}"):
        plm.evaluate(table, label="y", models="p", metrics=["brier"])
    arrow = pa.table(list(zip(*values, strict=True)), names=[*map(str, names)])
    with pytest.raises(plm.DataError, match=f"the pyarrow table {expected}"):
        plm.evaluate(arrow, label="y", models="p", metrics=["brier"])


def test_periods_and_intervals_of_pandas_are_texts() -> None:
    months = pd.period_range("2026-01", periods=4, freq="M").to_series(index=range(4))
    months[1] = pd.NaT
    rows = pd.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.2, 0.8], "month": months})
    rows["bin"] = pd.cut([1.0, 2.0, np.nan, 2.0], [0, 1, 2])
    rows["span"] = pd.arrays.IntervalArray.from_breaks(range(5))
    found = plm.evaluate(
        rows, label="y", models="p", metrics=["accuracy"], slices=["month", "bin", "span"]
    ).metrics
    counts = {name: part["n"].to_list() for (name,), part in found.group_by("slice_set", maintain_order=True)}
    assert counts == {"overall": [4], "month": [1, 1, 1, 1], "bin": [1, 2, 1], "span": [1, 1, 1, 1]}
    slices = found["slice"].to_list()
    assert {
        "month=2026-01",
        "month=null",
        'bin="(0, 1]"',
        'bin="(1, 2]"',
        "bin=null",
        'span="(3, 4]"',
    } <= set(slices)


@pytest.mark.parametrize("asked", [{"slices": ["month"]}, {"where": "month IS NOT NULL"}, {"unit": "month"}])
def test_types_of_another_library_are_told(asked: dict[str, object], tmp_path: Path) -> None:
    rows = pd.DataFrame(
        {"y": [0, 1], "p": [0.1, 0.9], "month": pd.period_range("2026-01", periods=2, freq="M")}
    )
    rows.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(plm.DataError, match=r"column 'month' .* is of type Extension.*, of another library"):
        plm.evaluate(tmp_path / "rows.parquet", label="y", models="p", metrics=["accuracy"], **asked)


_ODD: dict[str, list[Any]] = {
    "mixed": [["a"], "b", 3, None],
    "complex": [1j, 2j, 3j, 4j],
    "huge": [10**30, 1, 2, 3],
    "objects": [object(), len, print, None],
    "offset": list(pd.to_datetime(["2026-01-31T02:30:00+05:30"] * 4)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", _ODD)
@pytest.mark.parametrize("form", ["pandas", "columns"])
def test_columns_that_polars_cannot_hold_are_refused_where_they_are_read(name: str, form: str) -> None:
    """One that the suite does not name may hold anything."""
    columns = {"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.8, 0.7], name: pd.Series(_ODD[name])}
    data = pd.DataFrame(columns) if form == "pandas" else columns
    asked = {"label": "y", "models": "p", "metrics": ["roc_auc"]}
    assert plm.evaluate(data, **asked).metrics["value"].to_list() == [0.75]  # type: ignore[arg-type]
    assert plm.merge(plm.state(data, **asked)).metrics["value"].to_list() == [0.75]
    for read in ({"models": name}, {"slices": [name]}, {"weight": name}, {"unit": name}):
        with pytest.raises(plm.DataError, match=f"column '{name}' .* holds Python objects"):
            plm.evaluate(data, **(asked | read))  # type: ignore[arg-type]
    for text in (f"{name} = 'b'", f"{name} > 1", f"CAST({name} AS VARCHAR) = 'b'"):
        with pytest.raises(plm.ConfigError, match=f"'{name}' is of type Object"):
            plm.evaluate(data, where=text, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "scores", [[0, 1, 0.8, 0.5], [None, 0, 0.8, np.int64(1)], [np.float64(0.1), 1, 0, 0]]
)
def test_a_list_of_numbers_may_begin_with_a_whole_one(scores: list[Any]) -> None:
    """Polars takes [0.8, 0] and refuses [0, 0.8]."""
    result = plm.evaluate(
        {"y": [0, 1, 0, 1], "p": scores}, label="y", models="p", metrics=["brier"], missing="drop"
    )
    losses = [
        (label - score) ** 2 for label, score in zip([0, 1, 0, 1], scores, strict=True) if score is not None
    ]
    assert result.metrics["value"].item() == pytest.approx(sum(losses) / len(losses))


@pytest.mark.parametrize("scores", [[0, "0.8", 0.5], [0, True, 0.5], [2**53 + 1, 0, 0.5]])
def test_a_list_of_numbers_and_others_or_beyond_exact_ones_is_refused(scores: list[Any]) -> None:
    with pytest.raises(plm.DataError, match=r"column 'p' .* holds Python objects"):
        plm.evaluate({"y": [0, 1, 1], "p": scores}, label="y", models="p", metrics=["roc_auc"])


def test_a_column_of_pyarrow_that_polars_cannot_hold() -> None:
    odd = pa.array([1, 2], pa.decimal256(40, 0))
    table = pa.table({"y": [0, 1], "p": [0.1, 0.9], "odd": odd})
    assert plm.evaluate(table, label="y", models="p", metrics=["roc_auc"]).metrics["value"].to_list() == [1]
    with pytest.raises(plm.DataError, match=r"column 'odd' .* holds Python objects"):
        plm.evaluate(table, label="y", models="odd", metrics=["roc_auc"])


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_times_of_an_offset_are_told(kind: str, tmp_path: Path) -> None:
    """Other writers have offsets for time zones: such a file is whole."""
    times = pd.to_datetime(["2026-01-31T02:30:00+05:30"] * 2)
    frame = pd.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "at": times})
    table = pa.Table.from_pandas(frame)
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    with pytest.raises(
        plm.DataError, match=r"has times of the offset '\+05:30', which is no time zone"
    ) as error:
        plm.evaluate(path, label="y", models="p", metrics=["accuracy"])
    assert "tz_convert('UTC')" in str(error.value.problems[0].hint)
