"""The lite reasoner: which thing is meant, what is searched, and what is said without a reader's help."""

import pytest

from chassis.errors import DependencyUnavailable, Overloaded
from contracts.answer import Reason
from gateway.reasoning.lite.question import About, needs_photo, parse_question, search_queries
from gateway.state import Entity, PhotoText, Query, TextLine
from tests.unit.reasoning.lite.desk import (
    BASILICA,
    WordReader,
    answered,
    ask,
    drafted,
    page,
    selected,
    sign,
    thing,
    turn,
)

CHURCH = thing(BASILICA, 0.97, country="France", architect="Jean Morel")
NOVEL = thing("The Glass Harbour", 0.95, author="Ines Valdern", pages="288 pages")
CATHEDRAL = ("St Paul's Cathedral", "Christopher Wren")
WREN = turn("Who designed St Paul's Cathedral?", "Christopher Wren designed St Paul's Cathedral.")


@pytest.mark.parametrize(
    ("query", "about", "names"),
    [
        (ask("Who designed this church?"), About.VIEW, ()),
        (ask("Height?"), About.VIEW, ()),
        (ask("When was the Great Mosque of Kairouan built?"), About.NAMED, ("Great Mosque of Kairouan",)),
        (ask("How tall is Monte Rosa?", photo=False), About.NAMED, ("Monte Rosa",)),
        (
            ask("when was it built?", WREN, photo=False),
            About.SPOKEN,
            ("St Paul's Cathedral", "Christopher Wren"),
        ),
        (ask("What is a flying buttress?", photo=False), About.OTHER, ()),
        (ask("who designed it?", WREN, new=True), About.VIEW, ()),
        (ask("who put the book I'm holding into English?"), About.VIEW, ("English",)),
        (ask("who lived in the house in front of us in Rome?"), About.VIEW, ("Rome",)),
    ],
)
def test_a_question_is_about_the_view_a_name_or_the_last_turns(
    query: Query, about: About, names: tuple[str, ...]
) -> None:
    question = parse_question(query)
    assert (question.about, question.names) == (about, names)


def test_a_question_that_says_next_to_nothing_goes_on_from_the_one_before() -> None:
    assert parse_question(ask("And when?", WREN, photo=False)).text == f"{WREN.question} And when?"


@pytest.mark.parametrize(
    ("question", "compares"),
    [
        ("Is this church older than Notre-Dame?", True),
        ("Is there more sugar in this or in Rye Crackers?", True),
        ("Which is more recent, this painting or Monte Rosa?", True),
        ("Is this a river or a lake?", False),
        ("Who designed the newer wing?", False),
    ],
)
async def test_a_comparison_is_refused(question: str, compares: bool) -> None:
    result = page(f"{BASILICA} has a river, a lake and a newer wing, and more.")
    reply = await answered(ask(question), result, entity=CHURCH)
    assert parse_question(ask(question)).compares is compares
    assert not compares or (reply.answer, reply.reason) == (None, Reason.MODEL_UNSURE)


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        (ask("What is this?", photo=False), True),
        (ask("What is this?"), False),
        (ask("And this?", WREN, photo=False), False),
        (ask("Who wrote this Harbour Song?", photo=False), False),
        (ask("How tall is it?", photo=False), False),
    ],
)
def test_only_who_points_without_a_photo_is_asked_for_one(query: Query, needed: bool) -> None:
    assert needs_photo(query) is needed


@pytest.mark.parametrize(
    ("query", "printed", "searches"),
    [
        (ask("Who wrote it?"), None, ("{entity} Who wrote it?", "{entity}")),
        (ask("Price?"), "Olive Barge", ("{entity} Price?", "Olive Barge Price?", "Olive Barge", "{entity}")),
        (ask("How tall is Monte Rosa?", photo=False), None, ("How tall is Monte Rosa?",)),
    ],
)
def test_what_is_searched_has_the_thing_s_name(
    query: Query, printed: str | None, searches: tuple[str, ...]
) -> None:
    assert search_queries(parse_question(query), printed) == searches


async def test_the_thing_in_view_is_meant_unless_another_one_is_named() -> None:
    assert await selected(ask("Who designed this?"), CHURCH) == CHURCH
    assert await selected(ask("How tall is Monte Rosa?"), CHURCH) == Entity("Monte Rosa", 1.0)
    assert await selected(ask("Who designed the Basilica of Saint Odile?"), CHURCH) == CHURCH


async def test_a_candidate_that_large_print_contradicts_is_not_meant() -> None:
    doubtful = thing("The Iron Garden", 0.6)
    result = await selected(ask("Who wrote this?"), doubtful, printed=sign("THE GLASS HARBOUR"))
    assert result is not None
    assert result.name == "The Glass Harbour"


