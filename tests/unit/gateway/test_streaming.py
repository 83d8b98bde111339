"""Answers as a stream of events, and how requests end in logs and counters."""

import json
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from contracts.answer import Answer
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before
from tests.unit.gateway.reasoners import FailingReasoner

pytestmark = pytest.mark.anyio

STREAM = {"Accept": "text/event-stream"}
Event = tuple[str, dict[str, Any]]


def events_of(text: str) -> list[Event]:
    """Each event's name and data."""
    events = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


async def stream(world: World, question: str = QUESTION, photo: bytes = PHOTO) -> list[Event]:
    reply = await world.client.post(
        "/answer", headers=STREAM, files={"image": photo}, data={"question": question}
    )
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("text/event-stream")
    return events_of(reply.text)


async def test_events_are_stages_then_citations_then_words_then_the_plain_body(world: World) -> None:
    events = await stream(world)
    order = ["stage", "citation", "token", "final"]
    ranks = [order.index(name) for name, _ in events if name != "identified"]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2, 3}
    assert (events[0][1]["stage"], events[0][1]["state"]) == ("admission", "done")
    final, plain = Answer.model_validate(events[-1][1]), await world.ask()
    of_this_request = {"timings_ms", "trace_id", "session_id"}
    assert final.model_dump(exclude=of_this_request) == plain.model_dump(exclude=of_this_request)
    assert "".join(data["text"] for name, data in events if name == "token") == final.answer
    assert [data for name, data in events if name == "citation"] == events[-1][1]["citations"]
    stages = {data["stage"]: data["state"] for name, data in events if name == "stage"}
    assert {*stages, "first_word", "total"} == {*final.timings_ms, "admission"}
    assert set(stages.values()) == {"done"}


async def test_refusal_before_the_stream_is_a_plain_problem(world: World) -> None:
    reply = await world.client.post("/answer", headers=STREAM, files={"image": PHOTO}, data={"question": " "})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("mood", [Mood.HELD, Mood.HANGS])
async def test_events_arrive_during_the_work_and_a_disconnected_client_cancels_it(
    services: FakeServices, mood: Mood
) -> None:
    services.text_search.mood = mood
    async with gateway_before(services) as world:
        form = {"files": {"image": PHOTO}, "data": {"question": QUESTION}}
        request = world.client.build_request("POST", "/answer", headers=STREAM, **form)
        reply = await world.client.send(request, stream=True)
        received = ""
        with anyio.fail_after(20):
            async for text in reply.aiter_text():
                received += text
                if "draft" in received:
                    await services.text_search.arrived.wait()  # first: leaving the loop disconnects
                    if mood is Mood.HANGS:
                        break
                    services.text_search.release.set()
            await reply.aclose()
            if mood is Mood.HANGS:
                await services.text_search.left.wait()
            else:
                assert events_of(received)[-1][0] == "final"
        await world.quiet()


def lines(logs: list[Any]) -> list[tuple[str, int, str]]:
    return [
        (each["route"], each["status"], each.get("problem", ""))
        for each in logs
        if each["event"] == "request" and each["method"] == "POST"
        if each["service"] == "gateway"
    ]


async def test_failure_ends_the_stream_with_an_error_event_and_is_logged(services: FakeServices) -> None:
    services.text_search.mood = Mood.CRASHES
    failing = FailingReasoner(KeyError("/srv/x"), "answer")
    with capture_logs() as logs:
        async with gateway_before(services, failing) as world:
            events = await stream(world)
    name, data = events[-1]
    assert (name, data["type"]) == ("error", "urn:loreglass:problem:internal")
    assert data["trace_id"]
    assert "/srv" not in json.dumps(events)
    assert [each for each, _ in events].count("error") == 1
    failed = [data["stage"] for name, data in events if name == "stage" and data["state"] == "failed"]
    assert failed == ["text_search", "answer"]
    assert lines(logs) == [("/answer", 200, "internal")]
