"""States of parts of a table, merged, give what one run over all of it gives."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from suites.drawn import suites

import plmetrics as plm
from plmetrics.catalogue.metric import Facts
from plmetrics.core import threads
from plmetrics.engine.memory import budget
from plmetrics.features.stored import cube_sums as sums
from plmetrics.features.stored import summation as counts
from plmetrics.features.stored.state_files import read_head, read_state, write_state
from plmetrics.runs.record import fingerprint
from plmetrics.suite.reader import suite_from_mapping
from plmetrics.suite.yaml.dump import suite_content

TABLES = ("metrics", "comparisons", "gates", "curves", "decomposition")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


def suite_file(folder: Path, suite: dict[str, Any]) -> Path:
    import yaml

    file = folder / "suite.yaml"
    file.write_text(yaml.safe_dump(suite, sort_keys=False))
    return file


def carried(suite: dict[str, Any]) -> bool:
    """Whether a state carries all of a suite."""
    from plmetrics.features.stored.support import countable

    try:
        asked = suite_from_mapping(suite)
        countable(asked.with_facts(Facts(("a", "b", "c"))))
    except plm.ConfigError:
        return False
    return True


def lost_deviation(merged: plm.Result, whole: plm.Result) -> bool:
    """Whether states with one each of equal values, far from a centre, do not tell that they are equal."""
    zero = whole.metrics["value"] == 0
    return bool((zero & (merged.metrics["status"] == "rounding")).any())


def assert_same(merged: plm.Result, whole: plm.Result) -> None:
    """The tables of two results, values to 1e-12 and intervals to 1e-9; statuses, counts and order exactly."""
    for name in TABLES:
        assert_frame_equal(getattr(merged, name), getattr(whole, name), rel_tol=1e-9, abs_tol=1e-12)
    columns = [column for column in ("value", "weight", "bound") if column in whole.metrics]
    assert_frame_equal(
        merged.metrics.select(columns), whole.metrics.select(columns), rel_tol=1e-11, abs_tol=1e-12
    )
    assert merged.verdict == whole.verdict
    for key in ("read", "zero_weight", "used", "dropped"):
        assert merged.record["rows"][key] == whole.record["rows"][key]


def written_parts(folder: Path, table: pl.DataFrame, owner: np.ndarray, parts: int) -> list[Path]:
    """The rows of a table in a file for each part; the names tell rows apart in the whole table, too."""
    for old in (folder / "parts").glob("*.parquet"):
        old.unlink()
    (folder / "parts").mkdir(exist_ok=True)
    files = []
    for part in range(parts):
        rows = table.filter(pl.Series(owner == part))
        if rows.height:
            files.append(folder / "parts" / f"part-{part:02d}.parquet")
            rows.write_parquet(files[-1])
    return files


def states_of(file: Path, files: list[Path], folder: Path) -> list[plm.State]:
    """The states of some files, with the constants of all of them together."""
    whole = plm.state(file, folder / "whole.state", set={"data.path": "parts/*.parquet"})
    return [
        plm.state(file, folder / f"{part.stem}.state", set={"data.path": str(part)}, constants=whole)
        for part in files
    ]


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 3)
@given(made=suites(), parts=st.integers(1, 12), seed=st.integers(0, 1 << 20))
def test_parts_give_what_the_whole_gives(
    made: tuple[dict[str, Any], pl.DataFrame], parts: int, seed: int, folder: Path
) -> None:
    suite, table = made
    if suite["task"] in {"regression", "quantile", "uplift"}:  # a million beside 1.5 leaves r2 few digits
        table = table.with_columns(pl.col("y").replace(1e6, 3.0))
    suite = {**suite, "data": {"path": "parts/*.parquet"}}
    suite["exact"] = False
    assume(carried(suite))
    key = table["unit"].to_numpy() if suite["task"] == "ranking" else np.arange(table.height)
    owner = np.random.default_rng(seed).integers(0, parts, key.max() + 1)[key]
    files = written_parts(folder, table, owner, parts)
    with_weight = [
        f for f in files if "weight" not in suite["columns"] or (pl.read_parquet(f)["w"] > 0).any()
    ]
    for empty in set(files) - set(with_weight):
        empty.unlink()
    file = suite_file(folder, suite)
    whole = plm.run(file, output=folder / "runs")
    merged = plm.merge(*states_of(file, with_weight, folder))
    assume(not lost_deviation(merged, whole))
    assert_same(merged, whole)


CUSTOMERS: dict[str, Any] = {
    "name": "risk",
    "data": {"path": "parts/*.parquet"},
    "columns": {"label": "y", "unit": "customer"},
    "models": {"one": "p", "two": "q"},
    "metrics": ["roc_auc", "average_precision", "brier", "recall", "tp", "ece"],
    "slices": {"region": "region", "size": {"column": "size", "quantiles": 3}},
    "uncertainty": {"replicates": 50},
    "compare": {"baseline": "one"},
    "exact": False,
}


def customers(rows: int, units: int, seed: int = 1) -> pl.DataFrame:
    """A table of customers that have several rows, all over it."""
    rng = np.random.default_rng(seed)
    positive = rng.random(rows) < 0.3
    return pl.DataFrame(
        {
            "y": positive.astype(np.int8),
            "p": np.round(1 / (1 + np.exp(0.5 - positive - rng.normal(size=rows))), 3),
            "q": 1 / (1 + np.exp(0.5 - positive - rng.normal(size=rows))),
            "customer": rng.integers(0, units, rows),
            "region": pl.Series(["north", "south", None]).gather(rng.integers(0, 3, rows)),
            "size": rng.integers(0, 100, rows),
        }
    )


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("unit", ["customer", None])
@pytest.mark.parametrize(("rows", "units"), [(3000, 900), (9000, 6000)])
def test_few_units_and_many_add(folder: Path, rows: int, units: int, unit: str | None) -> None:
    """Blocks of their own stay while units are few, and fold where all parts together have many."""
    table = customers(rows, units)
    owner = np.searchsorted([100, 150, rows // 2], np.arange(rows), side="right")
    files = written_parts(folder, table, owner, 4)
    file = suite_file(folder, {**CUSTOMERS, "columns": {"label": "y", "unit": unit}})
    merged = plm.merge(*states_of(file, files, folder))
    assert_same(merged, plm.run(file, output=folder / "runs"))


@pytest.mark.parametrize("given", [["a.state", "b.state"], ("a.state",), {"a": 1}, 7, None])
def test_what_is_no_state_is_refused_with_the_way_to_write_it(given: Any) -> None:
    with pytest.raises(plm.ConfigError, match=rf"not a {type(given).__name__}\n.*plm\.merge\(\*states\)"):
        plm.merge(given)


@pytest.mark.slow
def test_months_merge_as_their_days_do(folder: Path) -> None:
    table = customers(6000, 3000)
    files = written_parts(folder, table, np.arange(6000) // 1000, 6)
    file = suite_file(folder, CUSTOMERS)
    days = states_of(file, files, folder)
    months = [folder / "first.state", folder / "second.state"]
    plm.merge(*days[:2], state=months[0])
    plm.merge(*days[2:], state=months[1])
    assert_same(plm.merge(*months), plm.merge(*days))
    with pytest.raises(plm.DataError, match=r"first\.state and .*part-01\.state hold the same state"):
        plm.merge(months[0], days[1])


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "size"])
def test_months_have_the_bounds_of_one_run(folder: Path, weight: str | None) -> None:
    """Bounds of metrics of scores are those of a run on a grid, with rests and crossed slices, however days add."""
    table = customers(4000, 3000).with_columns(pl.Series("tier", np.arange(4000) % 2))
    files = written_parts(folder, table, np.arange(4000) // 1000, 4)
    compared = {"baseline": "one", "slices": {"region": "rest"}, "decompose": ["region"]}
    suite = {
        **CUSTOMERS,
        "columns": {"label": "y", "unit": "customer", "weight": weight},
        "metrics": ["roc_auc", "ks", "recall_at_precision(precision=0.6)", "brier"],
        "slices": {"region": "region", "both": ["region", "tier"]},
        "compare": compared,
    }
    file = suite_file(folder, suite)
    days = states_of(file, files, folder)
    plm.merge(*days[:3], state=folder / "month.state")
    whole = plm.run(file, output=folder / "runs")
    merged = plm.merge(folder / "month.state", days[3])
    assert_same(merged, whole)
    assert merged.metrics["bound"].is_not_null().sum() > 20
    assert merged.comparisons.filter(pl.col("contrast") == "rest").height > 0


ADDED = {
    "blocks": (12_000, 6_000, {}),
    "units": (3_000, 900, {}),
    "units that fold": (9_000, 5_000, {}),
    "rows": (3_000, 10, {"columns": {"label": "y"}}),
    "rows that fold": (9_000, 10, {"columns": {"label": "y"}}),
    "weights": (3_000, 900, {"columns": {"label": "y", "unit": "customer", "weight": "size"}}),
    "no intervals": (3_000, 900, {"uncertainty": None}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "units", "changes"), ADDED.values(), ids=ADDED)
def test_arrays_and_plain_sums_add_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rows: int, units: int, changes: dict[str, Any]
) -> None:
    """Days of few rows, one of them without a region, added with room for all there could be, and without."""
    table = customers(rows, units)
    day = np.searchsorted([40, 90, rows // 3], np.arange(rows), side="right")
    table = table.filter(pl.Series(day != 1) | (pl.col("region") == "north"))
    files = written_parts(
        folder, table, np.searchsorted([40, 60, rows // 3], np.arange(len(table)), side="right"), 4
    )
    suite = {
        **CUSTOMERS,
        "models": {"one": "p"},
        "compare": None,
        "uncertainty": {"replicates": 8},
        **changes,
    }
    days = states_of(suite_file(folder, suite), files, folder)
    monkeypatch.setattr(counts, "_FEW", 1 << 40)
    monkeypatch.setattr(sums, "_FEW", 1 << 40)
    dense = plm.merge(*days, state=folder / "dense.state")
    monkeypatch.setattr(budget, "merging_room", lambda _: 0)
    monkeypatch.setattr(counts, "_NEAR", 1000)
    monkeypatch.setattr(threads, "processors", lambda: 1)
    assert_same(plm.merge(*days, state=folder / "plain.state"), dense)
    assert_same(plm.merge(folder / "plain.state"), plm.merge(folder / "dense.state"))


def test_a_later_day_may_have_other_slices(folder: Path) -> None:
    suite = {"label": "y", "models": "p", "metrics": ["brier", "recall"], "slices": ["region"]}
    days = [
        pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "region": ["north", "north", "south"]}),
        pl.DataFrame({"y": [1, 0, 0], "p": [0.7, 0.6, 0.1], "region": ["east", "north", None]}),
    ]
    merged = plm.merge(*(plm.state(day, **suite) for day in days))
    assert_same(merged, plm.evaluate(pl.concat(days), **suite))
    assert merged.metrics["slice"].unique(maintain_order=True).to_list() == [
        "all",
        "region=east",
        "region=north",
        "region=south",
        "region=null",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_equal_labels_of_a_slice_do_not_vary_in_any_merge(weight: str | None) -> None:
    """A slice of one number, of a few rows a day, far from all others: no R2, and a standard deviation of 0."""
    metrics = ["r2", "explained_variance", "pearson", "rmse_skill", "default_rmse"]
    metrics += [{"name": "spread", "std": "y"}]
    asked: dict[str, Any] = {"task": "regression", "label": "y", "models": "p", "metrics": metrics}
    asked |= {"slices": {"g": "g", "gh": ["g", "h"]}, "weight": weight, "unit": "id"}
    seen: set[str] = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        days = []
        for day in range(3):
            few, rows = int(rng.integers(1, 4)), 30
            y = np.append(np.full(few, 12.573022109339), rng.normal(size=rows) * 10.0 ** rng.integers(-3, 7))
            keys = {"g": ["c"] * few + ["o"] * rows, "h": rng.integers(0, 2, len(y))}
            keys |= {"w": rng.integers(1, 4, len(y)), "id": 1000 * day + np.arange(len(y))}
            days.append(pl.DataFrame({"y": y, "p": y + rng.normal(size=len(y)), **keys}))
        first = plm.state(days[0], **asked)
        states = [first, *(plm.state(day, **asked, constants=first) for day in days[1:])]
        for result in (plm.evaluate(pl.concat(days), **asked), plm.merge(*states)):
            slices = result.metrics.filter(pl.col("slice").str.starts_with("g=c"))
            spreads = slices.filter(pl.col("metric").is_in(["default_rmse", "spread"]), status="ok")
            assert (spreads["value"] == 0).all()
            others = slices.filter(~pl.col("metric").is_in(["default_rmse", "spread"]))
            assert set(others["status"]) <= {"zero_denominator", "rounding"}, others
            seen |= set(others["status"])
    assert "zero_denominator" in seen


def test_one_value_among_nulls_has_a_deviation_of_0_in_any_merge() -> None:
    """Rows without a value, in the same state or another, do not make the digits of a single one doubtful."""
    rng = np.random.default_rng(5)
    keys = {"g": ["o"] * 40 + ["c"] * 4, "y": [0, 1] * 22}
    x = [*rng.lognormal(3, 1, 40).round(2), 23.36, None, None, None]
    table = pl.DataFrame({**keys, "x": x, "p": rng.random(44)})
    metrics = [{"name": "spread", "std": "x"}]
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": metrics, "slices": ["g"]}
    together = plm.evaluate(table, **asked)
    parts = plm.merge(plm.state(table[:41], **asked), plm.state(table[41:], **asked))
    for result in (together, parts):
        row = result.metrics.filter(slice="g=c")
        assert row.select("value", "status", "n").row(0) == (0.0, "ok", 4)
    others = parts.metrics.filter(slice="g=o")["value"].item()
    assert others == pytest.approx(np.std(x[:40]), rel=1e-12)


@pytest.mark.slow
def test_the_same_rows_give_the_same_file(folder: Path) -> None:
    files = written_parts(folder, customers(500, 200), np.zeros(500, dtype=np.int64), 1)
    file = suite_file(folder, CUSTOMERS)
    where = {"data.path": str(files[0])}
    first, second = (plm.state(file, folder / name, set=where) for name in ("a.state", "b.state"))
    assert first.content == second.content
    assert (folder / "a.state").read_bytes() == (folder / "b.state").read_bytes()
    with pytest.raises(plm.DataError, match="hold the same state"):
        plm.merge(first, second)
    twice = plm.merge(first, second, allow_overlap=True)
    assert twice.metrics["n"][0] == 1000


@pytest.fixture
def two_days(folder: Path) -> tuple[Path, list[Path]]:
    """A suite of sums, and the states of two days."""
    files = written_parts(folder, customers(300, 100), np.arange(300) // 150, 2)
    file = suite_file(folder, {**CUSTOMERS, "metrics": ["brier"], "slices": {"region": "region"}})
    out = [folder / f"{part.stem}.state" for part in files]
    for part, path in zip(files, out, strict=True):
        plm.state(file, path, set={"data.path": str(part)})
    return file, out


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", [8, 200, -500, -300])
def test_a_damaged_state_is_refused(two_days: tuple[Path, list[Path]], place: int) -> None:
    _, (first, second) = two_days
    content = bytearray(second.read_bytes())
    content[place] ^= 1
    second.write_bytes(content)
    with pytest.raises(plm.DataError, match=rf"{second.name} is damaged"):
        plm.merge(first, second)


@pytest.mark.parametrize("size", [0, 3, 100, -1])
def test_a_truncated_state_is_refused(two_days: tuple[Path, list[Path]], size: int) -> None:
    _, (first, second) = two_days
    second.write_bytes(second.read_bytes()[:size])
    with pytest.raises(plm.DataError, match=rf"{second.name} is truncated"):
        plm.merge(first, second)


def test_what_is_no_state_is_refused(two_days: tuple[Path, list[Path]], folder: Path) -> None:
    _, (first, _) = two_days
    pl.DataFrame({"a": [1]}).write_parquet(folder / "table.parquet")
    with pytest.raises(plm.DataError, match="is a parquet file, but no state"):
        plm.merge(first, folder / "table.parquet")
    with pytest.raises(plm.DataError, match="no such file"):
        plm.merge(first, folder / "nowhere.state")


def test_another_format_is_refused(two_days: tuple[Path, list[Path]]) -> None:
    _, (first, second) = two_days
    head, _ = read_head(second)
    table = pl.read_parquet(second)
    write_state(second, dataclasses.replace(head, format=99), table)
    with pytest.raises(plm.DataError, match="is of format 99"):
        plm.merge(first, second)


def test_states_of_other_suites_are_refused(two_days: tuple[Path, list[Path]]) -> None:
    file, (first, second) = two_days
    where = {"data.path": str(file.parent / "parts" / "part-01.parquet")}
    plm.state(file, second, set={**where, "uncertainty.replicates": 60, "min_rows": 5})
    with pytest.raises(plm.ConfigError, match=r"different suites: .* min_rows, uncertainty.replicates"):
        plm.merge(first, second)


def test_other_constants_are_refused(two_days: tuple[Path, list[Path]]) -> None:
    file, states = two_days
    metrics = {
        "metrics": ["brier", "recall(threshold=max(f1))"],
        "slices": {"size": CUSTOMERS["slices"]["size"]},
    }
    for number, state in enumerate(states):
        where = file.parent / "parts" / f"part-0{number}.parquet"
        plm.state(file, state, set={"data.path": str(where), **metrics})
    with pytest.raises(plm.ConfigError) as raised:
        plm.merge(*states)
    text = str(raised.value)
    assert "the threshold of max(f1) for model 'one' is" in text
    assert "the quantile edges of column 'size' are" in text
    assert "--constants" in text


def test_states_of_frames_are_told_how_python_takes_constants() -> None:
    rows = pl.DataFrame({"y": [0, 1] * 20, "p": [number / 40 for number in range(40)]})
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["roc_auc"]}
    first, other = plm.state(rows.head(30), **asked), plm.state(rows.tail(10), **asked)
    with pytest.raises(plm.ConfigError) as caught:
        plm.merge(first, other)
    assert caught.value.problems[0].hint == (
        "write them with the constants of one: plm.state(..., constants=STATE)"
    )
    assert plm.merge(first, plm.state(rows.tail(10), constants=first, **asked)).metrics["n"].item() == 40


def test_a_file_in_two_states_is_refused(two_days: tuple[Path, list[Path]]) -> None:
    file, (first, second) = two_days
    plm.state(file, second, set={"data.path": "parts/*.parquet"})
    with pytest.raises(plm.DataError, match=r"part-00.parquet was read for .*part-00.state and for"):
        plm.merge(first, second)


def day_of(queries: list[int]) -> plm.State:
    rows = pl.DataFrame({"q": queries, "y": [1, 0] * 2, "p": [0.1, 0.2, 0.3, 0.4]})
    return plm.state(rows, task="ranking", label="y", models="p", query="q", metrics=["mrr"], name="search")


def test_a_query_in_two_states_is_refused() -> None:
    merged = plm.merge(day_of([1, 1, 2, 2]), day_of([3, 3, 4, 4]))
    assert merged.metrics["n"].to_list() == [4]
    with pytest.raises(plm.DataError, match="1 query has rows in more than one state"):
        plm.merge(day_of([1, 1, 2, 2]), day_of([2, 2, 4, 4]))


def test_merged_states_know_their_queries(tmp_path: Path) -> None:
    months = [tmp_path / "one.state", tmp_path / "two.state"]
    plm.merge(day_of([1, 1, 2, 2]), day_of([3, 3, 4, 4]), state=months[0])
    plm.merge(day_of([5, 5, 6, 6]), state=months[1])
    assert plm.merge(*months, day_of([7, 7, 8, 8])).metrics["n"].item() == 8
    plm.merge(day_of([9, 9, 3, 3]), state=months[1])
    for other in (months[1], day_of([9, 9, 4, 4])):
        with pytest.raises(plm.DataError, match="1 query has rows in more than one state"):
            plm.merge(months[0], other)


def test_states_merged_without_their_queries_are_refused_beside_others(tmp_path: Path) -> None:
    plm.merge(day_of([1, 1, 2, 2]), day_of([3, 3, 4, 4]), state=tmp_path / "month.state")
    month = read_state(tmp_path / "month.state")
    parts = tuple(part for part in month.head.parts if part.kind != "queries")
    assert parts == month.head.parts[: len(parts)]
    rows = month.table.filter(pl.col("@part") < len(parts)).drop("@blocks")
    earlier = plm.State(dataclasses.replace(month.head, parts=parts), rows, "earlier")
    assert plm.merge(earlier).metrics["n"].item() == 4
    with pytest.raises(plm.ConfigError, match="left out what queries"):
        plm.merge(earlier, day_of([1, 1, 4, 4]))


def test_files_without_rows_are_alike_and_count_once_each(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.4]})
    for name, count in (("a", 3), ("b", 0), ("c", 0)):
        rows.head(count).write_parquet(tmp_path / f"{name}.parquet")
    whole = plm.state(str(tmp_path / "*.parquet"), label="y", models="p", metrics=["brier"])
    assert plm.merge(whole).metrics["n"].item() == 3


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"metrics": ["ece(bins=5, strategy=quantile)"]}, "needs the rows in order"),
        (
            {"metrics": [{"name": "twice", "formula": "2 * ece(strategy=quantile)"}]},
            "^metrics.0: twice, made of ece.*, needs the rows in order",
        ),
        ({"exact": True}, "exact=True needs the rows"),
        ({"fold": "size"}, "folds belong to one run"),
        (
            {"metrics": ["brier"], "compare": {"baseline": "one", "tests": ["wilcoxon"]}},
            "wilcoxon needs the rows",
        ),
        ({"uncertainty": True}, "rows without a file have no names"),
    ],
)
def test_what_needs_the_rows_is_refused(asked: dict[str, Any], named: str) -> None:
    models = {"one": "p", "two": "q"}
    with pytest.raises(plm.ConfigError, match=named):
        plm.state(customers(50, 20), **{"label": "y", "models": models, "metrics": ["brier"], **asked})


@pytest.mark.slow
@given(made=suites())
def test_a_suite_is_written_as_it_was_read(made: tuple[dict[str, Any], pl.DataFrame]) -> None:
    suite = suite_from_mapping(made[0])
    assert fingerprint(suite_from_mapping(json.loads(json.dumps(suite_content(suite))))) == fingerprint(suite)


def test_trec_files_say_which_columns_and_models_there_are(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 2\n1 0 b 1\n2 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 c 1 0.5 x\n1 Q0 a 2 0.25 x\n2 Q0 a 1 1 x\n")
    data: Any = {"trec": {"qrels": tmp_path / "qrels", "run": tmp_path / "run"}}
    merged = plm.merge(plm.state(data, task="ranking", metrics=["mrr"]))
    assert merged.metrics.select("model", "value").rows() == [("run", (1 / 2 + 1) / 2)]


def test_states_name_no_values_of_variables_and_yet_tell_files_apart(tmp_path, monkeypatch):
    days = ["tok-day-1", "tok-day-2"]
    asked = {
        "data": {"path": "${DAY}/x.parquet"},
        "columns": {"label": "y"},
        "models": {"m": "p"},
        "metrics": ["mse"],
    }
    file = suite_file(tmp_path, asked | {"task": "regression"})
    for number, day in enumerate(days):
        (tmp_path / day).mkdir()
        pl.DataFrame({"y": [1.0, number], "p": [0.5, 0.25]}).write_parquet(tmp_path / day / "x.parquet")
        monkeypatch.setenv("DAY", day)
        made = plm.state(file, tmp_path / f"{number}.state")
        assert made.head.suite["data"] == {"path": "${DAY}/x.parquet"}
        assert made.path is not None
        assert b"tok-day" not in made.path.read_bytes()
    states = [tmp_path / f"{number}.state" for number in range(2)]
    assert plm.merge(*states).metrics["n"].to_list() == [4]
    with pytest.raises(plm.PlmetricsError, match="would count twice"):
        plm.merge(states[0], plm.state(file, set={"data.path": "tok-day-1/x.parquet"}))


def test_merged_states_warn_of_what_is_true_of_all_rows(tmp_path: Path) -> None:
    suite = {
        "columns": {"label": "y"},
        "models": {"p": "p"},
        "metrics": ["accuracy"],
        "slices": {"g": {"column": "g", "exclude": ["x", "zz"]}},
    }
    states = []
    for value in ("x", "b"):
        table = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "g": ["a", value]})
        table.write_parquet(tmp_path / f"{value}.parquet")
        file = suite_file(tmp_path, {**suite, "data": {"path": f"{value}.parquet"}})
        states.append(plm.state(file))
    assert [len(state.warnings) for state in states] == [1, 2]
    assert plm.merge(*states).warnings == ("slice set 'g' excludes 'zz', which does not occur",)


def test_keys_of_a_suite_are_not_set_where_there_is_a_table() -> None:
    with pytest.raises(plm.ConfigError, match="set replaces keys of a suite's file"):
        plm.state(pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}), set={"min_rows": 3}, label="y", models="p")
