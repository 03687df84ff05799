"""What libraries write to the standard error while a command runs, in processes of their own."""

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
import polars as pl
from plmetrics.cli.terminal.guard import guard
from plmetrics.cli.terminal.console import say
from plmetrics.core.errors import DataError
from plmetrics.core.process import take_over

{take_over}
native = lambda text: os.write(2, text.encode() + b"\\n")

def panic():
    try:
        pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date).to_list()
    except pl.exceptions.PanicException as error:
        return error

say("python, before")
native("native, before")
with guard(debug={debug}):
    native("native")
    say("python")
    error = {panic}
    {end}
say("python, after")
native("native, after")
"""
AROUND = ["python, before", "native, before"]


def ended(end="", *, take_over="take_over()", panic="panic()", debug=False, **environment):
    """The exit code of a process, and the lines of its standard error."""
    script = SCRIPT.format(end=end, take_over=take_over, panic=panic, debug=debug)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"RUST_BACKTRACE": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr.splitlines()


def test_words_of_python_come_at_once_and_others_at_the_end():
    ended_well = (0, [*AROUND, "python", "native", "python, after", "native, after"])
    assert ended(panic="None") == ended_well


@pytest.mark.slow
def test_what_follows_a_panic_is_not_passed_on_by_libraries():
    """Its thread may still be writing the report when the command has ended."""
    assert ended() == (0, [*AROUND, "python", "native", "python, after"])


@pytest.mark.slow
def test_the_panic_behind_an_error_of_the_data_is_not_reported():
    code, lines = ended('raise DataError("damaged") from error')
    block = ["error: the data is not what the suite says", "  damaged"]
    assert (code, lines[:6]) == (
        1,
        [*AROUND, "python", "native", *block],
    )  # the exit of typer is none of a script
    assert not any("panicked" in line for line in lines)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("end", "options"),
    [
        ("raise error", {}),
        ("raise DataError from error", {"debug": True}),
        ("", {"take_over": ""}),
        ("", {"POLARS_VERBOSE": "1"}),
        ("os.abort()", {}),
    ],
    ids=["a bug", "debug", "a library", "verbose", "the process is stopped"],
)
def test_the_panic_is_reported(end, options):
    code, lines = ended(end, **options)
    assert "native" in lines
    assert any("panicked at" in line for line in lines)
    assert code == {"": 0, "os.abort()": -signal.SIGABRT}.get(end, 1)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_exit_code(tmp_path, closed):
    """And nothing that is written lands in a file that took the place of one."""
    (tmp_path / "t.csv").write_text("y,p\n1,0.9\n0")
    suite = "data: {path: t.csv}\ncolumns: {label: y}\nmodels: {m: p}\nmetrics: [accuracy]\n"
    (tmp_path / "s.yaml").write_text(suite)
    command = f"{sys.executable} -m plmetrics run s.yaml {closed}"
    assert subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=False).returncode == 4
    (tmp_path / "t.csv").write_text("y,p\n1,0.9\n0,0.1\n")
    assert subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "t.csv").read_text() == "y,p\n1,0.9\n0,0.1\n"
