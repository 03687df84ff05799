"""`plmetrics split`: a table with a column that says which fold each row is in."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path  # noqa: TC003 (typer reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plmetrics.cli.console import say, shown_path
from plmetrics.cli.guard import UsageError, guarded, usage
from plmetrics.cli.options import Debug  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Method(StrEnum):
    """How rows are dealt."""

    k_fold = "k_fold"
    stratified = "stratified"
    grouped = "grouped"
    stratified_grouped = "stratified_grouped"
    repeated = "repeated"
    leave_one_group_out = "leave_one_group_out"
    nested = "nested"
    time_ordered = "time_ordered"
    holdout = "holdout"


class Window(StrEnum):
    """What a split in time trains on."""

    expanding = "expanding"
    sliding = "sliding"


_TAKES: Mapping[Method, tuple[str, ...]] = {
    Method.k_fold: ("folds", "key", "seed", "exact", "name"),
    Method.stratified: ("folds", "label", "key", "seed", "exact", "name"),
    Method.grouped: ("folds", "group", "seed", "mixed", "name"),
    Method.stratified_grouped: ("folds", "label", "group", "seed", "mixed", "name"),
    Method.repeated: ("folds", "repeats", "label", "group", "key", "seed", "name", "long"),
    Method.leave_one_group_out: ("group", "name"),
    Method.nested: ("folds", "inner", "label", "group", "key", "seed", "name", "long"),
    Method.time_ordered: (
        *("folds", "time", "window", "train", "test", "gap", "purge", "until", "name", "long"),
    ),
    Method.holdout: ("share", "label", "key", "seed", "exact", "name"),
}
_NEEDS: Mapping[Method, tuple[str, ...]] = {
    Method.stratified: ("label",),
    Method.grouped: ("group",),
    Method.stratified_grouped: ("label", "group"),
    Method.leave_one_group_out: ("group",),
    Method.time_ordered: ("time",),
}
_OTHERWISE = {(Method.nested, "folds"): "outer", (Method.time_ordered, "folds"): "splits"}


def split(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A file, folder or glob of rows.")],
    method: Annotated[Method, typer.Option(help="How rows are dealt.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Write here: .parquet or .csv.", readable=False),
    ],
    folds: Annotated[int | None, typer.Option(help="How many folds, or splits in time [5].")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Classes to keep alike; may be given several times."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="What stays together, as a customer; may be given several times."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="What names a row, so that neither order nor files matter; may be given several times.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed, other folds [0].")] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE", help="holdout: the share of test [0.2], or PART=SHARE for each of several parts."
        ),
    ] = None,
    repeats: Annotated[int | None, typer.Option(help="repeated: how many repetitions [10].")] = None,
    inner: Annotated[int | None, typer.Option(help="nested: how many inner folds [5].")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="time_ordered: the column of time.")
    ] = None,
    window: Annotated[Window | None, typer.Option(help="time_ordered: what to train on [expanding].")] = None,
    train: Annotated[
        str | None, typer.Option(metavar="SPAN", help="time_ordered: length of a sliding train window.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="SPAN", help="time_ordered: length of a test window.")
    ] = None,
    gap: Annotated[
        str | None, typer.Option(metavar="SPAN", help="time_ordered: what is left out before a test window.")
    ] = None,
    purge: Annotated[
        str | None, typer.Option(metavar="SPAN", help="time_ordered: how far labels look ahead.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="time_ordered: when a row's label is known.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="COLUMN", help="The new column.")] = None,
    long: Annotated[
        bool | None,
        typer.Option("--long/--wide", help="Repeat rows, or add a column for each repetition or split."),
    ] = None,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--by-hash",
            help="Equal sizes, or by the hash alone: equal in expectation, and streaming.",
        ),
    ] = None,
    mixed: Annotated[
        bool | None,
        typer.Option("--mixed", help="Let the seed decide among groups of about one size."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    debug: Debug = False,
) -> None:
    """Add a column of folds to a table.

    Rows are dealt by a hash of --key and --seed: the same rows get the same folds again, in whatever order and files
    they come. A SPAN is a duration (12h, 7d, 1mo) or a number of different times; in a column of numbers it is a
    difference.
    """
    given = {
        "folds": folds,
        "label": label or None,
        "group": group or None,
        "key": key or None,
        "seed": seed,
        "share": share or None,
        "repeats": repeats,
        "inner": inner,
        "time": time,
        "window": window and window.value,
        "train": train,
        "test": test,
        "gap": gap,
        "purge": purge,
        "until": until,
        "name": name,
        "long": long,
        "exact": exact,
        "mixed": mixed,
    }
    with guarded(debug=debug):
        from plmetrics import api

        arguments = _arguments(
            method, {option: value for option, value in given.items() if value is not None}
        )
        if output.exists() and not force:
            message = f"{output} is there already"
            raise UsageError(Problem(message, hint="choose another name, or replace it with --force"))
        with usage(), Progress(sys.stderr) as progress:
            progress("split the table")
            api.write_split(data, output, method.value, arguments)
        say(f"written: {shown_path(output)}")


def _arguments(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the function, once the options fit the method."""
    problems = [
        Problem(f"--{option} is not for method {method}", hint=f"it takes {_listed(_TAKES[method])}")
        for option in given
        if option not in _TAKES[method]
    ]
    problems += [
        Problem(f"method {method} needs --{option}")
        for option in _NEEDS.get(method, ())
        if option not in given
    ]
    if problems:
        raise UsageError(problems)
    read: Mapping[str, Callable[[Any], Any]] = {
        "share": _share,
        "train": _span,
        "test": _span,
        "gap": _span,
        "purge": _span,
    }
    return {
        _OTHERWISE.get((method, option), option): read[option](value) if option in read else value
        for option, value in given.items()
    }


def _listed(options: tuple[str, ...]) -> str:
    return ", ".join(f"--{option}" for option in options)


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
