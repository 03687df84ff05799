"""Leakage: every check against plain loops over its definition, on random tables and in the corner cases."""

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.core.results import LEAKAGE_SCHEMA
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.inquiry import answer
from plmetrics.features.explain.passes import fallbacks
from plmetrics.features.leakage import attributes
from plmetrics.features.leakage.attributes import LEAST_ROWS, _Column, attribute_candidates
from plmetrics.features.leakage.training_rows import LeakagePlans, evaluated_columns
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

SIZE = 120


def rows(seed: int = 3) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "y": random.integers(0, 2, SIZE),
            "p": random.random(SIZE),
            "id": [None if value == 7 else int(value) for value in random.integers(0, 80, SIZE)],
            "site": random.choice(["north", "south"], SIZE),
            "day": [None if value == 7 else int(value) for value in random.integers(0, 30, SIZE)],
            "fold": random.integers(0, 3, SIZE),
            "w": random.integers(0, 3, SIZE),
        }
    )


TRAIN = pl.DataFrame(
    {
        "id": pl.Series([3, 5, 9, 9, None], dtype=pl.Int32),
        "site": pl.Series(["north", "south", "south", "north", "north"], dtype=pl.Categorical),
        "day": [1, 4, None, 2, 6],
    }
)


def look(frame: pl.DataFrame, spec: dict[str, Any], **arguments: Any) -> plm.Result:
    given = {"label": "y", "models": "p", "metrics": ["accuracy"], **arguments}
    return plm.evaluate(frame, leakage=spec, **given)


def found(frame: pl.DataFrame, spec: dict[str, Any], **arguments: Any) -> dict[str, dict[str, Any]]:
    table = look(frame, spec, **arguments).leakage
    assert table.schema == LEAKAGE_SCHEMA
    return {row["columns" if row["check"] == "attributes" else "check"]: row for row in table.to_dicts()}


def keys_of(frame: pl.DataFrame, *names: str) -> list[tuple[Any, ...] | None]:
    """The keys of each row, None where one of them is null."""
    return [None if None in row else row for row in frame.select(names).rows()]


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("names", [("id",), ("id", "site")])
@pytest.mark.parametrize("weight", [None, "w"])
def test_keys_folds_and_duplicates(seed: int, names: tuple[str, ...], weight: str | None) -> None:
    frame = rows(seed)
    seen = found(frame, {"train": TRAIN, "keys": names, "duplicates": True}, fold="fold", weight=weight)
    frame = frame.filter(pl.lit(weight is None) | (pl.col("w") > 0))
    keys, known = keys_of(frame, *names), set(keys_of(TRAIN, *names))
    times = Counter(keys)
    folds: dict[Any, set[int]] = {}
    for key, fold in zip(keys, frame["fold"], strict=True):
        folds.setdefault(key, set()).add(fold)
    expected = {
        "keys": [key for key in keys if key is not None and key in known],
        "folds": [key for key in keys if key is not None and len(folds[key]) > 1],
        "duplicates": [key for key in keys if key is not None and times[key] > 1],
    }
    assert list(seen) == list(expected)
    for check, bad in expected.items():
        row = seen[check]
        assert (row["rows"], row["share"]) == (len(bad), pytest.approx(len(bad) / frame.height)), check
        assert row["verdict"] == ("fail" if bad else "pass")
        example = None if not bad else ", ".join(f"{k}={v}" for k, v in zip(names, min(bad), strict=True))
        assert row["example"] == example
        nulls = keys.count(None)
        said = (
            f"{nulls} rows have a null key and are not compared"
            if nulls > 1
            else "1 row has a null key and is not compared"
        )
        lacking = ["1 of 5 rows of the training table have a null key"] if check == "keys" else []
        assert row["note"] == ("; ".join([said] * bool(nulls) + lacking) or None)


def test_rows_no_later_than_training() -> None:
    frame = rows()
    seen = found(frame, {"train": TRAIN, "time": "day"})["time"]
    days = [day for day in frame["day"] if day is not None]
    early = sum(day <= 6 for day in days)
    nulls = frame["day"].null_count()
    assert 0 < early < len(days)
    assert (seen["rows"], seen["verdict"], seen["example"]) == (early, "fail", "day=0")
    assert seen["note"] == f"training ends at 6; {nulls} rows have no time and are not compared"


