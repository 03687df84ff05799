"""The Python entry points: they wire the layers below, nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import DataError, EnvironmentFault, PlmetricsError
from plmetrics.core.results import LEAKAGE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.catalogue.metric import Metric
    from plmetrics.engine.explain import Explanation
    from plmetrics.engine.leakage import Finding
    from plmetrics.runs.diff import Diff
    from plmetrics.runs.reading import StoredResult
    from plmetrics.suite.model import Suite
    from plmetrics.suite.suggestion import Suggestion
    from plmetrics.table.source import Source

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What an evaluation found: tidy tables and a verdict.

    `metrics` has a row per model, slice and metric, `comparisons` one per difference, `gates` one per rule, model and
    slice, `curves` one per point, `leakage` one per check for leakage; all have all their columns, also without rows.
    What is undefined is null, never NaN, and `status` or `interval_status` says why. `verdict` is "pass", "fail",
    "inconclusive", or "none" without gates.
    `suite` is what was asked, complete with defaults. `record` is what run.json says of the run: constants, files, row
    counts, timings, warnings. `folder` is where the tables were written, None if they were not.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    >>> gate = {"metric": "recall", "at_least": 0.9}
    >>> plm.evaluate(frame, label="y", models="p", metrics=["recall"], gates=[gate])
    Result(verdict='fail', rows: metrics=1, comparisons=0, gates=1, folder=None)
    """

    metrics: pl.DataFrame
    comparisons: pl.DataFrame
    gates: pl.DataFrame
    curves: pl.DataFrame
    verdict: str
    suite: Suite
    record: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    leakage: pl.DataFrame = field(default_factory=LEAKAGE_SCHEMA.to_frame)

    def __repr__(self) -> str:
        tables = ", ".join(
            f"{name}={getattr(self, name).height}" for name in ("metrics", "comparisons", "gates")
        )
        return f"Result(verdict={self.verdict!r}, rows: {tables}, folder={self.folder})"


