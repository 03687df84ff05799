"""The way of a night on the command line: run, retry, accept, roll up, collect."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from suites.nights import Nights, day, nights

__all__ = ["nights"]


@pytest.mark.slow
def test_a_failed_night_is_failed_however_often_it_is_tried(
    nights: Nights, invoke: Callable[..., Any]
) -> None:
    nights.write_suite(compare={"run": "previous"})
    nights.write(1, bad=True)
    suite = str(nights.suite)
    codes = [invoke("run", suite, "--interval", day(number)).code for number in (0, 1, 1, 1, 2, 2)]
    assert codes == [0, 3, 3, 3, 0, 0]
    assert len(nights.runs()) == 3
    assert invoke("run", suite, "--next").code == 3  # the first one without an accepted result
    run = nights.current(1).run
    assert invoke("accept", str(nights.home / run), "--because", "labels were late").code == 0
    assert nights.current(1).accepted.because == "labels were late"
    assert invoke("run", suite, "--interval", day(1)).code == 3
    done = invoke("run", suite, "--next", "--format", "json")
    assert (done.code, nights.manifests.interval_keys()) == (0, [day(number) for number in range(4)])


@pytest.mark.slow
def test_a_month_is_rolled_up(nights: Nights, invoke: Callable[..., Any]) -> None:
    nights.write_suite(keep={"states": "400d"})
    assert invoke("backfill", str(nights.suite), "--from", day(0), "--to", day(3)).code == 0
    done = invoke("merge", str(nights.home), "--interval", f"{day(0)}/{day(3)}", "--format", "json")
    assert done.code == 0
    counts = [row["n"] for row in json.loads(done.out)["metrics"] if row["slice"] == "all"]
    assert set(counts) == {180}
    done = invoke("merge", str(nights.home), "--interval", "2026-03")
    assert done.code == 5
    assert "2026-03-04/2026-04-01: no result" in done.err
    done = invoke("merge", str(nights.home), "--interval", "2026-03", "--allow-missing")
    assert done.code == 0
    assert "it is left out" in done.out + done.err
    done = invoke("merge", str(nights.home), "--interval", f"{day(0)}/{day(3)}", "--fail-on", "warn")
    assert done.code == 2
    assert "states of intervals have no gates" in done.err
    assert invoke("gc", str(nights.suite), "--dry-run").out == "0.0 MB would go\n"
