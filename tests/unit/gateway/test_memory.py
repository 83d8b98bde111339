"""Memory of what was seen: kept by consent only, encrypted, shown, deleted, and asked."""

import pytest

from contracts.answer import CitationKind, Reason
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before
import json, base64
pytestmark = pytest.mark.anyio

async def test_x(services: FakeServices) -> None:
    key = base64.b64encode(bytes(32)).decode()
    memory = json.dumps({"id": "a"*32, "place": "Waterloo station"})
    async with gateway_before(services, pocket=True, memory_key=key) as world:
        a = await world.ask(memory=memory)
        print(a)
        b = await world.ask("Where did I see The Salt Road?", photo=None, memory=memory)
        print(b)
        r = await world.client.get("/v1/memory", headers={"Loreglass-Memory": "a"*32})
        print(r.status_code, r.text[:400])
