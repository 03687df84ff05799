"""Sums that the counting pass adds are those of a scan of their own: tasks, weights and policies of missing rows."""

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import DataError
from plmetrics.engine.aggregate import cell_sums
from plmetrics.engine.order import grid_scores

ROWS = 20_000
DRAW = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "y": DRAW.integers(0, 2, ROWS),
        "t": DRAW.integers(0, 2, ROWS),
        "c": DRAW.choice(["a", "b", "c"], ROWS),
        "z": DRAW.gamma(2, 1, ROWS),
        "p": DRAW.random(ROWS).round(3),
        "q": DRAW.random(ROWS),
        "u": DRAW.integers(0, 5_000, ROWS),
        "w": DRAW.gamma(2, 1, ROWS),
        "g": DRAW.choice(["x", "y", None], ROWS),
    }
)
HOLED = TABLE.with_columns(
    y=pl.when(pl.col("u") % 11 > 0).then("y"), p=pl.when(pl.col("u") % 7 > 0).then("p")
)
BINARY = {
    "label": "y",
    "models": {"p": "p", "q": "q"},
    "metrics": ["roc_auc", "brier", "recall", "log_loss", "ece"],
    "compare": {"baseline": "p"},
}
CASES = {
    "binary": BINARY,
    "binary by unit": BINARY | {"unit": "u"},
    "weights": BINARY | {"weight": "w"},
    "regression": {"label": "z", "models": {"p": "p", "q": "q"}, "task": "regression"}
    | {"metrics": ["mae", "median_absolute_error", "rmse"]},
    "uplift": {"label": "y", "models": {"p": "p"}, "task": "uplift", "treatment": "t"}
    | {"metrics": ["qini", "uplift_at_k(k=0.3)"]},
}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("uncertainty", [None, {"replicates": 30, "blocks": 50}], ids=["values", "intervals"])
@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
@pytest.mark.parametrize("case", CASES)
def test_sums_beside_counts_are_those_of_a_scan(monkeypatch, case, missing, uncertainty):
    options = CASES[case] | {"slices": ["g"], "exact": False, "uncertainty": uncertainty, "missing": missing}
    options = options if uncertainty else {k: v for k, v in options.items() if k != "unit"}
    table = TABLE if missing == "error" else HOLED
    monkeypatch.setattr(cell_sums, "_ROWS_AN_ENTRY", 0)
    made = spied_sums(monkeypatch)
    joint = plm.evaluate(table, **options)
    assert made[0] is not None
    monkeypatch.setattr(grid_scores, "sums_with_counts", lambda *_, **__: None)
    apart = plm.evaluate(table, **options)
    assert_same(joint, apart)


def spied_sums(monkeypatch):
    """The sums of each run from now on, None where a run has none beside its counts."""
    made, original = [], grid_scores.sums_with_counts

    def sums(*args, **keywords):
        made.append(original(*args, **keywords))
        return made[-1]

    monkeypatch.setattr(grid_scores, "sums_with_counts", sums)
    return made


def assert_same(joint, apart):
    for name in ("metrics", "comparisons"):
        found, wanted = getattr(joint, name), getattr(apart, name)
        assert found.height == wanted.height
        for column in found.columns:
            if found[column].dtype.is_float():
                np.testing.assert_allclose(
                    found[column], wanted[column], rtol=1e-11, atol=1e-12, err_msg=column
                )
            else:
                assert found[column].equals(wanted[column]), column
    if apart.replicates is not None:
        assert joint.replicates.units.equals(apart.replicates.units)


def test_bad_rows_are_told_as_without_counts(monkeypatch):
    made, messages = spied_sums(monkeypatch), []
    for exact in (False, True):
        with pytest.raises(DataError) as error:
            plm.evaluate(HOLED, **BINARY, exact=exact)
        messages.append(str(error.value))
    assert made[0] is not None
    assert messages[0] == messages[1]


def test_blocks_without_rows_are_left_out(monkeypatch):
    monkeypatch.setattr(cell_sums, "_ROWS_AN_ENTRY", 0)
    made, table = spied_sums(monkeypatch), TABLE.head(5_001)
    options = BINARY | {"exact": False, "uncertainty": {"replicates": 30, "blocks": 3_000}}
    joint = plm.evaluate(table, **options)
    assert made[0].frames() is None
    monkeypatch.setattr(grid_scores, "sums_with_counts", lambda *_, **__: None)
    assert_same(joint, plm.evaluate(table, **options))
