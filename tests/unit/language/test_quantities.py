"""Amounts in any unit and spelling compare by what they come to."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.quantities import Quantity, quantities, same_quantity
from language.units import unit_named
from tests.unit.language.hostile import TEXTS


def only(text: str) -> Quantity:
    found = quantities(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "dimension", "base"),
    [
        *[("500 mW", "power", 0.5), ("500 MW", "power", 5e8), ("5 KW", "power", 5000), ("60W", "power", 60)],
        *[
            ("650 nm", "length", 6.5e-7),
            ("30 Nm", "torque", 30),
            ("1.5m", "length", 1.5),
            ("3 miles", "length", 4828.032),
        ],
        *[
            ("20 °C", "temperature", 293.15),
            ("68°F", "temperature", 293.15),
            ("10 degrees Celsius", "temperature", 283.15),
        ],
        *[
            ("5 kB", "data", 5000),
            ("5 KB", "data", 5000),
            ("5 KiB", "data", 5120),
            ("2 GB", "data", 2e9),
            ("8 bits", "data", 1),
        ],
        *[
            ("60 mph", "length/time", 26.8224),
            ("36 km/h", "length/time", 10),
            ("36 kilometres per hour", "length/time", 10),
        ],
        *[
            ("12 oz", "mass", 0.3401942775),
            ("2 lbs", "mass", 0.90718474),
            ("3 t", "mass", 3000),
            ("500g", "mass", 0.5),
        ],
        *[
            ("40 acres", "area", 161874.256896),
            ("3 km²", "area", 3e6),
            ("5 sq ft", "area", 0.4645152),
            ("5 m2", "area", 5),
        ],
        *[
            ("500 square kilometres", "area", 5e8),
            ("3 cubic metres", "volume", 3000),
            ("2 pints", "volume", 0.946352946),
        ],
        *[
            ("3,000 mAh", "charge", 10800),
            ("3 kWh", "energy", 1.08e7),
            ("200 kcal", "energy", 836800),
            ("4.5 V", "voltage", 4.5),
        ],
        *[
            ("5 ft 10 in", "length", 1.778),
            ("5'10\" tall", "length", 1.778),
            ('a 27" screen', "length", 0.6858),
        ],
        *[
            ("2 hours 30 minutes", "time", 9000),
            ("half an hour", "time", 1800),
            ("a 5-year-old", "time", 157788000),
        ],
        *[
            ("12%", "share", 0.12),
            ("5.5 per cent", "share", 0.055),
            ("2.4 GHz", "frequency", 2.4e9),
            ("12 in.", "length", 0.3048),
        ],
        *[
            ("1.234,50 €", "money:EUR", 1234.5),
            ("€1.234", "money:EUR", 1234),
            ("US$ 2.5 million", "money:USD", 2.5e6),
        ],
        *[
            ("$5M", "money:USD", 5e6),
            ("CHF 12.50", "money:CHF", 12.5),
            ("12 euros", "money:EUR", 12),
            ("50 pence", "money:GBP", 0.5),
        ],
        *[
            ("It costs 5 pounds.", "money:GBP", 5),
            ("It weighs 5 pounds.", "mass", 2.26796185),
            ("5 pounds sterling", "money:GBP", 5),
        ],
        *[
            ("three hundred and twelve metres", "length", 312),
            ("twelve large rooms", "", 12),
            ("1894 pages", "", 1894),
        ],
    ],
)
def test_an_amount_comes_to_so_many_base_units(text: str, dimension: str, base: float) -> None:
    found = only(text)
    assert (found.dimension, found.base) == (dimension, pytest.approx(base))


UNITS = """
mm cm m km in ft yd mi g kg lb oz s min h day week year l ml gal W kW MW J kWh °C °F K kB MB KiB km²
acre EUR £
"""


@given(
    st.sampled_from(UNITS.split()),
    st.integers(1, 999) | st.integers(2100, 9999),
    st.sampled_from(["{:,} {}", "{} {}", "{:.1f} {}"]),
)
def test_converting_there_and_back_gives_the_amount_again(name: str, value: int, spelling: str) -> None:
    unit = unit_named(name)
    assert unit is not None
    text = spelling.format(value, name) + " wide"
    found = only(text)
    assert (found.value, found.unit, found.dimension) == (value, unit.name, unit.dimension)
    assert (found.base - unit.offset) / unit.factor == pytest.approx(value)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        *[
            ("5 km", "3.1 miles", True),
            ("26.2 miles", "42.195 km", True),
            ("6 ft", "1.83 m", True),
            ("1 year", "12 months", True),
        ],
        *[
            ("5.5 million people", "5,512,345 people", True),
            ("5 million people", "5.4 million people", False),
        ],
        *[
            ("100 m", "101 m", False),
            ("100 m", "100 kg", False),
            ("5 euros", "$5", False),
            ("0 °C", "32 °F", True),
        ],
        *[
            ("312 pages", "312 rooms", False),
            ("312 pages", "312", True),
            ("20%", "20 percent", True),
            ("1 GB", "1000 MB", True),
        ],
        *[("half a mile", "0.8 km", True), ("two thousand metres", "2 km", True), ("5 lb", "5 kg", False)],
    ],
)
def test_amounts_are_the_same_but_for_unit_spelling_and_rounding(a: str, b: str, same: bool) -> None:
    assert same_quantity(only(a), only(b)) is same_quantity(only(b), only(a)) is same


def test_a_range_has_its_unit_at_both_ends() -> None:
    shown = [(q.value, q.unit) for q in quantities("5–10 kg, €5 to 10, 30 x 40 cm, 3 or 4 hours")]
    assert shown == [
        (5, "kg"),
        (10, "kg"),
        (5, "EUR"),
        (10, "EUR"),
        (30, "cm"),
        (40, "cm"),
        (3, "h"),
        (4, "h"),
    ]


def test_what_is_counted_is_the_first_plural_that_follows() -> None:
    assert [(q.value, q.unit) for q in quantities("12 large rooms, 3.5 million people and one kitchen")] == [
        *[(12, "room"), (3.5e6, "peopl"), (1, "kitchen")]
    ]


@pytest.mark.parametrize(
    "text", ["in 1894 workers left", "the 1890s", "on 3 May 1894", "gate 12A", "a 4K screen", "9:30 am"]
)
def test_dates_times_and_codes_are_no_amounts(text: str) -> None:
    assert quantities(text) == ()


@pytest.mark.parametrize(
    ("text", "unit"), [("5 in Paris", ""), ("5 t-shirts", ""), ("5 A's", ""), ("5 mw", "")]
)
def test_letters_that_mean_something_else_are_no_unit(text: str, unit: str) -> None:
    assert only(text).unit in {unit, "shirt"}


@given(st.text(alphabet=st.sampled_from("0123456789.,'\"′″ -–x€$kgmM°CFtoin/²%half")))
def test_amounts_are_verbatim_in_order_and_finite(text: str) -> None:
    found = quantities(text)
    assert all(each.text == text[each.start : each.end] != "" for each in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(abs(each.base) < 1e60 for each in found)


@pytest.mark.parametrize("text", TEXTS)
def test_long_hostile_texts_are_read(text: str) -> None:
    assert all(same_quantity(each, each) for each in quantities(text))
