"""Our own runs of growing sizes: rows, slices, replicates, models and metrics, one of them at a time."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from benchmarks.contestants.ours import REPLICATES, SUMS, models, ours
from benchmarks.tables import CELLS

if TYPE_CHECKING:
    from benchmarks.contestants.contestant import Contestant

ROWS = tuple(1_000_000 * size for size in (1, 2, 5, 10, 20, 50, 100, 200))
SIZES = {
    "slices": CELLS,
    "replicates": (100, 1000, 10_000),
    "models": (1, 2, 4, 8, 16),
    "metrics": (1, 2, 4, 8, 16, 32, 60),
}
"""What else grows, on one table."""

_RATES = ("accuracy", "precision", "recall", "f1", "mcc", "selection_rate")
MANY = [f"{name}(threshold={cut / 20})" for cut, name in product(range(1, 20, 2), _RATES)]


def column(slices: int) -> str:
    """The column of a table of cells that has so many values."""
    return f"cell_{slices}"


def arguments(**changed: Any) -> dict[str, Any]:
    """What all of these runs do, but for what grows: 2 models, 6 metrics, 101 slices, 1000 replicates by customer."""
    usual = {
        "models": models(2),
        "metrics": SUMS,
        "slices": {"cell": column(100)},
        "unit": "customer",
        "uncertainty": REPLICATES,
    }
    return usual | changed


def changed(what: str, size: int) -> dict[str, Any]:
    """The arguments of one size."""
    if what == "slices":
        return {"slices": {"cell": column(size)}}
    if what == "replicates":
        return {"uncertainty": REPLICATES | {"replicates": size}}
    if what == "models":
        return {"models": models(size), "compare": {"baseline": "s0"} if size > 1 else None}
    return {"metrics": MANY[:size]}


def name_of(what: str, size: int) -> str:
    """The contestant of one size; a size of rows is that of its table."""
    return "grown_rows" if what == "rows" else f"grown_{what}_{size}"


CONTESTANTS: tuple[Contestant, ...] = (
    ours(
        "grown_rows",
        "2 models, 7 metrics, 11 slices, 1000 replicates by customer",
        **arguments(metrics=[*SUMS, "roc_auc"], slices={"cell": column(10)}, exact=False),
    ),
    *(
        ours(name_of(what, size), f"{size} {what}", **arguments(**changed(what, size)))
        for what, sizes in SIZES.items()
        for size in sizes
    ),
)
