"""Evaluate a day once it is over: a Dagster asset with a partition a day and a check for each gate.

A check is of a gate, not of a slice: what it observed in each slice is in the metadata. Run it with
`dagster dev -f dagster_assets.py`, or one day by
`dagster asset materialize -f dagster_assets.py --select nightly --partition 2026-03-05`.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import yaml

SUITE = Path(os.environ.get("PLMETRICS_SUITES", "/srv/nightly")) / "nightly.yaml"
DAYS = dg.DailyPartitionsDefinition(start_date="2026-03-01", timezone="UTC")
GATES = {gate["name"]: gate for gate in yaml.safe_load(SUITE.read_text(encoding="utf-8"))["gates"]}
GATE_FAILED, NO_DATA_YET, ENVIRONMENT = 3, 5, 6


@dg.asset(
    partitions_def=DAYS,
    check_specs=[dg.AssetCheckSpec(name=name, asset="nightly") for name in GATES],
)
def nightly(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:
    """The metrics of a day, as plmetrics writes them into the run folder."""
    command = ["plmetrics", "run", SUITE.name, "--interval", context.partition_key, "--format", "json"]
    done = subprocess.run(command, cwd=SUITE.parent, stdout=subprocess.PIPE, text=True, check=False)
    outcome = json.loads(done.stdout)
    if done.returncode in {NO_DATA_YET, ENVIRONMENT}:
        raise dg.RetryRequested(max_retries=8, seconds_to_wait=1800)
    if done.returncode not in {0, GATE_FAILED}:
        raise dg.Failure(outcome["message"], allow_retries=False)
    yield dg.MaterializeResult(
        metadata={"run": outcome["folder"], "verdict": outcome["verdict"]},
        check_results=[check(name, outcome["gates"]) for name in GATES],
    )


def check(name: str, rows: list[dict]) -> dg.AssetCheckResult:
    """The check of a gate: it passes where no model and slice failed; a gate that could not decide only warns."""
    rows = [row for row in rows if row["gate"] == name]
    verdicts = {row["verdict"] for row in rows}
    is_error = "fail" in verdicts and GATES[name].get("level", "fail") == "fail"
    return dg.AssetCheckResult(
        check_name=name,
        passed=verdicts <= {"pass", "skipped"},
        severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
        metadata={
            f"{row['model']} {row['slice']}": f"{row['verdict']}: {row['observed']} {row['rule']}"
            for row in rows
        },
    )