@pytest.mark.parametrize(
    ("own", "there"),
    [
        (pl.Datetime("ns"), pl.Datetime("ms")),
        (pl.Datetime("us", "UTC"), pl.Datetime("ns", "Europe/Berlin")),
        (pl.Date(), pl.Date()),
        (pl.Float32(), pl.Float64()),
    ],
)
def test_times_of_several_types(own: pl.DataType, there: pl.DataType) -> None:
    days = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in range(1, 11)]
    moments = pl.Series(days).dt.replace_time_zone(None)
    numbers = pl.Series(range(1, 11))

    def cast(dtype: pl.DataType, start: int, number: int) -> pl.Series:
        if dtype.is_float():
            return numbers.slice(start, number).cast(dtype)
        part = moments.slice(start, number)
        zone = getattr(dtype, "time_zone", None)
        return (part.dt.replace_time_zone("UTC") if zone else part).cast(dtype)

    frame = pl.DataFrame({"y": [0, 1] * 4, "p": [0.5] * 8, "at": cast(own, 2, 8)})
    train = pl.DataFrame({"seen": cast(there, 0, 5)})
    seen = found(frame, {"train": train, "time": "at", "train_time": "seen"})["time"]
    assert seen["rows"] == 3


@pytest.mark.parametrize(
    ("times", "rows", "verdict"), [([1.0, 4.0, 2.0], 2, "fail"), ([], None, "inconclusive")]
)
def test_nan_is_no_time(times: list[float], rows: int | None, verdict: str) -> None:
    nan = [float("nan")] * (5 - len(times))
    frame = pl.DataFrame({"y": [0, 1, 0, 1, 0], "p": [0.5] * 5, "at": times + nan})
    seen = found(frame, {"train": pl.DataFrame({"at": [3.0, float("nan")]}), "time": "at"})["time"]
    assert (seen["rows"], seen["verdict"]) == (rows, verdict)
    assert seen["note"] == f"training ends at 3.0; {len(nan)} rows have no time and are not compared"


