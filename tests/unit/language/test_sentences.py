"""Sentences end where a reader says they do, and are cut from the text unchanged."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.sentences import sentences
from tests.unit.language.hostile import TEXTS

PARAGRAPHS = [
    ["Dr. Anna Berg met Mr. Lee in St. Petersburg.", "They talked about J. R. R. Tolkien."],
    ["The U.S. Army left in 1945.", "The U.K. followed."],
    ["He works in the U.S.", "He likes it."],
    ["It opened at 9 a.m. on Monday.", "It closed at 5 p.m.", "The staff went home."],
    ["The price is $3.50.", "Nobody paid it."],
    ["See fig. 3 for details.", "The second part (cf. sec. 4) is shorter."],
    ['"Is it true?" he asked.', "She nodded."],
    ['He said: "It is over."', "Then he left."],
    ["“We won!”", "That was all he said."],
    ["What is that?!", "Nobody knows..."],
    ["It weighs approx. 5 kg.", "It was made by Smith & Co. in 1901."],
    ["He joined Apple Inc.", "The firm grew."],
    ["The museum has paintings, prints, etc.", "It is free."],
    ["Paintings, prints, etc. are shown.", "Entry is free."],
    ["Version 2.0 was released.", "It runs on Python 3.11."],
    ["It was No. 5 in the charts.", "No. 1 was ABBA."],
    ["The river is long.[12]", "It flows north.[3][4]", "It is deep."],
    ["In 1894 it burned down.", "1895 saw a new one."],
    ["iPhone sales grew.", "eBay fell."],
    ["Élodie arrived.", "À Paris, she slept."],
    ["He died on Sept. 11, 1703.", "Nobody noticed."],
    ["She holds a Ph.D. in physics.", "Her B.A. is in art."],
    ["Gen. Lee met Capt. Cook Jr. at Ft. Worth.", "They spoke."],
    ["It was closed in 1990.", "(It reopened later.)", "Now it thrives."],
    ["The temperature fell to -5.5 °C.", "It snowed."],
    ["I am.", "You are.", "So am I.", "He knows."],
]


@pytest.mark.parametrize("expected", PARAGRAPHS)
def test_a_paragraph_is_split_where_its_sentences_end(expected: list[str]) -> None:
    assert [sentence.text for sentence in sentences(" ".join(expected))] == expected


def test_a_line_break_always_ends_a_sentence() -> None:
    assert [sentence.text for sentence in sentences("NO LITTER\nopen\r\n\n Dr.\nLee")] == [
        *("NO LITTER", "open"),
        *("Dr.", "Lee"),
    ]


def test_writing_without_spaces_is_split_too() -> None:
    assert [sentence.text for sentence in sentences("塔は高い。1958年に開業した。")] == [
        "塔は高い。",
        "1958年に開業した。",
    ]


@given(st.text(alphabet=st.sampled_from("aA .!?\n\"'()[]1é…Dr")))
def test_sentences_are_verbatim_in_order_and_hold_all_that_is_visible(text: str) -> None:
    found = sentences(text)
    assert all(each.text == text[each.start : each.end] == each.text.strip() != "" for each in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert "".join("".join(each.text.split()) for each in found) == "".join(text.split())


@pytest.mark.parametrize("text", TEXTS)
def test_long_hostile_texts_are_split(text: str) -> None:
    assert sum(len(each.text) for each in sentences(text)) <= len(text)
