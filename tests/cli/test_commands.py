import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import plmetrics
from plmetrics.catalogue import registry
from plmetrics.catalogue.advice.goals import GOALS
from plmetrics.cli.app import _of_call, app

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"
COMMANDS = (
    *("run", "validate", "explain", "metrics", "diff", "report", "schema", "init", "suggest"),
    *("split", "readout", "power", "units", "state", "merge", "backfill", "history", "accept", "gc"),
)
HEAVY = {"numpy", "pandas", "polars", "pyarrow", "pydantic", "rich", "scipy", "sqlglot", "yaml"}


def test_help_lists_commands_and_exit_codes(invoke: Any) -> None:
    outcome = invoke("--help")
    assert outcome.code == 0
    commands = outcome.out[outcome.out.index("Commands") : outcome.out.index("Exit codes")]
    names = list(COMMANDS)
    assert [line.split()[0] for line in commands.splitlines()[1:] if line.strip()] == names
    for words in ("Exit codes", "3   a gate failed", "130 interrupted"):
        assert words in outcome.out
    assert "..." not in outcome.out[outcome.out.index("Commands") : outcome.out.index("Exit codes")].replace(
        "[ARGS]...", ""
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_command(invoke: Any, command: str, option: str) -> None:
    outcome = invoke(command, option)
    assert outcome.code == 0
    assert "--debug" in outcome.out


def test_version(invoke: Any) -> None:
    assert invoke("--version").out == f"plmetrics {plmetrics.__version__}\n"


def test_the_command_line_starts_without_heavy_imports() -> None:
    code = f"import sys, plmetrics.cli.app; print(*({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.slow
def test_validate_loads_nothing_that_it_does_not_need() -> None:
    code = (
        f"import sys; sys.argv[1:] = ['validate', {str(QUICKSTART)!r}]\n"
        "from plmetrics.cli.app import main\n"
        "try: main()\nfinally: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, modules = done.stdout.splitlines()
    assert first.startswith("valid: quickstart")
    assert not {"rich", "http.client", "numpy.ma", "scipy", "sqlglot", "pyarrow"} & set(modules.split())


@pytest.mark.parametrize(
    ("arguments", "commands"),
    [(("validate", "a.yaml"), ["validate"]), ((), COMMANDS), (("--help",), COMMANDS), (("valid",), COMMANDS)],
)
def test_the_options_of_a_call_are_those_of_its_command(
    arguments: tuple[str, ...], commands: Sequence[str]
) -> None:
    application = _of_call(arguments)
    assert [info.callback.__name__ for info in application.registered_commands if info.callback] == [
        *commands
    ]
    assert len(app.registered_commands) == len(COMMANDS)


def test_a_command_that_is_none_has_the_nearest(invoke: Any) -> None:
    outcome = invoke("valdate")
    assert outcome.code == 2
    assert "Did you mean 'validate'?" in outcome.err


def test_python_m() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "plmetrics", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("plmetrics ")


def test_run_passes_its_options_on(invoke: Any, api_run: Any, result: Any, tmp_path: Path) -> None:
    calls = api_run(result())
    invoke("run", "a.yaml", "--output", str(tmp_path), "--set", "uncertainty.seed=7", "--set", "name=a=b")
    ((path, keywords),) = calls
    assert path == Path("a.yaml")
    assert keywords["output"] == tmp_path
    assert list(keywords["set"]) == ["uncertainty.seed", "name"]
    assert keywords["set"]["name"] == "a=b"


def test_text_ends_with_the_run_folder(invoke: Any, api_run: Any, result: Any, root: Path) -> None:
    api_run(result("fail", root / "runs" / "nightly" / "x"))
    outcome = invoke("run", "a.yaml")
    assert outcome.out.startswith("FAIL  nightly: 1 fail\n")
    assert outcome.out.endswith("Run folder  runs/nightly/x\n")
    assert "\x1b" not in outcome.out
    assert outcome.err == ""


def test_quiet_is_verdict_and_gates(invoke: Any, api_run: Any, result: Any) -> None:
    api_run(result("fail"))
    out = invoke("run", "a.yaml", "--quiet").out
    assert "roc_auc >= 0.8" in out
    assert "Overall" not in out


def test_json_and_csv_carry_only_the_result(invoke: Any, api_run: Any, result: Any, tmp_path: Path) -> None:
    made = result("pass", tmp_path)
    made.record["warnings"] = ["29 units: intervals are rough"]
    api_run(made)
    outcome = invoke("run", "a.yaml", "--format", "json")
    assert json.loads(outcome.out)["folder"] == str(tmp_path)
    assert outcome.err == "warning: 29 units: intervals are rough\n"
    (row,) = csv.DictReader(io.StringIO(invoke("run", "a.yaml", "--format", "csv").out))
    assert row["value"] == "0.75"


@pytest.mark.parametrize("columns", [40, 60, 120])
def test_the_report_follows_the_terminal(
    invoke: Any, api_run: Any, result: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    api_run(result("fail", Path("/a/very/long/path/" + "x" * 90)))
    assert max(map(len, invoke("run", "a.yaml").out.split("\n"))) <= columns


def test_metrics_list_is_the_registry(invoke: Any) -> None:
    listed = json.loads(invoke("metrics", "--format", "json").out)
    assert [(entry["task"], entry["name"]) for entry in listed] == [
        (cls.task, cls.name) for cls in registry.classes()
    ]
    text = invoke("metrics", "--task", "binary").out
    assert all(name in text for name in registry.names("binary"))


@pytest.mark.parametrize("name", ["precision", "ppv", "precision(threshold=0.3)"])
def test_metrics_card(invoke: Any, name: str) -> None:
    out = invoke("metrics", name, "--task", "binary").out
    assert out.startswith("precision(threshold=0.5) (binary)\n")
    for words in ("use when", "beware", "reference", "Parameters", "ppv", "handles imbalance"):
        assert words in out


def test_metrics_unknown_name_suggests(invoke: Any) -> None:
    outcome = invoke("metrics", "roc_acu")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean 'roc_auc'?" in outcome.err


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("roc_auc_score", ["roc_auc (binary)"]),
        ("auc", ["roc_auc (binary)"]),
        ("mean_absolute_error", ["mae (regression)", "mae (quantile)"]),
        ("ndcg_cut_10", ["ndcg(k=all, gain=linear, empty=skip, ties=average) (ranking)"]),
        ("nDCG@10", ["ndcg(k=all, gain=linear, empty=skip, ties=average) (ranking)"]),
        ("mce", ["ece(bins=15, strategy=uniform, norm=l1, debias=false) (binary)"]),
    ],
)
def test_metrics_card_by_the_name_of_another_library(invoke: Any, name: str, starts: list[str]) -> None:
    lines = invoke("metrics", name).out.splitlines()
    assert [
        line for line in lines if line.endswith(tuple(f" ({task})" for task in registry.tasks()))
    ] == starts


def test_metrics_card_tells_other_names(invoke: Any) -> None:
    words = " ".join(invoke("metrics", "brier").out.split())
    assert "elsewhere brier_score_loss, brier_class, brier_score" in words


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("neg_log_loss", "did you mean 'log_loss'? lower is better here"),
        ("confusion_matrix", "its cells are tp, fp, fn and tn"),
        ("infAP", "there is none here"),
        ("roc_auc_scor", "did you mean 'roc_auc'?"),
    ],
)
def test_metrics_says_what_a_name_of_another_library_is_not(invoke: Any, name: str, hint: str) -> None:
    outcome = invoke("metrics", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert hint in outcome.err


@pytest.mark.slow
def test_metrics_are_searched_by_their_words(invoke: Any) -> None:
    listed = json.loads(invoke("metrics", "--search", "pinball", "--format", "json").out)
    names = {entry["name"] for entry in listed}
    assert {"quantile_loss", "wis"} <= names
    assert not {"roc_auc", "mae"} & names
    by_name = json.loads(invoke("metrics", "--search", "BinaryAUROC", "--format", "json").out)
    assert [(entry["task"], entry["name"]) for entry in by_name] == [("binary", "roc_auc")]
    assert "no metric has 'qqqq'" in invoke("metrics", "--search", "qqqq").err
    for words, metric in (
        ("accuracy ratio", "gini"),
        ("KS statistic", "ks"),
        ("expected calibration-error", "ece"),
        ("Hosmer Lemeshow", "hosmer_lemeshow"),
        ("c-index", "roc_auc"),
        ("default rate", "prevalence"),
        ("precision at k", "precision_at_k"),
    ):
        entries = json.loads(invoke("metrics", "--task", "binary", "--search", words, "--format", "json").out)
        assert metric in [entry["name"] for entry in entries]
    for words, hint in (
        ("net benefit", "curves: [net_benefit]"),
        ("PSI", "drift: {measures: [psi]}"),
        ("O/E ratio", "'calibration_ratio'"),
    ):
        assert hint in invoke("metrics", "--search", words).err


def test_metrics_of_a_goal(invoke: Any) -> None:
    def names(*options: str) -> list[tuple[str, str]]:
        listed = json.loads(invoke("metrics", *options, "--format", "json").out)
        return sorted((entry["task"], entry["name"]) for entry in listed)

    credit = "brier calibration_ratio gini hosmer_lemeshow_p_value ks lift_at_k recall_at_k roc_auc"
    assert names("--goal", "credit") == [("binary", name) for name in credit.split()]
    assert names("--goal", "one-good-result") == [
        ("multiclass", "accuracy"),
        ("multilabel", "label_ranking_average_precision"),
        ("ranking", "hit_at_k"),
        ("ranking", "mrr"),
    ]
    both = names("--goal", "fraud", "--goal", "search")
    assert ("ranking", "err") in both
    assert ("binary", "recall_at_fpr") in both
    assert names("--goal", "search", "--goal", "fraud", "--task", "ranking") == [
        entry for entry in both if entry[0] == "ranking"
    ]
    assert names("--goal", "credit", "--search", "gini") == [("binary", "gini")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--goal", "credti"), "unknown goal 'credti'"),
        (("--goal", "credti"), "did you mean 'credit'?"),
        (("--goal", "credit", "--task", "ranking"), "no metric of this task belongs to credit"),
    ],
)
def test_metrics_of_no_goal(invoke: Any, options: tuple[str, ...], words: str) -> None:
    outcome = invoke("metrics", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_goals_are_listed_as_suggest_lists_them(invoke: Any) -> None:
    for form in ((), ("--format", "json")):
        listed = invoke("metrics", "--goal", "list", *form).out
        assert "one_good_result" in listed
        assert listed == invoke("suggest", "--goal", "list", *form).out


def test_every_metric_of_a_goal_is_in_the_catalogue() -> None:
    known = {
        (metric.task, name)
        for metric in registry.classes()
        for name in (metric.name, *metric.aliases, *metric.presets)
    }
    assert {
        (rule.task, text.partition("(")[0]) for goal in GOALS for rule in goal.rules for text in rule.metrics
    } <= known


def test_schema(invoke: Any) -> None:
    pytest.importorskip("plmetrics.suite.schema")
    schema = json.loads(invoke("schema").out)
    assert schema["type"] == "object"
    assert {"name", "metrics", "models", "gates"} <= set(schema["properties"])


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "plmetrics", "metrics", "--format", "json"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
