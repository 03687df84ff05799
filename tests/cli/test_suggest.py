"""`plmetrics suggest` prints suites that run, `validate` and `run` warn by the same rules."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.features.advice.prediction_columns import levels_of_columns

DATA = Path(__file__).parents[2] / "configs" / "data"
FOLDERS = (DATA, Path(__file__).parents[1] / "data")
ROWS = 1200
RANDOM = np.random.default_rng(4)
NOISE = RANDOM.random(ROWS)
RARE = (np.arange(ROWS) % 33 == 0).astype(int)


TABLES: dict[str, tuple[str, pl.DataFrame]] = {
    "imbalanced": ("binary", pl.DataFrame({"y": RARE, "p": NOISE})),
    "margins": ("binary", pl.DataFrame({"y": RARE, "score": NOISE * 9 - 4})),
    "numbers": ("regression", pl.DataFrame({"y": NOISE * 10, "pred": NOISE * 10 + 1})),
    "classes": (
        "multiclass",
        pl.DataFrame({"y": np.arange(ROWS) % 3, **{f"p_{i}": [(i + 1) / 6] * ROWS for i in range(3)}}),
    ),
    "quantiles": (
        "quantile",
        pl.DataFrame({"y": NOISE, "f_0.1": NOISE - 1, "f_0.5": NOISE, "f_0.9": NOISE + 1}),
    ),
    "queries": (
        "ranking",
        pl.DataFrame({"query_id": np.arange(ROWS) // 10, "relevance": np.arange(ROWS) % 4, "score": NOISE}),
    ),
    "treated": ("uplift", pl.DataFrame({"y": RARE, "treatment": np.arange(ROWS) % 2, "score": NOISE})),
}


def suggested(invoke: Any, tmp_path: Path, data: Path, *options: str) -> dict[str, Any]:
    """The suite that is printed for a table, after it has run."""
    outcome = invoke("suggest", str(data), *options)
    assert (outcome.code, outcome.err) == (0, "")
    file = tmp_path / "suggested.yaml"
    file.write_text(outcome.out)
    ran = invoke("run", str(file), "--set", "uncertainty.replicates=10", "--format", "json")
    assert ran.code == 0
    result = json.loads(ran.out)
    assert {row["metric"] for row in result["metrics"]} == set(yaml.safe_load(outcome.out)["metrics"])
    content: dict[str, Any] = yaml.safe_load(outcome.out)
    return content


def test_columns_whose_names_are_patterns_of_names(invoke: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": RARE, "p": NOISE, "^.*$": NOISE, "*": ["a", "b"] * (ROWS // 2)})
    frame.write_parquet(data := tmp_path / "t.parquet")
    for command in ("suggest", "init"):
        outcome = invoke(command, str(data))
        assert outcome.code == 0
        file = tmp_path / f"{command}.yaml"
        file.write_text(outcome.out + "\nleakage: {attributes: true}\n")
        where = f"data.path={data}"
        assert invoke("run", str(file), "--set", where, "--set", "uncertainty.replicates=10").code == 0
        named = invoke(command, str(data), "--label", "^.*$")
        assert named.code == 2
        assert "takes such a name for a pattern of names" in named.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "options", "task", "included", "excluded"),
    [
        ("adult_test_with_predictions.parquet", (), "binary", {"roc_auc", "log_loss", "ece"}, set()),
        ("abalone_with_predictions.csv", (), "regression", {"mae", "r2"}, {"smape"}),
        ("nfl_games.parquet", (), "binary", {"log_loss", "brier"}, {"wmape"}),
        ("nfl_games.parquet", ("--task", "regression"), "regression", {"rmse", "mse"}, {"mape", "smape"}),
        ("two_class_example.csv", (), "binary", {"roc_auc", "log_loss"}, set()),
        ("solubility_test.csv", (), "regression", {"mae", "r2"}, {"mape"}),
        ("nested_folds.parquet", (), "binary", {"log_loss", "brier_skill"}, set()),
        ("sim_pte.csv", (), "uplift", {"ate", "qini"}, set()),
        ("synthetic_ranking.csv", ("--goal", "search"), "ranking", {"ndcg(k=5)", "mrr"}, {"mape"}),
        ("synthetic_topics.csv", (), "multilabel", {"f1(average=samples)", "log_loss"}, set()),
        ("covid_forecasts.parquet", (), "quantile", {"wis", "crossing_rate"}, set()),
        ("hpc_cv.parquet", (), "multiclass", {"mcc", "recall(average=none)", "log_loss"}, set()),
    ],
)
def test_suites_of_real_tables_run(
    invoke: Any,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    options: tuple[str, ...],
    task: str,
    included: set[str],
    excluded: set[str],
) -> None:
    (root / file).symlink_to(next(folder / file for folder in FOLDERS if (folder / file).exists()))
    content = suggested(invoke, root, Path(file), *options)
    assert content["task"] == task
    assert included <= set(content["metrics"])
    assert not excluded & set(content["metrics"])


@pytest.mark.parametrize("absolute", [True, False])
def test_a_path_is_written_so_that_it_is_found(invoke: Any, root: Path, absolute: bool) -> None:
    """An absolute one wherever the suite is put."""
    TABLES["imbalanced"][1].write_parquet(root / "scores.parquet")
    named = str(root / "scores.parquet") if absolute else "scores.parquet"
    text = invoke("suggest", named).out
    assert yaml.safe_load(text)["data"]["path"] == named
    assert ("relative to this file" in text) != absolute


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TABLES)
def test_every_task_is_recognised_and_its_suite_runs(invoke: Any, root: Path, name: str) -> None:
    task, frame = TABLES[name]
    frame.write_parquet(root / "scores.parquet")
    assert suggested(invoke, root, Path("scores.parquet"))["task"] == task


def test_each_metric_has_its_reason_and_what_misleads_is_said(invoke: Any, tmp_path: Path) -> None:
    TABLES["imbalanced"][1].write_parquet(tmp_path / "scores.parquet")
    text = invoke("suggest", str(tmp_path / "scores.parquet"), "--label", "y", "--score", "p").out
    entries = [line for line in text.split("\n") if line.startswith("  - ")]
    assert len(entries) > 5
    assert all("  # " in entry for entry in entries)
    assert "  - accuracy" not in text
    assert "# accuracy, error_rate and max_accuracy: calling every row the larger class scores 96.9 %" in text


@pytest.mark.slow
def test_costs(invoke: Any, root: Path) -> None:
    TABLES["imbalanced"][1].write_parquet("scores.parquet")
    content = suggested(invoke, root, Path("scores.parquet"), "--cost-fp", "1", "--cost-fn", "2500.75")
    asked = "expected_cost(cost_fp=1, cost_fn=2500.75, threshold=optimal(cost_fp=1, cost_fn=2500.75))"
    assert asked in content["metrics"]
    TABLES["margins"][1].write_parquet("scores.parquet")
    content = suggested(invoke, root, Path("scores.parquet"), "--cost-fp", "1", "--cost-fn", "5")
    asked = "expected_cost(cost_fp=1, cost_fn=5, threshold=min(expected_cost(cost_fp=1, cost_fn=5)))"
    assert asked in content["metrics"]


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ("imbalanced", ("--cost-fp", "1"), "both --cost-fp and --cost-fn"),
        ("imbalanced", ("--cost-fp", "1", "--cost-fn", "0"), "above 0"),
        ("numbers", ("--cost-fp", "1", "--cost-fn", "2"), "task 'regression'"),
        ("imbalanced", ("--label", "x"), "column 'x' is not in the data"),
    ],
)
def test_what_is_wrong_is_said(
    invoke: Any, tmp_path: Path, table: str, options: tuple[str, ...], words: str
) -> None:
    TABLES[table][1].write_parquet(tmp_path / "scores.parquet")
    outcome = invoke("suggest", str(tmp_path / "scores.parquet"), *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.err


def test_json_is_the_advice_as_data(invoke: Any, tmp_path: Path) -> None:
    TABLES["imbalanced"][1].write_parquet(tmp_path / "scores.parquet")
    content = json.loads(invoke("suggest", str(tmp_path / "scores.parquet"), "--format", "json").out)
    assert content["task"] == "binary"
    assert yaml.safe_load(content["suite"])["task"] == "binary"
    against = {row["metric"] for row in content["advice"] if row["verdict"] == "advise_against"}
    assert "accuracy" in against
    assert all(row["source"] and row["reason"] for row in content["advice"])


def test_a_task_without_metrics_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [task for task in registry.tasks() if task != "uplift"]
    monkeypatch.setattr(registry, "tasks", lambda: tuple(known))
    found = plm.suggest(TABLES["treated"][1])
    assert found.task == "binary"
    assert found.note is not None
    assert "task uplift" in found.note
    assert f"# {found.note}" in found.text


def test_names_of_columns_stay_in_their_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = TABLES["treated"][1].rename({"treatment": "treatment\n"})
    monkeypatch.setattr(registry, "tasks", lambda: ("binary",))
    text = plm.suggest(frame, label="y", scores="score").text
    note = "# The table looks like one of task uplift (column 'treatment\\x0a'"
    assert text.split("\n")[2].startswith(note)
    assert text.split("\n")[3].startswith("name: ")


def test_a_frame_can_be_asked_about() -> None:
    found = plm.suggest(TABLES["imbalanced"][1], label="y", scores="p")
    assert str(found) == found.text
    assert found.advice.filter(verdict="advise")["metric"].to_list() == yaml.safe_load(found.text)["metrics"]


def test_all_rows_are_looked_at_before_scores_are_taken_for_probabilities() -> None:
    rows = 150_000
    score = np.where(np.arange(rows) == 21_000, 1.5, np.linspace(0, 1, rows))
    frame = pl.DataFrame({"y": np.arange(rows) % 2, "p": score})
    assert "log_loss" not in yaml.safe_load(plm.suggest(frame, label="y", scores="p").text)["metrics"]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["q10", "q50", "q90"], {"": {0.1: "q10", 0.5: "q50", 0.9: "q90"}}),
        (["a_0.25", "a_0.75", "b_.5"], {"a_": {0.25: "a_0.25", 0.75: "a_0.75"}}),
        (["f_quantile_05", "f_quantile_95"], {"f_": {0.05: "f_quantile_05", 0.95: "f_quantile_95"}}),
        (["score_1", "score_2", "p10"], {}),
    ],
)
def test_columns_of_quantiles(names: list[str], found: dict[str, dict[float, str]]) -> None:
    assert levels_of_columns(names) == found


SUITE = """
name: checked
task: {task}
data: {{path: scores.parquet{where}}}
columns: {{label: y}}
models: {{m: {score}}}
metrics: [{metrics}]
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("table", "score", "metrics", "where", "words"),
    [
        ("imbalanced", "p", "accuracy", "", "calling every row the larger class scores 96.9 %"),
        ("imbalanced", "p", "accuracy, mcc", "", None),
        ("imbalanced", "p", "precision, recall", ", where: p < 0.4", "at threshold 0.5"),
        ("margins", "score", "roc_auc, recall", "", "as logits do"),
        ("numbers", "pred", "mae, r2", "", None),
    ],
)
def test_validate_and_run_warn_alike(
    invoke: Any, tmp_path: Path, table: str, score: str, metrics: str, where: str, words: str | None
) -> None:
    task, frame = TABLES[table]
    frame.write_parquet(tmp_path / "scores.parquet")
    file = tmp_path / "suite.yaml"
    file.write_text(SUITE.format(task=task, score=score, metrics=metrics, where=where))
    validated, explained = (invoke(command, str(file)) for command in ("validate", "explain"))
    assert (validated.code, explained.code) == (0, 0)
    assert validated.out.startswith("valid: checked")
    assert (words is None) == (validated.err == "")
    assert words is None or words in validated.err
    assert words is None or words in " ".join(explained.out.split())
    ran = plm.run(file)
    warned = [text for text in ran.record["warnings"] if "may mislead" in text]
    if "roc_auc" in metrics or words is None or "larger class" in words:
        assert [f"warning: {text}" for text in warned] == validated.err.splitlines()


