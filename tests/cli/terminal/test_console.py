import io
import sys
from pathlib import Path

import pytest

from plmetrics.cli.terminal.console import say, shown_path, wants_color, width, write_result
from plmetrics.cli.terminal.progress import Progress


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("terminal", "environment", "wanted"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_wants_color(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], wanted: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(Stream(terminal=terminal)) == wanted


@pytest.mark.parametrize(("columns", "expected"), [("80", 80), ("500", 160)])
def test_width(monkeypatch: pytest.MonkeyPatch, columns: str, expected: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == expected


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", "▲ better: é\n"), ("ascii", "^ better: \\xe9\n")])
def test_a_narrow_encoding_is_no_error(monkeypatch: pytest.MonkeyPatch, encoding: str, text: str) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    write_result("▲ better: é\n")
    assert raw.getvalue().decode(encoding) == text


def test_say_escapes_what_the_terminal_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    say("é")
    assert raw.getvalue() == b"\\xe9\n"


def test_shown_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert shown_path(tmp_path / "here" / "runs" / "x") == "runs/x"
    assert shown_path(tmp_path / "elsewhere") == str(tmp_path / "elsewhere")


def test_progress_off_a_terminal_is_a_line_at_most_every_ten_seconds() -> None:
    stream, clock = Stream(terminal=False), Clock()
    progress = Progress(stream, clock=clock)
    lines = []
    for seconds, stage in [
        (0.1, "prepare"),
        (0.9, "prepare"),
        (1.0, "aggregate"),
        (5, "order"),
        (11, "order"),
        (12, "x"),
    ]:
        progress(stage)
        clock.now = 100 + seconds
        progress.tick()
        lines.append(stream.getvalue().count("\n"))
    assert lines == [0, 0, 1, 1, 2, 2]
    assert stream.getvalue() == "plmetrics: aggregate (1 s)\nplmetrics: order (11 s)\n"


def test_progress_on_a_terminal_leaves_nothing_behind() -> None:
    stream, clock = Stream(terminal=True), Clock()
    with Progress(stream, quiet=True, clock=clock) as progress:
        progress("prepare")
        progress.tick()
        assert stream.getvalue() == ""
        clock.now += 2
        progress.tick()
        progress("order")
        progress.tick()
    shown = stream.getvalue()
    assert "order (2 s)" in shown
    assert shown.endswith("\x1b[2K")


@pytest.mark.parametrize("quiet", [True, False])
def test_short_work_shows_nothing(quiet: bool) -> None:
    stream = Stream(terminal=False)
    with Progress(stream, quiet=quiet, clock=Clock()) as progress:
        progress("prepare")
    assert stream.getvalue() == ""
