"""Labels that some files lack, and states of days whose labels are there and of others."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm

WRITERS = {"parquet": "write_parquet", "csv": "write_csv", "ndjson": "write_ndjson"}
ASKED: dict[str, Any] = {
    "label": "y",
    "models": {"m": "p", "o": "q"},
    "slices": ["g"],
    "labels": True,
    "metrics": ["n", "labelled", "selection_rate", "precision", "brier", {"name": "ms", "mean": "score"}],
}


def day(number: int, rows: int = 600) -> pl.DataFrame:
    """Rows of a day; of the second half of the rows without a label there is one in slice b only."""
    generator = np.random.default_rng(number)
    score = generator.random(rows)
    frame = pl.DataFrame(
        {
            "y": (generator.random(rows) < score).astype(int),
            "p": score,
            "q": generator.random(rows),
            "u": generator.integers(0, 100, rows) + 100 * number,
            "g": generator.choice(["a", "b"], rows),
        }
    )
    return frame.with_columns(y=pl.when((pl.col("p") > 0.4) | (pl.col("g") == "b")).then("y"))


def days() -> list[pl.DataFrame]:
    """The label is there, not there at all, and null everywhere."""
    return [day(1), day(2).drop("y"), day(3).with_columns(y=pl.lit(None, dtype=pl.Int64))]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("units", [None, "u"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("kind", WRITERS)
def test_files_may_lack_the_label(
    kind: str, order: tuple[int, ...], units: str | None, tmp_path: Path
) -> None:
    frames = days()
    for place, number in enumerate(order):
        getattr(frames[number], WRITERS[kind])(tmp_path / f"{place}.{kind}")
    asked = ASKED | {"unit": units, "uncertainty": {"replicates": 50} if units else None}
    result = plm.evaluate(str(tmp_path), **asked)
    together = pl.concat([frames[number] for number in order], how="diagonal_relaxed")
    expected = plm.evaluate(together, **asked)
    assert_frame_equal(result.metrics, expected.metrics, abs_tol=1e-12)
    assert result.record["rows"]["unlabelled"] == {m: together["y"].null_count() for m in ("m", "o")}


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", WRITERS)
def test_no_file_has_a_label(kind: str, tmp_path: Path) -> None:
    for number, frame in enumerate(days()[1:]):
        getattr(frame, WRITERS[kind])(tmp_path / f"{number}.{kind}")
    metrics = plm.evaluate(str(tmp_path), **ASKED, uncertainty=True).metrics.filter(slice="all", model="m")
    assert dict(metrics.select("metric", "status").iter_rows()) == {
        "n": "ok",
        "labelled": "ok",
        "selection_rate": "ok",
        "precision": "unlabelled",
        "brier": "unlabelled",
        "ms": "ok",
    }


def test_arrow_files_need_the_same_columns(tmp_path: Path) -> None:
    for number, frame in enumerate(days()[:2]):
        frame.write_ipc(tmp_path / f"{number}.arrow")
    with pytest.raises(plm.DataError, match=r"lacks columns that 0\.arrow has: y"):
        plm.evaluate(str(tmp_path), **ASKED)


def test_another_column_must_be_there(tmp_path: Path) -> None:
    for number, frame in enumerate([day(1), day(2).drop("q")]):
        frame.write_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(plm.DataError, match="column 'q' is missing"):
        plm.evaluate(str(tmp_path), **ASKED)


@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", [None, "u"])
def test_states_of_days_add(unit: str | None) -> None:
    asked = ASKED | {"unit": unit, "uncertainty": {"replicates": 50} if unit else None, "compare": "m"}
    merged = plm.merge(*(plm.state(frame, **asked) for frame in days()))
    together = plm.evaluate(pl.concat(days(), how="diagonal_relaxed"), **asked)
    assert_frame_equal(merged.metrics, together.metrics, abs_tol=1e-12)
    assert_frame_equal(merged.comparisons, together.comparisons, abs_tol=1e-12)
    assert_frame_equal(merged.others["labelling"], together.others["labelling"], abs_tol=1e-12)
    for key in ("read", "used", "unlabelled", "dropped"):
        assert merged.record["rows"][key] == together.record["rows"][key]


def test_ordered_metrics_of_states_are_those_of_labelled_rows() -> None:
    asked = ASKED | {"metrics": ["roc_auc", "ks"]}
    first, *others = (plm.state(frame, **asked) for frame in [day(1)])
    rest = [plm.state(frame, **asked, constants=first) for frame in days()[1:]]
    merged = plm.merge(first, *others, *rest).metrics.filter(slice="all")
    exact = plm.evaluate(pl.concat(days(), how="diagonal_relaxed"), **asked).metrics.filter(slice="all")
    assert ((merged["value"] - exact["value"]).abs() <= merged["bound"] + 1e-12).all()
    assert merged["n"].to_list() == exact["n"].to_list() == [day(1)["y"].count()] * 4


def test_a_run_folder_has_the_table_and_reads_it(root: Path) -> None:
    day(1).write_parquet("rows.parquet")
    Path("suite.yaml").write_text(
        "data: {path: rows.parquet}\ncolumns: {label: y}\nmodels: {m: p}\nmetrics: [labelled, brier]\nlabels: true\n"
    )
    result = plm.run("suite.yaml")
    assert result.folder is not None
    stored = plm.load(result.folder)
    assert_frame_equal(stored.metrics, result.metrics)
    assert_frame_equal(stored.others["labelling"], result.others["labelling"])
    assert stored.record["labels"] == {"absent_labels": "unlabelled"}
