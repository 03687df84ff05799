"""Windows of intervals: merged states are what one run over all their rows gives."""

import shutil
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score
from suites.nights import Nights, day, nights, rows

import plmetrics as plm
from plmetrics.api.nights.backfill import backfill
from plmetrics.runs.failure import failure_of

__all__ = ["nights"]

SUMS = ["brier", "log_loss", "accuracy", "recall", "precision", "count"]
METRICS = ["roc_auc", "pr_auc", *SUMS]
KEEP = {"states": "400d"}


def check_same(merged: pl.DataFrame, whole: pl.DataFrame) -> None:
    """Sums to the last bit, ordered metrics within their bound."""
    keys = ["model", "slice_set", "slice", "metric"]
    assert_frame_equal(merged.select(keys), whole.select(keys))
    sums = pl.col("metric").str.contains("|".join(f"^{name}" for name in SUMS))
    mine, theirs = (frame.filter(sums).select(*keys, "value", "n") for frame in (merged, whole))
    assert_frame_equal(mine, theirs, check_exact=True)
    ordered = [frame.filter(~sums) for frame in (merged, whole)]
    assert ordered[0].height
    distance = (ordered[0]["value"] - ordered[1]["value"]).abs()
    assert (distance <= ordered[0]["bound"].fill_null(0.0) + 1e-12).all()


def whole_of(numbers: list[int]) -> pl.DataFrame:
    frame = pl.concat([rows(number) for number in numbers])
    return plm.evaluate(
        frame, label="y", models=["old", "new"], metrics=METRICS, slices={"region": "region"}, uncertainty=False,
        reproducible=True,
    ).metrics  # fmt: skip


@pytest.mark.slow
def test_a_roll_up_is_one_run_over_all_rows(nights: Nights) -> None:
    nights.write_suite(metrics=METRICS, keep=KEEP, gates=None, reproducible=True)
    for number in (3, 0, 4, 1, 2):
        nights.run(number)
    merged = plm.merge(nights.home, interval=f"{day(0)}/{day(5)}")
    assert merged.record["rows"]["read"] == 300
    check_same(merged.metrics, whole_of([0, 1, 2, 3, 4]))
    check_same(plm.merge(nights.home, interval=f"{day(1)}/{day(3)}").metrics, whole_of([1, 2]))
    check_same(plm.merge(nights.home, interval=day(3)).metrics, whole_of([3]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "numbers"),
    [({"window": "3d"}, [5, 6, 7]), ({"same_weekday": 2}, [1]), ({"window": "1mo"}, list(range(8)))],
)
def test_a_window_has_the_values_of_one_run_over_its_rows(
    nights: Nights, run: dict[str, Any], numbers: list[int]
) -> None:
    nights.write_suite(metrics=METRICS, keep=KEEP, gates=None, reproducible=True, compare={"run": run})
    backfill(nights.suite, day(max(numbers[0] - 1, 0)), day(8))
    result = nights.run(8)
    keys = ["model", "slice_set", "slice", "metric"]
    compared = result.comparisons.filter(contrast="run", scale="difference").select(*keys, "difference")
    now = result.metrics.select(*keys, "value")
    # The night is in order, and the window on a grid.
    merged = plm.merge(nights.home, interval=f"{day(numbers[0])}/{day(numbers[-1] + 1)}").metrics
    now = now.join(merged.select(*keys, "bound"), on=keys, nulls_equal=True)
    then = whole_of(numbers).select(*keys, then="value")
    joined = compared.join(now, on=keys, nulls_equal=True).join(then, on=keys, nulls_equal=True)
    assert joined.height == compared.height == result.metrics.filter(pl.col("metric") != "count").height
    distance = (joined["value"] - joined["difference"] - joined["then"]).abs()
    assert (distance <= joined["bound"].fill_null(0.0) + 1e-12).all()


@pytest.mark.slow
def test_a_superseded_result_is_not_counted(nights: Nights) -> None:
    nights.write_suite(metrics=METRICS, keep=KEEP, gates=None, reproducible=True)
    nights.write(0, rows(77))
    nights.run(0)
    nights.write(0)
    backfill(nights.suite, day(0), day(2))
    check_same(plm.merge(nights.home, interval=f"{day(0)}/{day(2)}").metrics, whole_of([0, 1]))


