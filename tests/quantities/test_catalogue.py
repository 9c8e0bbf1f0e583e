"""The catalogue of quantities is complete and agrees with the code that uses it."""

from __future__ import annotations

import pytest

from harness.analysis.counted import TELLING
from harness.analysis.finders import FINDERS
from harness.quantities import GAUGES, QUANTITIES, Gauge, Quantity
from harness.report.figures.counts import CHOSEN
from harness.report.tables.heat import SHOWN


def test_every_quantity_has_a_finder_and_every_finder_a_quantity() -> None:
    assert list(FINDERS) == list(QUANTITIES)


@pytest.mark.parametrize("shown", [TELLING, CHOSEN, SHOWN])
def test_what_is_shown_by_name_is_in_the_catalogue(shown: tuple[str, ...]) -> None:
    assert set(shown) <= set(QUANTITIES)


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=lambda q: q.key)
def test_a_quantity_says_one_of_the_words_that_there_are(quantity: Quantity) -> None:
    assert quantity.good in {"lower", "higher", "neutral"}
    assert quantity.kind in {"cause", "extent", "consequence"}
    assert quantity.meaning.endswith(".")
    assert not (quantity.roof.per_cycle and quantity.roof.ceiling), "one of them bounds it"


@pytest.mark.parametrize("gauge", GAUGES.values(), ids=lambda g: g.key)
def test_a_gauge_says_which_way_is_worse_and_needs_what_there_is(gauge: Gauge) -> None:
    assert gauge.quantity.good != "neutral"
    assert set(gauge.needs) <= set(GAUGES)
    assert gauge.why
    assert gauge.quantity.ideal is not None or not gauge.none_is_ideal


def test_a_gauge_that_trades_decides_where_there_is_no_time() -> None:
    assert all(gauge.decides for gauge in GAUGES.values() if gauge.trades)
