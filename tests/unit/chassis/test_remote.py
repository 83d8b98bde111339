"""Calls to a ready-made model server: how long they last and what becomes of what goes wrong."""

import json
import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.http.remote import RemoteServer, in_index_order, unit_vector
from chassis.models.workers import EnginePool, PoolSize
from chassis.resilience.deadlines import Deadline
from tests.live import closed_port
from tests.loopback import taking_posts

Handle = Callable[[BaseHTTPRequestHandler, dict[str, object]], None]


def server(handle: Handle) -> AbstractContextManager[str]:
    """A server on the loopback that does what `handle` does with each JSON body."""
    return taking_posts(lambda request, body: handle(request, json.loads(body)))


def reply(status: int, body: bytes, **headers: str) -> Handle:
    def handle(request: BaseHTTPRequestHandler, _: dict[str, object]) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return handle


def post(handle: Handle) -> Any:
    """The reply to an empty body."""
    with server(handle) as url, closing(RemoteServer(url)) as remote:
        return remote.post("/x", {})


def test_body_key_and_path_are_sent() -> None:
    seen: list[tuple[str, str | None, dict[str, object]]] = []

    def handle(request: BaseHTTPRequestHandler, body: dict[str, object]) -> None:
        seen.append((request.path, request.headers["Authorization"], body))
        reply(200, b'{"data": [1]}')(request, body)

    with server(handle) as url, closing(RemoteServer(url + "/", "secret")) as remote:
        assert remote.post("/v1/embeddings", {"input": ["a"]}) == {"data": [1]}
    assert seen == [("/v1/embeddings", "Bearer secret", {"input": ["a"]})]


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds"), [(429, "7", 7), (503, "7", 7), (503, "9" * 400, 3600)]
)
def test_busy_server_is_overloaded_with_retry_after(status: int, retry_after: str, seconds: float) -> None:
    with pytest.raises(Overloaded) as caught:
        post(reply(status, b"{}", Retry_After=retry_after))
    assert caught.value.retry_after_s == seconds


@pytest.mark.parametrize("status", [301, 400, 401, 404, 500])
def test_other_refusals_report_the_status_without_the_body(status: int) -> None:
    body = b'{"error": "/srv/weights is missing at 10.0.0.3"}'
    with pytest.raises(DependencyUnavailable, match=str(status)) as caught:
        post(reply(status, body, Location="http://10.0.0.3/"))
    assert "10.0.0.3" not in caught.value.detail


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe", b'{"a": ', b"[" * 100_000])
def test_a_reply_that_is_not_json_is_a_broken_one(body: bytes) -> None:
    with pytest.raises(DependencyUnavailable, match="another shape"):
        post(reply(200, body))


def test_closed_port_is_an_unavailable_dependency() -> None:
    with (
        closing(RemoteServer(closed_port())) as remote,
        pytest.raises(DependencyUnavailable, match="cannot be reached"),
    ):
        remote.post("/x", {})


async def test_call_with_a_trickling_reply_can_be_cancelled() -> None:
    stop = threading.Event()
    ended = threading.Event()

    def drip(request: BaseHTTPRequestHandler, _: dict[str, object]) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000000")
        request.end_headers()
        while not stop.wait(0.01):
            request.wfile.write(b" ")

    def call(remote: RemoteServer) -> object:
        try:
            return remote.post("/x", {})
        finally:
            ended.set()

    with server(drip) as url, closing(RemoteServer(url)) as remote:
        pool = EnginePool(remote, PoolSize())
        with pytest.raises(DeadlineExceeded):
            await pool.run(call, Deadline.after_ms(200))
        pool.close()
        assert ended.is_set()
        stop.set()


@pytest.mark.parametrize("indexes", [[0], [0, 1, 2], [0, 0], [1, 2], ["zero", 1], [None, 1]])
def test_entries_follow_input_order_with_one_per_input(
    indexes: list[Any],
) -> None:
    entries = [{"index": 1, "of": "b"}, {"index": 0, "of": "a"}]
    assert [entry["of"] for entry in in_index_order(entries, 2)] == ["a", "b"]
    with pytest.raises((TypeError, ValueError)):
        in_index_order([{"index": index} for index in indexes], 2)


@pytest.mark.parametrize(
    "values", [[], [0.0, 0.0], [1.0, math.nan], [1.0, None], ["much"], [True], [10**400], "not base64!", None]
)
def test_vectors_are_normalised_and_zero_vectors_refused(values: Any) -> None:
    assert unit_vector([3, 4.0]).tolist() == pytest.approx([0.6, 0.8])
    with pytest.raises((ValueError, OverflowError)):
        unit_vector(values)
