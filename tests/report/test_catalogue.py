from __future__ import annotations

import dataclasses
import json

import pytest
from rich.cells import cell_len

from plmetrics.catalogue import registry
from plmetrics.catalogue.metric import Metric
from plmetrics.report.catalogue import card_text, describe, list_text

CLASSES = registry.classes()


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
    parameters = dataclasses.fields(metric)
    for fact in [
        *facts,
        *(field.name for field in parameters),
        *(field.metadata["doc"] for field in parameters),
    ]:
        assert " ".join(fact.split()) in words
    assert ">>>" not in text


@pytest.mark.parametrize("metric", CLASSES, ids=lambda metric: f"{metric.task}-{metric.name}")
def test_description_is_json(metric: type[Metric]) -> None:
    facts = json.loads(json.dumps(describe(metric), allow_nan=False))
    assert (facts["task"], facts["name"]) == (metric.task, metric.name)
    for parameter, field in zip(facts["parameters"], dataclasses.fields(metric), strict=True):
        assert parameter["required"] == (field.default is dataclasses.MISSING)
        assert parameter["required"] or parameter["default"] == field.default
