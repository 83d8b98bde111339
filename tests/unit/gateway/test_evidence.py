"""Passages as evidence, the addresses that are cited, and calls to the reader."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.addresses import is_source_address
from contracts.answer import CitationKind
from contracts.geometry import Box
from contracts.image_search import ImageItem
from contracts.reader import PassageKind, ReadReply
from contracts.text_search import Chunk
from gateway.clients.services import Passage
from gateway.state import Reading, ToRead
from gateway.steps.conclusion import cite
from gateway.steps.evidence import page_evidence
from tests.unit.gateway.fakes import (
    AUTHOR,
    BOOK,
    PAGES,
    FakeServices,
    image_hit,
    images,
    pages,
    read_answer,
    text_hit,
)
from tests.unit.gateway.pipelines import clients_of
from tests.unit.gateway.platform import ask_gateway


def texts(text: str) -> list[str]:
    return [item.text for item in page_evidence(Passage(text, "A page", "https://a.example", None))]


ADDRESS = "https://a.example/" + "path/" * 30


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        (f"The tower {'x' * 10_000} was built in 1987.", [f"The tower {'x' * 200} was built in 1987."]),
        (f"See {ADDRESS} for more.", [f"See {ADDRESS} for more."]),
        (" \n ", []),
    ],
    ids=["a word without end", "a long address", "no words"],
)
def test_very_long_words_are_cut_and_urls_kept(text: str, chunks: list[str]) -> None:
    assert texts(text) == chunks


def test_full_stops_inside_a_row_do_not_cut_it() -> None:
    rows = [f"Code: E{number}; Meaning: No water. Open the tap. Check the hose." for number in range(20)]
    chunks = texts("\n".join(rows))
    assert len(chunks) > 1
    assert {row for chunk in chunks for row in chunk.split("\n")} == set(rows)


def test_a_citation_names_the_page_and_section_of_its_quote() -> None:
    opening = " ".join(f"Fact {number} of the dome is this." for number in range(40))
    text = f"{opening}\npage 2 › Opening hours\nIt opens at nine.\npage 3\nAdults pay five pounds."
    sections = ("page 2 › Opening hours", "page 3")
    evidence = list(page_evidence(Passage(text, "Visiting St Paul's", "file:visit.pdf", None, sections)))
    titles = {
        quote: cite(next(each for each in evidence if quote in each.text), quote).title
        for quote in ("Fact 1 of", "opens at nine", "five pounds")
    }
    assert titles == {
        "Fact 1 of": "Visiting St Paul's",
        "opens at nine": "Visiting St Paul's, page 2, Opening hours",
        "five pounds": "Visiting St Paul's, page 3",
    }


def test_a_chunk_that_begins_inside_a_section_knows_it() -> None:
    facts = " ".join(f"Fact {number} of the dome is this." for number in range(60))
    evidence = list(page_evidence(Passage(f"History\n{facts}", "Dome", "file:a.pdf", None, ("History",))))
    assert len(evidence) > 2
    assert {each.section_at(0) for each in evidence[1:]} == {"History"}


RUN = [
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "https://a\x00b",
    "vbscript:x",
    "//a.example/b",
    "https:javascript",
    "http://[x",
    "https://a]b",
]


@pytest.mark.parametrize("url", RUN)
def test_indexes_refuse_unsafe_urls(url: str) -> None:
    assert not is_source_address(url)
    with pytest.raises(ValidationError, match="must be an http://"):
        Chunk(id="1", url=url, title="A", text="B")
    with pytest.raises(ValidationError, match="must be an http://"):
        ImageItem(id="1", entity="A", url=url)


@pytest.mark.parametrize("url", ["https://a.example/b c?d=é#f", "HTTP://a.example", "file:a/salt.html"])
def test_web_and_file_urls_are_accepted(url: str) -> None:
    assert is_source_address(url)
    assert Chunk(id="1", url=url, title="A", text="B").url == url
    assert ImageItem(id="1", entity="A").url == ""


async def test_gateway_does_not_cite_unsafe_urls(services: FakeServices) -> None:
    odd = {"url": "javascript:alert(1)"}
    services.text_search.reply = pages(text_hit().model_copy(update=odd))
    services.image_search.reply = images(image_hit().model_copy(update=odd))
    answer = await ask_gateway(services)
    assert answer.citations
    assert [each.url for each in answer.citations if each.url] == []


SIGN = ToRead("THE SALT ROAD\nMIRA HOLM", kind=CitationKind.PHOTO, boxes=((0.1, 0.2, 0.9, 0.3),) * 2)
KNOWN = ToRead(AUTHOR, title=BOOK, kind=CitationKind.IMAGE)
PAGE = ToRead(PAGES, title=BOOK)


def deadline() -> Deadline:
    return Deadline.after_ms(30_000)


async def test_requests_and_replies_of_the_reader_are_translated() -> None:
    services, weighed = FakeServices(), list[tuple[str, int]]()

    def weigh(service: str, items: int) -> float:
        weighed.append((service, items))
        return 1.0

    async with clients_of(services) as clients:
        assert await clients.read("Who wrote this?", [PAGE], BOOK, deadline()) == ()  # not said there
        shared, passages = replace(clients, weigh=weigh), [SIGN, KNOWN, PAGE]
        spans = await shared.read("Who wrote this?", passages, BOOK, deadline())
    assert weighed == [("reader", 3)]
    _, request = services.reader.calls
    kinds = [PassageKind.PHOTO, PassageKind.ATTRIBUTE, PassageKind.PAGE]
    assert [each.kind for each in request.passages] == kinds
    assert [each.title for each in request.passages] == ["", BOOK, BOOK]
    assert request.passages[0].boxes == [Box(left=0.1, top=0.2, right=0.9, bottom=0.3)] * 2
    assert (request.question, request.subject) == ("Who wrote this?", BOOK)
    assert spans == (Reading(1, AUTHOR, "Mira Holm.", 0.9),)


async def test_a_request_is_cut_to_the_contract_s_limits() -> None:
    services = FakeServices()
    long = ToRead("x" * 30_000, title="t" * 2_000, boxes=((0.0, 0.0, 1.0, 1.0),) * 600)
    passages = [long, *(ToRead(f"Page {number}.") for number in range(62)), PAGE, PAGE]
    async with clients_of(services) as clients:
        (spans,) = await clients.read("How many pages?" + "?" * 5_000, passages, None, deadline())
    (request,) = services.reader.calls
    assert (len(request.passages), spans.passage) == (64, 63)
    assert (len(request.passages[0].text), len(request.passages[0].boxes)) == (20_000, 512)


@pytest.mark.parametrize(("passage", "start"), [(1, 0), (-1, 0), (0, 3)])
async def test_a_span_outside_its_passage_breaks_the_contract(passage: int, start: int) -> None:
    services = FakeServices(
        reader=ReadReply(model="fake", answers=[read_answer(passage, PAGES, "The", start)])
    )
    async with clients_of(services) as clients:
        with pytest.raises(DependencyUnavailable, match="reader sent a reply that breaks its contract"):
            await clients.read("How many pages?", [PAGE], None, deadline())
