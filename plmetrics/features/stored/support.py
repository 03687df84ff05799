"""Support of states: additive sums and counts; anything in need of the rows themselves is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.catalogue.composite_metrics import refused_subject
from plmetrics.catalogue.metric import leaves
from plmetrics.catalogue.needs import Bins
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import is_address
from plmetrics.features.registry import features_of
from plmetrics.suite.sections.basics import BY_FOLD
from plmetrics.suite.sections.compare import OF_ROWS

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.suite.yaml.variables import TextTemplate
    from plmetrics.table.source import Source

_INSTEAD = "leave it out of the suite of the states, and run it over the rows"


def support_problems(suite: Suite, source: Source) -> list[Problem]:
    """Problems of a suite in states, for any table."""
    return [*_problems(suite), *_units_problem(suite, source)]


def countable(suite: Suite) -> Suite:
    """The suite as a state serves it: ordered metrics are counted on a grid, with a bound.

    Raises:
        ConfigError: it asks for what no state carries; all of it is named.
    """
    problems = list(_problems(suite))
    if problems:
        raise ConfigError(problems)
    return suite.model_copy(update={"exact": False})


def anchor_tables(suite: Suite, folder: Path) -> Suite:
    """Suite with absolute paths of the features' tables."""
    sections = {
        feature.key: feature.anchor(suite.sections[feature.key], folder)
        for feature in features_of(suite)
        if feature.key in suite.sections
    }
    if all(section is suite.sections[key] for key, section in sections.items()):
        return suite
    moved = suite.model_copy(update={"sections": {**suite.sections, **sections}})
    paths = {(feature.key, key) for feature in features_of(suite) for key in feature.paths}
    texts = [
        _anchor_template(text, folder) if tuple(text.path[:2]) in paths else text for text in suite.templates
    ]
    return moved.with_templates(texts)


def _anchor_template(template: TextTemplate, folder: Path) -> TextTemplate:
    """Text of a path from a folder, without values of variables."""
    if is_address(template.value) or Path(template.value).is_absolute():
        return template
    text, value = (str((folder / path).absolute()) for path in (template.text, template.value))
    return template._replace(text=text, value=value)


def resamples_totals(suite: Suite) -> bool:
    """Whether replicates need the number of distinct units, as those of totals do."""
    return any(metric.additive for metric in suite.state_metrics("overall", *suite.slices))


def names_rows(suite: Suite) -> bool:
    """Whether rows as units have names of their own: where they are resampled, or a feature divides them."""
    return suite.uncertainty is not None or any(feature.divides_units for feature in features_of(suite))


def _problems(suite: Suite) -> Iterator[Problem]:
    if suite.exact is True:
        msg = "exact: true needs the rows, which a state does not hold: it counts scores on a grid"
        yield Problem(msg, ("exact",), "leave exact out for values with a bound")
    for feature in features_of(suite):
        refusal = feature.refusal(suite)
        if refusal is not None:
            yield Problem(refusal, feature.path(suite), _INSTEAD)
    yield from _fits(suite)
    if suite.reproducible:
        yield from _order_dependent(suite)
    for index, metric in enumerate(suite.metrics):
        for leaf in leaves(metric):
            subject = refused_subject(metric, leaf)
            if leaf.needs.rows_in_order:
                message = f"{subject} needs the rows in order, which a state does not hold"
                choice = isinstance(leaf.needs, Bins) and leaf.needs.optional
                yield Problem(message, ("metrics", index), "use strategy=uniform" if choice else _INSTEAD)
            if leaf.derivations(suite.columns.label):
                message = f"{subject} reads other rows beside each row, and a state holds some of them"
                yield Problem(message, ("metrics", index), _INSTEAD)
    for index, curve in enumerate(suite.curves):
        if curve.strategy == "count":
            message = (
                f"curve {curve.curve} with bins of equal weight needs the rows in order: a state has none"
            )
            yield Problem(message, ("curves", index, "strategy"), "use strategy: width")
    yield from _comparisons(suite)


def _fits(suite: Suite) -> Iterator[Problem]:
    """Problems of fits and choices on rows, absent in a state."""
    if any(spec.fit_on == BY_FOLD for spec in suite.calibrate):
        msg = "calibrating by fold fits the rows of each fold to all others, and a state holds some"
        yield Problem(msg, ("calibrate", "fit_on"), "fit on the rows of a condition")
    if suite.uncertainty is not None and suite.uncertainty.thresholds == "resampled":
        msg = "thresholds: resampled chooses on rows, which a state does not hold"
        yield Problem(
            msg, ("uncertainty", "thresholds"), "leave thresholds out: they stay as they were chosen"
        )


def _order_dependent(suite: Suite) -> Iterator[Problem]:
    """Problems of a reproducible suite in a state: counts dependent on the order of rows."""
    for feature in features_of(suite):
        if feature.state_rounding is not None:
            msg = f"reproducible serves sums of rows, and {feature.state_rounding}"
            yield Problem(msg, ("reproducible",), f"leave out reproducible, or {feature.key}")


def _comparisons(suite: Suite) -> Iterator[Problem]:
    compare = suite.compare
    if compare is None:
        return
    if compare.run is not None:
        yield Problem("states are compared with no run", ("compare", "run"), "use plmetrics diff of two runs")
    for index, test in enumerate(compare.tests):
        counted = test.test == "delong" and not suite.per_model
        if test.test in OF_ROWS and not counted:
            msg = f"{test.test} needs the rows, which a state does not hold"
            yield Problem(msg, ("compare", "tests", index), _INSTEAD)


def check_row_identity(suite: Suite, source: Source) -> None:
    """Refuse rows as units where nothing tells the rows of one table from those of another.

    Raises:
        ConfigError: rows are units and come from no file.
    """
    problems = list(_units_problem(suite, source))
    if problems:
        raise ConfigError(problems)


def _units_problem(suite: Suite, source: Source) -> Iterator[Problem]:
    has_units = suite.columns.unit is not None or suite.task == "ranking" or not names_rows(suite)
    if has_units or (source.reader is not None and suite.data.long is None):
        return
    msg = "rows without a file have no names, so that those of two states would be taken for the same"
    hint = "name what is resampled together as columns.unit, or write the table to a file"
    yield Problem(msg, ("columns", "unit"), hint)
