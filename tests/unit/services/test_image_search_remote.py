"""Image search on an embedding server, in each API shape."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio.to_thread
import numpy as np
import pytest
from fastapi import Response

from chassis.errors import DependencyUnavailable
from chassis.http.remote import RemoteServer
from chassis.models.cancellation import current_call
from chassis.models.workers import EnginePool, PoolSize
from chassis.resilience.deadlines import Deadline
from chassis.rgb import RGB
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.engines.remote import RemoteImageEncoder, RemoteOptions, RemoteShape
from services.image_search.settings import ImageSearchSettings
from tests.live import live, served
from tests.unit.services.image_embedding_server import MODEL, EmbeddingServer, Fault
from tests.unit.services.image_encoders import PAINTS, SIZE, colours, painted
from tests.unit.services.image_search_calls import fill
from tests.unit.services.sample_pictures import KINDS, picture

SHAPES = list(RemoteShape)
BY_TEXT = "/v1/image-search/text"
BOOK = picture("book-0088", 240)
POSTER = picture("game-0070", 240)
THINGS = {"Salt": BOOK, "Fair": POSTER}


@asynccontextmanager
async def encoding(
    server: EmbeddingServer, shape: RemoteShape, **options: Any
) -> AsyncIterator[RemoteImageEncoder]:
    """An encoder on the running `server`."""
    async with served(server.app()) as url:
        with closing(RemoteServer(url, "secret", MODEL, "image_search")) as remote:
            yield RemoteImageEncoder(remote, RemoteOptions(shape, **{"per_request": 4, **options}))


async def embedded(remote: RemoteImageEncoder, photos: list[RGB]) -> np.ndarray[Any, Any]:
    return np.stack(await anyio.to_thread.run_sync(remote.forward, photos))


@pytest.mark.parametrize("shape", SHAPES)
async def test_vectors_come_back_in_the_order_of_the_photos(shape: RemoteShape) -> None:
    server = EmbeddingServer()
    photos = [picture(name, 96) for name in KINDS]
    async with encoding(server, shape) as remote:
        vectors = await embedded(remote, photos)
    expected = np.stack([colours(photo) for photo in photos])
    assert vectors.dtype == np.float32
    assert np.abs(vectors - expected).max() < 0.02
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(7), abs=1e-5)
    assert server.requests == (7 if shape is RemoteShape.VLLM else 2)
    assert server.keys == {"Bearer secret"}


async def test_the_size_of_the_vectors_is_asked_of_the_server_once() -> None:
    server = EmbeddingServer()
    async with encoding(server, RemoteShape.INFINITY) as remote:
        sizes = [await anyio.to_thread.run_sync(lambda: remote.size) for _ in range(3)]
    assert sizes == [SIZE] * 3
    assert server.requests == 1


async def test_cohere_s_own_service_is_told_the_input_type() -> None:
    async with encoding(EmbeddingServer(), RemoteShape.COHERE, input_type="image") as remote:
        assert (await embedded(remote, [BOOK])).shape == (1, SIZE)
    async with encoding(EmbeddingServer(), RemoteShape.COHERE, input_type="clustering") as remote:
        with pytest.raises(DependencyUnavailable, match="422"):
            await embedded(remote, [BOOK])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda vectors: [*vectors, vectors[-1]],
        lambda vectors: [vector[:-1] for vector in vectors],
        lambda vectors: [None],
    ],
    ids=["one vector too many", "another size", "no vector"],
)
async def test_unusable_vectors_are_an_error(shape: RemoteShape, spoil: Fault) -> None:
    server = EmbeddingServer()
    async with encoding(server, shape) as remote:
        assert (await embedded(remote, [BOOK])).shape == (1, SIZE)
        server.spoil = spoil
        with pytest.raises(DependencyUnavailable, match="shape"):
            await embedded(remote, [BOOK])
        server.fault = lambda _: {"vectors": []}
        with pytest.raises(DependencyUnavailable, match="shape"):
            await embedded(remote, [BOOK])


async def test_parallel_requests_keep_the_caller_s_deadline() -> None:
    """Each of them asks `current_call` in a thread of its own."""
    async with encoding(EmbeddingServer(), RemoteShape.VLLM) as remote:
        pool = EnginePool(remote, PoolSize(1, 1))
        deadlines = seen_deadlines(remote)
        await pool.run(lambda engine: engine.forward([BOOK, POSTER, BOOK]), Deadline.after_ms(20_000))
        pool.close()
    assert len(deadlines) == 3
    assert None not in deadlines


def seen_deadlines(remote: RemoteImageEncoder) -> list[Deadline | None]:
    """Fills up with the deadline that each request of `remote` runs under."""
    deadlines: list[Deadline | None] = []
    post = remote._server.post

    def noted(path: str, body: Any) -> Any:
        call = current_call()
        deadlines.append(call.deadline if call else None)
        return post(path, body)

    remote._server.post = noted  # type: ignore[method-assign]
    return deadlines


def settings(url: str, shape: RemoteShape, folder: Path, **others: Any) -> ImageSearchSettings:
    return ImageSearchSettings(
        **{"remote_images": 4, **others},
        port=0,
        data_dir=folder,
        engine="remote",
        remote_url=url,
        remote_model=MODEL,
        remote_shape=shape,
    )


async def test_service_starts_before_its_server(tmp_path: Path) -> None:
    server = EmbeddingServer(fault=lambda _: Response(status_code=500))
    async with (
        served(server.app()) as url,
        live(create_app(settings(url, RemoteShape.INFINITY, tmp_path))) as client,
    ):
        before = [await client.get("/health/ready"), await client.post("/v1/collections", json={"name": "a"})]
        server.fault = lambda reply: reply
        after = [await client.get("/health/ready"), await client.post("/v1/collections", json={"name": "a"})]
    assert [reply.status_code for reply in before] == [503, 503]
    assert [reply.status_code for reply in after] == [200, 200]


@pytest.mark.parametrize(
    ("shape", "input_type"), [*((shape, "") for shape in SHAPES), (RemoteShape.COHERE, "image")]
)
async def test_text_finds_pictures_if_enabled(shape: RemoteShape, input_type: str, tmp_path: Path) -> None:
    texts = ["a green door", "red", "something blue", "a red door", "blue", "green"]
    async with served(EmbeddingServer().app()) as url:
        more = {"texts": True, "remote_images": 4, "remote_input_type": input_type}
        async with live(create_app(settings(url, shape, tmp_path, **more))) as client:
            await fill(client, {paint: painted(paint) for paint in PAINTS})
            replies = [await client.post(BY_TEXT, json={"texts": [text], "k": 1}) for text in texts]
            together = await client.post(BY_TEXT, json={"texts": texts, "k": 3})
            info = (await client.get("/info")).json()
    results = [ImageSearchReply.model_validate_json(reply.content).hits[0].entity for reply in replies]
    assert results == ["green", "red", "blue", "red", "blue", "green"]
    hits = ImageSearchReply.model_validate_json(together.content).hits
    assert {hit.entity: hit.image_index for hit in hits} == {"green": 0, "red": 1, "blue": 2}
    assert None not in {hit.cosine for hit in hits}
    assert info["takes"] == ["image", "text"]


async def test_a_remote_model_is_not_taken_to_know_words(tmp_path: Path) -> None:
    server = EmbeddingServer()
    async with (
        served(server.app()) as url,
        live(create_app(settings(url, RemoteShape.INFINITY, tmp_path))) as client,
    ):
        before = server.requests
        reply = await client.post(BY_TEXT, json={"texts": ["red"]})
        info = (await client.get("/info")).json()
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:not_supported")
    assert (server.requests, info["takes"]) == (before, ["image"])