def test_a_run_warns_by_what_it_counted() -> None:
    frame = pl.DataFrame({"y": [1000.0 + i % 2 for i in range(200)], "p": [1000.0] * 200})
    texts = plm.evaluate(frame, task="regression", label="y", models="p", metrics=["r2"]).record["warnings"]
    assert "the label hardly varies" in texts[0]
    assert texts[1].startswith("model 'p': r2 -1 is below 0")
    frame = pl.DataFrame({"y": ["a"] * 95 + ["b"] * 3 + ["c"] * 2, "p": ["a"] * 100})
    asked = {"task": "multiclass", "label": "y", "models": {"m": {"prediction": "p"}}}
    (said,) = plm.evaluate(frame, metrics=["accuracy", "support"], **asked).record["warnings"]
    assert "95 %" in said


def test_validate_leaves_bad_rows_to_the_run(invoke: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame({"y": [None, 1, 7, 0], "p": [float("nan"), None, 0.2, 0.3]})
    frame.write_parquet(tmp_path / "scores.parquet")
    file = tmp_path / "suite.yaml"
    file.write_text(SUITE.format(task="binary", score="p", metrics="mcc", where=""))
    assert invoke("validate", str(file)).code == 0


@pytest.mark.parametrize(
    ("line", "files"),
    [
        (
            "301 Q0 FR1 1 12.5 bm25",
            "it reads like a run of TREC: write task: ranking and data: {trec: {qrels: QRELS, run: x.txt}}",
        ),
        (
            "301\t0\tFR1\t-1",
            "it reads like judgements of TREC: write task: ranking and data: {trec: {qrels: x.txt, run: RUN}}",
        ),
        ("301 0 FR1 high", "data files end in .parquet"),
    ],
)
def test_text_files_of_trec(invoke: Any, tmp_path: Path, line: str, files: str) -> None:
    (tmp_path / "x.txt").write_text(f"{line}\n")
    outcome = invoke("suggest", str(tmp_path / "x.txt"))
    assert (outcome.code, outcome.out) == (4, "")
    assert files in " ".join(outcome.err.split())


@pytest.mark.parametrize(("arms", "value"), [(["treated", "control"], "'treated'"), ([2, 1], "2")])
def test_an_arm_in_words_is_a_note(arms: list[Any], value: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {"treatment": arms * 50, "outcome": rng.integers(0, 2, 100), "uplift": rng.random(100)}
    )
    text = plm.suggest(rows).text
    condition = f"treatment = {value}"
    words = " ".join(text.replace("#", " ").split())
    assert f'task: uplift, derive: {{treated: "{condition}"}} and columns: {{treatment: treated}}' in words
    rows.write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "suite.yaml").write_text(
        f'task: uplift\nderive: {{treated: "{condition}"}}\ncolumns: {{treatment: treated, label: outcome}}\n'
        "data: {path: rows.parquet}\nmodels: {m: uplift}\nmetrics: [ate]\n"
    )
    treated = (rows["treatment"] == arms[0]).to_numpy()
    outcome = rows["outcome"].to_numpy()
    ate = plm.run(tmp_path / "suite.yaml", output=tmp_path).metrics["value"].item()
    assert ate == pytest.approx(outcome[treated].mean() - outcome[~treated].mean())


