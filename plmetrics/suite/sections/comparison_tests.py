"""The tests of `compare.tests`: their short forms, and what does not fit together in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.row_values import row_value
from plmetrics.core.names import did_you_mean
from plmetrics.core.text import TextError, parse_call
from plmetrics.suite.problems import absent, message_text
from plmetrics.suite.sections.section import TEST_PARAMETERS, ComparisonTest

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.problems import Findings
    from plmetrics.suite.sections.basics import Compare

FOLDS = "folds"
"""What `over` says where models are ranked in each fold."""

ON_MEANS = ("paired_t", "wilcoxon", "diebold_mariano", "always_valid")
POSTERIORS = ("correlated_t", "bayesian_signed_rank")
ON_FOLDS = ("corrected_resampled_t", "five_by_two_cv_f", *POSTERIORS)
ON_RANKS = ("friedman", "iman_davenport", "nemenyi")
OF_ROWS = ("delong", "wilcoxon", "diebold_mariano")
"""The tests that need the rows themselves, in memory."""

_PATH = ("compare", "tests")
_NEEDS = {"always_valid": ("mixture", "0.01"), "diebold_mariano": ("time", "day")}


def read_tests(value: Any, findings: Findings) -> list[ComparisonTest]:
    """The tests; none where one is wrong, which is noted."""
    items = [value] if isinstance(value, (str, Mapping)) else value
    if not isinstance(items, Sequence):
        findings.add(
            f"tests must be a list, not {message_text(value)}", _PATH, "write tests: [delong, mcnemar]"
        )
        return []
    tests = [_test(item, (*_PATH, place), findings) for place, item in enumerate(items)]
    valid = [test for test in tests if test is not None]
    return valid if len(valid) == len(tests) else []


def _test(item: Any, path: tuple[str | int, ...], findings: Findings) -> ComparisonTest | None:
    named = _parse_test(item, path, findings)
    if named is None:
        return None
    name, arguments = named
    if name not in TEST_PARAMETERS:
        findings.add(f"unknown test '{name}'", path, did_you_mean(name, TEST_PARAMETERS))
        return None
    for key in arguments:
        if key not in TEST_PARAMETERS[name]:
            parameters = TEST_PARAMETERS[name]
            hint = did_you_mean(str(key), parameters) or (
                f"it has {', '.join(parameters)}" if parameters else None
            )
            findings.add(f"{name} has no parameter '{key}'", (*path, name), hint)
            return None
    key, example = _NEEDS.get(name, ("", ""))
    if key and arguments.get(key) is None:
        findings.add(f"{name} needs {key}", path, f"write {{{name}: {{{key}: {example}}}}}")
        return None
    numbers = {key: float(item) if _is_integer(key, item) else item for key, item in arguments.items()}
    return findings.model(ComparisonTest, {"test": name, **numbers}, (*path, name))


def _is_integer(key: str, item: Any) -> bool:
    return (
        key in {"mixture", "ratio", "rope", "prior"} and isinstance(item, int) and not isinstance(item, bool)
    )


def _parse_test(
    item: Any, path: tuple[str | int, ...], findings: Findings
) -> tuple[str, dict[str, Any]] | None:
    """The name and the parameters of a test."""
    if isinstance(item, str):
        try:
            call = parse_call(item)
        except TextError as error:
            findings.add(str(error), path, error.hint)
            return None
        return call.name, dict(call.parameters)
    if isinstance(item, Mapping) and len(item) == 1:
        ((name, arguments),) = item.items()
        if arguments is None or isinstance(arguments, Mapping):
            return str(name), dict(arguments or {})
    hint = "write delong, or {diebold_mariano: {time: day, horizon: 2}}"
    findings.add(f"a test is a name, or a name with its parameters, not {message_text(item)}", path, hint)
    return None


def check_tests(fields: Mapping[str, Any], slices: Sequence[str], add: Callable[..., None]) -> None:
    """Note tests that lack what they are of."""
    compare: Compare | None = fields.get("compare")
    if compare is None or not compare.tests:
        return
    if compare.baseline is None and compare.pairs is None:
        hint = "name a baseline, or pairs: all"
        add("tests compare models, and compare names none", _PATH, hint)
    folded = _has_folds(fields)
    for place, test in enumerate(compare.tests):
        _check(test, fields, (*_PATH, place), add, folded=folded)
        if test.test in ON_RANKS:
            _check_over(test, slices, (*_PATH, place), add, folded=folded)


def _has_folds(fields: Mapping[str, Any]) -> bool:
    columns = fields.get("columns")
    return columns is not None and columns.fold is not None


def _check(
    test: ComparisonTest, fields: Mapping[str, Any], path: Any, add: Callable[..., None], *, folded: bool
) -> None:
    metrics, task = fields.get("metrics"), fields.get("task")
    paired = {metric.paired_test for metric in metrics or () if metric is not None}
    if test.test == "mcnemar" and metrics is not None:
        if "mcnemar" not in paired:
            add(
                "mcnemar compares accuracies, and accuracy is not in metrics", path, "add accuracy to metrics"
            )
    elif test.test == "delong" and metrics is not None and "delong" not in paired:
        hint = "add roc_auc to metrics" if task == "binary" else "it is for task: binary"
        add("delong compares areas under the ROC curve, and roc_auc is not in metrics", path, hint)
    elif test.test in ON_FOLDS and not folded:
        add(f"{test.test} is of folds, and columns.fold is not given", path, "name the column of the fold")
    elif test.test in ON_MEANS and metrics is not None and not by_fold(test, folded=folded):
        if not any(metric is not None and row_value(metric) is not None for metric in metrics):
            hint = "add one such as log_loss, brier, mae or mse"
            add(f"{test.test} is of metrics that are means over rows, and there are none", path, hint)
        elif test.test == "diebold_mariano" and task == "ranking":
            add("diebold_mariano is of losses in order of time, which queries do not have", path)
    by_rows = test.test in OF_ROWS and not _on_grid(test, fields)
    if fields.get("exact") is False and by_rows and not by_fold(test, folded=folded):
        add(f"{test.test} needs the rows, which exact: false rules out", path, "leave exact out")


def _on_grid(test: ComparisonTest, fields: Mapping[str, Any]) -> bool:
    """Whether a test of rows is also of scores that are counted on a grid."""
    data = fields.get("data")
    return test.test == "delong" and (data is None or data.missing != "drop_per_model")


def by_fold(test: ComparisonTest, *, folded: bool) -> bool:
    """Whether a test is of the values of folds: one of those that are always, or that can be where there are folds."""
    return test.test in ON_FOLDS or (folded and test.test in {"paired_t", "wilcoxon"})


def _check_over(
    test: ComparisonTest, slices: Sequence[str], path: Any, add: Callable[..., None], *, folded: bool
) -> None:
    if test.over == FOLDS and FOLDS not in slices:
        if not folded:
            hint = f"name the column of the fold, or a slice set: {{{test.test}: {{over: SLICE_SET}}}}"
            add(f"{test.test} ranks models in folds, and columns.fold is not given", path, hint)
    elif test.over not in slices:
        add(*absent(test.over, "slice sets", (*path, test.test, "over"), slices))


def tests_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the list, from that of the fields of a test."""
    name = {"enum": list(TEST_PARAMETERS)}
    text = {"type": "string", "pattern": r"^\s*\w+\s*\(.*\)\s*$"}
    by_name = {
        test: {
            "type": ["object", "null"],
            "additionalProperties": False,
            "description": f"Parameters of {test}.",
            "properties": {key: properties[key] for key in keys},
        }
        for test, keys in TEST_PARAMETERS.items()
    }
    single = {
        "anyOf": [
            name,
            text,
            {
                "title": "ComparisonTest",
                "description": "A test of models by name, with its parameters.",
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
                "properties": by_name,
            },
        ]
    }
    return {"anyOf": [single, {"type": "array", "items": single}]}
