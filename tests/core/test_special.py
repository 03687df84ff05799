"""Special functions are scipy's, and nothing of scipy is there before one is called."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

from plmetrics.core import special

FUNCTIONS = dict(inspect.getmembers(special, inspect.isfunction))

EVALUATED = """
import sys, polars as pl, plmetrics as plm
frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4], "g": [1, 1, 2, 2]})
result = plm.evaluate(frame, label="y", models="p", metrics=["brier", "roc_auc"], slices={"g": "g"})
assert result.metrics.height == 6
print([name for name in ("scipy", "pandas", "pyarrow", "sqlglot", "rich", "typer") if name in sys.modules])
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_is_the_function_of_its_name(name):
    number = len(inspect.signature(FUNCTIONS[name]).parameters)
    arguments = np.array([[2.0, 3.0, 5.0], [4.0, 2.5, 1.5], [0.3, 0.6, 0.9]])[3 - number :]
    found, expected = FUNCTIONS[name](*arguments), getattr(scipy.special, name)(*arguments)
    assert np.isfinite(expected).all()
    assert found.tolist() == expected.tolist()


def test_values_alone_import_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", EVALUATED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
