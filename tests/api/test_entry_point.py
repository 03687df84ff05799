"""What is no error but probably not meant is issued as Python's warnings, and stands in the result."""

import copy
import json
import pickle
import warnings

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

RARE = pl.DataFrame({"y": [1] + [0] * 199, "p": [index / 200 for index in range(200)]})


@pytest.fixture
def suite(tmp_path):
    RARE.write_parquet(tmp_path / "t.parquet")
    file = tmp_path / "s.yaml"
    file.write_text("data: {path: t.parquet}\ncolumns: {label: y}\nmodels: {m: p}\nmetrics: [accuracy]\n")
    return file


def issued(entry, *args, **options):
    with pytest.warns(plm.PlmetricsWarning) as caught:
        found = entry(*args, **options)
    assert [str(one.message) for one in caught] == list(found.warnings)
    assert {one.filename for one in caught} == {__file__}
    return found


def test_entry_points_issue_what_the_result_lists(suite):
    result = issued(plm.evaluate, RARE, label="y", models="p", metrics=["accuracy"])
    assert list(result.warnings) == result.record["warnings"]
    assert "accuracy" in result.warnings[0]
    assert issued(plm.run, suite).warnings == result.warnings
    issued(plm.validate, suite)
    issued(plm.merge, plm.state(suite))


def test_the_command_line_prints_them_and_issues_none(suite, capsys):
    from typer.main import get_command

    from plmetrics.cli.app import app

    warnings.simplefilter("error")
    with pytest.raises(SystemExit) as stopped:
        get_command(app)(["run", str(suite)], prog_name="plmetrics")
    assert stopped.value.code == 0
    assert capsys.readouterr().err.count("warning: ") == 1


def test_the_readout_of_an_experiment_issues_its_own(root):
    rows = "".join(f"{index % 2},{'A' if index % 3 else 'B'}\n" for index in range(900)).rstrip()
    (root / "t.csv").write_text(f"bought,arm\n{rows}")
    with pytest.warns(plm.PlmetricsWarning) as caught:
        plm.readout("t.csv", outcome="bought", arm="arm", control="A")
    cut, ratio = (str(one.message) for one in caught)
    assert cut.startswith("t.csv: the last line does not end in a line break")
    assert ratio.startswith("sample ratio mismatch: do not trust the rest: A 600 of 450, B 300 of 450")
    assert {one.filename for one in caught} == {__file__}


def test_a_positive_label_that_nothing_has_is_no_silent_number():
    frame = pl.DataFrame({"sex": ["Male", "Female"] * 10, "p": [0.9, 0.2] * 10})
    with pytest.raises(plm.DataError, match=r"(?s)no value of column 'sex' is 'male'.*did you mean 'Male'"):
        plm.evaluate(frame, label="sex", positive="male", models="p", metrics=["ece"])


def test_warnings_speak_of_what_their_reader_wrote(tmp_path):
    """A suite has `columns.unit`, a call has `unit`."""
    rows = pl.concat(
        [RARE.with_columns(f=pl.int_range(pl.len()) % 2, size=pl.lit(size)) for size in (10, 20)]
    )
    rows.write_parquet(tmp_path / "t.parquet")
    call = {
        "metrics": ["brier"],
        "cross_validation": {"train_size": "size"},
        "uncertainty": {"replicates": 5},
    }
    suite = {
        "data": {"path": "t.parquet"},
        "columns": {"label": "y", "fold": "f"},
        "models": {"m": "p"},
        **call,
    }
    (tmp_path / "s.yaml").write_text(json.dumps(suite))
    of_suite = issued(plm.run, tmp_path / "s.yaml")
    of_call = issued(plm.evaluate, rows, label="y", fold="f", models={"m": "p"}, **call)
    (of_file, *_), (in_memory, *_) = of_suite.warnings, of_call.warnings
    assert of_file.endswith("name what they are about as columns.unit")
    assert in_memory.endswith("name what they are about as unit")


