"""`plmetrics split`: a table with a column that says which fold each row is in."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from plmetrics.cli.options import split as options  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.options.common import Debug  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.options.split import OPTIONS, Method
from plmetrics.cli.terminal.console import say, shown_path
from plmetrics.cli.terminal.guard import UsageError, guarded, usage
from plmetrics.cli.terminal.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

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
    data: options.Rows,
    method: options.Dealt,
    output: options.Output,
    folds: options.Folds = None,
    label: options.Label = None,
    group: options.Group = None,
    key: options.Key = None,
    seed: options.Seed = None,
    share: options.Share = None,
    repeats: options.Repeats = None,
    inner: options.Inner = None,
    time: options.Time = None,
    window: options.Trained = None,
    train: options.Train = None,
    test: options.Test = None,
    gap: options.Gap = None,
    purge: options.Purge = None,
    until: options.Until = None,
    name: options.Name = None,
    long: options.Long = None,
    exact: options.Exact = None,
    mixed: options.Mixed = None,
    force: options.Force = False,
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
    with guarded(debug=debug):
        given = {option: value for option, value in values if value is not None and value != []}
        _write(data, output, method, given, force=force)
        say(f"written: {shown_path(output)}")


def _write(data: str, output: Path, method: Method, given: Mapping[str, Any], *, force: bool) -> None:
    from plmetrics.features.splits import split_files

    arguments = _arguments(method, given)
    if output.exists() and not force:
        message = f"{output} is there already"
        raise UsageError(Problem(message, hint="choose another name, or replace it with --force"))
    with usage(), Progress(sys.stderr) as progress:
        progress("split the table")
        split_files.write_split(data, output, method.value, arguments)


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
        "window": str,
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
