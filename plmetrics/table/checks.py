"""Checks of values: masks and words of bad rows, and the canonical columns of valid rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import SuitePath, data_text, name_list, sql_name
from plmetrics.table.common_types import are_numbers

if TYPE_CHECKING:
    from polars.datatypes import DataType

REPEATED_TIME = "the time of another row of a series"
"""Problem of rows that have no order in time."""

UNORDERED = "no ISO date, and such texts are not in the order of time"
"""Problem of texts that rows are to be ordered by."""
UNORDERED_HINT = "write it as 2026-01-31, or convert the column to dates"
_MONTH, _DAY = "(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
_CLOCK = r"[T ]\d{2}(:?\d{2}){0,2}([.,]\d+)?( ?(Z|[A-Z]{3,4}|[+-]\d{2}(:?\d{2})?))?"
_ISO = (
    rf"^(\d{{4}}([-/.]?{_MONTH}([-/.]?{_DAY}({_CLOCK})?)?)?|\d{{4}}{_MONTH}{_DAY}(\d{{2}}){{1,3}}"
    r"|\d{4}(-?Q\d|-?W\d{2}(-?\d)?))$"
)
"""Texts whose order is that of time: the year first, months and days in two digits, and 24 hours."""

_ZONE = r"[T ]\d{2}[\d:.,]*( ?(?:Z|[A-Z]{3,4}|[+-]\d{2}(?::?\d{2})?))$"
_SHOWN_FORMS = 5

VALID = "@@valid"
SCORED = "@@scored"


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a role's values; `model` restricts it to the rows of one model.

    `shown` is the value to show of a bad row, where that is not the column's own.
    """

    role: str
    column: str
    problem: str
    bad: pl.Expr
    path: SuitePath
    model: str | None = None
    shown: pl.Expr | None = None

    @property
    def column_name(self) -> str:
        """Canonical column of its failures."""
        return f"@@bad|{self.role}|{self.column}|{self.problem}"


def exclusion(checks: Iterable[Check], missing: str, model: str, weight: str | None) -> pl.Expr:
    """Whether a row is left out for a model, by a check that fails or by its weight of 0, where there is one."""
    reasons = [] if weight is None else [(pl.col(weight) == 0).fill_null(value=False)]
    if missing != "error":
        apart = missing == "drop_per_model"
        reasons += [
            pl.col(check.column_name) for check in checks if not apart or check.model in {None, model}
        ]
    return pl.any_horizontal(reasons or [pl.lit(value=False)])


@dataclass(frozen=True, slots=True)
class Derivation:
    """A column over several rows: of raw columns, or of `evaluated` rows as an expression of canonical columns."""

    expression: pl.Expr
    evaluated: bool = False


@dataclass(frozen=True, slots=True)
class Requirement:
    """Requirement of a metric on a column outside all roles: `bad` is true for an invalid value.

    `problem` completes "values are ...". A null that `bad` does not speak of is no problem. `numeric` says
    that the column must hold numbers, `needs_order` that rows are in the order of its times.
    """

    column: str
    problem: str
    bad: Callable[[pl.Expr], pl.Expr]
    role: str = "read by a metric"
    path: SuitePath = ("metrics",)
    numeric: bool = False
    needs_order: bool = False


def absent(value: pl.Expr, dtype: DataType) -> pl.Expr:
    """Whether a value is null or NaN."""
    return value.is_null() | value.is_nan() if dtype.is_float() else value.is_null()


def is_no_number(value: pl.Expr) -> pl.Expr:
    """Whether a value is null, NaN or infinite, or a text that is no number."""
    return ~value.cast(pl.Float64, strict=False).is_finite().fill_null(value=False)


def is_unordered(time: pl.Expr, dtype: DataType) -> pl.Expr:
    """Whether a time is a text in an order other than that of time; null for a null."""
    if is_text(dtype):
        return ~time.cast(pl.String).str.contains(_ISO)
    return time.is_null() & False


