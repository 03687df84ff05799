"""Ownership of the process: only the command line changes settings of its host, a library none."""

from __future__ import annotations

_ours = False


def take_over() -> None:
    """Say that this process is the command line's, before it starts anything."""
    global _ours  # noqa: PLW0603
    _ours = True


def is_ours() -> bool:
    """Whether settings of the whole process may be changed: those of its allocator, and its environment."""
    return _ours
