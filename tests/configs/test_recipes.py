"""Every recipe is run: by its tool where that is installed, and its shell lines by a shell, with each exit code."""

import importlib.util
import os
import py_compile
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from configparser import RawConfigParser
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "configs" / "recipes"
YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).date()
PASSED, FAILED, DAMAGED, ABSENT, SKIPPED = 0, 3, 4, 5, 99
DAYS = {code: YESTERDAY - timedelta(days=back) for code, back in ((FAILED, 1), (DAMAGED, 2), (ABSENT, 40))}
DAYS[PASSED] = YESTERDAY
MAKE = [sys.executable, str(RECIPES / "make_scores.py"), "scores"]


AIRFLOW = """
import sys
from datetime import datetime, timedelta, timezone
from airflow_dag import dag
for task in dag.tasks:
    task.retry_delay = timedelta(0)
for day in sys.argv[1:]:
    run = dag.test(logical_date=datetime.fromisoformat(day).replace(tzinfo=timezone.utc))
    tasks = sorted(run.get_task_instances(), key=lambda task: task.task_id)
    print("states", ", ".join(f"{task.task_id} {task.state} {task.try_number}" for task in tasks))
"""
"""Prints what became of the tasks of each day, and in how many tries."""


class Outcome(NamedTuple):
    """The exit code and the output of a shell."""

    code: int
    output: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite, four nights up to yesterday, one of them bad and one damaged, and a program `plmetrics`."""
    place = tmp_path_factory.mktemp("nightly")
    shutil.copy(RECIPES / "nightly.yaml", place)
    first = YESTERDAY - timedelta(days=3)
    subprocess.run([*MAKE, str(first), "4", str(DAYS[FAILED])], cwd=place, check=True)
    (place / "scores" / f"day={DAYS[DAMAGED]}" / "part-0.parquet").write_bytes(b"PAR1")
    program = place / "bin" / "plmetrics"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m plmetrics "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return place


@pytest.fixture
def shell(folder: Path) -> Callable[..., Outcome]:
    """Runs lines of a recipe as of a day: `yesterday`, the only day that recipes name, is replaced."""

    def run(lines: str, day: object = YESTERDAY, command: str = "sh", **variables: str) -> Outcome:
        environment = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            **variables,
        }
        text = lines.replace("/srv/nightly", str(folder)).replace("-d yesterday", f"-d {day}")
        done = subprocess.run(
            [command, "-c", text], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return Outcome(done.returncode, done.stdout)

    return run


def commands_of_cron() -> list[str]:
    """The commands of the crontab, as cron hands them to its shell."""
    text = (RECIPES / "plmetrics.cron").read_text("utf-8")
    entries = [line for line in text.splitlines() if re.match(r"\d", line)]
    return [entry.split(maxsplit=5)[5].replace(r"\%", "%") for entry in entries]


def units() -> Iterator[RawConfigParser]:
    for kind in ("service", "timer"):
        unit = RawConfigParser(strict=True)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read(RECIPES / f"plmetrics-nightly.{kind}")
        yield unit


def manifest(name: str) -> dict[str, Any]:
    content = yaml.safe_load((RECIPES / name).read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def lines_of_actions(step: str) -> str:
    steps = manifest("github-actions.yaml")["jobs"]["evaluate"]["steps"]
    return str(next(each["run"] for each in steps if each.get("name") == step))


def imported(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of a recipe, with the suites of a folder."""
    monkeypatch.setenv("PLMETRICS_SUITES", str(folder))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    described = importlib.util.spec_from_file_location(name, RECIPES / f"{name}.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def test_the_page_names_every_recipe() -> None:
    text = (RECIPES / "README.md").read_text("utf-8")
    assert {file.name for file in RECIPES.iterdir() if file.is_file()} - {"README.md"} <= set(
        re.findall(r"\]\(([\w.-]+)\)", text)
    )


@pytest.mark.parametrize("name", ["airflow_dag", "dagster_assets", "make_scores"])
def test_python_compiles(name: str, tmp_path: Path) -> None:
    py_compile.compile(str(RECIPES / f"{name}.py"), cfile=str(tmp_path / "compiled"), doraise=True)


@pytest.mark.slow
@pytest.mark.parametrize("code", DAYS)
def test_systemd_ends_with_the_exit_code(code: int, shell: Callable[..., Outcome]) -> None:
    service, _ = units()
    start = service["Service"]["ExecStart"].replace("%%", "%").replace("$$", "$")
    program, option, line = shlex.split(start)
    assert (program, option) == ("/bin/sh", "-c")
    assert shell(line, DAYS[code]).code == code


def test_systemd_retries_what_a_retry_mends() -> None:
    service, timer = units()
    retained = {int(word) for word in service["Service"]["RestartPreventExitStatus"].split()}
    assert service["Service"]["Restart"] == "on-failure"
    assert retained == {1, 2, 3, 4}
    assert timer["Timer"]["OnCalendar"].endswith("UTC")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for file in RECIPES.glob("plmetrics-nightly.*"):
        shutil.copy(file, tmp_path)
    files = sorted(str(file) for file in tmp_path.iterdir())
    done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True, check=False)
    about_ours = [line for line in done.stderr.splitlines() if "plmetrics-nightly" in line]
    assert not about_ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "mailed"), [(PASSED, ""), (ABSENT, ""), (FAILED, "FAIL  nightly"), (DAMAGED, "error:")]
)
def test_cron_mails_what_is_wrong(code: int, mailed: str, shell: Callable[..., Outcome]) -> None:
    output = shell(commands_of_cron()[0], DAYS[code]).output
    assert output.startswith(mailed)
    assert bool(output) == bool(mailed)