@pytest.mark.parametrize(("own", "there"), [("ns", "ns"), ("ns", "us"), ("us", "ns"), ("ns", "ms")])
def test_moments_are_compared_to_the_nanosecond(own: Any, there: Any) -> None:
    """A row 400 ns, or as little as its unit can, after the last of training is later; no unit loses far moments."""
    last = 1_704_067_200_000_000_000
    step = {"ns": 400, "us": 1000}[own]
    at = pl.Series([last, last + step, None], dtype=pl.Int64) // {"ns": 1, "us": 1000}[own]
    frame = pl.DataFrame({"y": [1, 0, 1], "p": [0.5] * 3, "at": at.cast(pl.Datetime(own))})
    unit = {"ns": 1, "us": 1000, "ms": 1_000_000}[there]
    train = pl.DataFrame({"at": (pl.Series([last - unit, last]) // unit).cast(pl.Datetime(there))})
    seen = found(frame, {"train": train, "time": "at", "keys": "at"})
    assert (seen["time"]["rows"], seen["keys"]["rows"]) == (1, 1)
    assert seen["time"]["note"].startswith("training ends at 2024-01-01 00:00:00; 1 row")
    far = pl.DataFrame(
        {"at": pl.Series([dt.datetime(9999, 12, 31)]).cast(pl.Datetime("us" if own == "ns" else "ms"))}
    )
    assert found(frame, {"train": far, "time": "at"})["time"]["rows"] == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("unit", "there", "text"),
    [
        (pl.Datetime("us"), pl.Datetime("ns"), "at=2026-03-01 00:00:00"),
        (pl.Datetime("ns"), pl.Datetime("ns"), "at=2026-03-01 00:00:00"),
        (pl.Datetime("ms"), pl.Datetime("us"), "at=2026-03-01 00:00:00"),
        (pl.Datetime("ns", "UTC"), pl.Datetime("ms", "Asia/Tokyo"), "at=2026-03-01 00:00:00+00:00"),
        (pl.Datetime("us", "Asia/Tokyo"), pl.Datetime("us", "UTC"), "at=2026-03-01 09:00:00+09:00"),
    ],
)
def test_keys_of_other_units_are_shown_as_the_time_they_are(
    unit: pl.Datetime, there: pl.Datetime, text: str
) -> None:
    """Against sets of whole nanoseconds; times between the ticks of a unit are no nulls of the training table."""
    lengths = {"ns": 1, "us": 1_000, "ms": 1_000_000}
    start, length, other = 1_772_323_200_000_000_000, lengths[unit.time_unit], lengths[there.time_unit]
    moments = [start + place * length for place in (0, 0, 1, 2, 5, -(10**6))]
    known = [start, start + 2 * other, start + 5 * other, start - 10**6, start + other]
    at = pl.Series([moment // length for moment in moments]).cast(unit)
    frame = pl.DataFrame({"y": [0, 1] * 3, "p": [0.5] * 6, "at": at, "fold": [0, 1, 0, 1, 0, 1]})
    train = pl.DataFrame({"at": pl.Series([moment // other for moment in known]).cast(there)})
    seen = found(
        frame.filter(pl.int_range(pl.len()) < 5),
        {"train": train, "keys": "at", "duplicates": True},
        fold="fold",
    )
    assert seen["keys"]["rows"] == sum(moment in known for moment in moments[:5])
    assert [seen[check]["example"] for check in ("keys", "folds", "duplicates")] == [text] * 3
    assert seen["keys"]["note"] is None
    assert found(frame, {"train": train, "keys": "at"})["keys"]["rows"] == sum(
        moment in known for moment in moments
    )


def test_an_example_keeps_its_nanoseconds() -> None:
    at = pl.Series([1_772_323_200_000_000_007], dtype=pl.Int64).cast(pl.Datetime("ns"))
    frame = pl.DataFrame({"y": [1], "p": [0.5], "at": at})
    seen = found(frame, {"train": frame, "keys": "at"})["keys"]
    assert (seen["rows"], seen["example"]) == (1, "at=2026-03-01 00:00:00.000000007")


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_date_is_its_midnight_beside_times(unit: Any) -> None:
    days = [dt.date(2026, 3, day) for day in (1, 2, 3)] + [None]
    hours = [dt.datetime(2026, 3, 1), dt.datetime(2026, 3, 2), dt.datetime(2026, 3, 2, 0, 0, 1), None]
    dates = pl.DataFrame({"y": [0, 1] * 2, "p": [0.5] * 4, "at": days})
    times = dates.with_columns(at=pl.Series(hours).cast(pl.Datetime(unit)))
    early = found(times, {"train": dates[:2].select("at"), "time": "at"})["time"]
    assert (early["rows"], early["example"]) == (2, "at=2026-03-01 00:00:00")
    assert early["note"].startswith("training ends at 2026-03-02; 1 row has no time")
    late = found(dates, {"train": times.select("at"), "time": "at"})["time"]
    assert (late["rows"], late["example"]) == (2, "at=2026-03-01")
    assert late["note"].startswith("training ends at 2026-03-02 00:00:01;")


@pytest.mark.parametrize(
    ("key", "there", "words"),
    [
        ("time", pl.Datetime("us", "UTC"), "neither is the later one"),
        ("keys", pl.Datetime("us"), "none of their values would be equal"),
    ],
)
def test_dates_that_do_not_compare_say_why(key: str, there: pl.DataType, words: str) -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.5] * 2, "at": [dt.date(2026, 3, 1)] * 2})
    with pytest.raises(plm.DataError) as caught:
        look(frame, {"train": frame.select(pl.col("at").cast(there)), key: "at"})
    (problem,) = caught.value.problems
    assert "is of type Date, but of type Datetime" in problem.message
    assert words in str(problem.hint)


def test_floats_of_32_bits_are_found_among_those_of_64() -> None:
    values = [0.1, 0.2, 0.3]
    frame = pl.DataFrame({"y": [0, 1, 0], "p": [0.5] * 3, "x": pl.Series(values, dtype=pl.Float32)})
    for train in (values[:2], pl.Series(values[:2], dtype=pl.Float32)):
        assert found(frame, {"train": pl.DataFrame({"x": train}), "keys": "x"})["keys"]["rows"] == 2
    assert (
        found(frame.cast({"x": pl.Float64}), {"train": frame[:2].select("x"), "keys": "x"})["keys"]["rows"]
        == 2
    )


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (
            pl.DataFrame({"id": [None, None]}, schema={"id": pl.Int64}),
            "2 of 2 rows of the training table have a null",
        ),
        (pl.DataFrame({"id": [None]}), "1 of 1 rows of the training table have a null key"),
        (pl.DataFrame({"id": []}, schema={"id": pl.Int64}), "the training table has no rows"),
    ],
)
def test_a_training_table_without_keys_passes_nothing(train: pl.DataFrame, words: str) -> None:
    result = look(rows(), {"train": train, "keys": "id"})
    (row,), (gate,) = result.leakage.to_dicts(), result.gates.to_dicts()
    assert (row["rows"], row["verdict"], gate["verdict"], result.verdict) == (None, *["inconclusive"] * 3)
    assert words in row["note"]
    assert words in gate["note"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["repeat", "configuration", "parameter", "split", "inner"])
def test_a_sound_cross_validation_is_no_leak(kind: str) -> None:
    """Rows are held out once in each repeat, configuration and value; inner and training rows belong to no metric."""
    random = np.random.default_rng(2)
    size, folds = 40, 4
    labels = random.integers(0, 2, size)
    parts = []
    for turn in range(3):
        fold = random.permutation(size) % folds
        for out in range(folds) if kind in {"split", "inner"} else [None]:
            part = {"id": np.arange(size), "y": labels, "p": random.random(size), "turn": turn}
            if out is None:
                parts.append(pl.DataFrame(part | {"fold": fold}))
            elif kind == "split":
                parts.append(
                    pl.DataFrame(part | {"fold": out, "part": np.where(fold == out, "test", "train")})
                )
            else:
                inner = [None if own == out else int(own) for own in fold]
                parts.append(pl.DataFrame(part | {"fold": out, "inner": pl.Series(inner, dtype=pl.Int64)}))
        if kind in {"split", "inner"}:
            break
    frame = pl.concat(parts)
    column = {"split": "part", "inner": "inner"}.get(kind, "turn")
    given = {"fold": "fold", "cross_validation": {kind: column}}
    train = pl.DataFrame({"id": [3, 5]})
    seen = found(frame, {"train": train, "keys": "id", "duplicates": True}, **given)
    repeats = 1 if kind in {"split", "inner"} else 3
    assert {check: row["rows"] for check, row in seen.items()} == {
        "keys": 2 * repeats,
        "folds": 0,
        "duplicates": 0,
    }
    assert seen["keys"]["share"] == pytest.approx(2 / size)
    held_out = frame.filter(part="test") if kind == "split" else frame
    moved = held_out[:1].with_columns(fold=(pl.col("fold") + 1) % folds)
    seen = found(pl.concat([frame, moved]), {"keys": "id", "duplicates": True}, **given)
    if kind != "inner":
        assert {check: row["rows"] for check, row in seen.items()} == {"folds": 2, "duplicates": 2}


def test_keys_have_other_names_in_training() -> None:
    train = pl.DataFrame({"customer": [3, 5]})
    frame = rows()
    seen = found(frame, {"train": train, "keys": "id", "train_keys": "customer"})["keys"]
    assert seen["rows"] == frame["id"].is_in([3, 5]).sum()


def test_listed_columns_are_duplicates_where_null_equals_null() -> None:
    frame = pl.DataFrame(
        {"y": [0, 1, 0, 1], "p": [0.5] * 4, "a": [None, None, 1, 1], "b": ["x", "x", "x", "y"]}
    )
    seen = found(frame, {"duplicates": ["a", "b"]})["duplicates"]
    assert (seen["rows"], seen["columns"], seen["example"]) == (2, "a, b", "a=None, b=x")


def test_rows_that_are_not_evaluated_do_not_count() -> None:
    frame = pl.DataFrame({"y": [0, 1, None, 1, 0], "p": [0.1, 0.2, 0.3, 0.4, 0.5], "id": [1, 2, 3, 4, 5]})
    train = pl.DataFrame({"id": [1, 3, 4]})
    seen = found(frame, {"train": train, "keys": "id"}, where="p < 0.45", missing="drop")["keys"]
    assert (seen["rows"], seen["share"]) == (2, pytest.approx(2 / 3))


@pytest.mark.parametrize(("missing", "of", "twice"), [("drop", 4, 0), ("drop_per_model", 5, 2)])
def test_rows_that_no_model_is_evaluated_on_do_not_count(missing: str, of: int, twice: int) -> None:
    frame = pl.DataFrame(
        {
            "y": [0, 1, 0, 1, 1, 1, None, None],
            "p": [0.1, 0.9, 0.2, 0.8, None, None, 0.5, 0.5],
            "q": [0.1, 0.9, 0.2, 0.8, 0.7, None, 0.5, 0.5],
            "id": [1, 2, 3, 4, 1, 1, 2, 3],
        }
    )
    seen = found(frame, {"keys": "id", "duplicates": True}, models=["p", "q"], missing=missing)["duplicates"]
    assert (seen["rows"], seen["share"]) == (twice, twice / of)


def test_rows_without_weight_for_any_model_do_not_count() -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.9, 0.2, 0.8], "id": [1, 1, 2, 2]})
    frame = frame.with_columns(v=pl.Series([1.0, 1.0, 0.0, 0.0]), w=pl.Series([0.0, 1.0, 1.0, 0.0]))
    models = {name: {"score": "p", "weight": name} for name in ("v", "w")}
    seen = found(frame, {"keys": "id", "duplicates": True}, models=models)["duplicates"]
    assert (seen["rows"], seen["share"]) == (2, 2 / 3)


