"""The chart of a history: its marks are the frame's values, its breaks the frame's gaps."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from suites.nights import Nights, day, nights, rows

import plmetrics as plm

__all__ = ["nights"]

pytest.importorskip("altair", reason="charts need the extra report")


def layers(figure: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """The marks of each layer with their rows."""
    content = figure.specification()

    def walk(part: dict[str, Any], data: str | None) -> list[tuple[str, list[dict[str, Any]]]]:
        name = part.get("data", {}).get("name", data)
        below = [walk(each, name) for key in ("layer", "concat") for each in part.get(key, ())]
        if not below:
            return [(part["mark"]["type"], content["datasets"][name])]
        return [layer for each in below for layer in each]

    return walk(content, None)


def milliseconds(interval: str) -> int:
    return int(datetime.fromisoformat(interval).replace(tzinfo=UTC).timestamp() * 1000)


def test_points_lines_rings_and_limits_are_those_of_the_history(nights: Nights) -> None:
    nights.write(2, bad=True)
    for number in (0, 1, 2, 4, 5):
        nights.run(number)
    figure = plm.history_chart(nights.home)
    rows = plm.history(nights.home, metrics="roc_auc", slices="overall").filter(pl.col("model").is_not_null())
    marks = layers(figure)
    line = next(data for kind, data in marks if kind == "line")
    expected = {(milliseconds(row["interval"]), row["model"], row["value"]) for row in rows.to_dicts()}
    assert {(row["x"], row["s"], row["y"]) for row in line} == expected
    for model in ("old", "new"):
        stretches = {row["x"]: row["g"] for row in line if row["s"] == model}
        before, after = stretches[milliseconds(day(2))], stretches[milliseconds(day(4))]
        assert before != after
        assert stretches[milliseconds(day(0))] == before
        assert stretches[milliseconds(day(5))] == after
    failed = rows.filter(pl.col("value") < 0.75)
    assert not failed.is_empty()
    rings = marks[-1][1]
    assert {(row["x"], row["y"]) for row in rings} == {
        (milliseconds(row["interval"]), row["value"]) for row in failed.to_dicts()
    }
    assert {row["t"] for kind, data in marks if kind == "text" for row in data} == {">= 0.75"}
    assert "1 missing" in figure.description
    assert figure.frame["value"].sort().to_list() == rows["value"].sort().to_list()
    loaded = plm.load(nights.home)
    assert "history" in dir(loaded.plot)
    assert loaded.plot.history().frame.equals(figure.frame)


def test_slices_have_panels_the_worst_last_value_first_and_twelve_at_most(nights: Nights) -> None:
    for number in range(3):
        frame = pl.concat([pl.read_parquet(nights.partition(number))] * 10)
        many = frame.with_columns(region=pl.format("r{}", pl.int_range(pl.len()) % 15))
        nights.write(number, many)
        nights.run(number)
    figure = plm.history_chart(nights.home, metric="brier", models="old", slices="region")
    last = plm.history(nights.home, metrics="brier", models="old", slices="region").filter(interval=day(2))
    worst = last.sort("value", descending=True, maintain_order=True)["value"].to_list()
    order = figure.frame.filter(interval=day(2))["value"].to_list()
    assert order == worst[:12]
    assert "3 more slices not drawn" in str(figure.specification()["title"])


def test_one_interval_is_no_history(nights: Nights) -> None:
    result = nights.run(0)
    with pytest.raises(plm.ConfigError, match="two intervals"):
        result.plot.history()
    frame = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2]})
    assert "history" not in dir(plm.evaluate(frame, label="y", models="p", metrics=["brier"]).plot)


@pytest.mark.slow
def test_a_control_band_is_that_of_the_gate(nights: Nights) -> None:
    nights.write_suite(gates=[{"metric": "roc_auc", "within": {"sd": 3, "last": 3, "min_intervals": 3}}])
    for number in range(5):
        nights.run(number)
    frame = plm.history(nights.home, metrics="roc_auc", models="old", slices="overall")
    values = frame["value"].to_list()
    for number, (low, high) in enumerate(frame.select("band_lower", "band_upper").iter_rows()):
        earlier = values[max(0, number - 3) : number]
        if len(earlier) < 3:
            assert low is None
            assert high is None
            continue
        mean = sum(earlier) / 3
        spread = (sum((value - mean) ** 2 for value in earlier) / 2 * (1 + 1 / 3)) ** 0.5
        assert (low, high) == pytest.approx((mean - 3 * spread, mean + 3 * spread), rel=1e-4)
    assert "control band" in str(plm.history_chart(nights.home, metric="roc_auc").chart.to_dict()["title"])


def test_a_one_sided_band_reaches_to_the_edge_of_the_panel(nights: Nights) -> None:
    band = {"sd": 3, "last": 3, "min_intervals": 3, "side": "worse"}
    nights.write_suite(gates=[{"metric": "roc_auc", "model": "old", "within": band}])
    for number in range(5):
        nights.run(number)
    figure = plm.history_chart(nights.home, metric="roc_auc", models="old")
    frame = plm.history(nights.home, metrics="roc_auc", models="old", slices="overall")
    ends = frame.drop_nulls("band_lower")
    assert ends["band_upper"].is_null().all()
    (area,) = [data for kind, data in layers(figure) if kind == "area"]
    assert [row["low"] for row in area] == ends["band_lower"].to_list()
    assert len({row["high"] for row in area}) == 1
    assert area[0]["high"] > frame["value"].max()  # type: ignore[operator]


@pytest.mark.slow
def test_a_page_shows_the_history_of_an_interval(nights: Nights) -> None:
    for number in (0, 2):
        result = nights.run(number)
    page = nights.folder / "page.html"
    result.report(page)
    text = page.read_text()
    section = text.split(">History</h2>")[1].split("</section>")[0]
    assert day(1) in section
    value = result.metrics.filter(metric="roc_auc", model="old", slice="all")["value"].item()
    assert f'data-value="{value!r}"' in section


def test_slices_of_a_metric_that_is_best_at_0_are_the_farthest_from_it(nights: Nights) -> None:
    nights.write_suite(metrics=["calibration_intercept"], gates=None)
    region = pl.int_range(pl.len()) // 60
    low = pl.when(region % 3 == 0).then(pl.col("old") / 4).otherwise("old")
    for number in range(2):
        nights.write(number, rows(number, 900).with_columns(region=pl.format("r{}", region), old=low))
        nights.run(number)
    figure = plm.history_chart(nights.home, models="old", slices="region")
    last = plm.history(nights.home, models="old", slices="region").filter(interval=day(1))
    farthest = last.sort(pl.col("value").abs(), descending=True, maintain_order=True)["value"].to_list()
    assert min(farthest) < 0 < max(farthest)
    assert figure.frame.filter(interval=day(1))["value"].to_list() == farthest[:12]
    assert figure.notes == ("3 more slices not drawn: last values are better there",)


def test_panels_of_classes_that_are_left_out_are_no_slices(nights: Nights) -> None:
    """There are thirteen: of the only metric, a class each."""
    nights.write_suite(
        task="multiclass",
        metrics=["recall(average=none)"],
        models={"old": {"prediction": "called"}},
        slices=None,
        gates=None,
    )
    for number in range(2):
        place = pl.int_range(78) % 13
        nights.write(number, pl.select(y=pl.format("c{}", place), called=pl.format("c{}", place)))
        nights.run(number)
    assert plm.history_chart(nights.home).notes == ("1 more panel not drawn",)
