"""Versioned collections, the same API on image_search and text_search.

`POST /v1/collections` creates a version (optionally starting from a published one), `PUT …/images`
or `PUT …/chunks` fills it, `POST /v1/aliases` publishes it. Readers name the alias, so they never
see half an index.
"""

from pydantic import Field

from contracts.message import Message, Request

COLLECTION_NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"

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


class Collections(Message):
    """Every version that the service holds."""

    collections: list[Collection]


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
