"""Changes between runs of means with a denominator of their own: NDCG by queries, precision by called rows."""

import json
import math

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from sklearn.metrics import ndcg_score

import plmetrics as plm


def queries(seed: int, share: float, noise: float, number: int = 150) -> pl.DataFrame:
    """Queries of 6 documents in two regions, some without a relevant one."""
    rng = np.random.default_rng(seed)
    region = np.where(rng.random(number) < share, "n", "s")
    label = rng.integers(0, 3, (number, 6)) * (rng.random((number, 1)) < 0.8)
    score = label + rng.normal(size=(number, 6)) * np.where(region == "n", noise, 1.0)[:, None]
    return pl.DataFrame(
        {
            "q": np.repeat(np.arange(number), 6),
            "region": np.repeat(region, 6),
            "y": label.ravel(),
            "m": score.ravel(),
        }
    )


def ranked(rows: pl.DataFrame, **further) -> plm.Result:
    return plm.evaluate(
        rows, task="ranking", label="y", query="q", models="m", metrics=["ndcg"], slices={"region": "region"},
        **{"uncertainty": {"replicates": 200}, **further},
    )  # fmt: skip


def by_region(rows: pl.DataFrame) -> dict[str, list[float]]:
    """NDCG of the queries of each region that have a relevant document, by scikit-learn."""
    out: dict[str, list[float]] = {"n": [], "s": []}
    for _, query in rows.group_by("q", maintain_order=True):
        if query["y"].max() > 0:
            value = ndcg_score([query["y"].to_list()], [query["m"].to_list()])
            out[query["region"][0]].append(value)
    return out


def expected(before: dict[str, list[float]], after: dict[str, list[float]]) -> dict[tuple[str, str], float]:
    out = {}
    for name in before:
        w0, w1 = (len(side[name]) / sum(map(len, side.values())) for side in (before, after))
        m0, m1 = (sum(side[name]) / len(side[name]) for side in (before, after))
        out[f"region={name}", "within"] = (w0 + w1) / 2 * (m1 - m0)
        out[f"region={name}", "mix"] = (w1 - w0) * (m0 + m1) / 2
    for part in ("within", "mix"):
        out["all", part] = sum(value for (_, own), value in out.items() if own == part)
    return out


@pytest.mark.slow
def test_ndcg_moves_by_queries_that_take_part() -> None:
    old, new = queries(1, 0.7, 1.0), queries(2, 0.4, 2.5)
    first = ranked(old, compare={"run": ranked(old), "decompose": {"region": ["ndcg"]}})
    second = ranked(new, compare={"run": first, "decompose": {"region": ["ndcg"]}})
    found = {(row["slice"], row["part"]): row for row in second.decomposition.iter_rows(named=True)}
    sides = by_region(old), by_region(new)
    wanted = expected(*sides)
    for place, value in wanted.items():
        assert found[place]["value"] == pytest.approx(value, abs=1e-12)
        assert found[place]["status"] == "ok"
    rng, drawn = np.random.default_rng(0), {place: [] for place in wanted}
    every = [[(name, value) for name in side for value in side[name]] for side in sides]
    for _ in range(800):
        again = []
        for side in every:
            sample = [side[place] for place in rng.integers(0, len(side), len(side))]
            again.append({name: [value for own, value in sample if own == name] for name in "ns"})
        for place, value in expected(*again).items():
            drawn[place].append(value)
    for place, values in drawn.items():
        assert found[place]["std_error"] == pytest.approx(np.std(values), rel=0.15)


def test_precision_moves_by_called_rows() -> None:
    rng = np.random.default_rng(3)

    def rows(share: float) -> pl.DataFrame:
        label, region = rng.integers(0, 2, 400), np.where(rng.random(400) < share, "n", "s")
        score = 0.3 * label + 0.7 * rng.random(400)
        return pl.DataFrame({"y": label, "p": score, "region": region, "w": rng.random(400)})

    asked = {
        "label": "y",
        "models": "p",
        "weight": "w",
        "metrics": ["precision"],
        "slices": {"region": "region"},
    }
    decompose = {"decompose": {"region": ["precision"]}}
    old, new = rows(0.8), rows(0.3)
    before = plm.evaluate(old, **asked, compare={"run": plm.evaluate(old, **asked), **decompose})
    after = plm.evaluate(new, **asked, compare={"run": before, **decompose})
    share, value = [], []
    for table in (old, new):
        called = table.filter(pl.col("p") >= 0.5)
        of_slice = called.filter(region="n")
        share.append(of_slice["w"].sum() / called["w"].sum())
        value.append(of_slice.filter(y=1)["w"].sum() / of_slice["w"].sum())
    found = {(row["slice"], row["part"]): row["value"] for row in after.decomposition.iter_rows(named=True)}
    assert found["region=n", "within"] == pytest.approx((share[0] + share[1]) / 2 * (value[1] - value[0]))
    assert found["region=n", "mix"] == pytest.approx((share[1] - share[0]) * (value[0] + value[1]) / 2)
    totals = [run.metrics.filter(slice="all")["value"].item() for run in (before, after)]
    assert math.isclose(found["all", "total"], totals[1] - totals[0], abs_tol=1e-12)


