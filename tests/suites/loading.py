from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.suite.yaml.load import LoadedSuite, load_suite

HEAD = "data: {path: scores.parquet}\ncolumns: {label: y}\nmodels: {a: p, b: q}\n"

Load: TypeAlias = Callable[..., LoadedSuite]
Refuse: TypeAlias = Callable[..., tuple[Problem, ...]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a suite from its text, by default behind a head that makes it complete."""

    def loaded(
        text: str | bytes, *, head: str = HEAD, overrides: dict[str, Any] | None = None
    ) -> LoadedSuite:
        content = text if isinstance(text, bytes) else (head + text).encode()
        file = tmp_path / "suite.yaml"
        file.write_bytes(content)
        return load_suite(file, overrides or {})

    return loaded


@pytest.fixture
def refuse(load: Load) -> Refuse:
    """The problems of a suite that is wrong."""

    def refused(text: str | bytes, **options: Any) -> tuple[Problem, ...]:
        with pytest.raises(ConfigError) as caught:
            load(text, **options)
        assert caught.value.exit_code == 2
        return caught.value.problems

    return refused
