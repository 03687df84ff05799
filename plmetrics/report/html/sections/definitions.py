"""Definitions of the numbers, and the settings, versions and files they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.report.catalogue import description
from plmetrics.report.charts.texts import clean
from plmetrics.report.html.blocks import Definitions, Section, Words
from plmetrics.report.numbers import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.catalogue.metric import Metric
    from plmetrics.report.summary import Summary

_MOST = 40


def definitions(summary: Summary) -> Section:
    """The metrics of the report with what they measure, their formulas and their better side."""
    pairs = [(clean(metric.text), _definition(metric)) for metric in summary.definitions[:_MOST]]
    return Section("How the numbers are defined", [Definitions(pairs)] if pairs else [])


def _definition(metric: Metric) -> str:
    """The first line of the metric's description, and its better side."""
    better = {"higher": " Higher is better.", "lower": " Lower is better.", "zero": " Best at 0."}
    return clean(f"{description(metric)}{better.get(metric.direction, '')}")


def settings(summary: Summary) -> Section:
    """The suite as YAML, versions, files and fingerprints."""
    import yaml

    record = summary.record
    facts: list[tuple[str, str]] = [
        (word, clean(str(record[key])))
        for key, word in (
            ("run_id", "run"),
            ("started", "started"),
            ("seconds", "seconds"),
            ("fingerprint", "fingerprint of the suite"),
        )
        if key in record
    ]
    versions = record.get("versions", {})
    if versions:
        facts.append(("versions", clean(", ".join(f"{name} {number}" for name, number in versions.items()))))
    facts += [
        (f"file {number}", clean(", ".join(_file_parts(file))))
        for number, file in enumerate(record.get("files", ())[:_MOST], 1)
    ]
    suite = record.get("suite")
    text = yaml.safe_dump(_plain(suite), sort_keys=False, allow_unicode=True) if suite else ""
    blocks = [Definitions(facts)] if facts else []
    return Section("How it was computed", [*blocks, *([Words(text.splitlines(), "code")] if text else [])])


def _file_parts(file: Mapping[str, Any]) -> list[str]:
    """A file's path, its rows where they were counted, and its digest."""
    rows = file.get("rows")
    counted = [] if rows is None else [plural(rows, "row")]
    return [str(file["path"]), *counted, f"digest {file['digest']}"]


def _plain(value: object) -> object:
    """The value in lists and dicts, as YAML has it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return clean(value) if isinstance(value, str) else value
