"""Slices as they stand in results."""

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.errors import DataError
from plmetrics.core.results import SLICE_VALUES
from plmetrics.table.slice_keys import SliceKey, bin_index
from plmetrics.table.slices import Slices, SliceSet

PIECES = [
    ", ",
    "=",
    '"',
    "'",
    "null",
    "other",
    "[",
    ")",
    "\\",
    "true",
    "nan",
    "1",
    "1.0",
    "a",
    "b",
    "[25, 40)",
    "x=",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
TYPED = [
    (TEXTS, pl.String),
    (st.sampled_from([0.0, 1.0, 1.5, 1e300, float("nan"), float("inf")]), pl.Float64),
    (st.sampled_from([0.1, 1.0, float("nan")]), pl.Float32),
    (st.integers(-2, 2), pl.Int64),
    (st.booleans(), pl.Boolean),
    (st.dates(datetime.date(2026, 1, 1), datetime.date(2026, 1, 3)), pl.Date),
]
LABELS = ["a", "b", "b=p, b", "a, b", '"a"', "null"]


VALUES = {
    "text": pl.Series(["x, y", "x=y", None, "x, y"]),
    "number": pl.Series([1.0, 2.5, None, float("nan")]),
    "flag": pl.Series([True, None, False, True]),
    "day": pl.Series([datetime.date(2026, 1, 1), None, datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)]),
}


def slices(*names, height=4):
    keys = tuple(SliceKey(f"@slice|{name}", name, pl.col(name), "column") for name in names)
    return Slices(
        SliceSet("set", keys), pl.DataFrame({f"@slice|{name}": VALUES[name][:height] for name in names})
    )


@pytest.mark.parametrize("names", [("text",), ("number", "flag"), ("day", "text", "number")])
@pytest.mark.parametrize("height", [4, 0])
def test_the_column_of_values_holds_what_the_list_does(names, height):
    made = slices(*names, height=height)
    column = made.pair_lists()
    assert column.dtype == SLICE_VALUES
    assert column.to_list() == made.pairs()
    assert len(made.pairs()) == len(made.texts()) == height


def test_texts_name_columns_and_values_in_order():
    assert slices("number", "flag").texts() == [
        "number=1, flag=true",
        "number=2.5, flag=null",
        "number=null, flag=false",
        "number=nan, flag=true",
    ]


@pytest.mark.parametrize(
    ("made", "pairs"),
    [
        (Slices(SliceSet("overall", ()), pl.DataFrame(height=1)), [[]]),
        (
            Slices(
                SliceSet("vip", (SliceKey("@where|vip", "vip", pl.col("p"), "predicate"),)),
                pl.DataFrame({"@p": [True]}),
            ),
            [[{"column": "vip", "value": "true"}]],
        ),
    ],
)
def test_all_rows_and_a_predicate_are_one_slice(made, pairs):
    assert made.pairs() == made.pair_lists().to_list() == pairs
    assert made.pair_lists().dtype == SLICE_VALUES


def bins(number: int) -> SliceKey:
    return SliceKey(f"@{number}", "x", pl.col("x"), "bins", (25, 40))


def top(number: int) -> SliceKey:
    return SliceKey(f"@{number}", "t", pl.col("t"), "top", ("a", "other", "null", None))


@given(st.data())
def test_every_slice_of_a_set_has_a_text_and_values_of_its_own(data: st.DataObject) -> None:
    """Values of every kind, and names of columns, that look like each other's texts."""
    labels = data.draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
    keys, columns = [], {}
    for number, label in enumerate(labels):
        values, dtype = data.draw(st.sampled_from(TYPED))
        made = [*data.draw(st.lists(values, max_size=5)), None]
        keys.append(SliceKey(f"@{number}", label, pl.col(label), "column"))
        columns[f"@{number}"] = pl.Series(made, dtype=dtype)
    for number, key in enumerate([bins(8), top(9)]):
        if data.draw(st.booleans()):
            keys.append(key)
            columns[key.column] = pl.Series(
                [0, 1, 2, 3, None] if number == 0 else [0, 2, 3, 4], dtype=pl.UInt32
            )
    rows = pl.DataFrame({"@": [0]})
    for name, held in columns.items():
        rows = rows.join(held.unique().alias(name).to_frame(), how="cross")
    slices = Slices(SliceSet("set", tuple(keys)), rows.drop("@"))
    assert len(set(slices.texts())) == len(slices)
    assert len({str(pair) for pair in slices.pairs()}) == len(slices)
    assert slices.pair_lists().to_list() == slices.pairs()


