"""The features by key: each is imported when a suite asks for it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from plmetrics.core.names import function_of

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request, TableView
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.features.protocol import Counting, Feature
    from plmetrics.suite.model import Suite

FEATURES = {
    "labels": "plmetrics.features.labels.labels_feature:LabelsFeature",
    "leakage": "plmetrics.features.leakage.feature:LeakageFeature",
    "drift": "plmetrics.features.drift.drift_feature:DriftFeature",
    "cross_validation": "plmetrics.features.cross_validation.cross_validation_feature:CrossValidationFeature",
    "experiment": "plmetrics.features.experiment.experiment_feature:ExperimentFeature",
    "find_slices": "plmetrics.features.slice_search.slice_search_feature:SliceSearchFeature",
    "interval": "plmetrics.features.nights.interval_feature:IntervalFeature",
    "keep": "plmetrics.features.nights.interval_feature:KeepFeature",
    "engine": "plmetrics.features.shards.engine_feature:EngineFeature",
}
"""By key in the suite the class of a feature. Results list them in this order."""

_ROLES = {"fold": "cross_validation"}
"""By role the feature that its column asks for without a section."""


@cache
def _feature(place: str) -> Feature:
    return cast("Feature", function_of(place)())


def feature(key: str) -> Feature:
    """The feature of a key."""
    return _feature(FEATURES[key])


def features() -> tuple[Feature, ...]:
    """All features."""
    return tuple(map(feature, FEATURES))


def features_of(suite: Suite) -> tuple[Feature, ...]:
    """Features of a suite."""
    by_role = {key for role, key in _ROLES.items() if getattr(suite.columns, role) is not None}
    return features_in({*suite.sections, *by_role})


def features_in(keys: Container[str]) -> tuple[Feature, ...]:
    """The features among the keys of a suite."""
    return tuple(feature(key) for key in FEATURES if key in keys)


def feature_questions(
    request: Request, counts: Mapping[str, object]
) -> Callable[[TableView], Question[dict[str, object]]] | None:
    """Questions of features about the evaluated rows before any count, by key; None without any.

    `counts` are what features read in place of tables, by key.
    """
    asking = [each for each in features_of(request.suite) if each.counts_rows]
    if not asking:
        return None
    from plmetrics.engine.inquiry import answers_by_name

    def questions_of(view: TableView) -> Question[dict[str, object]]:
        questions = {each.key: each.prepare(request, view, counts.get(each.key)) for each in asking}
        return answers_by_name({key: question for key, question in questions.items() if question is not None})

    return questions_of


def rounding(plan: RunPlan) -> Question[list[str]]:
    """Question for warnings of numbers in roles and features that are rounded; it is asked with the sums."""
    from plmetrics.diagnostics.float_rounding import role_columns, rounding_warnings, threshold_gaps
    from plmetrics.engine.memory.budget import separates_scans

    view = plan.request.view
    # A scan of its own is too much for columns of features, and for scores.
    apart = separates_scans(view)
    asking = () if apart else features_of(view.suite)
    columns = {name: feature.key for feature in asking for name in feature.number_columns(view.suite)}
    gaps = [] if apart else threshold_gaps(plan)
    return rounding_warnings(view.raw, view.schema, columns | role_columns(view), gaps)


def counting(plan: RunPlan) -> Question[dict[str, object]]:
    """Questions of features for their counts of rows, by key, from their constants."""
    from plmetrics.engine.inquiry import answers_by_name

    return answers_by_name(
        {key: cast("Counting", counting).count() for key, counting in plan.countings.items()}
    )
