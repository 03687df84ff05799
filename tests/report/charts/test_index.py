"""All charts: each has a module and a method, is listed where there are rows, and survives every theme and name."""

import inspect
from importlib.util import find_spec

import pytest

from plmetrics.report.charts.index import charts
from plmetrics.report.charts.plot import Plot

pytest.importorskip("altair", reason="charts need the extra report")
pytest.importorskip("vl_convert", reason="charts need the extra report")


def test_every_chart_has_a_module_and_a_method_with_words():
    for name, entry in charts().items():
        assert find_spec(entry.path) is not None, name
        assert inspect.getdoc(getattr(Plot, name)), name
    public = {name for name in vars(Plot) if not name.startswith("_")}
    assert public == set(charts())


def test_charts_of_features_lie_with_their_features():
    places = {entry.path for entry in charts().values() if ".features." in entry.path}
    assert {place.split(".")[2] for place in places} == {
        "drift",
        "experiment",
        "cross_validation",
        "slice_search",
        "nights",
    }


@pytest.mark.slow
def test_listed_charts_are_drawn_in_both_themes(binary):
    names = dir(binary.plot)
    assert {"forest", "heatmap", "differences", "slice_differences"} <= set(names)
    for name in ("forest", "heatmap", "differences", "slice_differences"):
        figure = getattr(binary.plot, name)()
        figure.chart.to_dict(validate=True)
        for theme in ("light", "dark"):
            image = figure.svg(theme)
            assert "NaN" not in image
            assert "<title>" in image
        assert "#1f2933" not in figure.svg("dark")
        assert len(image) < 200_000


def test_a_wrong_name_is_told_the_nearest(binary):
    with pytest.raises(AttributeError, match="did you mean 'forest'"):
        binary.plot.forrest  # noqa: B018
