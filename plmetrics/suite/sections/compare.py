"""Section `compare` of a suite and its tests: their short forms, and checks of their consistency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.bases import row_value
from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.names import did_you_mean
from plmetrics.core.text import TextError, parse_call
from plmetrics.suite.problems import Findings, absent, message_text
from plmetrics.suite.sections.basics import ALL, PAIRS, REST, RESULT, Compare
from plmetrics.suite.sections.section import TEST_PARAMETERS, ComparisonTest

if TYPE_CHECKING:
    from plmetrics.suite.mentions import SuiteMentions

FOLDS = "folds"
"""Value of `over` where models are ranked in each fold."""

ON_DIFFERENCES = ("wilcoxon", "paired_permutation")
"""The tests of each single difference, of rows or of folds."""
ON_MEANS = ("paired_t", *ON_DIFFERENCES, "diebold_mariano", "always_valid")
POSTERIORS = ("correlated_t", "bayesian_signed_rank")
ON_FOLDS = ("corrected_resampled_t", "five_by_two_cv_f", *POSTERIORS)
ON_RANKS = ("friedman", "iman_davenport", "nemenyi")
OF_ROWS = ("delong", *ON_DIFFERENCES, "diebold_mariano")
"""The tests that need the rows themselves, in memory."""

_TESTS = ("compare", "tests")
_REAL = ("mixture", "ratio", "rope", "prior")
_NEEDS = {"always_valid": ("mixture", "0.01"), "diebold_mariano": ("time", "day")}

APART = "name a set whose slices share no rows, such as columns crossed: {columns: [region, device]}"
"""Hint where slices overlap."""

_PATH = ("compare",)
_FORM = "write compare: {baseline: champion}, or {slices: {region: rest}}"


def read_tests(value: Any, findings: Findings) -> list[ComparisonTest]:
    """Tests of a list; an invalid one is noted, and omitted."""
    items = [value] if isinstance(value, (str, Mapping)) else value
    if not isinstance(items, Sequence):
        findings.add(
            f"tests must be a list, not {message_text(value)}", _TESTS, "write tests: [delong, mcnemar]"
        )
        return []
    tests = [_test(item, (*_TESTS, place), findings) for place, item in enumerate(items)]
    valid = [test for test in tests if test is not None]
    return valid if len(valid) == len(tests) else []


def _test(item: Any, path: tuple[str | int, ...], findings: Findings) -> ComparisonTest | None:
    named = _parse_test(item, path, findings)
    if named is None:
        return None
    name, arguments = named
    if name not in TEST_PARAMETERS:
        hint = did_you_mean(name, TEST_PARAMETERS, limit=len(TEST_PARAMETERS))
        findings.add(f"unknown test '{name}'", path, hint)
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
    numbers = {
        key: float(item) if key in _REAL and type(item) is int else item for key, item in arguments.items()
    }
    return findings.model(ComparisonTest, {"test": name, **numbers}, (*path, name))


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
    """Note tests without their prerequisites."""
    compare: Compare | None = fields.get("compare")
    if compare is None or not compare.tests:
        return
    if compare.baseline is None and compare.pairs is None:
        hint = "name a baseline, or pairs: all"
        add("tests compare models, and compare names none", _TESTS, hint)
    columns = fields.get("columns")
    folded = columns is not None and columns.fold is not None
    for place, test in enumerate(compare.tests):
        _check(test, fields, (*_TESTS, place), add, folded=folded)
        if test.test in ON_RANKS:
            _check_over(test, slices, (*_TESTS, place), add, folded=folded)
            spec = (fields.get("slices") or {}).get(test.over)
            if spec is not None and spec.overlaps:
                msg = f"the slices of '{test.over}' may overlap: ranks of models in them are not independent"
                add(msg, (*_TESTS, place), APART)


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
    """Whether a test of rows has a form for counts of scores on a grid."""
    data = fields.get("data")
    return test.test == "delong" and (data is None or data.missing != "drop_per_model")


def by_fold(test: ComparisonTest, *, folded: bool) -> bool:
    """Whether a test is of the values of folds: always, or optionally in a suite with folds."""
    return test.test in ON_FOLDS or (folded and test.test in {"paired_t", *ON_DIFFERENCES})


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
    """JSON Schema of the list, from that of the fields of a test."""
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


def read_compare(value: Any, metric_text: Callable[[str], str], findings: Findings) -> Compare | None:
    """The section; None where there is none, or where it is wrong. `metric_text` gives texts as results have them."""
    if value is None:
        return None
    if not isinstance(value, (str, Mapping)):
        findings.add(
            f"compare must be the name of a model or a mapping, not {message_text(value)}", _PATH, _FORM
        )
        return None
    fields = {"baseline": value} if isinstance(value, str) else dict(value)
    if fields.get("tests") is not None:
        fields["tests"] = read_tests(fields["tests"], findings)
    section = findings.model(Compare, {key: item for key, item in fields.items() if item is not None}, _PATH)
    if section is None or not section.decompose:
        return section
    named = {name: tuple(map(metric_text, texts)) for name, texts in section.decompose.items()}
    return section.model_copy(update={"decompose": named})


def with_result(fields: Any) -> Any:
    """The section as a suite has it, where `run` is a result."""
    if not isinstance(fields, Mapping) or fields.get("run") is None:
        return fields
    run = fields["run"]
    if isinstance(run, str) or hasattr(run, "__fspath__"):
        return {**fields, "run": str(run)}
    return {**fields, "run": RESULT} if hasattr(run, "metrics") else fields


def check_compare(fields: Mapping[str, Any], names: SuiteMentions, add: Callable[..., None]) -> None:
    """Note comparisons with unknown things, and too coarse p values."""
    compare: Compare | None = fields.get("compare")
    if compare is None:
        return
    _models(compare, names.models, add)
    if "reference" in compare.model_fields_set and not compare.run:
        hint = "add run: FOLDER, or leave it out"
        add("reference says which earlier run counts, and run names none", (*_PATH, "reference"), hint)
    check_tests(fields, names.slices, add)
    if not (compare.baseline or compare.pairs or compare.slices or compare.run):
        hint = "name a baseline, or pairs: all, slices: {region: rest}, run: FOLDER"
        add("compare does not say what is compared", _PATH, hint)
    for key, named in (("slices", compare.slices), ("decompose", compare.decompose)):
        for name in named:
            if name not in names.slices:
                add(*absent(name, "slice sets", (*_PATH, key, name), names.slices))
    for name, references in compare.slices.items():
        if PAIRS in references and not set(references) <= {PAIRS, REST, ALL}:
            hint = "leave out what is compared with one slice"
            add(f"pairs compares every slice of '{name}' with every other", (*_PATH, "slices", name), hint)
    _check_decomposition(compare, fields, names, add)
    _percentile(compare, fields, names.models, add)


def _models(compare: Compare, models: tuple[str, ...], add: Callable[..., None]) -> None:
    if compare.baseline is not None and compare.pairs is not None:
        add(
            "baseline and pairs both say what models are compared", (*_PATH, "pairs"), "leave one of them out"
        )
    elif models and compare.baseline is not None and compare.baseline not in models:
        add(*absent(compare.baseline, "models", (*_PATH, "baseline"), models, "baseline"))
    elif compare.pairs is not None and len(models) == 1:
        add(f"pairs needs two models, and there is only '{models[0]}'", (*_PATH, "pairs"))


def _check_decomposition(
    compare: Compare, fields: Mapping[str, Any], names: SuiteMentions, add: Callable[..., None]
) -> None:
    """Check of a decomposition: two sides, disjoint slices, and metrics of the suite."""
    if not compare.decompose:
        return
    path = (*_PATH, "decompose")
    if not compare.run and len(compare.pairs_of(names.models)) == 0:
        hint = "name a baseline among several models, pairs: all, or run: FOLDER"
        add("decompose needs two models or two runs", path, hint)
    metrics = {metric.text: metric for metric in fields.get("metrics") or ()}
    sets = fields.get("slices") or {}
    for name, texts in compare.decompose.items():
        if name in sets and sets[name].overlaps:
            add(
                f"the slices of '{name}' may overlap: shares of them are no parts of a whole",
                (*path, name),
                APART,
            )
        for place, text in enumerate(texts):
            if metrics and text not in metrics:
                add(f"'{text}' is not in metrics", (*path, name, place), did_you_mean(text, list(metrics)))
            elif metrics and is_across_slices(metrics[text]):
                add(f"'{text}' has no value in a slice", (*path, name, place))


def _percentile(
    compare: Compare, fields: Mapping[str, Any], models: tuple[str, ...], add: Callable[..., None]
) -> None:
    uncertainty = fields.get("uncertainty")
    if compare.p_value != "percentile" or uncertainty is None:
        return
    if uncertainty.names[0] not in {"bootstrap", "percentile", "centred", "basic", "bca"}:
        msg = f"percentile p values count replicates of the bootstrap, which {uncertainty.names[0]} does without"
        add(msg, (*_PATH, "p_value"), "use p_value: t, or let bootstrap be the first method")
        return
    metrics = len(fields.get("metrics") or ()) if compare.family == "suite" else 1
    together = metrics * max(len(compare.pairs_of(models)), 1)
    if is_too_coarse(compare, uncertainty.replicates, together):
        msg = f"percentile p values of {uncertainty.replicates} replicates are too coarse for {together} at once"
        add(msg, (*_PATH, "p_value"), "raise replicates, use p_value: t, or correction: none")


def is_too_coarse(compare: Compare, replicates: int, together: int) -> bool:
    """Whether the least percentile p value of so many replicates is above 0.05 once it is corrected for so many."""
    return compare.p_value == "percentile" and compare.correction != "none" and 40 * together > replicates
