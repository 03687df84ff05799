from pathlib import Path

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import DataError, PlmetricsError
from plmetrics.engine.faults import reading
from plmetrics.table.opening import open_source

FRAME = pl.DataFrame(
    {
        "y": [0, 1] * 50,
        "p": [n / 100 for n in range(100)],
        "g": ["a text of more than twelve", "b"] * 50,
        "c": pl.Series(["u", "v"] * 50, dtype=pl.Categorical),
    }
)


pytestmark = pytest.mark.usefixtures("root")


def damage(path: str, old: bytes, new: bytes) -> None:
    """Other bytes in place of the first ones that are found."""
    content = Path(path).read_bytes()
    assert content.count(old)
    Path(path).write_bytes(content.replace(old, new, 1))


def evaluate(path: str) -> None:
    plm.evaluate(path, label="y", models="p", metrics=["roc_auc"], slices=["g", "c"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\x01\0\0\0b\0\0\0", b"\x01\0\0\0b\0\0\1"),
        (b"\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0", b"\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\7"),
    ],
    ids=["a text", "a key of a dictionary"],
)
def test_a_damaged_arrow_file_is_named(old, new):
    for name in ("a.arrow", "b.arrow"):
        FRAME.write_ipc(name)
    damage("b.arrow", old, new)
    for look in (evaluate, plm.suggest):
        with pytest.raises(
            DataError, match=r"(?s)^(data\.path: )?b\.arrow: the data are damaged: .*write the file again"
        ):
            look("*.arrow")


@pytest.mark.parametrize(
    "error",
    [
        pl.exceptions.ComputeError("x"),
        pl.exceptions.PanicException("x"),
        ValueError("x"),
        PlmetricsError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_where_all_files_can_be_read_is_ours(error):
    FRAME.write_parquet("a.parquet")
    with pytest.raises(type(error), match=r"^x$"), reading(open_source("a.parquet")):
        raise error


def test_a_panic_of_the_engine_names_the_file(monkeypatch):
    """As damaged pages of a parquet file make it; which ones do depends on the version of Polars."""
    FRAME.write_parquet("a.parquet")
    source = open_source("a.parquet")

    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds: the len is 0")

    monkeypatch.setattr(pl.LazyFrame, "sink_batches", panic)
    with pytest.raises(DataError, match=r"^a\.parquet: the data are damaged\n"), reading(source):
        panic()
