"""Passages of pages as evidence, and the addresses that are cited."""

import pytest
from pydantic import ValidationError

from contracts.addresses import is_source_address
from contracts.image_search import ImageItem, ImageSearchReply
from contracts.text_search import Chunk, TextSearchReply
from gateway.clients.services import Passage
from gateway.steps.evidence import page_evidence
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before


def texts(text: str) -> list[str]:
    return [item.text for item in page_evidence(Passage(text, "A page", "https://a.example", None))]


def test_a_word_without_end_is_cut_and_the_words_around_it_stay() -> None:
    (only,) = texts(f"The tower {'x' * 10_000} was built in 1987.")
    assert only == f"The tower {'x' * 200} was built in 1987."


def test_long_addresses_stay_whole() -> None:
    address = "https://a.example/" + "path/" * 30
    assert texts(f"See {address} for more.") == [f"See {address} for more."]


def test_a_page_without_words_is_no_evidence() -> None:
    assert texts(" \n ") == []


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


@pytest.mark.anyio
async def test_gateway_does_not_cite_unsafe_urls(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        assert (await world.ask()).citations
        pages, things = services.text_search.reply, services.image_search.reply
        assert isinstance(pages, TextSearchReply)
        assert isinstance(things, ImageSearchReply)
        odd = {"url": "javascript:alert(1)"}
        services.text_search.reply = pages.model_copy(
            update={"hits": [hit.model_copy(update=odd) for hit in pages.hits]}
        )
        services.image_search.reply = things.model_copy(
            update={"hits": [hit.model_copy(update=odd) for hit in things.hits]}
        )
        assert [each.url for each in (await world.ask()).citations if each.url] == []