class Stopwatch:
    """Seconds of each stage, and a word to whoever watches when one begins."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        if self._progress is not None:
            self._progress(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - start, 4)


def evaluate(
    data: object,
    *,
    task: str = "binary",
    label: str,
    models: Any,
    calibrate: Any = None,
    baseline: bool = False,
    weight: str | None = None,
    query: str | None = None,
    document: str | None = None,
    unit: str | None = None,
    treatment: str | None = None,
    positive: Any = None,
    classes: Sequence[Any] | None = None,
    fold: str | None = None,
    where: str | None = None,
    missing: str = "error",
    metrics: Sequence[Any] | None = None,
    slices: Any = None,
    min_rows: int = 0,
    max_slices: int = 10_000,
    uncertainty: Any = None,
    compare: Any = None,
    gates: Sequence[Any] = (),
    leakage: Any = None,
    curves: Sequence[Any] = (),
    exact: bool | None = None,
    memory: int | str | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Result:
    """Evaluate a prediction table: every metric, for every model, in every slice.

    Args:
        data: a DataFrame or LazyFrame, a pandas or pyarrow table, or a path, glob, folder or list of paths; for a
            ranking also {"trec": {"qrels": path, "run": path}}.
        task: what is predicted: binary, multiclass, regression, quantile, ranking or uplift.
        label: column of the truth: 0/1 or booleans (else see `positive`), classes, or numbers.
        models: score columns by model name; a string is one model named after its column. A column may be a mapping:
            {"score": column}, {"prediction": column} for a number or a class, {"proba": {class: column}},
            {"quantiles": {level: column}}, {"mean": column, "sd": column} or {"members": [column, ...]}.
        calibrate: a mapping, or several, such as {"method": "platt", "fit_on": "split = 'valid'"}: adds a model with
            calibrated scores for each model, and leaves the rows it is fitted on out of the evaluation.
        baseline: whether to add a model named baseline that gives every row the same, such as the share of positives.
            It calls all rows positive where that share reaches a threshold, else none.
        weight: column of row weights, 0 or more. Weight 2 is the row twice, weight 0 the row absent.
        query: column of the query (ranking).
        document: column of the document (ranking): orders ties where asked to, and no query may have one twice.
        unit: column of what is resampled together; each row by default.
        treatment: column of the treatment arm (uplift).
        positive: the label that counts as positive, where labels are not 0/1 or booleans.
        classes: the classes in order (multiclass); else those of the probabilities, else those in the data.
        fold: column of the fold.
        where: SQL condition on the rows to evaluate.
        missing: what a null or bad value does: "error", "drop" the row, or "drop_per_model".
        metrics: metric texts, objects, or mappings as in a suite; the task's default list if not given.
        slices: slice sets by name, as in a suite, or a list of columns.
        min_rows: slices with fewer rows are listed without values.
        max_slices: refuse to start with more slices than this.
        uncertainty: True or a mapping for bootstrap intervals; none by default.
        compare: the baseline model, or a mapping with it, for paired differences.
        gates: rules on values and differences, as mappings.
        leakage: a mapping of checks, such as {"train": path or frame, "keys": ["id"], "time": column, "duplicates":
            True, "attributes": True}: what goes beyond its limit is a failed gate.
        curves: names of curves to return, or mappings with slice sets.
        exact: whether ordered metrics must be exact; by default while their sort fits into `memory`.
        memory: memory budget in bytes, or text such as "4GB"; by default a share of the machine's.
        seed: seed of the resampling.
        name: name of the evaluation.

    Returns:
        The result: frames `metrics`, `comparisons`, `gates`, `curves`, and the `verdict`.

    Raises:
        ConfigError: the arguments are wrong; nothing was read.
        DataError: the data is not what the arguments say.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    >>> plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"]).metrics["value"].item()
    0.875
    """
    from plmetrics.suite.arguments import suite_from_arguments
    from plmetrics.table.source import open_source

    arguments = dict(locals())
    for local in ("data", "suite_from_arguments", "open_source"):
        arguments.pop(local)
    suite = suite_from_arguments(**arguments)
    return evaluate_suite(suite, open_source(data), train=training_table(suite, leakage))


def training_table(suite: Suite, leakage: Any = None, base: Path | None = None) -> Source | None:
    """The training table that leakage is looked for in.

    Args:
        suite: its section leakage says which.
        leakage: the mapping with the table itself, where that was handed over.
        base: the folder that relative paths start from.

    Raises:
        DataError: as for the rows to evaluate; located at `leakage.train`.
    """
    from plmetrics.suite.leakage import FRAME
    from plmetrics.table.source import open_source

    if suite.leakage is None or suite.leakage.train is None:
        return None
    try:
        return open_source(leakage["train"] if suite.leakage.train == FRAME else suite.leakage.train, base)
    except PlmetricsError as error:
        place = ("leakage", "train")
        raise type(error)([replace(problem, path=place) for problem in error.problems]) from error


def evaluate_suite(
    suite: Suite, source: Source, progress: Progress | None = None, train: Source | None = None
) -> Result:
    """Evaluate a checked suite on an open source.

    Args:
        suite: what is asked.
        source: where the rows are.
        progress: called with the name of each stage as it begins.
        train: the training table that leakage is looked for in.

    Raises:
        ConfigError: the suite does not fit the table, or asks for more slices or memory than it allows.
        DataError: a column is absent or of the wrong type, a value is bad, or there are no rows.
    """
    from plmetrics.engine.faults import reading
    from plmetrics.engine.leakage import leakage_found
    from plmetrics.engine.passes import aggregate
    from plmetrics.engine.prepare import prepare
    from plmetrics.engine.request import bind
    from plmetrics.engine.rows import models_by_row, models_in_order, sliced_sums
    from plmetrics.engine.stream import models_on_grids
    from plmetrics.gates.leakage import leakage_gates, leakage_table, leakage_warnings
    from plmetrics.gates.verdicts import evaluate_gates, verdict
    from plmetrics.inference.analysis import (
        Analysis,
        SetStates,
        corrected,
        ordered_stage,
        rank_stage,
        resampling,
        row_curves,
        tables,
    )
    from plmetrics.inference.estimates import Population

    watch = Stopwatch(progress)
    with watch.stage("prepare"), reading(source):
        bound = bind(suite, source, train)
        prepared = prepare(bound)
        request, asked, suite = prepared.request, suite.models, prepared.request.suite
    found: list[Finding] = []
    if suite.leakage is not None:
        with watch.stage("leakage"), reading(source, train):
            found = leakage_found(bound if request.pairs_read is not None else request)
    with watch.stage("aggregate"), reading(source):
        aggregated = aggregate(prepared)
    with watch.stage("order"), reading(source):
        sums = sliced_sums(prepared, aggregated)
        sets = [SetStates(part, total) for part, total in zip(prepared.slices, sums, strict=True)]
        independent = suite.columns.unit is None and suite.columns.weight is None
        weights = resampling(suite, aggregated.units)
        population = Population(prepared.populations(), independent, prepared.thresholds)
        analysis = Analysis(suite, sets, population, request.pairs, weights)
        scores = models_in_order if prepared.exact else models_on_grids
        ordered, curves = ordered_stage(analysis, scores(prepared, aggregated))
        if request.reads_pairs:
            rows = list(models_by_row(prepared, aggregated))
            ordered |= rank_stage(analysis, rows)
            if request.draws_rows:
                curves = row_curves(analysis, rows, request.roles.classes)
    with watch.stage("intervals"):
        metric_table, every_comparison = tables(analysis, ordered)
        leakage = leakage_table(suite, found)
        gates = pl.concat([evaluate_gates(suite, metric_table, every_comparison), leakage_gates(leakage)])
        listed = pl.col("metric").is_in([metric.text for metric in suite.metrics])
        metric_table, comparisons = (
            metric_table.filter(listed),
            corrected(analysis, every_comparison.filter(listed)),
        )
    record = _record(request, prepared, aggregated, watch)
    suite = suite.model_copy(update={"models": asked})
    record["warnings"] += leakage_warnings(leakage)
    return Result(metric_table, comparisons, gates, curves, verdict(gates), suite, record, leakage=leakage)


def _record(request: Any, prepared: Any, aggregated: Any, watch: Stopwatch) -> dict[str, Any]:
    from plmetrics.engine.doubts import doubts

    return {
        "constants": prepared.constants(int(aggregated.units.sum())),
        "files": [
            {"path": file.name, "bytes": file.size, "rows": file.rows} for file in request.source.files
        ],
        "rows": {
            "read": prepared.rows.read,
            "zero_weight": prepared.rows.zero_weight,
            "used": aggregated.used,
            "dropped": dict(prepared.rows.dropped),
            **({"fitted": prepared.rows.fitted} if request.suite.calibrate else {}),
            **({} if request.pairs_read is None else {"pairs_read": request.pairs_read}),
        },
        "timings": dict(watch.seconds),
        "warnings": [*prepared.warnings, *doubts(prepared, aggregated)],
    }


def run(
    path: str | Path,
    output: str | Path | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    progress: Progress | None = None,
) -> Result:
    """Evaluate a YAML suite and write the run folder.

    Args:
        path: the suite.
        output: folder that replaces `output.directory` and may lie anywhere.
        set: suite keys to replace, dotted, e.g. {"uncertainty.replicates": 200}.
        progress: called with the name of each stage as it begins.

    Returns:
        The result, with `folder` set. A gate that fails is in `verdict`, not an exception.

    Raises:
        ConfigError: the suite is wrong.
        DataError: the data is not what the suite says.
        EnvironmentFault: the folder cannot be written.
    """
    from plmetrics.runs.folder import RunFolder, output_directory
    from plmetrics.runs.refused import record_refusal
    from plmetrics.suite.yaml import load_suite
    from plmetrics.table.source import open_source

    try:
        loaded = load_suite(Path(path), set or {})
        directory = output_directory(loaded, output)
    except PlmetricsError as error:
        record_refusal(Path(path), error, output, set)
        raise
    with RunFolder.start(directory, loaded.suite.name) as folder:
        with located(loaded):
            source = open_source(loaded.suite.data.rows, loaded.folder)
            train = training_table(loaded.suite, base=loaded.folder)
            result = evaluate_suite(loaded.suite, source, progress, train)
        if loaded.defaults:
            result = replace(result, record={**result.record, "defaults": list(loaded.defaults)})
        record = folder.publish(result)
    return replace(result, folder=folder.path, record=record)


@contextmanager
def located(loaded: Any) -> Iterator[None]:
    """Give problems their place in the suite's file; what is wrong with data files stands at `data.path`."""
    try:
        yield
    except (DataError, EnvironmentFault) as error:
        problems = [replace(problem, path=problem.path or ("data", "path")) for problem in error.problems]
        raise loaded.locate(type(error)(problems)) from error
    except PlmetricsError as error:
        raise loaded.locate(error) from error


