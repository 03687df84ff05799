"""Sizes, strata, groups and time of splits, and that they depend on keys and seeds alone."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.model_selection import StratifiedKFold

import plmetrics as plm
from plmetrics.features.explain.passes import fallbacks


def made(rows: int, classes: int = 3, groups: int = 12, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    labels = [*range(classes - 1), None]
    return pl.DataFrame(
        {
            "id": rng.permutation(10 * rows)[:rows],
            "y": pl.Series([labels[place] for place in rng.integers(0, classes, rows)], dtype=pl.Int64),
            "g": [f"g{number}" for number in rng.integers(0, groups, rows)],
            "t": rng.integers(0, max(rows // 3, 1), rows),
        }
    )


TABLE = st.builds(made, st.integers(7, 120), st.integers(1, 4), st.integers(2, 30), st.integers(0, 1000))
SOME = settings(max_examples=25, deadline=None)
DATA = made(600)
METHODS: dict[str, Any] = {
    "k_fold": lambda data, seed=0: plm.splits.k_fold(data, 5, key="id", seed=seed),
    "by_hash": lambda data, seed=0: plm.splits.k_fold(data, 5, key="id", seed=seed, exact=False),
    "stratified": lambda data, seed=0: plm.splits.stratified(data, 5, label="y", key="id", seed=seed),
    "grouped": lambda data, seed=0: plm.splits.grouped(data, 5, group="g", seed=seed, mixed=True),
    "stratified_grouped": lambda data, seed=0: plm.splits.stratified_grouped(
        data, 5, label="y", group="g", seed=seed, mixed=True
    ),
    "leave_one_group_out": lambda data, seed=0: plm.splits.leave_one_group_out(data, group="g"),
    "repeated": lambda data, seed=0: plm.splits.repeated(data, 3, 2, label="y", key="id", seed=seed),
    "nested": lambda data, seed=0: plm.splits.nested(data, 3, 2, key="id", seed=seed),
    "nested_groups": lambda data, seed=0: plm.splits.nested(data, 3, 2, group="g", seed=seed, long=False),
    "time_ordered": lambda data, seed=0: plm.splits.time_ordered(data, 4, time="t", gap=3),
    "time_long": lambda data, seed=0: plm.splits.time_ordered(data, 4, time="t", long=True),
    "holdout": lambda data, seed=0: plm.splits.holdout(data, 0.3, label="y", key="id", seed=seed),
}
SEEDLESS = {"leave_one_group_out", "time_ordered", "time_long", "nested_groups"}
SEEDED = [name for name in METHODS if name not in SEEDLESS]


@SOME
@given(TABLE, st.integers(2, 7), st.integers(0, 5))
def test_folds_differ_by_one_row(table: pl.DataFrame, folds: int, seed: int) -> None:
    fold = plm.splits.k_fold(table, folds, key="id", seed=seed)["fold"].to_numpy()
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1


@SOME
@given(TABLE, st.integers(2, 7))
def test_folds_differ_by_one_row_in_every_class_and_overall(table: pl.DataFrame, folds: int) -> None:
    found = plm.splits.stratified(table, folds, label="y", key="id")
    parts = [found, *found.partition_by("y")]
    for part in parts:
        assert np.ptp(np.bincount(part["fold"].to_numpy(), minlength=folds)) <= 1


def test_classes_are_as_balanced_as_those_of_stratified_k_fold() -> None:
    table = made(357).fill_null(9)
    y = table["y"].to_numpy()
    found = plm.splits.stratified(table, 5, label="y", key="id")["fold"].to_numpy()
    theirs = [np.bincount(y[test], minlength=10) for _, test in StratifiedKFold(5).split(y, y)]
    ours = [np.bincount(y[found == fold], minlength=10) for fold in range(5)]
    assert (np.ptp(ours, axis=0) <= np.ptp(theirs, axis=0)).all()


@SOME
@given(st.integers(2, 5), st.integers(0, 1000), st.booleans())
def test_groups_are_never_split(folds: int, seed: int, by_class: bool) -> None:
    table = made(100, groups=15, seed=seed)
    extra: dict[str, Any] = {"label": "y"} if by_class else {}
    split = plm.splits.stratified_grouped if by_class else plm.splits.grouped
    found = split(table, folds, group="g", seed=seed, **extra)
    assert found.group_by("g").agg(pl.col("fold").n_unique())["fold"].eq(1).all()
    assert found["fold"].n_unique() == folds


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", METHODS)
def test_order_and_frames_do_not_matter(name: str) -> None:
    found = METHODS[name](DATA)
    by = ["id", *(column for column in found.columns if column not in DATA.columns)]
    shuffled = METHODS[name](DATA.sample(fraction=1, shuffle=True, seed=1).lazy())
    assert isinstance(shuffled, pl.LazyFrame)
    assert_frame_equal(found.sort(by), shuffled.collect().sort(by))
    assert found.columns[: DATA.width] == DATA.columns


@pytest.mark.parametrize("name", METHODS)
def test_rows_keep_their_order_and_nothing_falls_back(name: str) -> None:
    plan = METHODS[name](DATA.lazy())
    assert fallbacks(plan) == []
    kept = plan.select("id").collect()["id"].rle().struct.field("value")
    if name not in {"time_long"}:
        assert kept.equals(DATA["id"], check_names=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SEEDED)
def test_seeds_matter(name: str) -> None:
    zero, again, one = (METHODS[name](DATA, seed=seed) for seed in (0, 0, 1))
    assert_frame_equal(zero, again)
    assert not zero.equals(one)


def test_files_do_not_matter(tmp_path: Path) -> None:
    for parts, folder in ((1, tmp_path / "one"), (3, tmp_path / "three")):
        folder.mkdir()
        for number, start in enumerate(range(0, DATA.height, DATA.height // parts)):
            DATA[start : start + DATA.height // parts].write_parquet(folder / f"{number}.parquet")
    one, three = (
        plm.splits.stratified(str(tmp_path / folder / "*.parquet"), label="y", key="id").collect()
        for folder in ("one", "three")
    )
    assert_frame_equal(one.sort("id"), three.sort("id"))


def test_without_a_key_the_row_number_is_it(tmp_path: Path) -> None:
    sizes = plm.splits.k_fold(DATA)["fold"].value_counts()["count"]
    assert sizes.to_list() == [120] * 5
    DATA.write_parquet(tmp_path / "a.parquet")
    alone = plm.splits.k_fold(tmp_path / "a.parquet", exact=False).collect()
    made(100, seed=3).write_parquet(tmp_path / "b.parquet")
    beside = plm.splits.k_fold(tmp_path, exact=False).collect()
    assert beside.head(600).equals(alone)


def test_new_rows_do_not_move_old_ones_by_hash() -> None:
    more = pl.concat([DATA, made(50, seed=9).with_columns(pl.col("id") + 10_000)])
    old = plm.splits.k_fold(more, key="id", exact=False).head(600)
    assert old.equals(plm.splits.k_fold(DATA, key="id", exact=False))


def test_rows_with_one_key_stay_together() -> None:
    found = plm.splits.holdout(DATA, {"train": 0.6, "valid": 0.2, "test": 0.2}, key="g")
    assert found.group_by("g").agg(pl.col("split").n_unique())["split"].eq(1).all()


@pytest.mark.parametrize("label", [(), "y"])
def test_shares_hold_to_a_row(label: Any) -> None:
    found = plm.splits.holdout(DATA, {"train": 0.7, "test": 0.3}, label=label, key="id")
    for part in found.partition_by("y") if label else [found]:
        assert abs((part["split"] == "test").sum() - 0.3 * part.height) <= 1


def test_repetitions_are_those_of_the_next_seeds() -> None:
    wide = plm.splits.repeated(DATA, 4, 3, key="id", seed=7, long=False)
    for turn in range(3):
        alone = plm.splits.k_fold(DATA, 4, key="id", seed=7 + turn)["fold"]
        assert wide[f"fold_{turn}"].equals(alone, check_names=False)
    long = plm.splits.repeated(DATA, 4, 3, key="id", seed=7)
    assert long.filter(repeat=1)["fold"].equals(wide["fold_1"], check_names=False)


def test_repeated_groups_are_dealt_anew_and_stay_balanced() -> None:
    found = plm.splits.repeated(DATA, 3, 6, group="g", long=False)
    turns = [found[f"fold_{turn}"] for turn in range(6)]
    assert len({tuple(fold) for fold in turns}) > 4
    assert max(np.ptp(np.bincount(fold.to_numpy())) for fold in turns) <= 0.05 * DATA.height


@pytest.mark.parametrize("options", [{"key": "id"}, {"key": "id", "label": "y"}, {"group": "g"}])
def test_inner_folds_split_what_an_outer_fold_trains_on(options: dict[str, Any]) -> None:
    long = plm.splits.nested(DATA, 3, 2, **options)
    wide = plm.splits.nested(DATA, 3, 2, long=False, **options)
    assert long.height == 3 * DATA.height
    for outer in range(3):
        part = long.filter(fold=outer)
        tested = part.filter(pl.col("inner_fold").is_null())
        assert set(tested["id"]) == set(wide.filter(fold=outer)["id"])
        sizes = part["inner_fold"].drop_nulls().value_counts()["count"].to_list()
        assert len(sizes) == 2
        if "group" not in options:
            assert max(sizes) - min(sizes) <= 2
        else:
            assert part.group_by("g").agg(pl.col("inner_fold").n_unique())["inner_fold"].eq(1).all()


SPANS = st.one_of(st.none(), st.integers(0, 4))


@SOME
@given(st.integers(0, 500), st.integers(1, 4), SPANS, SPANS, st.booleans(), st.booleans())
def test_nothing_leaks_through_time(
    seed: int, splits: int, gap: int | None, purge: int | None, sliding: bool, text: bool
) -> None:
    rng = np.random.default_rng(seed)
    start = datetime.date(2026, 1, 1)
    days = [start + datetime.timedelta(days=int(day)) for day in rng.integers(0, 40, 80)]
    table = pl.DataFrame({"day": days})
    spans = {"gap": gap, "purge": purge} if not text else {"gap": f"{gap or 0}d", "purge": f"{purge or 0}d"}
    window: Any = "sliding" if sliding else "expanding"
    found = plm.splits.time_ordered(table, splits, time="day", window=window, **spans)
    distinct = sorted(set(days))
    tested: list[datetime.date] = []
    for number in range(1, splits + 1):
        part = found[f"split_{number}"].to_list()
        trained = {day for day, role in zip(days, part, strict=True) if role == "train"}
        test = {day for day, role in zip(days, part, strict=True) if role == "test"}
        assert trained
        assert test
        between = (
            (min(test) - max(trained)).days
            if text
            else distinct.index(min(test)) - distinct.index(max(trained))
        )
        assert between > max(gap or 0, purge or 0)
        assert {role for day, role in zip(days, part, strict=True) if day in test} == {"test"}
        tested += sorted(test)
    assert tested == sorted(set(tested))
    assert tested == distinct[-len(tested) :]


def test_labels_that_reach_into_the_test_window_are_not_trained_on() -> None:
    table = pl.DataFrame({"t": range(10), "known": [2, 8, 3, 4, None, 6, 7, 8, 9, 10]})
    found = plm.splits.time_ordered(table, 1, time="t", until="known")
    roles = [None if known is None or known >= 5 else "train" for known in table["known"][:5]]
    assert found["split_1"].to_list() == roles + ["test"] * 5


def test_long_splits_in_time_hold_each_split_once() -> None:
    wide, long = (plm.splits.time_ordered(DATA, 3, time="t", long=long) for long in (False, True))
    for fold in range(3):
        for role in ("train", "test"):
            ids = long.filter(fold=fold, split=role)["id"].sort()
            assert ids.equals(wide.filter(pl.col(f"split_{fold + 1}") == role)["id"].sort())


@pytest.mark.parametrize("name", METHODS)
def test_an_empty_table_has_no_folds(name: str) -> None:
    if name == "by_hash":  # nobody looks at the rows
        assert METHODS[name](DATA.clear()).shape == (0, DATA.width + 1)
        return
    with pytest.raises(plm.AbsentDataError, match="the table has no rows"):
        METHODS[name](DATA.clear())


@pytest.mark.parametrize(
    ("method", "options", "empty"),
    [
        ("k_fold", {"folds": 5, "key": "id"}, "2 of 5 parts would have no rows: the table has 3"),
        ("k_fold", {"folds": 3, "key": "customer"}, "1 of 3 parts"),
        ("stratified", {"folds": 4, "key": "id", "label": "y"}, "1 of 4 parts"),
        ("holdout", {"share": 0.1, "key": "id"}, "1 of 2 parts"),
        ("nested", {"outer": 3, "inner": 5, "key": "id"}, "of 5 parts"),
    ],
)
def test_no_fold_is_without_rows(method: str, options: dict[str, Any], empty: str) -> None:
    rows = pl.DataFrame({"id": [1, 2, 3], "customer": [7, 7, 8], "y": [0, 1, 0]})
    with pytest.raises(plm.DataError, match=empty):
        getattr(plm.splits, method)(rows, **options)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(2, 4))
def test_folds_of_keys_are_refused_where_one_is_empty_and_else_complete(keys: list[int], folds: int) -> None:
    try:
        found = plm.splits.k_fold(pl.DataFrame({"id": keys}), folds, key="id")
    except plm.DataError:
        rows = pl.DataFrame({"id": keys, "copy": range(len(keys))})
        assert rows["id"].n_unique() < folds or rows["id"].value_counts()["count"].max() > 1
    else:
        assert found["fold"].n_unique() == folds
        assert found.group_by("id").agg(pl.col("fold").n_unique())["fold"].max() == 1


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(2, 4), st.integers(2, 5))
def test_inner_folds_have_rows_to_train_on_in_every_outer_fold(rows: int, outer: int, inner: int) -> None:
    try:
        found = plm.splits.nested(pl.DataFrame({"id": range(rows)}), outer, inner, key="id")
    except plm.DataError:
        assert rows < outer * inner
        return
    trained = found.drop_nulls("inner_fold").group_by("fold").agg(pl.col("inner_fold").n_unique())
    assert trained["inner_fold"].to_list() == [inner] * outer


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("k_fold", {"folds": 1}, "folds must be a whole number of 2 or more, not 1"),
        ("k_fold", {"folds": 2.5}, "not 2.5"),
        ("k_fold", {"name": "y"}, "column 'y' is in the data already"),
        ("k_fold", {"key": "ids"}, "did you mean 'id'"),
        ("k_fold", {"seed": "x"}, "seed must be a whole number"),
        ("grouped", {"group": "g", "folds": 50}, "has 12 of the groups 'g', too few for 50 folds"),
        ("grouped", {"group": "y"}, r"\(group\): \d+ rows have no group"),
        ("leave_one_group_out", {"group": "y"}, r"\(group\): \d+ rows have no group"),
        ("nested", {"group": "g", "inner": 9}, "an outer fold has"),
        ("repeated", {"repeats": 0, "key": "id"}, "repeats must be a whole number of 1 or more"),
        ("holdout", {"share": 1.2}, "shares must lie between 0 and 1"),
        ("holdout", {"share": {"a": 0.5, "b": 0.4}}, "add up to 1"),
        ("time_ordered", {"time": "g"}, r"'g0' is no ISO date, and such texts are not in the order of time"),
        ("time_ordered", {"time": "tt"}, "did you mean 't'"),
        ("time_ordered", {"time": "t", "window": "slide"}, "did you mean 'sliding'"),
        ("time_ordered", {"time": "t", "train": 3}, "train needs window='sliding'"),
        ("time_ordered", {"time": "t", "until": "g"}, "must be of one type"),
        ("time_ordered", {"time": "y"}, "rows have no time"),
        ("time_ordered", {"time": "t", "gap": float("nan")}, "gap must be a span of 0 or more, not nan"),
    ],
)
def test_what_is_wrong_is_said(method: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=words):
        getattr(plm.splits, method)(DATA, **options)


def test_strata_that_are_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plmetrics.features.splits.hash_parts.MOST_STRATA", 50)
    with pytest.raises(plm.ConfigError, match="bin a number first"):
        plm.splits.stratified(DATA, label="t", key="id")


def test_cross_validation_reads_repetitions_and_inner_folds() -> None:
    rng = np.random.default_rng(1)
    table = DATA.with_columns(pl.Series("p", rng.random(600)), pl.col("y").fill_null(0))
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["roc_auc"], "fold": "fold"}
    twice = plm.splits.repeated(table, 4, 2, label="y", key="id")
    found = plm.evaluate(twice, **asked, cross_validation={"repeat": "repeat"})
    assert found.folds["n"].to_list() == [150] * 8
    inner = plm.splits.nested(table, 3, 2, label="y", key="id")
    found = plm.evaluate(inner, **asked, cross_validation={"inner": "inner_fold"})
    assert {"nested", "selection_optimism"} <= set(found.cross_validation["kind"])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "asked",
    [
        {"method": "k_fold"},
        {"method": "repeated", "repeats": 2},
        {"method": "grouped", "group": "g"},
        {"method": "nested"},
        {"method": "holdout"},
        {"method": "time_ordered", "time": "g"},
    ],
    ids=lambda asked: asked["method"],
)
def test_columns_whose_names_are_patterns_of_names_come_through(asked: dict[str, Any]) -> None:
    frame = pl.DataFrame({"g": range(40), "^.*$": range(40), "*": range(40)})
    arguments = dict(asked)
    found = getattr(plm.splits, arguments.pop("method"))(frame, **arguments)
    assert found.columns[:3] == frame.columns
    assert found["^.*$"].equals(found["g"].alias("^.*$"))


def test_a_group_of_fractions_is_called_a_group() -> None:
    with pytest.raises(
        plm.DataError, match=r"group: .*a group must be a whole number, text, date or boolean"
    ):
        plm.splits.grouped(DATA.cast({"t": pl.Float64}), group="t")


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", sorted(METHODS))
def test_columns_called_like_those_of_a_plan(method: str) -> None:
    names = ["@hash", "@rows", "@range", "@within", "@code", "@stratum|0", "@cut|0", "@outer"]
    found = METHODS[method](DATA.with_columns(DATA["g"].alias(name) for name in names))
    assert_frame_equal(found.drop(names), METHODS[method](DATA))
    assert all(found[name].equals(found["g"]) for name in names)


def test_folds_by_columns_called_like_those_of_a_plan() -> None:
    for name in ("@hash", "@rows", "@within", "@class|0"):
        renamed = plm.splits.stratified_grouped(
            DATA.rename({"g": name}), 5, label="y", group=name, mixed=True
        )
        assert_frame_equal(renamed["fold"].to_frame(), METHODS["stratified_grouped"](DATA).select("fold"))


def test_reserved_names_of_new_columns() -> None:
    with pytest.raises(plm.DataError, match="column '@@fold': the name is reserved"):
        plm.splits.k_fold(DATA, 5, key="id", name="@@fold")


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [pl.Datetime, pl.Duration])
def test_folds_by_time_are_the_same_in_every_unit(kind: Any) -> None:
    numbers = pl.Series("t", range(600), dtype=pl.Int64) * 60_000
    folds = [
        plm.splits.k_fold(DATA.with_columns((numbers * factor).cast(kind(unit))), 5, key="t")["fold"]
        for unit, factor in (("ms", 1), ("us", 1_000), ("ns", 1_000_000))
    ]
    assert folds[0].to_list() == folds[1].to_list() == folds[2].to_list()


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_stratum_of_nan_is_dealt_as_others_are(engine: Any) -> None:
    """In a table that is sorted by the label, whichever engine collects the plan."""
    labels = [0.0] * 30 + [1.0] * 30 + [float("nan")] * 30
    rows = pl.LazyFrame({"y": labels, "id": range(90)}).sort("y")
    folds = plm.splits.stratified(rows, 3, label="y", key="id").lazy().collect(engine=engine)
    assert folds.group_by("y", "fold").len()["len"].to_list() == [10] * 9


@pytest.mark.parametrize(
    ("split", "options", "words"),
    [
        (plm.splits.grouped, {"group": []}, "group must be a column, or a list of columns, not"),
        (plm.splits.stratified, {"label": ()}, "label must be a column"),
        (plm.splits.stratified_grouped, {"label": "y", "group": None}, "group must be a column"),
        (plm.splits.leave_one_group_out, {"group": []}, "group must be a column"),
        (plm.splits.k_fold, {"key": 3}, "key must be a column"),
        (plm.splits.k_fold, {"name": 3}, "name must be the name of a new column"),
        (plm.splits.holdout, {"share": "0.2"}, "shares must lie between 0 and 1"),
    ],
)
def test_columns_that_are_none_are_told_of(split: Any, options: dict[str, Any], words: str) -> None:
    """Groups of no column would be single rows."""
    with pytest.raises(plm.ConfigError, match=words):
        split(made(30), **options)
