"""Checks between the sections of a suite, of references by name.

A section that is itself wrong is None here; what depends on its content is then left unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue.composite_metrics import AcrossSlices, is_across_slices, is_derived
from plmetrics.catalogue.metric import TOTAL, composition, leaves
from plmetrics.catalogue.needs import Queries
from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.suite.problems import Findings, absent, lacks_column
from plmetrics.suite.sections.gates import SHARE_HINT, check_band, check_evidence, check_opponent, check_rule
from plmetrics.suite.sections.metrics import METRIC_DEFAULTS
from plmetrics.suite.sections.models import check_model_columns, repeated_columns
from plmetrics.suite.sections.references import interval_references
from plmetrics.suite.sections.section import names_of
from plmetrics.suite.tasks import (
    CLASS_CURVES,
    CLASS_TASKS,
    CONFUSION_CURVES,
    CURVES,
    RANKING_CURVES,
    ROLES_OF_TASKS,
    TASKS_OF_ROLES,
)

if TYPE_CHECKING:
    from plmetrics.suite.mentions import SuiteMentions
    from plmetrics.suite.sections.basics import Curve, Data
    from plmetrics.suite.sections.gates import Gate

Add = Callable[..., None]

_PARAMETERS = {
    "bins": ("reliability", "score_histogram"),
    "strategy": ("reliability",),
    "scheme": ("roc", "pr", "reliability"),
    "cost_fp": ("cost",),
    "cost_fn": ("cost",),
    "metric": ("query_differences",),
}
"""The keys of curves that only some curves have."""

_ONE_LABEL = ("labels", "drift", "leakage", "find_slices", "calibrate", "baseline")
"""The keys whose features read the label as one number or class."""

_ALIKE = {
    "cost": "one pair of costs",
    "query_differences": "one metric",
    "roc": "one scheme",
    "pr": "one scheme",
    "reliability": "one kind of bins and one scheme",
}


def check(fields: Mapping[str, Any], names: SuiteMentions, problems: Findings) -> None:
    """Note inconsistencies between sections."""
    add = problems.add
    if fields.get("compare") is not None:
        from plmetrics.suite.sections.compare import check_compare

        check_compare(fields, names, add)
    check_model_columns(fields, names.models, add)
    _hard_predictions(fields, add)
    _parts(fields, add)
    margins = any(model.margin for model in (fields.get("models") or {}).values())
    if fields.get("calibrate") or fields.get("baseline") or margins:
        from plmetrics.suite.sections.calibrate import check_additions

        check_additions(fields, add)
    for section in fields["sections"].values():
        section.check(fields, problems)
    _references(fields, problems)
    uncertainty = fields.get("uncertainty")
    if "labels" in fields["sections"] and uncertainty is not None and uncertainty.thresholds == "resampled":
        msg = "thresholds: resampled weighs rows that have a label, and with labels others count as well"
        add(msg, ("uncertainty", "thresholds"), "leave thresholds out: they stay as they were chosen")
    if fields["task"] == "multilabel" and uncertainty is not None and uncertainty.thresholds == "resampled":
        msg = "thresholds: resampled chooses one threshold anew, and task 'multilabel' has one for each class"
        add(msg, ("uncertainty", "thresholds"), "leave thresholds out: they stay as they were chosen")
    _roles(fields, add)
    if fields.get("data") is not None:
        _sources(fields["data"], fields["task"], add)
    _label_sets(fields, add)
    _metric_slices(fields, names, add)
    listed = dict.fromkeys(metric.text for metric in fields.get("metrics") or ())
    for index, gate in _sound(fields["gates"]):
        if listed and gate.four_fifths is None and gate.metric.text not in listed:
            hint = "; ".join(filter(None, ["add it to metrics", did_you_mean(gate.metric.text, listed)]))
            add(f"the gate's metric '{gate.metric.text}' is not in metrics", ("gates", index, "metric"), hint)
        _gate(index, gate, fields, names, problems)
    for index, curve in _sound(fields["curves"]):
        _sets(curve.slices, ("curves", index, "slices"), names, add)
        _curve(index, curve, fields, add)
    _one_of_a_name(fields["curves"], add)
    for key, tasks in {"positive": ("binary",), "classes": CLASS_TASKS, **METRIC_DEFAULTS}.items():
        if fields["task"] and fields["task"] not in tasks and fields.get(key) is not None:
            add(f"{key} belongs to task {' or '.join(map(repr, tasks))}", (key,))


def _references(fields: Mapping[str, Any], problems: Findings) -> None:
    """Note references to intervals in a suite without any."""
    if "interval" in fields["sections"] or problems.concern("interval"):
        return
    for path, reference in interval_references(fields).items():
        hint = "add interval: {partition: day}, or name a run's folder, or that of a suite's runs"
        problems.add(f"'{reference}' is about earlier intervals, and the suite has none", path, hint)


def _sources(data: Data, task: str, add: Add) -> None:
    """Check of the source of the rows: it stands alone, and some belong to rankings."""
    leave_out = "leave one of them out"
    if data.trec is not None and task not in {"", "ranking"}:
        add("trec files are rankings", ("data", "trec"), "write task: ranking")
    if data.query is not None and data.database is None:
        add("query needs the database that is asked", ("data", "query"), 'write database: "${DATABASE_URL}"')
    if data.database is not None and data.query is None:
        add("database needs a query", ("data", "database"), "write query: SELECT * FROM scores")
    for source, others in (("trec", ("path",)), ("database", ("path", "trec"))):
        for key in others if getattr(data, source) is not None else ():
            if getattr(data, key) is not None:
                add(f"{key} and {source} both say where the rows are", ("data", key), leave_out)
        if getattr(data, source) is not None and data.version is not None:
            add(f"version does not go with {source}", ("data", "version"), leave_out)
    for key in (
        ("path", "trec", "database", "version", "long", "partitioned_by") if data.spark is not None else ()
    ):
        if getattr(data, key) is not None:
            add(f"{key} does not go with a Spark table", ("data", key), leave_out)
    if data.partitioned_by is not None and task not in {"", "ranking"}:
        msg = "partitioned_by: query belongs to task 'ranking'"
        add(msg, ("data", "partitioned_by"), "leave it out")
    elif data.partitioned_by is not None and (data.trec is not None or data.database is not None):
        msg = "partitioned_by says how rows lie in files, of which these have none"
        add(msg, ("data", "partitioned_by"), "leave it out")


def _label_sets(fields: Mapping[str, Any], add: Add) -> None:
    """Check of a label of several columns: it belongs to one task, and some sections lack a form for it."""
    columns = fields.get("columns")
    if fields["task"] != "multilabel":
        if fields["task"] and columns is not None and columns.label_columns:
            add(
                "a label of several columns belongs to task 'multilabel'",
                ("columns", "label"),
                "name one column",
            )
        return
    if columns is not None and len(columns.label_columns) == 1:
        (column,) = columns.label_columns.values()
        hint = f"write label: {column} for a column of lists, or name a column of 0 and 1 for each class"
        msg = f"the label names one column, '{column}', and a label of columns needs at least two classes"
        add(msg, ("columns", "label"), hint)
    if columns is not None:
        repeated_columns(columns.label_columns.values(), ("columns", "label"), add)
    asked = [*fields["sections"], *(key for key in ("calibrate", "baseline") if fields.get(key))]
    for key in (key for key in asked if key in _ONE_LABEL):
        add(f"{key} reads one label a row, and task 'multilabel' has several", (key,), f"leave {key} out")


def _roles(fields: Mapping[str, Any], add: Add) -> None:
    """Check of the columns of a task: required ones, and those of other tasks."""
    if fields.get("columns") is None:
        return
    for role, tasks in TASKS_OF_ROLES.items():
        if getattr(fields["columns"], role) is not None and fields["task"] not in {"", *tasks}:
            hint = "leave it out, or write unit for what is resampled together" if role == "query" else None
            add(f"{role} belongs to task {' or '.join(map(repr, tasks))}", ("columns", role), hint)
    for role in ROLES_OF_TASKS.get(fields["task"], ()):
        if getattr(fields["columns"], role) is None:
            msg = f"task '{fields['task']}' needs columns.{role}"
            add(msg, ("columns",), f"name its column: columns: {{{role}: ...}}")


def _parts(fields: Mapping[str, Any], add: Add) -> None:
    """Check of every model's parts for the metrics' needs."""
    if fields["task"] in {"", "binary"}:
        return
    for index, metric in enumerate(fields.get("metrics") or ()):
        for name, model in (fields.get("models") or {}).items():
            words = lacks_column(metric, name, tuple(model.columns()))
            if words is not None:
                add(words, ("metrics", index), "give the model such columns, or leave the metric out")


def _curve(index: int, curve: Curve, fields: Mapping[str, Any], add: Add) -> None:
    path = ("curves", index)
    available = CURVES.get(fields["task"], ())
    if fields["task"] and curve.curve not in available:
        others = " or ".join(f"'{task}'" for task, names in CURVES.items() if curve.curve in names)
        hint = "known: " + ", ".join(available) if available else f"task '{fields['task']}' has no curves"
        add(f"curve '{curve.curve}' belongs to task {others}", path, hint)
    for key, curves in _PARAMETERS.items():
        if key in curve.model_fields_set and curve.curve not in curves:
            named = " or ".join(f"'{name}'" for name in curves)
            add(f"{key} belongs to curve {named}, not to '{curve.curve}'", (*path, key))
    if curve.scheme == "ovo" and fields["task"] not in {"", "multiclass"}:
        hint = "leave scheme out: a row of 'multilabel' may have both classes, and two classes are one pair"
        add("pairs of classes belong to task 'multiclass'", (*path, "scheme"), hint)
    _probabilities(curve, path, fields, add)
    if curve.curve in RANKING_CURVES:
        _of_queries(curve, path, fields, add)


def _of_queries(curve: Curve, path: tuple[str | int, ...], fields: Mapping[str, Any], add: Add) -> None:
    """Metric of queries, by its text, and a baseline of models."""
    texts = [metric.text for metric in fields.get("metrics") or () if isinstance(metric.needs, Queries)]
    example = f"curve: {curve.curve}, metric: {texts[0]}" if texts else "list one in metrics, such as ndcg"
    if curve.metric is None:
        add(f"curve '{curve.curve}' needs a metric", path, f"write {{{example}}}" if texts else example)
    elif texts and curve.metric not in texts:
        hint = did_you_mean(curve.metric, texts) or f"known: {', '.join(texts)}"
        add(f"'{curve.metric}' is none of the metrics that queries have", (*path, "metric"), hint)
    compare = fields.get("compare")
    if compare is None or compare.baseline is None:
        hint = "name the model that the others are compared with: compare: {baseline: MODEL}"
        add(f"curve '{curve.curve}' needs a baseline", path, hint)


def _probabilities(curve: Curve, path: SuitePath, fields: Mapping[str, Any], add: Add) -> None:
    """Curves of one class against the rest need its probability."""
    if fields["task"] not in CLASS_TASKS or curve.curve not in CLASS_CURVES:
        return
    for name, model in (fields.get("models") or {}).items():
        if model.proba is None:
            message = f"model '{name}' has only hard predictions, and curve {curve.curve} needs probabilities"
            add(message, path, "give the model probabilities, or leave the curve out")
            return


def _sound(entries: Sequence[Any]) -> list[tuple[int, Any]]:
    """Valid entries of a list, with their places in it."""
    return [(index, entry) for index, entry in enumerate(entries) if entry is not None]


def _one_of_a_name(curves: Sequence[Curve | None], add: Add) -> None:
    """The table of curves tells them apart by name alone."""
    first: dict[str, Curve] = {}
    for index, curve in _sound(curves):
        other = first.setdefault(curve.curve, curve)
        if any(getattr(curve, key) != getattr(other, key) for key in _PARAMETERS):
            what = _ALIKE.get(curve.curve, "one kind of bins")
            add(f"curve '{curve.curve}' is drawn for {what}", ("curves", index), "leave one of them out")


def _metric_slices(fields: Mapping[str, Any], names: SuiteMentions, add: Add) -> None:
    for index, metric in enumerate(fields.get("metrics") or ()):
        _sets(fields["metric_slices"].get(metric.text, ()), ("metrics", index, "slices"), names, add)
        if is_across_slices(metric) and metric.path is not None:
            _sets([metric.slice_set], (*metric.path, "over", "slice_set"), names, add)
        elif is_across_slices(metric):
            _by(metric.slice_set, ("metrics", index), fields, names, add)
        for other in dict.fromkeys(part.other_model for part in composition(metric) if is_derived(part)):
            if other is not None and other not in names.models:
                add(*absent(other, "models", ("metrics", index), names.models))
        if is_across_slices(metric):
            _levels(metric, index, fields, add)
            columns = fields.get("columns")
            if metric.reads_sizes and columns and (columns.weight or columns.unit) and not names.intervals:
                msg = f"'{metric.text}' needs the effective number of units of each group"
                add(msg, ("metrics", index), "add uncertainty: true, which counts them")


def _levels(metric: AcrossSlices, index: int, fields: Mapping[str, Any], add: Add) -> None:
    """Check of levels: sets of disjoint slices, by columns outside the groups' own set."""
    path, slices = ("metrics", index, "slices"), fields.get("slices") or {}
    levels = [name for name in fields["metric_slices"].get(metric.text, ()) if name != metric.slice_set]
    if levels and metric.for_each:
        msg = f"'{metric.text}' has a value for each group, and the groups of a level have no slice of their own"
        add(msg, path, "leave slices out, or ask for a metric with one value for all groups")
        return
    for name in levels:
        groups, level = slices.get(metric.slice_set), slices.get(name)
        if groups is None or level is None:
            continue
        for other, spec in ((metric.slice_set, groups), (name, level)):
            if not spec.columns:
                msg = f"slice set '{other}' may put a row into several slices, and these cannot be crossed"
                add(msg, path, "use columns, bins, quantiles, a top, periods (every) or an expression")
        if shared := set(groups.columns) & set(level.columns):
            add(
                f"slice sets '{metric.slice_set}' and '{name}' are both by column '{sorted(shared)[0]}'", path
            )