@dataclass(frozen=True, slots=True)
class Validated:
    """A suite that fits its table: the `suite`, the table's `schema`, and `warnings` of metrics that mislead there."""

    suite: Suite
    schema: pl.Schema
    warnings: tuple[str, ...] = ()


def validate(path: str | Path, set: Mapping[str, Any] | None = None) -> Validated:  # noqa: A002
    """Check a suite against its data on zero rows: names, columns and types, without a scan.

    A sample of the rows says which of its metrics may mislead; what is wrong with rows is for a run to find.

    Args:
        path: the suite.
        set: suite keys to replace, dotted, e.g. {"uncertainty.replicates": 200}.

    Returns:
        The suite bound to its table: `suite`, the table's `schema`, and `warnings`.

    Raises:
        ConfigError: the suite is wrong.
        DataError: files or columns are not what the suite says.
    """
    from plmetrics.engine.doubts import doubts_of_sample
    from plmetrics.engine.request import bind
    from plmetrics.runs.folder import output_directory
    from plmetrics.suite.yaml import load_suite
    from plmetrics.table.source import open_source

    loaded = load_suite(Path(path), set or {})
    output_directory(loaded)
    with located(loaded):
        source = open_source(loaded.suite.data.rows, loaded.folder)
        request = bind(loaded.suite, source, training_table(loaded.suite, base=loaded.folder))
    return Validated(request.suite, request.schema, tuple(doubts_of_sample(request)))


