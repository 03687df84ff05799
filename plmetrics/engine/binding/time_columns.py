"""The columns that order the rows of a test in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.errors import Collected
from plmetrics.table.roles import require

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.suite.model import Suite


def times_of(suite: Suite) -> tuple[str, ...]:
    """The columns of time that tests name."""
    tests = () if suite.compare is None else suite.compare.tests
    return tuple(dict.fromkeys(test.time for test in tests if test.time is not None))


def check_times(suite: Suite, schema: pl.Schema) -> None:
    """Refuse columns that are not there.

    Raises:
        DataError: a column is absent; all are named.
    """
    collected = Collected()
    for place, test in enumerate(() if suite.compare is None else suite.compare.tests):
        with collected.step():
            if test.time is not None:
                require(schema, test.time, "time", ("compare", "tests", place, test.test, "time"))
    collected.settle()
