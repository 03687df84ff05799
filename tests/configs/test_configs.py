"""The suites that the project ships run as they are, and give the numbers they promise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.suite.model import canonical

CONFIGS = Path(__file__).parents[2] / "configs"
SUITES = sorted(CONFIGS.glob("*.yaml"))
DATA = CONFIGS / "data"
POINTS_PER_SEASON = 648.240594059406
"""Of the forecasts in nfl_games.parquet, as their authors publish them: 648.24 points."""


WARNED = {"regression": ["model 'guess': r2 -1.0085"]}
"""What suites warn of, by name: the model that knows nothing is worse than a constant."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], plm.Result]:
    """A shipped suite's result, with few replicates; each is run once."""
    done: dict[str, plm.Result] = {}

    def once(name: str) -> plm.Result:
        if name not in done:
            file = CONFIGS / f"{name}.yaml"
            fewer = "uncertainty" in yaml.safe_load(file.read_text())
            settings = {"uncertainty.replicates": 50} if fewer else {}
            done[name] = plm.run(file, output=tmp_path_factory.mktemp("runs"), set=settings)
        return done[name]

    return once


def value(result: plm.Result, metric: str, model: str, slices: str = "overall") -> float:
    found = result.metrics.filter(metric=metric, model=model, slice_set=slices)["value"].item()
    assert isinstance(found, float)
    return found


@pytest.mark.slow
def test_the_suite_of_a_bucket_writes_to_it(store: Any, run: Callable[[str], plm.Result]) -> None:
    store.client.create_bucket(Bucket="evaluations")
    result = plm.run(CONFIGS / "bucket.yaml")
    assert str(result.folder).startswith("s3://evaluations/runs/bucket/")
    assert plm.load("s3://evaluations/runs/bucket").metrics.equals(run("bucket").metrics)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [suite.stem for suite in SUITES])
def test_suite_runs_and_passes(name: str, run: Callable[[str], plm.Result]) -> None:
    result = run(name)
    assert result.suite.name == name
    assert result.folder is not None
    assert pl.read_parquet(result.folder / "metrics.parquet").equals(result.metrics)
    assert result.verdict != "fail"
    assert [text.split(" is ")[0] for text in result.record["warnings"]] == WARNED.get(name, [])
    judged = result.metrics.filter(pl.col("model") != "baseline", slice_set="overall")
    assert judged["status"].unique().to_list() == ["ok"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [suite.stem for suite in SUITES])
def test_a_run_comes_back_as_it_was(name: str, run: Callable[[str], plm.Result]) -> None:
    result = run(name)
    assert result.folder is not None
    loaded = plm.load(result.folder)
    assert type(loaded) is plm.Result
    assert list(loaded.tables) == list(result.tables)
    for table, frame in result.tables.items():
        assert_frame_equal(loaded.tables[table], frame)
    assert canonical(loaded.suite) == canonical(result.suite)
    assert (loaded.verdict, loaded.record, loaded.folder) == (result.verdict, result.record, result.folder)
    assert (loaded.replicates is None) == (result.replicates is None)
    assert (loaded.drift_state is None) == (result.drift_state is None)
    assert repr(loaded) == repr(result)


def test_every_use_has_a_suite() -> None:
    uses = {
        "quickstart",
        "binary",
        "regression",
        "slices",
        "comparison",
        "gates",
        "custom",
        "defaults",
        "fairness",
        "multiclass",
        "multilabel",
        "forecast",
        "ranking",
        "trec",
        "uplift",
        "calibration",
        "cross_validation",
        "drift",
    }
    assert uses <= {suite.stem for suite in SUITES}


def test_data_names_its_source_and_licence() -> None:
    said = (DATA / "README.md").read_text(encoding="utf-8")
    for file in DATA.iterdir():
        assert file.name == "README.md" or f"`{file.name}`" in said
    assert "Copyright (c) 2021 ABC News Internet Ventures" in said
    assert "Permission is hereby granted" in (DATA / "nfl_games.LICENSE").read_text(encoding="utf-8")


def test_custom_gives_the_published_points(run: Callable[[str], plm.Result]) -> None:
    result = run("custom")
    assert value(result, "points_per_season", "elo", "season") == pytest.approx(POINTS_PER_SEASON, rel=1e-12)
    assert value(result, "brier", "elo") == pytest.approx(0.21170496017202925, rel=1e-12)
    games = pl.read_parquet(DATA / "nfl_games.parquet").filter(pl.col("result1") != 0.5)
    assert result.metrics.filter(metric="points", slice_set="season").height == games["season"].n_unique()
    at_home = games.filter(neutral=0)
    assert value(result, "home_wins", "elo") == pytest.approx(at_home["result1"].mean())
    margin = games["score1"].cast(pl.Int64) - games["score2"]
    assert value(result, "margin_spread", "elo") == pytest.approx(margin.std(ddof=0))
    assert value(result, "margin_p90", "elo") == pytest.approx(
        np.quantile(margin.abs(), 0.9, method="averaged_inverted_cdf")
    )
    total = games["score1"].sum() + games["score2"].sum()
    assert value(result, "share_of_points", "elo") == pytest.approx(games["score1"].sum() / total)


