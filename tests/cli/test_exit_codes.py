"""The contract of exit codes: one table, and stderr without a traceback."""

import errno
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from plmetrics.core.errors import (
    AbsentDataError,
    ConfigError,
    DataError,
    EnvironmentFault,
    Location,
    PlmetricsError,
    Problem,
)

LOCATED = ConfigError(
    [
        Problem(
            "unknown metric 'roc_acu'", hint="did you mean 'roc_auc'?", where=Location("suite.yaml", 7, 5)
        ),
        Problem("unknown key 'slice'", path=("slice",), where=Location("suite.yaml", 9, 1)),
    ]
)
ERRORS: list[tuple[BaseException, int, str]] = [
    (LOCATED, 2, "error: the suite is not valid (2 problems)"),
    (DataError("column 'y' is absent"), 4, "error: the data is not what the suite says"),
    (AbsentDataError("no such file"), 5, "error: there is no data for what is asked"),
    (
        EnvironmentFault.missing_extra("pandas", "reading a pandas frame"),
        6,
        "pip install 'plmetrics[pandas]'",
    ),
    (
        PermissionError(errno.EACCES, "Permission denied", "/data/x.parquet"),
        6,
        "/data/x.parquet: permission denied",
    ),
    (OSError(errno.ENOSPC, "No space left on device"), 6, "no space left on device"),
    (MemoryError(), 6, "out of memory"),
    (PlmetricsError("rows in are not rows out"), 1, "This is a bug in plmetrics"),
    (ZeroDivisionError("division by zero"), 1, "ZeroDivisionError: division by zero"),
    (AssertionError(), 1, "--debug"),
    (RecursionError("too deep"), 1, "This is a bug in plmetrics"),
    (pl.exceptions.ComputeError("bad plan"), 1, "ComputeError: bad plan"),
    (pl.exceptions.PanicException("index out of bounds"), 1, "PanicException: index out of bounds"),
    (KeyboardInterrupt(), 130, "interrupted"),
]


@pytest.mark.parametrize(("error", "code", "words"), ERRORS, ids=lambda value: type(value).__name__)
def test_errors(invoke: Any, api_run: Any, error: BaseException, code: int, words: str) -> None:
    api_run(error)
    outcome = invoke("run", "suite.yaml")
    assert outcome.code == code
    assert words in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(("error", "code", "_"), ERRORS, ids=lambda value: type(value).__name__)
def test_debug_adds_the_traceback(invoke: Any, api_run: Any, error: BaseException, code: int, _: str) -> None:
    api_run(error)
    outcome = invoke("run", "suite.yaml", "--debug")
    assert outcome.code == code
    assert "Traceback (most recent call last)" in outcome.err
    assert outcome.out == ""


def test_a_block_names_file_line_and_column(invoke: Any, api_run: Any) -> None:
    api_run(LOCATED)
    assert invoke("run", "suite.yaml").err == (
        "error: the suite is not valid (2 problems)\n"
        "  suite.yaml:7:5: unknown metric 'roc_acu'\n"
        "      did you mean 'roc_auc'?\n"
        "  suite.yaml:9:1: unknown key 'slice'\n"
    )


def test_a_hint_of_several_problems_stands_once(invoke: Any, api_run: Any) -> None:
    api_run(DataError([Problem("no column 'y'", hint="known: a"), Problem("no column 'p'", hint="known: a")]))
    assert invoke("run", "suite.yaml").err.splitlines()[1:] == [
        "  no column 'y'",
        "  no column 'p'",
        "      known: a",
    ]


def test_control_characters_of_data_do_not_reach_the_terminal(invoke: Any, api_run: Any) -> None:
    api_run(DataError("label '\x1b[2Jx' is outside the classes\nrow 3"))
    outcome = invoke("run", "suite.yaml")
    assert "\x1b" not in outcome.err
    assert "  label '\\x1b[2Jx' is outside the classes\n  row 3\n" in outcome.err


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("none", 0), ("inconclusive", 0), ("fail", 3)])
@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_verdicts(invoke: Any, api_run: Any, result: Any, verdict: str, code: int, form: str) -> None:
    api_run(result(verdict))
    outcome = invoke("run", "suite.yaml", "--format", form)
    assert outcome.code == code
    assert "roc_auc" in outcome.out
    assert ("inconclusive" in outcome.err) == (verdict == "inconclusive" and form != "text")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("unknown",),
        ("run",),
        ("run", "a.yaml", "b.yaml"),
        ("run", "a.yaml", "--unknown"),
        ("run", "a.yaml", "--format", "xml"),
        ("run", "a.yaml", "--set", "no-equals"),
        ("run", "a.yaml", "--set", "=1"),
        ("validate",),
        ("metrics", "roc_acu"),
        ("metrics", "--task", "binry"),
    ],
    ids=" ".join,
)
def test_usage_errors(invoke: Any, api_run: Any, arguments: tuple[str, ...]) -> None:
    calls = api_run(SimpleNamespace())
    outcome = invoke(*arguments)
    assert outcome.code == 2
    assert outcome.err or outcome.out
    assert "Traceback" not in outcome.err
    assert calls == []


@pytest.mark.parametrize(("word", "hint"), [("jsn", " Did you mean 'json'?"), ("nope", "")])
def test_a_choice_that_there_is_not(invoke: Any, word: str, hint: str) -> None:
    said = invoke("diff", "a", "b", "--format", word).err.splitlines()[-1]
    assert said == f"Error: Invalid value for '--format': '{word}' is not one of 'text', 'json', 'csv'.{hint}"


def test_validate(invoke: Any, monkeypatch: pytest.MonkeyPatch, result: Any) -> None:
    report = SimpleNamespace(
        suite=result().suite, schema={"y": 1, "p": 1}, warnings=("accuracy may mislead",)
    )
    monkeypatch.setattr("plmetrics.api.inspection.validate", lambda path, **_: report)
    outcome = invoke("validate", "suite.yaml")
    assert (outcome.code, outcome.err) == (0, "warning: accuracy may mislead\n")
    assert outcome.out == "valid: nightly (2 columns, 1 model, 1 metric, 0 slice sets, 1 gate)\n"


@pytest.mark.parametrize(("error", "code"), [(LOCATED, 2), (DataError("file absent"), 4), (KeyError("x"), 1)])
def test_validate_errors(invoke: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int) -> None:
    def validate(path: Any, **_: Any) -> None:
        raise error

    monkeypatch.setattr("plmetrics.api.inspection.validate", validate)
    outcome = invoke("validate", "suite.yaml")
    assert outcome.code == code
    assert outcome.out == ""
