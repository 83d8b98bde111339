"""text_search: passages of pages. `POST /v1/text-search` and `/v1/text-search/pages` (JSON).

A search may be multipart/form-data with the same JSON in the part `request` and a photo in the optional part
`image`, for engines that read the sub-queries together with what they are about (`Info.takes` tells).
"""

from datetime import datetime
from typing import Annotated

from pydantic import Base64Bytes, Field

from contracts.addresses import SourceAddress, SourceAddressOrNone
from contracts.message import Message, Request

MOST_SECTIONS = 64
LARGEST_IMAGE = 2**20
"""Bytes of a passage's picture."""


class TextSearchRequest(Request):
    """Sub-queries are searched together and fused (reciprocal rank); `k` hits come back in all.

    `depth`: the passages of each sub-query among which pages are told apart, so that fewer than `k` may come
    back; enough for `k` when left out.
    """

    queries: list[str] = Field(min_length=1, max_length=16, fail_fast=True)
    k: int = Field(default=10, ge=1, le=100)
    collection: str = "pages"
    depth: int | None = Field(default=None, ge=1, le=400)


class ReadPagesRequest(Request):
    """All passages of these pages, in their order, `k` in all; pages that are not indexed are left out."""

    addresses: list[SourceAddress] = Field(min_length=1, max_length=16, fail_fast=True)
    k: int = Field(default=100, ge=1, le=400)
    collection: str = "pages"


class TextHit(Message):
    """One passage, at most one per page of a search. `query_indexes`: the sub-queries that found it.

    `sections`: as those of a chunk.
    """

    id: str
    url: str
    title: str
    snippet: str
    last_modified: datetime | None = None
    score: float
    query_indexes: list[int]
    sections: list[str] = []


class TextSearchReply(Message):
    """Hits by falling fused score."""

    hits: list[TextHit]
    collection: str


class Chunk(Request):
    """A passage to be indexed; `id` is a UUID made from its content, `position` its place in the page.

    `sections`: the lines of its text that name the page number and headings of what follows.
    `address`: of the document that it is from; its URL if empty. `source`: the name of what was indexed, and
    `origin`: a short text that tells where that is. `image`: a picture of its page (JPEG, PNG or WebP), for
    engines that see pictures.
    """

    id: str
    url: SourceAddress
    title: str
    text: str
    position: int = 0
    last_modified: datetime | None = None
    sections: list[str] = Field(default=[], max_length=MOST_SECTIONS)
    address: SourceAddressOrNone = ""
    source: str = Field(default="", max_length=1024)
    origin: str = Field(default="", max_length=64)
    image: Annotated[Base64Bytes, Field(max_length=LARGEST_IMAGE)] | None = None


class Chunks(Request):
    """The body of `PUT /v1/collections/{name}/chunks`."""

    chunks: list[Chunk] = Field(min_length=1, max_length=512, fail_fast=True)