def _by(name: str, path: SuitePath, fields: Mapping[str, Any], names: SuiteMentions, add: Add) -> None:
    """The groups of a metric are the slices of a set, not the values of a column."""
    if name in names.slices:
        return
    slice_sets = [key for key, spec in (fields.get("slices") or {}).items() if spec.columns == (name,)]
    hint = f"write by={slice_sets[0]}, the slice set of that column" if slice_sets else None
    hint = hint or did_you_mean(name, names.slices) or f"add it: slices: {{{name}: {name}}}"
    add(f"'{name}' is not one of the slice sets", path, hint)


def _hard_predictions(fields: Mapping[str, Any], add: Add) -> None:
    models = fields.get("models") or {}
    hard = [name for name, model in models.items() if model.prediction is not None]
    binary = fields["task"] == "binary"
    if not (binary or fields["task"] == "multilabel") or not hard:
        return
    for index, metric in enumerate(fields.get("metrics") or ()):
        needs_score = metric.needs_score or any(
            leaf.needs_score or leaf.chosen_threshold or (binary and leaf.fixed_threshold not in {None, 0.5})
            for leaf in leaves(metric)
        )
        if needs_score:
            msg = f"model '{hard[0]}' has only hard predictions, and {metric.text} needs a score"
            add(msg, ("metrics", index), "give the model a score column, or leave the metric out")
    for index, curve in _sound(fields["curves"]):
        if curve.curve in CONFUSION_CURVES or not binary:
            continue
        add(
            f"model '{hard[0]}' has only hard predictions, and curve {curve.curve} needs a score",
            ("curves", index),
        )


