import dataclasses
import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.parameters import ParameterError
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.suite.model import canonical
from plmetrics.suite.reader import metric_from_text

METRICS = "metrics: [f1, roc_auc]\nslices: {region: region}\n"


def one_line(problem: Problem) -> str:
    where = problem.where
    place = "" if where is None else f"{where.line}:{where.column} "
    return f"{place}{problem.message} | {problem.hint or ''}"


def found(problems: tuple[Problem, ...], line: int, *words: str) -> bool:
    """Whether a problem of that line has all the words in its message and hint."""
    return any(
        problem.where is not None
        and problem.where.line == line
        and all(word in one_line(problem) for word in words)
        for problem in problems
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("metircs: [f1]", ["unknown key 'metircs'", "did you mean 'metrics'?"]),
        ("uncertainty: {replicats: 10}", ["unknown key 'replicats'", "did you mean 'replicates'?"]),
        (
            "compare: {baseline: a, corection: holm}",
            ["unknown key 'corection'", "did you mean 'correction'?"],
        ),
        ("slices: {x: {colum: a}}", ["unknown key 'colum'", "did you mean 'column'?"]),
        ("output: {dir: x}", ["unknown key 'dir'"]),
        ("defaults: base.yaml", ["base.yaml: there is no such file"]),
        ("task: binray", ["'binray'", "did you mean 'binary'?"]),
        (
            "task: regresion",
            ["task must be one of binary, multiclass, multilabel, regression", "did you mean"],
        ),
        ("metrics: [roc_acu]", ["unknown metric 'roc_acu' for task 'binary'", "did you mean 'roc_auc'?"]),
        ("metrics: [mae]", ["unknown metric 'mae'", "belongs to task 'regression'"]),
        ("metrics: [precision(0.3)]", ["has no name", "write precision(threshold=0.3)"]),
        ("metrics: [precision(treshold=0.3)]", ["unknown parameter 'treshold'", "did you mean 'threshold'?"]),
        ("metrics: [precision(threshold=x)]", ["threshold must be a finite number"]),
        ("metrics: [fbeta(beta=-1)]", ["beta must be"]),
        ("metrics: [fbeta]", ["parameter 'beta' is missing"]),
        ("metrics: [{fbeta: {beta: [1]}}]", ["beta must be"]),
        ("metrics: [{f1: 3}]", ["parameters of 'f1' must be a mapping"]),
        ("metrics: [{f1: {}, recall: {}}]", ["one key"]),
        ("metrics: [{name: rate, mean: 'p < '}]", ["p < "]),
        ("metrics: [precision(threshold=best(f1))]", ["threshold=best(...) is not known", "max(f1)"]),
        ("metrics: [3]", ["a metric is"]),
        ("metrics: []", ["at least one"]),
        ("metrics: {f1: }", ["metrics must be a list"]),
        ("slices: {overall: r}", ["'overall' is reserved"]),
        ("slices: {other: r}", ["'other' is reserved"]),
        ("slices: {a/b: r}", ["slice set's name", "a/b"]),
        ("slices: {'': r}", ["slice set's name"]),
        ("slices: {x: 3}", ["a slice set is"]),
        ("slices: {x: {}}", ["needs a column"]),
        ("slices: {x: [r, r]}", ["twice"]),
        ("slices: {x: {columns: [a, b], bins: [1]}}", ["bins need exactly one column"]),
        ("slices: {x: {column: a, bins: [2, 1]}}", ["bins must ascend"]),
        ("slices: {x: {column: a, bins: [1, 1]}}", ["bins must ascend"]),
        ("slices: {x: {column: a, bins: [1, .inf]}}", ["bins must be finite"]),
        ("slices: {x: {column: a, bins: [1, z]}}", ["bins must be numbers, or dates"]),
        ("slices: {x: {column: a, bins: [2024-01-01, 3]}}", ["bins must be numbers, or dates"]),
        ("slices: {x: {column: a, bins: [true, 2]}}", ["bins must be numbers, or dates"]),
        (
            "slices: {x: {column: a, bins: ['2024-01-01 00:00:00.0000005']}}",
            ["bins must be numbers, or dates"],
        ),
        ("slices: {x: {column: a, bins: 5}}", ["bins must be a list", "bins: [25, 40, 65], or quantiles: 5"]),
        ("slices: {x: {where: 'a >'}}", ["'a >'", "something is missing", "character 3"]),
        ("slices: {x: {where: a + 1}}", ["not a condition"]),
        ("slices: {x: {where: a > 1, column: b}}", ["where stands alone"]),
        ("slices: {x: {columns: [a, b], top: 3}}", ["top needs exactly one column"]),
        ("slices: 3", ["slices must be a mapping"]),
        ("uncertainty: {replicates: 1}", ["replicates must be", "2", "not 1"]),
        ("uncertainty: {level: 2}", ["level must be less than 1"]),
        (
            "uncertainty: {interval: tt}",
            ["interval must be auto, percentile, t, centred, basic, normal or bca"],
        ),
        ("uncertainty: {seed: x}", ["seed must be"]),
        (
            "uncertainty: {methods: [wilson], method: auto}",
            ["method and methods both say", "leave one of them out"],
        ),
        ("uncertainty: {blocks: 1.5}", ["blocks must be"]),
        ("uncertainty: 3", ["must be a mapping", "not 3"]),
        ("compare: c", ["'c' is not one of the models", "known: a, b"]),
        ("compare: {baseline: c}", ["'c' is not one of the models", "known: a, b"]),
        ("compare: {correction: holm}", ["compare does not say what is compared"]),
        ("compare: {baseline: a, correction: holmm}", ["correction must be holm, bonferroni"]),
        ("curves: [rok]", ["unknown curve 'rok'", "did you mean 'roc'?"]),
        ("curves: [{curve: funnel}]", ["unknown curve 'funnel'", "known: roc, roc_hull, pr"]),
        ("curves: [dca]", ["unknown curve 'dca'", "did you mean 'net_benefit'?"]),
        ("curves: [calibration]", ["unknown curve 'calibration'", "did you mean 'reliability'?"]),
        ("uncertainty: {cluster: x}", ["unknown key 'cluster'", "columns: {unit: COLUMN}"]),
        ("uncertainty: {method: delong}", ["not 'delong'", "write methods: [delong]"]),
        ("gates: [{metric: f1, within: [0.5, 0.8]}]", ["within must be a mapping", "write two gates"]),
        ("metrics: ['recall(threshold=at(specificity=0.9))']", ["at takes no specificity", "at(fpr=0.1)"]),
        ("drift: {reference: {where: x > 1}}", ["unknown key 'where'", "write where beside reference"]),
        (
            "metrics: [kurtosis, {name: rate, mean: score}]",
            ["unknown metric 'kurtosis'", "plmetrics metrics"],
        ),
        ("gates: [{metric: f1, min: 0.5}]", ["unknown key 'min'", "'at_least'?"]),
        ("compare: {baseline: a, tests: [tukey]}", ["unknown test 'tukey'", "known: mcnemar, delong"]),
        ("compare: {baseline: a, correction: fdr}", ["not 'fdr'", "did you mean 'benjamini_hochberg'?"]),
        ("metrics: [{name: quote}]", ["and not defined", "{name: quote, mean:"]),
        ("metrics: [{name: quote, average: score}]", ["unknown key 'average'", "did you mean 'mean'?"]),
        ("metrics: [nri]", ["unknown metric 'nri'", "there is none here"]),
        ("metrics: [wrmsse]", ["'wrmsse' is a formula of metrics"]),
        ("bootstrap: 500", ["unknown key 'bootstrap'", "write uncertainty: {replicates: ...}"]),
        ("uncertainty: {n_boot: 500}", ["unknown key 'n_boot'", "did you mean 'replicates'?"]),
        ("threshold: 0.3", ["unknown key 'threshold'", "recall(threshold=0.3)"]),
        ("output: {html: true}", ["unknown key 'html'", "did you mean 'report'?"]),
        ("metrics: 'f1, recall'", ["',' at position 3", "several metrics are a list"]),
        ("task: forecast", ["not 'forecast'", "write regression for points"]),
        ("curves: [{curve: 3}]", ["curve must be", "not 3"]),
        ("curves: roc", ["curves must be a list"]),
        ("curves: [{curve: roc, slices: [x]}]", ["'x' is not one of the slice sets"]),
        ("curves: [{slices: []}]", ["'curve' is missing"]),
        ("memory: much", ["memory must be", "4GB"]),
        ("memory: -1", ["memory must be"]),
        ("memory: 0GB", ["memory must be"]),
        ("name: a/b", ["folder's name"]),
        ("name: .x", ["folder's name"]),
        ("name: ../x", ["folder's name"]),
        ("name: 3", ["folder's name"]),
        ("min_rows: -1", ["min_rows must be", "-1"]),
        ("min_rows: 1.5", ["min_rows must be"]),
        ("max_slices: 0", ["max_slices must be"]),
        ("exact: maybe", ["exact must be"]),
        ("positive: [1]", ["must be", "[1]"]),
        ("output: {directory: 3}", ["directory must be", "not 3"]),
        ("gates: x", ["gates must be a list"]),
    ],
)
def test_says_what_is_wrong_where_and_what_to_do(refuse: Any, text: str, words: list[str]) -> None:
    problems = refuse(f"{text}\n")
    assert found(problems, 4, *words), [one_line(problem) for problem in problems]


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("{at_least: 0.5}", ["'metric' is missing"]),
        ("{metric: f1}", ["a gate needs a rule", "at_least"]),
        ("{metric: f1, at_least: 0.5, at_most: 0.7}", ["one rule", "two gates"]),
        ("{metric: f1, against: a, at_least: 0, no_worse_than: 0.1}", ["one rule"]),
        ("{metric: f1, no_worse_than: 0.1}", ["no_worse_than needs against"]),
        ("{metric: f1, model: b, against: a, no_worse_than: -1}", ["no_worse_than must be", "-1"]),
        ("{metric: brier, at_most: 0.1}", ["'brier' is not in metrics", "f1, roc_auc"]),
        (
            "{metric: f1(threshold=0.3), at_least: 0.1}",
            ["'f1(threshold=0.3)' is not in metrics", "f1, roc_auc"],
        ),
        ("{metric: f22, at_most: 0.1}", ["unknown metric 'f22'"]),
        ("{metric: roc_acu, at_least: 0.1}", ["unknown metric 'roc_acu'", "did you mean 'roc_auc'?"]),
        ("{metric: f1, model: c, at_least: 0.5}", ["model 'c'", "known: a, b"]),
        ("{metric: f1, against: c, at_least: 0}", ["against 'c'", "known: a, b"]),
        ("{metric: f1, model: a, against: a, at_least: 0}", ["against itself"]),
        ("{metric: f1, slices: regoin, at_least: 0.5}", ["'regoin'", "did you mean 'region'?"]),
        ("{metric: f1, slices: [overall, x], at_least: 0.5}", ["'x' is not one of the slice sets"]),
        ("{metric: f1, using: interval, at_least: 0.5}", ["needs uncertainty", "replicates: 1000"]),
        ("{metric: f1, between: regoin, at_most: 0.1}", ["'regoin'", "did you mean 'region'?"]),
        ("{metric: f1, between: region, slices: region, at_most: 0.1}", ["it excludes slices"]),
        ("{metric: f1, between: region}", ["a gate needs a rule"]),
        (
            "{metric: recall, between: region, at_most: 0.1}",
            ["'recall' is not in metrics", "add it to metrics; "],
        ),
        ("{metric: f1, between: region, ratio_at_least: 2}", ["ratio_at_least must be", "2"]),
        ("{metric: f1, at_least: .nan}", ["finite number"]),
        ("{metric: f1, at_least: '0.5'}", ["at_least must be a number", "'0.5'"]),
        ("{metric: f1, at_least: 0.5, levle: warn}", ["unknown key 'levle'", "did you mean 'level'?"]),
        ("{metric: f1, at_least: 0.5, level: wran}", ["level must be fail or warn"]),
        (
            "{metric: f1, at_least: 0.5, on_undefined: pass}",
            ["on_undefined must be inconclusive, fail or skip"],
        ),
        ("f1 >= 0.5", ["a gate is a mapping"]),
        ("{f1: 0.5}", ["a gate is a mapping", "write {metric: f1, at_least: 0.5}"]),
        ("{f1: {at_most: 0.5}}", ["a gate is a mapping", "write {metric: f1, at_most: 0.5}"]),
    ],
)
def test_gates_that_cannot_be_judged(refuse: Any, gate: str, words: list[str]) -> None:
    problems = refuse(f"{METRICS}gates:\n- {{metric: f1, at_least: 0.1}}\n- {gate}\n")
    assert len(problems) == 1
    assert found(problems, 8, *words), [one_line(problem) for problem in problems]


