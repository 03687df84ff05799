"""plmetrics: trustworthy numbers from huge prediction tables.

>>> import polars as pl, plmetrics as plm
>>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.3]})
>>> plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"]).metrics["value"].item()
1.0
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from plmetrics.core.version import VERSION

if TYPE_CHECKING:
    from plmetrics.api.catalogue import metric, metrics
    from plmetrics.api.evaluation import evaluate, run
    from plmetrics.api.inspection import diff, validate
    from plmetrics.api.loading import load
    from plmetrics.api.merging import merge
    from plmetrics.api.nights.history import history, history_chart
    from plmetrics.api.result import Result
    from plmetrics.api.states import state
    from plmetrics.catalogue.metric import Metric
    from plmetrics.catalogue.registry import register
    from plmetrics.core.errors import (
        AbsentDataError,
        ConfigError,
        DataError,
        EnvironmentFault,
        PlmetricsError,
        PlmetricsWarning,
    )
    from plmetrics.features.advice.suggestion import suggest
    from plmetrics.features.experiment.readout import readout
    from plmetrics.features.experiment.readout_chart import readout_chart
    from plmetrics.features.splits import splitters as splits
    from plmetrics.inference.comparisons.tests import functions as tests
    from plmetrics.states.state_format import State
    from plmetrics.states.sums import Atom

__version__ = VERSION

__all__ = [
    "AbsentDataError",
    "Atom",
    "ConfigError",
    "DataError",
    "EnvironmentFault",
    "Metric",
    "PlmetricsError",
    "PlmetricsWarning",
    "Result",
    "State",
    "diff",
    "evaluate",
    "history",
    "history_chart",
    "load",
    "merge",
    "metric",
    "metrics",
    "readout",
    "readout_chart",
    "register",
    "run",
    "splits",
    "state",
    "suggest",
    "tests",
    "validate",
]

_HOMES = {
    "plmetrics.api.result": ("Result",),
    "plmetrics.states.state_format": ("State",),
    "plmetrics.api.inspection": ("diff", "validate"),
    "plmetrics.api.evaluation": ("evaluate", "run"),
    "plmetrics.api.loading": ("load",),
    "plmetrics.api.merging": ("merge",),
    "plmetrics.api.nights.history": ("history", "history_chart"),
    "plmetrics.api.catalogue": ("metric", "metrics"),
    "plmetrics.features.advice.suggestion": ("suggest",),
    "plmetrics.features.experiment.readout": ("readout",),
    "plmetrics.features.experiment.readout_chart": ("readout_chart",),
    "plmetrics.api.states": ("state",),
    "plmetrics.catalogue.metric": ("Metric",),
    "plmetrics.catalogue.registry": ("register",),
    "plmetrics.states.sums": ("Atom",),
    "plmetrics.core.errors": (
        "AbsentDataError",
        "ConfigError",
        "DataError",
        "EnvironmentFault",
        "PlmetricsError",
        "PlmetricsWarning",
    ),
}
_MODULES = {
    "splits": "plmetrics.features.splits.splitters",
    "tests": "plmetrics.inference.comparisons.tests.functions",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        msg = f"module 'plmetrics' has no attribute {name!r}"
        raise AttributeError(msg, name=name, obj=sys.modules[__name__])
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
