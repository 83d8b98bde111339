"""Servers that lie, ramble or never end: bytes on a socket, which no server library would send."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from prometheus_client import CollectorRegistry

from chassis.errors import DependencyUnavailable, Overloaded
from chassis.http.calls import http_client
from chassis.http.client import Endpoint
from gateway.llm.asking import understand
from gateway.llm.call import VlmMetrics
from gateway.llm.client import VlmClient
from tests.unit.gateway.llm.stage import ASK, OPTIONS, deadline

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
STREAM = HEAD + b"\r\n"
LOOK = json.dumps({"reasoning": ["A car."], "answer": "Turin."})
PROMPT = understand(ASK, None, OPTIONS)


@asynccontextmanager
async def client_of(
    head: bytes, endless: bytes = b"", requests: list[bytes] | None = None
) -> AsyncIterator[VlmClient]:
    """Yield a client whose server sends `head`, then `endless` forever. Without `endless`, it disconnects.

    The server appends the requests that it receives to `requests`.
    """

    async def serve(stream: SocketStream) -> None:
        async with stream:
            received = b""
            while b"\r\n\r\n" not in received:
                received += await stream.receive()
            if requests is not None:
                requests.append(received)
            try:
                await stream.send(head)
                while endless:
                    await stream.send(endless)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # the client has had enough

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    async with listener, http_client() as http, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        observe = partial(VlmMetrics(CollectorRegistry()).observe, "vlm")
        yield VlmClient(http, Endpoint(f"http://127.0.0.1:{port}", "m"), observe)
        group.cancel_scope.cancel()


def event(content: str = "", **members: Any) -> bytes:
    body = {"choices": [{"index": 0, "delta": {"content": content}, **members}]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


ENDLESS = {
    "objects of another kind": event('{"a": 1}' * 500),
    "white space": event(" " * 4_000),
    "one string": event('{"reasoning": "' + "a" * 4_000),
    "no choices": b'data: {"choices": [], "id": "' + b"x" * 4_000 + b'"}\n\n',
    "objects that never become a form": event("{} ") * 50,
    "comments": b": still here\n\n" * 4_000,
    "one line": b"x" * 60_000,
}


@pytest.mark.parametrize("unit", ENDLESS.values(), ids=ENDLESS.keys())
async def test_endless_stream_is_stopped_before_the_deadline(unit: bytes) -> None:
    async with client_of(STREAM, unit) as client:
        with pytest.raises(DependencyUnavailable):
            await client.complete(PROMPT, deadline())


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
async def test_endless_body_is_not_buffered(status: bytes) -> None:
    async with client_of(b"HTTP/1.1 " + status + b"\r\n\r\n", b"x" * 60_000) as client:
        with pytest.raises(DependencyUnavailable):
            await client.complete(PROMPT, deadline())
        with pytest.raises(DependencyUnavailable):
            await client.ready(deadline())


OTHER_EVENTS = ["{", "[]", "3", '{"choices": 3}', '{"choices": [{"delta": 3}]}']
BROKEN = {
    "shorter than said": HEAD + b"Content-Length: 1000\r\n\r\ndata: x",
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "nothing": b"",
    "deep": STREAM + b"data: " + b"[" * 100_000 + b"\n\n",
    "a long number": STREAM + b'data: {"choices": ' + b"9" * 10_000 + b"}\n\n",
    "no end mark": STREAM + b"data: {}\n\n",
    "a page": STREAM + b"<html>\n",
    "no UTF-8": STREAM + b"data: \xff\n\n",
    **{text: STREAM + f"data: {text}\n\n".encode() for text in OTHER_EVENTS},
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN.keys())
async def test_broken_reply_is_an_unavailable_dependency(reply: bytes) -> None:
    async with client_of(reply) as client:
        with pytest.raises(DependencyUnavailable):
            await client.complete(PROMPT, deadline())


@pytest.mark.parametrize("after", [b"9" * 500, b"Fri, 31 Dec 9999 23:59:59 -2300", b"soon"])
async def test_retry_after_of_a_busy_server_is_bounded(after: bytes) -> None:
    head = b"HTTP/1.1 503 Busy\r\nRetry-After: " + after + b"\r\nContent-Length: 0\r\n\r\n"
    async with client_of(head) as client:
        with pytest.raises(Overloaded) as raised:
            await client.complete(PROMPT, deadline())
    assert raised.value.retry_after_s is not None
    assert 1 <= raised.value.retry_after_s <= 3_600


@pytest.mark.parametrize(
    ("entry", "probabilities"),
    [
        ({"logprob": 0.0, "top_logprobs": None}, (1.0,)),
        ({"logprob": float("nan"), "top_logprobs": []}, None),
        ({"logprob": 7.5, "top_logprobs": []}, None),
        ({"logprob": None, "top_logprobs": []}, None),
        ({"logprob": -0.1, "top_logprobs": [{"token": "x", "logprob": float("nan")}]}, None),
        ({}, None),
    ],
    ids=["no alternatives", "nan", "above one", "null", "a rival without number", "missing"],
)
async def test_invalid_probabilities_are_ignored(
    entry: dict[str, Any], probabilities: tuple[float, ...] | None
) -> None:
    reply = event(LOOK, logprobs={"content": [{"token": LOOK} | entry]}, finish_reason="stop")
    async with client_of(STREAM + reply + b"data: [DONE]\n\n") as client:
        completion = await client.complete(PROMPT, deadline())
    assert completion.value.answer == "Turin."
    assert completion.probabilities_of("answer") == probabilities


@pytest.mark.parametrize("usage", [{"prompt_tokens": -4}, {}, {"prompt_tokens": 10**30}, "much"])
async def test_invalid_usage_is_ignored(usage: object) -> None:
    bill = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    reply = event(LOOK, finish_reason="stop")
    async with client_of(STREAM + reply + bill + b"data: [DONE]\n\n") as client:
        completion = await client.complete(PROMPT, deadline())
    assert completion.usage is None
