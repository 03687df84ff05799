"""Units on the command line: listed, counted in shards, merged, and named where they are missing."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from runners.conftest import write_files

FILES = 5


@pytest.fixture(autouse=True)
def suite(root: Path) -> None:
    """A suite over some files, in the working directory."""
    write_files(root / "scores", FILES)
    content = {
        "data": {"path": "scores"},
        "columns": {"label": "y", "unit": "u"},
        "models": {"a": "a", "b": "b"},
        "metrics": ["brier", "f1"],
        "slices": {"size": {"column": "size", "quantiles": 3}},
        "reproducible": True,
    }
    Path("s.yaml").write_text(yaml.safe_dump(content))


def listed(invoke: Any, *options: str) -> list[dict[str, Any]]:
    outcome = invoke("units", "s.yaml", *options)
    assert outcome.code == 0
    return [json.loads(line) for line in outcome.out.splitlines()]


def shard(invoke: Any, number: int, of: int, *options: str) -> list[str]:
    outcome = invoke("state", "s.yaml", "--shard", f"{number}/{of}", "--output", "counted", *options)
    assert outcome.code == 0, outcome.err
    return list(outcome.out.splitlines())


def tables(folder: str) -> dict[str, bytes]:
    (run,) = [path for path in Path(folder, "s").iterdir() if (path / "run.json").is_file()]
    names = {"metrics", "comparisons", "gates"}
    return {path.stem: path.read_bytes() for path in run.glob("*.parquet") if path.stem in names}


def test_units_are_files_with_rows_and_bytes(invoke: Any) -> None:
    units = listed(invoke)
    assert [unit["files"] for unit in units] == [[f"part-0{number}.parquet"] for number in range(FILES)]
    assert [unit["rows"] for unit in units] == [96] * FILES
    assert [unit["bytes"] for unit in units] == [
        Path("scores", *unit["files"]).stat().st_size for unit in units
    ]
    assert units == listed(invoke)


def test_a_file_that_changes_is_another_unit(invoke: Any) -> None:
    before = listed(invoke, "--set", "reproducible=false", "--set", "slices={}")
    Path("scores/part-02.parquet").write_bytes(Path("scores/part-03.parquet").read_bytes())
    after = listed(invoke, "--set", "reproducible=false", "--set", "slices={}")
    changed = [
        number
        for number, pair in enumerate(zip(before, after, strict=True))
        if pair[0]["id"] != pair[1]["id"]
    ]
    assert changed == [2]


@pytest.mark.slow
def test_shards_are_the_run_to_the_last_byte(invoke: Any) -> None:
    units = listed(invoke, "--plan", "all.plan")
    written = shard(invoke, 2, 3, "--plan", "all.plan") + shard(invoke, 1, 3) + shard(invoke, 3, 3)
    assert len(set(written)) == len(written) == len(units)
    assert invoke("merge", "counted", "--output", "merged").code == 0
    assert invoke("run", "s.yaml", "--output", "runs").code == 0
    assert tables("merged") == tables("runs")
    stamps = {name: Path(name).stat().st_mtime_ns for name in written}
    assert shard(invoke, 1, 1) == sorted(written) or set(shard(invoke, 1, 1)) == set(written)
    assert stamps == {name: Path(name).stat().st_mtime_ns for name in written}


@pytest.mark.slow
def test_shards_may_write_to_folders_of_their_own(invoke: Any) -> None:
    for number in (1, 2):
        shard(invoke, number, 2, "--output", f"node-{number}")
    assert invoke("merge", "node-1", "node-2").code == 0
    outcome = invoke("merge", "node-1")
    assert outcome.code == 5
    assert "of 5 planned units are missing" in outcome.err
    for number in (1, 2):
        half = f"half-{number}.state"
        assert invoke("merge", f"node-{number}", "--allow-missing", "--states", half).code == 3
    assert "missing" not in invoke("merge", "half-1.state", "half-2.state", "--output", "merged").err
    assert invoke("merge", "half-1.state", "node-2", "--output", "mixed").code == 0
    assert invoke("run", "s.yaml", "--output", "runs").code == 0
    assert tables("merged") == tables("mixed") == tables("runs")


@pytest.mark.slow
def test_missing_units_are_named(invoke: Any) -> None:
    units = listed(invoke)
    shard(invoke, 1, 1)
    Path("counted", f"s-{units[3]['id'][:16]}.state").unlink()
    outcome = invoke("merge", "counted")
    assert outcome.code == 5
    assert "1 of 5 planned units is missing" in outcome.err
    assert f"unit {units[3]['id'][:16]} (part-03.parquet)" in outcome.err
    assert invoke("merge", "counted", "--skip-if-empty").code == 5
    outcome = invoke("merge", "counted", "--allow-missing", "--states", "rest.state", "--format", "json")
    assert outcome.code == 3
    assert "the result rests on 80.0% of the rows" in outcome.err
    (gate,) = json.loads(outcome.out)["gates"]
    assert (gate["gate"], gate["verdict"], gate["observed"]) == ("units of the plan", "fail", 0.8)
    assert invoke("merge", "counted", "--allow-missing", "--least-coverage", "0.75").code == 0
    assert invoke("merge", "rest.state").code == 3  # a merged state goes on saying what it lacks
    assert invoke("state", "s.yaml", "--unit", units[3]["id"][:8], "--output", "counted").code == 0
    assert invoke("merge", "counted").code == 0


def test_a_state_that_is_damaged_is_written_again(invoke: Any) -> None:
    (first, *_) = shard(invoke, 1, 1)
    content = Path(first).read_bytes()
    Path(first).write_bytes(content[: len(content) // 2])
    shard(invoke, 1, 1)
    assert Path(first).read_bytes() == content


def test_a_plan_whose_files_changed_is_refused(invoke: Any) -> None:
    listed(invoke, "--plan", "all.plan")
    Path("scores/part-01.parquet").write_bytes(Path("scores/part-03.parquet").read_bytes())
    outcome = invoke("state", "s.yaml", "--plan", "all.plan", "--output", "counted")
    assert outcome.code == 4
    assert "part-01.parquet changed since the plan was made" in outcome.err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--shard", "6/5"), 2, "'6/5' is no shard"),
        (("--shard", "1/2", "--unit", "a"), 2, "shard and unit both say which units"),
        (("--unit", "zz"), 2, "no units have an id that begins with 'zz'"),
        (("--plan", "none.plan"), 4, "none.plan cannot be read"),
        (("--plan", "scores/part-00.parquet"), 4, "is no plan of units, or damaged"),
        (("--shard", "1/2", "--set", "exact=true"), 2, "exact: true needs the rows"),
    ],
)
def test_what_cannot_be(invoke: Any, options: tuple[str, ...], code: int, words: str) -> None:
    outcome = invoke("state", "s.yaml", *options)
    assert (outcome.code, words in outcome.err) == (code, True), outcome.err
    assert ("error: the command line is not valid" in outcome.err) == (code == 2 and "exact" not in words)
    assert not Path("states").exists()


def test_a_plan_of_another_suite(invoke: Any) -> None:
    listed(invoke, "--plan", "all.plan", "--set", "metrics=[brier]")
    outcome = invoke("state", "s.yaml", "--plan", "all.plan")
    assert outcome.code == 2
    assert "is the plan of another suite" in outcome.err


def test_states_of_units_need_their_plan(invoke: Any) -> None:
    shard(invoke, 1, 1)
    Path("counted/units.plan").rename("elsewhere.plan")
    outcome = invoke("merge", "counted")
    assert outcome.code == 2
    assert "name the plan with --plan FILE" in outcome.err
    assert invoke("merge", "counted", "--plan", "elsewhere.plan").code == 0
    assert invoke("state", "s.yaml", "--output", "whole.state").code == 0
    outcome = invoke("merge", "whole.state", "--plan", "elsewhere.plan")
    assert (outcome.code, "plan: none of these states is of a plan's unit" in outcome.err) == (2, True)


def test_an_unknown_runner(invoke: Any) -> None:
    outcome = invoke("run", "s.yaml", "--on", "proceses:4")
    assert outcome.code == 2
    assert "did you mean 'processes'?" in outcome.err
    assert "on: unknown runner" in outcome.err
    assert "--set engine.on: unknown runner" in invoke("run", "s.yaml", "--set", "engine.on=dusk:4").err
    assert "s.yaml" not in invoke("run", "s.yaml", "--on", "processes:0").err


def test_a_damaged_file_of_a_replaced_path_is_named_once(invoke: Any) -> None:
    Path("scores").rename("others")
    Path("others/part-01.parquet").write_bytes(b"PAR1")
    outcome = invoke("run", "s.yaml", "--on", "inline", "--set", "data.path=others")
    assert outcome.code == 4
    assert outcome.err.count("--set data.path: ") == outcome.err.count("part-01.parquet") == 1
