import dataclasses
from collections.abc import Mapping
from types import ModuleType

import polars as pl
import pytest
from exports.examples import of_interval
from prometheus_client import parser as prometheus
from prometheus_client.openmetrics import parser as openmetrics

import plmetrics as plm
from plmetrics.core.results import first_rows, gate_table
from plmetrics.exports.openmetrics import is_of_later, openmetrics_text
from plmetrics.exports.protocol import EndedRun
from plmetrics.exports.tidy import headline_values

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(text: str, parser: ModuleType) -> Samples:
    families = list(parser.text_string_to_metric_families(text))
    assert {family.type for family in families} == {"gauge"}
    samples = [sample for family in families for sample in family.samples]
    by_labels = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(by_labels) == len(samples)
    assert all(sample.timestamp is None for sample in samples)
    return by_labels


def at(samples: Samples, name: str, labels: Mapping[str, str]) -> float:
    return samples[f"plmetrics_{name}", frozenset({"suite": "credit", **labels}.items())]


@pytest.mark.parametrize("parser", [openmetrics, prometheus])
def test_both_formats_read_the_values_of_the_tables(ended: EndedRun, parser: ModuleType) -> None:
    assert ended.result is not None
    samples = read(openmetrics_text(ended), parser)
    gated = {(row["model"], row["slice"], row["metric"]) for row in ended.result.gates.rows(named=True)}
    expected = {
        (row["model"], row["slice"], row["metric"], name): row[name]
        for row in first_rows(ended.result.metrics).rows(named=True)
        if row["slice_set"] == "overall" or (row["model"], row["slice"], row["metric"]) in gated
        for name in ("value", "lower", "upper", "n")
        if row[name] is not None
    }
    given = {
        (labels["model"], labels["slice"], labels["metric"], name.removeprefix("plmetrics_metric_")): value
        for (name, pairs), value in samples.items()
        if name.startswith("plmetrics_metric_")
        for labels in [dict(pairs)]
    }
    assert given == expected
    assert len({key[1] for key in given}) == 6


def test_metrics_across_slices_are_series_without_a_gate() -> None:
    frame = pl.DataFrame({"y": [0, 1] * 4, "p": [0.1, 0.9, 0.2, 0.8, 0.9, 0.1, 0.2, 0.7], "g": [*"aaaabbbb"]})
    across = {"name": "least", "over": {"slice_set": "g", "metric": "accuracy", "agg": "worst"}}
    result = plm.evaluate(frame, label="y", models="p", metrics=["accuracy", across], slices=["g"])
    values = headline_values(result).select("slice_set", "slice", "metric", "value")
    assert values.rows() == [("overall", "all", "accuracy", 0.75), ("g", "all", "least", 0.5)]


def test_gates_and_verdicts_are_one_of_their_words(ended: EndedRun) -> None:
    assert ended.result is not None
    samples = read(openmetrics_text(ended), openmetrics)
    for row in ended.result.gates.rows(named=True):
        place = {name: row[name] for name in ("gate", "model", "metric", "slice_set", "slice")}
        place |= {"level": "warn"} if row["level"] == "warn" else {}
        words = {
            word: at(samples, "gate_status", place | {"verdict": word})
            for word in ("pass", "fail", "inconclusive", "skipped")
        }
        assert [word for word, value in words.items() if value] == [row["verdict"]]
    assert at(samples, "run_verdict", {"verdict": "fail"}) == 1
    assert at(samples, "run_verdict", {"verdict": "pass"}) == 0
    assert at(samples, "run_exit_code", {}) == 3
    assert at(samples, "run_duration_seconds", {}) == ended.record["seconds"]
    assert at(samples, "run_timestamp_seconds", {}) == ended.end.timestamp()


