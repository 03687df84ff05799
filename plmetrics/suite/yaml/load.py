"""A suite from its YAML file, the files of its defaults and `--set`, with the place of each of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from plmetrics.core.errors import CallError, ConfigError, Location, PlmetricsError, Problem
from plmetrics.core.redaction import Redaction
from plmetrics.suite.reader import suite_from_mapping
from plmetrics.suite.yaml.document import parse_document
from plmetrics.suite.yaml.layers import DEFAULTS, MergedDocument, override, with_defaults
from plmetrics.suite.yaml.variables import Expansion

if TYPE_CHECKING:
    from plmetrics.core.names import SuitePath
    from plmetrics.core.results import RunRecord
    from plmetrics.suite.model import Suite

AnyError = TypeVar("AnyError", bound=PlmetricsError)


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """Suite with its file, the place of each of its keys and values, and the sources of replaced ones.

    `defaults` are the files that it stands on, as it names them; `variables` those of the environment in its texts.
    """

    suite: Suite
    file: Path
    places: Mapping[SuitePath, Location]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    defaults: tuple[str, ...] = ()
    variables: Redaction = field(default_factory=Redaction)

    @property
    def folder(self) -> Path:
        """Base folder of relative paths."""
        return self.file.parent

    def locate(self, error: AnyError) -> AnyError:
        """The error with the places of its problems in the file, without values of variables."""
        self.variables.mask(error)
        return place_error(error, self.places, self.overrides)

    def record(self, facts: RunRecord) -> RunRecord:
        """Record of files and warnings, without values of variables."""
        return self.variables.record(facts)


def load_suite(path: str | Path, overrides: Mapping[str, Any] | None = None) -> LoadedSuite:
    """Read a suite and the files of its defaults.

    Args:
        path: the YAML file.
        overrides: values for dotted keys, such as {"uncertainty.replicates": 200}, over those of the files; a
            text is read as a YAML scalar.

    Raises:
        ConfigError: all that is wrong, each problem with file, line and column.
        EnvironmentFault: a file cannot be read.
    """
    file = Path(path)
    layers = read_layers(file, overrides)
    variables = Redaction()
    try:
        raw = overridden(layers.value, overrides)
        expansion = Expansion()
        try:
            value = expansion.of_suite(raw)
        finally:
            variables = Redaction.of(expansion.used)
        suite = suite_from_mapping(value, name=file.stem, reads_files=True).with_templates(
            expansion.templates
        )
    except ConfigError as error:
        variables.mask(error)
        problems = place_error(error, layers.places, overrides).problems
        raise ConfigError(sorted(problems, key=partial(_order, str(file)))) from error
    return LoadedSuite(suite, file, layers.places, overrides or {}, layers.defaults, variables)


def read_layers(file: Path, overrides: Mapping[str, Any] | None) -> MergedDocument:
    """Layers of a suite and the files of its defaults, `--set` left out but for the files themselves.

    Raises:
        ConfigError: a file is absent or not a suite's YAML.
        EnvironmentFault: a file cannot be read.
    """
    document = parse_document(file)
    try:
        replacement = (overrides or {}).get(DEFAULTS)
        chosen = override({}, (DEFAULTS,), replacement)[DEFAULTS] if replacement is not None else None
        return with_defaults(document, file.parent, chosen)
    except PlmetricsError as error:
        raise place_error(error, document.places, overrides) from error


def overridden(value: dict[str, Any], overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """Values with those of `--set` over them.

    Raises:
        ConfigError: a key leads below what is not a mapping, or a text is no YAML.
    """
    for key, replacement in (overrides or {}).items():
        if key != DEFAULTS:
            value = override(value, tuple(key.split(".")), replacement)
    return value


def place_error(
    error: AnyError, places: Mapping[SuitePath, Location], replaced: Mapping[str, Any] | None = None
) -> AnyError:
    """Error with located problems: at the value, or the nearest thing around it.

    What is wrong with something else than the suite has no place in it where the suite does not say it.
    """
    of_suite = isinstance(error, ConfigError) and not isinstance(error, CallError)
    sections = {path[0] for path in places if path} | {key.partition(".")[0] for key in replaced or {}}
    problems = [
        _locate(problem, places, replaced or {}) if of_suite or {*problem.path[:1]} & sections else problem
        for problem in error.problems
    ]
    fresh = type(error)(problems)
    fresh.__cause__ = error.__cause__
    return fresh


def _order(suite: str, problem: Problem) -> tuple[bool, str, int, int]:
    """Those of the suite itself first, in the order of lines."""
    where = problem.where
    return (where.file != suite, where.file, where.line, where.column) if where else (False, "", 0, 0)


def _locate(problem: Problem, places: Mapping[SuitePath, Location], replaced: Mapping[str, Any]) -> Problem:
    if problem.is_placed:
        return problem
    path = problem.path
    key = _setting(path, places, replaced)
    if key is not None:
        return replace(problem, message=f"--set {key}: {problem.message}", where=None, is_placed=True)
    if problem.where is not None:
        return problem
    while path and path not in places:
        path = path[:-1]
    return replace(problem, where=places.get(path))


def _setting(
    path: SuitePath, places: Mapping[SuitePath, Location], replaced: Mapping[str, Any]
) -> str | None:
    """Last key of `--set` with the value at a path, or with the only value there."""
    steps = tuple(map(str, path))
    for key in reversed(list(replaced)):
        keys = tuple(key.split("."))
        if steps[: len(keys)] == keys or (steps and path not in places and keys[: len(steps)] == steps):
            return key
    return None
