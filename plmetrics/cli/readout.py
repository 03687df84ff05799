"""`plmetrics readout`: the arms of an experiment against their control."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from plmetrics.cli.console import say, wants_color, width, write_result
from plmetrics.cli.guard import UsageError, guarded, usage
from plmetrics.cli.options import Debug, Format
from plmetrics.cli.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    import polars as pl


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


def readout(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A file, folder or glob of outcomes.")],
    outcome: Annotated[
        list[str], typer.Option(metavar="COLUMN", help="An outcome; may be given several times.")
    ],
    arm: Annotated[str, typer.Option(metavar="COLUMN", help="The column of arms.")],
    control: Annotated[str, typer.Option(metavar="ARM", help="The arm that others are compared with.")],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Slice by it, or by COLUMN,COLUMN together; may be given several times."
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What was assigned to an arm, if not the row.")
    ] = None,
    level: Annotated[float, typer.Option(help="Two-sided level of intervals and tests.")] = 0.95,
    power: Annotated[
        float, typer.Option(help="The chance to find the effect that units are counted for.")
    ] = 0.8,
    mde: Annotated[
        float | None,
        typer.Option(metavar="EFFECT", help="The difference to find; the observed one, if not given."),
    ] = None,
    mixture: Annotated[
        float | None,
        typer.Option(
            metavar="EFFECT", help="The scale of effects for p values that may be read at any time."
        ),
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(metavar="ARM=SHARE", help="The planned share of an arm; for all of them or for none."),
    ] = None,
    correction: Annotated[Correction, typer.Option(help="For how many tests there are.")] = Correction.holm,
    missing: Annotated[
        Missing, typer.Option(help="Refuse missing values, or leave them out.")
    ] = Missing.error,
    ranks: Annotated[
        bool, typer.Option("--ranks/--no-ranks", help="Mann-Whitney tests, which count every value.")
    ] = True,
    form: Annotated[
        Format, typer.Option("--format", help="text for people, json and csv for programs: all columns.")
    ] = Format.text,
    debug: Debug = False,
) -> None:
    """Compare the arms of an experiment with its control.

    For every outcome, overall and by slice: sizes, means, the difference with its interval and p value, the lift, and
    how many units each arm needs for the effect. A sample ratio that differs from the plan is said first.
    """
    with guarded(debug=debug):
        from plmetrics import api

        with usage(), Progress(sys.stderr) as progress:
            progress("read the experiment")
            table = api.readout(
                data,
                outcome,
                arm,
                control,
                by=[column.split(",") if "," in column else column for column in by or ()],
                unit=unit,
                level=level,
                power=power,
                mde=mde,
                mixture=mixture,
                shares=_shares(share),
                correction=correction.value,
                missing=missing.value,
                ranks=ranks,
            )
        write_result(_shown(table, form))
        _warn(table, form)


def _shown(table: pl.DataFrame, form: Format) -> str:
    from plmetrics.report.experiment import readout_csv, readout_json, readout_text

    match form:
        case Format.json:
            return readout_json(table)
        case Format.csv:
            return readout_csv(table)
    return readout_text(table, width(), color=wants_color(sys.stdout))


def _warn(table: pl.DataFrame, form: Format) -> None:
    from plmetrics.report.layout import printable

    wrong = table.filter(status="sample_ratio_mismatch")
    if wrong.height and form is not Format.text:
        say(printable(f"warning: sample ratio mismatch: {wrong['note'].item()}"))


def _shares(texts: list[str] | None) -> dict[str, float] | None:
    if not texts:
        return None
    shares = {}
    for text in texts:
        arm, _, share = text.rpartition("=")
        try:
            shares[arm] = float(share)
        except ValueError:
            arm = ""
        if not arm:
            msg = f"--share {text}: expected ARM=SHARE"
            raise UsageError(Problem(msg, hint="--share A=0.5 --share B=0.5"))
    return shares
