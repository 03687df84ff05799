"""Types of the keyword arguments of `plmetrics.evaluate`, written from the JSON Schema of suites.

What only Python can hand over, such as frames, results and metric objects, stands in `PYTHON`, and its types in
`plmetrics/suite/python_types.py`.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.suite.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Shape = Mapping[str, Any]

FOLDER = Path(__file__).parents[1] / "plmetrics" / "suite"
WIDTH = 120
LONGEST = 40
"""Types of arguments that are longer get a name."""

TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
NOT_ARGUMENTS = ("data", "columns", "output", "defaults", "engine", "interval", "keep", "notify")
PYTHON = {
    ("Arguments", "metrics"): "Metric | Sequence[MetricText | MetricInSlices | MetricDefinition]",
    ("Compare", "run"): "RunFolder | None",
    ("CrossValidation", "metric"): "MetricText | None",
    ("Drift", "reference"): "Table | None",
    ("Drift", "run"): "RunFolder | None",
    ("Drift", "state"): "State | PathLike[str] | str | Sequence[PathLike[str] | str] | None",
    ("FindSlices", "metric"): "MetricText",
    ("Gate", "metric"): "MetricText",
    ("Leakage", "train"): "Table | None",
    ("ModelColumns", "proba"): "Mapping[str, str] | Mapping[int, str] | str | None",
    ("ModelColumns", "quantiles"): "Mapping[float, str] | Mapping[str, str] | str | None",
}
SECTIONS_HEAD = '''"""Types of the mappings of sections among the keyword arguments of `plmetrics.evaluate`.

Written by `python -m docs.generate` from the schema of suites.
"""
# ruff: noqa: TC001, TC003

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from os import PathLike
from typing import Literal, Never, Required, TypedDict

from plmetrics.states.state_format import State
from plmetrics.suite.python_types import MetricParameters, MetricText, RunFolder, Table

# fmt: off'''
HEAD = '''"""Types of the keyword arguments of `plmetrics.evaluate`: for type checkers and editors, loaded by no run.

Written by `python -m docs.generate` from the schema of suites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from plmetrics.catalogue.metric import Metric
from plmetrics.suite.python_types import MetricText
from plmetrics.suite.section_keywords import (
{}
)

# fmt: off'''


class Classes:
    """Typed dictionaries for the mappings of a schema, each once, behind those that it names."""

    def __init__(self, definitions: Shape) -> None:
        self.texts: dict[str, str] = {}
        self._definitions = definitions

    def type_of(self, shape: Shape, name: str) -> str:
        """The type of what a schema allows; `name` is that of the class of a mapping without a title."""
        options = dict.fromkeys(self._options(shape, name))
        needless = (
            {option for option in options if option.startswith('Literal["')} if "str" in options else set()
        )
        needless |= {"int"} if "float" in options else set()
        return " | ".join(sorted((option for option in options if option not in needless), key="None".__eq__))

    def _options(self, shape: Shape, name: str) -> Iterator[str]:
        if "$ref" in shape:
            named = shape["$ref"].rpartition("/")[2]
            yield self._class(named, self._definitions[named])
        elif "anyOf" in shape and "properties" not in shape:
            for option in shape["anyOf"]:
                yield from self._options(option, name)
        elif "enum" in shape or "const" in shape:
            yield f"Literal[{', '.join(map(_literal, shape.get('enum', [shape.get('const')])))}]"
        elif "type" in shape:
            kinds = shape["type"]
            for kind in [kinds] if isinstance(kinds, str) else kinds:
                yield self._kind(kind, shape, name)
        else:
            yield "object"
        if shape.get("format") in {"date", "date-time"}:
            yield "date"

    def _kind(self, kind: str, shape: Shape, name: str) -> str:
        if kind == "array":
            items = shape["items"] if "items" in shape else {"anyOf": shape["prefixItems"]}
            return f"Sequence[{self.type_of(items, name)}]"
        if kind != "object":
            return TYPES[kind]
        if "properties" in shape:
            return (
                self._class(shape.get("title", name), shape) if shape["properties"] else "Mapping[str, Never]"
            )
        values = shape.get("additionalProperties")
        return "MetricParameters" if values is None else f"Mapping[str, {self.type_of(values, name)}]"

    def _class(self, name: str, shape: Shape) -> str:
        if name not in self.texts:
            required = shape.get("required", ())
            fields = [
                self._field(name, key, part, key in required) for key, part in shape["properties"].items()
            ]
            meaning = shape.get("description", f"The mapping {name}.").split("\n")[0]
            self.texts[name] = "\n".join(
                [f"class {name}(TypedDict, total=False):", f'    """{meaning}"""', *fields]
            )
        return name

    def _field(self, owner: str, key: str, shape: Shape, required: bool) -> str:  # noqa: FBT001
        text = PYTHON.get((owner, key)) or self.type_of(shape, _title(key))
        return textwrap.indent(_line(f"{key}: ", f"Required[{text}]" if required else text), "    ")


def module_texts() -> dict[Path, str]:
    """The texts of the modules: the arguments, and the mappings of sections."""
    schema = json_schema()
    sections: Shape = schema["$defs"]
    classes = Classes(sections)
    keys: Shape = {
        **sections["Columns"]["properties"],
        **{key: sections["Data"]["properties"][key] for key in ("where", "missing")},
        **{key: part for key, part in schema["properties"].items() if key not in NOT_ARGUMENTS},
        "seed": {"type": "integer", "default": 0},
    }
    aliases, fields = [], []
    for key, shape in keys.items():
        text = classes.type_of(shape, _title(key))
        text = PYTHON.get(("Arguments", key), text)
        if len(text) > LONGEST:
            aliases.append(_line(f"{_title(key)}: TypeAlias = ", text))
            text = _title(key)
        optional = shape.get("default") is None and not text.endswith("None")
        fields.append(f"    {key}: {text}{' | None' * optional}")
    arguments = [
        "class Arguments(TypedDict, total=False):",
        '    """The keyword arguments of `plmetrics.evaluate`."""',
    ]
    body = "\n\n".join(["\n".join(aliases), "\n".join([*arguments, *fields])])
    read = sorted(name for name in classes.texts if re.search(rf"\b{name}\b(?!:)", body))
    head = HEAD.format("\n".join(f"    {name}," for name in read))
    return {
        FOLDER / "keywords.py": f"{head}\n\n{body}\n",
        FOLDER / "section_keywords.py": "\n\n".join([SECTIONS_HEAD, *classes.texts.values()]) + "\n",
    }


def _line(start: str, text: str) -> str:
    """An annotation, in several lines where it is long."""
    if len(start + text) + 4 <= WIDTH:
        return start + text
    lines = textwrap.wrap(text, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{start}(", *(f"    {line}" for line in lines), ")"])


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _title(key: str) -> str:
    return "".join(word.capitalize() for word in key.split("_"))