def test_warnings_of_a_state_are_those_of_the_run(tmp_path):
    """Also in its file, and in what it is merged into."""
    wide = pl.DataFrame({"y": [0, 1] * 200, "p": [0.9] * 400})
    wide.write_parquet(tmp_path / "t.parquet")
    call = {"label": "y", "models": "p", "metrics": ["recall(threshold=optimal(cost_fp=1, cost_fn=5))"]}
    state = issued(plm.state, tmp_path / "t.parquet", tmp_path / "day.state", **call)
    assert state.warnings == issued(plm.evaluate, wide, **call).warnings
    assert set(state.warnings) <= set(issued(plm.merge, tmp_path / "day.state").warnings)


def test_gates_that_a_trivial_model_passes_are_told_before_a_run(suite):
    text = suite.read_text().replace("[accuracy]", "[recall]")
    suite.write_text(f"{text}gates: [{{metric: recall, at_least: 0.5}}]\n")
    (warning,) = issued(plm.validate, suite).warnings
    assert warning.startswith("a model that calls every row positive passes the gate on recall")


def test_numpy_that_is_told_to_raise_errors_changes_nothing():
    rows = {
        "y": [0, 1] * 50,
        "p": [0.25, 0.75] * 50,
        "x": [0.0, 1.0, 2.0, 3.0] * 25,
        "old": [True, True, False, False] * 25,
    }
    options = {
        "label": "y",
        "models": "p",
        "metrics": ["log_loss", "roc_auc", "ece"],
        "where": "not old",
        "drift": {"where": "old", "columns": ["x"]},
    }
    frame = pl.DataFrame(rows)
    plain = plm.evaluate(frame, **options)
    with np.errstate(all="raise"):
        strict = plm.evaluate(frame, **options)
    assert strict.metrics.equals(plain.metrics)
    assert strict.drift.equals(plain.drift)


def test_an_unknown_argument_is_told_with_the_nearest():
    for argument, hint in {"model": "models", "uncertanty": "uncertainty", "lable": "label"}.items():
        with pytest.raises(plm.ConfigError, match=rf"unknown argument '{argument}'\n.*did you mean '{hint}'"):
            plm.evaluate(RARE, **{argument: "y"})
        with pytest.raises(plm.ConfigError, match=f"did you mean '{hint}'"):
            plm.state(RARE, **{argument: "y"})


@pytest.mark.slow
def test_a_message_in_words_of_python_holds_the_first_problems_and_their_number():
    with pytest.raises(plm.ConfigError) as caught:
        plm.evaluate(RARE, label="y", models="p", metrics=[f"unknown_{place}" for place in range(80)])
    assert len(caught.value.problems) == 80
    assert str(caught.value).endswith("\n... and 30 more")


def test_results_are_equal_to_themselves_alone_and_are_keys():
    first, second = (plm.evaluate(RARE, label="y", models="p", metrics=["roc_auc"]) for _ in range(2))
    assert first != second
    assert {first: 1, second: 2}[second] == 2


TASKS = {
    "binary": {"label": "y", "models": "s"},
    "multiclass": {"label": "c", "models": {"m": {"proba": {"a": "pa", "b": "pb"}}}},
    "multilabel": {"label": {"a": "y", "b": "t"}, "models": {"m": {"proba": {"a": "pa", "b": "pb"}}}},
    "regression": {"label": "s", "models": "pa"},
    "quantile": {"label": "s", "models": {"m": {"quantiles": {0.1: "pa", 0.9: "pb"}}}},
    "ranking": {"label": "y", "models": "s", "query": "q"},
    "uplift": {"label": "y", "models": "s", "treatment": "t"},
    "experiment": {"experiment": {"arm": "c", "control": "a", "outcomes": ["y", "s"]}},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore::plmetrics.PlmetricsWarning")
def test_results_of_all_tasks_can_be_pickled_and_copied(task):
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 2, 80) for name in ("y", "t")} | {
        "s": rng.random(80),
        "pa": rng.random(80),
    }
    frame = pl.DataFrame(columns | {"c": rng.choice(["a", "b"], 80), "q": np.arange(80) // 5})
    frame = frame.with_columns(pb=1 - pl.col("pa"))
    result = plm.evaluate(frame, task=task, uncertainty={"replicates": 20}, **TASKS[task])
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert other.suite == result.suite
        assert other.metrics.equals(result.metrics)
        assert repr(other) == repr(result)
