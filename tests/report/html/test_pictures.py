from plmetrics.features.registry import features
from plmetrics.report.charts.index import CHARTS
from plmetrics.report.html.sections.pictures import PLACES, TABLES

ELSEWHERE = {"forest", "differences", "slice_differences", "critical_difference"}
"""Charts beside the tables of their sections."""


def test_every_chart_has_a_place_in_the_page() -> None:
    places = {name for names in PLACES.values() for name in names}
    missing = set(CHARTS) - places - ELSEWHERE - TABLES
    assert not missing


def test_a_feature_with_charts_has_a_section_for_them() -> None:
    assert not [feature.key for feature in features() if feature.charts and feature.page is None]
