"""Versioned collections, the same API on image_search and text_search.

`POST /v1/collections` creates a version (optionally starting from a published one), `PUT …/images`
or `PUT …/chunks` fills it, `POST /v1/aliases` publishes it. Readers name the alias, so they never
see half an index.
"""

from typing import Annotated

from pydantic import Field

from contracts.message import Message, Request

COLLECTION_NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"

PART_NAME = r"^[a-z0-9][a-z0-9-]{0,62}$"

PREVIOUS = "-previous"
"""Added to an alias: the version that readers saw before, to which they can be led back."""


class CreateCollection(Request):
    """`base`: what the new version starts as a copy of. Creating a name twice is one creation."""

    name: str = Field(pattern=COLLECTION_NAME)
    base: str | None = Field(default=None, pattern=COLLECTION_NAME)


class PublishAlias(Request):
    """Point `alias` at `collection`, at once for every reader."""

    alias: str = Field(pattern=COLLECTION_NAME)
    collection: str = Field(pattern=COLLECTION_NAME)


class Collection(Message):
    """One version and the aliases that point at it."""

    name: str
    points: int
    aliases: list[str] = []
    finished: list[str] = []
    """Parts of its input that are in it whole, by the names that whoever fills it has given them."""
    fault: str = ""
    """Why it cannot be opened, and what to do; empty if it can."""


class Collections(Message):
    """Every version that the service holds."""

    collections: list[Collection]


class FinishedParts(Request):
    """Parts that a version holds whole, in place of those told before (`PUT …/finished`)."""

    parts: list[Annotated[str, Field(pattern=PART_NAME)]] = Field(max_length=8192, fail_fast=True)


class BuildIndex(Request):
    """Build what searches need (`POST /v1/collections/{name}/build`); then `sample` points are looked up.

    Asked again until it is ready: building the index over many points takes hours.
    """

    sample: int = Field(default=0, ge=0, le=1000)
    k: int = Field(default=10, ge=1, le=100)


class Built(Message):
    """`recall`: the share of the `k` nearest points that searches find as an exact search does, in 0..1.

    Of the sample, without each point itself; 1 where nothing is dense, and while it is not `ready`.
    """

    points: int
    ready: bool
    recall: float = 1.0


class PointIds(Request):
    """Ids that the caller asks about (`POST /v1/collections/{name}/missing`)."""

    ids: list[str] = Field(max_length=4096, fail_fast=True)


class MissingIds(Message):
    """Those of the asked ids that the collection does not hold yet, in the asked order."""

    ids: list[str]


class Indexed(Message):
    """How many points a PUT wrote; `rejected` maps an id to the reason why it could not be indexed."""

    indexed: int
    rejected: dict[str, str] = {}
