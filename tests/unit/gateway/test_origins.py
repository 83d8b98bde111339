"""Pages of other sites may ask only if the operator names them."""

import pytest

from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before

pytestmark = pytest.mark.anyio

PAGE = "https://museum.example"


@pytest.mark.parametrize(
    ("origins", "allowed"), [((), None), ((PAGE,), PAGE), (("https://other.example",), None)]
)
async def test_a_page_reads_answers_if_its_origin_is_named(
    origins: tuple[str, ...], allowed: str | None
) -> None:
    async with gateway_before(FakeServices(), origins=origins) as world:
        body = {"question": "Who wrote The Salt Road?"}
        reply = await world.client.post("/answer", json=body, headers={"Origin": PAGE})
        asking = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        before = await world.client.options("/answer", headers=asking)
    assert reply.headers.get("access-control-allow-origin") == allowed
    assert (before.status_code == 200) == (allowed is not None)
