"""What is public says what it is: the names of `plm`, and every metric with an example and its source."""

import doctest
import inspect

import pytest

import plmetrics as plm
from plmetrics.catalogue import registry

OURS = [metric for metric in registry.classes() if metric.__module__.startswith("plmetrics.")]
FUNCTIONS = [name for name in plm.__all__ if inspect.isfunction(getattr(plm, name))]


def test_a_metric_shows_an_example_and_names_its_source() -> None:
    for metric in OURS:
        said = metric.__doc__ or ""
        examples = doctest.DocTestParser().get_examples(said)
        assert any(
            metric.__name__ in example.source or metric.name in example.source for example in examples
        ), metric
        assert any(example.want for example in examples), metric
        assert "Source" in said, metric
        assert "ndefined" in said or "defined whenever" in said or "null" in said, metric


@pytest.mark.parametrize("name", plm.__all__)
def test_a_public_name_is_explained(name: str) -> None:
    said = inspect.getdoc(getattr(plm, name)) or ""
    assert said.split("\n")[0].endswith((".", ":"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_explains_its_arguments_and_errors(name: str) -> None:
    function = getattr(plm, name)
    said = inspect.getdoc(function) or ""
    parameters = inspect.signature(function).parameters
    if len(parameters) > 1:
        assert all(f"\n    {parameter}: " in said for parameter in parameters)
    assert "Raises:" in said or ">>>" in said
