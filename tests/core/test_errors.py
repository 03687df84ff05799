"""The public errors: their names, and the examples of their docstrings."""

import doctest

import pytest

import plmetrics as plm
from plmetrics.core.errors import (
    ConfigError,
    DataError,
    EnvironmentFault,
    PlmetricsError,
    PlmetricsWarning,
    Problem,
)


@pytest.mark.parametrize("kind", [PlmetricsError, ConfigError, DataError, EnvironmentFault, PlmetricsWarning])
def test_tracebacks_call_errors_as_callers_import_them(kind: type[Exception]) -> None:
    assert f"{kind.__module__}.{kind.__name__}" == f"plmetrics.{kind.__name__}"
    assert getattr(plm, kind.__name__) is kind


@pytest.mark.parametrize("kind", [ConfigError, DataError])
def test_examples_run(kind: type[PlmetricsError]) -> None:
    """Doctest takes them for those of another module, so that nothing else runs them."""
    (example,) = doctest.DocTestFinder().find(kind, kind.__name__, module=False, globs={})
    outcome = doctest.DocTestRunner().run(example)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_a_message_has_the_first_problems_and_the_number_of_the_others() -> None:
    error = ConfigError([Problem(f"wrong {number}") for number in range(1_060)])
    lines = str(error).splitlines()
    assert (len(error.problems), lines[49:]) == (1_060, ["wrong 49", "... and 1,010 more"])
    assert len(str(ConfigError([Problem("wrong")] * 50)).splitlines()) == 50
