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
from chassis.models.cancellation import Call, current_call
from chassis.models.workers import EnginePool, PoolSize
from chassis.resilience.deadlines import Deadline
from chassis.rgb import RGB
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.engines.remote import RemoteImageEncoder, RemoteOptions, RemoteShape
from services.image_search.settings import ImageSearchSettings
from tests.live import live, served
from tests.unit.services.image_encoders import PAINTS, SIZE, colours, painted
from tests.unit.services.image_search_calls import fill
from tests.unit.services.model_server import KEY, MODEL, Fault, ModelServer
from tests.unit.services.sample_pictures import KINDS, picture

SHAPES = list(RemoteShape)
BY_TEXT = "/v1/image-search/text"
BOOK = picture("book-0088", 240)
POSTER = picture("game-0070", 240)


@asynccontextmanager
async def encoding(
    server: ModelServer, shape: RemoteShape, **options: Any
) -> AsyncIterator[RemoteImageEncoder]:
    """An encoder on the running `server`."""
    async with served(server.app()) as url:
        with closing(RemoteServer(url, KEY, MODEL, "image_search")) as remote:
            yield RemoteImageEncoder(remote, RemoteOptions(shape, **{"per_request": 4, **options}))


async def embedded(remote: RemoteImageEncoder, photos: list[RGB]) -> np.ndarray[Any, Any]:
    return np.stack(await anyio.to_thread.run_sync(remote.forward, photos))


@pytest.mark.parametrize("shape", SHAPES)
async def test_vectors_come_back_in_the_order_of_the_photos(shape: RemoteShape) -> None:
    server = ModelServer()
    photos = [picture(name, 96) for name in KINDS]
    async with encoding(server, shape) as remote:
        sizes = [await anyio.to_thread.run_sync(lambda: remote.size) for _ in range(2)]
        assert (sizes, len(server.bodies)) == ([SIZE] * 2, 1)
        vectors = await embedded(remote, photos)
    expected = np.stack([colours(photo) for photo in photos])
    assert vectors.dtype == np.float32
    assert np.abs(vectors - expected).max() < 0.02
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(7), abs=1e-5)
    assert len(server.bodies) == 1 + (7 if shape is RemoteShape.VLLM else 2)


@pytest.mark.parametrize(
    ("shape", "spoil"),
    [
        (RemoteShape.COHERE, lambda vectors: [*vectors, vectors[-1]]),
        (RemoteShape.VLLM, lambda vectors: [*vectors, vectors[-1]]),
        (RemoteShape.COHERE, lambda vectors: [vector[:-1] for vector in vectors]),
        (RemoteShape.INFINITY, lambda vectors: [None]),
    ],
    ids=["one vector too many", "one entry too many", "another size", "no vector"],
)
async def test_unusable_vectors_are_an_error(shape: RemoteShape, spoil: Fault) -> None:
    server = ModelServer()
    async with encoding(server, shape) as remote:
        assert (await embedded(remote, [BOOK])).shape == (1, SIZE)
        server.spoil = spoil
        with pytest.raises(DependencyUnavailable, match="shape"):
            await embedded(remote, [BOOK])
        server.fault = lambda _: {"vectors": []}
        with pytest.raises(DependencyUnavailable, match="shape"):
            await embedded(remote, [BOOK])


async def test_parallel_requests_keep_the_caller_s_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them asks `current_call` in a thread of its own."""
    calls: list[Call | None] = []
    post = RemoteServer.post

    def noted(server: RemoteServer, path: str, body: Any) -> Any:
        calls.append(current_call())
        return post(server, path, body)

    monkeypatch.setattr(RemoteServer, "post", noted)
    async with encoding(ModelServer(), RemoteShape.VLLM) as remote:
        pool = EnginePool(remote, PoolSize(1, 1))
        await pool.run(lambda engine: engine.forward([BOOK, POSTER, BOOK]), Deadline.after_ms(20_000))
        pool.close()
    assert [call is not None and call.deadline is not None for call in calls] == [True] * 3


def settings(url: str, shape: RemoteShape, folder: Path, **others: Any) -> ImageSearchSettings:
    return ImageSearchSettings(
        **{"remote_images": 4, **others},
        port=0,
        data_dir=folder,
        engine="remote",
        remote_url=url,
        remote_model=MODEL,
        remote_key=KEY,
        remote_shape=shape,
    )


async def test_service_starts_before_its_server(tmp_path: Path) -> None:
    server = ModelServer(fault=lambda _: Response(status_code=500))
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
    texts = ["green", "red", "blue", "a red door", "something blue", "a green door"]
    async with served(ModelServer().app()) as url:
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


async def test_remote_text_search_is_off_by_default(tmp_path: Path) -> None:
    server = ModelServer()
    async with (
        served(server.app()) as url,
        live(create_app(settings(url, RemoteShape.INFINITY, tmp_path))) as client,
    ):
        before = len(server.bodies)
        reply = await client.post(BY_TEXT, json={"texts": ["red"]})
        info = (await client.get("/info")).json()
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:not_supported")
    assert (len(server.bodies), info["takes"]) == (before, ["image"])
