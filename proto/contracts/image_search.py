"""image_search: which known thing is in the photo. `POST /v1/image-search`, multipart `images`*, `k`.

`POST /v1/image-search/text` (JSON): which known thing looks as a text says.
"""

from typing import Annotated

from pydantic import Field

from contracts.addresses import SourceAddressOrNone
from contracts.message import Message, Request


class ImageHit(Message):
    """`score` is the probability that the photo shows the same thing; `image_index` says which upload.

    `cosine`: of the two photos' vectors, which `score` was made from, where the engine compares vectors.
    """

    id: str
    score: float
    entity: str
    attributes: dict[str, str]
    title: str = ""
    url: str = ""
    image_index: int
    inliers: int | None = None
    cosine: float | None = None


class ImageSearchReply(Message):
    """Hits of all uploads fused, one per entity (of `crag-mm`: per entity of an image), by falling score."""

    hits: list[ImageHit]
    collection: str


class ImageTextSearchRequest(Request):
    """Texts that say what things look like; `image_index` of a hit counts them, its `score` is a likeness.

    A model reads so much of a text as it can (CLIP: 77 tokens).
    """

    texts: list[Annotated[str, Field(min_length=1, max_length=2000)]] = Field(
        min_length=1, max_length=16, fail_fast=True
    )
    k: int = Field(default=5, ge=1, le=100)
    collection: str = "images"


class ImageItem(Request):
    """A photo to be indexed, with its attributes; `id` is a UUID made from its content.

    `address`: of the photo, whose earlier records it replaces; empty: it replaces none. `source`: the name of
    what was indexed, and `origin`: a short text that tells where that is.
    """

    id: str
    entity: str
    attributes: dict[str, str] = Field(default={}, max_length=256)
    title: str = ""
    url: SourceAddressOrNone = ""
    address: SourceAddressOrNone = ""
    source: str = Field(default="", max_length=1024)
    origin: str = Field(default="", max_length=64)


class ImageItems(Request):
    """The `items` part of `PUT /v1/collections/{name}/images`: one per uploaded photo, same order."""

    items: list[ImageItem] = Field(fail_fast=True)
