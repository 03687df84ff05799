"""The section `models` of a suite: the columns of each model's prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from plmetrics.catalogue.composite_metrics import refused_subject
from plmetrics.catalogue.metric import leaves
from plmetrics.core.names import SuitePath, plain_text
from plmetrics.suite.problems import NAMED_ARRAYS, Findings, check_expression, is_label, message_text
from plmetrics.suite.sections.basics import ModelColumns
from plmetrics.suite.sections.section import is_name_list
from plmetrics.suite.tasks import CLASS_TASKS, PREDICTION_KINDS, PREDICTS

_NAMED = str.maketrans({"/": "÷", "\\": " ", "|": "¦", **dict.fromkeys(map(chr, range(32)), " ")})
"""Replacement of characters that names may not have, in a column named after its expression."""


def read_models(raw: Mapping[str, Any], task: str, findings: Findings) -> dict[str, ModelColumns] | None:
    """The models of a suite; None, with the problems noted, if one of them is wrong."""
    value = raw.get("models")
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        if not _is_list_of_columns(value, findings):
            return None
        value = {str(column): column for column in value}
    if not isinstance(value, Mapping) or not value:
        hint = "write models: {name: score column}"
        if "models" in raw:
            findings.add(
                f"models must be a mapping of names to columns, not {message_text(value)}", ("models",), hint
            )
        else:
            findings.add("'models' is missing", (), hint)
        return None
    out: dict[str, ModelColumns] = {}
    for name, spec in value.items():
        path: SuitePath = ("models", name)
        if not is_label(name, "a model's name", path, findings):
            continue
        if name.startswith("@"):
            msg = (
                f"a model's name must not begin with @, as '{name}' does: names of columns that are added do"
            )
            findings.add(msg, path, "give it a name of its own: models: {name: score column}")
            continue
        fields = {only_column(task): spec} if isinstance(spec, str) else spec
        if not isinstance(fields, Mapping):
            msg = f"a model is a column or a mapping such as {{score: p}}, not {message_text(spec)}"
            findings.add(msg, path, NAMED_ARRAYS if hasattr(spec, "__array__") else None)
            continue
        fields = _with_plain_keys(fields, task, path, findings)
        if not _levels_are_shares(fields.get("quantiles"), path, findings):
            continue
        model = findings.model(ModelColumns, fields, path)
        if model is not None and _one_kind(model, task, path, findings):
            out[name] = model
    return out if len(out) == len(value) else None


def with_model_columns(raw: Mapping[str, Any], task: str, findings: Findings) -> Mapping[str, Any]:
    """Suite with labels and weights of single models.

    With a list of weights every model is there once for each of them: under its name for the first, and else under that
    with the name of the weight behind it, or `unweighted`. Without a label of the table it is that of the first model.
    Labels and weights that are expressions are derived columns, of that name.
    """
    raw = _with_expressions(raw, findings)
    columns, models = raw.get("columns"), raw.get("models")
    if not isinstance(columns, Mapping):
        return raw
    if isinstance(models, Mapping) and "label" not in columns:
        specs = list(models.values())
        labels = [spec["label"] for spec in specs if isinstance(spec, Mapping) and spec.get("label")]
        columns = {**columns, "label": labels[0]} if labels and len(labels) == len(specs) else columns
    weights = columns.get("weight")
    if not isinstance(weights, (list, tuple)):
        return {**raw, "columns": columns}
    names = [weight or "unweighted" for weight in weights]
    if len(names) < 2 or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        hint = "write weight: [exposure, null], where null is without weights"
        findings.add("several weights are a list of different columns", ("columns", "weight"), hint)
        return {**raw, "columns": {**columns, "weight": None}}
    columns = {**columns, "weight": weights[0] or None}
    return {**raw, "columns": columns, "models": _by_weight(models, weights, names, task, findings)}


def _with_expressions(raw: Mapping[str, Any], findings: Findings) -> Mapping[str, Any]:
    """Suite with expressions of labels and weights as derived columns."""
    derived: dict[str, str] = {}
    before = len(findings.problems)

    def named(roles: Any, path: SuitePath) -> Any:
        if not isinstance(roles, Mapping):
            return roles
        texts = {role: roles.get(role) for role in ("label", "weight")}
        texts_by_role = {role: _expression(spec, (*path, role), findings) for role, spec in texts.items()}
        expressions = {role: text for role, text in texts_by_role.items() if text is not None}
        columns = {role: text.translate(_NAMED) for role, text in expressions.items()}
        derived.update({columns[role]: text for role, text in expressions.items()})
        return {**roles, **columns} if columns else roles

    columns, models = named(raw.get("columns"), ("columns",)), raw.get("models")
    if isinstance(models, Mapping):
        models = {name: named(spec, ("models", name)) for name, spec in models.items()}
    if not derived:
        return raw
    others = raw.get("derive") or {}
    if isinstance(others, Mapping) and len(findings.problems) == before:
        others = {**others, **derived}
    return {**raw, "columns": columns, "models": models, "derive": others}


def _expression(spec: Any, path: SuitePath, findings: Findings) -> str | None:
    """The text of an expression in place of a column."""
    if not isinstance(spec, Mapping) or set(spec) != {"expression"}:
        return None
    text = spec["expression"]
    if not isinstance(text, str) or not text.strip():
        findings.add(f"expression is an SQL expression, not {message_text(text)}", (*path, "expression"))
        return "expression"
    check_expression(text, (*path, "expression"), findings)
    return text


def _by_weight(
    models: Any, weights: Sequence[Any], names: Sequence[str], task: str, findings: Findings
) -> Any:
    """Each model with the first of some weights, and with the others under names of their own."""
    models = [models] if isinstance(models, str) else models
    if is_name_list(models):
        models = {name: name for name in models}
    if not isinstance(models, Mapping):
        return models
    out: dict[Any, Any] = {}
    for name, spec in models.items():
        out[name] = fields = {only_column(task): spec} if isinstance(spec, str) else spec
        if not isinstance(fields, Mapping) or "weight" in fields:
            continue
        for weight, text in zip(weights[1:], names[1:], strict=True):
            added = f"{name}_{text}"
            if added in models:
                msg = f"the model with the weight '{text}' would be named '{added}', and there is one already"
                findings.add(msg, ("models", added), "rename that one")
            out[added] = {**fields, "weight": weight or False}
    return out


_LABEL_TASKS = ("binary", "multiclass", "regression", "quantile")
_WEIGHT_TASKS = (*_LABEL_TASKS, "multilabel", "uplift")
_ONE_LABEL = ("baseline", "labels", "find_slices")
"""The keys that read the label and weight of the table."""


def check_model_columns(fields: Mapping[str, Any], names: Sequence[str], add: Callable[..., None]) -> None:
    """Note settings at odds with labels and weights of single models; `names` are those of all models."""
    models: Mapping[str, ModelColumns] = fields.get("models") or {}
    first = next((name for name, model in models.items() if model.has_own_rows), None)
    if first is None:
        return
    for name, model in models.items():
        for key, tasks in (("label", _LABEL_TASKS), ("weight", _WEIGHT_TASKS)):
            has_one = model.label if key == "label" else model.weight is not None
            if has_one and fields["task"] and fields["task"] not in tasks:
                add(f"a {key} of one model belongs to task {', '.join(tasks)}", ("models", name, key))
    what = "reads one label and one weight, and models have some of their own"
    for key in _ONE_LABEL:
        if fields.get(key) or key in fields["sections"]:
            add(f"{key} {what}", (key,), f"leave {key} out")
    if fields.get("data") is not None and fields["data"].long is not None:
        add(f"a long table {what}", ("data", "long"), "name one label, and one weight, for all models")
    compare = fields.get("compare")
    if compare is not None and compare.tests and any(model.label for model in models.values()):
        add(
            "a test reads one label, and models have some of their own",
            ("compare", "tests"),
            "leave tests out: comparisons by intervals remain",
        )
    for place, metric in enumerate(fields.get("metrics") or ()):
        # Of the table's rows as one label and one weight have them: those of weight 0 have no part in them.
        for leaf in leaves(metric):
            if leaf.derivations("label"):
                subject = refused_subject(metric, leaf)
                add(f"{subject} {what}", ("metrics", place), f"leave {metric.text} out")
    _check_labels(fields, models, names, add)


def _check_labels(
    fields: Mapping[str, Any],
    models: Mapping[str, ModelColumns],
    names: Sequence[str],
    add: Callable[..., None],
) -> None:
    """Models are compared on one label: the differences of others are no answers to one question."""
    columns, compare = fields.get("columns"), fields.get("compare")
    if columns is None:
        return
    fits = fields.get("calibrate") or ()
    sources = {fit.model_name(name): name for fit in fits for name in fit.sources(models)}
    labels = {}
    for name in names:
        spec = models.get(sources.get(name, name))
        labels[name] = (spec.label if spec is not None else None) or columns.label
    pairs: list[tuple[SuitePath, str, str]] = []
    if compare is not None:
        pairs += [(("compare",), *pair) for pair in compare.pairs_of(names)]
    for place, gate in enumerate(fields["gates"]):
        if gate is not None and gate.rival in labels:
            judged = names if gate.model is None else [gate.model]
            pairs += [(("gates", place, "against"), name, gate.rival) for name in judged]
    for path, model, other in pairs:
        if model in labels and labels[model] != labels.get(other, labels[model]):
            msg = f"models '{model}' and '{other}' have different labels, '{labels[model]}' and '{labels[other]}'"
            add(f"{msg}: they are not compared", path, "compare models of one label, in a suite of their own")
            return


def _is_list_of_columns(value: Sequence[Any], findings: Findings) -> bool:
    """Whether a list of models has names of columns alone, each once; problems are noted if not."""
    before = len(findings.problems)
    for place, name in enumerate(value):
        path: SuitePath = ("models", place)
        if isinstance(name, Mapping):
            hint = "write models: {name: score column}, without a list"
            findings.add(f"a list of models has columns, not {message_text(name)}", path, hint)
        elif hasattr(name, "__array__"):
            findings.add("a list of models has columns, not arrays", path, NAMED_ARRAYS)
        elif name in value[:place]:
            findings.add(f"{message_text(name)} stands in models twice", path, "leave one of them out")
    return len(findings.problems) == before


def only_column(task: str) -> str:
    """Part of the prediction of a model of one column."""
    return "prediction" if task == "multiclass" else "score"


def _with_plain_keys(
    fields: Mapping[str, Any], task: str, path: SuitePath, findings: Findings
) -> dict[str, Any]:
    """Classes as texts and levels as numbers, from YAML or Python; notes duplicates."""
    out = dict(fields)
    for kind, plain in (("proba", plain_text), ("threshold", plain_text), ("quantiles", _level)):
        if isinstance(fields.get(kind), Mapping):
            out[kind] = {plain(key): value for key, value in fields[kind].items()}
            if len(out[kind]) < len(fields[kind]):
                what = "level" if kind == "quantiles" else "class"
                findings.add(f"a {what} stands in {kind} twice", (*path, kind), "leave one of them out")
    if task == "multiclass" and isinstance(out.get("proba"), Mapping):
        repeated_columns(out["proba"].values(), (*path, "proba"), findings.add)
    return out


def repeated_columns(columns: Iterable[Any], path: SuitePath, add: Callable[..., None]) -> None:
    """Note a column of several classes: all but one are misspelt."""
    counts = Counter(column for column in columns if isinstance(column, str))
    for column, count in counts.items():
        if count > 1:
            add(f"column '{column}' stands there {count} times", path, "give each a column of its own")


def _levels_are_shares(quantiles: Any, path: SuitePath, findings: Findings) -> bool:
    """Whether all levels lie between 0 and 1; else notes the first that does not."""
    levels = quantiles if isinstance(quantiles, Mapping) else ()
    odd = [level for level in levels if isinstance(level, float) and not 0 < level < 1]
    if odd:
        msg = f"a level of quantiles lies between 0 and 1, not at {plain_text(odd[0])}"
        findings.add(msg, (*path, "quantiles"), "write 0.05 for 5 per cent")
    return not odd


def _level(text: Any) -> Any:
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def _one_kind(model: ModelColumns, task: str, path: SuitePath, findings: Findings) -> bool:
    kinds_of_model = [kind for kind in PREDICTION_KINDS if getattr(model, kind) is not None]
    allowed = PREDICTS.get(task, PREDICTION_KINDS)
    listed = " or ".join(_form(kind) for kind in allowed)
    wrong = [kind for kind in kinds_of_model if kind not in allowed]
    if wrong:
        others = " or ".join(f"'{other}'" for other, kinds in PREDICTS.items() if wrong[0] in kinds)
        msg = f"a model of task '{task}' has no {wrong[0]}: it belongs to task {others}"
        findings.add(msg, (*path, wrong[0]), f"write {listed}")
    elif len(kinds_of_model) != 1:
        names = " and ".join(allowed) if len(allowed) < 3 else ", ".join(allowed)
        findings.add(f"a model has exactly one of {names}", path, f"write {listed}")
    elif (words := _wrong_threshold(model, task)) is not None:
        findings.add(words, (*path, "threshold"))
    elif (model.mean is None) != (model.sd is None):
        findings.add("mean and sd stand together", path, "write {mean: column, sd: column}")
    elif isinstance(model.proba, dict) and len(model.proba) < 2:
        findings.add("proba needs a column for each of at least two classes", (*path, "proba"))
    elif model.normalise and model.proba is None:
        findings.add("normalise belongs to probabilities", (*path, "normalise"))
    else:
        return True
    return False


def _wrong_threshold(model: ModelColumns, task: str) -> str | None:
    threshold = model.threshold
    if threshold is None:
        return None
    if task not in {"binary", *CLASS_TASKS}:
        return f"a model of task '{task}' has no threshold"
    if (model.score if task == "binary" else model.proba) is None:
        return (
            f"threshold belongs to a {'score' if task == 'binary' else 'probability'}, which the model lacks"
        )
    by_class = threshold.values() if isinstance(threshold, dict) else ()
    if bool(by_class) != (task == "multiclass") and task != "multilabel":
        return (
            "threshold must be a mapping of classes" if task == "multiclass" else "threshold must be a number"
        )
    if task == "multiclass" and min(by_class) <= 0:
        return "thresholds must be above 0: the class of the largest probability / threshold is called"
    return None


def _form(kind: str) -> str:
    return {
        "score": "{score: column}",
        "margin": "{margin: column}",
        "prediction": "{prediction: column}",
        "proba": "{proba: {class: column}}",
        "quantiles": "{quantiles: {0.1: column, 0.9: column}}",
        "mean": "{mean: column, sd: column}",
        "members": "{members: [column, column]}",
    }[kind]
