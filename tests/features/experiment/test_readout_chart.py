"""The chart of a readout: places and words are those of its table."""

import numpy as np
import polars as pl
import pytest
from references.svg_marks import axis_scale, marks_of, texts_of

import plmetrics as plm


def rows(shares: dict[str, int]) -> pl.DataFrame:
    random = np.random.default_rng(8)
    arms = [arm for arm, size in shares.items() for _ in range(size)]
    effect = np.array([{"A": 0.0, "B <i>": 0.12, "c.d": 0.0}[arm] for arm in arms])
    return pl.DataFrame(
        {
            "arm": arms,
            "bought": (random.random(len(arms)) < 0.3 + effect).astype(int),
            "spent": random.gamma(2, 10, len(arms)) * (1 + effect),
            "region": random.choice(["north", "south"], len(arms)),
        }
    )


@pytest.fixture(scope="module")
def table():
    frame = rows({"A": 700, "B <i>": 700, "c.d": 700})
    return plm.readout(frame, outcome=["bought", "spent"], arm="arm", control="A", by=["region"])


def test_effects_stand_at_their_differences_a_panel_an_outcome(table):
    figure = plm.readout_chart(table)
    effects = table.filter(pl.col("test") != "sample_ratio")
    assert figure.frame.equals(effects)
    marks = marks_of(figure)
    dots = [mark for mark in marks if mark.kind == "symbol" and mark.attributes.get("stroke-width") == "1.2"]
    dots.sort(key=lambda mark: mark.y)
    for number, (outcome, part) in enumerate(effects.group_by("outcome", maintain_order=True)):
        start, slope = axis_scale(marks, number=number)
        mine = dots[number * 6 : number * 6 + 6]
        read = np.array([start + slope * mark.x for mark in mine])
        assert np.abs(read - part["difference"].to_numpy()).max() < 0.5 * slope, outcome
        hollow = [mark.attributes["fill"] == "#ffffff" for mark in mine]
        assert hollow == (part["p_adjusted"] >= 0.05).to_list()


def test_arms_and_slices_are_named(table):
    texts = texts_of(marks_of(plm.readout_chart(table)))
    assert {"B <i>", "c.d", "bought", "spent", "region=north, B <i>"} <= set(texts)


def test_a_sample_ratio_mismatch_stands_above():
    frame = rows({"A": 700, "B <i>": 500})
    with pytest.warns(plm.PlmetricsWarning, match="sample ratio mismatch"):
        table = plm.readout(frame, outcome="bought", arm="arm", control="A")
    title = str(plm.readout_chart(table).specification()["title"])
    assert "nothing else should be trusted" in title


def test_a_result_draws_the_readout_at_the_level_of_its_suite():
    frame = rows({"A": 300, "B <i>": 300})
    plan = {"arm": "arm", "control": "A", "outcomes": ["bought", "spent"], "level": 0.8}
    result = plm.evaluate(frame, task="experiment", experiment=plan, slices=["region"])
    figure = result.plot.experiment()
    assert figure.frame.equals(result.tables["experiment"].filter(pl.col("test") != "sample_ratio"))
    texts = texts_of(marks_of(figure))
    assert "difference [80% interval]" in texts
    of_region = result.plot.experiment(models="spent", slice_set="region").frame
    assert of_region["outcome"].unique().to_list() == ["spent"]
    assert of_region["slice"].to_list() == ["region=north", "region=south"]


@pytest.mark.slow
def test_all_rows_of_every_outcome_stand_before_slices_take_the_room():
    draw = np.random.default_rng(3)
    outcomes = [f"outcome {number}" for number in range(9)]
    frame = pl.DataFrame(
        {"arm": ["A", "B", "c.d"] * 400, "g": np.arange(1200) // 3 % 40}
        | {name: draw.normal(size=1200) for name in outcomes}
    )
    table = plm.readout(frame, outcome=outcomes, arm="arm", control="A", by=["g"])
    shown = plm.readout_chart(table).frame
    assert shown.height == 60
    assert shown.filter(slice="all").select("outcome", "arm").rows() == [
        (name, arm) for name in outcomes for arm in ("B", "c.d")
    ]
    assert shown.group_by("outcome").len()["len"].max() <= 8


def test_outcomes_have_axes_of_their_own_in_a_forest():
    frame = rows({"A": 300, "B <i>": 300}).with_columns(spent=pl.col("spent") * 1e6)
    plan = {"arm": "arm", "control": "A", "outcomes": ["bought", "spent"]}
    result = plm.evaluate(frame, task="experiment", experiment=plan, slices=["region"])
    marks = marks_of(result.plot.forest())
    dots = [
        mark.x for mark in marks if mark.kind == "symbol" and mark.attributes.get("stroke-width") == "1.2"
    ]
    bought, spent = sorted(dots)[:3], sorted(dots)[3:]
    assert len(spent) == 3
    assert min(max(places) - min(places) for places in (bought, spent)) > 100, "each fills an axis of its own"


def test_another_table_is_refused():
    with pytest.raises(plm.ConfigError, match=r"not one of plmetrics.readout"):
        plm.readout_chart(pl.DataFrame({"a": [1]}))
