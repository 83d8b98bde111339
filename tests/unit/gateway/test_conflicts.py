"""Sources that disagree: the most trusted is believed, the others are named, and confidence falls."""

import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Route
from contracts.text_search import TextSearchReply
from gateway.planning.run import Run
from gateway.state import Context, Entity, Evidence, Query, Quote, Reply
from gateway.steps.conflicts import settled
from gateway.trust import CURATED_FIRST, Trust, share
from tests.unit.gateway.fakes import FakeServices, image_hit, text_hit
from tests.unit.gateway.platform import gateway_before

BOOK = "Lanternfall"
Piece = tuple[str, str]
"""A text, and its page's address; none: what is known of the thing."""


def piece(text: str, url: str) -> Evidence:
    kind = CitationKind.PAGE if url else CitationKind.IMAGE
    return Evidence(text, BOOK, url, kind, 0.9, None if url else BOOK)


def asked(question: str, answer: str, pieces: list[Piece], trust: str = CURATED_FIRST) -> Reply:
    """The answer rests on the first piece."""
    reply = Reply(answer, 0.9, (Quote(0, pieces[0][0]),))
    context = Context(Route.RAG, Entity(BOOK, 1.0), evidence=tuple(piece(*each) for each in pieces))
    run = Run("t", Deadline.after_ms(60_000), trust=Trust.parse(trust))
    return settled(Query(question, None), reply, context, run)


FALSE = ("Lanternfall has 9999 pages.", "https://a.example")
RECORD = ("The pages of Lanternfall is 304.", "")
PAGES = "How many pages does this book have?"


@pytest.mark.parametrize("times", [1, 5])
def test_false_pages_do_not_override_the_record(times: int) -> None:
    pages = [(FALSE[0], f"https://{place}.example") for place in range(times)]
    reply = asked(PAGES, "9999 pages.", [*pages, RECORD])
    assert reply.said == "304 pages. Two sources differ: 304 and 9999 pages."
    assert reply.quotes == (Quote(times, RECORD[0]),)
    assert [(each.value, each.quote.index) for each in reply.conflicts] == [("9999", 0)]
    assert reply.standing == pytest.approx(0.8)


def test_the_record_is_said_with_what_a_page_says() -> None:
    reply = asked(PAGES, "304 pages.", [RECORD, FALSE])
    assert reply.said == "304 pages. Two sources differ: 304 and 9999 pages."
    assert reply.standing == pytest.approx(0.8)


def test_of_equals_the_answer_stays_and_is_worth_half() -> None:
    reply = asked(PAGES, "9999 pages.", [FALSE, ("It has 304 pages.", "https://b.example")])
    assert reply.said == "9999 pages. Two sources differ: 9999 and 304 pages."
    assert reply.standing == pytest.approx(0.5)


def test_the_operator_ranks_hosts() -> None:
    good = ("It has 304 pages.", "https://docs.good.example/x")
    reply = asked(PAGES, "9999 pages.", [FALSE, good], "record > good.example > page")
    assert reply.answer == "304 pages."


@pytest.mark.parametrize(
    ("question", "answer", "page", "record", "said"),
    [
        (
            "Who wrote this book?",
            "Evil Bob.",
            "was written by Evil Bob",
            "author of Lanternfall is Ada Ray",
            "Ada Ray.",
        ),
        (
            "When was this bridge built?",
            "In 1999.",
            "was built in 1999",
            "built of Lanternfall is 1894",
            "1894.",
        ),
        ("How tall is this tower?", "90 m.", "is 90 m tall", "height of Lanternfall is 150 m", "150 m."),
        ("How much does this cost?", "€5.", "costs €5", "price of Lanternfall is €7.50", "€7.50."),
        ("In which city is this?", "Rome.", "is in Rome", "city of Lanternfall is Lisbon", "Lisbon."),
    ],
)
def test_values_of_every_kind_are_compared(
    question: str, answer: str, page: str, record: str, said: str
) -> None:
    pieces = [(f"Lanternfall {page}.", "https://a.example"), (f"The {record}.", "")]
    assert asked(question, answer, pieces).answer == said


@pytest.mark.parametrize(
    "other",
    [
        "Lanternfall has 9999 pages.",
        "It has about 10000 pages.",
        "It has 12 chapters.",
        "Its sequel has 304 pages.",
        "Lanternfall Revisited has 304 pages.",
        "The first edition has 304 pages.",
        "A copy weighs 304 g and its pages are thin.",
        "Of its 9999 pages 304 are blank.",
    ],
)
def test_what_is_no_other_value_of_the_same_is_no_conflict(other: str) -> None:
    reply = asked(PAGES, "9999 pages.", [FALSE, (other, "https://b.example")])
    assert (reply.said, reply.conflicts, reply.standing) == ("9999 pages.", (), 1.0)


def test_units_and_rounding_are_no_conflict() -> None:
    pieces = [
        ("Lanternfall is 3.28 ft tall.", "https://a.example"),
        ("The height of Lanternfall is 1 m.", ""),
    ]
    assert asked("How tall is this?", "3.28 ft.", pieces).conflicts == ()


@pytest.mark.parametrize("text", ["record > nonsense", "page > ../etc", "record > a b.example"])
def test_a_source_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither record, photo, page nor a host"):
        Trust.parse(text)


def test_a_subdomain_is_its_host_and_a_lookalike_is_not() -> None:
    trust = Trust.parse("good.example > page")
    page = CitationKind.PAGE
    assert trust.rank(page, "https://www.good.example/a") == trust.rank(page, "https://good.example") == 2
    assert (
        trust.rank(page, "https://notgood.example") == trust.rank(page, "https://good.example.evil.org") == 1
    )
    assert trust.rank(CitationKind.IMAGE, "") == 0
    assert share(1, [1]) == 0.5
    assert share(3, [1]) > share(2, [1]) > share(1, [1, 1])


@pytest.mark.anyio
@pytest.mark.parametrize("pipeline", ["loreglass", "direct-rag"])
async def test_it_is_told_on_the_wire(pipeline: str) -> None:
    services = FakeServices()
    other = text_hit("The Salt Road has 9999 pages.").model_copy(update={"url": "https://b.example/x"})
    services.text_search.reply = TextSearchReply(hits=[text_hit(), other], collection="pages")
    services.image_search.reply.hits[:] = [image_hit()]
    async with gateway_before(services, pocket=True) as world:
        answer = await world.ask("How many pages has The Salt Road?", photo=None, pipeline=pipeline)
    assert answer.answer == "312 pages. Two sources differ: 312 and 9999 pages."
    (conflict,) = answer.conflicts
    assert (conflict.value, conflict.citation.url) == ("9999", "https://b.example/x")
    assert answer.confidence <= 0.5
