"""The options of `plmetrics split`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


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


Rows: TypeAlias = Annotated[str, typer.Argument(metavar="DATA", help="A file, folder or glob of rows.")]
Dealt: TypeAlias = Annotated[Method, typer.Option(help="How rows are dealt.")]
Output: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Write here: .parquet or .csv.", readable=False)
]
Folds: TypeAlias = Annotated[int | None, typer.Option(help="How many folds, or splits in time [5].")]
Label: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Classes to keep alike; may be given several times."),
]
Group: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="What stays together, as a customer; may be given several times."),
]
Key: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="What names a row, so that neither order nor files matter; may be given several times.",
    ),
]
Seed: TypeAlias = Annotated[int | None, typer.Option(help="Another seed, other folds [0].")]
Share: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SHARE", help="holdout: the share of test [0.2], or PART=SHARE for each of several parts."
    ),
]
Repeats: TypeAlias = Annotated[int | None, typer.Option(help="repeated: how many repetitions [10].")]
Inner: TypeAlias = Annotated[int | None, typer.Option(help="nested: how many inner folds [5].")]
Time: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="time_ordered: the column of time.")
]
Trained: TypeAlias = Annotated[
    Window | None, typer.Option(help="time_ordered: what to train on [expanding].")
]
Train: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SPAN", help="time_ordered: length of a sliding train window.")
]
Test: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SPAN", help="time_ordered: length of a test window.")
]
Gap: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SPAN", help="time_ordered: what is left out before a test window.")
]
Purge: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SPAN", help="time_ordered: how far labels look ahead.")
]
Until: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="time_ordered: when a row's label is known.")
]
Name: TypeAlias = Annotated[str | None, typer.Option(metavar="COLUMN", help="The new column.")]
Long: TypeAlias = Annotated[
    bool | None,
    typer.Option("--long/--wide", help="Repeat rows, or add a column for each repetition or split."),
]
Exact: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--exact/--by-hash", help="Equal sizes, or by the hash alone: equal in expectation, and streaming."
    ),
]
Mixed: TypeAlias = Annotated[
    bool | None, typer.Option("--mixed", help="Let the seed decide among groups of about one size.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]

OPTIONS = (
    *("folds", "label", "group", "key", "seed", "share", "repeats", "inner", "time", "window"),
    *("train", "test", "gap", "purge", "until", "name", "long", "exact", "mixed"),
)
"""Those that say how rows are dealt."""
