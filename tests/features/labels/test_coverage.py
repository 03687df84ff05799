"""Gates on metrics that need labels are not judged where too few rows have one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.api.context import RunContext
from plmetrics.api.pipeline import evaluate_suite
from plmetrics.core.durations import Duration
from plmetrics.core.results import RecordedInterval
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.suite.sections.labels import Labels, label_status
from plmetrics.table.opening import open_source

ROWS = pl.DataFrame(
    {
        "y": [1, 0, 1, 0, 1, 0, 1, None, None, None],
        "p": [0.9, 0.2, 0.8, 0.3, 0.7, 0.6, 0.4, 0.5, 0.6, 0.1],
        "q": [0.8, 0.3, 0.7, 0.4, 0.6, 0.5, 0.3, 0.4, 0.5, 0.0],
        "g": ["a", "a", "a", "a", "b", "b", "b", "b", "c", "c"],
    }
)

ABSENT = {"name": "absent", "null_share": "label"}
MIXED = {"name": "mixed", "formula": "selection_rate + accuracy", "direction": "higher"}


def judged(
    gates: list[dict[str, Any]], coverage: float | None = 0.8, **further: Any
) -> list[tuple[str, str, str]]:
    """Slice, verdict and status of each row of the gates."""
    table = plm.evaluate(
        ROWS,
        label="y",
        models={"m": "p", "o": "q"},
        metrics=["accuracy", "labelled", "selection_rate", "disparity(accuracy, by=g)", ABSENT, MIXED],
        slices=["g"],
        labels={"coverage": coverage},
        gates=[{"model": "m", **gate} for gate in gates],
        **further,
    ).gates
    return table.select("slice", "verdict", "status").rows()


def test_a_gate_on_labels_waits_for_them() -> None:
    assert judged([{"metric": "accuracy", "slices": "all", "at_least": 0.1}]) == [
        ("all", "inconclusive", "too_few_labels"),
        ("g=a", "pass", "ok"),
        ("g=b", "inconclusive", "too_few_labels"),
        ("g=c", "inconclusive", "too_few_labels"),
    ]


def test_it_is_judged_where_no_share_is_asked_for() -> None:
    assert judged([{"metric": "accuracy", "at_least": 0.1}], coverage=None) == [("all", "pass", "ok")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ({"metric": "selection_rate", "at_least": 0.1}, ("all", "pass", "ok")),
        ({"metric": "labelled", "at_least": 0.95}, ("all", "fail", "ok")),
        ({"metric": "labelled", "at_least": 0.6}, ("all", "pass", "ok")),
        (
            {"metric": "accuracy", "at_least": 0.1, "min_rows": 1, "on_insufficient": "fail"},
            ("all", "fail", "too_few_labels"),
        ),
        (
            {"metric": "accuracy", "at_least": 0.1, "on_insufficient": "skip"},
            ("all", "skipped", "too_few_labels"),
        ),
        (
            {"metric": "accuracy", "against": "o", "better_than": 0.0},
            ("all", "inconclusive", "too_few_labels"),
        ),
        ({"metric": "disparity(accuracy, by=g)", "at_most": 1.0}, ("all", "inconclusive", "too_few_labels")),
        ({"metric": "absent", "at_most": 0.2}, ("all", "fail", "ok")),
        ({"metric": "mixed", "at_least": 0.1}, ("all", "inconclusive", "too_few_labels")),
    ],
)
def test_what_a_gate_judges_says_whether_it_waits(
    gate: dict[str, Any], expected: tuple[str, str, str]
) -> None:
    further = {"compare": "o"} if "against" in gate else {}
    assert judged([gate], **further) == [expected]


@pytest.mark.parametrize(("coverage", "status"), [(0.7, "ok"), (0.7001, "too_few_labels")])
def test_a_share_that_is_asked_for_is_enough(coverage: float, status: str) -> None:
    """Of 10 rows 7 have a label."""
    asked = judged([{"metric": "accuracy", "at_least": 0.1}], coverage)
    assert asked[0][2] == status


@pytest.mark.exhaustive
@pytest.mark.parametrize(("model", "other"), [("m", "o"), ("o", "m")])
@pytest.mark.parametrize("metric", ["accuracy", "disparity(accuracy, by=g)"])
def test_of_two_models_the_smaller_share_counts(metric: str, model: str, other: str) -> None:
    """All 6 rows of one have labels, 4 of 6 of the other; a metric over slices has the shares of all rows."""
    rows = pl.DataFrame(
        {
            "y": [1, 0, 1, 0, 1, 0, None, None],
            "p": [0.9, 0.2, 0.3, 0.7, 0.6, 0.1, None, None],
            "q": [None, None, 0.4, 0.6, 0.7, 0.2, 0.5, 0.8],
            "g": ["a", "b"] * 4,
        }
    )
    found = plm.evaluate(
        rows,
        label="y",
        models={"m": "p", "o": "q"},
        metrics=["accuracy", "disparity(accuracy, by=g)"],
        slices=["g"],
        missing="drop_per_model",
        labels={"coverage": 0.9},
        gates=[{"metric": metric, "model": model, "against": other, "at_most": 2.0}],
    ).gates
    assert found.select("verdict", "status").rows() == [("inconclusive", "too_few_labels")]
    assert found["note"].item().startswith("66.7% of the rows have labels, at least 90% needed")


def test_the_note_has_both_shares() -> None:
    asked: dict[str, Any] = {
        "label": "y",
        "models": {"m": "p"},
        "metrics": ["accuracy"],
        "labels": {"coverage": 0.85},
    }
    gates = plm.evaluate(ROWS, gates=[{"metric": "accuracy", "at_least": 0.1}], **asked).gates
    assert gates["note"].to_list() == ["70% of the rows have labels, at least 85% needed"]


def test_the_column_is_the_share_of_each_slice_and_there_only_where_it_is_asked_for() -> None:
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["accuracy", "n"], "slices": ["g"]}
    late = plm.evaluate(ROWS, labels=True, **asked).metrics
    assert dict(late.select("slice", "labelled").iter_rows()) == {
        "all": 0.7,
        "g=a": 1.0,
        "g=b": 0.75,
        "g=c": 0.0,
    }
    assert "labelled" not in plm.evaluate(ROWS.drop_nulls(), **asked).metrics.columns


def test_a_suite_of_metrics_across_slices_alone_has_the_shares_of_their_rows() -> None:
    """Of 10 rows 7 have a label, of those of the level x all 4."""
    metric = "disparity(accuracy, by=g)"
    result = plm.evaluate(
        ROWS.with_columns(h=pl.Series(["x", "x", "y", "y", "x", "x", "y", "y", "y", "y"])),
        label="y",
        models="p",
        metrics=[{"metric": metric, "slices": ["h"]}],
        slices=["g", "h"],
        labels={"coverage": 0.8},
        gates=[{"metric": metric, "at_most": 1.0}],
    )
    shares = dict(result.metrics.select("slice", "labelled").iter_rows())
    assert shares == {"all": 0.7, "h=x": 1.0, "h=y": 0.5}
    assert result.gates.select("verdict", "status").rows() == [("inconclusive", "too_few_labels")]


END = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("end", "after", "now", "status"),
    [
        (END, "7d", END + timedelta(days=7), "unlabelled"),
        (END, "7d", END + timedelta(days=7, seconds=-1), "immature"),
        (END, "1w", END, "immature"),
        (None, "7d", END, "unlabelled"),
        (END, None, END, "unlabelled"),
        (END, "7d", None, "unlabelled"),
    ],
)
def test_labels_are_due_a_while_after_the_interval(
    end: datetime | None, after: str | None, now: datetime | None, status: str
) -> None:
    assert label_status(end, after, now) == status


def test_the_run_knows_when_labels_are_due() -> None:
    arguments: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["accuracy"], "slices": ["g"]}
    source = open_source(ROWS)
    statuses = []
    for age in (1, 8):
        suite = suite_from_arguments(ROWS, labels={"mature_after": "7d"}, **arguments)
        context = replace(
            RunContext.of(suite, source), interval=_interval(END), as_of=END + timedelta(days=age)
        )
        found = evaluate_suite(suite, source, context=context).metrics
        statuses.append(found.filter(slice="g=c")["status"].item())
    assert statuses == ["immature", "unlabelled"]


@pytest.mark.parametrize("text", ["7", "1y", "-3d", "0d", "", "7 days", "d"])
def test_a_length_of_time_is_checked(text: str) -> None:
    with pytest.raises(ValueError, match="length of time"):
        Duration.of(text)
    with pytest.raises(plm.ConfigError, match=r"mature_after must be .*7d"):
        plm.evaluate(ROWS, label="y", models="p", labels={"mature_after": text})


@pytest.mark.parametrize("value", [0.0, 1.5, "much"])
def test_a_coverage_is_a_share(value: Any) -> None:
    with pytest.raises(plm.ConfigError, match="coverage"):
        plm.evaluate(ROWS, label="y", models="p", labels={"coverage": value})


def test_false_is_the_absence_of_the_section() -> None:
    assert suite_from_arguments(ROWS, label="y", models="p", labels=False).labels is None
    assert suite_from_arguments(ROWS, label="y", models="p", labels=True).labels == Labels()


def _interval(end: datetime) -> RecordedInterval:
    start = end - timedelta(days=1)
    return {"key": "a day", "start": start.isoformat(), "end": end.isoformat(), "timezone": "UTC"}
