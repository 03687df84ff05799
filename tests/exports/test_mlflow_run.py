import dataclasses
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exports.examples import of_interval

import plmetrics as plm
from plmetrics.core.errors import EnvironmentFault
from plmetrics.core.results import first_rows, gate_table
from plmetrics.exports.mlflow_run import MlflowTarget, _metrics, _tags, metric_names, mlflow_target
from plmetrics.exports.protocol import EndedRun
from plmetrics.suite.yaml.load import load_suite

# MLflow and alembic warn of their own plans.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _in_a_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artifacts of a local store lie below the working directory."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


def logged(uri: str, experiment: str) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=uri)
        found = client.get_experiment_by_name(experiment)
        assert found is not None
        return list(client.search_runs([found.experiment_id], order_by=["attributes.start_time ASC"]))


@pytest.mark.slow
def test_a_run_is_logged_with_its_report(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'ml.db'}"
    section = {"experiment": "nightly", "uri": uri, "run_name": "tonight"}
    result = plm.run(suite_file({"mlflow": section, "report": True}))
    assert result.folder is not None
    (run,) = logged(uri, "nightly")
    assert run.info.run_name == "tonight"
    assert run.info.status == "FINISHED"
    assert run.data.params == {"suite": "credit", "fingerprint": result.record["fingerprint"]}  # type: ignore[typeddict-item]
    assert run.data.tags["plmetrics.verdict"] == "fail"
    assert run.data.tags["plmetrics.run_id"] == result.folder.name
    assert run.data.tags["plmetrics.gate/roc_auc at least 0.8 B"] == "fail"
    assert run.data.tags["plmetrics.gate/roc_auc at least 0.8 A"] == "pass"
    overall = first_rows(result.metrics).filter(slice_set="overall")
    expected = {
        f"{row['model']}/{row['metric']}{ending}": row[name]
        for row in overall.rows(named=True)
        for name, ending in {"value": "", "lower": ".lower", "upper": ".upper", "n": ".n"}.items()
        if row[name] is not None
    }
    assert {name: value for name, value in run.data.metrics.items() if " " not in name} == expected
    north = result.metrics.filter(model="A", metric="roc_auc", slice="region=north")["value"].item()
    assert run.data.metrics["A/roc_auc region_north"] == north
    page = Path(run.info.artifact_uri) / "report.html"
    assert page.read_bytes() == (result.folder / "report.html").read_bytes()


@pytest.mark.slow
def test_an_interval_that_is_run_again_supersedes(ended: EndedRun, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'ml.db'}"
    target = MlflowTarget("e", uri, None)
    first = of_interval(ended, 20)
    for run in (first, first, of_interval(ended, 21), of_interval(ended, 20)):
        target.write(run)
    superseded = {
        each.info.run_id: each.data.tags.get("plmetrics.superseded_by") for each in logged(uri, "e")
    }
    assert len(superseded) == 3
    assert [by for by in superseded.values() if by] == [by for by in superseded if by in superseded.values()]
    assert sum(by is not None for by in superseded.values()) == 1


