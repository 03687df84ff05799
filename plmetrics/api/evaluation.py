"""Entry points of evaluation: rows handed over, or a suite in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Never, cast

from plmetrics.api.context import RunContext, table_of
from plmetrics.api.entry_point import entry_point
from plmetrics.api.pipeline import evaluate_suite
from plmetrics.core.errors import ConfigError, Problem

if TYPE_CHECKING:
    from plmetrics.api.result import Result
    from plmetrics.api.stopwatch import Progress
    from plmetrics.runners.choice import On
    from plmetrics.runs.outcome import ExitPolicy
    from plmetrics.suite.keywords import Arguments, Curves, Metrics, Missing, Models, Slices, Task
    from plmetrics.suite.model import Suite
    from plmetrics.suite.python_types import Table, TrecTable
    from plmetrics.suite.section_keywords import (
        Calibrate,
        Compare,
        CrossValidation,
        Drift,
        ExperimentPlan,
        FindSlices,
        Gate,
        Labels,
        Leakage,
        Uncertainty,
    )


@entry_point
def evaluate(
    data: Table | TrecTable,
    *arrays: Never,
    task: Task = "binary",
    label: str | Sequence[str] | Mapping[str, str] | None = None,
    models: Models | None = None,
    calibrate: Calibrate | Sequence[Calibrate] | None = None,
    baseline: bool = False,
    weight: str | None = None,
    query: str | None = None,
    document: str | None = None,
    unit: str | None = None,
    treatment: str | None = None,
    positive: str | float | bool | None = None,
    classes: Sequence[str | int | bool] | None = None,
    fold: str | None = None,
    where: str | None = None,
    missing: Missing = "error",
    derive: Mapping[str, str] | None = None,
    metrics: Metrics | None = None,
    undefined: Literal["exclude", "zero"] | None = None,
    ties: Literal["average", "worst", "document"] | None = None,
    slices: Slices | None = None,
    min_rows: int = 0,
    max_slices: int = 10_000,
    uncertainty: Uncertainty | bool | None = None,
    compare: Compare | str | None = None,
    gates: Sequence[Gate] = (),
    leakage: Leakage | None = None,
    cross_validation: CrossValidation | None = None,
    drift: Drift | None = None,
    experiment: ExperimentPlan | None = None,
    find_slices: FindSlices | None = None,
    labels: Labels | bool | None = None,
    curves: Curves = (),
    exact: bool | None = None,
    reproducible: bool = False,
    memory: int | str | None = None,
    seed: int = 0,
    name: str | None = None,
    on: On | Mapping[str, object] | None = None,
) -> Result:
    """Evaluate a prediction table: every metric, for every model, in every slice.

    Args:
        data: a DataFrame or LazyFrame, a pandas or pyarrow table or any of the Arrow stream interface, a mapping of
            columns such as {"y": array, "p": array}, or a path, glob, folder or list of paths; for a ranking also
            {"trec": {"qrels": path, "run": path}}. Of a DataFrame of Spark, Spark itself makes states, and values are
            made from these.
        arrays: none; arrays go into a mapping as columns with names.
        task: what is predicted: binary, multiclass, multilabel, regression, quantile, ranking, uplift or
            experiment.
        label: column of the truth: 0/1 or booleans (else see `positive`), classes, or numbers. For several classes a
            row (multilabel) a column of lists, columns of 0/1 as a list or by class, or what their names begin with.
            Needed, as `models` are, but for TREC files.
        models: score columns by model name; a string is one model named after its column. A column may be a mapping:
            {"score": column}, {"prediction": column} for a number or a class, {"proba": {class: column}},
            {"quantiles": {level: column}}, {"mean": column, "sd": column} or {"members": [column, ...]}; with
            "label" and "weight" where these are not those of the other models.
        calibrate: a mapping, or several, such as {"method": "platt", "fit_on": "split = 'valid'"}: adds a model with
            calibrated scores for each model, and leaves the rows it is fitted on out of the evaluation.
        baseline: whether to add a model named baseline that gives every row the same, such as the share of positives.
            It calls all rows positive where that share reaches a threshold, else none.
        weight: column of row weights, 0 or more. Weight 2 is the row twice, weight 0 the row absent. A list, such as
            ["exposure", None], has every model once for each.
        query: column of the query (ranking).
        document: column of the document (ranking): orders ties where asked to, and no query may have one twice.
        unit: column of what is resampled together; each row by default.
        treatment: column of the treatment arm (uplift).
        positive: the label that counts as positive, where labels are not 0/1 or booleans.
        classes: the classes in order (multiclass, multilabel); else those of the probabilities, else those in the data.
        fold: column of the fold; with it every metric has a value in each fold, too (`folds`, `cross_validation`).
        where: SQL condition on the rows to evaluate.
        missing: what a null or bad value does: "error", "drop" the row, or "drop_per_model".
        derive: columns that SQL expressions compute from others, by name; whatever names a column may name them.
        metrics: metric texts, objects, or mappings as in a suite; the task's default list if not given.
        undefined: what a class without a value does in the averages of all metrics that do not say it themselves:
            "exclude" or "zero", as scikit-learn counts it (multiclass).
        ties: how equal scores are ordered, for all metrics that do not say it themselves (ranking).
        slices: slice sets by name, as in a suite, or a list of columns.
        min_rows: slices with fewer rows are listed without values.
        max_slices: refuse to start with more slices than this.
        uncertainty: True for bootstrap intervals, or a mapping that says how they are made; none by default.
        compare: the baseline model, or a mapping such as {"baseline": model, "slices": {"region": "rest"}, "run":
            folder or result}: differences and ratios of models, slices and runs.
        gates: rules on values and differences, as mappings.
        leakage: a mapping of checks, such as {"train": path or frame, "keys": ["id"], "time": column, "duplicates":
            True, "attributes": True}: what goes beyond its limit is a failed gate.
        cross_validation: a mapping that says how the folds of `fold` are to be read; see the suite's section.
        drift: a mapping such as {"reference": path or frame, "columns": [...]}: how columns moved from a window; that
            may also be {"state": a state or its file} or {"run": folder or result}.
        experiment: a mapping such as {"arm": column, "control": "A", "outcomes": [...]}: each arm against the control
            (experiment), which makes `label` and `models` needless.
        find_slices: a mapping such as {"columns": [...], "metric": "log_loss"}: a search for slices that are worse.
        labels: True where labels come later than scores, or a mapping such as {"mature_after": "7d", "coverage": 0.9}:
            a null label is no bad value then, and what needs no label counts all rows.
        curves: names of curves to return, or mappings with slice sets.
        exact: whether ordered metrics must be exact; by default while their sort fits into `memory`.
        reproducible: whether sums of floats are to be the same to the last bit however rows are ordered, split into
            files or spread over threads; takes longer.
        memory: memory budget in bytes, or text such as "4GB"; by default a share of the machine's.
        seed: seed of the resampling.
        name: name of the evaluation.
        on: where the units of a table of files are counted: a runner such as "processes:4", a mapping as `engine` in a
            suite, an executor of `concurrent.futures`, or a client of Dask; in one scan here if not given. States of
            units go into a temporary folder, or into `states` of that mapping, which all workers must see.

    Returns:
        The result: frames `metrics`, `comparisons`, `gates`, `curves`, and the `verdict`.

    Raises:
        ConfigError: the arguments are wrong; nothing was read.
        DataError: the data is not what the arguments say.
        EnvironmentFault: the runner or its workers cannot be used.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    >>> plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"]).metrics["value"].item()
    0.875
    """
    from plmetrics.suite.arguments import python_warnings, python_words, suite_from_arguments

    _refuse_arrays(arrays)
    arguments: Arguments = {
        "task": task,
        "label": label,
        "models": models,
        "calibrate": calibrate,
        "baseline": baseline,
        "weight": weight,
        "query": query,
        "document": document,
        "unit": unit,
        "treatment": treatment,
        "positive": positive,
        "classes": classes,
        "fold": fold,
        "where": where,
        "missing": missing,
        "derive": derive,
        "metrics": metrics,
        "undefined": undefined,
        "ties": ties,
        "slices": slices,
        "min_rows": min_rows,
        "max_slices": max_slices,
        "uncertainty": uncertainty,
        "compare": compare,
        "gates": gates,
        "leakage": leakage,
        "cross_validation": cross_validation,
        "drift": drift,
        "experiment": experiment,
        "find_slices": find_slices,
        "labels": labels,
        "curves": curves,
        "exact": exact,
        "reproducible": reproducible,
        "memory": memory,
        "seed": seed,
        "name": name,
    }
    with python_words():
        if isinstance(on, (str, Mapping)):
            arguments = cast("Arguments", arguments | {"engine": on})
        suite = suite_from_arguments(data, **arguments)
        result = _result(suite, data, arguments, on)
    return replace(result, record={**result.record, "warnings": list(python_warnings(result.warnings))})


def _refuse_arrays(arrays: Sequence[object]) -> None:
    """Refuse positional arrays in place of a table with named columns."""
    if arrays:
        msg = "evaluate takes one table; arrays have no names of columns"
        hint = 'name them: plm.evaluate({"y": y, "A": scores}, label="y", models=["A"])'
        raise ConfigError(Problem(msg, ("data",), hint))


def _result(suite: Suite, data: object, arguments: Arguments, on: On | Mapping[str, object] | None) -> Result:
    """The result, of one scan here unless the rows are Spark's, or counted by a runner."""
    from plmetrics.table.frames import is_spark

    if is_spark(data):
        from plmetrics.api.shards.spark_tables import evaluate_spark

        return evaluate_spark(suite, data)
    source = table_of(suite, data)
    if on is None:
        return evaluate_suite(suite, source, context=RunContext.of(suite, source, arguments))
    from plmetrics.api.shards.distribution import evaluate_units

    return evaluate_units(suite, source, None if isinstance(on, (str, Mapping)) else on)


