"""The entry points of advice: a first suite for a table, and the metrics that suit it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.table_survey import Layout, survey
from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.names import is_address
from plmetrics.core.redaction import mask_address
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import sample
from plmetrics.features.advice.column_facts import column_facts
from plmetrics.features.advice.column_roles import AmbiguousRoles, guess_roles
from plmetrics.features.advice.metric_choice import advise
from plmetrics.features.advice.suite_text import Metrics, Table, suite_text
from plmetrics.features.advice.table_task import recognised_roles
from plmetrics.table.opening import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from plmetrics.features.advice.column_roles import Roles
    from plmetrics.features.advice.metric_choice import Advice
    from plmetrics.suite import keywords

    Costs = tuple[float | None, float | None]

_NO_PATH = "predictions.parquet"
_SIGNED = "${URL}"
"""The path of a table whose address is signed."""
_WIDEST = 44
_FIRST = (
    "# A first suite, guessed from the table: read each line before you rely on it.",
    "# plmetrics explain FILE shows what a run would do; plmetrics run FILE does it.",
)
_ADVISED = (
    "# A suite for this table: each metric with the reason why, and below them those to be careful with.",
    "# Read each line before you rely on it. plmetrics run FILE runs it as it is.",
)
_REGRESSION = ("mae", "rmse", "mean_error", "r2")
_BINARY = ("prevalence", "roc_auc", "average_precision", "ks")
_AT_THRESHOLD = ("precision", "recall", "f1", "mcc")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suite for a table.

    `text` is the suite as YAML, with reasons as comments. `advice` is a frame with a row per metric and rule: its
    `verdict` is `advise` or `advise_against`, `companions` are metrics beside which one that is advised against does
    no harm, `source` is the literature. `task` is that of the suite, and `note` what the table holds beyond it.
    """

    task: str
    text: str
    advice: pl.DataFrame
    note: str | None = None

    def __str__(self) -> str:
        return self.text


def starter(data: str, folder: Path, label: str | None = None, scores: Sequence[str] = ()) -> str:
    """A first suite for a table, as YAML text for a file in `folder`: guessed from names, types and values.

    Raises:
        ConfigError: the table leaves open what is the label, or a score.
        DataError: the data cannot be read, or has no rows.
    """
    table = _Look.at(data, folder, guess_roles, label, scores).table
    return suite_text(table, _FIRST, _first_metrics(table))


def suggest(
    data: keywords.Table,
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
    costs = (cost_fp, cost_fn)
    _check(costs)
    named = (scores,) if isinstance(scores, str) else tuple(scores)
    place = Path.cwd() if folder is None else Path(folder)
    look = _Look.at(data, place, recognised_roles, label, named)
    roles, note = _available(look.table.roles)
    table = replace(look.table, roles=roles)
    if costs != (None, None) and table.task != "binary":
        msg = f"costs of errors belong to task 'binary', but this table is of task '{table.task}'"
        raise ConfigError(Problem(msg, hint="leave --cost-fp and --cost-fn out"))
    total = max(table.label.rows, look.rows.height)
    facts = survey(look.rows, _layout(table, costs), total, complete=total == look.rows.height)
    advice = advise(facts)
    text = suite_text(table, [*_ADVISED, *([f"# {note}"] if note else [])], _advised_metrics(advice))
    return Suggestion(table.task, text, advice.frame(), note)


@dataclass(frozen=True, slots=True)
class _Look:
    """A table with guessed roles, and a sample of its rows."""

    table: Table
    rows: pl.DataFrame

    @classmethod
    def at(
        cls, data: object, folder: Path, guess: Callable[..., Roles], label: str | None, scores: Sequence[str]
    ) -> _Look:
        """Read a sample of rows for the roles, and all rows for the facts of their columns."""
        source = open_source(data)
        with reading(source):
            source.check_rows()
            rows = sample(source)
            if rows.is_empty():
                msg = "the table has no rows"
                raise DataError(msg)
            sampled = column_facts(rows.lazy(), rows.columns, exact=True)
            roles = guess(rows, sampled, label, scores)
            facts = column_facts(source.frame, roles.columns, exact=False)
        # An estimate may take two values for one, so it counts for no less than what the sample holds.
        least = {name: max(column.distinct, sampled[name].distinct) for name, column in facts.items()}
        facts = {name: replace(column, distinct=least[name]) for name, column in facts.items()}
        for name in roles.scores:
            if not facts[name].numeric or facts[name].low is None:
                msg = f"column '{name}' is of type {facts[name].dtype}, but scores are numbers"
                raise AmbiguousRoles(Problem(msg, hint="choose another column with --score"))
        return cls(Table(*_place(data, folder), roles, facts), rows)


def _place(data: object, folder: Path) -> tuple[str, str]:
    """The path of data as a suite in a folder gives it, and a name that may be one of a folder."""
    if not isinstance(data, (str, Path)):
        return _NO_PATH, "evaluation"
    text = str(data)
    if is_address(text):
        shown = mask_address(text)
        path, text = (text if shown == text else _SIGNED), shown.partition("?")[0]
    else:
        path = Path(os.path.relpath(Path.cwd() / Path(text).expanduser(), folder)).as_posix()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(text.rstrip("/*")).stem)
    return path, name.strip("-.")[:80] or "evaluation"


