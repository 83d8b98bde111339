"""Numbers, units and dates as people write them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.verifier.engines.dates import agrees, dates_of
from services.verifier.engines.quantities import Quantity, quantities_of, same_quantity


def only(text: str) -> Quantity:
    dates = [(date.start, date.end) for date in dates_of(text)]
    (quantity,) = quantities_of(text, dates)
    return quantity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 cm", "120 mm"),
        ("12 cm", "0.12 m"),
        ("1 kg", "1,000 g"),
        ("2.2 lb", "1 kg"),
        ("330 ml", "33 cl"),
        ("0.33 l", "330 ml"),
        ("1.200 g", "1,2 kg"),
        ("48,200", "48 200"),
        ("1.5 million", "1,500,000"),
        ("€5.80", "5,80 €"),
        ("5.80 euros", "EUR 5.80"),
        ("12 %", "12 percent"),
        ("twelve", "12"),
        ("two hundred and fifty", "250"),
        ("a dozen", "12"),
        ("half a dozen", "6"),
        ("three kilograms", "3000 g"),
        ("1 pm", "13:00"),
        ("7.30 am", "07:30"),
        ("noon", "12:00"),
        ("90 minutes", "1.5 hours"),
        ("187 kcal", "782 kJ"),
        ("173 °F", "78.4 °C"),
        ("100 km/h", "62 mph"),
        ("5 pounds", "£5"),
        ("5 pounds", "5 lb"),
    ],
)
def test_two_spellings_of_one_amount_agree(one: str, other: str) -> None:
    assert same_quantity(only(one), only(other))
    assert same_quantity(only(other), only(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 cm", "12 mm"),
        ("249 €", "249 $"),
        ("249 €", "250 €"),
        ("560 g", "560 kg"),
        ("32 hours", "32 minutes"),
        ("12 %", "12 g"),
        ("1 pm", "1 am"),
        ("9.1 g", "91 g"),
        ("312 pages", "312 seats"),
        ("3rd", "3 kg"),
        ("78.4 °C", "78.4 °F"),
    ],
)
def test_different_amounts_do_not_agree(one: str, other: str) -> None:
    assert not same_quantity(only(one), only(other))


def test_both_ends_of_a_range_have_its_unit() -> None:
    low, high = quantities_of("between 24 and 30 kg")
    assert same_quantity(low, only("24 kg"))
    assert same_quantity(high, only("30 kg"))


@pytest.mark.parametrize("text", ["the WH-560", "Vexo P300", "one of them", "a book", "K7"])
def test_model_numbers_and_pronouns_are_no_amounts(text: str) -> None:
    assert quantities_of(text) == []


@given(st.integers(0, 10**9))
def test_thousand_separators_change_nothing(number: int) -> None:
    assert same_quantity(only(f"{number:,} grams"), only(f"{number} g"))


@given(st.text(max_size=200))
def test_places_are_inside_the_text_and_do_not_overlap(text: str) -> None:
    dates = dates_of(text)
    found = sorted(
        [(d.start, d.end) for d in dates]
        + [(q.start, q.end) for q in quantities_of(text, [(d.start, d.end) for d in dates])]
    )
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(left[1] <= right[0] for left, right in pairwise(found))


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("1911", "12 June 1911"),
        ("June 1911", "12 June 1911"),
        ("12 June 1911", "June 12th, 1911"),
        ("12 June 1911", "1911-06-12"),
        ("12.06.1911", "12 June 1911"),
        ("12/6/1911", "June 12, 1911"),
        ("6/12/1911", "12 June 1911"),
        ("the 12th of June", "12 June 1911"),
        ("the 1980s", "1984"),
        ("on Sundays", "Sunday"),
    ],
)
def test_a_date_agrees_with_a_more_precise_one(answer: str, evidence: str) -> None:
    assert agrees(dates_of(answer)[0], dates_of(evidence)[0])


@pytest.mark.parametrize(
    ("answer", "evidence"),
    [
        ("12 June 1911", "1911"),
        ("12 June 1911", "12 July 1911"),
        ("12 June 1911", "13 June 1911"),
        ("1911", "1912"),
        ("1984", "the 1980s"),
        ("the 1990s", "1984"),
        ("Sunday", "Monday"),
    ],
)
def test_a_date_does_not_agree_with_another_or_a_vaguer_one(answer: str, evidence: str) -> None:
    assert not agrees(dates_of(answer)[0], dates_of(evidence)[0])


def test_a_year_before_a_lower_case_word_is_a_year_and_before_a_unit_is_not() -> None:
    assert [date.year for date in dates_of("In 1998 a novel came out")] == [1998]
    assert dates_of("It weighs 1500 g.") == []
