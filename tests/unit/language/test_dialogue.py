"""Double questions, follow-ups that leave words out, and questions for a name or for what is written."""

import pytest

from language.dialogue import asked_part, asks_name, asks_print, completed, halves, kind_asked, opened


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("who wrote it and when did it come out?", ("who wrote it?", "when did it come out?")),
        (
            "Which company makes this? And where is it based?",
            ("Which company makes this?", "where is it based?"),
        ),
        ("when and where was she born?", ("when was she born?", "where was she born?")),
        ("who wrote it, and is it long?", ("who wrote it?", "is it long?")),
    ],
)
def test_a_double_question_has_two_halves(question: str, parts: tuple[str, ...]) -> None:
    assert halves(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "who wrote this?",
        "who were Romeo and Juliet?",
        "what is red and white?",
        "is this bread and butter?",
        "And who?",
    ],
)
def test_other_uses_of_and_do_not_cut(question: str) -> None:
    assert halves(question) == (question,)


@pytest.mark.parametrize(
    ("follow_up", "before", "whole"),
    [
        ("and the Shard?", "How tall is the Eiffel Tower?", "How tall is the Shard?"),
        ("what about the Shard?", "how tall is this?", "how tall is the Shard?"),
        ("what about this one?", "who wrote this?", "who wrote this?"),
        ("and that red one over there?", "who wrote this?", "who wrote this?"),
        ("and show me the price on it", "who wrote this?", "show me the price on it"),
        ("and in Germany?", "what does this cost?", "what does this cost in Germany?"),
        ("and when was it built?", "how tall is it?", "and when was it built?"),
        ("how tall is it?", "when was it built?", "how tall is it?"),
    ],
)
def test_what_a_follow_up_leaves_out_is_taken_from_the_question_before(
    follow_up: str, before: str, whole: str
) -> None:
    assert completed(follow_up, before) == whole


@pytest.mark.parametrize(
    "question",
    ["what is this?", "what building is this?", "what's this place called?", "what is the name of this?"],
)
def test_a_question_for_a_name_asks_nothing_else(question: str) -> None:
    assert asks_name(question)
    assert not asks_print(question)


@pytest.mark.parametrize(
    "question", ["what does this sign say?", "what is written here?", "what does it say here?"]
)
def test_a_question_for_the_text_asks_nothing_else(question: str) -> None:
    assert asks_print(question)
    assert not asks_name(question)


@pytest.mark.parametrize(
    "question", ["who wrote this?", "where is this?", "what does this cost?", "what is a fjord?"]
)
def test_other_questions_ask_for_more(question: str) -> None:
    assert not asks_name(question)
    assert not asks_print(question)


def test_the_part_that_asks_is_said_again() -> None:
    assert asked_part("How many pages does it have?") == "how many pages"
    assert asked_part("when was it built?") == "when"
    assert asked_part("is it old?") == ""


@pytest.mark.parametrize(
    ("closed", "asked"),
    [
        ("Was it built in 1388?", "when was it built?"),
        ("Did Picasso paint this in 1937?", "when did Picasso paint this?"),
        ("Does this book have 304 pages?", "how many pages does this book have?"),
        ("Is it 500 m long?", "how long is it?"),
        ("Does it cost 5 euros?", "how much does it cost?"),
        ("Is this by Monet?", "who is this by?"),
        ("Is this in Romania?", "where is this?"),
        ("Was the Shard designed by Renzo Piano?", "who was the Shard designed by?"),
    ],
)
def test_a_question_for_yes_or_no_can_be_asked_openly(closed: str, asked: str) -> None:
    assert opened(closed) == asked


@pytest.mark.parametrize(
    "question",
    [
        "Was this painted before 1900?",
        "Is it over 500 m long?",
        "Is it made of wood?",
        "Who wrote it?",
        "Was the Shard built of glass?",
        "Does the Ministry of Transport own this?",
    ],
)
def test_a_limit_or_no_value_at_all_leaves_nothing_to_ask_openly(question: str) -> None:
    assert opened(question) is None


def test_the_kind_of_thing_whose_name_is_asked() -> None:
    assert kind_asked("what building is this?") == {"build"}
    assert kind_asked("what is this?") == kind_asked("what is the name of this?") == frozenset()