def _first_metrics(table: Table) -> Metrics:
    """The usual metrics of a task."""
    if table.task == "regression":
        return Metrics([(name, "") for name in _REGRESSION])
    ranks = [(name, "") for name in _BINARY]
    if not table.probabilities:
        title = "scores are not all in [0, 1]: nothing that needs probabilities"
        threshold = f"{'  # - precision(threshold=0)':<34}  # choose a threshold that fits the scores"
        return Metrics(ranks, title=title, comments=[threshold])
    return Metrics(
        [
            *ranks,
            ("accuracy", "at threshold 0.5: precision(threshold=0.3) for another"),
            *((name, "") for name in _AT_THRESHOLD),
            ("log_loss", "this and those below: all scores are in [0, 1]"),
            ("brier", ""),
            ("ece", ""),
        ]
    )


def _advised_metrics(advice: Advice) -> Metrics:
    """The metrics that rules advise, a reason behind each unless the one before has the same; then what to avoid."""
    chosen, before = [], None
    for text, reason in advice.chosen.items():
        chosen.append((text, "likewise" if reason == before else reason))
        before = reason
    cautions = [f"  # {caution}" for caution in advice.cautions()]
    comments = ["  # Be careful with:", *cautions] if cautions else []
    longest = max((len(text) + 4 for text in advice.chosen), default=0)
    return Metrics(chosen, min(longest, _WIDEST), comments=comments)


def _check(costs: Costs) -> None:
    present = [cost for cost in costs if cost is not None]
    if len(present) == 1:
        msg = "a cost of one error says nothing without that of the other"
        raise ConfigError(Problem(msg, hint="give both --cost-fp and --cost-fn"))
    if any(not isfinite(cost) or cost <= 0 for cost in present):
        msg = f"costs must be numbers above 0, not {present[0]} and {present[1]}"
        raise ConfigError(Problem(msg))


def _available(roles: Roles) -> tuple[Roles, str | None]:
    """The roles without a task that has no metrics, and a note that says so."""
    if roles.task is None or roles.task in registry.tasks():
        return roles, None
    note = f"The table looks like one of task {roles.task} ({roles.reasons['task']}), which is not available here."
    task = "regression" if roles.parts else None
    return replace(roles, task=task, parts={}, query=None, treatment=None), note


def _layout(table: Table, costs: Costs) -> Layout:
    roles = table.roles
    return Layout(
        table.task,
        roles.label,
        {"model": roles.parts} if roles.parts else {name: {"score": name} for name in roles.scores},
        table.positive,
        roles.weight,
        roles.query,
        roles.treatment,
        roles.classes,
        costs,
        {
            name: (column.low, column.high)
            for name, column in table.facts.items()
            if column.numeric and column.low is not None
        },
    )
