"""Early checks of the reference slices of metrics and comparisons, before any count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.catalogue.metric import Facts, Metric
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.core.slice_texts import only_value, slice_place
from plmetrics.suite.sections.basics import ALL, PAIRS, REST, Compare
from plmetrics.suite.sections.compare import APART, ON_RANKS
from plmetrics.suite.sections.references import IntervalReference

if TYPE_CHECKING:
    from plmetrics.suite.model import Suite
    from plmetrics.table.slices import Slices, SliceSet


def check_references(suite: Suite, slices: Sequence[Slices]) -> None:
    """Check the existence of each reference in its metric's set, and of each slice compared with others.

    Raises:
        ConfigError: some are not, or there are too many pairs of slices.
    """
    problems = [*_absent_references(suite, slices), *_pair_problems(suite, slices)]
    if problems:
        raise ConfigError(problems)


def absence_warnings(suite: Suite, slices: Sequence[Slices]) -> list[str]:
    """References that are absent from an interval and may occur in others, in words.

    Raises:
        ConfigError: there are too many pairs of slices.
    """
    problems = list(_pair_problems(suite, slices))
    if problems:
        raise ConfigError(problems)
    return [f"{problem.message} in these rows" for problem in _absent_references(suite, slices)]


def _absent_references(suite: Suite, slices: Sequence[Slices]) -> list[Problem]:
    """Problems of references to slices that no row is in."""
    problems = []
    for name, names, references in _compared_sets(suite, slices):
        for text in references:
            if text not in {REST, ALL, PAIRS} and slice_place(text, names) is None:
                hint = did_you_mean(text, [*names, REST, ALL, PAIRS]) or f"slices: {', '.join(names[:5])}"
                problems.append(
                    Problem(f"'{text}' is not a slice of '{name}'", ("compare", "slices", name), hint)
                )
    for index, metric in enumerate(suite.metrics):
        if not is_across_slices(metric):
            continue
        names = [name for part in slices if part.slice_set.name == metric.slice_set for name in part.texts()]
        if metric.reference_among(names) == -1:
            reference = str(metric.against)
            values = [only_value(name) for name in names]
            msg = f"{metric.text}: '{reference}' is not a slice of '{metric.slice_set}'"
            problems.append(Problem(msg, ("metrics", index), did_you_mean(reference, values)))
    return problems


def _pair_problems(suite: Suite, slices: Sequence[Slices]) -> Iterator[Problem]:
    """Problems of sets with too many pairs of slices."""
    for name, names, references in _compared_sets(suite, slices):
        pairs = len(names) * (len(names) - 1) // 2
        if PAIRS in references and pairs > suite.max_slices:
            msg = f"'{name}' has {pairs:,} pairs of slices, more than max_slices = {suite.max_slices:,}"
            yield Problem(
                msg, ("compare", "slices", name), "compare them with rest, with all, or with one of them"
            )


def _compared_sets(suite: Suite, slices: Sequence[Slices]) -> Iterator[tuple[str, list[str], Sequence[str]]]:
    """Sets with comparisons of slices: name, texts of the slices, and what these are compared with."""
    for name, references in ({} if suite.compare is None else suite.compare.slices).items():
        yield (
            name,
            [text for part in slices if part.slice_set.name == name for text in part.texts()],
            references,
        )


def check_decomposition(suite: Suite, sets: Sequence[SliceSet]) -> None:
    """Check decompositions: of means, or of ordered scores between intervals, over disjoint slices.

    Raises:
        ConfigError: a metric that is named is neither, or none of the suite's is a mean; or slices are tags, also those
            that a test ranks models in.
    """
    problems = []
    metrics = {metric.text: metric for metric in suite.metrics}
    tagged = {part.name for part in sets if part.is_tagged}
    means = {text for text, metric in metrics.items() if _is_mean(metric)}
    hint = (
        f"means among the metrics: {', '.join(sorted(means))}"
        if means
        else "add one, such as log_loss or mae"
    )
    for place, test in enumerate(() if suite.compare is None else suite.compare.tests):
        if test.test in ON_RANKS and test.over in tagged:
            msg = f"the slices of '{test.over}' are tags, which overlap: ranks of models in them are not independent"
            problems.append(Problem(msg, ("compare", "tests", place), APART))
    for name, texts in ({} if suite.compare is None else suite.compare.decompose).items():
        path = ("compare", "decompose", name)
        listed = ", ".join(f"'{text}'" for text in metrics)
        if name in tagged:
            msg = f"the slices of '{name}' are tags, which overlap: shares of them are no parts of a whole"
            problems.append(Problem(msg, path, APART))
        elif not texts and not means:
            words = f"none of {listed} is a mean, and only means are decomposed unless they are named"
            problems.append(Problem(words, path, hint))
        problems += [
            problem
            for text in texts
            if text in metrics and text not in means
            if (problem := _undecomposable(suite.compare, metrics[text], path, hint)) is not None
        ]
    if problems:
        raise ConfigError(problems)


def _is_mean(metric: Metric) -> bool:
    """Whether it is a mean, or that of a class is; classes that stand in the data are not known yet, and any does."""
    members = metric.per_class() or metric.with_facts(Facts(("",))).per_class()
    return any(member.mean for _, member in members)


def _undecomposable(compare: Compare | None, metric: Metric, path: SuitePath, hint: str) -> Problem | None:
    """Reason against a decomposition of a metric's change; None for means."""
    if not metric.of_score_shares:
        words = "is not a mean over rows, nor of shares of rows in the order of scores: it is not decomposed"
        return Problem(f"'{metric.text}' {words}", path, hint)
    if compare is not None and isinstance(compare.run, IntervalReference):
        return None
    msg = (
        f"'{metric.text}' is not a mean: it is decomposed between intervals alone, whose states count scores"
    )
    return Problem(msg, path, f"add interval: {{...}} and compare: {{run: previous}}; {hint}")
