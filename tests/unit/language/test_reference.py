"""What questions point at, name and describe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.questions import read_question
from language.reference import description, named, own_subject, pointer, points_back, with_subject

WORDS = st.lists(
    st.sampled_from(
        [
            "when",
            "was",
            "the",
            "author",
            "of",
            "this",
            "that",
            "which",
            "book",
            "museum",
            "where",
            "it",
            "hangs",
            "I'm",
            "in",
            "photo",
            "Rome",
            "is",
            "?",
        ]
    ),
    max_size=40,
).map(" ".join)


@pytest.mark.parametrize(
    ("question", "phrase", "nouns"),
    [
        ("Who wrote this book?", "this book", "book"),
        ("who wrote this red book?", "this red book", "red book"),
        ("How old is it?", "it", ""),
        ("When does this museum open on Sundays?", "this museum", "museum"),
        ("when was this built?", "this", ""),
        ("how many pages does this book have?", "this book", "book"),
        ("what's this place called?", "this place", "place"),
        ("How tall is the tower I am looking at?", "the tower I am looking at", "tower"),
        ("who painted the picture in the photo?", "the picture in the photo", "picture"),
        ("what is my radio made of?", "my radio", "radio"),
        ("what is forbidden here?", "here", ""),
        ("and when was she born?", "she", ""),
        ("how many people live there?", "there", ""),
    ],
)
def test_a_phrase_that_points_is_found_with_its_nouns(question: str, phrase: str, nouns: str) -> None:
    shown = pointer(question)
    assert shown is not None
    assert (shown.text, shown.nouns, question[shown.start : shown.end]) == (phrase, nouns, phrase)


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote Dracula?",
        "how many pages?",
        "who won the cup this year?",
        "how many floors are there?",
        "What company that makes radios is the oldest?",
    ],
)
def test_other_uses_of_such_words_point_at_nothing(question: str) -> None:
    assert pointer(question) is None


def test_names_are_what_is_called_by_name_or_stands_in_quotation_marks() -> None:
    assert named("How tall is the Eiffel Tower?") == ("Eiffel Tower",)
    assert named('who wrote "the salt road"?') == ("the salt road",)
    assert named("who wrote this?") == ()


@pytest.mark.parametrize(
    ("question", "phrase", "without"),
    [
        ("when was the author of this book born?", "the author of this book", "when was X born?"),
        ("when was the author of this born?", "the author of this", "when was X born?"),
        ("when was its author born?", "its author", "when was X born?"),
        ("where does this book's author live?", "this book's author", "where does X live?"),
        ("when was the author born?", "the author", "when was X born?"),
        (
            "where is the company that makes this radio based?",
            "the company that makes this radio",
            "where is X based?",
        ),
        (
            "how old is the museum where this painting hangs?",
            "the museum where this painting hangs",
            "how old is X?",
        ),
        ("when was the museum where this hangs built?", "the museum where this hangs", "when was X built?"),
        (
            "what is the population of the city where this was made?",
            "the city where this was made",
            "what is the population of X?",
        ),
        ("When was the author of Dracula born?", "the author of Dracula", "When was X born?"),
        (
            "in which town is the company that makes this?",
            "the company that makes this",
            "in which town is X?",
        ),
        (
            "where was the founder of the company that makes this born?",
            "the company that makes this",
            "where was the founder of X born?",
        ),
    ],
)
def test_a_description_that_leads_on_is_found(question: str, phrase: str, without: str) -> None:
    found = description(question)
    assert found is not None
    assert (found.phrase.text, found.placed) == (phrase, False)
    assert found.replaced(question, "X") == without


@pytest.mark.parametrize(
    "question",
    [
        "who is the author of this book?",
        "what is the name of the author of this book?",
        "what is the height of this tower?",
        "Who wrote this?",
        "When did the Mongol Empire fall?",
        "Where does the gold in the parliamentary mace come from?",
    ],
)
def test_what_is_asked_itself_leads_nowhere(question: str) -> None:
    assert description(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "when was the park beside it opened?",
        "how tall is the statue next to this building?",
        "who owns the bar behind this?",
    ],
)
def test_what_stands_beside_the_thing_is_another_thing(question: str) -> None:
    found = description(question)
    assert found is not None
    assert found.placed


def test_a_description_asks_for_what_it_stands_for() -> None:
    by_clause = description("where is the company that makes this based?")
    by_kind = description("when was its author born?")
    assert by_clause is not None
    assert by_kind is not None
    assert by_clause.asks == ("which company makes this?",)
    assert by_kind.asks == ("who is its author?", "what is its author?")


def test_a_subject_of_its_own_is_told_from_a_property_of_the_thing() -> None:
    assert own_subject("Where does the gold in the parliamentary mace come from?") >= {"gold", "mace"}
    assert own_subject("What is the parliamentary mace made of?")
    for question in (
        "what is the opening date?",
        "who was the architect?",
        "how old is this church?",
        "how tall?",
    ):
        assert not own_subject(question)


def test_the_name_takes_the_pointer_s_place() -> None:
    assert with_subject("who wrote this book?", "Dracula") == "who wrote Dracula?"
    assert with_subject("who is its author?", "Dracula") == "who is Dracula's author?"
    assert with_subject("who married her?", "Ada") == "who married Ada?"
    assert with_subject("how many pages?", "Dracula") == "Dracula how many pages?"


def test_she_and_there_point_back() -> None:
    assert points_back("when was she born?")
    assert points_back("how many people live there?")
    assert not points_back("are there any towers?")
    assert not points_back("how old is it?")


@given(WORDS)
def test_whatever_is_asked_phrases_stand_where_they_say(question: str) -> None:
    shown, found = pointer(question), description(question)
    assert shown is None or question[shown.start : shown.end] == shown.text
    assert found is None or found.replaced(question, found.phrase.text) == question
    assert isinstance(own_subject(question), frozenset)


@pytest.mark.parametrize(
    ("said", "itself"),
    [
        ("one more thing: who runs the Kasimir Mill?", "who runs the Kasimir Mill?"),
        ("Nice. In which town does she live?", "In which town does she live?"),
        ("sorry, is it open today?", "is it open today?"),
        ("After the war, who ruled Prussia?", "After the war, who ruled Prussia?"),
        ("In 1066, which battle was fought?", "In 1066, which battle was fought?"),
        ("I am lost, where is the station?", "I am lost, where is the station?"),
        ("The old Mill, who runs it?", "The old Mill, who runs it?"),
    ],
)
def test_what_only_leads_up_to_a_question_is_no_part_of_it(said: str, itself: str) -> None:
    question = read_question(said)
    assert question.itself == itself
    assert question.wanted is read_question(itself).wanted
    assert question.terms[0].start >= len(said) - len(itself)
