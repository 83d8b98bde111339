"""Documents of an index, the same API on image_search and text_search: a page or a photo, by its address.

An address names where a document is from: the URL of a page, or `file:` with the name of the source that was
indexed and the path in it (`file:docs/visit/hours.html`). All routes need the write token.
"""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from contracts.addresses import SourceAddress
from contracts.message import Message, Request

MOST_ADDRESSES = 512
LONGEST_LISTING = 1000
LONGEST_NAME = 1024
MOST_PLACES = 64


class DocumentAddresses(Request):
    """Ask which of these a version holds (`POST …/documents/held`), or remove them (`…/documents/remove`)."""

    addresses: list[SourceAddress] = Field(max_length=MOST_ADDRESSES, fail_fast=True)


class HeldAddresses(Message):
    """Those of the addresses that the version holds, or held until they were removed, in their order."""

    addresses: list[str]


class RenameDocument(Request):
    """Give a document another name: a page's title, or the thing that a photo shows."""

    address: SourceAddress
    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class Document(Message):
    """`name`: a page's title, or the thing that a photo shows. `parts`: its passages; 1 for a photo.

    `first`: the id of one of its points. `source`: the name of what was indexed; empty if it has none.
    """

    address: str
    source: str
    name: str
    url: str
    parts: int
    first: str


class Documents(Message):
    """A page of a version's documents, by name. `found`: those that fit the query; `total`: all of them.

    `parts`: points of all documents.
    """

    version: str
    total: int
    found: int
    parts: int
    documents: list[Document]


class DocumentContent(Message):
    """A document as it is searched: the passages of a page in order, or the attributes of a photo."""

    address: str
    source: str
    name: str
    title: str
    url: str
    attributes: dict[str, str] = {}
    passages: list[str] = []
    last_modified: datetime | None = None


class SourceUse(Message):
    """`others`: whether documents of this source's name are from another place (`GET …/source`)."""

    others: bool


class SourcePlaces(Request):
    """Places (`origin` of chunks and photos) that are asked about (`POST …/sources`)."""

    origins: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(
        max_length=MOST_PLACES, fail_fast=True
    )


class SourcesThere(Message):
    """The names of the sources at these places, by place, where there are any."""

    sources: dict[str, str]
