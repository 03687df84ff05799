"""Words and legends stand where nothing is drawn."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.report.charts.placement import SIDES, Box, Canvas


def canvas():
    return Canvas(300, 200, (0, 1), (0, 10))


def test_places_in_pixels_start_at_the_top_left():
    assert canvas().pixels(np.array([0.0, 1.0, 0.5]), np.array([10.0, 0.0, 2.5])).tolist() == [
        [0, 0],
        [300, 200],
        [150, 150],
    ]


def test_a_line_far_outside_the_panel_takes_no_more_places_than_one_beside_it():
    panel = canvas()
    panel.line([0, 0.5, 1], [5, 1e30, -1e30])
    assert panel.corner((120, 60), ("top-left", "bottom-left"), 8) == "bottom-left"


def test_a_legend_leaves_the_corners_that_a_line_crosses():
    panel = canvas()
    panel.line([0, 1], [0, 10])
    assert (
        panel.corner((120, 60), ("bottom-left", "top-right", "bottom-right", "top-left"), 8) == "bottom-right"
    )
    # The corner is taken now.
    assert panel.corner((120, 60), ("bottom-right", "top-left"), 8) == "top-left"
    assert panel.corner((120, 60), ("bottom-right", "top-left"), 8) is None


def test_gaps_of_a_line_do_not_break_it():
    panel = canvas()
    panel.line([0, None, 1], [5, 2, float("nan")])
    assert panel.corner((290, 190), ("top-left",), 0) is None
    empty = canvas()
    empty.line([None], [None])
    assert empty.corner((290, 190), ("top-left",), 0) == "top-left"


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 10)), min_size=1, max_size=12))
def test_words_never_overlap(points):
    panel = canvas()
    for x, y in points:
        panel.side(x, y, "0.123")
    boxes = panel._boxes
    assert not any(a.overlaps(b) for number, a in enumerate(boxes) for b in boxes[:number])


def test_a_word_takes_the_side_without_a_line():
    panel = canvas()
    panel.line([0.5, 1], [5, 1])
    assert panel.side(0.5, 5, "label") != SIDES[0]
    assert Box(0, 0, 10, 10).overlaps(Box(9, 9, 12, 12))
    assert not Box(0, 0, 10, 10).overlaps(Box(10, 0, 12, 12))


def test_a_word_stands_beside_its_marker_and_keeps_off_others():
    canvas = Canvas(400, 400, (0, 1), (0, 1))
    canvas.marker(0.5, 0.5)
    alone = canvas.side(0.5, 0.5, "0.5")
    assert alone == SIDES[0], "its own marker leaves room for it"
    canvas = Canvas(400, 400, (0, 1), (0, 1))
    across, down = SIDES[0][1:]
    canvas.marker(0.5, 0.5)
    canvas.marker(0.5 + (across + 4) / 400, 0.5 - down / 400)
    side = canvas.side(0.5, 0.5, "0.5")
    assert side is not None
    assert side != SIDES[0]
