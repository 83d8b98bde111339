"""One value, however a number is written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.numbers import every_number, numbers
from tests.unit.language.hostile import TEXTS

_LISTED = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
"""
_ONES, _TENS = _LISTED.split()[:20], _LISTED.split()[20:]


def in_words(number: int, also: str = " and ") -> str:
    """English for 1 to 999,999,999."""
    for worth, name in ((1_000_000, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= worth:
            over, rest = divmod(number, worth)
            link = also if rest < 100 else " "
            return f"{in_words(over, also)} {name}" + (link + in_words(rest, also) if rest else "")
    if number < 20:
        return _ONES[number]
    return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")


def values(text: str) -> list[float]:
    return [number.value for number in numbers(text)]


@given(st.integers(1, 999_999_999), st.sampled_from([" and ", " "]))
def test_a_number_in_words_is_that_number(number: int, also: str) -> None:
    text = in_words(number, also)
    assert values(f"There are {text} of them.") == [number]
    assert values(text.upper()) == [number]


@given(st.integers(0, 10**12), st.integers(0, 99))
def test_separators_of_any_country_make_one_number(whole: int, cents: int) -> None:
    value = pytest.approx(whole + cents / 100)
    english = f"{whole:,}.{cents:02}"
    assert values(f"It is {english}.") == [value]
    assert values(english.translate({44: ".", 46: ","}) + " in all") == [value]
    assert values(english.replace(",", " ") + "; so") == [value]
    assert values(english.replace(",", "\u202f")) == [value]
    assert values(english.replace(",", "'")) == [value]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[
            ("2.5 million", [2.5e6]),
            ("3bn", [3e9]),
            ("two and a half million", [2.5e6]),
            ("half a million", [5e5]),
        ],
        *[
            ("½", [0.5]),
            ("2½ cups", [2.5]),
            ("2 1/2", [2.5]),
            ("3/4", [0.75]),
            ("two thirds", [pytest.approx(2 / 3)]),
        ],
        *[
            ("a dozen eggs", [12]),
            ("three dozen", [36]),
            ("a hundred and five", [105]),
            ("a thousand and one", [1001]),
        ],
        *[("nineteen eighty-four", [1984]), ("twenty twenty-four", [2024]), ("twenty-five hundred", [2500])],
        *[
            ("between one thousand and two thousand", [1000, 2000]),
            ("one thousand and twenty-two thousand", [1000, 22000]),
        ],
        *[("three and four", [3, 4]), ("one hundred and two hundred", [100, 200]), ("10-20", [10, 20])],
        *[
            ("-5.5 or (-3)", [-5.5, -3]),
            ("0,5 and 12,50", [0.5, 12.5]),
            ("1.234", [1.234]),
            ("mid-19 and pre-20", [19, 20]),
        ],
    ],
)
def test_numbers_are_read_as_they_are_said(text: str, expected: list[float]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "A380",
            "gate 12B",
            "a B-52",
            "no one",
            "this one",
            "every second counts",
            "the first half",
            "24/7",
        ),
        *("9:30", "1,2,3", "1.2.3", "192.168.0.1", "25/12/2020", "1" * 40, "hundred", "million", "someone"),
    ],
)
def test_codes_times_lists_and_pronouns_are_no_numbers(text: str) -> None:
    assert [number for number in numbers(text) if not number.ordinal] == []


@given(st.integers(1, 99))
def test_ordinals_in_digits_and_words_are_the_same(number: int) -> None:
    ending = "th" if 4 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    word = in_words(number)
    for cardinal, ordinal in [("one", "first"), ("two", "second"), ("three", "third"), ("five", "fifth")]:
        word = word[: -len(cardinal)] + ordinal if word.endswith(cardinal) else word
    if word == in_words(number):
        word = {"eight": "eighth", "nine": "ninth", "twelve": "twelfth"}.get(word.rpartition("-")[2], "")
        tens = in_words(number).rpartition("-")
        last = tens[2]
        word = tens[0] + tens[1] + (word or (last[:-1] + "ieth" if last.endswith("y") else last + "th"))
    found = [*numbers(f"{number}{ending}"), *numbers(f"its {word} year")]
    assert [(each.value, each.ordinal) for each in found] == [(number, True), (number, True)]


def test_a_second_is_a_unit_after_a_number_and_an_ordinal_otherwise() -> None:
    assert values("one second") == [1]
    assert values("the second and twenty-second") == [2, 22]


def test_units_at_once_after_a_number_hide_it_only_from_those_who_want_bare_numbers() -> None:
    assert values("500g") == []
    assert [number.value for number in every_number("500g")] == [500]


@given(st.text(alphabet=st.sampled_from("0123456789.,' /-½onetwhudrandmilf\u202f")))
def test_numbers_are_verbatim_finite_and_do_not_overlap(text: str) -> None:
    found = every_number(text)
    assert all(number.text == text[number.start : number.end] != "" for number in found)
    assert all(abs(number.value) < 1e40 and number.step > 0 for number in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize("text", TEXTS)
def test_long_hostile_texts_are_read(text: str) -> None:
    assert all(abs(number.value) < 1e40 for number in numbers(text))