def test_ordinary_values_have_no_quotes() -> None:
    keys = tuple(SliceKey(f"@{name}", name, pl.col(name), "column") for name in ("text", "number", "day"))
    values = {
        "@text": pl.Series(["north", 'say "x"', "a,b", "", "other", "Null", "null", None]),
        "@number": pl.Series([1.0, 0.1, float("nan"), None, 1e300, -2.0, 0.0, 3.0]),
        "@day": pl.Series([datetime.date(2026, 1, 2), None] * 4),
    }
    assert Slices(SliceSet("set", keys), pl.DataFrame(values)).texts() == [
        "text=north, number=1, day=2026-01-02",
        'text=say "x", number=0.1, day=null',
        "text=a,b, number=nan, day=2026-01-02",
        "text=, number=null, day=null",
        "text=other, number=1e+300, day=2026-01-02",
        "text=Null, number=-2, day=null",
        'text="null", number=0, day=2026-01-02',
        "text=null, number=3, day=null",
    ]


@pytest.mark.parametrize("dtype", [pl.Float64, pl.Int64])
def test_thousands_of_bins_are_searched_not_compared(dtype: type[pl.DataType]) -> None:
    edges = list(range(-5000, 5000))
    rows = pl.Series("x", np.random.default_rng(1).normal(0, 3000, 20_000)).cast(dtype)
    plan = bin_index(pl.col("x"), dtype(), edges)
    assert len(str(plan)) < 2000
    found = pl.DataFrame(rows).lazy().select(plan).collect().to_series()
    assert found.to_list() == np.searchsorted(edges, rows.to_numpy(), side="right").tolist()


@pytest.mark.parametrize("number", [5, 49])
@pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64])
def test_edges_are_rounded_as_the_column(dtype: type[pl.DataType], number: int) -> None:
    rows = pl.DataFrame({"x": pl.Series([tenth / 10 for tenth in range(60)], dtype=dtype)})
    edges = [tenth / 10 for tenth in range(1, number + 1)]
    found = rows.select(bin_index(pl.col("x"), dtype(), edges)).to_series()
    assert found.to_list() == [min(tenth, number) for tenth in range(60)]


@pytest.mark.parametrize(
    ("dtype", "first_outside"),
    [
        (pl.Date(), 2_932_897),
        (pl.Datetime("ms"), 2_932_897 * 86_400_000),
        (pl.Datetime("us", "Asia/Tokyo"), (2_932_897 * 24 - 9) * 3_600_000_000),
    ],
)
def test_times_outside_the_calendar_are_an_error_of_the_data(
    dtype: pl.DataType, first_outside: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Such as those of a damaged file: `datetime` ends with the year 9999."""
    whole = pl.Int32 if dtype == pl.Date() else pl.Int64
    key = SliceKey("@d", "d", pl.col("d"), "column")
    for number in (first_outside - 1, first_outside, 2**31 - 1 if dtype == pl.Date() else 2**62):
        values = pl.DataFrame({"@d": pl.Series([0, number], dtype=whole).cast(dtype)})
        made = Slices(SliceSet("set", (key,)), values)
        if number < first_outside:
            assert made.texts()[1].startswith("d=9999-12-31")
            continue
        with pytest.raises(DataError, match=r"column 'd': a slice's Date.* is outside the years 1 to 9999"):
            made.texts()
    capfd.readouterr()  # the panics of the largest
