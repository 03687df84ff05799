"""Tables in units on every runner: the bytes of one run over all rows, however they are cut, and whatever dies."""

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from runners.conftest import table, write_files

import plmetrics as plm
from plmetrics.api.merging import result_of_units
from plmetrics.api.shards import plans
from plmetrics.api.shards.plans import plan_of
from plmetrics.api.stopwatch import Stopwatch
from plmetrics.features.shards.coverage import of_plan
from plmetrics.features.shards.file_table import file_contents, open_table, table_content
from plmetrics.features.shards.unit_plan import UnitPlan, read_content
from plmetrics.features.shards.unit_states import UnitJob, write_unit
from plmetrics.runners.protocol import Runner
from plmetrics.suite.yaml.load import load_suite
from plmetrics.table.opening import open_source

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SUITE: dict[str, Any] = {
    "data": {"path": "scores"},
    "columns": {"label": "y", "unit": "u"},
    "models": {"a": "a", "b": "b"},
    "metrics": ["log_loss", "brier", "f1"],
    "slices": {"region": "region", "size": {"column": "size", "quantiles": 3}},
    "uncertainty": {"replicates": 20},
    "compare": "a",
    "exact": False,
    "reproducible": True,
}


def write(folder: Path, files: int, **changes: Any) -> Path:
    write_files(folder / "scores", files)
    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump({**SUITE, **changes}))
    return file


def print_of(result: plm.Result) -> dict[str, str]:
    """A hash of the bytes of each table."""
    tables = {name: table.serialize() for name, table in result.tables.items()}
    return {name: hashlib.sha256(content).hexdigest() for name, content in tables.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The tables of one run over all rows."""
    return print_of(plm.run(write(tmp_path_factory.mktemp("whole"), 1)))


def plan_in(folder: Path, files: int, **changes: Any) -> UnitPlan:
    return plan_of(load_suite(write(folder, files, **changes)), Stopwatch(None))


def merged(plan: UnitPlan, outcome: plans.UnitOutcome, folder: Path) -> plm.Result:
    paths = [receipt.path for receipt in outcome.receipts.values()]
    return result_of_units(paths, of_plan(plan, [], 1.0), Stopwatch(None), folder)


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("files", [1, 3, 24])
def test_units_in_any_order_are_one_run_to_the_last_bit(
    runner: Runner, whole: dict[str, str], tmp_path: Path, files: int
) -> None:
    plan = plan_in(tmp_path, files)
    units = random.Random(files).sample(plan.units, len(plan.units))
    outcome = plans.run_units(runner, plan, units, tmp_path / "states", None)
    assert len(outcome.receipts) == files
    assert not any(receipt.again for receipt in outcome.receipts.values())
    assert print_of(merged(plan, outcome, tmp_path)) == whole


def evaluated(path: str, **how: Any) -> dict[str, str]:
    """The tables of the same by keyword arguments."""
    asked = {
        key: SUITE[key] for key in ("metrics", "slices", "uncertainty", "compare", "exact", "reproducible")
    }
    return print_of(plm.evaluate(path, label="y", unit="u", models=SUITE["models"], **asked, **how))


@pytest.mark.slow
def test_evaluate_on_a_runner_is_one_scan_to_the_last_bit(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name, by a mapping, by an executor, and by a client of Dask, which stays open; paths may be relative."""
    distributed = pytest.importorskip("distributed")
    write_files(tmp_path / "scores", 3)
    monkeypatch.chdir(tmp_path)
    one = evaluated("scores")
    assert evaluated("scores", on="inline") == one
    assert evaluated("scores", on={"on": "processes:2", "states": "counted"}) == one
    assert len(list(tmp_path.glob("counted/*.state"))) == 3
    with ThreadPoolExecutor(1) as executor:
        assert evaluated("scores", on=executor) == one
    with distributed.Client(scheduler, set_as_default=False) as client:
        assert evaluated("scores", on=client) == one
        assert client.status == "running"


@pytest.mark.parametrize(
    ("data", "on", "words"),
    [
        ("scores", "threads:2", "unknown runner"),
        ("scores", {"on": "inline", "tasks": 2}, "unknown key"),
        ("scores", 2, "no runner"),
        (pl.DataFrame({"y": [0, 1], "a": [0.1, 0.9]}), "inline", "only a table of files has units"),
    ],
)
def test_evaluate_refuses_what_is_no_runner_or_has_no_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, on: Any, words: str
) -> None:
    write_files(tmp_path / "scores", 2)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(plm.ConfigError, match=words):
        plm.evaluate(data, label="y", models="a", metrics=["f1"], on=on)


