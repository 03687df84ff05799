from typing import Any

import polars as pl
import pytest

import plmetrics as plm


def run(
    labels: list[Any], positive: Any, scores: tuple[float, ...] = (0.1, 0.9, 0.4, 0.6), **asked: Any
) -> Any:
    table = pl.DataFrame({"y": labels, "p": scores})
    return plm.evaluate(
        table, **{"label": "y", "models": "p", "metrics": ["precision"], "positive": positive} | asked
    )


@pytest.mark.parametrize(
    ("positive", "hint"),
    [
        ("male", "did you mean 'Male'"),
        (" MALE ", "did you mean 'Male'"),
        ("Mlae", "did you mean 'Male'"),
        ("yes", "one of"),
    ],
)
def test_a_positive_that_no_label_is_is_an_error_with_the_nearest(positive: str, hint: str) -> None:
    labels = ["Male", "Female", "Female", None]
    with pytest.raises(plm.DataError, match=hint) as caught:
        run(labels, positive, missing="drop")
    assert "it holds 'Female', 'Male'" in str(caught.value)
    assert caught.value.problems[0].path == ("positive",)
    with pytest.raises(plm.DataError, match=hint):
        plm.state(
            pl.DataFrame({"y": labels[:3], "p": [0.1, 0.2, 0.3]}),
            label="y", models="p", metrics=["precision"], positive=positive,
        )  # fmt: skip


def test_rows_of_the_other_class_alone_are_no_error() -> None:
    result = run(["no"] * 4, "yes")
    assert result.metrics["value"].to_list() == [0.0]
    assert any("no row is positive" in warning for warning in result.record["warnings"])
    with pytest.raises(plm.DataError, match="did you mean 'yes'"):
        run(["yes"] * 4, "Yes")
    with pytest.raises(plm.DataError, match="no value of column 'y' is 9"):
        run([1, 2, 1, 2], 9)


def test_a_label_that_is_positive_in_dropped_rows_alone_is_no_mistake() -> None:
    result = run(["yes", "no", "no", "no"], "yes", (float("nan"), 0.2, 0.3, 0.9), missing="drop")
    assert result.metrics["value"].to_list() == [0.0]
    assert result.record["warnings"] == []