@pytest.mark.slow
def test_missing_intervals_are_named_and_may_be_left_out(nights: Nights) -> None:
    nights.write_suite(metrics=METRICS, keep=KEEP, gates=None, reproducible=True)
    for number in (1, 2, 5):
        nights.run(number)
    span = f"{day(0)}/{day(8)}"
    with pytest.raises(plm.DataError) as caught:
        plm.merge(nights.home, interval=span)
    assert failure_of(caught.value).exit_code == 5
    words = ["2026-03-01: no result", "2026-03-04/2026-03-06: no result", "2026-03-07/2026-03-09: no result"]
    assert all(word in caught.value.problems[0].message for word in words)
    merged = plm.merge(nights.home, interval=span, allow_missing=True)
    assert [word for word in words if f"{word}; it is left out" in merged.warnings] == words
    check_same(merged.metrics, whole_of([1, 2, 5]))


@pytest.mark.slow
def test_a_state_that_is_damaged_or_absent_is_missing(nights: Nights) -> None:
    nights.write_suite(keep=KEEP)
    folders = [nights.run(number).folder for number in range(2)]
    nights.write_suite()
    nights.run(2)
    state = folders[1] / "interval.state"
    state.write_bytes(state.read_bytes()[:-9])
    with pytest.raises(plm.DataError) as caught:
        plm.merge(nights.home, interval=f"{day(0)}/{day(3)}")
    message = caught.value.problems[0].message
    assert f"{day(1)}: {folders[1].name}/interval.state is not as it was written" in message
    assert f"{day(2)}: it has no state" in message


@pytest.mark.slow
def test_months_are_spans_and_other_words_are_mistakes(nights: Nights) -> None:
    nights.write_suite(keep=KEEP)
    nights.run(0)
    for text in ("2026-03", "2026-03/2026-04", "2026-02/2026-W14"):
        assert plm.merge(nights.home, interval=text, allow_missing=True).record["rows"]["read"] == 60
    for text, words in (
        ("march", "'march' is no span of time"),
        (f"{day(3)}/{day(1)}", "ends before it begins"),
        ("2026-04", "not all of 2026-04 is there"),
    ):
        with pytest.raises(plm.PlmetricsError, match=words):
            plm.merge(nights.home, interval=text, allow_missing=True)
    with pytest.raises(plm.ConfigError, match="has no results of intervals"):
        plm.merge(nights.folder, interval="2026-03")


@pytest.mark.slow
def test_intervals_of_one_growing_file_add(nights: Nights) -> None:
    nights.write_suite(data={"path": "log.parquet"}, interval={"column": "at"}, keep=KEEP, metrics=METRICS,
                       reproducible=True, gates=None)  # fmt: skip
    days = [rows(number).with_columns(at=pl.lit(day(number)).str.to_datetime()) for number in range(3)]
    for number in range(3):
        pl.concat(days[: number + 1]).write_parquet(nights.folder / "log.parquet")
        nights.run(number)
    check_same(plm.merge(nights.home, interval=f"{day(0)}/{day(3)}").metrics, whole_of([0, 1, 2]))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["damaged", "gone", "damaged without another"])
def test_constants_that_are_lost_are_taken_from_a_state_with_a_word(nights: Nights, loss: str) -> None:
    nights.write_suite(keep={"states": "9d"}, metrics=["roc_auc"])
    nights.run(0)
    (file,) = (nights.home / "constants").iterdir()
    content = file.read_bytes()
    if loss == "gone":
        file.unlink()
    else:
        file.write_bytes(content[:-40] + bytes(40))
    if loss == "damaged without another":
        shutil.rmtree(nights.home / "intervals")
    (words,) = [words for words in nights.run(1).warnings if "constants" in words]
    if loss == "damaged without another":
        assert words.endswith("was damaged, and no state was made with it: a new one is made")
        return
    place = f"constants/{file.name}"
    assert words == f"{place} was {loss}: it is taken from the state of {day(0)}"
    assert file.read_bytes() == content
    assert plm.merge(nights.home, interval=f"{day(0)}/{day(2)}").record["rows"]["read"] == 120
    assert not [words for words in nights.run(2).warnings if "constants" in words]


