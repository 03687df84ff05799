"""JUnit XML: a test suite a run, a test case a gate, model and slice.

It keeps to what both the schema of Jenkins and that of Ant's JUnit task allow.
"""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from plmetrics.core.names import number_text
from plmetrics.exports.tidy import BAND, rule_identity

if TYPE_CHECKING:
    from plmetrics.exports.protocol import EndedRun

_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(run: EndedRun) -> str:
    """The gates of a run: a failed one is a failure, an undecided or skipped one is skipped.

    A failed gate of level warn passes and is named in `system-out`. A run that failed has one case, with its error,
    or skipped.
    """
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite")
    properties = ET.SubElement(suite, "properties")
    for name, value in _facts(run).items():
        ET.SubElement(properties, "property", name=name, value=xml_text(str(value)))
    if run.result is None:
        counts = _error_case(suite, run)
        remarks = []
    else:
        gates = run.result.gates.rows(named=True)
        names = Counter[str]()
        for gate in gates:
            names[_name(gate)] += 1
            _case(suite, run.name, gate, names[_name(gate)])
        failures = sum(_fails(gate) for gate in gates)
        skipped = sum(gate["verdict"] in {"inconclusive", "skipped"} for gate in gates)
        counts = {"tests": len(gates), "failures": failures, "errors": 0, "skipped": skipped}
        remarks = [f"warning: {_name(gate)}: {_numbers(gate)}" for gate in gates if _fails(gate, "warn")]
    ET.SubElement(suite, "system-out").text = xml_text("\n".join(remarks))
    ET.SubElement(suite, "system-err").text = ""
    facts = {
        "name": run.name,
        "package": "plmetrics",
        "id": "0",
        "hostname": socket.gethostname() or "localhost",
        "timestamp": f"{run.start:%Y-%m-%dT%H:%M:%S}",
        "time": f"{run.record['seconds']:.3f}",
    }
    suite.attrib |= {name: xml_text(str(value)) for name, value in (facts | counts).items()}
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def xml_text(text: str) -> str:
    r"""Text without the characters invalid in XML 1.0.

    >>> xml_text("a\x00b\x1b[1m\tc")
    'a\ufffdb\ufffd[1m\tc'
    """
    return _INVALID.sub("\ufffd", text)


def _facts(run: EndedRun) -> dict[str, Any]:
    facts = {"run_id": run.run_id, "verdict": run.verdict, "fingerprint": run.record.get("fingerprint")}
    facts["interval"] = None if run.interval is None else run.key
    return {name: value for name, value in facts.items() if value is not None}


def _error_case(suite: ET.Element, run: EndedRun) -> dict[str, int]:
    case = ET.SubElement(suite, "testcase", name="run", classname=xml_text(run.name), time="0")
    message = xml_text(str(run.record.get("message", "")))
    if run.verdict == "skipped":
        ET.SubElement(case, "skipped", message=message)
        return {"tests": 1, "failures": 0, "errors": 0, "skipped": 1}
    error = ET.SubElement(case, "error", type=str(run.record.get("error") or "error"), message=message)
    error.text = xml_text("\n".join(_problem(problem) for problem in run.record.get("problems", ())))
    return {"tests": 1, "failures": 0, "errors": 1, "skipped": 0}


def _problem(problem: Mapping[str, Any]) -> str:
    place = f"{problem['where']}: " if problem.get("where") else ""
    hint = f"\n    {problem['hint']}" if problem.get("hint") else ""
    return f"{place}{problem['message']}{hint}"


def _case(suite: ET.Element, name: str, gate: Mapping[str, Any], number: int) -> None:
    """Case of a gate, the first of its name or a further one: readers keep one case of a name."""
    title = _name(gate) if number == 1 else f"{_name(gate)} #{number}"
    classname = ".".join(part for part in (name, gate["model"]) if part)
    case = ET.SubElement(suite, "testcase", name=xml_text(title), classname=xml_text(classname), time="0")
    if _fails(gate):
        failure = ET.SubElement(case, "failure", type="gate", message=xml_text(_numbers(gate)))
        failure.text = xml_text(
            "\n".join(f"{key}: {value}" for key, value in gate.items() if value is not None)
        )
    elif gate["verdict"] in {"inconclusive", "skipped"}:
        ET.SubElement(case, "skipped", message=xml_text(f"{gate['verdict']}: {_numbers(gate)}"))


def _fails(gate: Mapping[str, Any], level: str = "fail") -> bool:
    return (gate["verdict"], gate["level"]) == ("fail", level)


def _name(gate: Mapping[str, Any]) -> str:
    """The gate with its place; the model is in the class name, but some tools show the name alone.

    Readers follow a case from night to night by its name.
    """
    rule = rule_identity(gate)
    words = "" if rule == BAND or rule in gate["gate"] else f" ({gate['metric']} {rule})"
    return f"{gate['gate']}{words} [{', '.join(filter(None, (gate['model'], gate['slice'])))}]"


def _numbers(gate: Mapping[str, Any]) -> str:
    """Observed value in words, with its interval, and the reason why it is undefined or undecided."""
    if gate["observed"] is None:
        text = f"no value ({gate['status']})"
    else:
        text = f"observed {number_text(gate['observed'])}"
        if gate["lower"] is not None and gate["upper"] is not None:
            text += f", interval {number_text(gate['lower'])} to {number_text(gate['upper'])}"
        text += f", rule {gate['rule']}"
    return f"{text}; {gate['note']}" if gate["note"] else text
