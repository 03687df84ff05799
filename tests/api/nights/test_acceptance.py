"""An acceptance holds for the rows and the failures that a person looked at."""

import pytest
from suites.nights import Nights, day, nights, rows

from plmetrics.api.nights.acceptance import accept

__all__ = ["nights"]


@pytest.mark.slow
def test_an_acceptance_outlives_what_changes_before_its_night(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous"})
    nights.write(1, bad=True)
    nights.run(0)
    accept(nights.run(1).folder, because="a campaign", by="ann")
    nights.write(0, height=90)
    nights.run(0)
    again = nights.run(1)
    manifest = nights.current(1)
    assert (manifest.run, manifest.verdict) == (again.folder.name, "fail")
    assert (manifest.accepted.because, manifest.accepted.by) == ("a campaign", "ann")
    assert nights.run(2).record["references"]["compare.run"]["intervals"] == [day(1)]


def test_other_rows_or_other_failures_are_not_accepted(nights: Nights) -> None:
    nights.write(1, bad=True)
    accept(nights.run(1).folder, because="a campaign", by="ann")
    nights.write(1, rows(1, 70, bad=True))
    result = nights.run(1)
    assert nights.current(1).accepted is None
    assert [words for words in result.warnings if "ann accepted" in words and "accept it" in words]
    accept(result.folder, because="the same", by="ann")
    gates = [{"metric": "roc_auc", "at_least": 0.75}, {"metric": "brier", "at_most": 0.01}]
    nights.write_suite(gates=gates)
    assert nights.run(1).verdict == "fail"
    assert nights.current(1).accepted is None