@pytest.mark.slow
def test_a_run_that_was_cut_short_is_logged_again(
    ended: EndedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # It is made sooner than a database.
    uri = str(tmp_path / "mlruns")
    target, run = MlflowTarget("e", uri, None), of_interval(ended, 20)
    from mlflow.tracking import MlflowClient

    class Dead(MlflowClient):
        def log_batch(self, *_: Any, **__: Any) -> None:
            raise ConnectionError("the server went away")

        def set_terminated(self, *_: Any, **__: Any) -> None:
            raise ConnectionError("it is still away")

    with monkeypatch.context() as away:
        away.setattr("mlflow.tracking.MlflowClient", Dead)
        with pytest.raises(EnvironmentFault, match="went away"):
            target.write(run)
    (begun,) = logged(uri, "e")
    assert (begun.info.status, begun.data.tags["plmetrics.key"]) == ("RUNNING", run.key)
    target.write(run)
    again = {each.info.status: each for each in logged(uri, "e")}
    assert set(again) == {"FAILED", "FINISHED"}
    assert again["FAILED"].info.run_id == begun.info.run_id
    assert again["FAILED"].data.tags["plmetrics.superseded_by"] == again["FINISHED"].info.run_id


@pytest.mark.slow
def test_runs_that_were_left_running_are_failed_a_day_later(
    ended: EndedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite without intervals has no run that takes their place; one that began today may still be at work."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = str(tmp_path / "mlruns")
    target = MlflowTarget("e", uri, None)
    from mlflow.tracking import MlflowClient

    def at(day: int, **changes: Any) -> EndedRun:
        record = {**ended.record, "run_id": f"202612{day:02}T020000Z-00000{day}", **changes}
        times = dict.fromkeys(("started", "finished"), f"2026-12-{day:02}T02:00:00.000Z")
        return dataclasses.replace(ended, record={**record, **times})

    for day in (1, 5):
        with monkeypatch.context() as killed:
            killed.setattr(MlflowClient, "log_batch", lambda *_, **__: None)
            killed.setattr(MlflowClient, "set_terminated", lambda *_, **__: None)
            target.write(at(day))
    other = dataclasses.replace(at(1), name="other")
    with monkeypatch.context() as killed:
        killed.setattr(MlflowClient, "set_terminated", lambda *_, **__: None)
        target.write(other)
    for day in (5, 6):
        target.write(at(day, run_id=f"202612{day:02}T030000Z-00000{day}"))
    runs = {
        (run.data.tags["plmetrics.suite"], run.data.tags["plmetrics.run_id"]): run for run in logged(uri, "e")
    }
    statuses = {key: run.info.status for key, run in runs.items()}
    assert statuses == {
        (ended.name, at(1).run_id): "FAILED",
        (ended.name, at(5).run_id): "RUNNING",
        ("other", at(1).run_id): "RUNNING",
        (ended.name, "20261205T030000Z-000005"): "FINISHED",
        (ended.name, "20261206T030000Z-000006"): "FINISHED",
    }


def test_mlflow_prints_nothing_in_our_own_process(
    suite_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES",
        "MLFLOW_HTTP_REQUEST_TIMEOUT",
    )
    loaded = load_suite(suite_file({"mlflow": {"experiment": "e"}}))
    assert loaded.suite.output.mlflow is not None
    for ours, expected in ((False, [None, None, None]), (True, ["true", "3", "20"])):
        for name in names:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("plmetrics.exports.mlflow_run.is_ours", lambda ours=ours: ours)
        mlflow_target(loaded, loaded.suite.output.mlflow)
        assert [os.environ.get(name) for name in names] == expected


def test_a_store_of_files(ended: EndedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    MlflowTarget("e", str(tmp_path / "mlruns"), None).write(ended)
    (run,) = logged(str(tmp_path / "mlruns"), "e")
    assert run.data.metrics["A/roc_auc"] > run.data.metrics["B/roc_auc"]


def test_a_server_that_is_not_there_is_a_fault(ended: EndedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    target = MlflowTarget("e", "http://me:hidden@127.0.0.1:9", None)
    with pytest.raises(EnvironmentFault, match="refused") as raised:
        target.write(ended)
    assert "hidden" not in f"{raised.value}{target.description}"


def test_the_extra_is_named(suite_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.tracking", None)
    file = suite_file({"mlflow": {"experiment": "e"}})
    with pytest.raises(EnvironmentFault, match=r"logging to MLflow needs the extra 'mlflow'"):
        plm.run(file)


def test_names_are_valid_and_each_once() -> None:
    from mlflow.utils.validation import _validate_metric_name

    place = {"model": "m", "metric": "recall", "class": "x", "slice_set": "s", "slice": 's="a/b.n"'}
    rows = [place, place | {"slice": "s='a/b.n'"}, place | {"slice": 's="a/b'}, place | {"slice": "é" * 999}]
    names = metric_names(rows)
    full = [f"{name}{ending}" for name in names for ending in ("", ".lower", ".upper", ".n")]
    assert len(set(full)) == len(full)
    for name in full:
        _validate_metric_name(name)
        assert len(name.encode()) <= 250


def test_an_end_without_limit_is_no_metric(ended: EndedRun) -> None:
    """A store in a database would have it as 1.8e308."""
    assert ended.result is not None
    metrics = ended.result.metrics.with_columns(upper=pl.lit(float("inf")), lower=pl.lit(float("-inf")))
    logged = _metrics(ended, dataclasses.replace(ended.result, metrics=metrics))
    assert {metric.key.rpartition(".")[2] for metric in logged} >= {"n"}
    assert not [metric.key for metric in logged if metric.key.endswith((".lower", ".upper"))]


def test_letters_of_any_alphabet_stand_in_names() -> None:
    place = {"model": "m", "metric": "recall", "class": None, "slice_set": "s"}
    cities = ["北京", "上海", "Орёл"]
    names = metric_names([place | {"slice": f"city={city}"} for city in cities])
    assert names == [f"m/recall city_{city}" for city in cities]


def test_a_tag_of_several_gates_has_the_worst_verdict(ended: EndedRun) -> None:
    assert ended.result is not None
    gate = {"gate": "g", "model": "m", "slice_set": "s", "level": "fail"}
    verdicts = {"!": "pass", "?": "skipped", "#": "fail", "%": "inconclusive"}
    gates = gate_table([gate | {"slice": f"s={mark}", "verdict": word} for mark, word in verdicts.items()])
    tags = _tags(ended, dataclasses.replace(ended.result, gates=gates))
    assert tags["plmetrics.gate/g m s__"] == "fail"
