"""A gateway tells its log once, when it starts, what it has been put together from."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from chassis.http.calls import ServiceClient, http_client
from chassis.http.serving import BoundApp, listen, running
from gateway.clients.services import Services
from gateway.serving.service_info import log_start
from gateway.settings import GatewaySettings, Reasoning
from tests.unit.gateway.fakes import FakeServices, Mood, service_settings
from tests.unit.gateway.platform import closed_port, gateway_before

pytestmark = pytest.mark.anyio

PASSWORD = "quokka"


@asynccontextmanager
async def beside(
    services: FakeServices, down: Mapping[str, str] | None = None, **settings: Any
) -> AsyncIterator[tuple[GatewaySettings, Services]]:
    """Settings, and clients of the fakes; those in `down` are looked for where the mapping says."""
    fakes = BoundApp(services.app(), listen("127.0.0.1", 0))
    chosen = GatewaySettings(**{**service_settings(fakes.url, down), **settings})
    async with running([fakes]), http_client() as http:
        named = {name: ServiceClient(http, name, getattr(chosen, f"{name}_url")) for name in Services.names()}
        yield chosen, Services(**named)


async def line_of(settings: GatewaySettings, services: Services) -> Mapping[str, Any]:
    """What is logged where nobody is waited for."""
    with capture_logs() as lines:
        await log_start(settings, services, "loreglass", patience_s=0, ask_ms=30_000)
    (line,) = [line for line in lines if line["event"] == "started"]
    return line


async def test_a_starting_gateway_logs_its_parts_once(services: FakeServices) -> None:
    with capture_logs() as lines:
        async with gateway_before(services, tell_start=log_start) as world:
            with anyio.fail_after(30):
                while not any(line["event"] == "started" for line in lines):
                    await anyio.lowlevel.checkpoint()
            await world.ask()
    (line,) = [line for line in lines if line["event"] == "started"]
    assert (line["version"], line["profile"]) == (version("loreglass"), "pocket")
    assert (line["pipeline"], line["reasoning"], line["model"]) == ("loreglass", "lite", None)
    assert (line["sessions"], line["asks_for_keys"], line["silent"]) == ("memory", False, [])
    assert set(line["services"]) == set(Services.names())
    assert line["services"]["ocr"]["version"] == version("loreglass")
    assert line["services"]["ocr"]["device"] == "cpu"
    assert line["indexed"] == {"images": 3, "pages": 3}


async def test_a_silent_service_is_named_and_not_waited_for(services: FakeServices) -> None:
    nobody = closed_port()
    services.collections.mood = Mood.CRASHES
    async with beside(services, down={"ocr": nobody}) as (settings, clients):
        line = await line_of(settings, clients)
    assert line["services"]["ocr"] == {"url": nobody}
    assert line["silent"] == ["ocr", "image_search", "text_search"]
    assert line["indexed"] == {}


async def test_models_are_named_without_keys_or_passwords(services: FakeServices) -> None:
    model: dict[str, Any] = {"reasoning": Reasoning.VLM, "vlm_model": "qwen", "vlm_key": PASSWORD}
    model["vlm_url"] = "http://vlm:8000/v1"
    prf = {"url": "http://prf:8000", "model": "prf", "stages": ["tool_plan"], "key": PASSWORD}
    model["stage_models"] = {"prf": prf}
    redis = f"redis://:{PASSWORD}@redis:6379"
    async with beside(services, **model, redis_url=redis) as (settings, clients):
        line = await line_of(settings, clients)
    assert (line["reasoning"], line["model"], line["model_url"]) == ("vlm", "qwen", "http://vlm:8000/v1")
    assert PASSWORD not in str(line)
    assert line["stage_models"] == {"prf": "http://prf:8000"}


@pytest.mark.parametrize("setting", ["vlm_url", "ocr_url"])
@pytest.mark.parametrize("address", [f"http://me:{PASSWORD}@here", f"http://here/v1?key={PASSWORD}"])
def test_an_address_that_holds_a_password_is_refused(setting: str, address: str) -> None:
    with pytest.raises(ValidationError, match="must be an address alone"):
        GatewaySettings(**{setting: address})
