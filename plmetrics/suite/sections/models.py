"""The section `models` of a suite: the columns of each model's prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.core.names import number_text
from plmetrics.suite.problems import is_label, message_text
from plmetrics.suite.sections.basics import ModelColumns
from plmetrics.suite.tasks import PREDICTION_KINDS, PREDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.core.names import SuitePath
    from plmetrics.suite.problems import Findings

_ARRAYS = "give the array a name in the table, a dict of arrays, and write that name here"


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
        fields = {_only_column(task): spec} if isinstance(spec, str) else spec
        if not isinstance(fields, Mapping):
            msg = f"a model is a column or a mapping such as {{score: p}}, not {message_text(spec)}"
            findings.add(msg, path, _ARRAYS if hasattr(spec, "__array__") else None)
            continue
        model = findings.model(ModelColumns, _with_plain_keys(fields), path)
        if model is not None and _one_kind(model, task, path, findings):
            out[name] = model
    return out if len(out) == len(value) else None


def _is_list_of_columns(value: Sequence[Any], findings: Findings) -> bool:
    """Whether a list of models has names of columns alone, each once; problems are noted if not."""
    before = len(findings.problems)
    for place, name in enumerate(value):
        path: SuitePath = ("models", place)
        if isinstance(name, Mapping):
            hint = "write models: {name: score column}, without a list"
            findings.add(f"a list of models has columns, not {message_text(name)}", path, hint)
        elif hasattr(name, "__array__"):
            findings.add("a list of models has columns, not arrays", path, _ARRAYS)
        elif name in value[:place]:
            findings.add(f"{message_text(name)} stands in models twice", path, "leave one of them out")
    return len(findings.problems) == before


def class_name(value: Any) -> str:
    """A class as a text, as `plmetrics.table.classes.class_text` writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, (int, float)) else str(value)


def _only_column(task: str) -> str:
    """What a model of one column predicts."""
    return "prediction" if task == "multiclass" else "score"


def _with_plain_keys(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Classes as texts and levels as numbers, however YAML or Python wrote them."""
    out = dict(fields)
    if isinstance(out.get("proba"), Mapping):
        out["proba"] = {class_name(name): column for name, column in out["proba"].items()}
    if isinstance(out.get("quantiles"), Mapping):
        out["quantiles"] = {_level(level): column for level, column in out["quantiles"].items()}
    return out


def _level(text: Any) -> Any:
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def _one_kind(model: ModelColumns, task: str, path: SuitePath, findings: Findings) -> bool:
    given = [kind for kind in PREDICTION_KINDS if getattr(model, kind) is not None]
    allowed = PREDICTS.get(task, PREDICTION_KINDS)
    listed = " or ".join(_form(kind) for kind in allowed)
    wrong = [kind for kind in given if kind not in allowed]
    if wrong:
        others = " or ".join(f"'{other}'" for other, kinds in PREDICTS.items() if wrong[0] in kinds)
        msg = f"a model of task '{task}' has no {wrong[0]}: it belongs to task {others}"
        findings.add(msg, (*path, wrong[0]), f"write {listed}")
    elif len(given) != 1:
        names = " and ".join(allowed) if len(allowed) < 3 else ", ".join(allowed)
        findings.add(f"a model has exactly one of {names}", path, f"write {listed}")
    elif model.threshold is not None and (task != "binary" or model.score is None):
        hint = "name it in the metric: accuracy(threshold=0.4)" if task == "multilabel" else None
        findings.add("threshold belongs to a score of task 'binary'", (*path, "threshold"), hint)
    elif (model.mean is None) != (model.sd is None):
        findings.add("mean and sd stand together", path, "write {mean: column, sd: column}")
    elif isinstance(model.proba, dict) and len(model.proba) < 2:
        findings.add("proba needs a column for each of at least two classes", (*path, "proba"))
    elif model.normalise and model.proba is None:
        findings.add("normalise belongs to probabilities", (*path, "normalise"))
    else:
        return True
    return False


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
