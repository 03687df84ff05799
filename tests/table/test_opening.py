import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from plmetrics.core.errors import EnvironmentFault
from plmetrics.table.frames import as_frame


class Scores(pd.DataFrame):
    """A subclass, as geographic tables are."""


@pytest.mark.parametrize(
    "data",
    [
        pl.DataFrame({"y": [1, 0], "g": ["a", None]}),
        pd.DataFrame({"y": [1, 0], "g": ["a", None]}, index=[7, 8]),
        Scores({"y": [1, 0], "g": ["a", None]}),
        pa.table({"y": [1, 0], "g": ["a", None]}),
        pa.record_batch({"y": [1, 0], "g": ["a", None]}),
    ],
    ids=lambda data: f"{type(data).__module__}.{type(data).__name__}",
)
def test_tables_in_memory(data):
    frame = as_frame(data)
    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dict(as_series=False) == {"y": [1, 0], "g": ["a", None]}


def test_nan_of_pandas_is_null():
    frame = as_frame(pd.DataFrame({"s": [0.5, float("nan")]}))
    assert isinstance(frame, pl.DataFrame)
    assert frame["s"].to_list() == [0.5, None]


@pytest.mark.parametrize("data", ["a.csv", ["a.csv"], None, {}, {"trec": {}}, pd.Series([1]), pa.array([1])])
def test_anything_else_is_not_a_table(data):
    assert as_frame(data) is None


def test_pandas_without_pyarrow(monkeypatch):
    def convert(_: object) -> None:
        raise ModuleNotFoundError("pyarrow is required")

    monkeypatch.setattr(pl, "from_pandas", convert)
    with pytest.raises(
        EnvironmentFault, match="reading a pandas DataFrame needs the extra 'pandas'"
    ) as caught:
        as_frame(pd.DataFrame({"y": [1]}))
    assert "pip install 'plmetrics[pandas]'" in str(caught.value)


def test_neither_library_is_imported():
    assert "pandas" not in vars(sys.modules[as_frame.__module__])
    assert "pyarrow" not in vars(sys.modules[as_frame.__module__])