def test_rows_that_calibrators_are_fitted_on_do_not_count() -> None:
    frame = rows().with_columns(split=pl.int_range(pl.len()) % 2)
    calibrate = {"method": "platt", "fit_on": "split = 0"}
    seen = found(frame, {"train": frame.filter(split=0), "keys": "p"}, calibrate=calibrate)["keys"]
    assert (seen["rows"], seen["verdict"]) == (0, "pass")


def test_a_ranking_is_looked_at_row_by_row() -> None:
    frame = pl.DataFrame(
        {
            "rel": [1, 0, 0, 1],
            "s": [0.4, 0.3, 0.2, 0.1],
            "q": ["a", "a", "b", "b"],
            "doc": ["1", "2", "1", "2"],
        }
    )
    spec = {"train": pl.DataFrame({"doc": ["2"]}), "keys": "doc"}
    arguments = {"task": "ranking", "label": "rel", "models": "s", "query": "q", "metrics": ["mrr"]}
    assert found(frame, spec, **arguments)["keys"]["rows"] == 2


@pytest.mark.parametrize("spec", [{"keys": "id"}, {"time": "id"}, {"keys": "id", "limit": {"keys": 0.5}}])
def test_where_no_row_can_be_compared_nothing_passes(spec: dict[str, Any]) -> None:
    frame = pl.DataFrame({"y": [0, 1], "p": [0.5] * 2, "id": [None, None]}, schema_overrides={"id": pl.Int64})
    result = look(frame, {"train": pl.DataFrame({"id": [1]}), **spec})
    (row,), (gate,) = result.leakage.to_dicts(), result.gates.to_dicts()
    assert (row["rows"], row["share"], row["observed"], row["verdict"]) == (None, None, None, "inconclusive")
    assert (gate["verdict"], gate["status"], result.verdict) == ("inconclusive", "no_rows", "inconclusive")
    assert "2 rows have" in gate["note"]
    assert result.record["warnings"] == []