@pytest.mark.slow
@pytest.mark.parametrize("scales", [["difference", "ratio", "relative_change"], ["difference"]])
def test_a_window_on_a_grid_of_other_scores_decides_no_gate_within_its_error(
    nights: Nights, scales: list[str]
) -> None:
    """Scores of the first night make the grid: on another scale they tie what came later, and its AUC is near 0.5."""
    loss = {"metric": "roc_auc", "model": "old", "against": {"run": True}, "no_worse_than": 0.1}
    clear = {**loss, "name": "clear", "no_worse_than": 0.9}
    shares = [{**clear, "name": scale, "scale": scale, "no_worse_than": 0.5} for scale in scales[1:]]
    compare = {"run": {"window": "3d"}, "scales": scales}
    nights.write_suite(compare=compare, gates=[loss, clear, *shares], keep=KEEP)
    nights.write(0, rows(0).with_columns(pl.col("old", "new") / 1000))
    nights.write(4, bad=True)
    result = [nights.run(number) for number in range(5)][-1]
    table = result.comparisons.filter(contrast="run", model="old", slice_set="overall", metric="roc_auc")
    before = pl.concat([rows(number) for number in (1, 2, 3)])
    now, then = (roc_auc_score(frame["y"], frame["old"]) for frame in (rows(4, bad=True), before))
    truth = {"difference": now - then, "ratio": now / then, "relative_change": now / then - 1}
    for row in table.rows(named=True):
        largest = float(row["note"].removeprefix("independent samples; counted on a grid, and at most ")[:-4])
        assert abs(row["difference"] - truth[row["scale"]]) <= largest * 1.05
    assert now - then < -0.1 < table["difference"][0]
    assert result.gates["verdict"].to_list() == ["inconclusive", "pass", *["inconclusive"] * len(shares)]
    assert "the rule is not decided within" in result.gates["note"][0]


@pytest.mark.parametrize("changes", [{"keep": KEEP}, {"compare": {"run": {"window": "3d"}}}])
def test_what_no_state_holds_is_refused_before_rows_are_read(nights: Nights, changes: dict[str, Any]) -> None:
    nights.write_suite(metrics=["brier", "calibration_slope"], gates=None, **changes)
    said = "calibration_slope needs the rows in order, which a state does not hold"
    with pytest.raises(plm.ConfigError, match=said):
        plm.validate(nights.suite)
    shutil.rmtree(nights.folder / "scores")
    nights.write(0, pl.DataFrame({"other": [1]}))
    with pytest.raises(plm.ConfigError, match=said):
        nights.run(0)
    nights.write_suite(metrics=["brier", "calibration_slope"], gates=None, compare={"run": "previous"})
    nights.write(0)
    assert plm.validate(nights.suite).suite.name == "nightly"


SIZES = [
    ({"min_rows": 5}, "skipped", "too_few_rows", "pass"),
    ({"min_rows": 5, "on_insufficient": "fail"}, "fail", "too_few_rows", "fail"),
    ({"min_rows": 5, "on_insufficient": "warn"}, "fail", "too_few_rows", "pass"),
    ({"min_positives": 1, "on_insufficient": "fail"}, "fail", "too_few_positives", "fail"),
    ({}, "inconclusive", "not_in_run", "inconclusive"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("sizes", "verdict", "status", "of_run"), SIZES)
def test_a_slice_of_the_earlier_night_alone_has_no_rows(
    nights: Nights, sizes: dict[str, Any], verdict: str, status: str, of_run: str
) -> None:
    """0 rows are fewer than `min_rows`: the rows of the earlier night were taken for those of this one."""
    gate = {"metric": "roc_auc", "against": {"run": True}, "no_worse_than": 0.5, "slices": "region", **sizes}
    nights.write_suite(compare={"run": "previous"}, models={"new": "new"}, gates=[gate])
    nights.run(0)
    nights.write(1, rows(1).filter(region="n"))
    result = nights.run(1)
    of_slice = {row["slice"]: (row["verdict"], row["status"]) for row in result.gates.to_dicts()}
    assert of_slice == {"region=n": ("pass", "ok"), "region=s": (verdict, status)}
    assert result.verdict == of_run


def test_a_night_and_its_window_may_lack_the_group_of_reference(nights: Nights) -> None:
    odds = "average_odds_difference(by=region, reference=n)"
    nights.write(1, rows(1).with_columns(region=pl.lit("s")))
    gate = {"metric": "brier", "slices": "region", "against": {"slice": "region=n"}, "no_worse_than": 1}
    compare = {"slices": {"region": "region=n"}, "run": {"window": "1d"}}
    nights.write_suite(metrics=["brier", odds], keep=KEEP, gates=[gate], compare=compare)
    first, second, third = (nights.run(number) for number in range(3))
    assert second.metrics.filter(metric=odds)["status"].unique().to_list() == ["reference_not_judged"]
    assert any("'region=n' is not a slice of 'region' in these rows" in text for text in second.warnings)
    assert [result.gates["verdict"].unique().item() for result in (first, second, third)] == [
        "pass",
        "inconclusive",
        "pass",
    ]
    assert third.comparisons.filter(contrast="run")["status"].to_list().count("ok") > 0
    with pytest.raises(plm.ConfigError, match="'region=n' is not a slice of 'region'"):
        plm.merge(nights.home, interval=day(1))