@entry_point
def run(
    path: str | Path,
    output: str | Path | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
    progress: Progress | None = None,
    exits: ExitPolicy | None = None,
    interval: str | None = None,
    labels: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
    *,
    force: bool = False,
    on: On | None = None,
) -> Result:
    """Evaluate a YAML suite and write the run folder.

    Args:
        path: the suite.
        output: folder that replaces `output.directory` and may lie anywhere.
        set: suite keys to replace, dotted, e.g. {"uncertainty.replicates": 200}.
        progress: called with the name of each stage as it begins.
        exits: which exit code is recorded, where more than failed gates is to fail the run.
        interval: the interval to evaluate of a suite that has intervals, such as "2026-11-20".
        labels: texts by name that run.json is to have, such as {"git": "abc"}; results do not depend on them.
        command: the command line that asked for the run, for run.json.
        force: whether an interval is evaluated again where nothing changed.
        on: where the units of the table are counted, in place of what the suite says: `processes:4` or another runner,
            any executor of `concurrent.futures`, or a client of Dask.

    Returns:
        The result, with `folder` set. A gate that fails is in `verdict`, not an exception.

    Raises:
        ConfigError: the suite is wrong.
        AbsentDataError: there are no data yet.
        DataError: the data is not what the suite says.
        EnvironmentFault: the folder cannot be written; or it is there, and results are not where else the suite asks
            for them.
    """
    from plmetrics.api.suite_run import Evaluation, RunOptions, open_suite, write_run
    from plmetrics.runs.files import path_argument

    options = RunOptions(progress, exits, labels, command)
    place = None if output is None else path_argument(output, "output")
    loaded, directory = open_suite(Path(path_argument(path, "path")), set or {}, place)
    has_intervals = "interval" in loaded.suite.sections
    if (has_intervals and on is None) or (not has_intervals and (interval is not None or force)):
        from plmetrics.api.nights.backfill import evaluate_interval

        return evaluate_interval(loaded, directory, interval, options, force=force)
    kind: Callable[..., Evaluation] = Evaluation
    if loaded.suite.data.spark is not None and on is None:
        from plmetrics.api.shards.spark_tables import SparkEvaluation

        kind = SparkEvaluation
    elif on is not None or "engine" in loaded.suite.sections:
        from plmetrics.api.shards.distribution import DistributedEvaluation

        kind = partial(DistributedEvaluation, on=on)
    result = write_run(kind(loaded, directory / loaded.suite.name, options))
    assert result is not None
    return result