def _gate(
    index: int, gate: Gate, fields: Mapping[str, Any], names: SuiteMentions, problems: Findings
) -> None:
    path, add = ("gates", index), problems.add
    models = names.models
    for key, name in (("model", gate.model), ("against", gate.rival)):
        if models and name is not None and name not in models:
            add(*absent(name, "models", (*path, key), models, key))
    named = names_of(gate.slices)
    _sets([name for name in named if name not in {"overall", "all"}], (*path, "slices"), names, add)
    _between(gate, path, fields, names, add)
    if gate.between is None:
        _within(gate, named, fields, (*path, "slices"), add)
    check_rule(gate, path, add)
    check_band(gate, path, fields.get("sections") or {}, problems)
    judged = ("overall", *names.slices) if "all" in named else named
    check_opponent(gate, path, fields.get("compare"), judged, add)
    labels = (fields.get("sections") or {}).get("labels")
    covered = labels is not None and labels.coverage is not None
    check_evidence(gate, path, fields["task"], add, intervals=names.intervals, covered=covered)


def _within(gate: Gate, named: tuple[str, ...], fields: Mapping[str, Any], path: SuitePath, add: Add) -> None:
    """Check that a gate's metric is requested in its slice set."""
    metric_sets = fields["metric_slices"].get(gate.metric.text)
    if is_across_slices(gate.metric):
        metric_sets = (gate.metric.slice_set, *(metric_sets or ()))
    for name in named:
        if metric_sets is not None and name not in {"overall", "all", *metric_sets}:
            msg = f"'{gate.metric.text}' is not asked for in slice set '{name}'"
            add(msg, path, "name the set in the metric's own slices")


