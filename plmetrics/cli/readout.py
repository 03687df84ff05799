"""`plmetrics readout`: the arms of an experiment against their control."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from typer import Argument, Option

from plmetrics.cli.options import Debug, TableFormat
from plmetrics.cli.terminal.console import say_warnings, wants_color, width, write_result
from plmetrics.cli.terminal.guard import UsageError, caught_warnings, guard, usage
from plmetrics.cli.terminal.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    import polars as pl

Table = Annotated[str, Argument(metavar="DATA", help="A file, folder or glob of outcomes.")]
Outcome = Annotated[
    list[str] | None, Option(metavar="COLUMN", help="An outcome; may be given several times.")
]
Ratio = Annotated[
    list[str] | None,
    Option(
        metavar="NAME=COLUMN/COLUMN",
        help="An outcome that is a ratio of two sums, as clicks/views; may be given several times.",
    ),
]
Quantile = Annotated[
    list[str] | None,
    Option(
        metavar="NAME=COLUMN@LEVEL", help="An outcome that is a quantile, as p95=latency@0.95; several times."
    ),
]
Covariate = Annotated[
    list[str] | None,
    Option(
        metavar="[OUTCOME=]COLUMN[/COLUMN]",
        help="Covariate from before the experiment, for CUPED: of all outcomes, or of one.",
    ),
]
Strata = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="Means are those of its values, weighted; may be given several times."),
]
Arm = Annotated[str, Option(metavar="COLUMN", help="The column of arms.")]
Control = Annotated[str, Option(metavar="ARM", help="The arm that others are compared with.")]
By = Annotated[
    list[str] | None,
    Option(metavar="COLUMN", help="Slice by it, or by COLUMN,COLUMN together; may be given several times."),
]
Unit = Annotated[
    str | None, Option(metavar="COLUMN", help="Unit that was assigned to an arm, if not the row.")
]
Level = Annotated[float, Option(help="Two-sided level of intervals and tests.")]
Power = Annotated[float, Option(help="The chance to find the effect that units are counted for.")]
Effect = Annotated[
    float | None, Option(metavar="EFFECT", help="The difference to find; the observed one, if not given.")
]
Mixture = Annotated[
    float | None,
    Option(metavar="EFFECT", help="The scale of effects for p values that may be read at any time."),
]
Share = Annotated[
    list[str] | None,
    Option(metavar="ARM=SHARE", help="The planned share of an arm; for all of them or for none."),
]
Correction = Annotated[
    Literal["holm", "bonferroni", "benjamini_hochberg", "none"], Option(help="For how many tests there are.")
]
Missing = Annotated[Literal["error", "drop"], Option(help="Refuse missing values, or leave them out.")]
Ranks = Annotated[bool, Option("--ranks/--no-ranks", help="Mann-Whitney tests, which count every value.")]
Shifts = Annotated[bool, Option("--shifts", help="Shifts of values by Hodges and Lehmann, with intervals.")]
Reproducible = Annotated[
    bool, Option("--reproducible", help="The same to the last bit in any order of the rows.")
]
Form = Annotated[
    TableFormat, Option("--format", help="text for people, json and csv for programs: all columns.")
]

Value = TypeVar("Value")

_MISMATCH = "sample ratio mismatch"


def readout(
    data: Table,
    arm: Arm,
    control: Control,
    outcome: Outcome = None,
    ratio: Ratio = None,
    quantile: Quantile = None,
    covariate: Covariate = None,
    strata: Strata = None,
    by: By = None,
    unit: Unit = None,
    level: Level = 0.95,
    power: Power = 0.8,
    mde: Effect = None,
    mixture: Mixture = None,
    share: Share = None,
    correction: Correction = "holm",
    missing: Missing = "error",
    ranks: Ranks = True,
    shifts: Shifts = False,
    reproducible: Reproducible = False,
    form: Form = "text",
    debug: Debug = False,
) -> None:
    """Compare the arms of an experiment with its control.

    For every outcome, overall and by slice: sizes, means, the difference with its interval and p value, the lift, and
    how many units each arm needs for the effect. A sample ratio that differs from the plan is said first.
    """
    with guard(debug=debug, json=form == "json"):
        from plmetrics.features.experiment import readout as experiment

        with usage(), Progress(sys.stderr) as progress, caught_warnings() as words:
            progress("read the experiment")
            table = experiment.readout(
                data,
                outcome or (),
                arm,
                control,
                ratio=_by_name(map(_ratio, ratio or ()), "--ratio") or None,
                quantile=_by_name(map(_quantile, quantile or ()), "--quantile") or None,
                covariate=_covariates(covariate or ()),
                strata=strata or (),
                by=[column.split(",") if "," in column else column for column in by or ()],
                unit=unit,
                level=level,
                power=power,
                mde=mde,
                mixture=mixture,
                shares=_by_name(map(_share, share or ()), "--share") or None,
                correction=correction,
                missing=missing,
                ranks=ranks,
                shifts=shifts,
                reproducible=reproducible,
            )
        write_result(_output(table, level, form))
        in_report = _MISMATCH if form == "text" else ()
        say_warnings(text for text in words if not text.startswith(in_report))


def _output(table: pl.DataFrame, level: float, form: TableFormat) -> str:
    from plmetrics.features.experiment.readout_report import readout_text
    from plmetrics.report.export import indented_json

    match form:
        case "json":
            return indented_json(table.to_dicts())
        case "csv":
            return table.write_csv()
    return readout_text(table, width(), level, color=wants_color(sys.stdout))


def _by_name(pairs: Iterable[tuple[str, Value]], option: str) -> dict[str, Value]:
    """Values of an option by name, each once."""
    values: dict[str, Value] = {}
    for name, value in pairs:
        if name in values:
            raise UsageError(Problem(f"{option} has two values for '{name}'", hint="leave one of them out"))
        values[name] = value
    return values


def _ratio(text: str) -> tuple[str, list[str]]:
    """The name of a ratio and its columns; without a name, the columns as they are written."""
    name, separator, columns = text.partition("=")
    parts = (columns if separator else name).split("/")
    if len(parts) != 2 or not all(parts) or not name:
        msg = f"--ratio {text}: expected NAME=COLUMN/COLUMN"
        raise UsageError(Problem(msg, hint="--ratio ctr=clicks/views"))
    return name, parts


def _quantile(text: str) -> tuple[str, tuple[str, float]]:
    """The name of a quantile, its column and its level."""
    name, separator, place = text.partition("=")
    column, _, level = (place if separator else name).rpartition("@")
    msg = f"--quantile {text}: expected NAME=COLUMN@LEVEL"
    problem = Problem(msg, hint="--quantile p95=latency@0.95")
    if not name or not column:
        raise UsageError(problem)
    try:
        return name, (column, float(level))
    except ValueError:
        raise UsageError(problem) from None


def _covariates(texts: Sequence[str]) -> list[str] | dict[str, list[str]] | None:
    """The columns of a covariate by outcome, or those of all."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0].split("/")
    return _by_name(map(_covariate, texts), "--covariate")


def _covariate(text: str) -> tuple[str, list[str]]:
    """An outcome, and the columns of its covariate."""
    outcome, separator, columns = text.rpartition("=")
    if not separator:
        msg = f"--covariate {text}: expected OUTCOME=COLUMN, where there are several"
        raise UsageError(Problem(msg, hint="--covariate spent=spent_before"))
    return outcome, columns.split("/")


def _share(text: str) -> tuple[str, float]:
    """An arm, and its planned share."""
    arm, _, share = text.rpartition("=")
    problem = Problem(f"--share {text}: expected ARM=SHARE", hint="--share A=0.5 --share B=0.5")
    if not arm:
        raise UsageError(problem)
    try:
        return arm, float(share)
    except ValueError:
        raise UsageError(problem) from None
