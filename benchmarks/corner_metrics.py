"""What the benchmark `corners` times: every metric of a task alone. As a module it prints a line of JSON a run."""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.corner_tables import CLASSES, QUANTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "overall": {},
    "weighted": {"weight": "weight"},
    "50 slices": {"slices": {"group": "group"}},
    "200 replicates": {"slices": {"group": "group"}, "uncertainty": {"replicates": 200, "seed": 7}},
}
"""How each is run; replicates are those of 50 slices and of all rows."""

_SCANS = 5
_ASIDE = ("group", "weight", "naive", "document", "propensity", "control", "effect")
"""Columns that few metrics read, and the scan does not."""

_REQUIRED: Mapping[str, Any] = {
    "beta": 2,
    "cost_fp": 1,
    "cost_fn": 5,
    "prevalence": 0.1,
    "recall": 0.8,
    "volume": 0.1,
    "precision": 0.4,
    "fpr": 0.05,
    "k": 0.1,
    "predictors": 3,
    "tau": 0.5,
    "q": 0.9,
    "level": 0.8,
    "propensity": "propensity",
    "over": 2,
    "under": 1,
    "a": 0.01,
    "by": "group",
    "mu0": "control",
    "mu1": "effect",
    "slice_set": "group",
    "held_against": "0",
    "power": 1.5,
}
"""A value for each parameter without a default, by the name of its field."""

_CHOSEN: Mapping[str, Mapping[str, Any]] = {"mase": {"scale": "naive"}, "rmsse": {"scale": "naive"}}
"""Parameters of metrics that need one of several."""

_WHOLE_K = ("multiclass", "top_k_accuracy")
_MODELS: Mapping[str, Mapping[str, Any]] = {
    "multiclass": {"models": {"m": {"proba": {str(number): f"p{number}" for number in range(CLASSES)}}}},
    "multilabel": {"label": "is_", "models": {"m": {"proba": "p_"}}},
    "quantile": {"models": {"m": {"quantiles": {level: f"q{level}" for level in QUANTILES}}}},
    "ranking": {"models": ["score"], "query": "query", "document": "document"},
    "uplift": {"models": ["score"], "treatment": "treated"},
}


def metric_texts(task: str) -> list[str]:
    """The metrics of a task with the parameters that must be given; without those that are made from others."""
    from plmetrics.catalogue import registry

    texts = []
    for kind in registry.classes(task):
        names = [field for field in dataclasses.fields(kind) if _must_be_given(field)]
        if any(field.name == "metric" for field in names):
            continue
        given = {field.name: _REQUIRED[field.name] for field in names} | dict(_CHOSEN.get(kind.name, {}))
        if "k" in given and (task == "ranking" or (task, kind.name) == _WHOLE_K):
            given["k"] = 3
        texts.append(registry.create(task, kind.name, _by_name(given)).text)
    return texts


def _must_be_given(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _by_name(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as suites call them."""
    names = {"slice_set": "by", "held_against": "reference"}
    return {names.get(name, name): value for name, value in given.items()}


def evaluation(task: str, folder: Path, metric: str, setting: str) -> Callable[[], object]:
    """A run of one metric."""
    import plmetrics as plm

    arguments: dict[str, Any] = {"label": "label", "task": task, "models": ["score"]}
    arguments |= {**_MODELS.get(task, {}), **SETTINGS[setting]}
    if "by=group" in metric:
        arguments["slices"] = {"group": "group"}
    return lambda: plm.evaluate(str(folder), metrics=[metric], **arguments)


def scan(folder: Path) -> Callable[[], object]:
    """A bare scan: a sum of the label, of what a model predicts, and of the query or the arm."""
    return lambda: pl.scan_parquet(folder).select(pl.exclude(_ASIDE).sum()).collect(engine="streaming")


def processor_seconds(work: Callable[[], object]) -> float:
    """Processor time of a call, of all threads."""
    before = time.process_time()
    work()
    return time.process_time() - before


def runs(task: str, large: Path, small: Path, metrics: list[str]) -> Iterator[dict[str, Any]]:
    """The scan, then each metric in each setting: seconds, or why there is no such run."""
    import plmetrics as plm

    yield {"scan": min(processor_seconds(scan(large)) for _ in range(_SCANS))}
    for metric in metrics or metric_texts(task):
        for setting in SETTINGS:
            try:
                evaluation(task, small, metric, setting)()
                yield {
                    "metric": metric,
                    "setting": setting,
                    "seconds": processor_seconds(evaluation(task, large, metric, setting)),
                }
            except plm.PlmetricsError as error:
                yield {"metric": metric, "setting": setting, "refused": str(error).splitlines()[0]}


def main() -> None:
    """Time the metrics of a task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corner_metrics", description=__doc__)
    parser.add_argument("task")
    parser.add_argument("folder", type=Path)
    parser.add_argument("small", type=Path, help="table for a run before the clock starts")
    parser.add_argument("metrics", nargs="*", help="all of the task by default")
    options = parser.parse_args()
    for run in runs(options.task, options.folder, options.small, options.metrics):
        print(json.dumps(run), flush=True)


if __name__ == "__main__":
    main()
