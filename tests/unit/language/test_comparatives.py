"""Which two things a question compares, by what, and which of them is meant."""

import pytest

from language.comparatives import comparison


@pytest.mark.parametrize(
    ("question", "sides", "asks", "larger", "chooses"),
    [
        ("is this longer than Tower Bridge?", ("this", "Tower Bridge"), "how long is {}?", True, False),
        ("Is the Shard taller than Big Ben?", ("the Shard", "Big Ben"), "how tall is {}?", True, False),
        (
            "which is longer: the Nile or the Amazon?",
            ("the Nile", "the Amazon"),
            "how long is {}?",
            True,
            True,
        ),
        ("Which of Malta and Gozo is larger?", ("Malta", "Gozo"), "how large is {}?", True, True),
        ("is it heavier than 3 kg?", ("it", "3 kg"), "how heavy is {}?", True, False),
        ("is this shorter than that?", ("this", "that"), "how short is {}?", False, False),
        (
            "which is cheaper, this or the Nord 3?",
            ("this", "the Nord 3"),
            "how much does {} cost?",
            False,
            True,
        ),
        ("does this have more sugar than Cola?", ("this", "Cola"), "how much sugar is in {}?", True, False),
        ("is A less expensive than B?", ("A", "B"), "how much does {} cost?", False, False),
        (
            "does this have more pages than Dracula?",
            ("this", "Dracula"),
            "how many pages does {} have?",
            True,
            False,
        ),
        ("Which team won fewer games, A or B?", ("A", "B"), "how many games does {} have?", False, True),
    ],
)
def test_two_things_are_compared_by_a_measure(
    question: str, sides: tuple[str, str], asks: str, larger: bool, chooses: bool
) -> None:
    found = comparison(question)
    assert found is not None
    assert (found.sides, found.asks[0], found.larger, found.chooses) == (sides, asks, larger, chooses)
    assert not found.by_age


@pytest.mark.parametrize(
    ("question", "asks", "larger"),
    [
        ("is this lamp cheaper at Ikea or at Habitat?", "how much does this lamp cost at {}?", False),
        ("where is this lamp more expensive, Ikea or Habitat?", "how much does this lamp cost at {}?", True),
        ("where do I pay less for this lamp, Ikea or Habitat?", "how much does this lamp cost at {}?", False),
        ("does it cost more at Ikea or at Habitat?", "how much does it cost at {}?", True),
        ("where is the tea hotter, at Ikea or at Habitat?", "how hot is the tea at {}?", True),
    ],
)
def test_one_thing_is_compared_in_two_places(question: str, asks: str, larger: bool) -> None:
    found = comparison(question)
    assert found is not None
    assert (found.sides, found.asks, found.larger) == (("Ikea", "Habitat"), (asks,), larger)
    assert found.placed
    assert found.chooses


@pytest.mark.parametrize(
    ("question", "sides", "asks", "larger"),
    [
        (
            "does the Nile or the Amazon flow longer at night?",
            ("the Nile", "the Amazon"),
            "how long does {} flow at night?",
            True,
        ),
        ("was Big Ben or the Shard built later?", ("Big Ben", "the Shard"), "when was {} built?", False),
        (
            "is there more salt in this soup or in bread?",
            ("this soup", "bread"),
            "how much salt is in {}?",
            True,
        ),
        ("are there fewer pages in this or in Emma?", ("this", "Emma"), "how many pages are in {}?", False),
        (
            "does the soup or the salad cost more here?",
            ("the soup", "the salad"),
            "how much does {} cost?",
            True,
        ),
    ],
)
def test_two_things_are_compared_by_what_they_do_or_hold(
    question: str, sides: tuple[str, str], asks: str, larger: bool
) -> None:
    found = comparison(question)
    assert found is not None
    assert (found.sides, found.asks[0], found.larger, found.chooses) == (sides, asks, larger, True)


def test_age_may_be_told_by_dates() -> None:
    older, newer = comparison("which is older, A or B?"), comparison("is A newer than B?")
    assert older is not None
    assert newer is not None
    assert (older.by_age, older.larger, older.later) == (True, True, False)
    assert (newer.by_age, newer.larger, newer.later) == (True, False, True)
    assert "when was {} built?" in older.asks


@pytest.mark.parametrize(
    "question",
    [
        "how much longer is A than B?",
        "who is taller than Bob?",
        "Who is the older brother of Napoleon?",
        "what is the water temperature or depth?",
        "is this water or beer?",
        "how many more seats are there?",
        "what is the number of pages or chapters?",
        "",
    ],
)
def test_what_compares_no_two_things_is_no_comparison(question: str) -> None:
    assert comparison(question) is None


def test_a_name_that_ends_like_a_comparative_compares_nothing() -> None:
    found = comparison("was this house or The Brewer's Arms built later?")
    assert found is not None
    assert (found.sides, found.asks) == (("this house", "The Brewer's Arms"), ("when was {} built?",))
