"""What is answered, from what, and what is refused and why."""

import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, Overloaded
from contracts.answer import Reason, Route
from gateway.reasoning.calls import calls_counted
from gateway.reasoning.pocket.reasoner import PocketReasoner
from gateway.state import Context, Evidence, GenerationBudget, PhotoText, Quote, Reply, Tool
from tests.unit.reasoning.pocket.desk import (
    WordReader,
    answered,
    ask,
    bridged,
    drafted,
    known,
    line,
    minute,
    page,
    sign,
    thing,
    turn,
)

pytestmark = pytest.mark.anyio

NOVEL = thing("The Glass Harbour", 0.95, author="Ines Valdern", publisher="Harrow Press")
BORN = page("Ines Valdern was born in Lisbon on 4 May 1961.", "Ines Valdern")


async def test_the_answer_is_the_reader_s_with_the_sentence_that_says_so() -> None:
    reply = await answered(ask("Who is the author of this book?"), entity=NOVEL)
    assert reply.answer == "Ines Valdern."
    assert reply.quotes == (Quote(0, "The author of The Glass Harbour is Ines Valdern."),)
    assert 0.5 < reply.confidence < 1
    assert reply.reason is Reason.ANSWERED


async def test_a_sign_is_read_like_any_other_text() -> None:
    printed = sign("SEOUL 42 km", "BUSAN 310 km")
    draft = await drafted(ask("how many km is it to Seoul?"), printed)
    assert (draft.answer, draft.quotes) == ("42 km.", ("SEOUL 42 km",))
    assert draft.self_contained
    reply = await answered(ask("how many km is it to Busan?"), printed=printed)
    assert reply.answer == "310 km."


async def test_lines_of_noise_between_lines_of_print_are_neither_read_nor_quoted() -> None:
    printed = PhotoText((line("NO DOGS"), line("十十十十十", 0.2, score=0.6), line("ALLOWED HERE", 0.3)))
    reader = WordReader()
    await drafted(ask("what is allowed here?"), printed, reader)
    (passage,) = reader.asked[0].passages
    assert passage.text == "NO DOGS\nALLOWED HERE"
    assert len(passage.boxes) == 2


async def test_the_print_does_not_answer_for_a_thing_that_it_does_not_name() -> None:
    reader = WordReader()
    draft = await drafted(ask("How long is the Merrow Viaduct?"), sign("BRIDGE 12 m long"), reader)
    assert draft.answer is None
    assert reader.asked == []
    assert (await drafted(ask("How long is the Merrow Viaduct?"), sign("MERROW VIADUCT long 88 m"))).answer


async def test_what_is_written_is_read_out_to_25_words() -> None:
    printed = sign("NO LITTER", "MINATO CITY")
    assert (await drafted(ask("what does this sign say?"), printed)).answer == "NO LITTER MINATO CITY"
    long = sign(*(f"Please keep off the grass number {row}" for row in range(10)))
    assert len(((await drafted(ask("what is written here?"), long)).answer or "").split()) == 25


async def test_a_thing_s_name_is_told_when_that_is_all_that_is_asked() -> None:
    reply = await answered(ask("what is this?"), entity=NOVEL)
    assert (reply.answer, reply.confidence) == ("The Glass Harbour.", NOVEL.probability)
    assert reply.quotes[0].text in {piece.text for piece in known(NOVEL)}
    lamp = thing("Red Lamp", 0.9, colour="red", type="desk lamp")
    assert (await answered(ask("what lamp is this?"), entity=lamp)).answer == "Red Lamp."
    assert (await answered(ask("what shade is this?"), entity=lamp)).answer != "Red Lamp."


async def test_a_description_is_resolved_and_searched_for() -> None:
    queries = await bridged(ask("when was the author of this book born?"), entity=NOVEL)
    assert queries == ("when was Ines Valdern born?", "Ines Valdern")
    assert await bridged(ask("who published this book?"), entity=NOVEL) == ()


@pytest.mark.parametrize(
    "question",
    [
        "when was the author of this book born?",
        "when was its author born?",
        "when was this book's author born?",
        "when was the author born?",
    ],
)
async def test_the_second_hop_is_answered_from_both_pages(question: str) -> None:
    reply = await answered(ask(question), BORN, entity=NOVEL)
    assert reply.answer == "4 May 1961."
    assert [quote.text for quote in reply.quotes] == [
        "The author of The Glass Harbour is Ines Valdern.",
        "Ines Valdern was born in Lisbon on 4 May 1961.",
    ]


async def test_what_a_description_leads_to_is_not_read_off_the_thing_in_view() -> None:
    question, printed = (
        ask("which hobby did the author of this book have?"),
        sign("Valdern Hobby House Corvo"),
    )
    assert (await answered(question, entity=NOVEL, printed=printed)).answer is None
    hers = page("Ines Valdern had one hobby, Falconry.", "Ines Valdern")
    assert (await answered(question, hers, entity=NOVEL, printed=printed)).answer == "Falconry."


async def test_a_description_of_a_named_thing_is_resolved_too() -> None:
    evidence = (page("Ines Valdern is the author of The Glass Harbour."), BORN)
    reply = await answered(ask("Where was the author of The Glass Harbour born?", photo=False), *evidence)
    assert "Lisbon" in (reply.answer or "")


async def test_the_longer_of_two_is_told_with_both_lengths() -> None:
    bridge = thing("Merrow Viaduct", 0.95, length="412 m")
    pages = (page("The Tarn Bridge is 0.5 km long.", "Tarn Bridge"),)
    reply = await answered(ask("which is longer, this or the Tarn Bridge?"), *pages, entity=bridge)
    assert reply.answer == "The Tarn Bridge: 0.5 km against 412 m."
    assert len(reply.quotes) == 2
    reply = await answered(ask("is this longer than the Tarn Bridge?"), *pages, entity=bridge)
    assert reply.answer == "No: 412 m against 0.5 km."
    reply = await answered(ask("is this shorter than 500 m?"), *pages, entity=bridge)
    assert reply.answer == "Yes: 412 m against 500 m."


