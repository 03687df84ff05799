import datetime as dt
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.suite.arguments import python_words, suite_from_arguments
from plmetrics.suite.model import Suite
from plmetrics.suite.reader import metric_from_text, suite_from_mapping
from plmetrics.suite.yaml.load import load_suite

DEFAULTS: dict[str, Any] = {
    "task": "binary", "weight": None, "query": None, "document": None, "unit": None, "treatment": None,
    "positive": None, "fold": None, "where": None, "missing": "error", "metrics": None, "slices": None, "min_rows": 0,
    "max_slices": 10_000, "uncertainty": None, "compare": None, "gates": (), "curves": (), "exact": None,
    "memory": None, "seed": 0, "name": None, "leakage": None, "cross_validation": None,
    "drift": None, "find_slices": None,
}  # fmt: skip


def suite(**arguments: Any) -> Suite:
    made = suite_from_arguments(**{**DEFAULTS, "label": "y", "models": {"a": "p", "b": "q"}, **arguments})
    assert isinstance(made, Suite)
    return made


def problems(**arguments: Any) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught, python_words():
        suite(**arguments)
    return caught.value.problems


def test_the_arguments_of_evaluate_are_a_suite() -> None:
    made = suite(
        weight="w", unit="u", fold="f", positive="yes",
        where="p > 0", missing="drop",
        metrics=["f1", metric_from_text("binary", "fbeta(beta=2)"), {"recall": {"threshold": 0.3}}],
        slices={"r": ("r", "s"), "d": {"column": "d", "bins": (dt.date(2024, 1, 1), dt.date(2024, 2, 1))}},
        compare="a", gates=({"metric": "f1", "at_least": 0.5},), curves=("roc", {"curve": "pr", "slices": ("r",)}),
        min_rows=5, max_slices=7, exact=False, memory="1GB", name="mine",
    )  # fmt: skip
    others = dict.fromkeys(("query", "document", "treatment"))
    assert made.columns.model_dump() == {"label": "y", "weight": "w", "unit": "u", "fold": "f", **others}
    assert (made.data.path, made.data.where, made.data.missing) == (None, "p > 0", "drop")
    assert [metric.text for metric in made.metrics] == ["f1", "fbeta(beta=2)", "recall(threshold=0.3)"]
    assert made.slices["r"].columns == ("r", "s")
    assert made.slices["d"].bins == (dt.date(2024, 1, 1), dt.date(2024, 2, 1))
    assert made.compare is not None
    assert made.compare.baseline == "a"
    assert made.curves[1].slices == ("r",)
    assert (made.min_rows, made.max_slices, made.exact, made.memory) == (5, 7, False, 10**9)
    assert made.name == "mine"


def test_defaults_are_those_of_the_suite() -> None:
    made = suite()
    for name in (
        "min_rows",
        "max_slices",
        "uncertainty",
        "compare",
        "gates",
        "curves",
        "exact",
        "memory",
        "slices",
    ):
        assert getattr(made, name) == Suite.model_fields[name].get_default(call_default_factory=True), name


@pytest.mark.parametrize(
    ("uncertainty", "seed"), [(True, 3), ({}, 3), ({"replicates": 10}, 3), ({"seed": 9}, 9), ({"seed": 0}, 0)]
)
def test_the_seed_goes_into_uncertainty_unless_that_names_one(uncertainty: Any, seed: int) -> None:
    made = suite(uncertainty=uncertainty, seed=3)
    assert made.uncertainty is not None
    assert made.uncertainty.seed == seed


@pytest.mark.parametrize("nothing", [None, False])
def test_no_uncertainty_whatever_the_seed(nothing: Any) -> None:
    assert suite(uncertainty=nothing, seed=3).uncertainty is None


@pytest.mark.parametrize(("models", "names"), [("p", ["p"]), (["q", "p"], ["q", "p"]), (("p",), ["p"])])
def test_a_column_is_a_model_of_its_name(models: Any, names: list[str]) -> None:
    assert list(suite(models=models).models) == names


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        ({"label": ""}, ("label",), "label must be"),
        ({"label": 3}, ("label",), "not 3"),
        ({"weight": 3}, ("weight",), "not 3"),
        ({"where": "p >"}, ("where",), "something is missing"),
        ({"where": pl.col("p") > 0}, ("where",), "where must be a text"),
        ({"missing": "dorp"}, ("missing",), "drop_per_model"),
        ({"task": "binray"}, ("task",), "did you mean 'binary'?"),
        ({"metrics": ["roc_acu"]}, ("metrics", 0), "did you mean 'roc_auc'?"),
        ({"metrics": [metric_from_text("regression", "mae")]}, ("metrics", 0), "task 'regression'"),
        ({"models": {}}, ("models",), "models must be"),
        ({"models": {"a": {"scor": "p"}}}, ("models", "a", "scor"), "did you mean 'score'?"),
        ({"models": {3: "p"}}, ("models", 3), "a model's name"),
        ({"slices": {"all": "r"}}, ("slices", "all"), "reserved"),
        ({"slices": {"x": {"where": "1 + 1"}}}, ("slices", "x", "where"), "not a condition"),
        ({"uncertainty": {"level": 3}}, ("uncertainty", "level"), "less than 1"),
        ({"uncertainty": {"levle": 3}}, ("uncertainty", "levle"), "did you mean 'level'?"),
        ({"compare": "z"}, ("compare", "baseline"), "known: a, b"),
        ({"gates": [{"metric": "f1", "at_leest": 1}]}, ("gates", 0, "at_leest"), "did you mean 'at_least'?"),
        ({"gates": [{"metric": "brier", "at_least": 1}]}, ("gates", 0, "metric"), "not in metrics"),
        ({"curves": ["rok"]}, ("curves", 0), "roc"),
        ({"min_rows": -1}, ("min_rows",), "-1"),
        ({"max_slices": 0}, ("max_slices",), "not 0"),
        ({"memory": "lots"}, ("memory",), "4GB"),
        ({"exact": "no"}, ("exact",), "'no'"),
        ({"name": "a/b"}, ("name",), "folder"),
    ],
)
def test_problems_name_the_argument(arguments: dict[str, Any], path: tuple[Any, ...], words: str) -> None:
    found = problems(**arguments)
    assert any(problem.path[: len(path)] == path and words in str(problem) for problem in found), found
    assert all(problem.where is None for problem in found)


