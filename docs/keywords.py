"""Types of the keyword arguments of `plmetrics.evaluate`, written from the JSON Schema of suites.

What only Python can hand over, such as frames, results and metric objects, stands in `PYTHON`.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.suite.schema import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Shape = Mapping[str, Any]

FILE = Path(__file__).parents[1] / "plmetrics" / "suite" / "keywords.py"
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
HEAD = '''"""Types of the keyword arguments of `plmetrics.evaluate`: for type checkers and editors, loaded by no run.

Written by `python -m docs.generate` from the schema of suites.
"""
# ruff: noqa: TC001, TC002, TC003

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from datetime import date
from os import PathLike
from typing import Literal, Never, Protocol, Required, TypeAlias, TypedDict

import polars as pl

from plmetrics.catalogue.metric import Metric
from plmetrics.states.state_format import State

# fmt: off

class TableInMemory(Protocol):
    """A DataFrame or LazyFrame, a pandas DataFrame, or a pyarrow Table."""
    @property
    def columns(self) -> object:
        """The columns, or their names."""

class ArrowStream(Protocol):
    """A table of any library that speaks the Arrow PyCapsule interface."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of record batches."""

Columns: TypeAlias = Mapping[str, Sized]
"""Arrays, lists or Series by the name of their column."""

Table: TypeAlias = TableInMemory | ArrowStream | Columns | PathLike[str] | str | Sequence[PathLike[str] | str]
"""A table in memory, a path, or a list of paths."""

class TrecFiles(TypedDict, total=False):
    """Judgements and runs in TREC's formats; several runs by the name of their model."""
    qrels: Required[PathLike[str] | str]
    run: Required[PathLike[str] | str | Mapping[str, PathLike[str] | str]]
    complete: bool

class TrecTable(TypedDict):
    """A ranking whose rows come from TREC's files."""
    trec: TrecFiles

MetricParameters: TypeAlias = Mapping[str, Mapping[str, object] | None]
MetricText: TypeAlias = Metric | str | MetricParameters
"""A metric: an object, its text, or its name with parameters."""

class RunResult(Protocol):
    """The result of a run, as `plmetrics.evaluate` gives it."""
    @property
    def metrics(self) -> pl.DataFrame:
        """The table of values."""

RunFolder: TypeAlias = RunResult | PathLike[str] | str
"""A run: its result, its folder, or the folder of the runs of a suite."""'''


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


def module_text() -> str:
    """The text of the module."""
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
    return (
        "\n\n".join([HEAD, *classes.texts.values(), "\n".join(aliases), "\n".join([*arguments, *fields])])
        + "\n"
    )


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
