"""The public errors: their names, and the examples of their docstrings."""

from __future__ import annotations

import doctest

import pytest

import plmetrics as plm
from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault, PlmetricsError, PlmetricsWarning


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
