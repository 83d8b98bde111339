"""Dates in the spellings of prose, signs and records."""

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.dates import agrees, dates
from tests.unit.language.hostile import TEXTS

MONTHS = [date(2000, month, 1).strftime("%B") for month in range(1, 13)]


def said(text: str) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return [(each.year, each.month, each.day, each.until) for each in dates(text)]


@given(st.dates(date(1000, 1, 1), date(2099, 12, 31)), st.integers(0, 9))
def test_a_day_is_read_again_from_any_spelling(day: date, spelling: int) -> None:
    month = MONTHS[day.month - 1]
    ending = "th" if 4 <= day.day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    spellings = [
        *(
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{day.year}-{day.month:02}-{day.day:02}",
        ),
        *(f"{day.day}{ending} of {month}, {day.year}", f"{day.day} {month[:3]} {day.year}"),
        *(f"{month[:3]}. {day.day}{ending}, {day.year}", f"{day.day} {month.upper()} {day.year}"),
        *(f"{day.day}.{day.month}.{day.year}", f"{day.year}/{day.month:02}/{day.day:02}"),
        f"{day.day:02} {month} {day.year}",
    ]
    assert said(f"It was on {spellings[spelling]}, they say.") == [(day.year, day.month, day.day, None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[
            ("June 1894", [(1894, 6, None, None)]),
            ("in 1894", [(1894, None, None, None)]),
            ("5 March", [(None, 3, 5, None)]),
        ],
        *[
            ("the 1890s", [(1890, None, None, 1899)]),
            ("the '90s", [(1990, None, None, 1999)]),
            ("in May", [(None, 5, None, None)]),
        ],
        *[
            ("19th century", [(1801, None, None, 1900)]),
            ("the mid-nineteenth century", [(1801, None, None, 1900)]),
        ],
        *[
            ("44 BC", [(-44, None, None, None)]),
            ("AD 120", [(120, None, None, None)]),
            ("5th century BC", [(-500, None, None, -401)]),
        ],
        *[("(1894–1902)", [(1894, None, None, None), (1902, None, None, None)])],
        *[("1894-96", [(1894, None, None, None), (1896, None, None, None)])],
        *[("from 1894 to 1902", [(1894, None, None, None), (1902, None, None, None)])],
        *[
            ("25/12/2020", [(2020, 12, 25, None)]),
            ("12/25/2020", [(2020, 12, 25, None)]),
            ("05/06/2020", [(2020, None, None, None)]),
        ],
        *[
            ("3-5 June 1894", [(1894, 6, 5, None)]),
            ("12 June 480 BC", [(-480, 6, 12, None)]),
            ("the 1894 elections", [(1894, None, None, None)]),
        ],
    ],
)
def test_parts_ranges_and_ages_of_dates_are_read(text: str, expected: list[tuple[int | None, ...]]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1894 pages",
        "1500 m",
        "€1894",
        "room 1894B",
        "May I?",
        "9/11",
        "10:30",
        "1.894",
        "2000%",
        "31/31/2020",
    ],
)
def test_counts_amounts_and_codes_are_no_dates(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("a", "b", "agree"),
    [
        *[("30 June 1894", "1894", True), ("30 June 1894", "June 1894", True), ("1894", "the 1890s", True)],
        *[("1894", "1895", False), ("30 June 1894", "29 June 1894", False), ("1850", "19th century", True)],
        *[
            ("the 1890s", "18th century", False),
            ("30 June", "30 June 1894", True),
            ("5 June", "in 1894", False),
        ],
    ],
)
def test_dates_agree_as_far_as_both_say(a: str, b: str, agree: bool) -> None:
    first, second = dates(a)[0], dates(b)[0]
    assert agrees(first, second) is agrees(second, first) is agree


@given(st.text(alphabet=st.sampled_from("0123456789 .,/-–'JuneMay5thcenturyBCAD")))
def test_dates_are_verbatim_in_order_and_possible(text: str) -> None:
    found = dates(text)
    assert all(each.text == text[each.start : each.end] != "" for each in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all((each.month or 1) in range(1, 13) and (each.day or 1) in range(1, 32) for each in found)


@pytest.mark.parametrize("text", TEXTS)
def test_long_hostile_texts_are_read(text: str) -> None:
    assert all(agrees(each, each) for each in dates(text))
