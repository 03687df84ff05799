"""Curves of growth: every size is run on a table that has it, and what growing costs is told beside its aim."""

import polars as pl
import pytest

from benchmarks import __main__ as entry
from benchmarks import growth
from benchmarks.contestants import CONTESTANTS
from benchmarks.contestants.growing import MANY, ROWS, SIZES, changed
from benchmarks.growth import CURVES, Point, curve_section, doublings, measure_curve, per_row
from benchmarks.tables import CELLS, tables


def points(*seconds, first=100, factor=2):
    return [Point(first * factor**place, each, 2 * each, 10.0) for place, each in enumerate(seconds)]


def test_every_size_runs_on_a_table_that_has_it(monkeypatch, tmp_path):
    ran = []

    def worker(name, folders):
        columns = pl.scan_parquet(folders[0]).collect_schema().names()
        arguments = CONTESTANTS[name].work.arguments
        wanted = [*arguments["models"].values(), *arguments["slices"].values(), arguments["unit"]]
        assert set(wanted) <= set(columns), name
        ran.append(name)
        return {"seconds": 1.0, "processor": 2.0, "peak_mb": 3.0}

    monkeypatch.setattr(growth, "run_worker", worker)
    monkeypatch.setattr(growth, "ROWS", (300, 600, 900))
    with tables(tmp_path / "cache", keep=False) as made:
        curves = {what: measure_curve(made, what, 700, rounds=2) for what in CURVES}
    assert [point.size for point in curves["rows"]] == [300, 600]
    assert {what: tuple(point.size for point in curves[what]) for what in SIZES} == SIZES
    assert len(ran) == 2 * sum(map(len, curves.values()))


def test_sizes_are_those_that_are_asked_for():
    assert (ROWS[0], ROWS[-1]) == (1_000_000, 200_000_000)
    assert SIZES["slices"] == CELLS
    assert len(MANY) == len(set(MANY)) == SIZES["metrics"][-1] == 60
    assert len(changed("models", 16)["models"]) == 16


def test_cells_have_as_many_values_as_their_name_says(tmp_path):
    with tables(tmp_path / "cache", keep=True) as made:
        frame = pl.read_parquet(made.table(4000, files=2, models=3, kind="cells") / "*.parquet")
    assert frame.columns == [*(f"cell_{number}" for number in CELLS), "label", "customer", "s0", "s1", "s2"]
    assert [frame[f"cell_{number}"].max() + 1 for number in CELLS[:4]] == list(CELLS[:4])


def test_time_per_row_is_against_that_of_the_fewest_rows():
    assert per_row(points(1.0, 2.0, 5.0)) == pytest.approx([1.0, 1.25])


@pytest.mark.parametrize(
    ("seconds", "factor", "expected"),
    [((1.0, 2.0, 3.0), 2, [2.0, 1.5]), ((1.0, 9.0), 4, [3.0]), ((1.0, 10.0), 10, [2.0])],
)
def test_a_doubling_is_what_each_of_several_would_have_cost(seconds, factor, expected):
    assert doublings(points(*seconds, factor=factor)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("what", "seconds", "told"),
    [
        (
            "rows",
            (1.0, 2.5),
            "time per row, against that of the fewest, at worst: **1.25**, aim at most 1.3: reached.",
        ),
        (
            "rows",
            (1.0, 2.7),
            "time per row, against that of the fewest, at worst: **1.35**, aim at most 1.3: not reached.",
        ),
        ("slices", (1.0, 2.2), "twice the slices, at worst: **2.2**, aim at most 2.1: not reached."),
        ("replicates", (1.0, 2.0), "ten times the replicates, at worst: **2**, aim at most 2.0: reached."),
    ],
)
def test_the_worst_step_is_told_beside_the_aim(what, seconds, told):
    assert told in curve_section(what, points(*seconds), 1, "here")


def test_growth_has_no_profile(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "growth", "--profile"])
    with pytest.raises(SystemExit) as stopped:
        entry.main()
    assert stopped.value.code == 2
    assert "only scenarios have a profile" in capsys.readouterr().err


def test_processor_time_is_told_beside_it():
    made = [Point(1, 1.0, 1.0, 10.0), Point(2, 5.0, 1.5, 10.0)]
    assert "**5**, aim at most 2.1: not reached. By processor time 1.5." in curve_section(
        "models", made, 1, "here"
    )


def test_every_step_stands_beside_its_size():
    text = curve_section("models", points(1.0, 1.5, 4.5, factor=2), 3, "here")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    assert [row[4] for row in rows] == ["twice the models", "---:", "", "1.5", "3"]
    assert "3 rounds. here" in text


@pytest.mark.parametrize(
    ("named", "sections"),
    [
        (["growth"], CURVES),
        (["growth.models"], ["models"]),
        (["growth.rows", "growth.models"], ["rows", "models"]),
    ],
)
def test_a_curve_is_written_between_marks_of_its_own(named, sections, monkeypatch, tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("before\n", encoding="utf-8")
    monkeypatch.setattr(growth, "run_worker", lambda *_: {"seconds": 1.0, "processor": 2.0, "peak_mb": 3.0})
    monkeypatch.setattr(
        "sys.argv", ["benchmarks", *named, "--rows", "500", "--write", "--readme", str(readme)]
    )
    assert entry.main() == 0
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    marks = [line for line in text.splitlines() if line.startswith("<!--")]
    assert marks == [f"<!-- {end} growth.{what} -->" for what in sections for end in ("begin", "end")]