def test_lists_of_classes_are_no_guess() -> None:
    rows = pl.DataFrame({"id": [1, 2], "tags": [["a"], ["b", "c"]], "p_a": [0.1, 0.9], "p_b": [0.4, 0.2]})
    for label in (None, "tags"):
        with pytest.raises(
            plm.ConfigError, match="'tags': lists of texts are classes of task 'multilabel'"
        ) as error:
            plm.suggest(rows, label=label)
        assert "columns: {label: tags}" in str(error.value.problems[0].hint)
        assert "not in the data" not in str(error.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"q": ["a", "b"], "y": [[1, 0, 2], [0, 1]], "p": [[0.3, 0.2, 0.1], [0.5, 0.1]]},
            "write a row per element, in Polars frame.explode('y', 'p'), and name their query: --query COLUMN",
        ),
        (
            {"id": [1, 2, 3], "y": [1, 0, 2], "p": [[0.3, 0.7]] * 3},
            "write a column per element, in Polars frame.with_columns(pl.col('p').list.to_struct()).unnest('p')",
        ),
        (
            {"id": [1, 2, 3], "y": [1, 0, 2], "p": [[0.3], [0.7, 0.1], []]},
            "write a row per element, or a column",
        ),
    ],
)
def test_columns_of_lists(invoke: Any, tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame(columns)
    fixed = (
        frame.with_columns(pl.col("p").list.to_array(2)) if len(set(frame["p"].list.len())) == 1 else frame
    )
    for rows in (frame, fixed):
        rows.write_parquet(tmp_path / "x.parquet")
        outcome = invoke("suggest", str(tmp_path / "x.parquet"))
        assert (outcome.code, outcome.out) == (2, "")
        assert words in " ".join(outcome.err.split())


def test_rows_of_lists_that_were_written_out_are_a_ranking(invoke: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    lists = {"q": range(40), "y": rng.integers(0, 3, (40, 6)).tolist(), "p": rng.random((40, 6)).tolist()}
    pl.DataFrame(lists).explode("y", "p").write_parquet(tmp_path / "x.parquet")
    assert "task: ranking" in invoke("suggest", str(tmp_path / "x.parquet"), "--query", "q").out
