"""Every verdict and level of a gate with every word of `--fail-on`, against the rule in words."""

import errno
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from plmetrics.core.errors import AbsentDataError, DataError
from plmetrics.core.results import GATES_SCHEMA
from plmetrics.gates.verdicts import verdict
from plmetrics.runs.failure import failure_of
from plmetrics.runs.outcome import ExitPolicy

CHECKS = tuple(product(("fail", "warn"), ("pass", "fail", "inconclusive", "skipped")))
POLICIES = ((), ("warn",), ("inconclusive",), ("warn", "inconclusive"))


def gates(*checks: tuple[str, str]) -> pl.DataFrame:
    rows = [
        {name: {"level": level, "verdict": word}.get(name) for name in GATES_SCHEMA} for level, word in checks
    ]
    return pl.DataFrame(rows, schema=GATES_SCHEMA)


def expected(checks: tuple[tuple[str, str], ...], fail_on: tuple[str, ...]) -> int:
    for level, word in checks:
        counts = level == "fail" or "warn" in fail_on
        if counts and (word == "fail" or (word == "inconclusive" and "inconclusive" in fail_on)):
            return 3
    return 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("fail_on", POLICIES)
def test_codes_of_results(fail_on) -> None:
    for checks in [(), *((check,) for check in CHECKS), *product(CHECKS, CHECKS)]:
        table = gates(*checks)
        policy = ExitPolicy(fail_on)
        code = policy.of_result(verdict(table), table)
        assert code == expected(checks, fail_on), checks
        reason = policy.reason(table)
        failed = ("fail", "fail") in checks
        assert (reason is not None) == (code == 3 and not failed), checks


def test_absent_data_may_count_as_skipped() -> None:
    absent, wrong = failure_of(AbsentDataError("x")), failure_of(DataError("x"))
    for skip, codes in ((False, [5, 4]), (True, [99, 4])):
        policy = ExitPolicy(skip_if_empty=skip)
        assert [policy.of_failure(failure).exit_code for failure in (absent, wrong)] == codes


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("can't start new thread"),
        ImportError("libexample.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        OSError(errno.EFBIG, "File too large"),
        BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
    ],
)
def test_what_the_system_does_not_grant_is_no_bug(error: Exception) -> None:
    assert failure_of(error).exit_code == 6
    assert failure_of(type(error)("another problem")).exit_code == 1


def test_a_removed_current_directory_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        Path.cwd()
    failure = failure_of(caught.value)
    monkeypatch.chdir(tmp_path)
    assert failure.exit_code == 6
    assert "current directory" in failure.message
    assert failure_of(caught.value).exit_code == 1
