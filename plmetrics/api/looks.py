"""The entry points that look at a suite, a table or results, and evaluate nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.api.beside import data_files, training_table
from plmetrics.api.drifting import check_counts, reference_counts, reference_table
from plmetrics.api.entry import located, masked
from plmetrics.api.outcome import Result
from plmetrics.api.references import EarlierRuns
from plmetrics.api.stages import Stopwatch
from plmetrics.api.warned import warned
from plmetrics.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from plmetrics.api.stages import Progress
    from plmetrics.engine.explain import Explanation
    from plmetrics.runs.diff import Diff
    from plmetrics.runs.reading import StoredResult
    from plmetrics.suite.model import Suite
    from plmetrics.suite.suggestion import Suggestion


@dataclass(frozen=True, slots=True)
class Validated:
    """A suite that fits its table: the `suite`, the table's `schema`, and `warnings` of metrics that mislead there."""

    suite: Suite
    schema: pl.Schema
    warnings: tuple[str, ...] = ()


@warned
def validate(path: str | Path, set: Mapping[str, Any] | None = None) -> Validated:  # noqa: A002
    """Check a suite against its data on zero rows: names, columns and types, without a scan.

    A sample of the rows says which of its metrics may mislead; what is wrong with rows is for a run to find,
    except for csv files that are cut off.

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
    from plmetrics.engine.faults import check_rows
    from plmetrics.engine.request import bind
    from plmetrics.runs.folder import output_directory
    from plmetrics.suite.yaml import load_suite
    from plmetrics.table.source import open_source

    loaded = load_suite(Path(path), set or {})
    directory = output_directory(loaded)
    with masked(loaded), located(loaded):
        source = open_source(loaded.suite.data.rows, loaded.folder, loaded.suite.reads_where)
        train = training_table(loaded.suite, base=loaded.folder)
        reference = reference_table(loaded.suite, base=loaded.folder)
        request = bind(loaded.suite, source, train, reference)
        uneven = check_rows(loaded.suite.data.missing, source, train, reference, ends=True)
        runs = EarlierRuns.of(loaded.suite, data_files(source), directory / loaded.suite.name)
        counted = reference_counts(loaded.suite, runs, base=loaded.folder)
        check_counts(request, loaded.suite.models, counted)
    return Validated(request.suite, request.schema, (*uneven, *doubts_of_sample(request), *runs.warnings))


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
    with masked(loaded), located(loaded):
        source = open_source(loaded.suite.data.rows, loaded.folder, loaded.suite.reads_where)
        with Stopwatch(progress).stage("prepare"), reading(source):
            train = training_table(loaded.suite, base=loaded.folder)
            reference = reference_table(loaded.suite, base=loaded.folder)
            return explain_request(bind(loaded.suite, source, train, reference), data=data)


def diff(before: Result | str | Path, after: Result | str | Path) -> Diff:
    """What changed from one run to another: every value, with the interval of its difference, and every gate.

    A value moved beyond its interval if 0 is outside the interval of the difference. Where both runs are of the same
    units and kept their replicates (`uncertainty.keep`), that is the interval of a paired comparison. Else they are
    taken as independent samples, and it goes from d - sqrt((b - b1)^2 + (a2 - a)^2) to d + sqrt((b2 - b)^2 +
    (a - a1)^2), d = b - a. Without intervals a value changed if it differs by more than 1e-9 of its size. Rows that are
    new or gone and statuses and verdicts that differ are changes.

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
        source.check_rows()
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
