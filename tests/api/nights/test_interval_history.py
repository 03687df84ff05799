"""The history of a suite against a plain loop over its manifests and tables."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from suites.nights import Nights, day, nights, rows
from typer.testing import CliRunner

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.cli.app import app
from plmetrics.features.nights.interval_history import read_history

__all__ = ["nights"]

KEYS = ("interval", "run_id", "model", "slice_set", "slice", "metric")
Row = dict[str, Any]


def expected(home: Path) -> list[Row]:
    """The rows of all results that were ever written, one file after another."""
    rows: list[Row] = []
    for folder in sorted((home / "intervals").iterdir()):
        by_number = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
        manifests = [json.loads(path.read_text()) for path in by_number]
        last = {manifest["run"]: manifest for manifest in manifests}
        for manifest in last.values():
            gates = pl.read_parquet(home / manifest["run"] / "gates.parquet").to_dicts()
            for row in pl.read_parquet(home / manifest["run"] / "metrics.parquet").to_dicts():
                same = [
                    gate["verdict"]
                    for gate in gates
                    if all(gate[key] == row[key] for key in ("model", "slice_set", "slice", "metric"))
                ]
                facts = {
                    "interval": folder.name,
                    "run_id": manifest["run"],
                    "verdict": manifest["verdict"],
                    "gate_verdict": same[0] if same else None,
                    "status": "current" if manifest["run"] == manifests[-1]["run"] else "superseded",
                    "accepted": manifest["verdict"] != "fail" or manifest["accepted"] is not None,
                }
                columns = ("model", "slice_set", "slice", "metric", "value", "lower", "upper", "n")
                rows.append({**facts, **{name: row[name] for name in columns}})
    return rows


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [str(row[key]) for key in KEYS])


def with_values(frame: pl.DataFrame, like: list[Row]) -> list[Row]:
    return frame.filter(pl.col("model").is_not_null()).select(*like[0]).to_dicts()


def night_after_night(nights: Nights) -> None:
    """Days 0 to 5 without day 3; day 2 fails and is accepted, day 4 is evaluated twice."""
    nights.write(2, bad=True)
    for number in (0, 1, 2, 4, 5):
        result = nights.run(number)
        if number == 2:
            assert result.folder is not None
            accept(result.folder, "the model was off", "ann")
    nights.write(4, height=90)
    nights.run(4)


def test_a_history_has_the_bounds_of_values_on_a_grid(nights: Nights) -> None:
    gate = {"metric": "roc_auc", "at_least": 0.5, "consecutive": 2}
    nights.write_suite(metrics=["roc_auc", "brier"], exact=False, gates=[gate])
    results = [nights.run(number) for number in (0, 1)]
    history = plm.history(nights.home)
    for result in results:
        rows = history.filter(run_id=result.record["run_id"])
        assert rows["bound"].to_list() == result.metrics["bound"].to_list()
        of_gate = result.metrics.filter(metric="roc_auc", slice_set="overall")["bound"].to_list()
        assert result.gates["bound"].to_list() == of_gate
        assert None not in of_gate


def test_each_class_has_the_verdict_of_its_gates(tmp_path: Path) -> None:
    """Gates tell their class; those of older versions, without keys, count for all classes of a metric."""
    frame = pl.DataFrame({"y": ["a", "a", "b", "b"], "p": ["a", "a", "b", "a"]})
    frame.write_parquet(tmp_path / "t.parquet")
    suite = {
        "name": "classes",
        "task": "multiclass",
        "data": {"path": str(tmp_path / "t.parquet")},
        "columns": {"label": "y"},
        "models": {"m": {"prediction": "p"}},
        "metrics": ["recall(average=none)"],
        "gates": [{"metric": "recall(average=none)", "at_least": 0.9}],
        "output": {"directory": str(tmp_path / "runs")},
    }
    (tmp_path / "s.yaml").write_text(json.dumps(suite))
    result = plm.run(tmp_path / "s.yaml")

    def verdicts() -> dict[str, str]:
        history = plm.history(tmp_path / "runs" / "classes")
        return dict(history.select("class", "gate_verdict").rows())

    assert verdicts() == {"a": "pass", "b": "fail"}
    assert result.folder is not None
    gates = result.folder / "gates.parquet"
    pl.read_parquet(gates).drop("key", "class", "bound").write_parquet(gates)
    record = json.loads((result.folder / "run.json").read_text())
    del record["tables"]["gates"]["sha256"]
    (result.folder / "run.json").write_text(json.dumps(record))
    assert verdicts() == {"a": "fail", "b": "fail"}


@pytest.mark.slow
def test_a_history_is_what_a_loop_over_the_files_reads(nights: Nights) -> None:
    night_after_night(nights)
    rows = expected(nights.home)
    assert {row["status"] for row in rows} == {"current", "superseded"}
    complete = plm.history(nights.home, superseded=True)
    assert in_order(with_values(complete, rows)) == in_order(rows)
    current = [row for row in rows if row["status"] == "current"]
    frame = plm.history(nights.home)
    assert in_order(with_values(frame, rows)) == in_order(current)
    assert frame["start"].is_sorted()
    accepted = frame.filter(interval=day(2))["accepted"]
    assert accepted.all()
    assert set(frame.filter(interval=day(2))["verdict"]) == {"fail"}


@pytest.mark.slow
def test_gaps_are_rows_without_values(nights: Nights) -> None:
    night_after_night(nights)
    frame = plm.history(nights.home)
    missing = frame.filter(status="missing")
    assert missing["interval"].to_list() == [day(3)]
    facts = missing.drop("interval", "start", "end", "status").row(0)
    assert set(facts) == {None}
    assert str(missing["start"].item()) == f"{day(3)} 00:00:00+00:00"
    last = plm.history(nights.home, last=3)
    assert last["interval"].unique().sort().to_list() == [day(3), day(4), day(5)]


@pytest.mark.slow
def test_metrics_models_and_slices_are_chosen_by_name(nights: Nights) -> None:
    night_after_night(nights)
    rows = [row for row in expected(nights.home) if row["status"] == "current"]
    frame = plm.history(nights.home.parent, metrics="brier", models="new", slices="region=n")
    chosen = [
        row for row in rows if (row["metric"], row["model"], row["slice"]) == ("brier", "new", "region=n")
    ]
    assert in_order(with_values(frame, rows)) == in_order(chosen)
    assert frame.filter(status="missing").height == 1
    of_set = plm.history(nights.home / "latest.json", slices=["region"])
    assert set(of_set["slice"].drop_nulls()) == {"region=n", "region=s"}
    with pytest.raises(plm.ConfigError, match="roc_auc"):
        plm.history(nights.home, metrics=["rocauc"])
    with pytest.raises(plm.ConfigError, match="no model 'olds'"):
        plm.history(nights.home, models="olds")


@pytest.mark.slow
def test_a_damaged_result_is_listed_and_said(nights: Nights) -> None:
    night_after_night(nights)
    current = nights.current(1)
    assert current is not None
    path = nights.home / current.run / "metrics.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.warns(plm.PlmetricsWarning, match=f"{day(1)}.*does not fit its hash"):
        frame = plm.history(nights.home)
    damaged = frame.filter(status="damaged")
    assert damaged.select("interval", "verdict", "value").rows() == [(day(1), "pass", None)]
    for manifest in (nights.home / "intervals" / day(5)).iterdir():
        manifest.write_text("{")
    with pytest.warns(plm.PlmetricsWarning, match=f"{day(5)} has no manifest"):
        assert set(plm.history(nights.home).filter(status="damaged")["interval"]) == {day(1), day(5)}


@pytest.mark.slow
def test_of_the_last_intervals_alone_files_are_read(nights: Nights) -> None:
    night_after_night(nights)
    for number in (0, 1):
        manifest = nights.current(number)
        assert manifest is not None
        shutil.rmtree(nights.home / manifest.run)
    assert plm.history(nights.home, last=4).filter(status="damaged").is_empty()


@pytest.mark.slow
def test_superseded_runs_that_are_gone_have_their_verdict(nights: Nights) -> None:
    night_after_night(nights)
    old = plm.history(nights.home, superseded=True).filter(status="superseded")["run_id"].unique().item()
    shutil.rmtree(nights.home / old)
    rows = plm.history(nights.home, superseded=True).filter(status="superseded")
    assert rows.select("run_id", "verdict", "value").rows() == [(old, "pass", None)]


def test_a_suite_without_intervals_has_its_runs_by_time(nights: Nights) -> None:
    nights.write_suite(interval=None)
    runs = [plm.run(nights.suite) for _ in range(3)]
    frame = plm.history(nights.home, metrics="brier", models="old", slices="overall")
    assert frame["run_id"].to_list() == [run.record["run_id"] for run in runs]  # type: ignore[typeddict-item]
    assert frame["interval"].null_count() == 3
    values = [run.metrics.filter(metric="brier", model="old", slice="all")["value"].item() for run in runs]
    assert frame["value"].to_list() == values
    assert plm.history(nights.home, last=1)["run_id"].n_unique() == 1


@pytest.mark.parametrize("interval", [{"partition": "day"}, None])
def test_a_suite_without_gates_has_no_verdicts(nights: Nights, interval: dict[str, str] | None) -> None:
    nights.write_suite(gates=None, interval=interval)
    if interval is None:
        plm.run(nights.suite)
    else:
        nights.run(0)
    frame = plm.history(nights.home)
    assert set(frame["status"]) == {"current"}
    assert frame["value"].null_count() == 0
    assert frame["gate_verdict"].null_count() == frame.height


def test_months_are_counted_by_the_calendar(nights: Nights) -> None:
    nights.write_suite(interval={"partition": "day", "every": "1mo"})
    plm.run(nights.suite, interval="2026-03")
    folder = nights.home / "intervals" / "2026-03"
    for month, start, end in (("2025-12", "2025-12-01", "2026-01-01"),):
        manifest = json.loads((folder / "000001.json").read_text())
        moments = {"start": f"{start}T00:00:00+00:00", "end": f"{end}T00:00:00+00:00"}
        (folder.parent / month).mkdir()
        content = json.dumps({**manifest, **moments, "interval": month})
        (folder.parent / month / "000001.json").write_text(content)
    statuses = plm.history(nights.home).group_by("interval", maintain_order=True).first()
    assert statuses.select("interval", "status").rows() == [
        ("2025-12", "current"),
        ("2026-01", "missing"),
        ("2026-02", "missing"),
        ("2026-03", "current"),
    ]


def test_what_has_no_runs_is_said(tmp_path: Path) -> None:
    with pytest.raises(plm.AbsentDataError, match="has no runs"):
        plm.history(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name / "intervals").mkdir(parents=True)
    with pytest.raises(plm.ConfigError, match="2 suites: a, b"):
        plm.history(tmp_path)
    with pytest.raises(plm.AbsentDataError, match="no run in it has ended"):
        plm.history(tmp_path / "a")
    for last in (0, "7d"):
        with pytest.raises(plm.ConfigError, match="one interval or more"):
            plm.history(tmp_path / "a", last=last)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("count", "read"), [(1, 96), (2, 60), (12, 60)])
def test_of_hours_four_days_are_read_for_the_pattern_of_the_day(
    nights: Nights, count: int, read: int
) -> None:
    nights.write_suite(interval={"partition": "day", "every": "1d"})
    nights.run(0)
    written = next((nights.home / "intervals").rglob("*.json"))
    manifest = json.loads(written.read_text())
    shutil.rmtree(nights.home / "intervals")
    ending = "" if count == 1 else f".{count}h"
    for month in (1, 3):
        key = f"2026-0{month}-01T00Z{ending}"
        moments = {
            name: f"2026-0{month}-01T{hour:02}:00:00+00:00" for name, hour in (("start", 0), ("end", count))
        }
        (nights.home / "intervals" / key).mkdir(parents=True)
        content = json.dumps({**manifest, **moments, "interval": key, "timezone": "UTC"})
        (nights.home / "intervals" / key / "000001.json").write_text(content)
    assert read_history(nights.home, last=60).frame["start"].n_unique() == read
    assert plm.history(nights.home, last=14)["start"].n_unique() == 14


def test_one_interval_of_another_length_is_said_in_the_singular(nights: Nights) -> None:
    nights.write_suite(interval={"partition": "day", "every": "1mo"})
    nights.write(-5, pl.read_parquet(nights.partition(0)))
    plm.run(nights.suite, interval="2026-02")
    nights.write_suite()
    nights.run(0)
    with pytest.warns(plm.PlmetricsWarning, match="1 interval of 1mo is not shown: the last ones are of 1d"):
        plm.history(nights.home)


def test_an_interval_without_the_slice_that_is_asked_for_has_its_place(nights: Nights) -> None:
    for number in range(4):
        frame = rows(number)
        nights.write(number, frame.filter(region="n") if number == 1 else frame)
        nights.run(number)
    asked = {"metrics": "brier", "models": "old", "slices": "region=s"}
    found = plm.history(nights.home, **asked)
    assert found["interval"].to_list() == [day(number) for number in range(4)]
    lone = found.row(1, named=True)
    assert (lone["status"], lone["verdict"]) == ("current", "pass")
    assert [lone[name] for name in ("model", "slice", "metric", "value", "n", "value_status")] == [None] * 6
    text = CliRunner().invoke(app, ["history", str(nights.home), "brier", "--slice", "region=s"]).output
    assert "4 intervals" in text
    assert day(1) in text