@pytest.mark.parametrize(
    "gate",
    [
        "{metric: f1, at_least: 0.5}",
        "{metric: 'f1(threshold=0.5)', at_most: 1, slices: all, level: warn, name: low}",
        "{metric: roc_auc, model: b, against: a, no_worse_than: 0, using: interval, slices: [overall, region]}",
        "{metric: {f1: {}}, against: a, at_most: 0.1, slices: region, on_undefined: skip}",
    ],
)
def test_gates_that_can_be_judged(load: Any, gate: str) -> None:
    suite = load(f"{METRICS}uncertainty: true\ngates: [{gate}]\n").suite
    assert suite.gates[0].metric.text in {"f1", "roc_auc"}


def test_a_gate_may_name_its_metric_by_an_alias(load: Any) -> None:
    suite = load("metrics: [recall]\ngates: [{metric: tpr, at_least: 0.5}]\n").suite
    assert suite.gates[0].metric.text == "recall"


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ("{a: {score: p, prediction: q}}", ["exactly one of score, prediction, margin"]),
        ("{a: {}}", ["exactly one of score, prediction, margin"]),
        ("{a: {proba: {x: c}}}", ["a model of task 'binary' has no proba"]),
        ("{a: {mean: m, sd: s}}", ["a model of task 'binary' has no mean", "belongs to task 'quantile'"]),
        ("{a: {scor: p}}", ["unknown key 'scor'", "did you mean 'score'?"]),
        ("{a: {score: p, threshold: max(f1)}}", ["threshold must be", "recall(threshold=max(f1))"]),
        ("{a: 3}", ["a column or a mapping"]),
        ("{'': p}", ["a model's name"]),
        ("{x/y: p}", ["a model's name", "x/y"]),
        ("{'@x': p}", ["a model's name must not begin with @", "'@x'"]),
        ('{"x\\ny": p}', ["a model's name"]),
        ("{}", ["models must be a mapping"]),
        ("3", ["models must be a mapping"]),
    ],
)
def test_models_that_are_wrong(refuse: Any, models: str, words: list[str]) -> None:
    problems = refuse(f"data: {{path: x}}\ncolumns: {{label: y}}\nmodels: {models}\n", head="")
    assert found(problems, 3, *words), [one_line(problem) for problem in problems]


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ("p", {"p": "p"}),
        ("[p, q]", {"p": "p", "q": "q"}),
        ("{a: p}", {"a": "p"}),
        ("{a: {score: p}}", {"a": "p"}),
        ("{z: q, a: p}", {"z": "q", "a": "p"}),
    ],
)
def test_shapes_of_models(load: Any, models: str, expected: dict[str, str]) -> None:
    suite = load(f"data: {{path: x}}\ncolumns: {{label: y}}\nmodels: {models}\n", head="").suite
    assert {name: model.score for name, model in suite.models.items()} == expected
    assert list(suite.models) == list(expected)


