"""A gateway with keys: who has none is told so in the shape that its client reads."""

from pathlib import Path

import pytest

from chassis.keys import ApiKey
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before

pytestmark = pytest.mark.anyio

ANNA, BERT = ApiKey.new(), ApiKey.new()


def keys_entry(key: ApiKey, tenant: str) -> str:
    """A key as a keys file has it."""
    told = {"prefix": key.prefix, "sha256": key.sha256, "tenant": tenant, "priority": "interactive"}
    return "[[key]]\n" + "".join(f'{name} = "{value}"\n' for name, value in told.items())


@pytest.fixture
def keys(tmp_path: Path) -> str:
    file = tmp_path / "keys.toml"
    file.write_text("\n".join(keys_entry(key, name) for key, name in ((ANNA, "anna"), (BERT, "bert"))))
    return str(file)


def bearing(key: ApiKey) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.text}"}


async def ask(world: World, key: ApiKey, **fields: str) -> dict[str, str]:
    files = {"image": ("photo.jpg", PHOTO, "image/jpeg")}
    reply = await world.client.post(
        "/answer", files=files, data={"question": QUESTION, **fields}, headers=bearing(key)
    )
    assert reply.status_code == 200, reply.text
    body: dict[str, str] = reply.json()
    return body


async def test_nobody_asks_without_a_key(services: FakeServices, keys: str) -> None:
    async with gateway_before(services, keys=keys) as world:
        reply = await world.post()
        openai = await world.client.post("/v1/chat/completions", json={})
        health = await world.client.get("/health/live")
    assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert reply.json()["type"] == "urn:loreglass:problem:unauthorized"
    assert openai.json()["error"]["code"] == "unauthorized"
    assert health.status_code == 200
    assert services.ocr.calls == []


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/loreglass", "/openapi.json"])
async def test_what_is_served_is_told_to_those_with_a_key(
    services: FakeServices, keys: str, path: str
) -> None:
    async with gateway_before(services, keys=keys) as world:
        without, with_one = await world.client.get(path), await world.client.get(path, headers=bearing(ANNA))
        page = await world.client.get("/")
    assert (without.status_code, with_one.status_code, page.status_code) == (401, 200, 200)
    assert ("error" in without.json()) == path.startswith("/v1/")


async def test_a_tenant_sees_neither_sessions_nor_traces_of_another(
    services: FakeServices, keys: str
) -> None:
    async with gateway_before(services, keys=keys) as world:
        mine = await ask(world, ANNA)
        trace, session = f"/traces/{mine['trace_id']}", f"/sessions/{mine['session_id']}"
        assert (await world.client.get(trace, headers=bearing(BERT))).status_code == 404
        assert (await world.client.get(trace, headers=bearing(ANNA))).status_code == 200
        assert (await world.client.delete(session, headers=bearing(BERT))).status_code == 404
        again = await world.client.post(
            "/answer",
            files=[("question", (None, QUESTION)), ("session_id", (None, mine["session_id"]))],
            headers=bearing(BERT),
        )
        assert again.json()["type"] == "urn:loreglass:problem:session_not_found"
        assert (await world.client.delete(session, headers=bearing(ANNA))).status_code == 204


async def test_an_unknown_priority_is_told(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        reply = await world.client.post("/answer", headers={"X-Priority": "urgent"}, json={"question": "?"})
    assert reply.status_code == 422
