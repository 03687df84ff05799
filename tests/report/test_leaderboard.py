"""Leaderboards against plain sorting of the table of metrics."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.report.leaderboard import clear_bests
from plmetrics.report.summary import summarise

MODELS = ["worst", "good", "best", "twin"]


@pytest.fixture(scope="module")
def result() -> plm.Result:
    noise = np.random.default_rng(2).normal(size=(4, 4000))
    truth = noise[0] > 0
    scores = {"worst": noise[1], "good": noise[0] + noise[1], "best": noise[0] + 0.5 * noise[1]}
    frame = pl.DataFrame({"y": truth} | {name: 1 / (1 + np.exp(-values)) for name, values in scores.items()})
    frame = frame.with_columns(
        twin=pl.col("best"),
        g=pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.lit("a|b")).otherwise(pl.lit("c")),
    )
    return plm.evaluate(
        frame,
        label="y",
        models=MODELS,
        metrics=["roc_auc", "log_loss", "calibration_intercept", "selection_rate", "recall"],
        slices=["g"],
        uncertainty={"replicates": 60},
        compare="good",
    )


@pytest.mark.slow
def test_the_best_come_first_whichever_side_is_best(result: plm.Result) -> None:
    overall = result.metrics.filter(slice_set="overall")
    for metric, key in (
        ("roc_auc", lambda value: -value),
        ("log_loss", lambda value: value),
        ("calibration_intercept", abs),
    ):
        board = result.leaderboard(metric)
        values = dict(overall.filter(metric=metric).select("model", "value").rows())
        assert board["model"].to_list() == sorted(MODELS, key=lambda model: key(values[model]))
        best = key(values[board["model"][0]])
        ranks = [
            1 + sum(key(other) < key(values[model]) for other in values.values()) for model in board["model"]
        ]
        assert board["rank"].to_list() == ranks
        assert ranks.count(1) == 2, "twins share the first place"
        assert key(board["value"][0]) == best
        for row in board.rows(named=True):
            assert row["difference"] == pytest.approx(values[row["model"]] - board["value"][0], abs=1e-12)


def test_a_metric_without_a_better_side_has_no_ranks(result: plm.Result) -> None:
    board = result.leaderboard("selection_rate")
    assert board["model"].to_list() == MODELS
    assert board["rank"].null_count() == 4
    assert board["difference"].null_count() == 4


def test_intervals_of_differences_are_those_of_comparisons(result: plm.Result) -> None:
    board = result.leaderboard("roc_auc")
    assert board["model"].to_list() == ["best", "twin", "good", "worst"]
    row = result.comparisons.row(
        by_predicate=(pl.col("model") == "best")
        & (pl.col("metric") == "roc_auc")
        & (pl.col("slice") == "all"),
        named=True,
    )
    of_good = board.row(2, named=True)
    assert (of_good["difference_lower"], of_good["difference_upper"]) == (-row["upper"], -row["lower"])
    assert (row["reading"], of_good["reading"]) == ("better", "worse")
    assert of_good["difference"] == -row["difference"]
    assert board["difference_lower"].null_count() == 3, "others are compared with the baseline alone"


def test_slices(result: plm.Result) -> None:
    one = result.leaderboard("roc_auc", slice="g=a|b")
    assert one["slice"].unique().to_list() == ["g=a|b"]
    assert one["n"].unique().to_list() == [1000]
    every = result.leaderboard("roc_auc", slice_set="g")
    assert every["slice"].to_list() == ["g=a|b"] * 4 + ["g=c"] * 4
    assert every["rank"].to_list() == [1, 1, 3, 4] * 2
    assert every.head(4).equals(one)
    same = result.leaderboard("roc_auc", slice_set="g", slice="g=c")
    assert same.equals(every.tail(4))


def test_aliases_and_objects_name_metrics(result: plm.Result) -> None:
    board = result.leaderboard("roc_auc")
    assert result.leaderboard(plm.metric("roc_auc")).equals(board)
    assert result.leaderboard("sensitivity").equals(result.leaderboard("recall"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "roc_acu"}, "the result has no metric 'roc_acu'.*did you mean 'roc_auc'"),
        ({"metric": "precision"}, "the result has no metric .precision."),
        ({"metric": "roc_auc", "slice_set": "gg"}, "there is no slice set 'gg'.*did you mean 'g'"),
        ({"metric": "roc_auc", "slice": "g=d"}, "there is no slice 'g=d'.*did you mean 'g=c'"),
        ({"metric": "roc_auc", "slice_set": "overall", "slice": "g=c"}, "there is no slice 'g=c'"),
    ],
)
def test_names_that_are_not_there(result: plm.Result, arguments: dict[str, str], words: str) -> None:
    with pytest.raises(plm.ConfigError, match=f"(?s){words}"):
        result.leaderboard(**arguments)


def test_undefined_values_come_last() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0], "a": [0.1, 0.2, 0.1, 0.2], "b": [0.9, 0.2, 0.8, 0.6]})
    board = plm.evaluate(frame, label="y", models=["a", "b"], metrics=["precision"]).leaderboard("precision")
    assert board.select("rank", "model", "difference", "status").rows() == [
        (1, "b", 0.0, "ok"),
        (None, "a", None, "zero_denominator"),
    ]


def test_values_of_classes_are_no_board() -> None:
    frame = pl.DataFrame({"y": ["a", "b", "c"], "p": ["a", "b", "b"]})
    asked = ["recall(average=none)", "accuracy"]
    result = plm.evaluate(
        frame, task="multiclass", label="y", models={"p": {"prediction": "p"}}, metrics=asked
    )
    assert result.leaderboard("accuracy")["value"].item() == pytest.approx(2 / 3)
    with pytest.raises(plm.ConfigError, match="a value for each class"):
        result.leaderboard("recall(average=none)")


@pytest.mark.slow
def test_a_clear_best_is_read_as_better_than_every_other(result: plm.Result) -> None:
    assert clear_bests(summarise(result)) == frozenset(), "twins, and models that were not compared"
    noise = np.random.default_rng(5).normal(size=(5, 3000))
    scores = {
        f"m{place}": noise[0] + size * noise[place + 1] for place, size in enumerate((0.5, 0.52, 2.0, 4.0))
    }
    frame = pl.DataFrame(
        {"y": noise[0] > 0} | {name: 1 / (1 + np.exp(-part)) for name, part in scores.items()}
    )
    asked = {"label": "y", "metrics": ["roc_auc", "log_loss", "tp"], "uncertainty": {"replicates": 100}}
    for names, compare in [
        (["m0", "m2", "m3"], {"pairs": "all"}),
        (["m3", "m2", "m0"], "m0"),
        (["m3", "m2", "m0"], "m2"),
        (["m0", "m1"], {"pairs": "all"}),
        (["m2"], None),
    ]:
        compared = plm.evaluate(frame, models=names, compare=compare, **asked)
        beaten: dict[tuple[str, str], set[str]] = {}
        for row in compared.comparisons.rows(named=True):
            sides = [row["model"], row["baseline"]]
            if row["reading"] in ("better", "worse"):
                winner, loser = sides if row["reading"] == "better" else sides[::-1]
                beaten.setdefault((row["metric"], winner), set()).add(loser)
        expected = {place for place, losers in beaten.items() if losers == {*names} - {place[1]}}
        assert clear_bests(summarise(compared)) == expected
        assert (("roc_auc", "m0") in expected) is ("m0" in names and "m1" not in names and compare != "m2")