def test_regression_is_what_the_table_says(run: Callable[[str], plm.Result]) -> None:
    result = run("regression")
    table = pl.read_csv(DATA / "abalone_with_predictions.csv")
    error = table["pred_ranger"] - table["Rings"]
    assert value(result, "mae", "ranger") == pytest.approx(error.abs().mean())
    assert value(result, "within_2", "ranger") == pytest.approx((error.abs() <= 2).mean())
    assert value(result, "r2", "guess") < 0 < value(result, "r2", "gbdt")


@pytest.mark.slow
def test_binary_chooses_thresholds_on_other_rows(run: Callable[[str], plm.Result]) -> None:
    result = run("binary")
    table = pl.read_parquet(DATA / "adult_test_with_predictions.parquet")
    own, other = table.filter(pl.col("fnlwgt") % 4 != 0), table.filter(pl.col("fnlwgt") % 4 == 0)
    row = result.metrics.filter(pl.col("metric").str.starts_with("precision(threshold=max(f1"))
    cuts = other["p_gbdt"].unique()
    hits = [other.filter(pl.col("p_gbdt") >= cut)["label"] for cut in cuts]
    f1 = [2 * called.sum() / (len(called) + other["label"].sum()) for called in hits]
    best = cuts[max(range(len(f1)), key=f1.__getitem__)]
    assert row["threshold"].item() == best
    called = own.filter(pl.col("p_gbdt") >= best)["label"]
    assert row["value"].item() == pytest.approx(called.mean())


def test_slices_has_every_kind(run: Callable[[str], plm.Result]) -> None:
    result = run("slices")
    sets = result.metrics.group_by("slice_set", maintain_order=True).agg(pl.col("slice").unique())
    slices = dict(sets.iter_rows())
    assert set(slices["sex"]) == {"sex=Female", "sex=Male"}
    assert "workclass=null" in slices["workclass"]
    assert "sex=Male, race=Black" in slices["sex_race"]
    assert set(slices["age"]) == {"age=(-inf, 25)", "age=[25, 40)", "age=[40, 65)", "age=[65, inf)"}
    assert slices["long_hours"] == ["long_hours=true"]
    assert set(slices["capital"]) == {"capital=gain", "capital=loss"}
    assert len(slices["occupation"]) == 6
    assert "occupation=other" in slices["occupation"]
    table = pl.read_parquet(DATA / "adult_test_with_predictions.parquet")
    edges = np.quantile(table["age"], [0.25, 0.5, 0.75], method="averaged_inverted_cdf")
    first, second, third = (f"{edge:g}" for edge in edges)
    ends = [("(-inf", first), (f"[{first}", second), (f"[{second}", third), (f"[{third}", "inf")]
    assert set(slices["age_quarter"]) == {f"age={low}, {high})" for low, high in ends}
    assert len(slices["relationship"]) == table["relationship"].n_unique() - 2
    assert not any(
        "AF-spouse" in text or text.startswith("sex=Male, marital_status=Widowed")
        for text in slices["sex_family"]
    )
    assert set(result.metrics.filter(metric="ece")["slice_set"]) == {"overall", "sex"}


def test_comparison_compares_every_model_in_every_slice(run: Callable[[str], plm.Result]) -> None:
    result = run("comparison")
    assert set(result.comparisons["baseline"]) == {"gbdt"}
    pairs = result.comparisons.select("model", "slice", "metric")
    assert pairs.height == pairs.n_unique() == 2 * (1 + 2 + 4) * 5
    assert (result.comparisons["p_adjusted"] >= result.comparisons["p_value"]).all()


def test_gates_show_every_verdict_that_does_not_fail(run: Callable[[str], plm.Result]) -> None:
    gates = run("gates").gates
    assert set(gates["verdict"]) >= {"pass", "skipped"}
    assert gates.filter(verdict="fail", level="warn").height == 1


def test_fairness_is_how_far_groups_differ(run: Callable[[str], plm.Result]) -> None:
    result = run("fairness")
    table = pl.read_parquet(DATA / "adult_test_with_predictions.parquet")
    recalls = table.filter(label=1).group_by("sex").agg(recall=(pl.col("p_rf") >= 0.5).mean())["recall"]
    gap = recalls.max() - recalls.min()  # type: ignore[operator]
    assert value(result, "equal_opportunity_difference(by=sex)", "rf", "sex") == pytest.approx(gap)
    gates = result.gates.filter(model="rf")
    judged = dict(gates.select("metric", "observed").iter_rows())
    assert judged["disparity(recall, by=sex)"] == pytest.approx(gap)
    selected = table.group_by("sex").agg(rate=(pl.col("p_rf") >= 0.5).mean()).sort("rate")["rate"]
    assert judged["disparate_impact(by=sex)"] == pytest.approx(selected[0] / selected[1])
    assert gates.filter(gate="four_fifths")["verdict"].to_list() == ["fail"]


