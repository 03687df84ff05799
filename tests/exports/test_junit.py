import dataclasses
import io
import re
from xml.etree import ElementTree as ET

import junitparser
import pytest

from plmetrics.core.results import gate_table
from plmetrics.exports.junit import junit_text
from plmetrics.exports.openlineage import openlineage_text
from plmetrics.exports.protocol import EndedRun

# What the schemas of Jenkins and of Ant's JUnit task both allow: attributes, and children in their order.
ALLOWED = {
    "testsuites": (set(), ["testsuite"]),
    "testsuite": (
        {"name", "package", "id", "hostname", "timestamp", "time", "tests", "failures", "errors", "skipped"},
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "time"}, ["failure", "skipped", "error"]),
    "failure": ({"type", "message"}, []),
    "error": ({"type", "message"}, []),
    "skipped": ({"message"}, []),
    "system-out": (set(), []),
    "system-err": (set(), []),
}


def check(node: ET.Element) -> None:
    attributes, children = ALLOWED[node.tag]
    assert set(node.attrib) == attributes
    order = [children.index(child.tag) for child in node]
    assert order == sorted(order)
    assert node.tag != "testcase" or len(node) <= 1
    for child in node:
        check(child)


@pytest.mark.parametrize("name", ["ended", "failed"])
def test_it_keeps_to_what_every_reader_accepts(name: str, request: pytest.FixtureRequest) -> None:
    check(ET.fromstring(junit_text(request.getfixturevalue(name))))


def test_a_case_for_each_gate_model_and_slice(ended: EndedRun) -> None:
    assert ended.result is not None
    gates = ended.result.gates
    (suite,) = junitparser.JUnitXml.fromfile(io.BytesIO(junit_text(ended).encode()))
    cases = list(suite)
    assert (suite.name, suite.tests, len(cases)) == ("credit", gates.height, gates.height)
    failures = gates.filter(verdict="fail", level="fail").height
    undecided = gates["verdict"].is_in(["inconclusive", "skipped"]).sum()
    assert (suite.failures, suite.skipped, suite.errors) == (failures, undecided, 0)
    assert failures == 1
    assert undecided == 4
    kinds = [type(case.result[0]).__name__ if case.result else "Passed" for case in cases]
    assert kinds.count("Failure") == failures
    assert kinds.count("Skipped") == undecided
    assert len({(case.classname, case.name) for case in cases}) == len(cases)
    observed = gates.filter(verdict="fail", level="fail")["observed"].item()
    assert f"observed {observed!r}" in next(case for case in cases if case.result).result[0].message
    assert 'warning: all "found" (recall >= 0.99) [B, all]' in ET.fromstring(junit_text(ended)).findtext(
        ".//system-out", ""
    )


def test_every_case_has_a_name_of_its_own(ended: EndedRun) -> None:
    """Readers such as GitLab's keep one case of a name: here those of two slice sets with one column."""
    assert ended.result is not None
    gate = {"gate": "recall >= 0.8", "rule": ">= 0.8", "metric": "recall", "model": "A", "level": "fail"}
    sets = {"region": "pass", "top": "fail", "rest": "fail"}
    rows = [
        gate | {"slice_set": name, "slice": "region=a", "verdict": word, "observed": 0.5}
        for name, word in sets.items()
    ]
    run = dataclasses.replace(ended, result=dataclasses.replace(ended.result, gates=gate_table(rows)))
    (suite,) = junitparser.JUnitXml.fromfile(io.BytesIO(junit_text(run).encode()))
    assert len({(case.classname, case.name) for case in suite}) == len(sets)
    assert [bool(case.result) for case in suite] == [False, True, True]


def test_a_control_band_has_the_same_name_every_night(ended: EndedRun) -> None:
    """Its ends differ every night, and readers follow a case, and a catalogue an assertion, by its name."""
    assert ended.result is not None
    names, assertions = set(), set()
    for ends in ("3 sd of 9 intervals: [0.71, 0.86]", "3 sd of 10 intervals: [0.72, 0.85]"):
        gates = gate_table([{"gate": "usual", "rule": f"within {ends}", "metric": "recall", "level": "fail"}])
        run = dataclasses.replace(ended, result=dataclasses.replace(ended.result, gates=gates))
        names |= {case.attrib["name"] for case in ET.fromstring(junit_text(run)).iter("testcase")}
        assertions |= set(re.findall('"assertion": "([^"]*)"', openlineage_text(run)))
    assert names == {"usual []"}
    assert assertions == {"recall within"}


def test_an_undecided_gate_says_why(ended: EndedRun) -> None:
    messages = [node.attrib["message"] for node in ET.fromstring(junit_text(ended)).iter("skipped")]
    assert [message.split(";")[0] for message in messages] == [
        *["inconclusive: no value (zero_denominator)"] * 2,
        *["skipped: no value (zero_denominator)"] * 2,
    ]


def test_characters_that_xml_cannot_hold_are_replaced(ended: EndedRun) -> None:
    names = [node.attrib["name"] for node in ET.fromstring(junit_text(ended)).iter("testcase")]
    assert any("ea\ufffdst\ufffd[1m" in name for name in names)
    assert any("we\\st\n<b>" in name for name in names)
    strange = dataclasses.replace(ended, name="a\x01\ufffe\x7f")
    assert ET.fromstring(junit_text(strange)).find("testsuite").attrib["name"] == "a\ufffd\ufffd\x7f"  # type: ignore[union-attr]


def test_a_run_that_failed_is_an_error(failed: EndedRun) -> None:
    (suite,) = junitparser.JUnitXml.fromfile(io.BytesIO(junit_text(failed).encode()))
    (case,) = suite
    assert (suite.tests, suite.errors) == (1, 1)
    assert case.result[0].type == "DataError"
    assert case.result[0].message.startswith("the data is not what the suite says: day.csv: cut\ufffd <off>")
    assert "suite.yaml:2:3: cut\ufffd <off>\n    write it again" in case.result[0].text
