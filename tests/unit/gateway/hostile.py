"""A gateway that many hostile requests share, and what a refusal must look like."""

import base64
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from chassis.http.problems import PROBLEM_JSON
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before

PHOTO_64 = base64.b64encode(PHOTO).decode()
ROOT = re.escape(str(Path(__file__).resolve().parents[3]))
INSIDE = re.compile(
    rf"{ROOT}|Traceback|File \"|/usr|/srv|\.py\b|127\.0\.0\.1|0x[0-9a-f]{{6}}|pydantic|starlette", re.I
)


@asynccontextmanager
async def standing_gateway(**settings: Any) -> AsyncIterator[World]:
    """A gateway with services of its own, on the event loop that enters this."""
    async with gateway_before(FakeServices(), **settings) as made:
        yield made


@pytest.fixture(scope="module")
def standing(request: pytest.FixtureRequest) -> Iterator[World]:
    """One gateway for all tests of a module, with its `SETTINGS`, on a thread: each leaves it as it was."""
    gateway = standing_gateway(**getattr(request.module, "SETTINGS", {}))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(gateway) as made:
        yield made


@pytest.fixture
async def world(standing: World, anyio_backend: object) -> AsyncIterator[World]:
    """The gateway that, whatever the test did to it, still answers a good question afterwards."""
    async with httpx.AsyncClient(base_url=standing.url, timeout=60) as client:
        made = World(client, standing.services, standing.reasoner)
        yield made
        await made.quiet()
        assert (await made.ask()).citations


def refused(reply: httpx.Response, status: int, kind: str) -> str:
    """Check the problem's form; its detail."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == PROBLEM_JSON
    problem = reply.json()
    assert problem["type"] == f"urn:loreglass:problem:{kind}"
    assert problem["status"] == status
    assert problem["detail"]
    assert not INSIDE.search(reply.text), reply.text
    assert len(reply.content) < 1_000
    return str(problem["detail"])


async def post_json(world: World, body: object) -> httpx.Response:
    """`body` as JSON; bytes are sent as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await world.client.post("/answer", content=raw, headers={"Content-Type": "application/json"})


def json_question(**changes: Any) -> dict[str, Any]:
    """A good JSON request with some fields exchanged; None takes a field away."""
    whole = {"question": QUESTION, "image": {"base64": PHOTO_64}, **changes}
    return {name: value for name, value in whole.items() if value is not None}
