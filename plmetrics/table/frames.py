"""Tables in memory as Polars frames: of other libraries, of the Arrow stream interface, and mappings of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.core.errors import ConfigError, DataError, Problem, needs_extra
from plmetrics.core.names import name_list

_PANDAS = ("pandas", "DataFrame")
_COLUMN = ("pandas", "Series")
_PANDAS_COLUMNS = (_COLUMN, ("pandas", "Index"), ("pandas", "ExtensionArray"))
_ARROW = (("pyarrow", "Table"), ("pyarrow", "RecordBatch"))
_ARROW_COLUMNS = (("pyarrow", "ChunkedArray"), ("pyarrow", "Array"))
_NARWHALS = (("narwhals", "DataFrame"), ("narwhals", "LazyFrame"))
_SINGLE = (("polars", "Series"), _COLUMN, *_ARROW_COLUMNS)
"""Single columns, some of which are Arrow streams as well."""

_FAULTS = (
    PolarsError,
    PanicException,
    ValueError,
    TypeError,
    AttributeError,
    OverflowError,
    NotImplementedError,
)
"""What Polars raises of values that it has no type for."""

_LARGEST_EXACT = 2**53
"""Of the whole numbers that are all exact in floating point."""

_SOURCES = frozenset({"path", "database", "trec"})
_AS_SOURCE = (
    'hand over a path, {"database": ..., "query": ...} or {"trec": ...}, other keys as arguments: where=...'
)
_AS_TABLE = 'name the columns: plm.evaluate({"y": y, "A": scores}, label="y", models=["A"])'


def as_frame(data: object) -> pl.DataFrame | pl.LazyFrame | None:
    """The table as a Polars frame; None where it is not a table in memory.

    A pandas index with a name is a column, and NaN in a pandas column is null. A column of values that Polars has no
    type for is one of Python objects, refused where it is read.

    Raises:
        ConfigError: a mapping whose values are no columns
        DataError: columns differ in length, or have one name
        EnvironmentFault: a pandas table needs pyarrow, which is not installed
    """
    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return data
    kinds = _kinds(data)
    if not kinds.isdisjoint(_NARWHALS) and hasattr(data, "to_native"):
        return as_frame(data.to_native())
    if isinstance(data, Mapping):
        return _from_columns(data) if data and set(data) != {"trec"} else None
    if isinstance(data, np.ndarray) and data.dtype.names:
        return _from_columns({name: data[name] for name in data.dtype.names})
    return _from_library(data, kinds)


def _from_library(data: Any, kinds: set[tuple[str, str]]) -> pl.DataFrame | None:
    """The table of another library; None where it is none."""
    frame: pl.DataFrame
    if _PANDAS in kinds:
        return _from_pandas(data)
    if not kinds.isdisjoint(_ARROW):
        _refuse_repeated_names("pyarrow table", data.schema.names)
        columns = ((name, data.column(place)) for place, name in enumerate(data.schema.names))
        return _frame(pl.from_arrow, data, columns)
    if hasattr(data, "__arrow_c_stream__") and kinds.isdisjoint(_SINGLE):
        try:
            frame = pl.DataFrame(data)
        except _FAULTS as error:
            msg = f"the {kind_name(data)} cannot be read as a Polars table: {str(error).splitlines()[0]}"
            raise DataError(msg) from error
        return frame
    return None


def is_spark(data: object) -> bool:
    """Whether a table is a DataFrame of Spark, read by Spark itself."""
    return any(kind.__module__.startswith("pyspark.sql") for kind in type(data).__mro__)


def kind_name(data: object) -> str:
    """The name of a value's type, with its module."""
    kind = type(data)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _kinds(data: object) -> set[tuple[str, str]]:
    return {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(data).__mro__}


def check_names(data: object) -> None:
    """Refuse values without names of columns: an array, one column, or a list of numbers or rows.

    Raises:
        ConfigError: with what to write.
    """
    first = data[0] if isinstance(data, (list, tuple)) and data else None
    listed = isinstance(first, (int, float, list, tuple, np.ndarray, np.generic))
    if listed or hasattr(data, "__array__") or not _kinds(data).isdisjoint(_SINGLE):
        msg = f"{kind_name(data)} holds values without names of columns: it is not a prediction table"
        raise ConfigError(Problem(msg, ("data",), _AS_TABLE))


def _from_columns(columns: Mapping[Any, Any]) -> pl.DataFrame:
    """A frame of named columns.

    Raises:
        ConfigError: a name is no text, or a column is none.
        DataError: columns differ in length, or hold what Polars cannot.
    """
    for name, values in columns.items():
        if not isinstance(name, str):
            msg = f"names of columns are texts, not {name!r}"
            raise ConfigError(Problem(msg, ("data",), _AS_TABLE))
        single = isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sized)
        if single or getattr(values, "ndim", 1) == 0:
            msg = f"column '{name}' is not an array or a list of values, but of type {kind_name(values)}"
            is_source = isinstance(values, str) and not _SOURCES.isdisjoint(columns)
            raise ConfigError(Problem(msg, ("data",), _AS_SOURCE if is_source else _AS_TABLE))
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        words = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise DataError(Problem(f"columns are not of the same length: {words}", ("data",)))
    return pl.DataFrame([_column(name, values) for name, values in columns.items()])