@pytest.mark.parametrize(
    ("slices", "columns"),
    [
        ("region", {"region": ("region",)}),
        ("[sex, race]", {"sex": ("sex",), "race": ("race",)}),
        ("{r: region}", {"r": ("region",)}),
        ("{x: [a, b]}", {"x": ("a", "b")}),
        ("{x: {column: a}}", {"x": ("a",)}),
        ("{x: {columns: [a, b]}}", {"x": ("a", "b")}),
    ],
)
def test_shapes_of_slices(load: Any, slices: str, columns: dict[str, tuple[str, ...]]) -> None:
    suite = load(f"slices: {slices}\n").suite
    assert {name: spec.columns for name, spec in suite.slices.items()} == columns


def test_bins_may_be_dates(load: Any) -> None:
    suite = load("slices: {d: {column: day, bins: [2024-01-31, 2024-02-01]}}\n").suite
    assert suite.slices["d"].bins == (dt.date(2024, 1, 31), dt.date(2024, 2, 1))


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("4 GiB", 4 * 2**30), ("1.5mb", 1_500_000), ("123", 123), ("'123'", 123)],
)
def test_memory(load: Any, text: str, size: int) -> None:
    assert load(f"memory: {text}\n").suite.memory == size


@pytest.mark.parametrize(("text", "asked"), [("true", True), ("{}", True), ("false", False), ("null", False)])
def test_uncertainty_in_one_word(load: Any, text: str, asked: bool) -> None:
    assert (load(f"uncertainty: {text}\n").suite.uncertainty is not None) == asked


