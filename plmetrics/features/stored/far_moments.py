"""Rows of reproducible states whose moments are about centres of their own: they stand side by side, and are not added.

Numbers about different centres cannot be added to the same, to the last bit, in any order. So each state's rows stay as
they are, and estimates read them in an order that their numbers alone decide. What tells them is that they have no
whole numbers beside some sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.exact_sums import FIXED
from plmetrics.states.moments import CENTRE
from plmetrics.states.stored import BLOCK, CELL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from plmetrics.features.stored.alignment import Alike, Cube


def centre_columns(cube: Cube, group: Alike) -> list[str]:
    """The columns of some states with the centres of such rows; none where moments are brought to one centre."""
    columns = () if cube.moments else group.head.parts[cube.number(group)].columns
    return [name for name in columns if name.startswith(CENTRE)]


def is_far(names: Sequence[str]) -> pl.Expr:
    """Whether a row is one, from the columns of sums."""
    return pl.any_horizontal(pl.col(name).is_null() for name in names if name.startswith(FIXED))


def beside(near: pl.DataFrame, far: Sequence[pl.DataFrame], constants: Mapping[str, Any]) -> pl.DataFrame:
    """The sums that were added, and these rows; where a row has no centre of its own, it is that of the run."""
    held = [rows for rows in far if rows.height]
    if not held:
        return near
    keys = [name for name in (CELL, BLOCK) if name in near.columns]
    alike = [rows.with_columns(pl.col(name).cast(near.schema[name]) for name in keys) for rows in held]
    every = pl.concat([near, *alike], how="diagonal")
    known = {
        f"{CENTRE}{model}|{key}": centre
        for model, centres in constants["centres"].items()
        for key, centre in centres.items()
    }
    centres = [name for name in every.columns if name.startswith(CENTRE)]
    return every.with_columns(pl.col(name).fill_null(known.get(name, 0.0)) for name in centres).sort(keys)