def explain(
    path: str | Path,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    *,
    data: bool = True,
    progress: Progress | None = None,
) -> Explanation:
    """What a run of a suite would do, without doing it; `data` says whether its first stage may look at the data."""
    from plmetrics.engine.explain import explain as explain_request
    from plmetrics.engine.faults import reading
    from plmetrics.engine.request import bind
    from plmetrics.suite.yaml import load_suite
    from plmetrics.table.source import open_source

    loaded = load_suite(Path(path), set or {})
    with located(loaded):
        source = open_source(loaded.suite.data.rows, loaded.folder)
        with Stopwatch(progress).stage("prepare"), reading(source):
            train = training_table(loaded.suite, base=loaded.folder)
            return explain_request(bind(loaded.suite, source, train), data=data)


def diff(before: Result | str | Path, after: Result | str | Path) -> Diff:
    """What changed from one run to another: every value, with the interval of its difference, and every gate.

    Runs are taken as independent samples. With intervals in both, a value moved beyond its interval if 0 is outside
    d - sqrt((b - b1)^2 + (a2 - a)^2) to d + sqrt((b2 - b)^2 + (a - a1)^2), d = b - a; without, it changed if it
    differs by more than 1e-9 of its size. Rows that are new or gone and statuses and verdicts that differ are changes.

    Args:
        before: a run folder, its run.json, the folder of a suite's runs (then the latest), or a result.
        after: likewise.

    Returns:
        Frames `metrics` and `gates`, a row per value and check of either run; `changed`; `notes` on what the runs do
        not share, such as their suites.

    Raises:
        DataError: a folder is not a run that has ended with results.
    """
    from plmetrics.runs.diff import compare_runs

    return compare_runs(*(side if isinstance(side, Result) else stored(side) for side in (before, after)))


def stored(path: str | Path) -> StoredResult:
    """The results of a run folder.

    Raises:
        DataError: it is not a run that has ended with results.
    """
    from plmetrics.runs.reading import read_run

    return read_run(Path(path)).results()


