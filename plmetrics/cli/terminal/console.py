"""Consoles of the command line: the result to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from plmetrics.table.storage.places import Place

_PLAIN = str.maketrans("▲▼▁▂▃▄▅▆▇█·", "^v_.,-~=*# ")


def open_streams() -> None:
    """Let closed descriptors (`2>&-`) lead nowhere: else data files would take their place, and words have none."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def write_result(text: str) -> None:
    """Write to stdout. A closed pipe (`| head`) is no error."""
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            sys.stdout.write(text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)


def say(text: str) -> None:
    """Write a line to stderr; a closed pipe or a full disk behind it costs no result."""
    with suppress(OSError):
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()


def say_warnings(texts: Iterable[str]) -> None:
    """Write warnings to stderr, a line each."""
    from plmetrics.core.names import printable

    for text in texts:
        say(printable(f"warning: {text}"))


def write_html(text: str, path: Path) -> None:
    """Write a page to a file, and say so."""
    from plmetrics.report.html.rendering import write_page

    write_page(text, path)
    say(f"written: {shown_path(path)}")


def width() -> int:
    """Columns for the report: the terminal's or COLUMNS, 100 where there is no terminal."""
    from plmetrics.report.layout import terminal_width

    return terminal_width()


def wants_color(stream: TextIO) -> bool:
    """Whether to use colour: on a terminal, unless NO_COLOR is set or the terminal cannot."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def shown_path(path: Place) -> str:
    """A path as the user would type it: relative where it is below the working directory."""
    with suppress(ValueError, OSError):
        return str(Path(path.resolve()).relative_to(Path.cwd()))
    return str(path)


def _discard(stream: TextIO) -> None:
    """Discard buffered output, against an error of the interpreter at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
