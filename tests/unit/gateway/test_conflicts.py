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


def asked(
    question: str,
    answer: str,
    pieces: list[Piece],
    trust: str = CURATED_FIRST,
    quotes: tuple[Quote, ...] | None = None,
) -> Reply:
    """The answer rests on the first piece unless it has other quotes."""
    reply = Reply(answer, 0.9, (Quote(0, pieces[0][0]),) if quotes is None else quotes)
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
            "When was this bridge built?",
            "In 1999.",
            "was built in 1999",
            "built of Lanternfall is 1894",
            "1894.",
        ),
        ("How tall is this tower?", "90 m.", "is 90 m tall", "height of Lanternfall is 150 m", "150 m."),
        ("How much does this cost?", "€5.", "costs €5", "price of Lanternfall is €7.50", "€7.50."),
    ],
)
def test_amounts_and_dates_are_compared(
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


COST, MADE, TALL = "How much does this cost?", "When was this tower built?", "How tall is this tower?"


@pytest.mark.parametrize(
    ("question", "answer", "page", "record"),
    [
        (TALL, "3.28 ft.", "is 3.28 ft tall", "height of Lanternfall is 1 m"),
        (TALL, "0.3 km.", "is 0.3 km tall", "height of Lanternfall is 330 metres"),
        (TALL, "29,000 feet.", "is 29,000 feet tall", "height of Lanternfall is 8,849 m"),
        (PAGES, "About 300 pages.", "has 300 pages", "pages of Lanternfall is 304"),
        (COST, "$799.", "costs $799", "price of Lanternfall is $20 a month"),
        (COST, "$799.", "costs $799", "price of a refurbished Lanternfall is $649"),
        (PAGES, "304 pages.", "has 304 pages", "paperback of Lanternfall has 412 pages"),
        (MADE, "In 1889.", "was built in 1889", "tower Lanternfall was built from 28 January 1887"),
        (MADE, "In 1889.", "was built in 1889", "building of Lanternfall began in 1887"),
        (
            MADE,
            "In the 11th century.",
            "was built in the 11th century",
            "tower Lanternfall was built between the 12th and 13th centuries",
        ),
        (MADE, "From 1887 to 1889.", "was built from 1887 to 1889", "tower Lanternfall was built in 1889"),
        (
            "Where was this born?",
            "In Zundert.",
            "was born in Zundert",
            "birthplace of Lanternfall is Brabant",
        ),
        ("In which city is this?", "Paris.", "is in Paris", "city of Lanternfall is France"),
        (
            "Who wrote this book?",
            "Mark Twain.",
            "was written by Mark Twain",
            "author of Lanternfall is Samuel Clemens",
        ),
    ],
)
def test_what_may_both_be_right_is_no_conflict(question: str, answer: str, page: str, record: str) -> None:
    pieces = [(f"Lanternfall {page}.", "https://a.example"), (f"The {record}.", "")]
    reply = asked(question, answer, pieces)
    assert (reply.said, reply.conflicts, reply.standing) == (answer, (), 1.0)


@pytest.mark.parametrize(
    ("answer", "record"),
    [("29,000 feet.", "8,000 m"), ("0.3 km.", "420 metres"), ("About 300 feet.", "150 m")],
)
def test_what_no_rounding_explains_is_one(answer: str, record: str) -> None:
    pieces = [
        (f"Lanternfall is {answer[:-1]} tall.", "https://a.example"),
        (f"The height of Lanternfall is {record}.", ""),
    ]
    assert asked(TALL, answer, pieces).answer == f"{record}."


def test_the_value_of_an_answer_is_the_one_that_is_counted() -> None:
    answer = "Published in edition 2, it has 304 pages."
    assert asked(PAGES, answer, [RECORD, ("Lanternfall, 304 pages.", "https://b.example")]).conflicts == ()
    assert [each.value for each in asked(PAGES, answer, [RECORD, FALSE]).conflicts] == ["9999"]


@pytest.mark.parametrize(
    ("pieces", "said", "standing"),
    [
        ([RECORD], "304 pages. I would have said 310 pages.", 8 / 9),
        (
            [RECORD, FALSE],
            "304 pages. Two sources differ: 304 and 9999 pages. I would have said 310 pages.",
            8 / 11,
        ),
        ([("It has 304 pages.", "https://b.example")], "304 pages. I would have said 310 pages.", 2 / 3),
    ],
)
@pytest.mark.parametrize("quotes", [(), (Quote(0, "It has 310 pages."),), (Quote(7, "Nowhere."),)])
def test_what_no_source_says_is_said_to_be_thought(
    pieces: list[Piece], said: str, standing: float, quotes: tuple[Quote, ...]
) -> None:
    reply = asked(PAGES, "310 pages.", pieces, quotes=quotes)
    assert reply.said == said
    assert reply.standing == pytest.approx(standing)


def test_a_source_that_counts_no_more_than_a_thought_is_told() -> None:
    other = ("It has 304 pages.", "https://b.example")
    reply = asked(PAGES, "310 pages.", [other], "record", quotes=())
    assert reply.said == "310 pages. A source says otherwise: 304 pages."
    assert [each.value for each in reply.conflicts] == ["304"]
    assert reply.standing == pytest.approx(0.5)


def test_an_address_that_nobody_can_read_has_no_rank_of_a_host() -> None:
    hostile = ("It has 304 pages.", "http://[x")
    assert asked(PAGES, "9999 pages.", [FALSE, hostile]).standing == pytest.approx(0.5)


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