def time_forms(rows: pl.LazyFrame, *columns: str) -> pl.LazyFrame:
    """Forms of the ISO texts of some columns, the most frequent first: their rows and an example.

    Texts of one form are in the order of time: they differ in digits alone, and in fractions of a second where these
    do not matter. An offset is part of the form, since 01:00+01:00 comes before 01:30+02:00 as a text.

    >>> times = pl.LazyFrame({"t": ["2026-01-02", "2026-01-01", "2026-01-01T12:00", None]})
    >>> time_forms(times, "t").collect().rows()
    [(2, '2026-01-01'), (1, '2026-01-01T12:00')]
    """
    texts = pl.concat([rows.select(pl.col(name).cast(pl.String).alias("text")) for name in columns])
    text = pl.col("text")
    zone = text.str.extract(_ZONE).fill_null("")
    shape = text.str.strip_suffix(zone).str.replace_all(r"\d", "0")
    # Letters come after digits, signs of offsets before them: 00.5Z after 00.55Z, but 00.5+01 before 00.55+01.
    shape = pl.when(zone.str.contains("^[A-Z]")).then(shape).otherwise(shape.str.replace(r"\.0+$", ""))
    forms = texts.filter(~is_unordered(text, pl.String())).group_by(shape + zone)
    counted = forms.agg(pl.len().cast(pl.Int64).alias("n"), text.min().alias("example"))
    return counted.select("n", "example").sort("n", "example", descending=[True, False])


def is_text(dtype: DataType) -> bool:
    """Whether a column of a type holds texts, which are ordered as such."""
    return isinstance(dtype, (pl.String, pl.Categorical))


def one_form_problem(forms: pl.DataFrame, subject: str, path: SuitePath) -> Problem | None:
    """Problem of texts in several of the `time_forms`: their order is not that of time."""
    if forms.height < 2:
        return None
    examples = [f"{n:,} like {example!r}" for n, example in forms.iter_rows()]
    msg = f"{subject}: its times are written in {forms.height:,} forms, whose texts are not in the order of time"
    hint = "write all in one form and with one offset, such as 2026-01-31T12:00:00Z, or convert the column to times"
    return Problem(f"{msg}: {name_list(examples, _SHOWN_FORMS)}", path, hint)


