"""The routes of collections and of their documents that every service with vectors has."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Query, Request
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel

from chassis.errors import CollectionConflict, CollectionNotFound, InvalidRequest, LoreglassError
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.http.health import Note
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from chassis.telemetry.metrics import Metrics
from chassis.vectors import documents
from chassis.vectors.documents import Listings, is_published
from chassis.vectors.port import Indexed, VectorStore, recall
from chassis.vectors.rules import is_point_id
from contracts.collections import (
    BuildIndex,
    Built,
    Collection,
    Collections,
    CreateCollection,
    FinishedParts,
    MissingIds,
    PointIds,
    PublishAlias,
)
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

_IDS = JsonLimits(max_bytes=2**20, max_items=8_192)

_ADDRESSES = JsonLimits(max_bytes=4 * 2**20, max_items=1_024)

Pool = Annotated[EnginePool[Indexed], Depends(engine_pool)]
Text = Annotated[str, Query(max_length=LONGEST_NAME)]
Address = Annotated[str, Query(min_length=1, max_length=4_096)]


collections_router = Router(prefix="/v1")
"""Lists the collections; the app's engine must be `Indexed`."""
indexing_router = Router(prefix="/v1")
"""Creates, fills, publishes and drops versions: for those who write."""


@collections_router.get("/collections")
async def list_collections(pool: Pool, deadline: RequestDeadline) -> Collections:
    """Every version, its size and its aliases."""
    return await pool.run(_collections, deadline)


@indexing_router.post("/collections")
async def create_collection(request: CreateCollection, pool: Pool, deadline: RequestDeadline) -> Collection:
    """Make a version, as a copy of `base` where given; making it twice is making it once."""

    def create(engine: Indexed) -> Collection:
        engine.store.create(request.name, engine.schema, request.base)
        return _collection(engine.store, request.name)

    return await pool.run(create, deadline)


@indexing_router.delete("/collections/{name}")
async def drop_collection(name: str, pool: Pool, deadline: RequestDeadline) -> Collections:
    """Delete a version that no alias points at; the reply lists what is left."""

    def drop(engine: Indexed) -> Collections:
        engine.store.drop(name)
        return _collections(engine)

    return await pool.run(drop, deadline)


@indexing_router.post("/aliases")
async def publish_alias(request: PublishAlias, pool: Pool, deadline: RequestDeadline) -> Collection:
    """Point the alias at the version, for every reader at once."""

    def publish(engine: Indexed) -> Collection:
        engine.store.publish(request.alias, request.collection)
        return _collection(engine.store, request.collection)

    return await pool.run(publish, deadline)


@indexing_router.post("/collections/{name}/missing")
@takes_json(_IDS)
async def missing_points(name: str, request: PointIds, pool: Pool, deadline: RequestDeadline) -> MissingIds:
    """Return those of the ids that are missing in the version or alias."""
    if not all(map(is_point_id, request.ids)):
        raise InvalidRequest("Ids are UUIDs in canonical form.")
    return MissingIds(ids=await pool.run(lambda engine: engine.store.missing(name, request.ids), deadline))


@indexing_router.put("/collections/{name}/finished")
@takes_json(_IDS)
async def finish_parts(
    name: str, request: FinishedParts, pool: Pool, deadline: RequestDeadline
) -> Collection:
    """Remember which parts of its input the version holds whole, for a filling that is cut short."""

    def finish(engine: Indexed) -> Collection:
        engine.store.finish(name, request.parts)
        return _collection(engine.store, name)

    return await pool.run(finish, deadline)


@indexing_router.post("/collections/{name}/build")
async def build_index(name: str, request: BuildIndex, pool: Pool, deadline: RequestDeadline) -> Built:
    """Build the version's index; where that goes on elsewhere, ask again until it is ready."""

    def build(engine: Indexed) -> Built:
        ready = engine.store.build(name)
        share = 1.0
        if ready and request.sample:  # a Qdrant server refuses to list no points
            share = recall(engine.store, name, engine.schema, request.sample, request.k)
        return Built(points=_collection(engine.store, name).points, ready=ready, recall=share)

    return await pool.run(build, deadline)


def _collections(engine: Indexed) -> Collections:
    return Collections.model_validate({"collections": engine.store.collections()}, from_attributes=True)


def _collection(store: VectorStore, name: str) -> Collection:
    for info in store.collections():
        if info.name == name:
            return Collection.model_validate(info, from_attributes=True)
    raise CollectionNotFound(f"There is no collection {name!r}.")


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
    """Return those of the documents that are in the version or alias."""
    present = await pool.run(
        lambda engine: documents.present(engine.store, name, request.addresses), deadline
    )
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


def probe_index(engine: Indexed) -> Note | None:
    """Probe the engine. Return a note with the store's faults, if it has any."""
    engine.probe()
    notes = engine.store.notes()
    return Note(" ".join(notes)) if notes else None


class _PublishedPoints(Collector):
    """Asked at each scrape: another replica, or the store's operator, may publish too."""

    def __init__(self, service: str, store: VectorStore) -> None:
        self._service = service
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Points by alias: versions come and go, and would each make a series. Nothing while the store is
        away; readiness tells of that.
        """
        family = GaugeMetricFamily(
            "loreglass_collection_points", "Points in what an alias points at.", labels=["service", "alias"]
        )
        try:
            collections = self._store.collections()
        except LoreglassError:
            collections = []
        for info in collections:
            for alias in info.aliases:
                family.add_metric([self._service, alias], info.points)
        yield family


def watch_published(metrics: Metrics, store: VectorStore) -> None:
    """Report the published versions at each scrape."""
    metrics.registry.register(_PublishedPoints(metrics.service, store))
