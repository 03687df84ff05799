"""What slices did to a change of the AUC between intervals, against scikit-learn on the rows of both."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from suites.nights import Nights

import plmetrics as plm
from plmetrics.api.nights.collection import collect_garbage
from plmetrics.core.errors import ConfigError
from plmetrics.features.nights import score_changes
from plmetrics.features.nights.states import STATE
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

REGIONS = ["e", "n", "s"]
COMPARE: dict[str, Any] = {"run": "previous", "decompose": {"region": ["roc_auc"]}}


def rows(number: int, height: int = 300, regions: list[str] = REGIONS) -> pl.DataFrame:
    """A day in which scores of the region `s` say less the later it is, and the share of `e` grows."""
    draw = np.random.default_rng(number)
    region = draw.choice(regions, height, p=np.array([1.0 + number, 4, 5])[: len(regions)] / (10 + number))
    y = (draw.uniform(size=height) < np.where(region == "e", 0.5, 0.3)).astype(int)
    score = y + draw.normal(size=height) * np.where(region == "s", 0.6 + 0.4 * number, 0.8)
    score = np.clip(np.round(1 / (1 + np.exp(-score)), 1), 0.2, 0.9)  # every night has each: bins are exact
    weight = draw.integers(1, 4, height)
    return pl.DataFrame({"y": y, "new": score, "old": 1 - score, "region": region, "w": weight})


def evaluated(tmp_path: Path, nights: int, *, days: Any = rows, **changes: Any) -> plm.Result:
    """The result of the last of some nights."""
    table = Nights(tmp_path)
    table.write_suite(**{"gates": None, "models": {"new": "new"}, "compare": COMPARE, **changes})
    for number in range(nights):
        table.write(number, days(number))
    return [table.run(number) for number in range(nights)][-1]


def by_rows(before: pl.DataFrame, after: pl.DataFrame, weight: str | None = None) -> dict[str, float]:
    """Shapley values of regions by their definition."""
    sides = [
        frame.with_columns(share=pl.lit(1.0) if weight is None else pl.col(weight).cast(pl.Float64))
        .with_columns(pl.col("share") / pl.col("share").sum())
        .with_columns(region=pl.col("region").replace({"x": "rest"}))
        for frame in (before, after)
    ]
    names = sorted(set().union(*(frame["region"] for frame in sides)))

    def worth(changed: tuple[str, ...]) -> float:
        frame = pl.concat(
            [
                sides[0].filter(~pl.col("region").is_in(changed)),
                sides[1].filter(pl.col("region").is_in(changed)),
            ]
        )
        return float(roc_auc_score(frame["y"], frame["new"], sample_weight=frame["share"]))

    orders = list(permutations(names))
    return {
        name: float(
            np.mean(
                [
                    worth(order[: order.index(name) + 1]) - worth(order[: order.index(name)])
                    for order in orders
                ]
            )
        )
        for name in names
    }


def shapley(table: pl.DataFrame) -> dict[str, Any]:
    frame = table.filter(part="shapley", model="new", metric="roc_auc", contrast="run")
    return {row["slice"].removeprefix("region="): row for row in frame.iter_rows(named=True)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "first", "last", "weight"),
    [("previous", 2, 3, None), ({"ago": "2d"}, 1, 2, "w"), ({"window": "2d"}, 1, 3, "w")],
)
def test_parts_are_those_of_the_rows_of_both(
    tmp_path: Path, reference: Any, first: int, last: int, weight: str | None
) -> None:
    columns = {"label": "y"} if weight is None else {"label": "y", "weight": "w"}
    compare = {"run": reference, "decompose": {"region": ["roc_auc", "brier"]}}
    result = evaluated(tmp_path, 4, compare=compare, columns=columns)
    before = pl.concat([rows(number) for number in range(first, last)])
    seen, expected = shapley(result.decomposition), by_rows(before, rows(3), weight)
    assert list(seen) == REGIONS
    for name, value in expected.items():
        assert seen[name]["value"] == pytest.approx(value, abs=1e-12)
    total = result.decomposition.filter(metric="roc_auc", part="total").row(0, named=True)
    assert sum(row["value"] for row in seen.values()) == pytest.approx(total["value"], abs=1e-14)
    change = result.comparisons.filter(
        contrast="run", metric="roc_auc", slice_set="overall", scale="difference"
    ).row(0, named=True)
    assert total["value"] == pytest.approx(change["difference"], abs=1e-12)
    assert total["baseline"] == change["baseline"]
    assert result.decomposition.filter(metric="brier", part="within").height == len(REGIONS) + 1


@pytest.mark.slow
def test_rows_outside_the_set_and_slices_of_one_side_alone(tmp_path: Path) -> None:
    def days(number: int) -> pl.DataFrame:
        frame = rows(number)
        other = frame.with_columns(
            region=pl.when(pl.col("region") == "n").then(pl.lit("x")).otherwise("region")
        )
        return other if number == 0 else other.filter(pl.col("region") != "e")

    slices = {"region": {"column": "region", "exclude": ["x"]}}
    result = evaluated(tmp_path, 2, days=days, slices=slices)
    seen = shapley(result.decomposition)
    assert list(seen) == ["e", "s", "rest"]
    for name, value in by_rows(days(0), days(1)).items():
        assert seen[name]["value"] == pytest.approx(value, abs=1e-12)
    gone = result.decomposition.filter(slice="region=e", part="within")
    assert gone["value"].to_list() == [0.0]


@pytest.mark.slow
def test_a_slice_of_one_night_alone_has_no_part_within(tmp_path: Path) -> None:
    def days(number: int) -> pl.DataFrame:
        return rows(number).filter(pl.col("region") != ("e", "n")[number])

    uncertainty = {"replicates": 40}
    result = evaluated(tmp_path, 2, days=days, uncertainty=uncertainty)
    for name in ("e", "n"):
        part = result.decomposition.filter(slice=f"region={name}", part="within").row(0, named=True)
        assert (part["value"], part["lower"], part["upper"]) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_slice_sets_that_are_not_decomposed_change_nothing(tmp_path: Path) -> None:
    slices = {
        "before": {"column": "w"},
        "region": {"column": "region"},
        "after": {"columns": ["region", "w"]},
    }
    given = {"uncertainty": {"replicates": 20}}
    for name in ("several", "alone"):
        (tmp_path / name).mkdir()
    result = evaluated(tmp_path / "several", 2, slices=slices, **given)
    alone = evaluated(tmp_path / "alone", 2, slices={"region": {"column": "region"}}, **given)
    assert shapley(alone.decomposition)["s"]["std_error"] > 0
    columns = ["slice", "part", "value", "lower", "upper", "status"]
    assert result.decomposition.select(columns).equals(alone.decomposition.select(columns))


@pytest.mark.slow
def test_smaller_slices_are_in_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_changes, "MOST_SLICES", 2)
    seen = shapley(evaluated(tmp_path, 2).decomposition)
    assert list(seen) == ["n", "s", "rest"]
    named = [rows(number).with_columns(region=pl.col("region").replace({"e": "rest"})) for number in (0, 1)]
    for name, value in by_rows(*named).items():
        assert seen[name]["value"] == pytest.approx(value, abs=1e-12)
    assert "rest has 1 smaller slices" in seen["n"]["note"]


@pytest.mark.slow
@pytest.mark.parametrize(("reference", "excluded"), [("previous", []), ({"window": "2d"}, ["n"])])
def test_the_interval_of_all_parts_is_that_of_the_comparison(
    tmp_path: Path, reference: Any, excluded: list[str]
) -> None:
    def days(number: int) -> pl.DataFrame:
        frame = rows(number, 400)
        return pl.concat([frame, frame]).with_columns(unit=pl.int_range(pl.len()) % 400 + 400 * number)

    result = evaluated(
        tmp_path,
        3,
        days=days,
        columns={"label": "y", "unit": "unit"},
        slices={"region": {"column": "region", "exclude": excluded}},
        compare={"run": reference, "decompose": {"region": ["roc_auc"]}},
        uncertainty={"replicates": 400},
    )
    parts = result.decomposition.filter(~pl.col("part").str.starts_with("mix|"), metric="roc_auc")
    total = parts.filter(part="total").row(0, named=True)
    change = result.comparisons.filter(contrast="run", metric="roc_auc", slice_set="overall").row(
        0, named=True
    )
    assert total["std_error"] == pytest.approx(change["std_error"], rel=0.15)
    assert total["upper"] - total["lower"] == pytest.approx(change["upper"] - change["lower"], rel=0.15)
    assert parts["slice"].unique(maintain_order=True).to_list()[-2] == ("rest" if excluded else "region=s")
    assert (parts["interval_status"] == "ok").all()
    within = parts.filter(part="within", slice="all").row(0, named=True)
    assert within["lower"] < within["value"] < within["upper"]


@pytest.mark.slow
def test_many_slices_have_parts_without_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_changes, "MOST_RESAMPLED", 2)
    result = evaluated(tmp_path, 2, uncertainty={"replicates": 20})
    parts = result.decomposition.filter(metric="roc_auc")
    assert set(parts["interval_status"]) == {"not_estimable"}
    assert "no replicates" in parts["note"][0]


@pytest.mark.slow
def test_a_night_without_a_state_says_so(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.write_suite(gates=None, models={"new": "new"}, compare=COMPARE)
    for number in range(3):
        nights.write(number, rows(number))
    first = nights.run(0)
    assert first.decomposition.is_empty()
    second = nights.run(1)
    assert shapley(second.decomposition)
    manifest = nights.current(1)
    assert manifest is not None
    assert f"{manifest.run}/{STATE}" in manifest.files
    nights.write_suite(gates=None, models={"new": "new"}, compare=COMPARE, metrics=["roc_auc", "ks"])
    third = nights.run(2)
    rows_of = third.decomposition.select("slice", "part", "value", "status", "note").rows()
    assert [row[:4] for row in rows_of] == [("all", "total", None, "no_state")]
    assert "asked for something else" in rows_of[0][4]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"metrics": ["precision_at_k(k=10)"], "compare": {"run": "previous"}}, "nor of shares of rows"),
        ({"metrics": ["roc_auc"], "compare": {"run": "runs/nightly"}}, "between intervals alone"),
        ({"metrics": ["mcc"], "compare": {"run": "previous"}}, "nor of shares of rows"),
        ({"metrics": ["roc_auc"], "compare": {"run": "previous"}, "exact": True}, "a state does not hold"),
    ],
)
def test_what_has_no_such_parts_is_refused(tmp_path: Path, changes: Any, words: str) -> None:
    compare = {**changes["compare"], "decompose": {"region": changes["metrics"]}}
    with pytest.raises(ConfigError, match=words):
        evaluated(tmp_path, 1, **{**changes, "compare": compare})


def test_a_share_at_the_top_has_parts(tmp_path: Path) -> None:
    metrics = ["precision_at_k(k=0.2)", "average_precision", "ks"]
    result = evaluated(
        tmp_path, 2, metrics=metrics, compare={"run": "previous", "decompose": {"region": metrics}}
    )
    table = result.decomposition.filter(part="shapley")
    assert table.group_by("metric", maintain_order=True).len()["len"].to_list() == [3, 3, 3]
    assert (table["status"] == "ok").all()


@pytest.mark.slow
def test_states_that_the_next_night_needs_are_not_collected(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.write_suite(
        gates=None, models={"new": "new"}, compare=COMPARE, keep={"states": "1d", "runs": "1d"}
    )
    for number in range(4):
        nights.write(number, rows(number))
        nights.run(number)
    collect_garbage(nights.suite)
    manifest = nights.current(2)
    assert manifest is not None
    assert f"{manifest.run}/{STATE}" in manifest.files
    assert shapley(nights.run(3, force=True).decomposition)


@pytest.mark.slow
def test_reports_show_parts_with_what_bins_cost(tmp_path: Path) -> None:
    def days(number: int) -> pl.DataFrame:
        shift = pl.int_range(pl.len()) % 7 * 1e-4 * number
        return rows(number).with_columns(new=pl.col("new") + shift)

    result = evaluated(tmp_path, 2, days=days)
    bound = result.decomposition.filter(part="shapley")["bound"]
    assert (bound > 0).all()
    text = render(summarise(result), 100)
    assert "roc_auc over region (new against run" in text
    assert "Shapley value" in text
    assert "Shapley values are exact to within" in text
    after = text.split("Shapley value", 1)[1].splitlines()
    assert [len(line.split()) for line in after[1:5]] == [4] * 4
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Parts of the change" in page
    assert ">shapley<" in page


@pytest.mark.slow
def test_shares_of_single_columns_stand_beside_all_slices(tmp_path: Path) -> None:
    result = evaluated(tmp_path, 3)
    before, after = (
        frame.with_columns(share=pl.len().over("region") / pl.len()) for frame in (rows(1), rows(2))
    )

    def worth(frame: pl.DataFrame, mix: pl.DataFrame) -> float:
        ratio = frame.join(mix.select("region", then="share").unique(), on="region", maintain_order="left")
        weight = (ratio["then"] / ratio["share"]).to_numpy()
        return float(roc_auc_score(frame["y"], frame["new"], sample_weight=weight))

    sides = [worth(frame, after) - worth(frame, before) for frame in (before, after)]
    row = result.decomposition.filter(part="mix|region", model="new").row(0, named=True)
    assert row["value"] == pytest.approx(np.mean(sides), abs=1e-12)
    assert (row["slice"], row["interval_status"]) == ("all", "not_estimable")
    assert "shares of values alone, by column: region" in render(summarise(result), 100)
