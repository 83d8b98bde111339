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
from services.text_search.app import create_app
from services.text_search.engine import BGE_QUERY_INSTRUCTION, Instructions
from services.text_search.engines.remote import RemoteEncoder, RemoteOptions, shorten
from services.text_search.settings import Engine, TextSearchSettings
from tests.live import live
from tests.unit.services.text_embedding_server import KEY, MODEL, PATH, SIZE, EmbeddingServer, word_vector
from tests.unit.services.text_search_calls import chunk, publish

PLAIN = Instructions("", "")
Answer = TypeVar("Answer")


async def call_encoder(
    server: EmbeddingServer,
    ask: Callable[[RemoteEncoder], Answer],
    model: str = MODEL,
    **options: Any,
) -> Answer:
    """What `ask` gets from an encoder on the server; `Instructions` come in as `instructions`."""
    instructions = options.pop("instructions", PLAIN)

    def work(url: str) -> Answer:
        with closing(RemoteServer(url, KEY, model)) as client:
            return ask(RemoteEncoder(client, instructions, RemoteOptions(PATH, **options)))

    async with live(server.app()) as http:
        return await anyio.to_thread.run_sync(work, str(http.base_url))


def unit(text: str) -> Any:
    vector = np.asarray(word_vector(text), np.float32)
    return vector / np.linalg.norm(vector)


async def test_vectors_keep_the_order_of_the_texts() -> None:
    texts = [f"The harbour of Lindvik, part {number}." for number in range(40)]
    server = EmbeddingServer()
    vectors = await call_encoder(server, lambda encoder: encoder.passages(texts))
    assert [vector.dtype for vector in vectors] == [np.float32] * 40
    np.testing.assert_allclose(np.array(vectors), np.array([unit(text) for text in texts]), atol=1e-6)


async def test_requests_hold_no_more_texts_than_a_batch() -> None:
    server = EmbeddingServer()
    await call_encoder(server, lambda encoder: encoder.passages(["a"] * 20), max_batch=8)
    assert [len(texts) for texts in server.seen] == [1, 8, 8, 4]


async def test_instructions_stand_before_questions_and_passages() -> None:
    server = EmbeddingServer()
    await call_encoder(
        server,
        lambda encoder: (encoder.queries(["who?"]), encoder.passages(["Ada."])),
        instructions=Instructions("query: ", "passage: "),
    )
    assert server.seen[1:] == [["query: who?"], ["passage: Ada."]]


async def test_a_text_that_the_server_would_refuse_as_too_long_is_cut() -> None:
    server = EmbeddingServer()
    await call_encoder(
        server, lambda encoder: encoder.passages(["incomprehensibilities " * 600, "x" * 20_000, ""])
    )
    long, unbroken, empty = server.seen[-1]
    assert long.split() == ["incomprehensibilities"] * 127
    assert unbroken == empty == " "


async def test_the_size_and_the_model_are_what_the_server_says() -> None:
    about = await call_encoder(EmbeddingServer(), lambda encoder: (encoder.size, encoder.name), model="")
    assert about == (SIZE, "bge-large-en-v1.5 (remote)")


def entry(embedding: object, index: object = 0) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": embedding}]}


@pytest.mark.parametrize(
    "reply",
    [
        [],
        {"data": None},
        entry([0.0, 0.0]),
        entry([10**400]),
        {"data": [*entry([1.0])["data"], *entry([1.0], 1)["data"]]},
    ],
)
async def test_a_reply_of_another_shape_is_called_that(reply: object) -> None:
    server = EmbeddingServer(reply=reply)
    with pytest.raises(DependencyUnavailable, match="a reply of another shape"):
        await call_encoder(server, lambda encoder: encoder.size)


async def test_vectors_that_change_their_size_are_refused() -> None:
    server = EmbeddingServer()

    def ask(encoder: RemoteEncoder) -> None:
        server.reply = entry([1.0, 0.0])
        encoder.queries(["who?"])

    with pytest.raises(DependencyUnavailable, match="another shape"):
        await call_encoder(server, ask)


@pytest.mark.parametrize("text", ["", "word", "東京" * 300, "a-b " * 600, "…" * 600, "x" * 9000])
def test_what_is_left_of_a_text_begins_it_and_fits(text: str) -> None:
    left = shorten(text, 512)
    assert text.startswith(left)
    assert shorten(left, 512) == left


HARBOUR, AUTHOR = chunk("The harbour of Lindvik was dredged."), chunk("Mira Holm wrote The Salt Road.")


def settings(folder: Path, url: str) -> TextSearchSettings:
    return TextSearchSettings(
        port=0,
        data_dir=folder,
        engine=Engine.REMOTE,
        remote_url=url,
        remote_model=MODEL,
        remote_key=KEY,
        remote_path=PATH,
    )


async def test_pages_are_found_after_a_restart(tmp_path: Path) -> None:
    question = {"queries": ["Who wrote The Salt Road?"], "k": 1}
    server = EmbeddingServer()
    async with live(server.app()) as embeddings:
        chosen = settings(tmp_path, str(embeddings.base_url))
        async with live(create_app(chosen)) as client:
            await publish(client, "v1", [HARBOUR, AUTHOR])
            first = (await client.post("/v1/text-search", json=question)).json()
        async with live(create_app(chosen)) as client:
            again = (await client.post("/v1/text-search", json=question)).json()
            assert (await client.get("/info")).json()["engine"] == "remote"
    assert first["hits"][0]["snippet"] == AUTHOR["text"]
    assert again == first
    assert server.seen[-1] == [BGE_QUERY_INSTRUCTION + question["queries"][0]]  # type: ignore[index]
