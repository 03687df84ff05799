"""Hints for unknown names: one that looks the same is shown with the codes of its characters."""

import ast

import pytest

from plmetrics.core.names import did_you_mean


@pytest.mark.parametrize("name", ["s\u00a0", "\ufeffs", "s ", "\u017f"])
def test_a_name_that_looks_the_same_is_told_apart(name: str) -> None:
    hint = did_you_mean("s", ["y", name])
    assert hint is not None
    assert hint.isascii()
    assert ast.literal_eval(hint.removeprefix("did you mean ").removesuffix("?")) == name