@pytest.mark.slow
def test_what_is_kept_is_json_and_only_where_it_is_asked_for() -> None:
    old = queries(1, 0.7, 1.0)
    plain = ranked(old)
    assert "masses" not in plain.record
    (entry,) = ranked(old, compare={"run": plain, "decompose": {"region": ["ndcg"]}}).record["masses"]
    assert json.loads(json.dumps(entry)) == entry
    counted = {f"region={name}": len(values) for name, values in by_region(old).items()}
    assert entry["masses"] == {"all": sum(counted.values()), **counted}
    second = ranked(old, compare={"run": plain, "decompose": {"region": ["ndcg"]}})
    assert second.decomposition["status"].to_list() == ["unknown_shares"]
    assert "compare.decompose" in second.decomposition["note"].item()


@pytest.mark.parametrize("metric", ["brier", "recall"])
def test_a_slice_of_too_few_rows_in_one_run_is_in_the_rest_of_both(metric: str) -> None:
    def rows(small: int, seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        region = np.repeat(["a", "b"], [small, 320 - small])
        return pl.DataFrame({"y": rng.integers(0, 2, 320), "p": rng.random(320), "region": region})

    def parts(table: pl.DataFrame) -> list[tuple[float, float]]:
        """Share of the denominator and mean in either slice."""
        loss = (
            (pl.col("p") - pl.col("y")) ** 2 if metric == "brier" else (pl.col("p") >= 0.5).cast(pl.Float64)
        )
        counted = (table if metric == "brier" else table.filter(y=1)).with_columns(loss=loss)
        sides = [counted.filter(region=name) for name in ("b", "a")]
        return [(side.height / counted.height, side["loss"].mean()) for side in sides]

    asked = {"label": "y", "models": "p", "metrics": [metric], "slices": ["region"], "min_rows": 80}
    tables = [rows(90, 1), rows(70, 2)]
    first = plm.evaluate(
        tables[0], **asked, compare={"run": plm.evaluate(tables[0], **asked), "decompose": ["region"]}
    )
    second = plm.evaluate(tables[1], **asked, compare={"run": first, "decompose": ["region"]})
    of_metric = second.decomposition.filter(metric=metric)
    found = {(row["slice"], row["part"]): row["value"] for row in of_metric.iter_rows(named=True)}
    for name, (w0, m0), (w1, m1) in zip(("region=b", "rest"), *map(parts, tables), strict=True):
        assert found.pop((name, "within")) == pytest.approx((w0 + w1) / 2 * (m1 - m0))
        assert found.pop((name, "mix")) == pytest.approx((w1 - w0) * (m0 + m1) / 2)
        assert found.pop((name, "total")) == pytest.approx(w1 * m1 - w0 * m0)
    assert {name for name, _ in found} == {"all"}


def errors_of(seed: int, rows: int, share: float) -> pl.DataFrame:
    """Errors of which most are 0, in a large and in a small slice."""
    rng = np.random.default_rng(seed)
    error = (rng.random(rows) < 0.12) * rng.exponential(size=rows)
    return pl.DataFrame({"y": np.zeros(rows), "p": error, "g": np.where(rng.random(rows) < share, "s", "l")})


def parted(now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    asked: dict[str, object] = {
        "task": "regression",
        "label": "y",
        "models": "p",
        "metrics": ["mae"],
        "slices": ["g"],
    }
    asked["uncertainty"] = {"replicates": 300}
    earlier = plm.evaluate(before, **asked)  # type: ignore[arg-type]
    compare = {"run": earlier, "decompose": ["g"]}
    made = plm.evaluate(now, compare=compare, **asked)  # type: ignore[arg-type]
    return made.tables["decomposition"].filter(slice="g=s")


def test_a_slice_without_errors_in_one_run_has_the_spread_of_both() -> None:
    before = errors_of(1, 1000, 0.08)
    now = errors_of(2, 150, 0.08).with_columns(p=pl.when(pl.col("g") == "s").then(0.0).otherwise("p"))
    within = parted(now, before).filter(part="within").row(0, named=True)
    old, new = (frame.filter(g="s")["p"].to_numpy() for frame in (before, now))
    shares = len(old) / 1000, len(new) / 150
    both = np.concatenate([old, new]).var(ddof=1)
    errors = np.array([np.sqrt(old.var(ddof=1) / len(old)), np.sqrt(both / len(new))]) * sum(shares) / 2
    of_shares = [old.mean() / 2 * np.sqrt(w * (1 - w) / n) for w, n in zip(shares, (1000, 150), strict=True)]
    assert within["value"] == pytest.approx(-sum(shares) / 2 * old.mean())
    assert within["std_error"] == pytest.approx(
        np.sqrt((errors**2).sum() + np.square(of_shares).sum()), rel=0.1
    )


@pytest.mark.slow
def test_small_slices_of_equal_runs_move_no_more_often_than_promised() -> None:
    """Before in a quarter of such tables."""
    tables = 60 if THOROUGH else 30
    made = pl.concat(
        [parted(errors_of(seed, 150, 0.08), errors_of(1000 + seed, 1000, 0.08)) for seed in range(tables)]
    )
    wrong = made.group_by("part").agg(((pl.col("lower") > 0) | (pl.col("upper") < 0)).mean())
    assert wrong["lower"].to_numpy().max() <= 0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5
