"""The request's log line and counters name an error, whichever way it was sent."""

from collections.abc import Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from chassis.errors import DeadlineExceeded, Overloaded
from gateway.serving.execution import Execution
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, gateway_before
from tests.unit.gateway.series import scrape
from tests.unit.gateway.test_streaming import Failing

pytestmark = pytest.mark.anyio

MULTIPART: Mapping[str, Any] = {"files": {"image": PHOTO}, "data": {"question": QUESTION}}


def lines(logs: list[Any]) -> list[tuple[str, int, str]]:
    return [
        (each["route"], each["status"], each.get("problem", ""))
        for each in logs
        if each["event"] == "request" and each["method"] == "POST"
        if each["service"] == "gateway"
    ]


async def test_a_failed_chat_is_logged_and_counted_with_its_kind(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_time(*_: object) -> None:
        raise DeadlineExceeded

    body = {"model": "loreglass", "messages": [{"role": "user", "content": " "}]}
    async with gateway_before(services) as world:
        with capture_logs() as logs:
            assert (await world.client.post("/v1/chat/completions", json=body)).status_code == 422
            monkeypatch.setattr("gateway.routes.chat.to_question", no_time)
            assert (await world.client.post("/v1/chat/completions", json=body)).status_code == 504
        counted = (await scrape(world.client)).value(
            "loreglass_deadline_exceeded_total", service="gateway", route="/v1/chat/completions"
        )
    assert counted == 1
    chat = "/v1/chat/completions"
    assert lines(logs) == [(chat, 422, "invalid_request"), (chat, 504, "deadline_exceeded")]


async def test_a_stream_that_ends_with_an_error_is_logged_with_its_kind(services: FakeServices) -> None:
    async with gateway_before(services, Failing()) as world:
        with capture_logs() as logs:
            reply = await world.client.post("/answer", headers={"Accept": "text/event-stream"}, **MULTIPART)
    assert "event: error" in reply.text
    assert lines(logs) == [("/answer", 200, "internal")]


async def test_a_stream_that_is_shed_before_it_begins_is_logged_with_its_kind(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise Overloaded

    monkeypatch.setattr(Execution, "answer", full)
    async with gateway_before(services) as world:
        with capture_logs() as logs:
            await world.client.post("/answer", headers={"Accept": "text/event-stream"}, **MULTIPART)
    assert lines(logs) == [("/answer", 503, "overloaded")]
