"""What a suite says of slice sets: what fits together, and what is told where it does not."""

import pytest

from plmetrics.suite.problems import Findings
from plmetrics.suite.sections.slices import read_slices


def problems(spec):
    found = Findings()
    made = read_slices({"s": spec}, found)
    assert (made is None) == bool(found.problems)
    return [(problem.path, problem.message) for problem in found.problems]


@pytest.mark.parametrize(
    "spec",
    [
        "a",
        ["a", "b"],
        {"column": "a", "quantiles": 4},
        {"column": "a", "top": 10},
        {"column": "a", "top": 10, "exclude": ["x", None, 3]},
        {"column": "a", "bins": [1, 2], "exclude": ["[1, 2)"]},
        {"columns": ["a", "b"], "exclude": [{"a": "x"}, {"a": None, "b": 2}, "a=x, b=y"]},
        {"where": {"young": "age < 30", "rich": "income > 1e5"}},
    ],
)
def test_these_are_slice_sets(spec):
    assert problems(spec) == []


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"column": "a", "quantiles": 1}, ("quantiles",), "at least 2"),
        ({"column": "a", "top": 0}, ("top",), "at least 1"),
        ({"column": "a", "top": 2, "quantiles": 3}, (), "quantiles and top exclude each other"),
        ({"column": "a", "bins": [1], "top": 2}, (), "bins and top exclude each other"),
        ({"column": "a", "bins": list(range(10_001))}, ("bins",), "at most 10,000 edges, not of 10,001"),
        ({"column": "a", "top": 10**21}, ("top",), "top must be at most 1000000"),
        ({"columns": ["a", "b"], "top": 2}, (), "top needs exactly one column"),
        ({"columns": ["a", "b"], "quantiles": 2}, (), "quantiles need exactly one column"),
        ({"columns": ["a", "b"], "exclude": ["x"]}, ("exclude", 0), "by a mapping or its whole text"),
        ({"column": "a", "exclude": [["x"]]}, ("exclude", 0), "exclude holds values or mappings"),
        ({"column": "a", "exclude": [{"c": 1}]}, ("exclude", 0), "'c' is not a column of this slice set"),
        ({"where": {"a/b": "x > 1"}}, ("where", "a/b"), "a slice's name must be"),
        ({"where": {"a": "x +"}}, ("where", "a"), "'x +'"),
        ({"where": {"a": "x + 1"}}, ("where", "a"), "is not a condition"),
        ({"where": "x > 1", "exclude": ["s=true"]}, (), "where stands alone"),
        ({"column": "a", "topp": 3}, ("topp",), "unknown key 'topp'"),
    ],
)
def test_what_does_not_fit_is_told_where_it_stands(spec, path, words):
    ((place, message),) = problems(spec)
    assert place == ("slices", "s", *path)
    assert words in message