@pytest.mark.parametrize(
    "changes",
    [
        {"exact": True},
        {"drift": {"reference": "scores", "columns": ["a"]}},
        {"interval": {"partition": "day", "every": "1d"}},
    ],
    ids="".join,
)
def test_validate_refuses_what_a_runner_refuses(tmp_path: Path, changes: dict[str, Any]) -> None:
    file = write(tmp_path, 2, engine="inline", **changes)
    said = []
    for function in (plm.validate, plm.run):
        with pytest.raises(plm.ConfigError) as refused:
            function(file)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_a_worker_that_does_not_see_the_states_says_so(tmp_path: Path) -> None:
    job = UnitJob(str(tmp_path / "elsewhere/units.plan"), "0", str(tmp_path))
    with pytest.raises(plm.EnvironmentFault, match="does not see the plan"):
        write_unit(job.text())


@pytest.mark.slow
def test_scores_on_a_grid_and_chosen_thresholds(tmp_path: Path) -> None:
    """What units must share is looked up in the rows of all: edges of bins, thresholds."""
    metrics = ["roc_auc", "precision(threshold=max(f1))"]
    file = write(tmp_path, 3, metrics=metrics, curves=["roc"], compare=None)
    assert print_of(plm.run(file, on="inline")) == print_of(plm.run(file))


@pytest.mark.slow
def test_a_worker_killed_in_the_midst_changes_nothing(
    remote: Runner, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "TASK", "runners.samples:unit_killed_once")
    plan = plan_in(tmp_path, 3)
    (tmp_path / "states").mkdir()
    outcome = plans.run_units(remote, plan, plan.units, tmp_path / "states", None)
    assert (tmp_path / "states" / "killed").exists()
    assert print_of(merged(plan, outcome, tmp_path)) == whole


@pytest.mark.slow
def test_poison_ends_a_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "TASK", "runners.samples:unit_of_poison")
    monkeypatch.setattr("plmetrics.runners.processes.ProcessesBackend.retries", 0)
    file = write(tmp_path, 3, metrics=["f1"], slices={}, uncertainty=None)
    (tmp_path / "scores/part-01.parquet").rename(tmp_path / "scores/poison.parquet")
    with pytest.raises(plm.PlmetricsError) as caught:
        plm.run(file, on="processes:1")
    assert caught.value.exit_code == 5
    assert "poison.parquet" in str(caught.value)
    assert "SIGKILL" in str(caught.value)
    folder = tmp_path / "runs/suite"
    assert len(list(folder.glob("unit-states/*.state"))) == 2
    file.write_text(f"{file.read_text()}engine: {{on: {{processes: 1}}, coverage: 0.6}}")
    result = plm.run(file)
    gate = result.gates.row(-1, named=True)
    assert (gate["gate"], gate["verdict"], gate["rule"]) == ("units of the plan", "pass", ">= 0.6")
    assert gate["observed"] == pytest.approx(2 / 3)
    assert any("poison.parquet" in warning for warning in result.warnings)


@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_units_without_rows_count_as_none(tmp_path: Path, missing: str) -> None:
    """A unit of which no row satisfies the condition, or is left, does not fail the others."""
    where = "size > 0" if missing == "drop" else "size < 2"
    changes = {"data": {"path": "scores", "where": where, "missing": missing}}
    file = write(tmp_path, 3, **changes)
    path = tmp_path / "scores/part-01.parquet"
    rows = pl.read_parquet(path)
    if missing == "error":
        rows = rows.with_columns(size=rows["size"] + 10)
    else:
        rows = rows.with_columns(a=None, b=None).cast({"a": rows["a"].dtype, "b": rows["b"].dtype})
    rows.write_parquet(path)
    one, units = plm.run(file), plm.run(file, on="inline")
    assert print_of(units) == print_of(one)
    assert units.record["rows"] == one.record["rows"]


