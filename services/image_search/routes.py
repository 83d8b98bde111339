"""Search photos, write them into a version, embed them."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Depends, File, Form, Request, UploadFile
from pydantic import Field

from chassis.errors import InvalidRequest, LoreglassError, MalformedRequest
from chassis.http.app import AppMetrics, RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.json_text import JsonLimits, read_json
from chassis.models.cancellation import until_cancelled
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from chassis.validation import validate
from chassis.vectors.documents import content
from chassis.vectors.port import ADDRESS, Origin
from chassis.vectors.routes import require_unpublished
from chassis.vectors.rules import is_point_id
from contracts.collections import Indexed
from contracts.documents import DocumentContent, RenameDocument
from contracts.image_search import ImageHit, ImageItem, ImageItems, ImageSearchReply, ImageTextSearchRequest
from contracts.message import Message
from services.image_search.engine import ImageIndex, ImageSearchEngine, KnownThing, ThingSeen
from services.image_search.settings import ImageSearchSettings
from services.image_search.thumbnails import Thumbnails

router = Router()
write_router = Router()
_EMBEDDING = JsonLimits(max_bytes=None, max_items=512)
_ITEMS = JsonLimits(max_bytes=None, max_items=65_536)
"""Of things with up to 256 attributes: `corpus` sends eight in a call."""

Pool = Annotated[EnginePool[ImageSearchEngine], Depends(engine_pool)]
IndexPool = Annotated[EnginePool[ImageIndex], Depends(engine_pool)]
Photos = Annotated[list[UploadFile], File()]

PUBLISHED = "images"


class EmbeddingsRequest(Message):
    """Infinity's request; `input` holds `data:` URIs only. Unknown options are ignored, as clients expect."""

    model: str = ""
    input: list[str] = Field(min_length=1, max_length=64, fail_fast=True)
    modality: Literal["image"] = "image"


class Embedding(Message):
    """One vector; `index` is the place of its input."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float]


class EmbeddingsUsage(Message):
    """Images cost no tokens; clients of the shape read the field."""

    prompt_tokens: int = 0
    total_tokens: int = 0


class EmbeddingsReply(Message):
    """OpenAI's list."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage = EmbeddingsUsage()


@router.post("/v1/image-search")
async def search_images(
    request: Request,
    images: Photos,
    pool: Pool,
    deadline: RequestDeadline,
    k: Annotated[int, Form(ge=1, le=100)] = 5,
    collection: Annotated[str, Form()] = PUBLISHED,
) -> ImageSearchReply:
    """Known things in all photos together, one hit an entity, by falling probability."""
    settings = _settings(request)
    uploads = await _read(images, settings.max_images)
    things = await pool.run(
        lambda engine: engine.search(
            [decode_rgb(data, max_side=settings.max_side) for data in until_cancelled(uploads)], k, collection
        ),
        deadline,
    )
    return ImageSearchReply(hits=[_hit(thing) for thing in things], collection=collection)


@router.post("/v1/image-search/text")
async def search_by_text(
    body: ImageTextSearchRequest, pool: Pool, deadline: RequestDeadline
) -> ImageSearchReply:
    """Known things that look as the texts say, one hit an entity, most alike first.

    `not_supported` where the engine has no text side; `takes` in `/info` tells.
    """
    things = await pool.run(lambda engine: engine.search_texts(body.texts, body.k, body.collection), deadline)
    return ImageSearchReply(hits=[_hit(thing) for thing in things], collection=body.collection)


@write_router.put("/v1/collections/{name}/images")
async def index_images(
    request: Request,
    name: str,
    images: Photos,
    items: Annotated[str, Form(description="JSON of ImageItems, in the order of the photos")],
    pool: IndexPool,
    deadline: RequestDeadline,
    metrics: AppMetrics,
) -> Indexed:
    """Write photos with what is known of them. A photo that cannot be read is rejected by itself."""
    settings = _settings(request)
    uploads = await _read(images, settings.max_images)
    entries = _items(items, len(uploads))
    rejected = await pool.run(lambda engine: _index(engine, name, entries, uploads, settings), deadline)
    written = len(entries) - len(rejected)
    metrics.ingested("photos", written)
    return Indexed(indexed=written, rejected=rejected)