def test_a_metric_named_twice_is_kept_once_also_by_alias(load: Any) -> None:
    suite = load(
        "metrics: [tpr, recall, sensitivity, 'recall(threshold=0.50)', {recall: {threshold: 0.5}}, f1]\n"
    ).suite
    assert [metric.text for metric in suite.metrics] == ["recall", "f1"]


def test_the_default_metrics(load: Any) -> None:
    assert load("").suite.metrics == registry.default_metrics("binary")
    assert load("task: regression\nmetrics: null\n").suite.metrics == registry.default_metrics("regression")


def test_everything_is_reported_at_once(refuse: Any) -> None:
    problems = refuse(
        """nmae: x
task: binray
data: {path: [], missing: dorp}
columns: {lable: y}
models: {a: p, b: {scor: q}}
metrics: [roc_acu, f1]
slices: {all: r, x: {where: a >}}
uncertainty: {level: 3}
gates: [{metric: f1, model: z, at_least: 0.5}, {metric: nope, at_least: 1}]
curves: [rok]
memory: lots
output: {dir: x}
min_rows: -1
""",
        head="",
    )
    expected = {
        1: "nmae", 2: "binray", 3: "dorp", 4: "lable", 5: "scor", 6: "roc_acu", 7: "a >", 8: "level", 9: "nope",
        10: "rok", 11: "lots", 12: "dir", 13: "-1",
    }  # fmt: skip
    for line, word in expected.items():
        assert found(problems, line, word), (line, [one_line(problem) for problem in problems])
    assert found(problems, 7, "reserved")
    assert found(problems, 4, "'label' is missing")
    assert found(problems, 9, "model 'z'")


