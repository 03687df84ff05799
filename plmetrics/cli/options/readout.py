"""The options of `plmetrics readout`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from plmetrics.cli.options.common import Format


class Missing(StrEnum):
    """What happens to missing values."""

    error = "error"
    drop = "drop"


class Correction(StrEnum):
    """How p values are corrected for how many there are."""

    holm = "holm"
    bonferroni = "bonferroni"
    benjamini_hochberg = "benjamini_hochberg"
    none = "none"


Table: TypeAlias = Annotated[str, typer.Argument(metavar="DATA", help="A file, folder or glob of outcomes.")]
Outcome: TypeAlias = Annotated[
    list[str], typer.Option(metavar="COLUMN", help="An outcome; may be given several times.")
]
Arm: TypeAlias = Annotated[str, typer.Option(metavar="COLUMN", help="The column of arms.")]
Control: TypeAlias = Annotated[
    str, typer.Option(metavar="ARM", help="The arm that others are compared with.")
]
By: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", help="Slice by it, or by COLUMN,COLUMN together; may be given several times."
    ),
]
Unit: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="What was assigned to an arm, if not the row.")
]
Level: TypeAlias = Annotated[float, typer.Option(help="Two-sided level of intervals and tests.")]
Power: TypeAlias = Annotated[
    float, typer.Option(help="The chance to find the effect that units are counted for.")
]
Effect: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="EFFECT", help="The difference to find; the observed one, if not given."),
]
Mixture: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="EFFECT", help="The scale of effects for p values that may be read at any time."),
]
Share: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="ARM=SHARE", help="The planned share of an arm; for all of them or for none."),
]
Corrected: TypeAlias = Annotated[Correction, typer.Option(help="For how many tests there are.")]
OnMissing: TypeAlias = Annotated[Missing, typer.Option(help="Refuse missing values, or leave them out.")]
Ranks: TypeAlias = Annotated[
    bool, typer.Option("--ranks/--no-ranks", help="Mann-Whitney tests, which count every value.")
]
Reproducible: TypeAlias = Annotated[
    bool, typer.Option("--reproducible", help="The same to the last bit in any order of the rows.")
]
Form: TypeAlias = Annotated[
    Format, typer.Option("--format", help="text for people, json and csv for programs: all columns.")
]