@pytest.mark.parametrize("emptied", [{"w": pl.lit(0.0)}, {"p": pl.lit(None, dtype=pl.Float64)}])
def test_units_of_queries_that_do_not_count_count_as_none(
    tmp_path: Path, emptied: dict[str, pl.Expr]
) -> None:
    rows = pl.DataFrame({"q": [1, 1, 2], "y": [0, 1, 1], "p": [0.2, 0.1, 0.3], "w": [1.0, 1.0, 2.0]})
    rows.write_parquet(tmp_path / "1.parquet")
    for name, shift in (("0", 10), ("2", 20)):
        rows.with_columns(pl.col("q") + shift, **emptied).write_parquet(tmp_path / f"{name}.parquet")
    asked: dict[str, Any] = {"label": "y", "models": "p", "query": "q", "weight": "w", "missing": "drop"}
    found = plm.evaluate(
        tmp_path / "*.parquet", task="ranking", metrics=["mrr", "num_q"], on="inline", **asked
    )
    assert found.metrics.select("value", "n").rows() == [((1 / 2 + 2 * 1) / 3, 2), (3.0, 2)]


def test_a_unit_that_was_replaced_is_counted_again_alone(tmp_path: Path) -> None:
    file = write(tmp_path, 3, reproducible=False, metrics=["f1"], slices={}, uncertainty=None)
    plm.run(file, on="inline")
    states = tmp_path / "runs/suite/unit-states"
    before = {path.name: path.stat().st_mtime_ns for path in states.glob("*.state")}
    part = tmp_path / "scores/part-02.parquet"
    pl.read_parquet(part).head(100).write_parquet(part)
    again = plm.run(file, on="inline")
    after = {path.name: path.stat().st_mtime_ns for path in states.glob("*.state")}
    assert len(before.items() & after.items()) == 2
    assert len(after) == 3
    assert again.metrics.equals(plm.run(file).metrics)


def test_a_query_whose_rows_are_in_several_units_is_refused(tmp_path: Path) -> None:
    changes = {"task": "ranking", "columns": {"label": "y", "query": "u"}, "compare": None, "slices": {}}
    file = write(tmp_path, 3, **changes, metrics=["ndcg"], uncertainty=None)
    with pytest.raises(plm.DataError, match="more than one state"):
        plm.run(file, on="inline")


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["file", "folder"])
def test_partitions_are_columns_of_their_units(tmp_path: Path, unit: str) -> None:
    file = write(tmp_path, 4, slices={"day": "day"}, engine={"on": "inline", "unit": unit})
    for number, part in enumerate(sorted((tmp_path / "scores").iterdir())):
        folder = tmp_path / f"scores/day=2026-01-0{number % 2 + 1}"
        folder.mkdir(exist_ok=True)
        part.rename(folder / part.name)
    units = plm.run(file)
    assert len(units.record["states"]) == {"file": 4, "folder": 2}[unit]
    suite = yaml.safe_load(file.read_text())
    del suite["engine"]
    file.write_text(yaml.safe_dump(suite))
    assert print_of(units) == print_of(plm.run(file))