def test_a_unit_of_several_columns_is_one_that_joins_them(refuse: Any) -> None:
    head = "data: {path: x}\nmodels: {a: a}\n"
    (problem,) = refuse("columns: {label: y, unit: [day, store]}\n", head=head)
    assert "unit must be a text" in one_line(problem)
    assert "derive: {both: " in one_line(problem)


def test_a_suite_needs_data_columns_and_models(refuse: Any) -> None:
    text = " ".join(one_line(problem) for problem in refuse("name: x\n", head=""))
    assert "'path' is missing" in text
    assert "'columns' is missing" in text
    assert "'models' is missing" in text


@pytest.mark.parametrize("task", ["binray", "nonsense", "[]"])
def test_metric_names_are_checked_also_when_the_task_is_wrong(refuse: Any, task: str) -> None:
    problems = refuse(f"task: {task}\nmetrics: [f1, roc_acu, mae]\n")
    assert found(problems, 5, "unknown metric 'roc_acu'", "did you mean 'roc_auc'?")
    assert not found(problems, 5, "'f1'")


HARD = "data: {path: x}\ncolumns: {label: y}\nmodels: {rule: {prediction: d}}\n"


def test_hard_predictions_have_no_scores(load: Any, refuse: Any) -> None:
    assert load("metrics: [f1, mcc]\n", head=HARD).suite.models["rule"].prediction == "d"
    problems = refuse("metrics: [f1, roc_auc, precision(threshold=0.3)]\ncurves: [roc]\n", head=HARD)
    assert [problem.where.line for problem in problems] == [4, 4, 5]
    assert found(problems, 4, "'rule'", "roc_auc")
    assert found(problems, 4, "'rule'", "precision(threshold=0.3)")
    assert not load("task: regression\nmetrics: [mae]\n", head=HARD).suite.curves


