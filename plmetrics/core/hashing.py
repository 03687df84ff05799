"""The project's own 64-bit hash: two multiply-xorshift rounds, the same in Polars and in NumPy.

Blocks, folds and search halves use different salts, so that none of them is a function of another.
`HASH_VERSION` stands in run.json: a change of the constants is a change of every interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

HASH_VERSION = 1

BLOCK_SALT = 0x9E3779B97F4A7C15
DRAW_SALT = 0xD1B54A32D192ED03
SAMPLE_SALT = 0x8CB92BA72F3D8DD7
FOLD_SALT = 0xE35A1F97B4C6D80B
SEARCH_SALT = 0xC2B2AE3D27D4EB4F
ORDER_SALT = 0xA24BAED4963EE407

_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_WORD = 1 << 64


def mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit words in NumPy: a bijection whose output bits look independent.

    >>> mix(np.array([1], dtype=np.uint64))
    array([6238072747940578789], dtype=uint64)
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_SECOND)
    return x ^ (x >> np.uint64(31))


def mix_expr(x: pl.Expr) -> pl.Expr:
    """Scramble 64-bit words in Polars; `x` must be UInt64.

    >>> pl.select(mix_expr(pl.lit(1, dtype=pl.UInt64))).item()
    6238072747940578789
    """
    x = (x ^ (x // (1 << 30))) * pl.lit(_FIRST, dtype=pl.UInt64)
    x = (x ^ (x // (1 << 27))) * pl.lit(_SECOND, dtype=pl.UInt64)
    return x ^ (x // (1 << 31))


def mix_int(x: int) -> int:
    """Scramble one Python integer, taken modulo 2^64.

    >>> mix_int(1)
    6238072747940578789
    """
    x %= _WORD
    x = ((x ^ (x >> 30)) * _FIRST) % _WORD
    x = ((x ^ (x >> 27)) * _SECOND) % _WORD
    return x ^ (x >> 31)
