"""The log's line of one request: when there is one, and what it says of the time and the trace."""

from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from contracts import headers
from tests.live import live
from tests.unit.chassis.apps import Witness, probe_app

pytestmark = pytest.mark.anyio

TRACES = ("0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736")


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with live(probe_app(Witness())) as made:
        yield made


async def line_of(
    client: httpx.AsyncClient, path: str, given: list[tuple[str, str]] | None = None
) -> MutableMapping[str, Any]:
    """The one that a GET leaves."""
    with capture_logs() as logged:
        await client.get(path, headers=given)
    [line] = [line for line in logged if line["event"] == "request"]
    return line


@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/info"])
async def test_what_machines_ask_all_day_long_is_no_line_while_all_is_well(
    client: httpx.AsyncClient, path: str
) -> None:
    assert (await line_of(client, path))["log_level"] == "debug"
    refused = await line_of(client, path, [(headers.DEADLINE, "0")])
    assert (refused["log_level"], refused["status"]) == ("info", 504)


async def test_a_line_says_what_was_left_of_the_caller_s_time(client: httpx.AsyncClient) -> None:
    in_time = await line_of(client, "/remaining", [(headers.DEADLINE, "5000")])
    too_late = await line_of(client, "/remaining", [(headers.DEADLINE, "0")])
    assert 0 < in_time["left_ms"] <= 5000
    assert too_late["left_ms"] <= 0
    assert too_late["problem"] == "deadline_exceeded"
    assert "left_ms" not in await line_of(client, "/remaining")


async def test_two_parents_are_as_good_as_none(client: httpx.AsyncClient) -> None:
    parents = [("traceparent", f"00-{trace}-b7ad6b7169203331-01") for trace in TRACES]
    assert (await line_of(client, "/remaining", parents[:1]))["trace_id"] == TRACES[0]
    assert (await line_of(client, "/remaining", parents))["trace_id"] not in TRACES