def _column(name: str, values: Any) -> pl.Series:
    """A column from a list, an array or a Series."""
    kinds = _kinds(values)
    if not kinds.isdisjoint(_PANDAS_COLUMNS):
        return _from_pandas(import_module("pandas").DataFrame({name: values}))[name]
    if not kinds.isdisjoint(_ARROW_COLUMNS):
        with suppress(*_FAULTS):  # then it is read by way of NumPy, which has no null and no time zone
            return pl.Series(name, values)
    if hasattr(values, "__array__") and not isinstance(values, pl.Series):
        array = np.asanyarray(values)
        if array.ndim != 1:
            msg = f"column '{name}' is an array of shape {array.shape}, not one value a row"
            hint = "give each column of it a name: {'A_0': scores[:, 0], 'A_1': scores[:, 1]}"
            if array.shape[1:] == (1,):
                hint = f"give its column a name: {{'{name}': array[:, 0]}}"
            raise ConfigError(Problem(msg, ("data",), hint))
        if isinstance(array, np.ma.MaskedArray) and array.dtype != object:
            whole = _column(name, array.data)
            return whole.zip_with(pl.Series(~np.ma.getmaskarray(array)), whole.clear(len(whole)))
        values = array.tolist() if array.dtype == object else _in_units_of_polars(np.asarray(array))
    return _series(name, values, pl.Series)


def _in_units_of_polars(array: Any) -> Any:
    """Dates, times and durations of NumPy in a unit that Polars has."""
    kind = array.dtype.kind
    if kind not in "mM" or (unit := np.datetime_data(array.dtype)[0]) in {"ms", "us", "ns"}:
        return array
    return array.astype("M8[D]" if kind == "M" and unit in {"Y", "M", "W", "D"} else f"{kind}8[us]")


def _from_pandas(data: Any) -> pl.DataFrame:
    _refuse_repeated_names("pandas DataFrame", list(map(str, data.columns)))
    with needs_extra("pandas", "reading a pandas DataFrame"):
        plain = _with_plain_types(_with_index(data))
        return _frame(pl.from_pandas, plain, ((str(name), plain[name]) for name in plain.columns))


def _refuse_repeated_names(kind: str, names: Sequence[str]) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        msg = f"the {kind} has several columns of the name {name_list(repeated)}"
        raise DataError(Problem(msg, ("data",), "rename them, or leave out all but one"))


def _with_index(data: Any) -> Any:
    """The table with those levels of its index as columns that have another name."""
    columns = {None, *map(str, data.columns)}
    levels = {place: str(name) for place, name in enumerate(data.index.names) if name not in columns}
    out = data.copy(deep=False) if levels else data
    for place, name in levels.items():
        out[name] = data.index.get_level_values(place)
    return out


def _with_plain_types(data: Any) -> Any:
    """The table with its periods and intervals, such as those of pandas.cut, as texts, and no sparse column."""
    odd = [name for name, dtype in data.dtypes.items() if _is_span(getattr(dtype, "categories", dtype))]
    sparse = [name for name, dtype in data.dtypes.items() if hasattr(dtype, "fill_value")]
    out = data.copy(deep=False) if odd or sparse else data
    for name in odd:
        out[name] = data[name].map(str, na_action="ignore").where(data[name].notna(), None)
    for name in sparse:
        out[name] = data[name].sparse.to_dense()
    return out


def _is_span(values: Any) -> bool:
    return str(getattr(values, "dtype", values)).startswith(("period", "interval"))


def _frame(convert: Callable[[Any], Any], data: Any, columns: Iterable[tuple[str, Any]]) -> pl.DataFrame:
    """Polars frame of a table of another library: as a whole, or else column by column."""
    try:
        frame: pl.DataFrame = convert(data)
    except _FAULTS:
        frame = pl.DataFrame([_series(name, values, convert) for name, values in columns])
    return frame


def _series(name: str, values: Any, convert: Callable[[Any], Any]) -> pl.Series:
    """A column, of Python objects where Polars has no type for its values."""
    try:
        return pl.Series(name, convert(values))
    except _FAULTS:
        items = values.tolist() if hasattr(values, "tolist") else list(values)
        return pl.Series(name, items, dtype=pl.Float64 if _are_floats(items) else pl.Object)


def _are_floats(values: Sequence[Any]) -> bool:
    """Whether a list holds fractions beside whole numbers, which Polars reads only where a fraction comes first."""
    kinds = {type(value) for value in values if value is not None}
    whole = {kind for kind in kinds if issubclass(kind, (int, np.integer)) and kind is not bool}
    fractions = {kind for kind in kinds if issubclass(kind, (float, np.floating))}
    if not fractions or kinds != whole | fractions:
        return False
    return all(abs(value) <= _LARGEST_EXACT for value in values if type(value) in whole)