@pytest.mark.slow
def test_cron_mails_at_noon_that_nothing_came(shell: Callable[..., Outcome]) -> None:
    assert "there is no data" in shell(commands_of_cron()[1], DAYS[ABSENT]).output
    backfill, collection = commands_of_cron()[2:]
    assert "truncated" in shell(backfill).output
    assert not shell(collection).output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("day", "code", "summary"),
    [
        (PASSED, PASSED, "PASS nightly"),
        (FAILED, FAILED, "FAIL nightly"),
        (DAMAGED, DAMAGED, ""),
        (ABSENT, 0, ""),
    ],
)
def test_actions_show_a_summary(
    day: int, code: int, summary: str, shell: Callable[..., Outcome], tmp_path: Path
) -> None:
    file = tmp_path / "summary.md"
    done = shell(
        f"set -eo pipefail\n{lines_of_actions('Last night')}",
        DAYS[day],
        "bash",
        GITHUB_STEP_SUMMARY=str(file),
    )
    assert done.code == code
    assert summary in file.read_text("utf-8")
    assert ("::warning::" in done.output) == (day == ABSENT)


@pytest.mark.slow
def test_actions_backfill(shell: Callable[..., Outcome], tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    span = {"FROM": str(DAYS[FAILED]), "TO": str(YESTERDAY + timedelta(days=1))}
    lines = f"set -eo pipefail\n{lines_of_actions('Backfill')}"
    done = shell(lines, command="bash", GITHUB_STEP_SUMMARY=str(file), **span)
    assert done.code == FAILED
    assert [line.split()[:2] for line in file.read_text("utf-8").splitlines()[1:3]] == [
        [str(DAYS[FAILED]), "fail"],
        [str(YESTERDAY), "pass"],
    ]


def test_actions_retain_failed_nights() -> None:
    workflow = manifest("github-actions.yaml")
    assert set(workflow[True]) == {"schedule", "workflow_dispatch"}  # YAML 1.1 takes `on` for true
    steps = {step.get("uses"): step for step in workflow["jobs"]["evaluate"]["steps"]}
    saved, restored = steps["actions/cache/save@v4"], steps["actions/cache/restore@v4"]
    assert saved["if"] == "always()"
    assert saved["with"]["key"] == restored["with"]["key"]
    assert saved["with"]["path"] == restored["with"]["path"]


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("name", ["kubernetes-cronjob.yaml", "kubernetes-backfill.yaml"])
@pytest.mark.parametrize("code", DAYS)
def test_pods_end_with_the_exit_code(name: str, code: int, shell: Callable[..., Outcome]) -> None:
    job = manifest(name)
    is_indexed = job["kind"] == "Job"
    pod = (job if is_indexed else job["spec"]["jobTemplate"])["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["/bin/sh", "-c"]
    (line,) = container["args"]
    assert ("$JOB_COMPLETION_INDEX" in line) == is_indexed
    first = DAYS[code] - timedelta(days=30)
    names = {variable["name"] for variable in container.get("env", ())}
    assert names == ({"FIRST_DAY"} if is_indexed else set())
    assert shell(line, DAYS[code], FIRST_DAY=str(first), JOB_COMPLETION_INDEX="30").code == code


def test_jobs_have_the_structure_of_kubernetes() -> None:
    cron, backfill = manifest("kubernetes-cronjob.yaml"), manifest("kubernetes-backfill.yaml")
    assert [job["apiVersion"] for job in (cron, backfill)] == ["batch/v1"] * 2
    assert [job["kind"] for job in (cron, backfill)] == ["CronJob", "Job"]
    assert (cron["spec"]["timeZone"], cron["spec"]["concurrencyPolicy"]) == ("Etc/UTC", "Forbid")
    assert backfill["spec"]["completionMode"] == "Indexed"
    assert backfill["spec"]["backoffLimitPerIndex"] >= 1
    for spec, action in ((cron["spec"]["jobTemplate"]["spec"], "FailJob"), (backfill["spec"], "FailIndex")):
        pod = spec["template"]["spec"]
        by_code, by_node = spec["podFailurePolicy"]["rules"]
        assert (by_code["action"], by_node["action"]) == (action, "Ignore")
        assert by_code["onExitCodes"]["containerName"] == pod["containers"][0]["name"]
        assert 6 not in by_code["onExitCodes"]["values"]
        assert pod["restartPolicy"] == "Never"  # podFailurePolicy needs it
        mounts = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounts == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.slow
def test_airflow(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("airflow.sdk", reason="Airflow is not installed")
    (tmp_path / "dags").mkdir()
    shutil.copy(RECIPES / "airflow_dag.py", tmp_path / "dags")
    variables = {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PLMETRICS_SUITES": str(folder),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{tmp_path / 'dags'}",
    }
    days = [str(DAYS[code] + timedelta(days=1)) for code in (PASSED, FAILED, ABSENT)]
    output = ""
    for arguments in (
        ["-m", "airflow", "db", "migrate"],
        ["-m", "airflow", "dags", "reserialize"],
        ["-c", AIRFLOW, *days],
    ):
        done = subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        output = done.stdout
    assert re.findall(r"^states (.*)$", output, re.MULTILINE) == [
        "evaluate success 1, gates success 1",
        "evaluate success 1, gates failed 1",
        "evaluate skipped 9, gates skipped 0",
    ]


@pytest.mark.slow
def test_a_damaged_day_does_not_stop_the_next(folder: Path, shell: Callable[..., Outcome]) -> None:
    home = "--set output.directory=late"
    lines = f"plmetrics run nightly.yaml {home} --quiet --interval"
    earlier = YESTERDAY - timedelta(days=3)
    file = folder / "scores" / f"day={earlier}" / "part-0.parquet"
    content = file.read_bytes()
    assert shell(f"{lines} {earlier}").code == PASSED
    file.write_bytes(b"PAR1")
    done = shell(f"{lines} {YESTERDAY} 2>&1")
    file.write_bytes(content)
    assert done.code == PASSED
    assert "could not be evaluated again, its result stays: scores/" in done.output


@pytest.mark.slow
def test_dagster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dagster = pytest.importorskip("dagster", reason="Dagster is not installed")
    asset = imported("dagster_assets", folder, monkeypatch).nightly
    severities = {}
    for code in (PASSED, FAILED, DAMAGED):
        done = dagster.materialize([asset], partition_key=str(DAYS[code]), raise_on_error=False)
        assert done.success == (code != DAMAGED)
        for check in done.get_asset_check_evaluations():
            severities[code, check.check_name] = None if check.passed else check.severity.value
    assert severities[PASSED, "ranks"] is None
    assert severities[FAILED, "ranks"] == "ERROR"
    assert (DAMAGED, "ranks") not in severities
