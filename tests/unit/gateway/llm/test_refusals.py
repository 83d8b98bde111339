"""Words of a model's reply: refusals, and what is cleaned."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.llm import reading
from gateway.reasoning.pieces import without_markup
from gateway.reasoning.refusals import is_refusal

REFUSALS = [
    *("I don't know.", "I don’t know", "I don`t know", "i dont know", "I really don't know."),
    *("I honestly do not know the answer to that", "We don't know.", '"I don\'t know"'),
    *("'I don't know.'", "“I don’t know.”", "**I don't know**"),
    *("I'm sorry, but I don't know which church this is.", "No, I don't know.", "I think I don't know."),
    "The statue shows a rider, but I don't know who he is.",
    *("It is a Fiat 500. I do not know its price.", "It is a moka pot, and I cannot say who made it."),
    *("I\u200b don\u200b't know", "Ｉ ｄｏｎ'ｔ ｋｎｏｗ", "Cannot determine", "cannot be determined"),
    *("The year cannot be determined from the image.", "The model of the car can't be identified."),
    *("I can not say.", "I could not find the answer in the evidence.", "We cannot confirm this."),
    *("I'm not sure", "Im not sure", "I am not entirely sure, but it may be the Louvre."),
    *("I am not certain", "Unsure", "I'm unable to answer", "Unable to determine"),
    "I am unable to identify the plant in the photo.",
    *("As an AI language model, I am unable to see that.", "I was unable to find this.", "No idea"),
    *("I have absolutely no clue", "I dunno", "", "...", "N/A", "N / A", "n.a."),
    *("N/A (not shown in the photo)", "unknown", "Unknown from the image", "Answer: unknown", "unclear"),
    *("Not available", "Not enough information.", "There is not enough information to answer."),
    *("Insufficient evidence", "There is no information about its price."),
    *("The evidence does not mention the architect.", "The provided context doesn't say."),
    *("It is unclear who built it.", "It's unknown.", "It is impossible to say."),
    *("It is not possible to tell from the photo.", "The answer to this question is not known.", None),
]

ANSWERS = [
    *('"I Don\'t Know How to Love Him" is sung by Mary Magdalene.', "I Don't Know How to Love Him"),
    *("The song is I Don't Know How to Love Him.", "It is from “I don’t know” by Paul McCartney."),
    "Unknown Pleasures was released in 1979.",
    *("The painter of the icon is unknown, it is dated to about 1410.", "Can't Tell Me Nothing"),
    *("You can't tell them apart by their leaves, only by their fruit.", "No"),
    *("None of the dishes contains nuts.", "0", "NA is the country code of Namibia."),
    *("Nil desperandum means never despair.", "Uncertain, Texas, has 85 inhabitants."),
    *("Clueless was released in 1995.", 'The speech bubble says "I don\'t know".'),
    *("Scientists do not know exactly why cats purr.", "This mushroom cannot be eaten."),
    *("No Idea's Original is a song by Nas.", "√", "東京", "The evidence room opened in 1999."),
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_recognised_in_any_case(text: str | None) -> None:
    assert is_refusal(text)
    for spelled in (f"  {text}\n", text.upper(), text.lower()) if text else ():
        assert is_refusal(spelled)


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_with_refusal_words_are_kept(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "unit",
    ["'", "'a", "based on the ", "the image ", "i ", "no idea ", "“", "as an ai so so so ", "as an ai so, "],
)
def test_long_hostile_text_is_read_in_bounded_time(unit: str) -> None:
    assert is_refusal(unit * 100_000) in (True, False)


HOSTILE = st.text(alphabet="ab {}[]<>|entity\n\x00\u200b\"'`.-1)/:", max_size=400)
CLEANED: dict[str, tuple[Callable[..., Any], dict[str | None, str | None]]] = {
    "a query is one line with no placeholder but entity": (
        reading.search_phrase,
        {
            "price of {{entity}}": "price of {entity}",
            "price of [entity name]": "price of {entity}",
            "price of <the entity>": "price of {entity}",
            "price of {vehicle name} today": "price of vehicle name today",
            "- How old is it?": "How old is it?",
            '"How old is it?"': "How old is it?",
            "a\nb\tc\x00d": "a b c d",
            "drop {__import__('os')} it": "drop __import__('os') it",
            "3.5 mm jack of the {entity}": "3.5 mm jack of the {entity}",
        },
    ),
    "a label is a few plain words": (
        reading.label,
        {
            "Car": "car",
            "a very big red sports car": "a very big",
            "1. dog.": "dog",
            "dog (brown)": "dog",
            "<|eot_id|>": "eot id",
            **dict.fromkeys(("thing", "", "!!!", None)),
        },
    ),
    "only what was listed is chosen": (
        partial(reading.listed_label, listed=["bench", "dog"]),
        {"The Dog": "the dog", "Dog": "dog", "dogs": "dogs", **dict.fromkeys(("cat", None, ""))},
    ),
    "a general kind is not an entity's name": (
        partial(reading.entity_name, object_label="car"),
        {"Fiat 500": "Fiat 500", " “Middlemarch”. ": "Middlemarch", **dict.fromkeys(("Car", "...", None))},
    ),
    "an answer carries no links or markup": (
        without_markup,
        {
            "It is ![x](https://evil.example/?q=secret) here.": "It is x here.",
            "See [the site](http://a.example/b).": "See the site.",
            "Go to https://user:key@evil.example/path?q=1 now": "Go to evil.example now",
            "The site is www.museum.example.": "The site is www.museum.example.",
            "<b>Bold</b> **claim**": "Bold claim",
            "  two\n lines\x07 ": "two lines",
            "x < 5 and y > 2": "x < 5 and y > 2",
        },
    ),
}


@pytest.mark.parametrize(("clean", "cases"), CLEANED.values(), ids=CLEANED)
def test_model_text_is_cleaned(clean: Callable[..., Any], cases: dict[str | None, str | None]) -> None:
    assert {written: clean(written) for written in cases} == cases


@given(st.lists(HOSTILE, max_size=20))
def test_queries_are_few_short_different_and_clean(texts: list[str]) -> None:
    cleaned = reading.queries(["{entity}", "?", "  ", *texts], 4)
    assert "{entity}" not in cleaned
    assert len(cleaned) <= 4
    assert len(set(cleaned)) == len(cleaned)
    for query in cleaned:
        assert 0 < len(query) <= reading.QUERY_CHARS
        assert query.isprintable()
        assert not set(query.replace("{entity}", "")) & set("{}[]<>")


@given(st.lists(HOSTILE, max_size=20))
def test_labels_are_few_and_of_at_most_three_words(texts: list[str]) -> None:
    labels = reading.labels(texts, 6)
    assert len(labels) <= 6
    assert all(1 <= len(label.split()) <= 3 and label == label.casefold() for label in labels)
