import dataclasses
import json
import re

import polars as pl
import pytest
from rich.cells import cell_len

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.parameters import parameters as parameters_of
from plmetrics.report.catalogue import (
    card_text,
    csv_text,
    describe,
    list_text,
    markdown_text,
    undefined_statuses,
)

CLASSES = [metric for task in registry.tasks() for metric in registry.classes(task)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_list_fits_and_names_every_metric(width: int) -> None:
    text = list_text(CLASSES, width)
    assert max(map(cell_len, text.split("\n"))) <= width
    words = " ".join(text.split())
    for task in registry.tasks():
        assert f"{task} ({len(registry.names(task))} metric" in words
    assert all(metric.name in text for metric in CLASSES)
    assert all(metric.use_when in words for metric in CLASSES)


@pytest.mark.parametrize("metric", CLASSES, ids=lambda metric: f"{metric.task}-{metric.name}")
def test_card_says_all_there_is(metric: type[Metric]) -> None:
    text = card_text(metric, 80)
    assert max(map(cell_len, text.split("\n"))) <= 80
    words = " ".join(text.split())
    facts = [metric.formula, metric.use_when, metric.beware, metric.reference, *metric.aliases]
    parameters = parameters_of(metric)
    for fact in [*facts, *parameters, *(field.metadata["doc"] for field in parameters.values())]:
        assert " ".join(fact.split()) in words
    assert ">>>" not in text


def test_descriptions_are_json() -> None:
    for metric in CLASSES:
        facts = json.loads(json.dumps(describe(metric), allow_nan=False))
        assert (facts["task"], facts["name"]) == (metric.task, metric.name), metric
        for parameter, field in zip(facts["parameters"], dataclasses.fields(metric), strict=True):
            assert parameter["required"] == (field.default is dataclasses.MISSING), metric
            assert parameter["required"] or parameter["default"] == field.default, metric


def test_a_convention_names_every_parameter_and_its_default() -> None:
    for metric in CLASSES:
        convention = describe(metric)["convention"]
        assert convention, metric
        for name, field in parameters_of(metric).items():
            assert f"{name}=" in convention or f"{name}: " in convention, metric
            assert field.metadata["doc"] in convention, metric


def test_csv_has_a_row_a_metric_and_every_fact() -> None:
    frame = pl.read_csv(csv_text(CLASSES).encode())
    assert frame.columns == list(describe(CLASSES[0]))
    assert frame["name"].to_list() == [metric.name for metric in CLASSES]
    (ece,) = frame.filter(task="binary", name="ece").to_dicts()
    assert (ece["aliases"], ece["range"]) == ("mce", "0; 1")
    assert "binary/ece-few-rows" in ece["advice"]


def test_a_card_says_where_a_metric_misleads() -> None:
    words = " ".join(card_text(registry.find("binary", "accuracy"), 100).split())
    assert "misleads largest >= 0.9 (Chicco and Jurman" in words
    assert "Advice" not in card_text(registry.find("binary", "tp"), 100)


def test_markdown_is_a_table_for_each_task() -> None:
    text = markdown_text(CLASSES)
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == len(registry.tasks())
    rows = [re.split(r"(?<!\\)\|", row)[1:-1] for table in tables for row in table.strip().split("\n")[2:]]
    assert {len(row) for row in rows} == {7}
    assert [re.match(r" `(\w+)", row[0])[1] for row in rows] == [metric.name for metric in CLASSES]
    for metric, row in zip(CLASSES, rows, strict=True):
        parameters = re.findall(r"(?:\(|, )\[?(\w+)", row[0])
        assert parameters == list(parameters_of(metric))
        assert row[6].strip() == metric.use_when
        assert all(alias in row[1] for alias in (*metric.aliases, *metric.presets))


def test_undefined_statuses_are_words() -> None:
    statuses = {status for metric in CLASSES for status in undefined_statuses(metric)}
    assert not [status for status in statuses if not re.fullmatch(r"[a-z]+(_[a-z]+)*", status)]


@pytest.mark.parametrize(
    ("task", "name", "statuses"),
    [
        ("regression", "mape", ("zero_label", "zero_denominator")),
        ("binary", "n", ()),
        ("binary", "precision", ("zero_denominator",)),
        ("binary", "roc_auc", ("no_positives", "no_negatives", "overflow")),
        ("regression", "r2", ("rounding", "zero_denominator")),
    ],
)
def test_undefined_statuses_are_those_of_the_metric(task: str, name: str, statuses: tuple[str, ...]) -> None:
    assert undefined_statuses(registry.find(task, name)) == statuses
