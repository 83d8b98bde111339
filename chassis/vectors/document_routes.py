"""The routes of documents that every service with vectors has. They need the write token."""

from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import BaseModel

from chassis.errors import CollectionConflict
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from chassis.vectors import documents
from chassis.vectors.documents import Listings, is_published
from chassis.vectors.port import VectorStore
from chassis.vectors.routes import Indexed
from contracts.documents import (
    LONGEST_LISTING,
    LONGEST_NAME,
    DocumentAddresses,
    DocumentContent,
    Documents,
    HeldAddresses,
    SourcePlaces,
    SourcesThere,
    SourceUse,
)

_ADDRESSES = JsonLimits(max_bytes=4 * 2**20, max_items=1_024)

Pool = Annotated[EnginePool[Indexed], Depends(engine_pool)]
Text = Annotated[str, Query(max_length=LONGEST_NAME)]
Address = Annotated[str, Query(min_length=1, max_length=4_096)]


class Listed(BaseModel):
    """A page of a listing; `source` and `q`: see `ListDocumentsRequest`."""

    source: Text = ""
    q: Text = ""
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0
    limit: Annotated[int, Query(ge=1, le=LONGEST_LISTING)] = 100


documents_router = Router(prefix="/v1/collections/{name}")
"""Lists, shows and removes documents; the app's engine must be `Indexed`."""


async def app_listings(request: Request) -> Listings:
    """Return the listings of this app."""
    state = request.app.state
    if not hasattr(state, "listings"):
        state.listings = Listings()
    listings: Listings = state.listings
    return listings


AppListings = Annotated[Listings, Depends(app_listings)]


@documents_router.get("/documents")
async def list_documents(
    name: str,
    page: Annotated[Listed, Query()],
    listings: AppListings,
    pool: Pool,
    deadline: RequestDeadline,
) -> Documents:
    """Documents of a version or alias, by name."""
    return await pool.run(
        lambda engine: listings.page(engine.store, name, page.source, page.q, page.offset, page.limit),
        deadline,
    )


@documents_router.get("/document")
async def show_document(
    name: str, address: Address, pool: Pool, deadline: RequestDeadline
) -> DocumentContent:
    """A document as it is searched."""
    return await pool.run(lambda engine: documents.content(engine.store, name, address), deadline)


@documents_router.get("/source")
async def find_source(
    name: str, source: Text, origin: Text, pool: Pool, deadline: RequestDeadline
) -> SourceUse:
    """Return whether documents of this source's name are from another place."""
    others = await pool.run(
        lambda engine: documents.is_used_elsewhere(engine.store, name, source, origin), deadline
    )
    return SourceUse(others=others)


@documents_router.post("/sources")
async def find_sources(
    name: str, request: SourcePlaces, pool: Pool, deadline: RequestDeadline
) -> SourcesThere:
    """Names of the sources at these places."""
    return SourcesThere(
        sources=await pool.run(
            lambda engine: documents.sources_at(engine.store, name, request.origins), deadline
        )
    )


@documents_router.post("/documents/held")
@takes_json(_ADDRESSES)
async def find_held(
    name: str, request: DocumentAddresses, pool: Pool, deadline: RequestDeadline
) -> HeldAddresses:
    """Which of these documents the version or alias holds."""
    present = await pool.run(lambda engine: documents.held(engine.store, name, request.addresses), deadline)
    return HeldAddresses(addresses=present)


@documents_router.post("/documents/remove")
@takes_json(_ADDRESSES)
async def remove_documents(
    name: str, request: DocumentAddresses, pool: Pool, deadline: RequestDeadline
) -> HeldAddresses:
    """Remove documents from a version that no alias points at; the reply names those that were there."""

    def remove(engine: Indexed) -> list[str]:
        require_unpublished(engine.store, name)
        return documents.remove(engine.store, name, request.addresses)

    return HeldAddresses(addresses=await pool.run(remove, deadline))


def require_unpublished(store: VectorStore, name: str) -> None:
    """Raise `CollectionConflict` if readers see the version: it never changes."""
    if any(is_published(info) and name in (info.name, *info.aliases) for info in store.collections()):
        raise CollectionConflict("Readers see this version. Make a copy, change that, and publish it.")
