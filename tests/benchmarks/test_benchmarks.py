"""The benchmarks run end to end at a tiny size, and refuse to compare contestants that disagree."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import __main__ as entry
from benchmarks import measure, profiling
from benchmarks.agreement import disagreements
from benchmarks.contestants import CONTESTANTS
from benchmarks.contestants.ours import SLICE_COUNT
from benchmarks.markdown import write_section
from benchmarks.scenarios import SCENARIOS
from benchmarks.tables import Tables, tables

ROOT = Path(__file__).parents[2]


def command(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    variables = os.environ | {"TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=ROOT, env=variables)


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    """Standard output, the README and the folder of tables after a run of a scenario."""
    folder = tmp_path_factory.mktemp("benchmarks")
    readme = folder / "README.md"
    readme.write_text("# Ours\n\nprose\n\n<!-- begin cube -->\nold\n<!-- end cube -->\n\nmore prose\n")
    done = command("cube", "--rows", 3000, "--rounds", 1, "--write", "--readme", readme, folder=folder)
    assert done.returncode == 0, done.stderr
    readme_text = readme.read_text()
    readme.unlink()
    return done.stdout, readme_text, folder


@pytest.mark.slow
def test_every_contestant_has_a_row_or_says_why_not(cube):
    printed, _, _ = cube
    for name in SCENARIOS["cube"].contestants:
        missing = CONTESTANTS[name].missing
        row = rf"\* {name} skipped: not installed: " if missing else rf"\| {name} \| \d+\.\d{{3}} \| "
        assert re.search(row, printed), name


@pytest.mark.slow
def test_ratios_are_printed(cube):
    printed, _, _ = cube
    for aim in SCENARIOS["cube"].aims:
        if not CONTESTANTS[aim.to].missing:
            assert re.search(rf"\* {aim.of} / {aim.to}: \*\*(1/)?[\d.]+\*\*", printed)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("duckdb") is None, reason="DuckDB is a peer of the extra bench")
def test_contestants_agree_on_all_values(cube):
    printed, _, _ = cube
    assert f"all in agreement: {2 * 8 * SLICE_COUNT:,}." in printed


@pytest.mark.slow
def test_write_replaces_the_section_and_keeps_the_prose(cube):
    printed, readme, _ = cube
    begin, end = "# Ours\n\nprose\n\n<!-- begin cube -->\n\n", "\n\n<!-- end cube -->\n\nmore prose\n"
    assert readme == f"{begin}{printed.strip()}{end}"


@pytest.mark.slow
def test_tables_are_deleted(cube):
    assert list(cube[2].iterdir()) == []


@pytest.mark.slow
def test_an_unknown_scenario_is_named(tmp_path):
    done = command("cubes", folder=tmp_path)
    assert done.returncode == 2
    assert "unknown scenario cubes; known: sums, cube" in done.stderr


def fake_worker(values):
    def run(name, folders, **_):
        return {
            "seconds": 1.0,
            "peak_mb": 1.0,
            "values": {"s0 roc_auc all": values.get(name, [0.8, 0.0])},
            "facts": {},
        }

    return run


def call(monkeypatch, tmp_path, values):
    monkeypatch.setattr(measure, "run_worker", fake_worker(values))
    readme = tmp_path / "README.md"
    arguments = ["auc", "--rows=100", "--write", f"--readme={readme}", f"--cache={tmp_path / 'cache'}"]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    return entry.main(), readme


def test_contestants_that_disagree_fail_loudly(monkeypatch, tmp_path, capsys):
    code, readme = call(monkeypatch, tmp_path, {"auc": [0.8 + 1e-6, 0.0]})
    told = capsys.readouterr()
    assert code == 1
    assert "auc: contestants disagree" in told.err
    assert re.search(r"s0 roc_auc all: \w+ 0\.8, auc 0\.800001", told.err)
    assert told.out == ""
    assert not readme.exists()


def test_a_peer_that_is_not_installed_is_skipped_with_a_line(monkeypatch, tmp_path, capsys):
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "rapidstats" else known(name)
    )
    code, readme = call(monkeypatch, tmp_path, {})
    printed = capsys.readouterr().out
    assert code == 0
    assert "* rapidstats_auc skipped: not installed: rapidstats." in printed
    assert "| rapidstats_auc" not in printed
    assert "auc / rapidstats_auc" not in printed
    assert printed.strip() in readme.read_text()


@pytest.mark.slow
def test_a_contestant_that_fails_is_told_with_its_last_words(tmp_path):
    with pytest.raises(measure.BenchmarkError, match=r"(?s)sums failed \(exit code 1\).*nowhere"):
        measure.run_worker("sums", (tmp_path / "nowhere", tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [
        ([0.5, 0.0], [0.5 + 5e-10, 0.0], True),
        ([0.5, 0.0], [0.5 + 5e-9, 0.0], False),
        ([0.5, 0.01], [0.509, 0.0], True),
        ([0.5, 0.004], [0.509, 0.004], False),
        ([1e6, 0.0], [1e6 + 5e-4, 0.0], True),
        ([1e6, 0.0], [1e6 + 5e-3, 0.0], False),
        ([0.5, 0.0], [float("nan"), 0.0], False),
    ],
)
def test_agreement_is_to_rounding_and_what_may_be_off(one, other, agrees):
    found = disagreements({"a": {"x": one}, "b": {"x": other}, "import": {}})
    assert (found == []) is agrees


def test_a_contestant_that_shares_no_value_is_told():
    found = disagreements({"a": {"x": [1, 0]}, "b": {"x": [1, 0]}, "c": {"y": [1, 0]}})
    assert found == ["c has no value that another has"]


def test_scenarios_name_contestants_and_aims_that_exist():
    for scenario in SCENARIOS.values():
        assert set(scenario.contestants) <= set(CONTESTANTS)
        assert {end for aim in scenario.aims for end in (aim.of, aim.to)} <= set(scenario.contestants)


def test_tables_have_the_rows_files_cells_and_customers_asked_for(tmp_path):
    with tables(tmp_path / "cache", keep=True) as made:
        folder = made.table(10_007, files=20, models=4)
    frame = pl.read_parquet(folder / "*.parquet")
    assert len(list(folder.iterdir())) == 20
    assert frame.height == 10_007
    assert frame.select("country", "device").n_unique() == 60
    assert frame["customer"].max() < 1000
    assert frame.columns == ["label", "country", "device", "customer", "s0", "s1", "s2", "s3"]
    again = Tables(tmp_path / "other")
    again.folder.mkdir()
    assert pl.read_parquet(again.table(10_007, files=20, models=4) / "*.parquet").equals(frame)


def test_a_mark_without_its_end_is_refused(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("prose <!-- begin auc --> figures")
    with pytest.raises(ValueError, match="has no <!-- end auc -->"):
        write_section(readme, "auc", "new")
    assert readme.read_text() == "prose <!-- begin auc --> figures"


def test_costs_of_other_packages_go_to_the_functions_of_ours_that_called_them():
    ours, also = ("/x/plmetrics/engine/look.py", 1, "look"), ("/x/plmetrics/api.py", 1, "evaluate")
    query, collect, main = ("~", 0, "collect"), ("/y/polars/frame.py", 5, "wrap"), ("/z/worker.py", 1, "main")
    stats = {
        main: (1, 1, 0.5, 10.0, {}),
        also: (1, 1, 1.0, 9.5, {main: (1, 1, 1.0, 9.5)}),
        ours: (1, 1, 0.5, 5.5, {also: (1, 1, 0.5, 5.5)}),
        collect: (2, 2, 2.0, 8.0, {ours: (1, 1, 1.0, 5.0), also: (1, 1, 1.0, 3.0)}),
        query: (2, 2, 6.0, 6.0, {collect: (2, 2, 6.0, 6.0)}),
    }
    found = profiling.costs_of(stats)
    assert found == pytest.approx(
        {"engine.look.look": 0.5 + 1.0 + 6 * 5 / 8, "api.evaluate": 1.0 + 1.0 + 6 * 3 / 8, "others": 0.5}
    )
    assert np.isclose(sum(found.values()), 10.0)