def test_a_long_table_with_several_weights_says_what_to_write(refuse: Any) -> None:
    head = "data: {path: x, long: {by: [i], level: q, value: v}}\nmodels: {m: {quantiles: v}}\n"
    problems = refuse("task: quantile\ncolumns: {label: y, weight: [w, null]}\nmetrics: [wis]\n", head=head)
    assert found(problems, 1, "a long table reads one label and one weight", "name one label, and one weight")


def test_torn_texts_are_recognised(refuse: Any) -> None:
    problems = refuse(
        "metrics: [f1, fbeta(beta=2, threshold=0.3), recall, expected_cost(cost_fp=1, cost_fn=5)]\n"
    )
    assert len(problems) == 2
    assert found(problems, 4, "fbeta(beta=2, threshold=0.3)", "quotes inside [ ] and { }")
    assert found(problems, 4, '"expected_cost(cost_fp=1, cost_fn=5)"')


def values(field: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    kinds = {
        "float": st.floats(-1e6, 1e6) | st.floats(0, 1) | st.integers(-5, 100).map(float),
        "int": st.integers(-5, 10_000),
        "bool": st.booleans(),
    }
    options = [kinds[kind] for kind in kinds if kind in str(field.type).split(" | ")]
    defaults = [] if field.default is dataclasses.MISSING else [st.just(field.default)]
    return st.one_of(*options, *defaults)


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    kind = draw(st.sampled_from(registry.classes()))
    given = {field.name: draw(values(field)) for field in dataclasses.fields(kind)}
    try:
        return kind(**given)
    except ParameterError:
        assumed = {field.name: field.default for field in dataclasses.fields(kind)}
        if dataclasses.MISSING in assumed.values():
            types = {field.name: field.type for field in dataclasses.fields(kind)}
            assumed = {
                name: (1 if types[name] == "int" else 0.5) if value is dataclasses.MISSING else value
                for name, value in assumed.items()
            }
        return kind(**assumed)


@given(metrics())
def test_the_text_of_every_metric_reads_back(metric: Metric) -> None:
    again = metric_from_text(metric.task, metric.text)
    assert again == metric
    assert again.text == metric.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("roc_acu", "roc_auc"),
        ("precision(0.3)", "write precision(threshold=0.3)"),
        ("fbeta", "beta"),
        ("f1(", "not closed"),
    ],
)
def test_a_metric_from_a_text_that_is_none(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        metric_from_text("binary", text)
    assert words in str(caught.value)


FULL = """
positive: bad
metrics: [f1, 'fbeta(beta=2, threshold=0.3)']
slices:
  {r: region, x: [r, s], age: {column: age, bins: [1, 2.5]}, d: {column: d, bins: [2024-01-31]}, v: {where: a > 1}}
uncertainty: {replicates: 50}
compare: a
gates: [{metric: f1, model: b, against: a, no_worse_than: 0.1, slices: [r], name: loss}]
curves: [{curve: pr, slices: [r]}]
memory: 1GB
"""


def test_a_suite_is_json_with_metrics_as_texts(load: Any) -> None:
    content = load(FULL).suite.model_dump(mode="json")
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["metrics"] == ["f1", "fbeta(beta=2, threshold=0.3)"]
    assert content["gates"][0]["metric"] == "f1"
    assert content["slices"]["d"]["bins"] == ["2024-01-31"]


def test_the_canonical_form_ignores_what_changes_no_number(load: Any) -> None:
    first = canonical(load(FULL).suite)
    cosmetic = FULL.replace("f1, 'fbeta(beta=2, threshold=0.3)'", "'fbeta(threshold=.3, beta=2.0)', f1, f1")
    cosmetic = (
        cosmetic.replace(", name: loss", "")
        .replace("1GB", "2GB")
        .replace("compare: a", "compare: {baseline: a}")
    )
    again = canonical(
        load(cosmetic + "# a comment\nname: other\noutput: {directory: x}\nmin_rows: 0\n").suite
    )
    assert json.dumps(first, sort_keys=True) == json.dumps(again, sort_keys=True)
    for change in ("min_rows: 5\n", "max_slices: 5\n", "exact: true\n"):
        assert canonical(load(FULL + change).suite) != first
    assert canonical(load(FULL.replace("0.3)", "0.31)")).suite) != first


@pytest.mark.parametrize(
    "bins", ["[2024-01-01, 2024-02-01T00:00:00]", "['2024-01-01T00:00:00', '2024-01-02T00:00:00+00:00']"]
)
def test_edges_that_cannot_be_compared_are_refused(refuse: Any, bins: str) -> None:
    problems = refuse(f"slices: {{x: {{column: d, bins: {bins}}}}}\n")
    assert found(problems, 4, "bins"), [one_line(problem) for problem in problems]


KNOWN_GAPS = {
    "a list of slices may hold anything": "slices: [1]\n",
    "an edge is too large for a float": f"slices: {{x: {{column: a, bins: [1, {10**350}]}}}}\n",
    "a row expression is too large a number": f"metrics: [{{name: q, quantile: {10**30}, q: 0.5}}]\n",
    "calibrated models are a number": "calibrate: {method: platt, fit_on: x > 1, models: 1}\n",
    "there is no such time zone": "interval: {partition: day, timezone: Europe/Pariss}\n",
}


@pytest.mark.parametrize("text", KNOWN_GAPS.values(), ids=KNOWN_GAPS.keys())
def test_gaps_that_escape(refuse: Any, text: str) -> None:
    assert refuse(text)


def test_the_defaults_of_hard_predictions_need_no_scores(load: Any) -> None:
    assert not any(metric.needs_score for metric in load("", head=HARD).suite.metrics)


@pytest.mark.parametrize(
    "text",
    [
        "metrics: ['fbeta(beta=2, threshold=0.3)']\ngates: [{metric: fbeta(beta=2, threshold=0.3), at_least: 0}]\n",
        "slices: {}\ncompare: null\nmetrics: [{f1: }]\ngates: [{at_least: 0, metric: fbeta(beta=2, threshold=0.3)}]\n",
    ],
)
def test_torn_texts_in_mappings_are_recognised(refuse: Any, text: str) -> None:
    problems = refuse(text)
    assert any("quotes inside [ ] and { }" in one_line(problem) for problem in problems)


@pytest.mark.parametrize("text", ["slices: [r, r]\n", "slices: [{column: a}]\n"])
def test_lists_of_names_hold_each_name_once(refuse: Any, text: str) -> None:
    assert refuse(text)


def test_a_broken_section_does_not_hide_its_sql(refuse: Any) -> None:
    problems = refuse(
        "data: {path: x, missing: dorp, where: 'a >'}\ncolumns: {label: y}\nmodels: p\n", head=""
    )
    assert any("something is missing" in problem.message for problem in problems)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("positive: [1]\n", "str must be"),
        ("min_rows: x\n", "a integer"),
        ("compare: {baseline: }\n", "None"),
        ("metrics: [precision(threshold=most(f1))]\n", "Call("),
        ("models2: x\nslices: {x: {columns: ['']}}\n", "String should have"),
    ],
)
def test_messages_are_plain_words(refuse: Any, text: str, wrong: str) -> None:
    assert wrong not in " ".join(one_line(problem) for problem in refuse(text))


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "a", "mean": "score < 0.2", "where": "label = 1", "direction": "lower"},
        {"name": "a", "ratio": {"numerator": "score", "denominator": "label"}},
        {"name": "a", "quantile": "score", "q": 0.9},
        {"name": "a", "formula": "50*fp + fn"},
        {"name": "a", "over": {"slice_set": "region", "metric": "f1", "agg": "worst"}},
    ],
)
def test_definitions_of_metrics_stay_in_plain_values(load, entry) -> None:
    suite = load(METRICS.replace("[f1, roc_auc]", json.dumps([entry, "f1"]))).suite
    (written, _) = suite.model_dump(mode="json")["metrics"]
    assert {key: written[key] for key in entry} == entry
    assert entry.items() <= next(item for item in canonical(suite)["metrics"] if item != "f1").items()