@pytest.mark.parametrize(
    ("limit", "level", "verdict", "whole"),
    [(2, "fail", "fail", "fail"), (3, "fail", "pass", "pass"), (2, "warn", "warn", "pass"),
     (0.75, "fail", "pass", "pass"), (0.7499, "fail", "fail", "fail")],
)  # fmt: skip
def test_limits_and_levels(limit: float, level: str, verdict: str, whole: str) -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.5] * 4, "id": [1, 2, 3, 4]})
    spec = {"train": pl.DataFrame({"id": [1, 2, 3]}), "keys": "id", "limit": {"keys": limit}, "level": level}
    result = look(frame, spec)
    (row,), (gate,) = result.leakage.to_dicts(), result.gates.to_dicts()
    assert (row["verdict"], result.verdict) == (verdict, whole)
    assert row["observed"] == (0.75 if limit < 1 else 3)
    assert (gate["gate"], gate["level"], gate["rule"]) == ("leakage: keys", level, f"<= {limit}")
    assert gate["verdict"] == ("pass" if verdict == "pass" else "fail")
    warned = [text for text in result.record["warnings"] if "leakage" in text]
    assert warned == ([] if verdict == "pass" else [
        "leakage: 3 rows (75.00%) have keys that are in the training table, e.g. id=1"
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            {"train": pl.DataFrame({"id": [1]}), "keys": "id"},
            "has a key that is in the training table, e.g. id=1",
        ),
        (
            {"train": pl.DataFrame({"id": [2]}), "time": "id"},
            "is no later than the training table's last, e.g. id=1",
        ),
    ],
)
def test_a_single_row_is_told_as_one(check: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.5] * 4, "id": [1, 4, 5, 6]})
    (text,) = (text for text in look(frame, check).record["warnings"] if "leakage" in text)
    assert text == f"leakage: 1 row (25.00%) {words}"


