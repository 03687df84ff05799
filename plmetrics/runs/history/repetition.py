"""Rows that many runs have evaluated, each with other models or metrics: whoever chooses among them fits these rows."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.runs.history.data import data_of
from plmetrics.runs.history.previous_runs import complete_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.table.storage.places import Place

MANY = 5
"""So many earlier choices make a remark."""
_READ = 50
_CHOICES = ("models", "calibrate", "metrics")


def repetition_warnings(home: Place, record: Mapping[str, Any]) -> list[str]:
    """A remark where the last runs in a folder evaluated the same rows with many other models or metrics.

    There is none of a run whose choice was made before, and none of runs in a bucket, each of which is a request.
    Source: Dwork et al. (2015), The reusable holdout, Science 349(6248).
    """
    if not isinstance(home, Path) or not home.is_dir():
        return []
    data, choice = data_of(record), _choice(record)
    choices: list[str] = []
    for run in islice(complete_runs(home, []), _READ):
        if data_of(run.record).same_as(data):
            choices.append(_choice(run.record))
            if choices[-1] == choice:
                # It was made before: most often by the last run, and no other is read.
                return []
    if len(set(choices)) < MANY:
        return []
    return [
        f"the same rows were evaluated in {len(choices)} earlier runs, with {len(set(choices))} other choices of "
        "models and metrics: the best of many choices looks better than it is; keep rows aside for the last one"
    ]


def _choice(record: Mapping[str, Any]) -> str:
    """Choice of what a run evaluated, as a text."""
    suite = record.get("suite") or {}
    return json.dumps({key: suite.get(key) for key in _CHOICES}, sort_keys=True)
