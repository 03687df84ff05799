"""`plmetrics split`: a table with a column of each row's fold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from typer import Argument, Option

from plmetrics.cli.options import Debug, ReplaceFile  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.console import say, shown_path
from plmetrics.cli.terminal.guard import UsageError, guard, refuse_existing, usage
from plmetrics.cli.terminal.progress import Progress
from plmetrics.core.errors import Problem

Method: TypeAlias = Literal[
    "k_fold",
    "stratified",
    "grouped",
    "stratified_grouped",
    "repeated",
    "leave_one_group_out",
    "nested",
    "time_ordered",
    "holdout",
]
"""The functions of `plmetrics.splits`."""

Rows = Annotated[str, Argument(metavar="DATA", help="A file, folder or glob of rows.")]
Dealt = Annotated[Method, Option(help="Method of dealing rows.")]
Output = Annotated[
    Path, Option("--output", "-o", metavar="FILE", help="Write here: .parquet or .csv.", readable=False)
]
Folds = Annotated[int | None, Option(help="Number of folds, or of splits in time [5].")]
Label = Annotated[
    list[str] | None, Option(metavar="COLUMN", help="Classes to keep alike; may be given several times.")
]
Group = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="Group that stays together, as a customer; may be given several times."),
]
Key = Annotated[
    list[str] | None,
    Option(
        metavar="COLUMN",
        help="Key of a row, so that neither order nor files matter; may be given several times.",
    ),
]
Seed = Annotated[int | None, Option(help="Another seed, other folds [0].")]
Share = Annotated[
    list[str] | None,
    Option(
        metavar="SHARE", help="holdout: the share of test [0.2], or PART=SHARE for each of several parts."
    ),
]
Repeats = Annotated[int | None, Option(help="repeated: how many repetitions [10].")]
Inner = Annotated[int | None, Option(help="nested: how many inner folds [5].")]
Time = Annotated[str | None, Option(metavar="COLUMN", help="time_ordered: the column of time.")]
Trained = Annotated[
    Literal["expanding", "sliding"] | None, Option(help="time_ordered: what to train on [expanding].")
]
Train = Annotated[str | None, Option(metavar="SPAN", help="time_ordered: length of a sliding train window.")]
Test = Annotated[str | None, Option(metavar="SPAN", help="time_ordered: length of a test window.")]
Gap = Annotated[
    str | None, Option(metavar="SPAN", help="time_ordered: what is left out before a test window.")
]
Purge = Annotated[str | None, Option(metavar="SPAN", help="time_ordered: how far labels look ahead.")]
Until = Annotated[str | None, Option(metavar="COLUMN", help="time_ordered: when a row's label is known.")]
Name = Annotated[str | None, Option(metavar="COLUMN", help="The new column.")]
Long = Annotated[
    bool | None, Option("--long/--wide", help="Repeat rows, or add a column for each repetition or split.")
]
Exact = Annotated[
    bool | None,
    Option(
        "--exact/--by-hash", help="Equal sizes, or by the hash alone: equal in expectation, and streaming."
    ),
]
Mixed = Annotated[bool | None, Option("--mixed", help="Let the seed decide among groups of about one size.")]

OPTIONS = (
    *("folds", "label", "group", "key", "seed", "share", "repeats", "inner", "time", "window"),
    *("train", "test", "gap", "purge", "until", "name", "long", "exact", "mixed"),
)
"""Those that say how rows are dealt."""

_FOLDS = ("outer", "splits")
"""What functions call the option `folds`, where not by its name."""


def split(
    data: Rows,
    method: Dealt,
    output: Output,
    folds: Folds = None,
    label: Label = None,
    group: Group = None,
    key: Key = None,
    seed: Seed = None,
    share: Share = None,
    repeats: Repeats = None,
    inner: Inner = None,
    time: Time = None,
    window: Trained = None,
    train: Train = None,
    test: Test = None,
    gap: Gap = None,
    purge: Purge = None,
    until: Until = None,
    name: Name = None,
    long: Long = None,
    exact: Exact = None,
    mixed: Mixed = None,
    force: ReplaceFile = False,
    debug: Debug = False,
) -> None:
    """Add a column of folds to a table.

    Rows are dealt by a hash of --key and --seed: the same rows get the same folds again, in whatever order and files
    they come. A SPAN is a duration (12h, 7d, 1mo) or a number of different times; in a column of numbers it is a
    difference.
    """
    first = (folds, label, group, key, seed, share, repeats, inner, time, window)
    others = (train, test, gap, purge, until, name, long, exact, mixed)
    values = zip(OPTIONS, (*first, *others), strict=True)
    with guard(debug=debug):
        choices = {option: value for option, value in values if value is not None and value != []}
        _write(data, output, method, choices, force=force)
        say(f"written: {shown_path(output)}")


def _write(data: str, output: Path, method: Method, choices: Mapping[str, Any], *, force: bool) -> None:
    from plmetrics.features.splits import split_files

    arguments = _arguments(method, choices)
    refuse_existing(output, force=force)
    with usage(), Progress(sys.stderr) as progress:
        progress("split the table")
        split_files.write_split(data, output, method, arguments)


def _arguments(method: Method, choices: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the function, once the options fit the method."""
    parameters = parameters_of(method)
    hint = f"it takes {', '.join(f'--{option}' for option in parameters)}"
    problems = [
        Problem(f"--{option} is not for method {method}", hint=hint)
        for option in choices
        if option not in parameters
    ]
    problems += [
        Problem(f"method {method} needs --{option}")
        for option, parameter in parameters.items()
        if parameter.default is Parameter.empty and option not in choices
    ]
    if problems:
        raise UsageError(problems)
    readers: Mapping[str, Callable[[Any], Any]] = {
        "share": _share,
        **dict.fromkeys(("train", "test", "gap", "purge"), _span),
    }
    return {
        parameters[option].name: readers[option](value) if option in readers else value
        for option, value in choices.items()
    }


def parameters_of(method: Method) -> dict[str, Parameter]:
    """The parameters of a method's function, by option."""
    from plmetrics.features.splits import splitters

    parameters = signature(getattr(splitters, method)).parameters.values()
    options = {"folds" if part.name in _FOLDS else part.name: part for part in parameters}
    return {option: part for option, part in options.items() if option in OPTIONS}


def _span(text: str) -> float | str:
    """A number, whole if it can be, or the text of a duration."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _share(texts: list[str]) -> float | dict[str, float]:
    parts = [text.rpartition("=") for text in texts]
    try:
        shares = {part: float(share) for part, _, share in parts}
    except ValueError:
        shares = {}
    if len(shares) < len(texts) or ("" in shares and len(shares) > 1):
        msg = f"--share {' --share '.join(texts)}: expected a number, or PART=SHARE for each part"
        raise UsageError(Problem(msg, hint="--share 0.2, or --share train=0.7 --share test=0.3"))
    return shares.get("", shares)
