"""Questions on stderr and answers from stdin, possibly a pipe."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from plmetrics.cli.terminal.console import say
from plmetrics.core.names import did_you_mean


class TerminalPrompt:
    """Asks line by line. At the end of the input every question left has its default."""

    def __init__(self) -> None:
        self.is_over = False

    def say(self, text: str) -> None:
        """Show a text."""
        say(text)

    def choose(self, question: str, choices: Mapping[str, str], default: str | None) -> str | None:
        """One of the choices, by its name or number."""
        if self.is_over:
            return default
        self._show(question, choices)
        while True:
            text = self._line("Number or name", default or "")
            if not text:
                return default
            name = _choice(text, list(choices))
            if name is not None:
                return name
            say(_unknown(text, choices))

    def choose_several(
        self, question: str, choices: Mapping[str, str], default: Sequence[str]
    ) -> tuple[str, ...]:
        """Some of the choices, with commas between them."""
        if self.is_over:
            return tuple(default)
        self._show(question, choices)
        while True:
            text = self._line("Numbers or names, with commas", ", ".join(default))
            if not text or text == ", ".join(default):
                return tuple(default)
            parts = [part.strip() for part in text.split(",") if part.strip()]
            names = {part: _choice(part, list(choices)) for part in parts}
            unknown = next((part for part, name in names.items() if name is None), None)
            if unknown is None:
                return tuple(dict.fromkeys(name for name in names.values() if name is not None))
            say(_unknown(unknown, choices))

    def number(self, question: str) -> float | None:
        """A number above 0."""
        while text := self._line(f"{question} A number, or Enter", ""):
            try:
                value = float(text)
            except ValueError:
                value = 0.0
            if 0 < value < float("inf"):
                return value
            say(f"  '{text}' is no number above 0")
        return None

    def _show(self, question: str, choices: Mapping[str, str]) -> None:
        say(f"\n{question}")
        width = max(map(len, choices), default=0)
        for place, (name, words) in enumerate(choices.items(), 1):
            say(f"  {place:>3}  {name:<{width}}  {words}".rstrip())

    def _line(self, prompt: str, default: str) -> str:
        """The next line, or the default where it is empty or the input is at its end."""
        if self.is_over:
            return default
        # Not `input`: it writes to stdout, which is the suite's.
        sys.stderr.write(f"{prompt} [{default}]: " if default else f"{prompt}: ")
        sys.stderr.flush()
        text = sys.stdin.readline()
        if not sys.stdin.isatty():
            say(text.rstrip("\n"))
        if not text:
            self.is_over = True
            say("no more answers: the guesses hold for what is left")
        return text.strip() or default


def _choice(text: str, names: Sequence[str]) -> str | None:
    if text in names:
        return text
    place = int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 6 else -1
    return names[place] if 0 <= place < len(names) else None


def _unknown(text: str, choices: Mapping[str, str]) -> str:
    hint = did_you_mean(text, choices)
    return f"  '{text}' is none of these" + (f": {hint}" if hint else "")