@pytest.mark.parametrize(
    "question",
    [
        "What is this?",
        "What church is this?",
        "What is this called?",
        "Which building is that over there?",
        "What landmark am I looking at?",
        "Can you tell me what this is?",
        "Do you know which place this is?",
    ],
)
async def test_the_name_is_said_without_reading(question: str) -> None:
    church, reader = thing(BASILICA, 0.97, kind="church"), WordReader()
    reply = await answered(ask(question), entity=church, reader=reader)
    assert (reply.answer, reply.confidence) == (f"{BASILICA}.", 0.97)
    assert reply.quotes
    assert not reader.requests


@pytest.mark.parametrize(
    "question",
    [
        "What colour is this?",
        "What city is this in?",
        "What is this made of?",
        "What does this cost?",
        "Which animal is on this flag?",
    ],
)
async def test_a_question_about_more_than_the_name_is_read(question: str) -> None:
    reader = WordReader()
    await answered(ask(question), page(f"{BASILICA} is red."), entity=thing(BASILICA, 0.97), reader=reader)
    assert reader.requests


async def test_small_print_does_not_name_what_is_in_view() -> None:
    watermark = PhotoText((TextLine("Photos of every place", 0.98, (0.8, 0.96, 0.99, 0.99)),))
    question = ask("What is this place called?")
    assert (await drafted(question, watermark)).answer is None
    assert (await answered(question, printed=watermark)).answer is None


async def test_print_is_read_out_without_reading_it() -> None:
    reply = await answered(ask("What does this sign say?"), printed=sign("NO BATHING", "June to August"))
    assert reply.answer == "NO BATHING June to August"
    assert [quote.text for quote in reply.quotes] == ["NO BATHING", "June to August"]


async def test_records_and_pages_are_read_with_the_thing_s_name() -> None:
    reader = WordReader()
    history = page("The Glass Harbour was sold at fairs.", "The Glass Harbour")
    reply = await answered(ask("How many pages does it have?"), history, entity=NOVEL, reader=reader)
    assert reply.answer == "The pages of The Glass Harbour is 288 pages."
    assert {request.subject for request in reader.requests} == {NOVEL.name}


async def test_pages_answer_for_a_thing_in_view_only_if_it_is_known_or_their_title_is_printed_on_it() -> None:
    menu = page("The chef of the restaurant is Walter Brandt.", "The Olive Barge")
    question = ask("who is the chef of this restaurant?")
    assert (await answered(question, menu)).answer is None
    assert (await answered(question, menu, printed=sign("HOUSE OF LANTERNS", "Soup 4.50"))).answer is None
    assert (await answered(question, menu, printed=sign("The Olive Barge", "Soup 4.50"))).answer
    assert (await answered(ask("who is the chef of the Olive Barge?"), menu)).answer


async def test_a_page_about_another_thing_than_the_one_named_is_not_read() -> None:
    reader, other = WordReader(), page("Mont Blanc is 4,806 m tall.", "Mont Blanc")
    assert (await answered(ask("How tall is Kilimanjaro Peak?"), other, reader=reader)).answer is None
    assert not reader.requests


async def test_records_of_other_things_are_not_read() -> None:
    reply = await answered(ask("Who is the architect of the Olive Barge?"), entity=CHURCH)
    assert reply.answer is None


async def test_a_follow_up_is_read_about_what_was_spoken_of() -> None:
    reader = WordReader()
    cathedral = page("St Paul's Cathedral was built in 1710.", "St Paul's Cathedral")
    question = ask("When was it built?", WREN, photo=False)
    assert (await answered(question, cathedral, reader=reader)).answer == cathedral.text
    assert reader.requests[0].subject == "St Paul's Cathedral"


async def test_what_cannot_be_read_says_why() -> None:
    foreign = await answered(ask("Wer hat dieses Buch geschrieben?"), entity=NOVEL)
    unseen = await answered(ask("Who wrote this?", photo=False))
    nothing = await answered(ask("Who wrote this?"), entity=NOVEL, reader=WordReader(Overloaded()))
    away = await answered(ask("Who wrote this?"), entity=NOVEL, reader=WordReader(DependencyUnavailable()))
    replies = (foreign, unseen, nothing, away)
    assert [reply.answer for reply in replies] == [None] * 4
    assert [reply.reason for reply in replies] == [
        Reason.LANGUAGE,
        Reason.NEEDS_PHOTO,
        Reason.OVERLOADED,
        Reason.UNAVAILABLE,
    ]


async def test_a_draft_answers_from_print_and_says_what_to_look_up() -> None:
    draft = await drafted(ask("How much is the soup?"), sign("The Olive Barge", "Soup 4.50"))
    assert "Soup 4.50" in (draft.answer or "")
    assert draft.self_contained
    assert draft.sub_queries[0] == "{entity} How much is the soup?"
