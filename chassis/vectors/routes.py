"""The collection routes that every service with vectors has."""

from collections.abc import Iterator
from typing import Annotated, Protocol

from fastapi import Depends
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from chassis.errors import CollectionNotFound, InvalidRequest, LoreglassError
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.http.health import Note
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from chassis.telemetry.metrics import Metrics
from chassis.vectors.port import CollectionInfo, CollectionSchema, VectorStore, recall
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


class Indexed(Protocol):
    """An engine that keeps what it knows in collections of one schema."""

    @property
    def store(self) -> VectorStore:
        """The store of the collections."""
        ...

    @property
    def schema(self) -> CollectionSchema:
        """The schema of every collection of this engine."""
        ...


_IDS = JsonLimits(max_bytes=2**20, max_items=8_192)

Pool = Annotated[EnginePool[Indexed], Depends(engine_pool)]


collections_router = Router(prefix="/v1")
"""Lists the collections; the app's engine must be `Indexed`."""
indexing_router = Router(prefix="/v1")
"""Creates, fills, publishes and drops versions: for those who write."""


@collections_router.get("/collections")
async def list_collections(pool: Pool, deadline: RequestDeadline) -> Collections:
    """Every version, its size and its aliases."""
    return _wire_all(await pool.run(lambda engine: engine.store.collections(), deadline))


@indexing_router.post("/collections")
async def create_collection(request: CreateCollection, pool: Pool, deadline: RequestDeadline) -> Collection:
    """Make a version, as a copy of `base` where given; making it twice is making it once."""

    def create(engine: Indexed) -> CollectionInfo:
        engine.store.create(request.name, engine.schema, request.base)
        return _info(engine.store, request.name)

    return _wire(await pool.run(create, deadline))


@indexing_router.delete("/collections/{name}")
async def drop_collection(name: str, pool: Pool, deadline: RequestDeadline) -> Collections:
    """Delete a version that no alias points at; the reply lists what is left."""

    def drop(engine: Indexed) -> list[CollectionInfo]:
        engine.store.drop(name)
        return engine.store.collections()

    return _wire_all(await pool.run(drop, deadline))


@indexing_router.post("/aliases")
async def publish_alias(request: PublishAlias, pool: Pool, deadline: RequestDeadline) -> Collection:
    """Point the alias at the version, for every reader at once."""

    def publish(engine: Indexed) -> CollectionInfo:
        engine.store.publish(request.alias, request.collection)
        return _info(engine.store, request.collection)

    return _wire(await pool.run(publish, deadline))


@indexing_router.post("/collections/{name}/missing")
@takes_json(_IDS)
async def missing_points(name: str, request: PointIds, pool: Pool, deadline: RequestDeadline) -> MissingIds:
    """Which of these ids the version or alias does not hold."""
    if not all(map(is_point_id, request.ids)):
        raise InvalidRequest("Ids are UUIDs in canonical form.")
    return MissingIds(ids=await pool.run(lambda engine: engine.store.missing(name, request.ids), deadline))


@indexing_router.put("/collections/{name}/finished")
@takes_json(_IDS)
async def finish_parts(
    name: str, request: FinishedParts, pool: Pool, deadline: RequestDeadline
) -> Collection:
    """Remember which parts of its input the version holds whole, for a filling that is cut short."""

    def finish(engine: Indexed) -> CollectionInfo:
        engine.store.finish(name, request.parts)
        return _info(engine.store, name)

    return _wire(await pool.run(finish, deadline))


@indexing_router.post("/collections/{name}/build")
async def build_index(name: str, request: BuildIndex, pool: Pool, deadline: RequestDeadline) -> Built:
    """Build the version's index; where that goes on elsewhere, ask again until it is ready."""

    def build(engine: Indexed) -> Built:
        ready = engine.store.build(name)
        share = 1.0
        if ready and request.sample:  # a Qdrant server refuses to list no points
            share = recall(engine.store, name, engine.schema, request.sample, request.k)
        return Built(points=_info(engine.store, name).points, ready=ready, recall=share)

    return await pool.run(build, deadline)


def _info(store: VectorStore, name: str) -> CollectionInfo:
    for info in store.collections():
        if info.name == name:
            return info
    raise CollectionNotFound(f"There is no collection {name!r}.")


def _wire_all(infos: list[CollectionInfo]) -> Collections:
    return Collections(collections=[_wire(info) for info in infos])


def _wire(info: CollectionInfo) -> Collection:
    return Collection(
        name=info.name,
        points=info.points,
        aliases=list(info.aliases),
        finished=list(info.finished),
        fault=info.fault,
    )


class _Probed(Protocol):
    @property
    def store(self) -> VectorStore: ...

    def probe(self) -> None: ...


def probed(engine: _Probed) -> Note | None:
    """Do a little of the real work, or raise; a note where something is not as it should be."""
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
    """Report what is published at each scrape."""
    metrics.registry.register(_PublishedPoints(metrics.service, store))