def _between(gate: Gate, path: SuitePath, fields: Mapping[str, Any], names: SuiteMentions, add: Add) -> None:
    """A gate between the slices of a set judges their largest difference or smallest ratio."""
    if gate.four_fifths is not None:
        _by(gate.four_fifths, (*path, "four_fifths"), fields, names, add)
    if gate.between is None:
        if gate.ratio_at_least is not None:
            hint = "add between: SLICE_SET"
            add("ratio_at_least needs between: the slice set whose slices are compared", path, hint)
        return
    _by(gate.between, (*path, "between"), fields, names, add)
    if gate.slices != "overall":
        add("between says where the gate holds: it excludes slices", (*path, "slices"))
    if gate.at_least is not None:
        add("between takes at_most (a difference) or ratio_at_least", (*path, "at_least"))
    if is_across_slices(gate.metric):
        msg = f"'{gate.metric.text}' has one value for all slices, and one for each is needed"
        add(msg, (*path, "metric"), "leave between out")
    elif gate.metric.additive:
        add(f"'{gate.metric.text}' {TOTAL}", (*path, "metric"), SHARE_HINT)


def _sets(names: Any, path: tuple[str | int, ...], mentions: SuiteMentions, add: Add) -> None:
    for name in names:
        if name not in mentions.slices:
            add(*absent(name, "slice sets", path, mentions.slices))
