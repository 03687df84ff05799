"""Special functions are scipy's, and nothing of scipy is there before one is called."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.special

from plmetrics.core import special

FUNCTIONS = {name: value for name, value in vars(special).items() if callable(value) and name[0].islower()}
ARGUMENTS = {"betainc": 3, "betaincinv": 3, "fdtrc": 3, "nctdtr": 3} | dict.fromkeys(
    ("betaln", "chdtrc", "chdtri", "smirnov", "stdtr", "stdtrit"), 2
)
"""How many arguments functions take, where that is not one."""

EVALUATED = """
import sys, polars as pl, plmetrics as plm
frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4], "g": [1, 1, 2, 2]})
result = plm.evaluate(frame, label="y", models="p", metrics=["brier", "roc_auc"], slices={"g": "g"})
assert result.metrics.height == 6
print([name for name in ("scipy", "pandas", "pyarrow", "sqlglot", "rich", "typer") if name in sys.modules])
"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_is_the_function_of_its_name(name):
    arguments = np.array([[2.0, 3.0, 5.0], [4.0, 2.0, 1.0], [0.3, 0.6, 0.9]])[3 - ARGUMENTS.get(name, 1) :]
    found, expected = FUNCTIONS[name](*arguments), getattr(scipy.special, name)(*arguments)
    assert np.isfinite(expected).all()
    assert found.tolist() == expected.tolist()


@pytest.mark.slow
def test_values_alone_import_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", EVALUATED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
