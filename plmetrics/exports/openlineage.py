"""OpenLineage events of a run, as lines of JSON: START, and COMPLETE, FAIL or ABORT."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.redaction import mask_address
from plmetrics.core.version import VERSION
from plmetrics.exports.tidy import rule_identity
from plmetrics.runs.folder import moment_text

if TYPE_CHECKING:
    from datetime import datetime

    from plmetrics.exports.protocol import EndedRun
    from plmetrics.table.storage.places import Place

NAMESPACE = "plmetrics"
_PRODUCER = f"urn:plmetrics:{VERSION}"
_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"


def openlineage_text(run: EndedRun) -> str:
    """Two events. A failing gate is a failed assertion of a complete run; FAIL is a run without results.

    ABORT is a run that was skipped for want of data.
    """
    end = {"error": "FAIL", "skipped": "ABORT"}.get(run.verdict, "COMPLETE")
    events = [_event(run, "START", run.start, gates=()), _event(run, end, run.end, gates=_gates(run))]
    return "".join(f"{json.dumps(event, ensure_ascii=False, allow_nan=False)}\n" for event in events)


def lineage_id(run: EndedRun) -> str:
    """The UUID of a run, always the same for the same run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"plmetrics:{run.name}:{run.run_id}"))


def _event(run: EndedRun, kind: str, moment: datetime, gates: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "eventType": kind,
        "eventTime": moment_text(moment),
        "producer": _PRODUCER,
        "schemaURL": _EVENT,
        "run": {"runId": lineage_id(run), "facets": _run_facets(run, failed=kind == "FAIL")},
        "job": {"namespace": NAMESPACE, "name": run.name, "facets": {"jobType": _job_type()}},
        "inputs": _inputs(run, list(gates)),
        "outputs": [_output(run.folder.parent)],
    }


def _output(home: Place) -> dict[str, str]:
    if isinstance(home, Path):
        return {"namespace": "file", "name": str(home.absolute())}
    return {"namespace": home.address.root, "name": home.address.key}


def _run_facets(run: EndedRun, *, failed: bool) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if run.interval is not None:
        start, end = map(moment_text, run.interval)
        facets["nominalTime"] = _facet(
            "1-0-1", "NominalTimeRunFacet", {"nominalStartTime": start, "nominalEndTime": end}
        )
    if failed:
        facets["errorMessage"] = _facet(
            "1-0-1",
            "ErrorMessageRunFacet",
            {"message": str(run.record.get("message", "")), "programmingLanguage": "Python"},
        )
    return facets


def _job_type() -> dict[str, Any]:
    content = {"processingType": "BATCH", "integration": "PLMETRICS", "jobType": "EVALUATION"}
    return _facet("2-0-4", "JobTypeJobFacet", content)


def _inputs(run: EndedRun, gates: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tables of the suite, as it names them, or its query; the assertions are about the first."""
    data = run.suite.get("data", {})
    inputs: list[dict[str, Any]] = [_dataset(mask_address(path), run.base) for path in _paths(data)]
    if data.get("database"):
        inputs.append({"namespace": mask_address(data["database"]), "name": f"{run.name}.query"})
    if data.get("spark"):
        inputs.append({"namespace": "spark", "name": data["spark"]})
    if inputs and gates:
        assertions = _facet("1-1-0", "DataQualityAssertionsDatasetFacet", {"assertions": gates})
        inputs[0]["inputFacets"] = {"dataQualityAssertions": assertions}
    return inputs


def _dataset(path: str, base: Path) -> dict[str, str]:
    """A path or address by the naming of datasets: the store is the namespace, the rest the name."""
    scheme, mark, rest = path.partition("://")
    if not mark:
        return {"namespace": "file", "name": str(base.absolute() / Path(path))}
    store, _, name = rest.partition("/")
    return {"namespace": f"{scheme}://{store}", "name": name or "/"}


def _paths(data: Mapping[str, Any]) -> list[str]:
    named = [data.get("path"), *(data.get("trec") or {}).values()]
    paths: list[str] = []
    for value in named:
        values = list(value.values()) if isinstance(value, dict) else value
        paths += [values] if isinstance(values, str) else [*(values or ())]
    return [path for path in paths if isinstance(path, str)]


def _gates(run: EndedRun) -> list[dict[str, Any]]:
    """Judged gates, as assertions; an undecided one has not succeeded."""
    if run.result is None:
        return []
    return [
        {
            "assertion": f"{row['metric']} {rule_identity(row)}",
            "success": row["verdict"] == "pass",
            "severity": "error" if row["level"] == "fail" else "warn",
            "name": row["gate"],
            "description": ", ".join(filter(None, (row["model"], row["slice"], row["verdict"]))),
            "expected": row["rule"],
            "actual": "undefined" if row["observed"] is None else repr(row["observed"]),
        }
        for row in run.result.gates.rows(named=True)
        if row["verdict"] != "skipped"
    ]


def _facet(version: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    address = f"{_SPEC}/facets/{version}/{name}.json#/$defs/{name}"
    return {"_producer": _PRODUCER, "_schemaURL": address, **content}