@pytest.mark.parametrize(
    "verdicts", [("pass", "fail"), ("skipped", "inconclusive", "fail"), ("fail", "pass")]
)
def test_gates_of_one_name_have_the_worst_verdict(ended: EndedRun, verdicts: tuple[str, ...]) -> None:
    """Such as both limits of a value: an alert on failed gates must see the one that failed."""
    assert ended.result is not None
    place = {"gate": "range", "model": "A", "metric": "recall", "slice_set": "overall", "slice": "all"}
    gates = gate_table([place | {"verdict": verdict} for verdict in verdicts])
    run = dataclasses.replace(ended, result=dataclasses.replace(ended.result, gates=gates))
    samples = read(openmetrics_text(run), openmetrics)
    words = [word for word in set(verdicts) if at(samples, "gate_status", place | {"verdict": word})]
    assert words == ["fail"]


def test_an_alert_tells_gates_that_warn(ended: EndedRun) -> None:
    """Prometheus takes a label that is absent for an empty one: `level!="warn"` holds for gates of level fail."""
    assert ended.result is not None
    place = {"gate": "range", "model": "A", "metric": "recall", "slice_set": "overall", "slice": "all"}
    levels = {"warn": "fail", "fail": "pass"}
    gates = gate_table([place | {"level": level, "verdict": verdict} for level, verdict in levels.items()])
    run = dataclasses.replace(ended, result=dataclasses.replace(ended.result, gates=gates))
    samples = read(openmetrics_text(run), prometheus)
    failed = [
        dict(labels) for (name, labels), value in samples.items() if name == "plmetrics_gate_status" and value
    ]
    assert [
        labels for labels in failed if labels["verdict"] == "fail" and labels.get("level", "") != "warn"
    ] == []
    assert at(samples, "gate_status", place | {"level": "warn", "verdict": "fail"}) == 1
    assert at(samples, "gate_status", place | {"verdict": "pass"}) == 1


def test_an_interval_has_its_ends(ended: EndedRun) -> None:
    samples = read(openmetrics_text(of_interval(ended, 20)), openmetrics)
    assert at(samples, "interval_start_seconds", {}) == 1795129200  # 2026-11-19T23:00Z
    assert at(samples, "interval_end_seconds", {}) == 1795129200 + 86400


def test_a_run_that_failed_says_so_and_no_more(failed: EndedRun) -> None:
    samples = read(openmetrics_text(failed), openmetrics)
    assert at(samples, "run_verdict", {"verdict": "error"}) == 1
    assert at(samples, "run_exit_code", {}) == 4
    assert not [name for name, _ in samples if "metric" in name.removeprefix("plmetrics_")]


def test_what_is_not_finite_is_left_out(ended: EndedRun) -> None:
    import dataclasses

    assert ended.result is not None
    metrics = ended.result.metrics.with_columns(
        value=pl.lit(float("nan")), lower=pl.lit(float("-inf")), upper=pl.lit(None, pl.Float64)
    )
    result = dataclasses.replace(ended.result, metrics=metrics)  # type: ignore[type-var]
    names = {
        name for name, _ in read(openmetrics_text(dataclasses.replace(ended, result=result)), openmetrics)
    }
    assert "plmetrics_metric_n" in names
    assert not names & {"plmetrics_metric_value", "plmetrics_metric_lower", "plmetrics_metric_upper"}


def test_a_later_interval_counts_if_it_had_ended(ended: EndedRun) -> None:
    first, second = (of_interval(ended, day, finished="2026-11-25T02:00:00.000Z") for day in (20, 21))
    document = openmetrics_text(second)
    assert is_of_later(document, first)
    assert not is_of_later(document, second)
    assert not is_of_later(openmetrics_text(first), second)
    assert not is_of_later(document, ended)
    assert not is_of_later(openmetrics_text(ended), first)
    assert not is_of_later("anything", first)
    assert not is_of_later(document, dataclasses.replace(first, name="other"))
    mistyped = of_interval(ended, 26, finished="2026-11-25T02:00:00.000Z")
    assert not is_of_later(openmetrics_text(mistyped), first)
