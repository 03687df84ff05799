"""The section `compare` of a suite: its short forms, and what does not fit together in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.composite_metrics import is_across_slices
from plmetrics.core.names import did_you_mean
from plmetrics.suite.problems import absent, message_text
from plmetrics.suite.sections.basics import ALL, PAIRS, REST, RESULT, Compare
from plmetrics.suite.sections.comparison_tests import check_tests, read_tests

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.mentions import SuiteMentions
    from plmetrics.suite.problems import Findings

_PATH = ("compare",)
_FORM = "write compare: {baseline: champion}, or {slices: {region: rest}}"


def read_compare(value: Any, findings: Findings) -> Compare | None:
    """The section; None where there is none, or where it is wrong."""
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
    return findings.model(Compare, {key: item for key, item in fields.items() if item is not None}, _PATH)


def with_result(fields: Any) -> Any:
    """The section as a suite has it, where `run` is a result."""
    if not isinstance(fields, Mapping) or fields.get("run") is None:
        return fields
    run = fields["run"]
    if isinstance(run, str) or hasattr(run, "__fspath__"):
        return {**fields, "run": str(run)}
    return {**fields, "run": RESULT} if hasattr(run, "metrics") else fields


def check_compare(fields: Mapping[str, Any], names: SuiteMentions, add: Callable[..., None]) -> None:
    """Note what is compared that is not there, and p values that are too coarse."""
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
    """A decomposition needs two sides, sets that do not overlap, and metrics that the suite has."""
    if not compare.decompose:
        return
    path = (*_PATH, "decompose")
    if not compare.run and len(compare.pairs_of(names.models)) == 0:
        hint = "name a baseline among several models, pairs: all, or run: FOLDER"
        add("decompose needs two models or two runs", path, hint)
    metrics = {metric.text: metric for metric in fields.get("metrics") or ()}
    sets = fields.get("slices") or {}
    for name, texts in compare.decompose.items():
        spec = sets.get(name)
        if spec is not None and isinstance(spec.where, dict):
            add(f"the slices of '{name}' may overlap: shares of them are no parts of a whole", (*path, name))
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
    if compare.correction == "none":
        return
    rows = len(fields.get("metrics") or ()) * max(len(compare.pairs_of(models)), 1)
    if rows > uncertainty.replicates / 40:
        hint = "raise replicates, use p_value: t, or correction: none"
        msg = f"percentile p values of {uncertainty.replicates} replicates are too coarse for {rows} at once"
        add(msg, (*_PATH, "p_value"), hint)