def test_defaults_hold_where_the_suite_says_nothing_else(run: Callable[[str], plm.Result]) -> None:
    suite = run("defaults").suite
    assert suite.uncertainty is not None
    assert (suite.uncertainty.level, suite.uncertainty.seed, suite.min_rows) == (0.9, 7, 100)
    assert list(suite.slices) == ["sex", "race", "age"]
    assert suite.slices["race"].columns == ("race", "sex")


def test_ranking_is_what_the_definition_says(run: Callable[[str], plm.Result]) -> None:
    rows = pl.read_csv(DATA / "synthetic_ranking.csv")
    discount = 1 / (pl.int_range(1, pl.len() + 1) + 1).log(2)
    gained = (pl.col("label").sort_by("score", descending=True) * discount).head(5).sum()
    ideal = (pl.col("label").sort(descending=True) * discount).head(5).sum()
    expected = rows.group_by("group").agg(gained / ideal)["label"].mean()
    result = run("ranking")
    assert value(result, "ndcg(k=5)", "model") == pytest.approx(expected, rel=1e-12)
    assert result.metrics["n"].unique().to_list() == [101]


def test_cross_validation_scores_what_inner_folds_choose(run: Callable[[str], plm.Result]) -> None:
    rows = pl.read_parquet(DATA / "nested_folds.parquet")
    models = [name.removeprefix("p_") for name in rows.columns if name.startswith("p_")]
    right = rows.select("fold", "inner_fold", (pl.col("^p_.*$") >= 0.5) == (pl.col("label") == 1))
    outer = right.filter(pl.col("inner_fold").is_null()).group_by("fold").mean()
    result = run("cross_validation")
    for model in models:
        found = result.cross_validation.filter(kind="folds", metric="accuracy", model=model, slice="all")
        assert found["value"].item() == pytest.approx(outer[f"p_{model}"].mean())
    nested = result.cross_validation.filter(kind="nested", metric="roc_auc")
    assert nested["slice"].to_list() == ["all", "region=north", "region=south"]
    assert nested["note"].unique().to_list() == [
        "chosen by roc_auc of inner folds: logistic in 3, tree_3 in 1"
    ]
    folds = result.folds.filter(metric="roc_auc", slice="all")
    assert result.folder is not None
    assert pl.read_parquet(result.folder / "folds.parquet").equals(result.folds)
    assert pl.read_parquet(result.folder / "cross_validation.parquet").equals(result.cross_validation)
    assert folds.filter(pl.col("inner").is_null()).height == len(models) * 4


def test_trec_gives_the_numbers_of_trec_eval(run: Callable[[str], plm.Result]) -> None:
    published = {"map": 0.1785, "ndcg": 0.4021, "mrr": 0.4064, "r_precision": 0.2174}
    for name, expected in published.items():
        assert value(run("trec"), f"{name}(ties=document)", "standard") == pytest.approx(expected, abs=5e-5)


def test_uplift_gives_the_published_areas(run: Callable[[str], plm.Result]) -> None:
    result = run("uplift")
    assert value(result, "auuc(method=guelman)", "model") == pytest.approx(0.120805, abs=5e-7)
    assert value(result, "qini(method=guelman)", "model") == pytest.approx(0.106805, abs=5e-7)
    by_quarter = result.metrics.filter(metric="ate", slice_set="predicted")["value"]
    assert by_quarter.is_sorted()
    assert by_quarter[0] < 0 < by_quarter[3]
    assert set(result.curves["curve"]) == {"qini", "uplift", "guelman", "effect_calibration"}


def test_drift_is_what_the_table_says(run: Callable[[str], plm.Result]) -> None:
    games = pl.read_parquet(DATA / "nfl_games.parquet").filter(pl.col("result1") != 0.5)
    before, now = (
        games.filter(pl.col("season").is_between(1980, 1999)),
        games.filter(pl.col("season") >= 2000),
    )
    table = run("drift").drift.filter(slice_set="overall", column="score1")
    said = dict(table.select("measure", "value").iter_rows())
    edges = np.unique(np.quantile(before["score1"], np.arange(1, 10) / 10, method="averaged_inverted_cdf"))
    shares = [
        np.bincount(np.searchsorted(edges, side["score1"], side="right")) / side.height
        for side in (before, now)
    ]
    assert said["psi"] == pytest.approx(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())
    assert said["mean"] == pytest.approx(now["score1"].mean() - before["score1"].mean())
    assert set(table["n_reference"]) == {before.height}


@pytest.mark.slow
def test_search_finds_the_married_and_estimates_them_anew(run: Callable[[str], plm.Result]) -> None:
    from sklearn.metrics import log_loss

    table = run("find_slices").found_slices
    worst = table.row(0, named=True)
    assert worst["slice"] == "marital_status=Married-civ-spouse"
    assert table["confirmed"].all()
    rows = pl.read_parquet(DATA / "adult_test_with_predictions.parquet")
    is_married = pl.col("marital_status") == "Married-civ-spouse"
    married, others = rows.filter(is_married), rows.filter(~is_married)
    whole = [log_loss(side["label"], side["p_gbdt"]) for side in (married, others)]
    assert worst["lower"] < whole[0] - whole[1] < worst["upper"]
