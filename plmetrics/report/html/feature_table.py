"""The table of a feature on a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """The title of a feature's section, the result table, and its columns to show where they hold anything."""

    title: str
    table: str
    columns: str