def each_once(needs: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Requirements, each once: several metrics may ask the same of a column."""
    return tuple({(need.column, need.role, need.problem): need for need in needs}.values())


def not_numbers(
    name: str, role: str, dtype: pl.DataType, path: SuitePath, hint: str | None = None
) -> Problem:
    """Problem of a column with another type than a required number."""
    return Problem(f"column '{name}' ({role}) is of type {dtype}, but must hold numbers", path, hint)


def number_hint(name: str, role: str) -> str:
    """Way from a column of texts to numbers."""
    if role == "treatment":
        return f"derive a column that says who was treated, such as {sql_name(name)} = 'treated'"
    column = sql_name(name)
    derivation = f"derive TRY_CAST({column} AS DOUBLE), with REPLACE({column}, ',', '.') of decimal commas"
    return f"store it as numbers; in csv n/a or 007 makes a whole column text: {derivation}"


def require_numbers(needs: Iterable[Requirement], schema: pl.Schema) -> None:
    """Check that required number columns have a numeric type.

    Raises:
        DataError: some are not; all are named.
    """
    types = [(need, schema[need.column]) for need in needs if need.numeric]
    problems = [
        not_numbers(need.column, need.role, dtype, need.path)
        for need, dtype in types
        if not are_numbers(dtype)
    ]
    if problems:
        raise DataError(problems)


_MANY = 0.1
"""With a smaller share of bad values scores are no logits, but probabilities with bad values among them."""
_OF_LOGITS = {
    "score": "; if these are logits or margins, name the column as the model's margin, and calibrate it",
    "probability": "; if these are logits, give their softmax: exp of each, with normalise: true",
}

_CENT = 100
_POSITIVE = "name the class that counts as positive, positive: ..., or clean the column"
_OF_SCORES = {
    "label": "this looks like a score: name the column of what happened as the label",
    "prediction": "this looks like a score: write {score: ...} in place of {prediction: ...}",
}
"""For shares where outcomes belong."""

_BY_PROBLEM = {
    UNORDERED: UNORDERED_HINT,
    REPEATED_TIME: "name the column that tells series apart (series=...), or keep one row a time, as of one horizon",
    "below 0": "if these are logits or logarithms of probabilities, give the exp of each",
    "none of the classes": (
        "name every class with classes:, correct the labels, or leave such rows out with data.missing: drop"
    ),
    "with a class": (
        "name every class with classes:, or leave such rows out with data.missing: drop; a list holds the names of a "
        "row's classes, not 0 and 1"
    ),
    "in rows whose": "correct the probabilities, or leave such rows out with data.missing: drop",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of the second look for one check: the number of rows, and the first of them."""

    check: Check
    count: int
    row: int
    value: Any


def data_error(findings: Sequence[Finding], *, rows: int, place: Callable[[int], str]) -> DataError:
    """All findings in one error, each with column, count and an example row; `place` names a row."""
    return DataError([_problem(finding, rows, place(finding.row)) for finding in findings])


def _problem(finding: Finding, rows: int, place: str) -> Problem:
    check = finding.check
    verb = "is" if finding.count == 1 else "are"
    first = ", the first" if finding.value is None else f"; the first is {data_text(finding.value)}"
    message = (
        f"column '{check.column}' ({check.role}): {finding.count:,} of {rows:,} values {verb} {check.problem}"
        f"{first} in {place} (counted from 0)"
    )
    return Problem(message, check.path, _hints(check, finding.value, finding.count / rows))


def _hints(check: Check, value: Any, share: float) -> str:
    kind, number = check.role.partition(" ")[0], value if isinstance(value, float) else 0.0
    if check.role == "treatment":
        return "write 1 for treated rows and 0 for controls"
    if check.problem.startswith("outside"):
        hint = "give a probability column, or leave out the metrics and curves that need one"
        if share < _MANY:
            return hint
        per_cent = "; if per cent, divide by 100 in derive" if kind == "score" and 1 < number <= _CENT else ""
        return hint + _OF_LOGITS.get(kind, "") + per_cent
    if check.problem == "neither 0 nor 1":
        return _OF_SCORES.get(kind, _POSITIVE) if share >= _MANY and 0 < number < 1 else _POSITIVE
    hints = (hint for start, hint in _BY_PROBLEM.items() if check.problem.startswith(start))
    return next(hints, "clean the column, or leave such rows out with data.missing: drop")


def findings(checks: Sequence[Check], summary: Mapping[str, Any]) -> list[Finding]:
    """Violations per check: its number of rows, first row and that row's raw value."""
    return [
        Finding(check, summary[f"{index}|count"], summary[f"{index}|row"], summary[f"{index}|value"])
        for index, check in enumerate(checks)
        if summary[f"{index}|count"]
    ]


def weight_checks(name: str, weight: pl.Expr, path: SuitePath, model: str | None = None) -> list[Check]:
    """Checks of weights."""
    role = "weight" if model is None else f"weight of model '{model}'"
    return [
        Check(role, name, "null", weight.is_null(), path, model),
        Check(role, name, "NaN or infinite", ~weight.is_finite(), path, model),
        Check(role, name, "negative", weight < 0, path, model),
    ]


def valid_column(model: str) -> str:
    """Canonical validity column of a model's rows (missing: drop_per_model)."""
    return f"@@valid|{model}"


def scored_column(model: str) -> str:
    """Canonical validity column of a model's rows irrespective of the label (missing: drop_per_model)."""
    return f"@@scored|{model}"


def bad_rows(*, unlabelled: bool) -> pl.Expr:
    """Whether a row fails a check, where that is an error; with `unlabelled` a missing label is no failure."""
    return ~pl.col(SCORED if unlabelled else VALID)


def all_of(conditions: Sequence[pl.Expr]) -> pl.Expr:
    """Whether all conditions hold, with null as false."""
    return pl.all_horizontal(conditions).fill_null(value=False)


def labelled_rows(
    frame: pl.LazyFrame,
    counted: pl.LazyFrame,
    missing: str,
    labelled: pl.Expr,
    everyone: Sequence[pl.Expr],
    scores: Mapping[str, pl.Expr],
) -> tuple[pl.LazyFrame, pl.LazyFrame, pl.LazyFrame]:
    """Labelled rows, all rows, and valid ones irrespective of their label.

    Args:
        frame: all rows.
        counted: those with a sound weight and unit, or all where others are an error.
        missing: what a bad value does.
        labelled: whether a row has a label.
        everyone: what must hold for a sound row of any model.
        scores: whether the score of each model is sound.
    """
    if missing != "drop_per_model":
        every = counted.with_columns(all_of([*everyone, *scores.values()]).alias(SCORED))
        every = every.with_columns((pl.col(SCORED) & labelled).alias(VALID))
        scored = every if missing == "error" else every.filter(pl.col(SCORED))
        return scored.filter(labelled), every, scored

    def marked(rows: pl.LazyFrame, conditions: Sequence[pl.Expr]) -> pl.LazyFrame:
        rows = rows.with_columns(
            all_of([*conditions, score]).alias(scored_column(model)) for model, score in scores.items()
        )
        return rows.with_columns(
            (pl.col(scored_column(model)) & labelled).alias(valid_column(model)) for model in scores
        )

    scored = marked(frame.filter(all_of(everyone)), [])
    scored = scored.filter(pl.any_horizontal(map(scored_column, scores)))
    return scored.filter(labelled), marked(counted, everyone), scored
