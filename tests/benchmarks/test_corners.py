"""Corners: every metric is timed alone, in every setting that it has, and the worst are told."""

import dataclasses

import pytest

from benchmarks import __main__ as entry
from benchmarks import corners
from benchmarks.corner_metrics import SETTINGS, metric_texts
from benchmarks.corner_tables import TASKS, corner_table
from benchmarks.corners import Corner, corner_names, corners_section, measure_corners
from benchmarks.measure import BenchmarkError
from benchmarks.tables import tables
from plmetrics.catalogue import registry


@pytest.mark.parametrize("task", TASKS)
def test_every_metric_is_among_them_once(task):
    names = [registry.create(task, kind.name, {}).name for kind in registry.classes(task) if not _given(kind)]
    texts = metric_texts(task)
    assert len(set(texts)) == len(texts)
    assert set(names) <= {_name(text) for text in texts}
    missing = {kind for kind in registry.classes(task) if kind.name not in {_name(text) for text in texts}}
    assert all("metric" in {field.name for field in dataclasses.fields(kind)} for kind in missing)


def _name(text):
    return text.partition("(")[0]


def _given(kind):
    try:
        registry.create(kind.task, kind.name, {})
    except ValueError:
        return True
    return False


def test_all_tasks_have_a_table():
    assert set(TASKS) == set(registry.tasks()) - {"experiment"}, "its one metric is a mean"


@pytest.mark.slow
def test_metrics_run_in_all_settings_that_they_have(tmp_path):
    with tables(tmp_path / "cache", keep=False) as made:
        measured = measure_corners(made, "regression", 3000, 1, "mae", "median_absolute_error")
    with pytest.raises(BenchmarkError, match=r"corners\.regression failed \(exit code 1\)"):
        measure_corners(_Nowhere(), "regression", 3000, 1, "mae")
    assert [corner.metric for corner in measured] == ["mae", "median_absolute_error"]
    for corner in measured:
        assert set(corner.seconds) == set(SETTINGS)
        assert min(*corner.seconds.values(), corner.scan) > 0


class _Nowhere:
    """Tables that are not there."""

    def table(self, *_):
        return "absent"


def test_the_least_of_all_rounds_counts_and_what_is_refused_is_left_out(monkeypatch, tmp_path):
    rounds = iter(
        [
            [{"scan": 0.2}, {"metric": "a", "setting": "overall", "seconds": 2.0}],
            [
                {"scan": 0.1},
                {"metric": "a", "setting": "overall", "seconds": 3.0},
                {"metric": "a", "setting": "weighted", "refused": "no weights"},
            ],
        ]
    )
    monkeypatch.setattr(corners, "_runs", lambda *_: next(rounds))
    with tables(tmp_path / "cache", keep=False) as made:
        measured = measure_corners(made, "binary", 100, 2)
    assert measured == [Corner("binary", "a", {"overall": 2.0}, 0.1)]


def test_the_section_names_the_worst_and_what_misses_an_aim():
    measured = [
        Corner("binary", f"m{number}", {"overall": 0.1 * number, "weighted": 0.1 * number}, 0.1)
        for number in range(1, 41)
    ]
    measured.append(Corner("binary", "heavy", {"overall": 0.1, "weighted": 0.5}, 0.1))
    text = corners_section("binary", measured, 1_000_000, 2, "here.")
    rows = [line for line in text.splitlines() if line.startswith("| m")]
    assert rows[0].startswith("| metric | overall | weighted | 50 slices | 200 replicates |")
    assert rows[1] == "| median of all | 20 | 20 |  |  |"
    assert rows[2] == "| m40 | 40 | 40 |  |  |"
    assert len(rows) == 2 + 15
    assert "* More than 30 scans for all rows: m31, m32, m33, m34, m35, m36, m37, m38, m39, m40." in text
    assert text.endswith("* More than 3 times with weights: heavy.")


def test_queries_lie_in_one_slice():
    import numpy as np

    frame = corner_table("ranking", 505, np.random.default_rng(1))
    assert frame.height == 505
    assert frame.group_by("query").agg("group").select(frame.columns[0]).height == 26
    assert frame.group_by("query").n_unique()["group"].max() == 1


def test_the_command_line_takes_tasks(monkeypatch, tmp_path, capsys):
    assert corner_names("corners.binary") == ["corners.binary"]
    monkeypatch.setattr(entry, "measure_corners", lambda *_: [Corner("binary", "a", {"overall": 1.0}, 0.1)])
    readme = tmp_path / "README.md"
    monkeypatch.setattr("sys.argv", ["benchmarks", "corners.binary", "--write", f"--readme={readme}"])
    assert entry.main() == 0
    assert "### corners of binary: 1 metrics" in capsys.readouterr().out
    assert "<!-- begin corners.binary -->" in readme.read_text()
