"""Search passages, and write them into a version."""

from typing import Annotated

from fastapi import Depends

from chassis.errors import InvalidRequest
from chassis.http.app import AppMetrics, RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from chassis.vectors.document_routes import require_unpublished
from chassis.vectors.documents import content
from chassis.vectors.origin import Origin
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
from services.text_search.engine import FusedHit, Passage, TextSearchEngine
from services.text_search.pages import passages_of, rename

router = Router()
pages_router = Router()
write_router = Router()
_INDEXING = JsonLimits(max_bytes=32 * 2**20, max_items=16_384)
"""Of as many chunks as `Chunks` holds, with 13 items each; `corpus` sends half of it."""

Pool = Annotated[EnginePool[TextSearchEngine], Depends(engine_pool)]

MAX_QUERY_CHARACTERS = 8_192
"""A longer one is no question: every word of it is looked up."""


@router.post("/v1/text-search")
async def search_text(request: TextSearchRequest, pool: Pool, deadline: RequestDeadline) -> TextSearchReply:
    """The best passages for all sub-queries together, at most one a page (of the web: three)."""
    if any(len(query) > MAX_QUERY_CHARACTERS for query in request.queries):
        raise InvalidRequest(f"queries: at most {MAX_QUERY_CHARACTERS} characters each.")
    hits = await pool.run(
        lambda engine: engine.search(request.queries, request.k, request.collection, request.depth), deadline
    )
    return TextSearchReply(hits=[_hit(hit) for hit in hits], collection=request.collection)


@pages_router.post("/v1/text-search/pages")
async def read_pages(request: ReadPagesRequest, pool: Pool, deadline: RequestDeadline) -> TextSearchReply:
    """Return the passages of pages, in their order."""
    passages = await pool.run(
        lambda engine: passages_of(engine.store, request.collection, request.addresses, request.k), deadline
    )
    hits = [_hit(FusedHit(passage, 0.0, ())) for passage in passages]
    return TextSearchReply(hits=hits, collection=request.collection)


@write_router.put("/v1/collections/{name}/chunks")
@takes_json(_INDEXING)
async def index_chunks(
    name: str, request: Chunks, pool: Pool, deadline: RequestDeadline, metrics: AppMetrics
) -> Indexed:
    """Write passages. One at position 0 begins its page anew: older passages of that address go."""
    passages = [_passage(chunk) for chunk in request.chunks]
    rejected = await pool.run(lambda engine: engine.index(name, passages), deadline)
    written = len(passages) - len(rejected)
    metrics.ingested("passages", written)
    return Indexed(indexed=written, rejected=dict(rejected))


@write_router.post("/v1/collections/{name}/documents/rename")
async def rename_document(
    name: str, request: RenameDocument, pool: Pool, deadline: RequestDeadline
) -> DocumentContent:
    """Give a page another title, in a version that no alias points at."""

    def renamed(engine: TextSearchEngine) -> DocumentContent:
        require_unpublished(engine.store, name)
        rename(engine, name, request.address, request.name)
        return content(engine.store, name, request.address)

    return await pool.run(renamed, deadline)


def _passage(chunk: Chunk) -> Passage:
    return Passage(
        id=chunk.id,
        url=chunk.url,
        title=chunk.title,
        text=chunk.text,
        position=chunk.position,
        last_modified=chunk.last_modified,
        sections=tuple(chunk.sections),
        origin=Origin(chunk.address or chunk.url, chunk.source, chunk.origin),
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