def starter(data: str, folder: Path, label: str | None = None, scores: Sequence[str] = ()) -> str:
    """A first suite for a table, as YAML text for a file in `folder`: guessed from names, types and values.

    Raises:
        ConfigError: the table leaves open what is the label, or a score.
        DataError: the data cannot be read, or has no rows.
    """
    from plmetrics.engine.faults import reading
    from plmetrics.engine.look import facts_of_all, facts_of_sample, sample
    from plmetrics.suite.guesses import guess_roles
    from plmetrics.suite.starter import Table, plain_name, relative_path, starter_text
    from plmetrics.table.source import open_source

    source = open_source(data)
    with reading(source):
        rows = sample(source)
        if rows.is_empty():
            msg = "the table has no rows"
            raise DataError(msg)
        sampled = facts_of_sample(rows)
        roles = guess_roles(rows, sampled, label, scores)
        facts = facts_of_all(source, roles.columns, sampled)
    name = plain_name(Path(data.rstrip("/*")).stem, "evaluation")
    return starter_text(Table(relative_path(data, folder), name, roles, facts))


def suggest(
    data: Any,
    label: str | None = None,
    scores: str | Sequence[str] = (),
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    folder: str | Path | None = None,
) -> Suggestion:
    """Metrics that suit a table, and those that mislead on it, each with the reason.

    Looks at a sample of rows, and at the ends of the chosen columns in all rows.

    Args:
        data: a DataFrame, a LazyFrame, a pandas or pyarrow table, or a file, folder or glob of predictions.
        label: the column of the label, if it cannot be guessed.
        scores: the column or columns of scores, if they cannot be guessed.
        cost_fp: what a false positive costs (task binary); needs `cost_fn`.
        cost_fn: what a false negative costs, in the same unit.
        folder: where the suite will lie, for the path of its data; the working directory if not given.

    Returns:
        The suggestion: `text` is a suite in YAML, `advice` a frame with a row per metric and rule.

    Raises:
        ConfigError: the table leaves open what is the label, or a score; or costs are not what they must be.
        DataError: the data cannot be read, or has no rows.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1] + [0] * 39, "p": [i / 100 for i in range(40)]})
    >>> advice = plm.suggest(frame, label="y", scores="p").advice
    >>> advice.filter(verdict="advise_against")["metric"].head(1).item()
    'accuracy'
    """
    from plmetrics.engine.suggestions import suggest as suggest_for

    named = (scores,) if isinstance(scores, str) else tuple(scores)
    place = Path.cwd() if folder is None else Path(folder)
    return suggest_for(data, place, label, named, (cost_fp, cost_fn))


def metric(text: str, task: str = "binary") -> Metric:
    """A metric from its text.

    Args:
        text: name and parameters, such as "precision(threshold=0.3)"; aliases are known as well.
        task: the task it belongs to; some names have a metric in several.

    Returns:
        The metric: `text` is its canonical text, `expr` makes it a Polars expression.

    >>> import plmetrics as plm
    >>> str(plm.metric("precision(threshold=0.3)"))
    'precision(threshold=0.3)'

    Raises:
        ConfigError: the text names no metric of the task, or a parameter is wrong.
    """
    from plmetrics.suite.problems import metric_from_text

    return metric_from_text(task, text)


def metrics(task: str | None = None) -> pl.DataFrame:
    """The metrics that exist, a row each, with their facts.

    >>> import plmetrics as plm
    >>> "roc_auc" in plm.metrics("binary")["name"]
    True
    """
    from plmetrics.catalogue import registry

    facts = ("range", "direction", "threshold_free", "handles_imbalance", "proper", "interpretable")
    words = ("use_when", "beware", "formula", "reference")
    return pl.DataFrame(
        [
            {
                "task": cls.task,
                "name": cls.name,
                "aliases": [*cls.aliases, *cls.presets],
                "family": cls.family,
            }
            | {fact: getattr(cls, fact) for fact in (*facts, *words)}
            | {"range": list(cls.range)}
            for cls in registry.classes(task)
        ],
        schema_overrides={"aliases": pl.List(pl.String), "range": pl.List(pl.Float64)},
        infer_schema_length=None,
    )
