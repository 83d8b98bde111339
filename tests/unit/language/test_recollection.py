"""Which questions ask what was seen before, of which time, and about what."""

from datetime import UTC, datetime

import pytest

from language.recollection import past_question

NOW = datetime(2026, 11, 27, 15, 30, tzinfo=UTC)
"""A Friday."""


@pytest.mark.parametrize(
    ("question", "stems"),
    [
        ("Where did I see the Eiffel Tower?", {"eiffel", "tower"}),
        ("Hey, when did we last pass The Salt Road?", {"salt", "road"}),
        ("Tell me where I saw a bicycle", {"bicycl"}),
        ("Have I seen this before?", set()),
        ("What was that sign this morning?", set()),
        ("What was the menu I’ve looked at about?", set()),
        ("Do you remember the poster with the soup?", {"soup"}),
        ("What was the last thing I saw?", set()),
    ],
)
def test_a_question_about_the_past_is_recognised(question: str, stems: set[str]) -> None:
    past = past_question(question, NOW, shows_photo=False)
    assert past is not None
    assert past.stems == stems


@pytest.mark.parametrize(
    "question",
    [
        "What is this?",
        "I see a bird, what is it?",
        "What was that?",
        "What was the weather yesterday?",
        "Who wrote the book I saw this morning?",
        "How many times did I see it?",
        "When was the tower that I saw built?",
        "Who painted it, and when was that?",
        "did " * 500,
        "what was " + "that " * 400,
    ],
)
def test_other_questions_are_not_about_the_past(question: str) -> None:
    assert past_question(question, NOW, shows_photo=False) is None


def test_this_and_it_mean_the_new_photo() -> None:
    for question in ("Where did I see this before?", "Have I seen it before?"):
        assert past_question(question, NOW, shows_photo=True) is None
    assert past_question("What was that sign this morning?", NOW, shows_photo=True)


@pytest.mark.parametrize(
    ("time", "since", "until"),
    [
        ("this morning", "2026-11-27 00:00", "2026-11-27 12:00"),
        ("earlier today", "2026-11-27 00:00", "2026-11-28 00:00"),
        ("yesterday", "2026-11-26 00:00", "2026-11-27 00:00"),
        ("yesterday afternoon", "2026-11-26 12:00", "2026-11-26 18:00"),
        ("last night", "2026-11-26 18:00", "2026-11-27 06:00"),
        ("on Tuesday evening", "2026-11-24 17:00", "2026-11-25 00:00"),
        ("on Friday", "2026-11-20 00:00", "2026-11-21 00:00"),
        ("this week", "2026-11-23 00:00", "2026-11-30 00:00"),
        ("last week", "2026-11-16 00:00", "2026-11-23 00:00"),
        ("two hours ago", "2026-11-27 12:30", "2026-11-27 14:30"),
        ("20 minutes ago", "2026-11-27 15:00", "2026-11-27 15:20"),
        ("a few days ago", "2026-11-24 00:00", "2026-11-25 00:00"),
        ("999 weeks ago", "2007-10-05 00:00", "2007-10-12 00:00"),
    ],
)
def test_relative_times_are_parsed(time: str, since: str, until: str) -> None:
    past = past_question(f"What did I see {time}?", NOW, shows_photo=False)
    assert past is not None
    assert (f"{past.since:%Y-%m-%d %H:%M}", f"{past.until:%Y-%m-%d %H:%M}") == (since, until)
    assert past.stems == frozenset()


def test_vague_times_set_no_limit() -> None:
    for time in ("before", "recently", "just now", ""):
        past = past_question(f"What did I see {time}?", NOW, shows_photo=False)
        assert past is not None
        assert (past.since, past.until) == (None, None)