@router.post("/v1/embeddings")
@takes_json(_EMBEDDING)
async def embed_images(
    request: Request, body: EmbeddingsRequest, pool: Pool, deadline: RequestDeadline
) -> EmbeddingsReply:
    """One vector an image."""
    max_side = _settings(request).max_side
    model, vectors = await pool.run(
        lambda engine: (
            engine.name,
            engine.embed(
                [decode_rgb(data_of_uri(uri), max_side=max_side) for uri in until_cancelled(body.input)]
            ),
        ),
        deadline,
    )
    data = [Embedding(index=index, embedding=vector.tolist()) for index, vector in enumerate(vectors)]
    return EmbeddingsReply(data=data, model=body.model or model)


def _index(
    engine: ImageIndex,
    collection: str,
    items: Sequence[ImageItem],
    uploads: Sequence[bytes],
    settings: ImageSearchSettings,
) -> dict[str, str]:
    rejected: dict[str, str] = {}
    things = []
    for item, data in until_cancelled(zip(items, uploads, strict=True)):
        try:
            photo = decode_rgb(data, max_side=settings.max_side)
        except LoreglassError as error:
            rejected[item.id] = error.detail
            continue
        origin = Origin(item.address, item.source, item.origin) if item.address else None
        things.append(KnownThing(item.id, item.entity, item.attributes, item.title, item.url, photo, origin))
    rejected |= engine.index(collection, things)
    if settings.thumbnails:
        thumbnails = Thumbnails(settings.data_dir)
        for thing in things:
            if thing.id not in rejected:
                thumbnails.keep(thing.id, thing.photo)
    return rejected


@write_router.post("/v1/collections/{name}/documents/rename")
async def rename_document(
    name: str, request: RenameDocument, pool: IndexPool, deadline: RequestDeadline
) -> DocumentContent:
    """Change the thing that a photo shows, in a version that no alias points at."""

    def renamed(engine: ImageIndex) -> DocumentContent:
        require_unpublished(engine.store, name)
        content(engine.store, name, request.address)
        engine.store.set_payload(name, ADDRESS, request.address, {"entity": request.name})
        return content(engine.store, name, request.address)

    return await pool.run(renamed, deadline)


async def _read(images: Sequence[UploadFile], most: int) -> list[bytes]:
    if len(images) > most:
        raise InvalidRequest(f"images: at most {most} in one call.")
    return [await image.read() for image in images]


def _items(text: str, photos: int) -> list[ImageItem]:
    try:
        items = validate(ImageItems, read_json(text, _ITEMS)).items
    except MalformedRequest as error:
        raise MalformedRequest("items: not valid JSON.") from error
    if len(items) != photos:
        raise InvalidRequest(f"items: {len(items)} for {photos} images.")
    if not all(is_point_id(item.id) for item in items):
        raise InvalidRequest("items: ids are UUIDs in canonical form.")
    return items


def _settings(request: Request) -> ImageSearchSettings:
    settings: ImageSearchSettings = request.app.state.settings
    return settings


def _hit(thing: ThingSeen) -> ImageHit:
    return ImageHit(
        id=thing.id,
        score=thing.probability,
        entity=thing.entity,
        attributes=dict(thing.attributes),
        title=thing.title,
        url=thing.url,
        image_index=thing.photo_index,
        inliers=thing.inliers,
        cosine=thing.cosine,
    )


def data_of_uri(uri: str) -> bytes:
    """The bytes of a base64 `data:` URI. Raises `InvalidRequest` and `MalformedRequest`."""
    head, comma, body = uri.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise InvalidRequest("Each input must be a data: URI with base64; URLs are not fetched.")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedRequest("An input is not valid base64.") from error
