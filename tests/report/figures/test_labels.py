"""Labels of points never overlap if there is room, and never leave the frame."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.report.figures.labels import Box, Placed, place
from harness.report.figures.roofline import LINE, column, gaps

FRAME = Box(0, 0, 720, 400)
SIZE = (24.0, 10.5)


def boxes(placed: list[Placed | None]) -> list[Box]:
    return [Box(p.x, p.y, p.x + SIZE[0], p.y + SIZE[1]) for p in placed if p]


def apart(found: list[Box]) -> bool:
    return not any(a.overlaps(b) for i, a in enumerate(found) for b in found[i + 1 :])


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(60, 560), st.floats(30, 370)), min_size=1, max_size=14))
def test_labels_of_scattered_points_keep_apart_and_inside(
    points: list[tuple[float, float]],
) -> None:
    found = boxes(place(points, [SIZE] * len(points), [], FRAME))
    assert len(found) == len(points)
    assert apart(found)
    assert all(box.inside(FRAME) for box in found)


def test_labels_of_points_on_one_spot_keep_apart() -> None:
    found = place([(300.0, 200.0)] * 12, [SIZE] * 12, [], FRAME)
    assert apart(boxes(found))
    assert any(p and p.leader for p in found)


def test_a_label_without_a_free_place_is_left_out() -> None:
    small = Box(0, 0, 60, 24)
    found = place([(20.0, 12.0)] * 9, [SIZE] * 9, [], small)
    assert 0 < len(boxes(found)) < 9
    assert apart(boxes(found))


def test_a_label_stands_clear_of_what_is_there_already() -> None:
    taken = Box(300, 180, 380, 220)
    (box,) = boxes(place([(298.0, 200.0)], [SIZE], [taken], FRAME))
    assert not box.overlaps(taken)


def test_a_single_label_stands_right_of_its_point_without_a_leader() -> None:
    (placed,) = place([(100.0, 100.0)], [SIZE], [], FRAME)
    assert placed == Placed(107.0, 100.0 - SIZE[1] / 2, leader=False)


def test_a_segment_crosses_a_box_or_does_not() -> None:
    box = Box(10, 10, 20, 20)
    assert box.crossed_by((0, 0), (30, 30))
    assert box.crossed_by((15, 0), (15, 30))
    assert not box.crossed_by((0, 0), (9, 9))
    assert not box.crossed_by((0, 15), (9, 15))
    assert not box.crossed_by((5, 0), (5, 30))


def test_gaps_are_what_is_left_where_a_line_fits() -> None:
    assert gaps([(50, 60), (55, 70), (95, 100)], 0, 200) == [(0, 50), (70, 95), (100, 200)]
    assert gaps([(0, 195)], 0, 200) == [(0, 200)]  # an overlapping label is better than none


@settings(max_examples=50)
@given(st.lists(st.floats(5, 395), min_size=1, max_size=24))
def test_a_column_of_names_keeps_their_order_and_stays_in_the_gaps(heights: list[float]) -> None:
    free = [(0.0, 130.0), (150.0, 400.0)]
    placed = column([(100.0, y) for y in heights], 126.0, free, best=0)
    middles = [p.y + 5.25 for p in placed if p]
    assert len(middles) == len(heights)
    for middle in middles:
        assert any(low + LINE / 2 - 0.01 <= middle <= high - LINE / 2 + 0.01 for low, high in free)
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    ranked = sorted(middles[i] for i in order)
    assert all(b - a >= LINE - 0.01 for a, b in itertools.pairwise(ranked))
    for a, b in itertools.pairwise(order):
        assert heights[a] == heights[b] or middles[a] < middles[b]


def test_where_too_few_lines_fit_the_best_is_named_all_the_same() -> None:
    placed = column([(0.0, 50.0 + i) for i in range(40)], 26.0, [(0.0, 100.0)], best=39)
    assert placed[39] is not None
    assert 0 < sum(p is not None for p in placed) <= int(100 / LINE)
