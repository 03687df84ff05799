"""`plmetrics history` and the lines of reports: what they print is what the frame holds."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result
from polars.testing import assert_frame_equal
from report.html.test_page import Page
from suites.nights import Nights, day, nights, rows
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.cli.app import app
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise

__all__ = ["nights"]


@pytest.fixture
def home(nights: Nights) -> Path:
    """Days 0 to 4 without day 3; day 2 fails."""
    nights.write(2, bad=True)
    for number in (0, 1, 2, 4):
        nights.run(number)
    return nights.home


def history(*arguments: object, width: int = 100) -> Result:
    return CliRunner(env={"COLUMNS": str(width), "NO_COLOR": "1"}).invoke(
        app, ["history", *map(str, arguments)]
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [100, 60])
def test_the_text_has_every_interval_with_its_values_and_marks(home: Path, width: int) -> None:
    result = history(home, "roc_auc", width=width)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= width
    assert "\x1b" not in result.stdout
    values = plm.history(home, metrics="roc_auc", slices="overall").filter(model="old", interval=day(1))
    line = next(line for line in result.stdout.splitlines() if line.strip().startswith(day(1)))
    assert f"{values['value'].item():.4g}"[:5] in line
    assert "1 fail, 1 missing" in " ".join(result.stdout.split())
    assert f"{day(3)}" in result.stdout
    assert "missing" in result.stdout.split(day(3))[1].split(day(4))[0]
    blocks = next(word for word in result.stdout.split() if set(word) & set("▁█"))
    assert len(blocks) == 5
    assert blocks[3] == "·"
    assert blocks.count("▁") >= 1


@pytest.mark.slow
def test_json_csv_and_parquet_hold_the_frame(home: Path, tmp_path: Path) -> None:
    frame = plm.history(home, slices="overall", last=30)
    content = json.loads(history(home, "--format", "json").stdout)
    assert [row["value"] for row in content["history"]] == frame["value"].to_list()
    assert [row["status"] for row in content["history"]] == frame["status"].to_list()
    rows = list(csv.DictReader(io.StringIO(history(home, "--format", "csv").stdout)))
    assert [row["interval"] for row in rows] == frame["interval"].to_list()
    assert [float(row["value"]) if row["value"] else None for row in rows] == frame["value"].to_list()
    file = tmp_path / "history.parquet"
    assert history(home, "--format", "parquet", "--output", file).exit_code == 0
    assert_frame_equal(pl.read_parquet(file), frame)
    refused = history(home, "--format", "parquet")
    assert refused.exit_code == 2
    assert "--output history.parquet" in refused.stderr


@pytest.mark.slow
def test_models_slices_and_numbers_of_intervals_are_chosen(home: Path) -> None:
    arguments = ("--model", "new", "--slice", "region=n", "--last", "2", "--format", "json")
    content = json.loads(history(home, "brier", *arguments).stdout)
    rows = [(row["interval"], row["model"], row["slice"], row["metric"]) for row in content["history"]]
    assert rows == [(day(3), None, None, None), (day(4), "new", "region=n", "brier")]


@pytest.mark.slow
def test_a_text_of_many_series_shows_the_first_ones(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plmetrics.features.nights.history_report._MOST_SERIES", 3)
    output = history(home, "brier", "--slice", "region").stdout
    assert [line.split()[0] for line in output.splitlines() if line.startswith("brier")] == ["brier,"] * 2
    assert "1 line more" in output
    assert "more: name" not in output
    assert "4 tables more: name" in history(home, "--slice", "region").stdout


@pytest.mark.slow
def test_superseded_results_are_marked_with_all(nights: Nights, home: Path) -> None:
    nights.write(1, height=90)
    nights.run(1)
    assert "superseded" not in history(home, "brier").stdout
    assert "superseded" in history(home, "brier", "--all").stdout


@pytest.mark.slow
def test_what_is_not_there_is_said(home: Path, tmp_path: Path) -> None:
    wrong = history(home, "roc")
    assert wrong.exit_code == 2
    assert "the history has no metric 'roc'" in wrong.stderr
    empty = history(tmp_path / "nowhere")
    assert empty.exit_code == 5
    assert "no such folder" in empty.stderr
    (tmp_path / "suite.yaml").write_text("name: s")
    file = history(tmp_path / "suite.yaml")
    assert file.exit_code == 2
    assert "is a file, not a folder of runs" in file.stderr


@pytest.mark.slow
def test_a_console_of_few_characters_has_a_sparkline(home: Path) -> None:
    result = CliRunner(charset="ascii").invoke(app, ["history", str(home), "roc_auc"])
    assert result.exit_code == 0
    assert "█" not in result.stdout
    assert "\\u" not in result.stdout


@pytest.mark.slow
def test_the_report_of_a_night_has_a_line_of_its_past(home: Path) -> None:
    text = CliRunner().invoke(app, ["report", str(home)]).stdout
    lines = text.split("History (last 5 intervals)\n")[1].splitlines()[:2]
    assert [line.split()[:2] for line in lines] == [["roc_auc", "old"], ["roc_auc", "new"]]
    first = plm.history(home, last=30)["run_id"][0]
    assert "History" not in CliRunner().invoke(app, ["report", str(home / first)]).stdout


@pytest.mark.slow
def test_a_change_of_level_is_said_everywhere(nights: Nights) -> None:
    for number in range(8):
        frame = rows(number, height=300).with_columns(new=rows(number, height=300, bad=number > 3)["new"])
        nights.write(number, frame)
        nights.run(number)
    frame = plm.history(nights.home, slices="overall").filter(pl.col("level_before").is_not_null())
    assert frame.select("interval", "model", "metric").rows() == [
        (day(4), "new", metric) for metric in ("roc_auc", "brier", "accuracy")
    ]
    values = plm.history(nights.home, metrics="roc_auc", models="new", slices="overall")["value"]
    before, after = frame.row(0, named=True)["level_before"], frame.row(0, named=True)["level"]
    assert (before, after) == pytest.approx((values[:4].mean(), values[4:].mean()))
    text = history(nights.home, "roc_auc").stdout
    words = f"roc_auc of new moved on {day(4)} from {before:.4f} to {after:.4f}"
    assert words in text
    assert "moved" in next(line for line in text.splitlines() if line.strip().startswith(day(4)))
    line = next(line for line in text.splitlines() if line.split()[:2] == ["roc_auc", "new"])
    assert line.split()[2][4] == "|"
    content = json.loads(history(nights.home, "roc_auc", "--last", "4", "--format", "json").stdout)
    assert [(each["interval"], each["level_before"], each["level"]) for each in content["changes"]] == [
        (day(4), before, after)
    ]
    assert words in CliRunner().invoke(app, ["report", str(nights.home)]).stdout
    figure = plm.history_chart(nights.home)
    assert words in figure.description
    data = figure.specification()["datasets"].values()
    assert {row["level"] for part in data for row in part if "level" in row} == {before, after}


def test_models_that_do_not_fit_beside_each_other_have_tables_of_their_own(nights: Nights) -> None:
    names = ["old", "another", "a third model"]
    nights.write_suite(models=dict.fromkeys(names, "old"), gates=None, compare=None, drift=None)
    nights.run(0)
    lines = history(nights.home, "roc_auc", width=40).stdout.splitlines()
    assert [line.split("verdict")[1].strip() for line in lines if "verdict" in line] == names


def test_the_history_of_a_page_names_classes(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / f"days/day=2026-03-0{number}"
        folder.mkdir(parents=True)
        table = pl.DataFrame({"y": ["a", "b"] * 20, "p": ["a", "b", "b", "b"] * 10})
        table.write_parquet(folder / "rows.parquet")
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "{name: s, task: multiclass, data: {path: days}, interval: {partition: day}, columns: {label: y},"
        " models: {m: {prediction: p}}, metrics: [recall(average=none)],"
        " gates: [{metric: recall(average=none), at_least: 0.1}]}"
    )
    runs = [plm.run(suite, output=tmp_path / "runs", interval=f"2026-03-0{number}") for number in (1, 2)]
    head, *rows = Page(html_text(summarise(runs[-1]))).tables["History"]
    titles = [cell[0] for cell in head]
    keys = [tuple(row[titles.index(title)][0] for title in ("interval", "class", "value")) for row in rows]
    assert keys == [
        (f"2026-03-0{number}", name, value) for number in (2, 1) for name, value in (("a", "0.5"), ("b", "1"))
    ]


def test_metrics_across_slices_are_in_the_history_without_being_asked_for(nights: Nights) -> None:
    """Also where the suite has no others."""
    worst = {"name": "worst", "over": {"slice_set": "region", "metric": "roc_auc", "agg": "worst"}}
    nights.write_suite(metrics=[worst], compare=None, gates=None)
    results = [nights.run(number) for number in (0, 1)]
    values = [result.metrics.filter(model="old")["value"].item() for result in results]
    shown = history(nights.home, "--format", "json")
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.stdout)["history"]
    assert [row["value"] for row in rows if row["model"] == "old"] == pytest.approx(values)
    assert "worst over region  old" in history(nights.home).stdout
    assert "worst over region  old" in repr(results[1])
    assert plm.history_chart(nights.home).frame.filter(model="old")["value"].to_list() == values


def test_a_suite_with_another_metric_has_its_last_intervals(nights: Nights) -> None:
    """Day 1 has no result; the metric of the first days is no more asked for."""
    for metric, numbers in (("brier", (0, 2)), ("accuracy", (3, 4))):
        nights.write_suite(metrics=[metric], slices=None, gates=None)
        results = [nights.run(number) for number in numbers]
    last = plm.history(nights.home, metrics="accuracy", last=3)["interval"]
    assert last.unique(maintain_order=True).to_list() == [day(3), day(4)]
    assert "accuracy  old" in repr(results[-1]).split("History")[1]
    assert set(plm.history_chart(nights.home).frame["metric"]) == {"accuracy"}