@pytest.mark.slow
def test_units_of_an_iceberg_table_leave_out_what_it_deleted(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    from table.formats.test_iceberg import Folder, commit_deletes

    rows = table().select("u", "y", "a", "b", "region", "size")
    iceberg = Folder(tmp_path / "scores").create_table(("space", "t"), rows.to_arrow().schema)
    iceberg.append(rows[:300].to_arrow())
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        with iceberg.update_schema() as update:
            update.rename_column(old, new)
    renamed = rows.rename({"a": "b", "b": "a"})
    iceberg.append(renamed[300:].to_arrow())
    suite = tmp_path / "suite.yaml"
    suite.write_text(yaml.safe_dump(SUITE))
    assert plm.run(suite, on="inline").record["rows"]["read"] == rows.height
    units = rows.select(pl.col("u").unique().sort().head(5))
    commit_deletes(iceberg, units, keys={"u": 1})
    left = renamed.join(units, on="u", how="anti")
    assert left.height < rows.height
    result = plm.run(suite, on="inline")
    assert result.record["rows"]["read"] == plm.run(suite).record["rows"]["read"] == left.height
    plain = plm.evaluate(left, label="y", models=["a", "b"], metrics=SUITE["metrics"])
    overall = result.metrics.filter(slice_set="overall")
    assert overall["value"].to_list() == pytest.approx(plain.metrics["value"].to_list(), rel=1e-9)


@pytest.mark.slow
def test_variables_travel_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret-place"
    monkeypatch.setenv("PLACE", str(secret))
    monkeypatch.setenv("REGION", "north")
    data = {"path": "${PLACE}/scores", "where": "region = '${REGION}'"}
    file = write(tmp_path, 3, data=data)
    secret.mkdir()
    (tmp_path / "scores").rename(secret / "scores")
    one, units = plm.run(file), plm.run(file, on="inline")
    assert print_of(units) == print_of(one)
    states = tmp_path / "runs/suite/unit-states"
    plan = (states / "units.plan").read_text()
    assert "${PLACE}" in plan
    assert not [path for path in states.iterdir() if b"secret-place" in path.read_bytes()]
    assert "north" not in plan


def test_units_are_counted_again_where_a_variable_has_another_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, 2, models={"m": "${COLUMN}"}, compare=None)
    for column in ("a", "b"):
        monkeypatch.setenv("COLUMN", column)
        assert print_of(plm.run(file, on="inline")) == print_of(plm.run(file))
    monkeypatch.setenv("COLUMN", "a")
    with pytest.raises(plm.EnvironmentFault, match=r"another value here .*: COLUMN"):
        plans.unit_states(file, tmp_path / "states", plan=tmp_path / "runs/suite/unit-states/units.plan")


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("bad", ["score", "label", "weight"])
@pytest.mark.parametrize(
    "metrics", [["accuracy"], ["roc_auc"], ["accuracy", {"name": "gap", "null_share": "value"}]]
)
def test_a_unit_whose_rows_are_all_dropped_counts_where_dropped_rows_do(
    tmp_path: Path, metrics: list[Any], bad: str
) -> None:
    """Its slices are listed, and a share of nulls counts its rows."""
    names = {"score": "p", "label": "y", "weight": "w"}
    rows = pl.DataFrame({"y": [0, 1] * 20, "p": [i / 40 for i in range(40)]}).with_row_index("unit")
    rows = rows.with_columns(w=pl.lit(1.0), day=pl.col("unit") // 10, value=pl.col("unit").cast(pl.Float64))
    first = pl.col("day") == 0
    rows = rows.with_columns(pl.when(~first).then(pl.col(names[bad], "value")))
    for (day,), part in rows.partition_by("day", as_dict=True).items():
        part.write_parquet(tmp_path / f"{day}.parquet")
    asked: dict[str, Any] = {
        "label": "y",
        "models": "p",
        "weight": "w",
        "unit": "unit",
        "metrics": metrics,
        "slices": ["day"],
        "missing": "drop",
        "exact": False,
        "reproducible": True,
        "uncertainty": {"replicates": 20},
    }
    run = plm.evaluate(tmp_path, **asked)
    units = plm.evaluate(tmp_path, on="inline", **asked)
    assert units.metrics.equals(run.metrics)
    assert units.record["rows"] == run.record["rows"]


@pytest.mark.slow
def test_a_folder_is_one_unit_whatever_stands_between_its_files(tmp_path: Path) -> None:
    names = ["a/1.parquet", "a/b/2.parquet", "a/c.parquet"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        table().head(8).write_parquet(tmp_path / name)
    data, file = {"path": "a/**/*.parquet"}, tmp_path / "suite.yaml"
    file.write_text(yaml.safe_dump({**SUITE, "data": data, "engine": {"unit": "folder"}}))
    units = plan_of(load_suite(file), Stopwatch(None)).units
    assert [[file["name"] for file in unit.files] for unit in units] == [
        ["1.parquet", "c.parquet"],
        ["b/2.parquet"],
    ]


def test_a_plan_is_read_back_with_line_ends_of_unicode_in_names(tmp_path: Path) -> None:
    write_files(tmp_path / "scores", 2)
    for path in (tmp_path / "scores").iterdir():
        pl.read_parquet(path).rename({"region": "re\u2028gion\x85"}).write_parquet(path)
    file = tmp_path / "suite.yaml"
    file.write_text(yaml.safe_dump({**SUITE, "slices": {"region": "re\u2028gion\x85"}}))
    plan = plan_of(load_suite(file), Stopwatch(None))
    assert read_content(plan.content().decode(), "units.plan") == plan


def test_csv_files_keep_their_separator(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("y;s\n1;0,5\n0;0,25\n")
    source = open_source(str(tmp_path / "*.csv"))
    table, files = table_content(source), file_contents(source, str)
    assert open_table(table, files[1:]).frame.collect().rows() == [(1, 0.5), (0, 0.25)]
