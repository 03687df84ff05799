"""The figures of a database say whether the aim was reached, by the fastest rounds."""

import pytest

from benchmarks.database import section


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3.0, "**2**, in processor time 1.5, aim at most 2: reached"),
        (4.5, "**3.5**, in processor time 3, aim at most 2: not reached"),
    ],
)
def test_beyond_the_servers_own_time(seconds: float, words: str) -> None:
    def took(taken: float, processor: float) -> list[dict]:
        best = {"seconds": taken, "processor": processor, "peak_mb": 100.0, "values": [0.5, 0.25]}
        return [{**best, "seconds": taken + 1}, best]

    text = section(
        {"server": took(1.0, 0.0), "parquet": took(1.0, 1.0), "database": took(seconds, seconds - 1.5)}, 10
    )
    assert words in text
    assert "values differ by 0e+00 at most" in text
