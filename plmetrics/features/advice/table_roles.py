"""Types of a guess: the request, and the roles of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import name_list

_TEXTS = (pl.String, pl.Categorical, pl.Enum)


class AmbiguousRoles(ConfigError):  # noqa: N818
    """Error of a table with ambiguous roles, to be given by the caller."""

    title = "the table leaves open what to evaluate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Facts of a table from the caller; others are guessed."""

    task: str | None = None
    label: str | None = None
    scores: tuple[str, ...] = ()
    query: str | None = None
    treatment: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Named columns."""
        return tuple(
            name for name in (self.label, self.query, self.treatment, *self.scores) if name is not None
        )


@dataclass(frozen=True, slots=True)
class LongTable:
    """Table with a row per quantile: the key columns of forecasts, the level and the value."""

    by: tuple[str, ...]
    level: str
    value: str
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms of an experiment, its outcomes, and covariates by outcome."""

    column: str
    control: object
    outcomes: tuple[str, ...]
    covariates: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Roles of columns, with the reasons by role.

    `task` is given where other columns than label and scores tell it. `models` are the columns of each model's
    prediction by part where these are more than a score: `classes` where they are probabilities. `labels` are the
    columns of a label of several classes a row. `where` are the rows that are evaluated, and `notes` are doubts in
    words.
    """

    label: str
    scores: tuple[str, ...]
    reasons: Mapping[str, str]
    weight: str | None = None
    units: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()
    task: str | None = None
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    positive: str | None = None
    query: str | None = None
    treatment: str | None = None
    long: LongTable | None = None
    arms: Arms | None = None
    where: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all roles."""
        single = (self.weight, self.query, self.treatment)
        named = [name for name in single if name is not None]
        measured = () if self.arms is None else (*self.arms.outcomes, *self.arms.covariates.values())
        others = (*measured, *self.labels.values(), *self.units, *self.slices, *self.ages, *self.dates)
        return tuple(dict.fromkeys((self.label, *self.scores, *named, *others)))


@contextmanager
def list_advice(rows: pl.DataFrame) -> Iterator[None]:
    """Add advice on columns of lists to errors without another candidate."""
    try:
        yield
    except AmbiguousRoles as error:
        lists = [name for name, dtype in rows.schema.items() if isinstance(dtype, (pl.List, pl.Array))]
        if not lists:
            raise
        absent = {f"column '{name}' is not in the data" for name in lists}
        others = (problem for problem in error.problems if problem.message not in absent)
        raise AmbiguousRoles([_list_problem(rows, lists), *others]) from None


def _list_problem(rows: pl.DataFrame, lists: Sequence[str]) -> Problem:
    """Lists of texts are classes, of the same lengths rows of a query, of one length in all rows a column per class."""
    texts = [name for name in lists if getattr(rows.schema[name], "inner", None) in _TEXTS]
    if texts:
        msg = f"{name_list(list(map(repr, texts)))}: lists of texts are classes of task 'multilabel', and not guessed"
        form = f"columns: {{label: {texts[0]}}} and models: {{m: {{proba: p_}}}}, or {{prediction: COLUMN}}"
        return Problem(msg, hint=f"write a suite with task: multilabel, {form}")
    names = ", ".join(map(repr, lists))
    columns = {name: pl.col(name) for name in lists}
    columns |= {name: pl.col(name).arr.to_list() for name in lists if rows.schema[name] == pl.Array}
    sizes = rows.select(column.list.len() for column in columns.values())
    same_lengths = all(sizes[name].equals(sizes[lists[0]]) for name in lists)
    if len(lists) > 1 and same_lengths:
        hint = (
            f"write a row per element, in Polars frame.explode({names}), and name their query: --query COLUMN"
        )
    elif sizes[lists[0]].n_unique() == 1:
        one = repr(lists[0])
        hint = f"write a column per element, in Polars frame.with_columns(pl.col({one}).list.to_struct()).unnest({one})"
    else:
        hint = "write a row per element, or a column per element"
    holds = "holds" if len(lists) == 1 else "hold"
    return Problem(f"{names} {holds} lists, and a label or a score is one value a row", hint=hint)
