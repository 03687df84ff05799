"""The Python entry points."""

from plmetrics.api.beside import Beside, training_table
from plmetrics.api.catalogue import metric, metrics
from plmetrics.api.entry import evaluate, located, run
from plmetrics.api.experiment import readout
from plmetrics.api.looks import Validated, diff, explain, starter, stored, suggest, validate
from plmetrics.api.merging import merge
from plmetrics.api.outcome import Result
from plmetrics.api.stages import Stopwatch, evaluate_suite
from plmetrics.api.states import State, state
from plmetrics.api.writing import write_split

__all__ = [
    "Beside",
    "Result",
    "State",
    "Stopwatch",
    "Validated",
    "diff",
    "evaluate",
    "evaluate_suite",
    "explain",
    "located",
    "merge",
    "metric",
    "metrics",
    "readout",
    "run",
    "starter",
    "state",
    "stored",
    "suggest",
    "training_table",
    "validate",
    "write_split",
]
