"""Remote text encoders and their errors."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
import numpy as np
import pytest

from chassis.errors import DependencyUnavailable
from chassis.http.remote import RemoteServer
from chassis.tokens import shorten
from services.text_search.app import create_app
from services.text_search.engine import BGE_QUERY_INSTRUCTION, Instructions
from services.text_search.engines.remote import RemoteEncoder, RemoteOptions
from tests.live import live, served
from tests.unit.services.image_encoders import SIZE
from tests.unit.services.model_server import KEY, MODEL, OTHER_PATH, ModelServer, vector
from tests.unit.services.text_search_calls import chunk, publish, remote_settings

PLAIN = Instructions("", "")
Answer = TypeVar("Answer")


async def call_encoder(
    server: ModelServer,
    ask: Callable[[RemoteEncoder], Answer],
    model: str = MODEL,
    **options: Any,
) -> Answer:
    """What `ask` gets from an encoder on the server; `Instructions` come in as `instructions`."""
    instructions = options.pop("instructions", PLAIN)

    def work(url: str) -> Answer:
        with closing(RemoteServer(url, KEY, model)) as client:
            return ask(RemoteEncoder(client, instructions, RemoteOptions(OTHER_PATH, **options)))

    async with served(server.app()) as url:
        return await anyio.to_thread.run_sync(work, url)


def inputs(server: ModelServer) -> list[list[str]]:
    """Return the texts of each request but the first, which only measures the size of the vectors."""
    return [body.input for body in server.bodies[1:]]


async def test_vectors_keep_the_order_of_the_texts_in_requests_of_a_batch() -> None:
    texts = [f"The harbour of Lindvik, part {number}." for number in range(40)]
    server = ModelServer()
    vectors = await call_encoder(server, lambda encoder: encoder.passages(texts), max_batch=16)
    expected = np.array([vector(text) for text in texts])
    assert {each.dtype for each in vectors} == {np.dtype(np.float32)}
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1)[:, None], atol=1e-6)
    assert [len(texts) for texts in inputs(server)] == [16, 16, 8]


async def test_instructions_are_prepended_and_long_texts_cut() -> None:
    server = ModelServer()
    long = ["incomprehensibilities " * 600, "x" * 20_000, ""]
    await call_encoder(
        server,
        lambda encoder: (encoder.queries(["who?"]), encoder.passages(["Ada.", *long])),
        instructions=Instructions("query: ", ""),
    )
    assert inputs(server) == [["query: who?"], ["Ada.", "incomprehensibilities " * 127, " ", " "]]


async def test_vector_size_and_model_come_from_the_server() -> None:
    about = await call_encoder(ModelServer(), lambda encoder: (encoder.size, encoder.name), model="")
    assert about == (SIZE, "tiny (remote)")


@pytest.mark.parametrize("reply", [[], {"data": None}, {"data": [{"index": 0, "embedding": [10**400]}]}])
async def test_malformed_reply_is_reported(reply: object) -> None:
    with pytest.raises(DependencyUnavailable, match="a reply of another shape"):
        await call_encoder(ModelServer(fault=lambda _: reply), lambda encoder: encoder.size)


async def test_vectors_that_change_their_size_are_refused() -> None:
    server = ModelServer()

    def ask(encoder: RemoteEncoder) -> None:
        server.spoil = lambda vectors: [vectors[0][:-1]]
        encoder.queries(["who?"])

    with pytest.raises(DependencyUnavailable, match="another shape"):
        await call_encoder(server, ask)


@pytest.mark.parametrize("text", ["", "word", "東京" * 300, "a-b " * 600, "…" * 600, "x" * 9000])
def test_shortened_text_is_a_prefix_within_the_limit(text: str) -> None:
    left = shorten(text, 512)
    assert text.startswith(left)
    assert shorten(left, 512) == left


async def test_pages_are_found_after_a_restart(tmp_path: Path) -> None:
    harbour, author = chunk("The harbour of Lindvik was dredged."), chunk("Mira Holm wrote The Salt Road.")
    question = "Who wrote The Salt Road?"
    server, replies = ModelServer(), []
    async with served(server.app()) as url:
        settings = remote_settings(tmp_path, url, remote_path=OTHER_PATH)
        for start in range(2):
            async with live(create_app(settings)) as client:
                if start == 0:
                    await publish(client, "v1", [harbour, author])
                replies.append(await client.post("/v1/text-search", json={"queries": [question], "k": 1}))
    first, again = (reply.json() for reply in replies)
    assert again == first
    assert first["hits"][0]["snippet"] == author["text"]
    assert server.bodies[-1].input == [BGE_QUERY_INSTRUCTION + question]