def test_without_the_section_the_table_is_empty_and_has_its_columns() -> None:
    result = plm.evaluate(rows(), label="y", models="p", metrics=["accuracy"])
    assert (result.leakage.schema, result.leakage.height, result.verdict) == (LEAKAGE_SCHEMA, 0, "none")


def attributed(frame: pl.DataFrame, *columns: str, **arguments: Any) -> dict[str, dict[str, Any]]:
    return found(frame, {"attributes": list(columns) or True}, **arguments)


def test_the_order_of_a_column_is_an_area() -> None:
    random = np.random.default_rng(5)
    label = random.integers(0, 2, 400)
    number = np.round(label * -1.5 + random.normal(size=400), 1)
    held = [None if place % 9 == 0 else value for place, value in enumerate(number.tolist())]
    days = (pl.Series(held) * 10).round().cast(pl.Int32).cast(pl.Date)
    frame = pl.DataFrame({"y": label, "p": number, "x": held, "t": days})
    area = 1 - roc_auc_score(label, [-99.0 if value is None else value for value in held])
    for name in ("x", "t"):
        seen = attributed(frame, name)[name]
        assert seen["observed"] == pytest.approx(area, abs=1e-12)
        assert (seen["measure"], seen["verdict"], seen["limit"]) == ("auc", "pass", 0.99)


def test_values_beyond_memory_are_ordered_by_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "_VALUE_BYTES", 1_000_000)  # room for 37 values
    heights: list[int] = []
    own = attributes._range_of_area
    monkeypatch.setattr(
        attributes, "_range_of_area", lambda frame: heights.append(frame.height) or own(frame)
    )
    random = np.random.default_rng(5)
    label = random.integers(0, 2, 2000)
    number = (label * 90 + random.integers(-200, 200, 2000)).tolist()
    held = [None if place % 9 == 0 else value for place, value in enumerate(number)]
    x = pl.Series(held)
    columns = {
        "i": x,
        "u": (x + 2**62).cast(pl.UInt64) * 2,
        "f": x.cast(pl.Float64).fill_null(np.nan) / 7,
        "d": x.cast(pl.Decimal(12, 3)),
        "t": (x + 10**18).cast(pl.Datetime("ns")),
        "none": pl.Series([None] * 1999 + [1]).cast(pl.Int64),
    }
    seen = attributed(pl.DataFrame({"y": label, "p": number, **columns}), *columns, memory="300MB")
    area = roc_auc_score(label, [-999.0 if value is None else value for value in held])
    for name in "iufdt":
        assert seen[name]["observed"] == pytest.approx(area, abs=1e-12), name
    assert max(heights) <= 2 * 37


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_values_take_errors_away(task: str) -> None:
    random = np.random.default_rng(6)
    label = random.choice(
        3 if task == "multiclass" else 2, 300, p=[0.2, 0.5, 0.3] if task == "multiclass" else None
    )
    value = np.where(random.random(300) < 0.8, label, random.integers(0, 3, 300))
    words = [None if v == 2 else f"v{v}" for v in value]
    best = Counter(label.tolist()).most_common(1)[0][1]
    by_value: dict[Any, Counter[int]] = {}
    for word, own in zip(words, label.tolist(), strict=True):
        by_value.setdefault(word, Counter())[own] += 1
    right = sum(counts.most_common(1)[0][1] for counts in by_value.values())
    frame = pl.DataFrame({"y": label, "x": words, "p": label})
    models = {"m": {"prediction": "p"}}
    seen = attributed(frame, "x", task=task, models=models, metrics=["accuracy"])["x"]
    assert seen["observed"] == pytest.approx((right - best) / (300 - best), abs=1e-12)
    assert (seen["measure"], seen["note"]) == ("error_reduction", "by its value")


def test_a_rare_class_makes_no_attribute_suspicious() -> None:
    label = [1] * 12 + [0] * 3988
    frame = pl.DataFrame({"y": label, "p": [0.5] * 4000, "x": [f"v{i % 7}" for i in range(4000)]})
    seen = attributed(frame, "x")["x"]
    assert (seen["observed"], seen["verdict"]) == (0, "pass")