@pytest.mark.parametrize(
    ("arguments", "plain"),
    [
        ({"classes": np.array(["a", "b"])}, {"classes": ["a", "b"]}),
        ({"classes": pd.Index(["a", "b"])}, {"classes": ["a", "b"]}),
        ({"classes": pl.Series([2, 1])}, {"classes": [2, 1]}),
        ({"classes": (np.str_("b"), np.str_("a"))}, {"classes": ["b", "a"]}),
        (
            {"slices": {"x": {"column": "x", "bins": np.linspace(0, 1, 3)}}},
            {"slices": {"x": {"column": "x", "bins": [0, 0.5, 1]}}},
        ),
        ({"slices": pd.Index(["x", "y"])}, {"slices": ["x", "y"]}),
        ({"min_rows": np.int64(3)}, {"min_rows": 3}),
        (
            {"gates": [{"metric": "accuracy", "at_least": np.float32(0.5)}]},
            {"gates": [{"metric": "accuracy", "at_least": 0.5}]},
        ),
        ({"uncertainty": {"replicates": np.int64(20)}}, {"uncertainty": {"replicates": 20}}),
        ({"uncertainty": {"level": np.float32(0.9)}}, {"uncertainty": {"level": 0.9}}),
        ({"uncertainty": {}, "seed": np.int32(3)}, {"uncertainty": {"seed": 3}}),
    ],
)
def test_values_of_arrays_are_plain_ones(arguments: dict[str, Any], plain: dict[str, Any]) -> None:
    common: dict[str, Any] = {
        "label": "y",
        "models": {"m": "p"},
        "metrics": ["accuracy"],
        "task": "multiclass",
    }
    assert suite_from_arguments(**{**common, **arguments}) == suite_from_arguments(**{**common, **plain})


@pytest.mark.parametrize("positive", [np.bool_(True), np.int64(1), np.str_("yes")])
def test_a_positive_of_numpy_is_of_its_kind(positive: Any) -> None:
    read = suite_from_arguments(label="y", models="p", metrics=["accuracy"], positive=positive).positive
    assert (type(read), read) == (type(positive.item()), positive.item())


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("metric", "did you mean 'metrics'?"),
        ("y_true", "did you mean 'label'?"),
        ("y_pred", "did you mean 'models'?"),
        ("score", "did you mean 'models'?"),
        ("cluster", "did you mean 'unit'?"),
        ("bootstrap", 'write uncertainty={"replicates": ...}'),
    ],
)
def test_an_unknown_argument_is_refused(argument: str, hint: str) -> None:
    (problem,) = problems(**{argument: ["p"]})
    assert str(problem) == f"unknown argument '{argument}'\n    {hint}"


def test_all_arguments_are_checked_at_once() -> None:
    found = problems(
        label=3, missing="dorp", metrics=["roc_acu"], slices={"all": "r"}, min_rows=-1, memory="x"
    )
    assert {problem.path[0] for problem in found} == {
        "label",
        "missing",
        "metrics",
        "slices",
        "min_rows",
        "memory",
    }


