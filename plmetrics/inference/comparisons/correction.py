"""Corrections of p values for multiple tests."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, Literal

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError
from plmetrics.core.ops import Array

Correction = Literal["holm", "bonferroni", "benjamini_hochberg", "none"]


def adjust(p: Array, method: str) -> Array:
    """Adjusted p values of one family, in the order given. NaN stays NaN and does not count as a test.

    The methods are those of `adjusted`.

    Sources: Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6(2); Benjamini and Hochberg (1995), Controlling the false discovery rate, JRSS B 57(1).

    >>> adjust(np.array([0.01, np.nan, 0.04, 0.03]), "holm")
    array([0.03,  nan, 0.06, 0.06])
    """
    p_values = np.asarray(p, dtype=np.float64)
    adjusted = p_values.copy()
    defined = np.flatnonzero(np.isfinite(p_values))
    ascending = defined[np.argsort(p_values[defined], kind="stable")]
    adjusted[ascending] = np.minimum(_METHODS[method](p_values[ascending]), 1.0)
    return adjusted


def adjusted(p_values: Any, *, method: Correction = "holm") -> list[float | None]:
    """Adjusted p values of one family of tests, in the order given.

    Args:
        p_values: from 0 to 1; None where there is none, which does not count as a test.
        method: "holm" and "bonferroni" bound the chance of any false alarm, "benjamini_hochberg" the expected share of
            false alarms among the alarms; "none" leaves the values as they are.

    Raises:
        ConfigError: a p value is not from 0 to 1, or there is no such correction.

    Sources: as for `adjust`.

    >>> import plmetrics as plm
    >>> plm.tests.adjusted([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    if method not in _METHODS:
        msg = f"method must be one of {', '.join(_METHODS)}, not {method!r}"
        raise ConfigError(msg)
    try:
        values = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = "p_values must be numbers"
        raise ConfigError(msg) from error
    if values.ndim != 1 or ((values < 0) | (values > 1)).any():
        msg = "p_values must be one column of numbers from 0 to 1"
        raise ConfigError(msg)
    return [None if isnan(value) else value for value in adjust(values, method).tolist()]


def adjust_families(table: pl.DataFrame, family: pl.Expr, correction: str) -> pl.DataFrame:
    """Table with `family`, `family_size` and `p_adjusted`: the p values of each family are adjusted together.

    Null p values stay null and do not count; rows without a family have no size.

    >>> table = pl.DataFrame({"slice_set": ["a", "a", "b"], "p_value": [0.01, 0.04, 0.03]})
    >>> adjust_families(table, pl.col("slice_set"), "bonferroni").select("family_size", "p_adjusted").rows()
    [(2, 0.02), (2, 0.08), (1, 0.03)]
    """
    table = table.with_columns(family.alias("family"))
    p_values = table["p_value"].cast(pl.Float64).to_numpy()
    adjusted, sizes = np.empty(table.height), np.empty(table.height, dtype=np.int64)
    for part in table.select("family").with_row_index("@row").partition_by("family", maintain_order=True):
        rows = part["@row"].to_numpy()
        adjusted[rows], sizes[rows] = adjust(p_values[rows], correction), np.isfinite(p_values[rows]).sum()
    size = pl.when(pl.col("family").is_not_null()).then(pl.Series(sizes))
    return table.with_columns(pl.Series("p_adjusted", adjusted, nan_to_null=True), size.alias("family_size"))


def _benjamini_hochberg(p: Array) -> Array:
    scaled = p * (len(p) / np.arange(1, len(p) + 1))
    return np.minimum.accumulate(scaled[::-1])[::-1]


_METHODS: dict[str, Callable[[Array], Array]] = {
    "holm": lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1)),
    "bonferroni": lambda p: p * len(p),
    "benjamini_hochberg": _benjamini_hochberg,
    "none": lambda p: p,
}
