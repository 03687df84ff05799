"""Checks of a suite with intervals before any of its rows is read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from plmetrics.features.nights.interval_section import IntervalSection, adds_states
from plmetrics.features.nights.row_condition import rows_condition

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.suite.model import Suite


def check_intervals(suite: Suite, schema: pl.Schema) -> None:
    """Refuse intervals whose states cannot be made, or whose rows the table does not tell apart.

    Raises:
        ConfigError: the suite asks for what no state carries.
        DataError: there is no such column, or it holds neither dates nor times.
    """
    check_interval_states(suite)
    section = IntervalSection.of(suite)
    rows_condition(section, section.calendar.containing(datetime.now(UTC)), schema)


def check_interval_states(suite: Suite) -> None:
    """Refuse a suite whose intervals have states that cannot hold what it asks for; no row is read.

    Raises:
        ConfigError: it asks for what no state carries.
    """
    if adds_states(suite):
        from plmetrics.features.nights.states import state_suite

        state_suite(suite)