def test_a_file_and_arguments_make_the_same_suite(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(
        "name: x\ndata: {path: d.parquet, where: p > 0}\ncolumns: {label: y, unit: u}\nmodels: {a: p, b: q}\n"
        "metrics: [f1, 'fbeta(beta=2, threshold=0.3)']\nslices: {r: [r, s], age: {column: age, bins: [1, 2]}}\n"
        "uncertainty: {replicates: 50, seed: 4}\ncompare: a\ngates: [{metric: f1, at_least: 0.5}]\ncurves: [roc]\n"
    )
    made = suite(
        name="x", path="d.parquet", where="p > 0", unit="u", metrics=["f1", "fbeta(beta=2, threshold=0.3)"],
        slices={"r": ["r", "s"], "age": {"column": "age", "bins": [1, 2]}}, uncertainty={"replicates": 50}, seed=4,
        compare={"baseline": "a"}, gates=[{"metric": "f1", "at_least": 0.5}], curves=["roc"],
    )  # fmt: skip
    assert made == load_suite(file).suite


_names = [name for name in DEFAULTS if name not in {"seed", "name"}] + ["label", "models"]
_words = st.sampled_from(
    ["a", "b", "y", "r", "f1", "roc", "all", "metric", "column", "where", "bins", "at_least", ""]
)
_anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10**20) | st.floats() | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=8,
).filter(lambda value: "slices" not in str(value))


@given(st.dictionaries(st.sampled_from([name for name in _names if name != "slices"]), _anything, max_size=3))
def test_any_arguments_are_a_suite_or_a_config_error(arguments: dict[str, Any]) -> None:
    try:
        made = suite(**arguments)
    except ConfigError as error:
        assert error.problems  # noqa: PT017
    else:
        assert made.models


def test_metrics_within_metrics_are_of_the_same_task() -> None:
    error, disparity = (
        metric_from_text("regression", "mae"),
        metric_from_text("binary", "disparity(recall, by=r)"),
    )
    within = type(disparity)(metric=error, slice_set="r")  # type: ignore[call-arg]
    for metric in (error, within, {"disparity": {"metric": error, "by": "r"}}):
        (problem,) = problems(metrics=[metric], slices={"r": "r"})
        assert problem.message == "'mae' is a metric of task 'regression', not of 'binary'"


def test_arrays_in_place_of_columns_are_told_where_they_belong() -> None:
    for models in ({"A": np.zeros(2)}, [np.zeros(2), np.ones(2)]):
        assert all("a dict of arrays" in (problem.hint or "") for problem in problems(models=models))


def test_every_model_that_stands_twice_is_told() -> None:
    found = problems(models=["p", "q", "p", "q", "p"])
    assert [problem.path for problem in found] == [("models", 2), ("models", 3), ("models", 4)]


def test_a_list_of_mappings_of_models_is_told_its_form_once() -> None:
    first, second = problems(models=[{"a": "p"}, {"b": "q"}], compare="a", uncertainty=True)
    assert (first.path, second.path) == (("models", 0), ("models", 1))
    assert first.hint == 'write models={"name": "score column"}, without a list'


def test_a_key_that_is_no_text_is_an_unknown_one() -> None:
    models = {"m": {0: "p0", 1: "p1"}}
    with pytest.raises(ConfigError, match=r"models\.m\.0: unknown key '0'"):
        suite_from_arguments(
            "table.parquet", task="multiclass", label="y", models=models, metrics=["accuracy"]
        )


@pytest.mark.parametrize("kind", [pl.Series, pd.Series, pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("argument", ["label", "weight", "where", "models", "slices", "metrics", "curves"])
def test_a_table_or_column_in_place_of_names_is_one_problem_in_one_line(argument: str, kind: Any) -> None:
    value = kind({"x": range(200)}) if "Frame" in kind.__name__ else kind(range(200))
    (problem,) = problems(**{"label": "y", "models": "p", argument: value})
    assert problem.path == (argument,)
    assert problem.message.endswith(f", not a {kind.__name__}")


@pytest.mark.parametrize("seed", ["7", 1.5, True])
def test_a_seed_is_checked_also_without_intervals(seed: Any) -> None:
    for options in ({}, {"uncertainty": True}):
        (problem,) = problems(seed=seed, **options)
        assert problem.message.startswith("seed must be a whole number")


@pytest.mark.parametrize("role", ["query", "document", "treatment"])
def test_columns_that_no_metric_of_the_task_reads_are_refused(role: str) -> None:
    with pytest.raises(ConfigError, match=f"{role} belongs to task"):
        suite(**{role: "c"})


SOURCES = [{"trec": {"qrels": "q", "run": "r"}}, {"database": "d", "query": "q"}, {"spark": "s"}]


@pytest.mark.parametrize("source", SOURCES)
def test_a_version_is_of_files(source: dict[str, Any]) -> None:
    raw = {"columns": {"label": "y"}, "models": "p", "data": {"version": 3, **source}}
    with pytest.raises(ConfigError, match="version does not go with"):
        suite_from_mapping(raw)


@pytest.mark.parametrize(("text", "refused"), [("precision", True), ("precision(undefined=zero)", False)])
def test_an_object_does_not_say_what_it_leaves_to_the_suite(text: str, refused: bool) -> None:
    metrics = [metric_from_text("multiclass", text)]
    with pytest.raises(ConfigError, match="is an object") if refused else nullcontext():
        suite(task="multiclass", models={"m": {"prediction": "p"}}, undefined="zero", metrics=metrics)


def test_an_address_is_that_of_a_cluster() -> None:
    with pytest.raises(ConfigError, match="address is that of a cluster"):
        suite(engine={"on": "inline", "address": "auto"})
    suite(engine={"on": "ray", "address": "auto"})