def test_slices_by_an_expression_of_the_label_are_no_attributes_of_the_table() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "x": [3, 5, 4, 4] * 10})
    slices = {"outcome": {"expression": "CASE WHEN y = 1 THEN 'bad' ELSE 'good' END"}}
    assert list(attributed(frame, slices=slices)) == ["x"]
    assert attributed(frame, "outcome", slices=slices)["outcome"]["verdict"] == "fail"


def test_columns_of_a_model_and_of_repeated_trainings_are_no_attributes_of_the_table() -> None:
    frame = pl.DataFrame(
        {"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "x": [3, 5, 4, 4] * 10, "f": [0, 0, 1, 1] * 10}
    )
    frame = frame.with_columns(own="y", w="x", truth="y", one="p", other=pl.col("p") / 2)
    model = {"score": "p", "label": "own", "weight": "w"}
    sections = {"repeated": {"m": ["one", "other"]}, "truth": "truth"}
    asked: dict[str, Any] = {"models": {"m": model}, "fold": "f", "cross_validation": sections}
    assert list(attributed(frame, **asked)) == ["x"]
    assert attributed(frame, "truth", **asked)["truth"]["verdict"] == "fail"


def test_a_column_of_two_values_is_judged_by_them_in_any_order_of_the_rows() -> None:
    random = np.random.default_rng(12)
    frame = pl.DataFrame({"y": random.normal(size=90), "p": [0.5] * 90, "x": random.integers(0, 2, 90)})
    orders = [frame.sample(fraction=1, shuffle=True, seed=seed) for seed in range(20)]
    seen = [attributed(order, "x", task="regression", metrics=["mae"])["x"] for order in orders]
    assert {attribute["note"] for attribute in seen} == {"by its value"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_numbers_are_explained_by_means_or_a_line(reproducible: bool, far: float) -> None:
    random = np.random.default_rng(7)
    label = random.normal(size=200)
    group = np.digitize(label, [-1, 0, 1])
    noisy = label * -3 + random.normal(scale=0.1, size=200) + far
    gaps = [None if place % 5 == 0 else np.inf if place == 1 else value for place, value in enumerate(noisy)]
    columns = {"group": group.astype(str), "noisy": noisy, "gaps": gaps, "same": 0.1}
    frame = pl.DataFrame({"y": label + far, "p": label, **columns})
    asked = {"task": "regression", "metrics": ["mae"], "reproducible": reproducible}
    seen = attributed(frame, *columns, **asked)
    means = np.array([label[group == own].mean() for own in group])
    explained = 1 - ((label - means) ** 2).sum() / ((label - label.mean()) ** 2).sum()
    near = 1e-12 if far == 0 else 1e-8
    assert seen["group"]["observed"] == pytest.approx(explained, abs=near)
    held = np.array([value is not None and np.isfinite(value) for value in gaps])
    for name, there in (("noisy", held | True), ("gaps", held)):
        x, y = noisy[there, None], label[there]
        assert seen[name]["observed"] == pytest.approx(LinearRegression().fit(x, y).score(x, y), abs=near)
    assert seen["same"]["observed"] == pytest.approx(0, abs=1e-12)
    assert (seen["noisy"]["verdict"], seen["group"]["verdict"]) == ("fail", "pass")


@pytest.mark.parametrize("reproducible", [False, True])
def test_a_constant_tells_nothing(*, reproducible: bool) -> None:
    """Of 1,000 rows of 0.3 the mean is none, by rounding: beside an ascending label R2 was 0.16."""
    frame = pl.DataFrame({"y": np.arange(1000.0), "p": 0.5, "same": 0.3, "other": 0.1})
    seen = attributed(frame, "same", "other", task="regression", metrics=["mae"], reproducible=reproducible)
    assert [seen[name]["observed"] for name in ("same", "other")] == pytest.approx([0, 0], abs=1e-12)


def test_all_columns_without_a_role_are_looked_at() -> None:
    frame = rows().with_columns(
        status=pl.when(pl.col("y") == 1).then(pl.lit("lost")).otherwise(pl.lit("kept")),
        closed=pl.when(pl.col("y") == 1).then(pl.format("at {}", pl.int_range(pl.len()))),
        tags=pl.lit(["a"]),
    )
    spec = {"keys": "id", "train": TRAIN, "attributes": True}
    result = look(frame, spec, weight="w", fold="fold")
    named = result.leakage.filter(check="attributes")
    assert named["columns"].to_list() == ["site", "day", "status", "closed"]
    assert named.filter(verdict="fail")["columns"].to_list() == ["status", "closed"]
    assert result.gates.row(-1, named=True)["note"] == "status, closed"
    assert named["note"].to_list()[-1].startswith("by whether it is null")


def test_where_little_is_known_nothing_is_said() -> None:
    label = [1] * (LEAST_ROWS - 1) + [0] * 40
    frame = pl.DataFrame({"y": label, "p": [0.5] * len(label), "x": label})
    result = look(frame, {"attributes": "x"})
    (row,), (gate,) = result.leakage.to_dicts(), result.gates.to_dicts()
    assert (row["observed"], row["verdict"], gate["verdict"], result.verdict) == (None, *["inconclusive"] * 3)
    assert row["note"].startswith("not judged: 9 rows have another label")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"train": TRAIN, "keys": "idd"}, "column 'idd' (leakage's keys) is not in the data"),
        ({"train": TRAIN, "keys": "p"}, "column 'p' is not in the training table"),
        ({"train": TRAIN, "keys": "id", "train_keys": "site"}, "(there 'site')"),
        ({"train": TRAIN, "time": "site"}, "must hold times, dates or numbers"),
        ({"train": TRAIN.with_columns(day=pl.lit(1.5)), "time": "day"}, "is of type Int64, but of type Float64"),
        ({"train": TRAIN.clear(), "keys": "id", "time": "day"}, "holds no time, or the table has no rows"),
        ({"train": "absent.parquet", "keys": "id"}, "absent.parquet"),
        ({"duplicates": ["sitee"]}, "'sitee'"),
        ({"attributes": ["y"]}, "is the label itself"),
        ({"attributes": ["tags"]}, "whose values are not compared"),
    ],
)  # fmt: skip
def test_data_that_do_not_fit(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.DataError) as caught:
        look(rows().with_columns(tags=pl.lit(["a"])), spec)
    (problem,) = caught.value.problems
    assert words in problem.message
    assert problem.path[0] == "leakage"


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_every_plan_streams(tmp_path: Any, task: str) -> None:
    rows().with_columns(other="p", name="site").write_parquet(tmp_path / "rows.parquet")
    TRAIN.write_parquet(tmp_path / "train.parquet")
    leakage = {"train": "t", "keys": ["id", "site"], "time": "day", "duplicates": True, "attributes": True}
    suite = suite_from_arguments(
        task=task,
        label="y",
        models="p",
        fold="fold",
        weight="w",
        missing="drop",
        where="p > 0.1",
        leakage=leakage,
    )
    source, train = (open_source(str(tmp_path / name)) for name in ("rows.parquet", "train.parquet"))
    request = bind(suite, source, {"leakage": train})
    checks = answer(LeakagePlans.of(request.view, train))
    names = attribute_candidates(request.view)
    frame = evaluated_columns(request.view, names)
    columns = [_Column(name, request.view.schema[name], task) for name in names]
    plans = [frame.select(part for column in columns for part in column.screening())]
    for some in (checks.plans(), checks.keyed_plans(0, 1), checks.keyed_plans(1, 3)):
        plans += some.values()
    looked = {"@n": SIZE, **{f"values|{column.name}": 5 for column in columns}}
    plans += [column.label_groups(frame, looked) for column in columns]
    plans += [column.order(frame) for column in columns]
    assert len(plans) > 8
    assert not [fallback for plan in plans for fallback in fallbacks(plan)]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("of_label", "of_x", "unjudged"), [(1e200, 1.0, "c, x"), (1e-200, 1.0, "c, x"), (1.0, 1e200, "x")]
)
@pytest.mark.parametrize("reproducible", [False, True])
def test_numbers_without_squares_are_not_judged(
    of_label: float, of_x: float, unjudged: str, *, reproducible: bool
) -> None:
    label = np.random.default_rng(1).normal(size=300)
    rows = pl.DataFrame({"y": of_label * label, "p": label, "c": np.sign(label), "x": of_x * label})
    asked = {"metrics": ["mae"], "leakage": {"attributes": ["c", "x"]}, "reproducible": reproducible}
    found = plm.evaluate(rows, task="regression", label="y", models="p", **asked)
    row = found.tables["leakage"].filter(pl.col("columns") == unjudged).row(0, named=True)
    assert (row["verdict"], row["observed"], found.verdict) == ("inconclusive", None, "inconclusive")
    assert "squares" in row["note"]
