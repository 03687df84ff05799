"""Cautions before a run: what of a suite deserves a second thought."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.engine.run_warnings import sample_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan

FEW_UNITS = 30
MANY_REPLICATES = 100_000_000
MANY_SLICES = 20


def advice(
    request: Request, prepared: RunPlan | None, slices: int, values: int, blocks: int | None
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
    if prepared is None:
        return
    yield from prepared.warnings
    yield from sample_warnings(request)
    yield from _resampling(request, slices, values * len(request.models), blocks)
    dropped = max(prepared.rows.dropped.values(), default=0)
    if dropped:
        yield f"missing: {suite.data.missing} leaves out {dropped:,} of {prepared.rows.read:,} rows"
    if request.scores and not prepared.exact:
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
