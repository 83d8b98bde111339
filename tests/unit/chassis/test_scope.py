"""On whose behalf something is asked is for services to be told, and not for strangers to say."""

import pytest
from fastapi import APIRouter

from chassis.http.app import ServiceSpec, create_service
from chassis.scope import current_scope, scope_of
from chassis.settings import ServiceSettings
from contracts.headers import CACHE_SCOPE
from tests.live import live
from tests.unit.chassis.apps import Witness, probe_app

pytestmark = pytest.mark.anyio
SCOPE = {CACHE_SCOPE: scope_of(b"secret", "acme")}


async def test_a_service_takes_the_scope_that_its_caller_names() -> None:
    router = APIRouter()

    @router.get("/scope")
    async def scope() -> str:
        return current_scope()

    spec = ServiceSpec("probe", [router], lambda _: None, lambda _: None)
    async with live(create_service(spec, ServiceSettings())) as client:
        assert (await client.get("/scope", headers=SCOPE)).json() == SCOPE[CACHE_SCOPE]


async def test_an_app_whose_callers_are_strangers_does_not() -> None:
    async with live(probe_app(Witness())) as client:
        assert (await client.get("/scope", headers=SCOPE)).json() == ""
