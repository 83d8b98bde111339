"""Search passages, and write them into a version."""

from typing import Annotated

from fastapi import Depends, Request

from chassis.errors import InvalidRequest
from chassis.http.app import AppMetrics, RequestDeadline, engine_pool
from chassis.http.bodies import Router, pictured_schema, read_pictured, takes_json
from chassis.images import ImageLimits, clean_image
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from chassis.vectors.documents import content
from chassis.vectors.port import Origin
from chassis.vectors.routes import require_unpublished
from contracts.collections import Indexed
from contracts.documents import DocumentContent, RenameDocument
from contracts.text_search import (
    Chunk,
    Chunks,
    ReadPagesRequest,
    TextHit,
    TextSearchReply,
    TextSearchRequest,
)
from services.text_search.engine import FusedHit, Passage, TextIndex, TextSearchEngine
from services.text_search.pages import passages_of, rename
from services.text_search.settings import TextSearchSettings

router = Router()
pages_router = Router()
write_router = Router()
_SEARCHING = JsonLimits()
_INDEXING = JsonLimits(max_bytes=32 * 2**20, max_items=16_384)
"""Of as many chunks as `Chunks` holds, with 13 items each; `corpus` sends half of it."""

Pool = Annotated[EnginePool[TextSearchEngine], Depends(engine_pool)]
IndexPool = Annotated[EnginePool[TextIndex], Depends(engine_pool)]

MAX_QUERY_CHARACTERS = 8_192
"""A longer one is no question: every word of it is looked up."""


@router.post("/v1/text-search", openapi_extra=pictured_schema(TextSearchRequest))
@takes_json(_SEARCHING, or_form=True)
async def search_text(request: Request, pool: Pool, deadline: RequestDeadline) -> TextSearchReply:
    """The best passages for all sub-queries together, at most two a page (of the web: three).

    The form may bring the photo that the sub-queries are about.
    """
    settings: TextSearchSettings = request.app.state.settings
    call, image = await read_pictured(request, TextSearchRequest, _SEARCHING)
    if any(len(query) > MAX_QUERY_CHARACTERS for query in call.queries):
        raise InvalidRequest(f"queries: at most {MAX_QUERY_CHARACTERS} characters each.")

    def search(engine: TextSearchEngine) -> list[FusedHit]:
        photo = None
        if image is not None and settings.sees_photos:
            photo = clean_image(image, ImageLimits(), settings.max_side).jpeg
        return engine.search(call.queries, call.k, call.collection, call.depth, photo)

    hits = await pool.run(search, deadline)
    return TextSearchReply(hits=[_hit(hit) for hit in hits], collection=call.collection)


@pages_router.post("/v1/text-search/pages")
async def read_pages(
    request: ReadPagesRequest, pool: IndexPool, deadline: RequestDeadline
) -> TextSearchReply:
    """Return the passages of pages, in their order."""
    passages = await pool.run(
        lambda engine: passages_of(engine.store, request.collection, request.addresses, request.k), deadline
    )
    hits = [_hit(FusedHit(passage, 0.0, ())) for passage in passages]
    return TextSearchReply(hits=hits, collection=request.collection)


@write_router.put("/v1/collections/{name}/chunks")
@takes_json(_INDEXING)
async def index_chunks(
    name: str, request: Chunks, http: Request, pool: IndexPool, deadline: RequestDeadline, metrics: AppMetrics
) -> Indexed:
    """Write passages. One at position 0 begins its page anew: older passages of that address go."""
    settings: TextSearchSettings = http.app.state.settings
    passages = [_passage(chunk, with_picture=settings.sees_photos) for chunk in request.chunks]
    rejected = await pool.run(lambda engine: engine.index(name, passages), deadline)
    written = len(passages) - len(rejected)
    metrics.ingested("passages", written)
    return Indexed(indexed=written, rejected=dict(rejected))


@write_router.post("/v1/collections/{name}/documents/rename")
async def rename_document(
    name: str, request: RenameDocument, pool: IndexPool, deadline: RequestDeadline
) -> DocumentContent:
    """Give a page another title, in a version that no alias points at."""

    def renamed(engine: TextIndex) -> DocumentContent:
        require_unpublished(engine.store, name)
        rename(engine, name, request.address, request.name)
        return content(engine.store, name, request.address)

    return await pool.run(renamed, deadline)


def _passage(chunk: Chunk, *, with_picture: bool) -> Passage:
    return Passage(
        id=chunk.id,
        url=chunk.url,
        title=chunk.title,
        text=chunk.text,
        position=chunk.position,
        last_modified=chunk.last_modified,
        sections=tuple(chunk.sections),
        origin=Origin(chunk.address or chunk.url, chunk.source, chunk.origin),
        picture=chunk.image if with_picture else None,
    )


def _hit(hit: FusedHit) -> TextHit:
    return TextHit(
        id=hit.passage.id,
        url=hit.passage.url,
        title=hit.passage.title,
        snippet=hit.passage.text,
        last_modified=hit.passage.last_modified,
        score=hit.score,
        query_indexes=list(hit.query_indexes),
        sections=list(hit.passage.sections),
    )