async def test_what_does_not_compare_is_not_compared() -> None:
    pages = (page("The Merrow Viaduct is 412 m long."), page("The Tarn Bridge is 9 minutes long."))
    question = "which is longer, the Merrow Viaduct or the Tarn Bridge?"
    assert (await answered(ask(question, photo=False), *pages)).answer is None
    assert (await answered(ask(question, photo=False), pages[0])).answer is None


async def test_the_older_of_two_is_the_one_of_the_earlier_date() -> None:
    pages = (page("The Merrow Viaduct was built in 1868."), page("The Tarn Bridge was built in 1901."))
    reply = await answered(ask("which is older, the Tarn Bridge or the Merrow Viaduct?", photo=False), *pages)
    assert reply.answer == "The Merrow Viaduct: 1868 against 1901."
    reply = await answered(ask("is the Tarn Bridge newer than the Merrow Viaduct?", photo=False), *pages)
    assert reply.answer == "Yes: 1901 against 1868."


async def test_both_halves_of_a_double_question_are_answered() -> None:
    sold = page("The Glass Harbour was published in 1994.", "The Glass Harbour")
    reply = await answered(ask("who is the author and when was it published?"), sold, entity=NOVEL)
    assert reply.answer == "Ines Valdern. 1994."
    assert len(reply.quotes) == 2


async def test_the_half_that_cannot_be_answered_is_said() -> None:
    reply = await answered(ask("who is the author of it and how many pages does it have?"), entity=NOVEL)
    assert (reply.answer, reply.remark) == ("Ines Valdern.", "What I could not find is how many pages.")
    assert reply.said == "Ines Valdern. What I could not find is how many pages."
    assert reply.reason is Reason.ANSWERED


async def test_the_second_half_may_speak_of_the_first_one_s_answer() -> None:
    reply = await answered(ask("who is the author of this book and when was she born?"), BORN, entity=NOVEL)
    assert reply.answer == "Ines Valdern. 4 May 1961."


async def test_yes_or_no_is_said_where_value_stands_against_value() -> None:
    built = page("The Merrow Viaduct was built in 1868 of 96,000 bricks.", "Merrow Viaduct")

    async def said(question: str) -> str | None:
        return (await answered(ask(question, photo=False), built)).answer

    assert ((await said("Was the Merrow Viaduct built in 1868?")) or "").startswith("Yes")
    assert ((await said("Was the Merrow Viaduct built in 1890?")) or "").startswith("No")
    assert await said("Was the Merrow Viaduct built of stone?") is None


async def test_no_yes_is_read_into_a_sentence_that_denies_it() -> None:
    denied = page("The Merrow Viaduct was not designed by Jean Morel.", "Merrow Viaduct")
    reply = await answered(ask("Was the Merrow Viaduct designed by Jean Morel?", photo=False), denied)
    assert reply.answer is None


@pytest.mark.parametrize("question", ["Wer hat dieses Buch geschrieben?", "Qui a écrit ce livre et quand ?"])
async def test_a_language_that_it_cannot_read_is_refused_as_such(question: str) -> None:
    reader = WordReader()
    reply = await answered(ask(question), BORN, entity=NOVEL, reader=reader)
    assert (reply.answer, reply.reason) == (None, Reason.LANGUAGE)
    assert reader.asked == []


async def test_this_without_photo_and_conversation_asks_for_a_photo() -> None:
    reply = await answered(ask("who wrote this?", photo=False), BORN)
    assert (reply.answer, reply.reason) == (None, Reason.NEEDS_PHOTO)
    before = turn("Who wrote The Glass Harbour?", "Ines Valdern.", NOVEL)
    assert (await answered(ask("when was she born?", before, photo=False), BORN)).answer == "4 May 1961."


async def test_a_question_without_a_photo_is_answered_from_pages() -> None:
    question = ask("When was Ines Valdern born?", photo=False)
    assert (await drafted(question)).tools == {Tool.TEXT_SEARCH}
    assert (await answered(question, BORN)).answer == "4 May 1961."


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DependencyUnavailable(), Reason.UNAVAILABLE),
        (Overloaded(), Reason.OVERLOADED),
        (DeadlineExceeded(), Reason.TIMED_OUT),
    ],
)
async def test_without_the_reader_there_is_a_refusal_that_names_it(
    error: LoreglassError, reason: Reason
) -> None:
    with calls_counted() as calls:
        draft = await drafted(ask("who wrote this?"), sign("THE GLASS HARBOUR"), WordReader(error))
        reply = await answered(ask("who wrote this?"), entity=NOVEL, reader=WordReader(error))
    assert (draft.answer, reply.answer, reply.reason) == (None, None, reason)
    assert list(calls.without) == ["reader"]


async def test_another_passage_that_agrees_makes_an_answer_surer_and_one_that_differs_less() -> None:
    quoted, question = page("Ines Valdern was born in 1961."), ask("When was Ines Valdern born?", photo=False)
    reply, reasoner = Reply("1961.", 0.6, (Quote(0, quoted.text),)), PocketReasoner(WordReader())

    async def judged(*evidence: Evidence) -> float | None:
        context = Context(Route.RAG, evidence=(quoted, *evidence))
        return await reasoner.judge(question, reply, context, GenerationBudget(), minute())

    agreed, other = await judged(BORN), await judged(page("Ines Valdern was born in 1958."))
    assert agreed is not None
    assert other is not None
    assert other < 0.6 < agreed
    assert await judged() is None
