import dataclasses
import json

import pytest

from plmetrics.features.explain.explain_report import explain_json, explain_text
from plmetrics.features.explain.explanation import CubeSize, Explanation, Input, Pass, SetSize, StateSize
from plmetrics.features.explain.states import ShardSizes
from plmetrics.features.explain.verdict import Figures, verdict
from plmetrics.features.explain.work import Time

FOUND = Explanation(
    name="nightly",
    task="binary",
    source=Input("parquet", 3, 2_500_000, 1000, 1, ("y", "p\x1b", "region" * 12), 9),
    models=1,
    metrics=2,
    sets=(SetSize("overall", (), 1), SetSize("region", ("region",), 4)),
    rows=900,
    units=900,
    blocks=900,
    replicates=200,
    estimates=10,
    comparisons=0,
    exact=True,
    cubes=(CubeSize(("region", "overall"), ("region",), 5, 900, 900),),
    passes=(
        Pass("prepare", "values of region", 1, columns=1, rows=1000),
        Pass("aggregate", "2 metrics (sums)", 2, at_least=True, columns=3, rows=1000, plans=1, aggregates=7),
    ),
    memory={"sums": 50_400},
    peak=70_000_000,
    budget=10**9,
    advice=("min_rows is not set",),
    state=StateSize(2, (), 300, 1_333_333),
    time=Time({"aggregate": 3.0, "order": 123.0}, 126.0, 63.0, 2, "a machine, a day", ("leakage",)),
    shards=ShardSizes("file", 3, 1_500_000, 4_000_000, 0.1, 0.2),
    verdict=verdict(Figures(70_000_000, 999_600_000, 1, Time({}, 150.0, 75.0, 2, ""), 3)),
)


def test_all_that_is_known_is_said() -> None:
    text = explain_text(FOUND)
    for words in (
        "nightly: binary, 1 model, 2 metrics",
        "10 values, 200 replicates over 900 blocks of 900 units",
        "3 parquet files, 2.5 MB",
        "1 file: `where` rules out their folders",
        "1,000 in the files, 900 to evaluate",
        "3 of 9: y, p\\x1b,",
        "every plan streams",
        "2+        3  2,000  2 metrics (sums): 7 aggregates",
        "about 50.4 kB",
        "about 70.0 MB, and 250.0 MB that Python and Polars take",
        "Verdict: fits in memory: 320 of 1000 MB",
        "aggregate  about 3.0 s",
        "about 2 min of one processor",
        "without    leakage",
        "3 units, a file each, the largest of 1.5 MB",
        "their states: at most about 4.0 MB, written in 0.10 s, added in 0.20 s",
        "1.0 GB",
        "Worth a thought",
    ):
        assert words in text


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_lines_fit(width: int) -> None:
    assert max(map(len, explain_text(FOUND, width).split("\n"))) <= width


def test_what_does_not_stream_is_named() -> None:
    stuck = Pass("aggregate", "2 metrics (sums)", 1, fallbacks=("in-memory-map SELECT x",))
    found = Explanation(**{name: getattr(FOUND, name) for name in FOUND.__slots__} | {"passes": (stuck,)})
    assert not found.streams
    assert "does not stream: in-memory-map SELECT x" in explain_text(found)
    assert "every plan streams" not in explain_text(found)


REFUSED = tuple((name, f"{name} needs the rows in order") for name in ("ece", "qini", "mdape", "crps"))


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (StateSize(2, (), 12_345, 6_700_000), ["all of 2 metrics", "about 12,345 rows, 6.7 MB"]),
        (StateSize(1, (), None, None), ["1 of 2 metrics"]),
        (StateSize(0, REFUSED, 9, 900), ["0 of 2", "mdape needs the rows in order; and 1 more"]),
        (
            StateSize(2, (("exact", "exact: true needs the rows"),), None, None),
            ["exact: true needs the rows"],
        ),
    ],
)
def test_a_state_takes_few_lines(state: StateSize, told: list[str]) -> None:
    found = dataclasses.replace(FOUND, state=state)
    before, after = explain_text(FOUND), explain_text(found)
    assert len(after.splitlines()) - len(before.splitlines()) <= 7
    assert all(words in after for words in told)
    assert json.loads(explain_json(found))["state"]["kept"] == state.kept


def test_json() -> None:
    content = json.loads(explain_json(FOUND))
    assert content["source"]["bytes"] == 2_500_000
    assert content["streams"] is True
    assert [part["slices"] for part in content["sets"]] == [1, 4]
