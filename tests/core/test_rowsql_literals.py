"""Variables in conditions: whatever a value holds, the condition stays what it was but for literals."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plmetrics as plm
from plmetrics.core.rowsql import RowExpressionError, compile_row
from plmetrics.core.rowsql.literals import with_values

VARIABLE = re.compile(r"\$\{(\w+)\}")


def filled(text: str, **values: str) -> str:
    return with_values(text, VARIABLE, lambda match: values[match[1]])


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("day = DATE '${A}'", {"A": "2026-03-10"}, "day = DATE '2026-03-10'"),
        ("day >= DATE '${Y}-${M}-01'", {"Y": "2026", "M": "03"}, "day >= DATE '2026-03-01'"),
        ("x IN ('${A}', 'b')", {"A": "a"}, "x IN ('a', 'b')"),
        ("n = ${N} OR n < 0.5", {"N": "1e3"}, "n = 1e3 OR n < 0.5"),
        ("n - ${N} > 0", {"N": "-5"}, "n - (-5) > 0"),
        ("x = '${A}'", {"A": "it''s"}, "x = 'it''s'"),
        ("x = '${A}'", {"A": ""}, "x = ''"),
        ("x = '${A}'", {"A": "a -- b /* c"}, "x = 'a -- b /* c'"),
        ("x = 'it''s' AND y = '${A}'", {"A": "b"}, "x = 'it''s' AND y = 'b'"),
    ],
)
def test_literals(text: str, values: dict[str, str], expected: str) -> None:
    assert filled(text, **values) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = '${A}'", "a' OR '1' = '1"),
        ("x = '${A}'", "a' OR TRUE OR x = 'b"),
        ("x = '${A}' AND vip", "a' OR x <> 'b"),
        ("x IN ('${A}')", "a', 'b"),
        ("x = '${A}'", "a' || y || '"),
        ("x = '${A}'", "a' OR TRUE --"),
        ("n = ${A}", "1 OR TRUE"),
        ("n = ${A}", "y"),
        ("n = ${A}", "1e999x"),
        ("n = ${A}", "--5"),
        ("n = ${A}", ""),
        ("n = ${A}", "1; 2"),
        ('"${A}" = 1', "x"),
        ('"${A}" = 1', "5"),
        ("${A}", "vip"),
        ("x ${A} 3", ">"),
    ],
)
def test_what_is_more_than_a_literal_is_refused(text: str, value: str) -> None:
    with pytest.raises(RowExpressionError):
        compile_row(filled(text, A=value))


@given(st.text(alphabet="ab'\"\\-/*; 01()=$%\n", max_size=12))
def test_any_value_is_one_text_or_refused(value: str) -> None:
    """A condition that compares with one text holds for that text alone, whatever its value."""
    try:
        row = compile_row(filled("x = '${A}' AND y = 1", A=value))
    except RowExpressionError:
        return
    meant = value.replace("''", "'")
    frame = pl.DataFrame({"x": [meant, meant + "z", "", meant], "y": [1, 1, 1, 0]})
    assert row.columns == ("x", "y")
    expected = [True, False, meant == "", False]
    assert frame.select(row.expr.alias("holds"))["holds"].to_list() == expected


@pytest.mark.parametrize("form", ["'{}'", "TIMESTAMP '{}'"])
def test_a_time_between_two_microseconds_is_refused(form):
    """Python cuts its digits off: a row at 400 ns was later than '...0000004'."""
    moments = pl.Series([0, 400, 500, 1000]).cast(pl.Datetime("ns"))
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.8, 0.3, 0.4], "t": moments})
    asked = {"label": "y", "models": "p", "metrics": ["n"]}
    with pytest.raises(plm.ConfigError):
        plm.evaluate(frame, **asked, where=f"t > {form.format('1970-01-01 00:00:00.0000004')}")
    later = plm.evaluate(frame, **asked, where=f"t > {form.format('1970-01-01 00:00:00.000000000')}")
    assert later.metrics["value"].item() == 3
