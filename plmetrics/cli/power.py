"""`plmetrics power`: the number of units for an experiment, before there are data."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Option

from plmetrics.cli.options import Debug, Outcome  # noqa: TC001 (typer reads the annotations)
from plmetrics.cli.terminal.console import write_result
from plmetrics.cli.terminal.guard import guard, usage
from plmetrics.core.errors import ConfigError, Problem

if TYPE_CHECKING:
    from plmetrics.features.experiment.power_plan import PowerPlan


def power(
    baseline: Annotated[float, Option(help="Share of the control, or with --sd its mean.")],
    effect: Annotated[
        float | None, Option(help="Difference to find; what --units find if not given.")
    ] = None,
    relative: Annotated[
        bool, Option("--relative", help="The effect is a share of the baseline: 0.05 is 5 % more.")
    ] = False,
    sd: Annotated[float | None, Option(help="Standard deviation of a unit's outcome.")] = None,
    units: Annotated[int | None, Option(help="Units of the arm; found if not given.")] = None,
    ratio: Annotated[float, Option(help="Units of the control for one of the arm.")] = 1.0,
    chance: Annotated[
        float | None,
        Option(
            "--power", metavar="POWER", help="The chance to find the effect, 0.8; found of effect and units."
        ),
    ] = None,
    level: Annotated[float, Option(help="Level of the two-sided test.")] = 0.95,
    cluster_size: Annotated[
        float | None, Option(help="Mean number of units that are assigned together.")
    ] = None,
    icc: Annotated[
        float | None, Option(help="Correlation of outcomes within such a cluster, with --cluster-size.")
    ] = None,
    cluster_cv: Annotated[
        float | None, Option(help="Standard deviation of cluster sizes over their mean.")
    ] = None,
    form: Outcome = "text",
    debug: Debug = False,
) -> None:
    """Compute the number of units an experiment needs.

    Of effect, units and power two are given, and the third follows. Shares are compared by the z test of two
    proportions, means by the t test; clusters count as one each, by the t test, with their design effect.
    """
    with guard(debug=debug, json=form == "json"), usage():
        from plmetrics.features.experiment.power_plan import Clusters, power_plan

        if None not in (effect, units, chance):
            hint = "leave one of --effect, --units and --power out"
            raise ConfigError([Problem("two of effect, units and power give the third", ("power",), hint)])
        if relative and effect is None:
            raise ConfigError([Problem("--relative is of an effect", ("effect",), "give --effect as well")])
        _check_clusters(cluster_size, icc, cluster_cv)
        plan = power_plan(
            baseline,
            effect * baseline if relative and effect is not None else effect,
            sd=sd,
            units=units,
            ratio=ratio,
            power=0.8 if chance is None else chance,
            level=level,
            clusters=None if cluster_size is None else Clusters(cluster_size, icc or 0.0, cluster_cv or 0.0),
        )
        write_result(_text(plan) if form == "text" else json.dumps(asdict(plan), indent=2) + "\n")


def _check_clusters(size: float | None, icc: float | None, cv: float | None) -> None:
    """Refuse one option of clusters without the others that make a design effect of it."""
    problems = []
    if size is None and (icc is not None or cv is not None):
        name = "--cluster-cv" if icc is None else "--icc"
        problems.append(Problem(f"{name} is of clusters", ("cluster size",), "give --cluster-size as well"))
    if icc is None and (size is not None or cv is not None):
        hint = "give --icc as well: 0 where outcomes within a cluster are no more alike than others"
        problems.append(Problem("clusters have a correlation within them", ("icc",), hint))
    if problems:
        raise ConfigError(problems)


def _text(plan: PowerPlan) -> str:
    from plmetrics.report.numbers import signed_percent

    lift = f" ({signed_percent(plan.effect / plan.baseline)})" if plan.baseline else ""
    rows = [
        ("baseline", f"{plan.baseline:g} ({plan.outcome} of the control)"),
        ("effect", f"{plan.effect:+.4g}{lift}"),
        ("arm", _size(plan.units, plan.clusters)),
        ("control", _size(plan.units_control, plan.clusters_control)),
        ("in all", f"{plan.units + plan.units_control:,} units"),
    ]
    if plan.clusters is not None:
        rows.append(("design effect", f"{plan.design_effect:.4g}"))
    rows.append(("power", f"{plan.power:.1%} at level {plan.level:g}, two-sided"))
    return "".join(f"{name:<15}{text}\n" for name, text in rows)


def _size(units: int, clusters: int | None) -> str:
    return f"{units:,} units" + ("" if clusters is None else f" in {clusters:,} clusters")
