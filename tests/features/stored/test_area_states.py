"""DeLong's test in states: near that of the rows, and the same however states are merged."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm

SUITE = {
    "label": "y",
    "models": {"one": "p", "two": "q", "three": "r"},
    "metrics": ["roc_auc"],
    "slices": ["region"],
    "compare": {"pairs": "all", "tests": ["delong", {"delong": {"alternative": "greater"}}]},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    rng, folder = np.random.default_rng(2), tmp_path_factory.mktemp("areas")
    y = (rng.uniform(size=6000) < 0.2).astype(int)
    score = rng.normal(size=6000) + y
    table = pl.DataFrame(
        {
            "y": y,
            "p": score,
            "q": score + 0.4 * rng.normal(size=6000),
            "r": np.round(score + rng.normal(size=6000), 1),
            "region": rng.choice(["north", "south", "west"], 6000),
        }
    )
    bounds = [0, 3100, 3300, 6000]
    paths = [folder / f"{number}.parquet" for number in range(3)]
    for path, first, last in zip(paths, bounds, bounds[1:], strict=False):
        table[first:last].write_parquet(path)
    return list(map(str, paths)), table


def rows_of_tests(result):
    return result.comparisons.filter(pl.col("test").str.starts_with("delong"))


def by_pairs(rows, model, baseline):
    """The z of DeLong's test from every pair of a positive and a negative."""
    truth = rows["y"].to_numpy() == 1
    kernels = []
    for column in (model, baseline):
        score = rows[column].to_numpy()
        ups, downs = score[truth][:, None], score[~truth][None, :]
        kernels.append((ups > downs) + 0.5 * (ups == downs))
    difference = kernels[0] - kernels[1]
    sides = difference.mean(axis=1), difference.mean(axis=0)
    return difference.mean(), np.sqrt(sum(side.var(ddof=1) / len(side) for side in sides))


@pytest.mark.slow
def test_units_give_the_test_of_the_rows(files):
    paths, table = files
    columns = {"one": "p", "two": "q", "three": "r"}
    found = rows_of_tests(plm.evaluate(paths, **SUITE, exact=False, on="inline"))
    assert found.height == 2 * 3 * 4
    for row in found.iter_rows(named=True):
        rows = table if row["slice"] == "all" else table.filter(region=row["slice"].removeprefix("region="))
        difference, error = by_pairs(rows, columns[row["model"]], columns[row["baseline"]])
        assert row["difference"] == pytest.approx(difference, abs=2e-5)
        assert error * 0.999 <= row["std_error"] <= error * 1.002
        assert row["statistic"] == pytest.approx(difference / error, rel=0.01, abs=0.01)


@pytest.mark.slow
def test_states_add_in_any_order(files, tmp_path):
    paths, _ = files
    inline, processes = (plm.evaluate(paths, **SUITE, exact=False, on=on) for on in ("inline", "processes:2"))
    assert_frame_equal(rows_of_tests(processes), rows_of_tests(inline), check_exact=True)
    constants = plm.state(paths, **SUITE)
    states = [plm.state(path, **SUITE, constants=constants) for path in paths]
    plm.merge(states[2], states[0], state=tmp_path / "two.state")
    assert_frame_equal(
        rows_of_tests(plm.merge(tmp_path / "two.state", states[1])), rows_of_tests(inline), check_exact=True
    )
    rows = plm.evaluate(paths, **SUITE, exact=False)
    assert_frame_equal(rows_of_tests(rows), rows_of_tests(inline), rel_tol=1e-3, abs_tol=1e-5)


def test_rows_of_each_model_and_dependent_rows_are_refused(files):
    paths, table = files
    with pytest.raises(plm.ConfigError, match="delong needs the rows"):
        plm.state(paths, **SUITE, missing="drop_per_model")
    dependent = table.with_columns(id=pl.int_range(pl.len()) // 2)
    found = plm.merge(plm.state(dependent, **SUITE, unit="id"))
    assert set(rows_of_tests(found)["status"]) == {"clustered"}
