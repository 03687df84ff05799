"""Values of variables are masked where they stand for themselves, in errors and all that these come from."""

import pytest

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.redaction import Redaction

VARIABLES = Redaction.of({"TOKEN": "s3cr-et/", "DAY": "7", "TABLE": "scores", "LONG": "s3cr-et/and/more"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file matches s3cr-et/x.csv", "no file matches ${TOKEN}x.csv"),
        ("me:s3cr-et@host", "me:${TOKEN}@host"),
        ("s3cr-et/and/more/7/a.csv", "${LONG}/${DAY}/a.csv"),
        ("7 rows of 17, 2026-7-1", "7 rows of 17, 2026-7-1"),
        ("the column 'scores' of scores/7/scores.csv", "the column '${TABLE}' of ${TABLE}/${DAY}/scores.csv"),
        ("s3://me:scores@host and more scores", "s3://me:${TABLE}@host and more scores"),
    ],
)
def test_words_and_numbers_are_masked_only_as_parts_of_paths(text, shown):
    assert VARIABLES.text(text) == shown


def test_files_of_other_values_stay_apart():
    found = {Redaction.of({"DAY": day}).text(f"data/{day}/x.csv", identity=True) for day in ("d1-a", "d2-a")}
    assert len(found) == 2
    assert all(path.startswith("data/${DAY}~") and "-a" not in path for path in found)


def test_errors_are_masked_with_what_they_come_from():
    system = OSError(2, "s3cr-et", "s3cr-et/x")
    error = DataError(Problem("cannot read s3cr-et/x", ("data",), "look at s3cr-et/y"))
    error.__cause__ = system
    VARIABLES.mask(error)
    assert str(error.problems[0]) == "data: cannot read ${TOKEN}x\n    look at ${TOKEN}y"
    assert "s3cr-et" not in f"{error}{error!r}{system}{system!r}"


@pytest.mark.parametrize("shown", ["mysql://me:geheim@db.example/x", "mysql://me:***@db.example/x"])
def test_an_address_is_masked_also_where_its_password_is_hidden(shown):
    variables = Redaction.of({"RESULTS": "mysql://me:geheim@db.example/x"})
    assert (
        variables.text(f"not in the database {shown}: refused") == "not in the database ${RESULTS}: refused"
    )
