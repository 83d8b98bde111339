"""A server that closes its connection after each stream, as llama.cpp does though it promises to keep it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from chassis.errors import DependencyUnavailable
from chassis.http.calls import http_client
from chassis.resilience.deadlines import Deadline
from gateway.llm.call import VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.llm.prompt import TextPart, TextPrompt

pytestmark = pytest.mark.anyio

PROMPT = TextPrompt("probe", "You count.", (TextPart("Count."),), 8)
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"one"},"finish_reason":"stop"}]}\n\n'
STREAM = EVENT + b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
REPLY = HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(STREAM), STREAM)


class Closing:
    """Answers what it reads with `reply`, and closes. `asked`: connections on which something came."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self.asked = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(self._reply)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def client_of(server: Closing) -> AsyncIterator[VlmClient]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    async with listening, http_client() as http:
        port = listening.sockets[0].getsockname()[1]
        yield VlmClient(http, VlmEndpoint(f"http://127.0.0.1:{port}", "tiny"))


async def test_a_call_on_a_connection_that_was_closed_meanwhile_goes_out_on_a_new_one() -> None:
    server = Closing(REPLY)
    async with client_of(server) as client:
        for _ in range(20):
            assert (await client.write(PROMPT, Deadline.after_ms(10_000))).text == "one"
    assert server.asked == 20


async def test_a_server_that_closes_a_new_connection_without_a_word_is_not_asked_again() -> None:
    server = Closing(b"")
    async with client_of(server) as client:
        with pytest.raises(DependencyUnavailable):
            await client.write(PROMPT, Deadline.after_ms(10_000))
    assert server.asked == 1
