import dataclasses
import json
import uuid
from pathlib import Path
from typing import Any

from exports.examples import of_interval
from openlineage.client import event_v2
from openlineage.client.generated.data_quality_assertions_dataset import (
    Assertion,
    DataQualityAssertionsDatasetFacet,
)
from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
from openlineage.client.generated.job_type_job import JobTypeJobFacet
from openlineage.client.generated.nominal_time_run import NominalTimeRunFacet

from plmetrics.exports.openlineage import openlineage_text
from plmetrics.exports.protocol import EndedRun

FACETS = {
    "dataQualityAssertions": DataQualityAssertionsDatasetFacet,
    "errorMessage": ErrorMessageRunFacet,
    "jobType": JobTypeJobFacet,
    "nominalTime": NominalTimeRunFacet,
}


def facet(name: str, content: dict[str, Any]) -> Any:
    """A facet by OpenLineage's own client, which knows its schema and its keys."""
    kind: Any = FACETS[name]
    body = {key: value for key, value in content.items() if not key.startswith("_")}
    assert content["_schemaURL"] == kind._get_schema()
    assert content["_producer"].startswith("urn:plmetrics:")
    return kind(**body)


def events(run: EndedRun) -> list[dict[str, Any]]:
    """The events, each one that OpenLineage's client can make as well."""
    parsed = [json.loads(line) for line in openlineage_text(run).splitlines()]
    for event in parsed:
        state = event_v2.RunState(event["eventType"])
        facets = {name: facet(name, content) for name, content in event["run"]["facets"].items()}
        job = event_v2.Job(namespace=event["job"]["namespace"], name=event["job"]["name"])
        facet("jobType", event["job"]["facets"]["jobType"])
        made = event_v2.RunEvent(
            eventType=state,
            eventTime=event["eventTime"],
            run=event_v2.Run(runId=event["run"]["runId"], facets=facets),
            job=job,
            producer=event["producer"],
            inputs=[
                event_v2.InputDataset(namespace=each["namespace"], name=each["name"])
                for each in event["inputs"]
            ],
        )
        assert made.schemaURL == event["schemaURL"]
    return parsed


def test_start_and_complete_are_of_one_run(ended: EndedRun) -> None:
    start, complete = events(ended)
    assert [start["eventType"], complete["eventType"]] == ["START", "COMPLETE"]
    assert start["run"]["runId"] == complete["run"]["runId"] == str(uuid.UUID(start["run"]["runId"]))
    assert start["eventTime"] == ended.record["started"]
    assert complete["eventTime"] == ended.record["finished"]
    assert complete["job"] == start["job"]
    assert openlineage_text(ended) == openlineage_text(ended)
    other = events(of_interval(ended, 3))[0]
    assert other["run"]["runId"] != start["run"]["runId"]
    assert other["run"]["facets"]["nominalTime"]["nominalStartTime"] == "2026-11-02T23:00:00.000Z"
    assert complete["inputs"][0]["name"] == str(ended.base / "s.parquet")
    assert complete["outputs"] == [{"namespace": "file", "name": str(ended.folder.parent)}]


def test_gates_are_assertions_about_the_table(ended: EndedRun) -> None:
    assert ended.result is not None
    judged = ended.result.gates.filter(verdict="skipped").height
    content = events(ended)[1]["inputs"][0]["inputFacets"]["dataQualityAssertions"]
    assertions = [Assertion(**each) for each in content["assertions"]]
    assert len(assertions) == ended.result.gates.height - judged
    successes = ended.result.gates.filter(verdict="pass").height
    assert sum(assertion.success for assertion in assertions) == successes
    assert {assertion.severity for assertion in assertions} == {"error", "warn"}


def test_a_run_that_failed_ends_with_its_error(failed: EndedRun) -> None:
    start, end = events(failed)
    assert [start["eventType"], end["eventType"]] == ["START", "FAIL"]
    assert end["run"]["facets"]["errorMessage"]["message"] == failed.record["message"]
    assert end["inputs"] == [{"namespace": "file", "name": str(failed.base / "day.csv")}]


def inputs_of(run: EndedRun, data: dict[str, Any]) -> list[tuple[str, str]]:
    changed = dataclasses.replace(run, suite={"data": data}, base=Path("/t"))
    return [(each["namespace"], each["name"]) for each in events(changed)[1]["inputs"]]


def test_the_tables_of_trec_are_inputs(failed: EndedRun) -> None:
    data = {"trec": {"qrels": "q.txt", "run": {"a": "a.txt", "b": "s3://me:pw@bucket/b.txt"}}}
    assert inputs_of(failed, data) == [
        ("file", "/t/q.txt"),
        ("file", "/t/a.txt"),
        ("s3://***@bucket", "b.txt"),
    ]


def test_a_query_is_an_input_with_the_gates(ended: EndedRun) -> None:
    data = {"database": "postgresql://me:pw@host/name", "query": "SELECT 1"}
    assert inputs_of(ended, data) == [("postgresql://***@host/name", "credit.query")]
    changed = dataclasses.replace(ended, suite={"data": data})
    assert "dataQualityAssertions" in events(changed)[1]["inputs"][0]["inputFacets"]
    assert inputs_of(ended, {"spark": "lake.scores"}) == [("spark", "lake.scores")]
