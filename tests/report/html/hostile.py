"""A table whose names try to break a page."""

import numpy as np
import polars as pl

MARKUP = "<script><b>&'\"]]>"
CLOSED = "</script></td></table>"
REGIONS = ["north", CLOSED, "\u202eright to left עברית", "x" * 200, "a.b[0]\\c", "\x07bell\x00", "😀"]


def table(rows: int = 3000) -> pl.DataFrame:
    draw = np.random.default_rng(5)
    label = draw.random(rows) < 0.3
    return pl.DataFrame(
        {
            "y": label.astype(int),
            "good": np.clip(0.35 * label + 0.6 * draw.random(rows), 0, 1),
            "poor": np.clip(0.15 * label + 0.8 * draw.random(rows), 0, 1),
            "region": [REGIONS[index % len(REGIONS)] for index in range(rows)],
        }
    )
