"""The error of an invalid row expression."""

from __future__ import annotations


class RowExpressionError(ValueError):
    """A row expression is not valid or not allowed.

    `position` counts characters from 1 and is None where it is not known; `hint` says what to write instead.
    """

    def __init__(self, message: str, position: int | None = None, hint: str | None = None) -> None:
        super().__init__(message if position is None else f"{message} (at character {position})")
        self.position = position
        self.hint = hint


def not_a_condition(text: str) -> str:
    """Message on an expression in place of a condition."""
    return f"'{text}' is not a condition: it is neither true nor false"
