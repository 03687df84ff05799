"""`plmetrics readout`: the arms of an experiment against their control."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from plmetrics.cli.options import readout as options
from plmetrics.cli.options.common import Debug, Format
from plmetrics.cli.terminal.console import say, wants_color, width, write_result
from plmetrics.cli.terminal.guard import UsageError, caught_warnings, guarded, usage
from plmetrics.cli.terminal.progress import Progress
from plmetrics.core.errors import Problem

if TYPE_CHECKING:
    import polars as pl

_MISMATCH = "sample ratio mismatch"


def readout(
    data: options.Table,
    outcome: options.Outcome,
    arm: options.Arm,
    control: options.Control,
    by: options.By = None,
    unit: options.Unit = None,
    level: options.Level = 0.95,
    power: options.Power = 0.8,
    mde: options.Effect = None,
    mixture: options.Mixture = None,
    share: options.Share = None,
    correction: options.Corrected = options.Correction.holm,
    missing: options.OnMissing = options.Missing.error,
    ranks: options.Ranks = True,
    reproducible: options.Reproducible = False,
    form: options.Form = Format.text,
    debug: Debug = False,
) -> None:
    """Compare the arms of an experiment with its control.

    For every outcome, overall and by slice: sizes, means, the difference with its interval and p value, the lift, and
    how many units each arm needs for the effect. A sample ratio that differs from the plan is said first.
    """
    with guarded(debug=debug):
        from plmetrics.features.experiment import readout as experiment
        from plmetrics.report.layout import printable

        with usage(), Progress(sys.stderr) as progress, caught_warnings() as words:
            progress("read the experiment")
            table = experiment.readout(
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
                reproducible=reproducible,
            )
        write_result(_shown(table, form))
        for text in words:
            if form is not Format.text or not text.startswith(_MISMATCH):  # the report begins with it
                say(printable(f"warning: {text}"))


def _shown(table: pl.DataFrame, form: Format) -> str:
    from plmetrics.features.experiment.readout_report import readout_csv, readout_json, readout_text

    match form:
        case Format.json:
            return readout_json(table)
        case Format.csv:
            return readout_csv(table)
    return readout_text(table, width(), color=wants_color(sys.stdout))


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
