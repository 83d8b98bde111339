"""Pages of other sites may ask if the operator names them; a gateway without keys knows its own names."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from chassis.keys import ApiKey
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import QUESTION, World, bearer, gateway_before, keys_file

pytestmark = pytest.mark.anyio

PAGE = "https://museum.example"
LOCAL = "http://localhost:3000"


async def ask(world: World, **headers: str) -> httpx.Response:
    return await world.client.post("/answer", json={"question": QUESTION}, headers=headers)


async def test_a_named_page_reads_answers(services: FakeServices) -> None:
    async with gateway_before(services, origins=(PAGE,)) as world:
        reply = await ask(world, Origin=PAGE)
        asking = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        before = await world.client.options("/answer", headers=asking)
        other = await ask(world, Origin="https://other.example")
    assert (reply.status_code, before.status_code, other.status_code) == (200, 200, 403)
    assert reply.headers["access-control-allow-origin"] == PAGE


async def test_another_site_s_page_may_not_use_a_gateway_without_keys(world: World) -> None:
    for path in ("/answer", "/v1/chat/completions", "/health/live", "/", "/v1/models"):
        for headers in ({"Origin": PAGE}, {"Origin": "null"}, {"Host": "evil.example:7100"}):
            reply = await world.client.get(path, headers=headers)
            assert reply.status_code == 403, (path, headers)
            assert reply.json()["type"].endswith("foreign_page")
            assert reply.json()["trace_id"]


THIS_MACHINE: tuple[dict[str, str], ...] = (
    {},
    {"Origin": LOCAL},
    {"Host": "192.168.1.20:7100", "Origin": "http://192.168.1.20:7100"},
    {"Host": "gateway:7100"},
    {"Host": "x"},
)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({}, THIS_MACHINE),
        ({"hosts": ("laptop.local",)}, [{"Host": "laptop.local", "Origin": "https://laptop.local"}]),
        ({"origins": ("*",)}, [{"Origin": "null"}]),
    ],
)
async def test_this_machine_and_what_the_operator_names_may(
    services: FakeServices, settings: dict[str, Any], allowed: Sequence[dict[str, str]]
) -> None:
    async with gateway_before(services, **settings) as world:
        for headers in allowed:
            assert (await ask(world, **headers)).status_code == 200, headers


async def test_a_gateway_with_keys_goes_by_any_name(services: FakeServices, tmp_path: Any) -> None:
    key = ApiKey.new()
    async with gateway_before(services, keys=keys_file(tmp_path, a=key)) as world:
        reply = await ask(world, **bearer(key), Host="ask.museum.example", Origin=PAGE)
    assert reply.status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_chat_takes_json_alone(world: World, kind: str) -> None:
    body = '{"model": "loreglass", "messages": [{"role": "user", "content": "hi"}]}'
    reply = await world.client.post("/v1/chat/completions", content=body, headers={"Content-Type": kind})
    assert reply.status_code == 415
