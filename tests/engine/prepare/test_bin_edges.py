"""Ends of histograms."""

import polars as pl
import pytest

import plmetrics as plm


@pytest.mark.parametrize("number", [3.0, 1e17, -1e17, 1e300])
@pytest.mark.parametrize("exact", [None, False])
def test_the_histogram_of_a_single_number_has_it_in_one_of_its_bins(number, exact):
    frame = pl.DataFrame({"y": [0, 1, 1], "p": [number] * 3})
    roles = {"label": "y", "models": "p", "metrics": "roc_auc", "exact": exact}
    points = plm.evaluate(frame, **roles, curves=["score_histogram"]).curves
    for points_of_class in points.partition_by("class"):
        assert points_of_class["threshold"].n_unique() == 40
        assert sorted(points_of_class["y"])[-2:] == [0.0, 1.0]


@pytest.mark.parametrize("number", [3.0, 1e17, -1e300])
def test_the_histogram_of_one_label_has_bins_of_their_own(number):
    frame = pl.DataFrame({"y": [number] * 3, "p": [number / 2] * 3})
    roles = {"task": "regression", "label": "y", "models": "p", "metrics": "median_absolute_error"}
    points = plm.evaluate(frame, **roles, curves=["label_histogram"]).curves
    assert points["threshold"].n_unique() == 50
    assert sorted(points["y"])[-2:] == [0.0, 1.0]
