"""Obstacles to a run: the verdict on its memory and time, and cautions on its suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from plmetrics.diagnostics.run_warnings import sample_warnings
from plmetrics.engine.memory.budget import LIBRARIES, round_up

if TYPE_CHECKING:
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.features.explain.work import Time

LONG = 600.0
"""Seconds by the clock from which a run over all rows is worth a word."""

_GIGA = 1e9

Kind = Literal["fits", "passes", "states", "too_large"]
FEW_UNITS = 30
MANY_REPLICATES = 100_000_000
MANY_SLICES = 20


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures behind a verdict.

    Attributes:
        peak: bytes of the stage that takes most, beside the libraries.
        budget: bytes that the run may take, libraries among them.
        passes: how often the rows are read for one thing, as memory asks for.
        time: how long the run takes.
        units: how many units the table could be counted in; 0 where states do not hold all of the suite.
    """

    peak: int
    budget: int
    passes: int
    time: Time
    units: int

    @property
    def bytes(self) -> int:
        """Memory of the process at the peak, its libraries included."""
        return self.peak + LIBRARIES


@dataclass(frozen=True, slots=True)
class Verdict:
    """`fits`, `passes` (fits since rows are read more often), `states` or `too_large`; and a line of text."""

    kind: Kind
    text: str
    bytes: int


def verdict(figures: Figures) -> Verdict:
    """The verdict on a run: it fits where its memory is at most the budget.

    >>> from plmetrics.features.explain.work import Time
    >>> quick = Time({"aggregate": 4.0}, 4.0, 2.0, 2, "here")
    >>> verdict(Figures(2_850_000_000, 15_200_000_000, 1, quick, 7)).text
    'fits in memory: 3.1 of 15.2 GB'
    >>> verdict(Figures(3_100_000_000, 4_000_000_000, 3, quick, 7)).text
    'needs 3 passes under memory: 4GB, and takes 3.4 of 4.0 GB'
    >>> verdict(Figures(18_450_000_000, 15_200_000_000, 1, quick, 0)).text
    'does not fit in memory: 18.7 of 15.2 GB; raise memory to 18.7GB'
    """
    share = _share(figures.bytes, figures.budget)
    by_states = figures.units > 1
    if figures.bytes > figures.budget:
        text = f"does not fit in memory: {share}; raise memory to {round_up(figures.bytes)}"
        if by_states:
            return Verdict("states", f"{text}, or use states by day", figures.bytes)
        return Verdict("too_large", text, figures.bytes)
    text, kind = f"fits in memory: {share}", "fits"
    if figures.passes > 1:
        text = (
            f"needs {figures.passes} passes under memory: {_budget_text(figures.budget)}, and takes {share}"
        )
        kind = "passes"
    if figures.time.wall >= LONG and by_states:
        return Verdict("states", f"use states by day: it {text}", figures.bytes)
    return Verdict("passes" if kind == "passes" else "fits", text, figures.bytes)


def _share(needed: int, budget: int) -> str:
    """Both sizes in one unit, with enough digits to tell them apart.

    >>> _share(3_100_000_000, 15_249_000_000), _share(4_010_000_000, 4_000_000_000), _share(250_000_000, 300_000_000)
    ('3.1 of 15.2 GB', '4.01 of 4.00 GB', '250 of 300 MB')
    """
    if budget < _GIGA:
        return f"{needed / 1e6:.0f} of {budget / 1e6:.0f} MB"
    digits = next(
        digits
        for digits in (1, 2, 3, 9)
        if (round(needed / _GIGA, digits) > round(budget / _GIGA, digits)) == (needed > budget)
    )
    return f"{needed / _GIGA:.{digits}f} of {budget / _GIGA:.{digits}f} GB"


def _budget_text(budget: int) -> str:
    return f"{budget / _GIGA:g}GB" if budget % 100_000_000 == 0 else f"{budget / _GIGA:.1f}GB"


def advice(
    request: Request, plan: RunPlan | None, slices: int, values: int, blocks: int | None
) -> Iterator[str]:
    """Warnings of a suite; those on its data only where it was looked at."""
    suite = request.suite
    if suite.compare is not None and suite.uncertainty is None:
        yield "compare without uncertainty: differences have no intervals and no p values"
    if suite.uncertainty is not None and suite.min_rows == 0 and suite.slices:
        yield (
            "min_rows is not set: slices of a few rows get values and intervals that say little; "
            "min_rows: 100 lists them without values"
        )
    if plan is None:
        return
    yield from plan.warnings
    yield from sample_warnings(request)
    yield from _resampling(request, slices, values * len(request.models), blocks)
    dropped = max(plan.rows.dropped.values(), default=0)
    if dropped:
        yield f"missing: {suite.data.missing} leaves out {dropped:,} of {plan.rows.read:,} rows"
    if request.scores and not plan.exact:
        yield "ordered metrics are counted on a grid: their values have a bound (column bound)"


def _resampling(request: Request, slices: int, estimates: int, blocks: int | None) -> Iterator[str]:
    uncertainty = request.suite.uncertainty
    if uncertainty is None or blocks is None:
        return
    if blocks < FEW_UNITS:
        unit = request.suite.columns.unit or "row"
        yield f"only {blocks} units ({unit}): intervals from fewer than {FEW_UNITS} are rough"
    if uncertainty.may_resample and estimates * uncertainty.replicates > MANY_REPLICATES:
        yield (
            f"{estimates:,} estimates x {uncertainty.replicates:,} replicates take a while: "
            "fewer slices, metrics or replicates make it faster"
        )
    if slices > MANY_SLICES and request.pairs and request.suite.compare is not None:
        correction = request.suite.compare.correction
        if correction == "none":
            yield f"{slices:,} slices are compared without a correction: some differ by chance alone"
