"""Suites are read alike with libyaml and without it."""

from pathlib import Path

import pytest
import yaml

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.suite.yaml.document import Document, parse

CONFIGS = Path(__file__).parents[3] / "configs"

pytestmark = pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")

PECULIAR = [
    "a: x\t\nb: 1",
    "metrics: [ro?c, f1]",
    "a: |#\n  text",
    "a: >-#x\n  text",
    "a: 1\n\ufeff",
    "a: 1\n\ufeffb: 2",
]
"""What libyaml takes, and the parser in Python does not, or as something else."""

TEXTS = [
    *PECULIAR,
    "",
    "- 1",
    "a: {b: , c: [1, , 2]}",
    "a: {b: }\nc:\n- \n- x",
    "a: !!str 1",
    "a: [!tag x, y]",
    "a: &one [1, {b: 2}]\nc: *one\nd: {e: *one}",
    "a: &one [*one]",
    "a: *absent",
    "a: &one 1\nb: &one 2",
    "a: |\n  two\n  lines\n\nb: >-\n  folded\n  text",
    "a: 'it''s'\nb: \"\\u00e9\\n\"\nc: '1'",
    "a: 1\na: 2\n<<: {b: 3}\n? [x]\n: y",
    "a: 1\n---\nb: 2",
    "%YAML 1.2\n---\na: no",
    "a: [1, 2",
    "a: 'open",
    "a: b: c",
    "a:\n  b: 1\n c: 2",
    "a: \x07",
    "a: [x\udcffy]",
    "caf\u00e9: \U0001f600 x\r\nb: {x: 1}\u2028c: 2",
    'where: "age > 5"\nx: a > b | c\ny: x - y # note\nz: http://x.org/#a',
]


def _parse(text: str) -> Document | list[Problem]:
    try:
        return parse(text, "suite.yaml")
    except ConfigError as error:
        return error.problems


def _same(text: str, monkeypatch: pytest.MonkeyPatch) -> Document | list[Problem]:
    document = _parse(text)
    with monkeypatch.context() as without:
        without.setattr("plmetrics.suite.yaml.document._FAST_LOADER", None)
        assert _parse(text) == document
    return document


@pytest.mark.parametrize("text", TEXTS)
def test_documents_and_errors_are_those_of_the_parser_in_python(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _same(text, monkeypatch)


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_suites_are_those_of_the_parser_in_python(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(_same(file.read_text(), monkeypatch), Document)


def test_libyaml_reads_what_has_nothing_peculiar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plmetrics.suite.yaml.document._Loader", None)
    assert parse("a: {b: [1, x > 2]}", "suite.yaml").value == {"a": {"b": [1, "x > 2"]}}
