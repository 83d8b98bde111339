"""Answers as a stream of events, what is reported beside the answer, and how requests end in logs."""

import json
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from contracts.answer import Answer, Reason
from contracts.collections import Collections
from contracts.cropper import CropReply
from contracts.ocr import OcrReply
from tests.unit.gateway.fakes import (
    BOOK,
    FakeServices,
    Mood,
    crop_region,
    find_in_second_crop,
    image_hit,
    images,
    pages,
    text_line,
)
from tests.unit.gateway.platform import PHOTO, QUESTION, World, ask_gateway, gateway_before
from tests.unit.gateway.reasoners import FailingReasoner, unsure

STREAM = {"Accept": "text/event-stream"}
Event = tuple[str, dict[str, Any]]


def events_of(text: str) -> list[Event]:
    """Each event's name and data; on a slow machine heartbeats come between."""
    events = []
    for block in text.replace(":\n\n", "").strip().split("\n\n"):
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


async def test_events_are_stages_citations_words_and_body(world: World) -> None:
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
    left = [data["left_ms"] for name, data in events if name == "stage"]
    assert left == sorted(left, reverse=True)
    assert all(0 < each <= 60_000 for each in left)


@pytest.mark.parametrize("mood", [Mood.HELD, Mood.HANGS])
async def test_events_arrive_during_the_work_and_a_disconnected_client_cancels_it(
    services: FakeServices, world: World, mood: Mood
) -> None:
    services.text_search.mood = mood
    form = {"files": {"image": PHOTO}, "data": {"question": QUESTION}}
    request = world.client.build_request("POST", "/answer", headers=STREAM, **form)
    reply = await world.client.send(request, stream=True)
    received = ""
    with anyio.fail_after(20):
        async for text in reply.aiter_text():
            received += text
            if "draft" in received:
                await services.text_search.arrived.wait()  # wait before leaving the loop, which disconnects
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


async def test_the_entity_is_reported_before_pages_are_searched(world: World) -> None:
    events = await stream(world)
    [place] = [place for place, (name, _) in enumerate(events) if name == "identified"]
    assert events[place][1] == {"entity": BOOK, "sentence": f"This is {BOOK}."}
    later = [data["stage"] for name, data in events[place:] if name == "stage"]
    assert {"text_search", "reranker", "answer", "verifier"} <= set(later)
    final = events[-1][1]
    assert final["entity"] == BOOK
    assert final["timings_ms"]["first_word"] < final["timings_ms"]["total"]


async def test_an_uncertain_entity_is_not_reported_early(services: FakeServices, world: World) -> None:
    services.image_search.reply = images(image_hit(score=0.7))
    events = await stream(world)
    assert "identified" not in {name for name, _ in events}
    final = events[-1][1]
    assert final["entity"] == BOOK
    assert final["timings_ms"]["first_word"] == final["timings_ms"]["total"]


async def test_a_follow_up_does_not_report_the_entity_again(world: World) -> None:
    session = (await world.ask()).session_id
    reply = await world.client.post(
        "/answer", headers=STREAM, json={"question": "How long is it?", "session_id": session}
    )
    assert "identified" not in {name for name, _ in events_of(reply.text)}


async def test_regions_are_fractions_of_the_photo(services: FakeServices) -> None:
    services.image_search.reply = find_in_second_crop
    regions = [crop_region(PHOTO), crop_region(PHOTO, left=40)]
    services.cropper.reply = CropReply(regions=regions, width=100, height=50)
    answer = await ask_gateway(services)
    crops = [each for each in answer.looked_at if each.kind == "crop"]
    places = [(each.left, each.top, each.right, each.bottom) for each in crops]
    assert places == [(0.0, 0.0, 0.1, 0.2), (0.4, 0.0, 0.5, 0.2)]
    assert [each.shows_entity for each in crops] == [False, True]
    assert answer.entity == BOOK
    [text] = [each for each in answer.looked_at if each.kind == "text"]
    assert (text.text, text.left, text.bottom) == ("THE SALT ROAD", pytest.approx(10 / 96, abs=1e-3), 0.25)


async def test_the_list_of_regions_is_bounded(services: FakeServices) -> None:
    lines = [text_line("word " * 100, row) for row in range(500)]
    services.ocr.reply = OcrReply(lines=lines, width=96, height=64)
    answer = await ask_gateway(services)
    assert len(answer.looked_at) == 64
    assert max(len(each.text) for each in answer.looked_at) == 200
    assert all(0 <= each.top <= each.bottom <= 1 for each in answer.looked_at)


async def test_advice_depends_on_reason_and_entity(services: FakeServices, world: World) -> None:
    assert (await world.ask()).advice == ""
    world.reasoner.say = unsure(Reason.NO_EVIDENCE).say
    services.text_search.reply = pages()
    services.image_search.reply = images(image_hit().model_copy(update={"attributes": {}}))
    answer = await world.ask()
    assert (answer.reason, answer.entity) == ("no_evidence", BOOK)
    assert answer.advice == f"Index a page about {BOOK}, or ask for something else."
    services.find_nothing()
    assert "closer" in (await world.ask()).advice
    services.ocr.reply = OcrReply(lines=[text_line("THE SALT ROAD")], width=4_000, height=3_000)
    assert "print" in (await world.ask()).advice
    services.find_nothing()
    services.collections.reply = Collections(collections=[])
    empty = await world.ask()
    assert (empty.reason, "indexed" in empty.advice) == ("nothing_indexed", True)
    services.text_search.mood = Mood.CRASHES
    broken = await world.ask()
    assert (broken.reason, broken.advice) == ("unavailable", "Ask again in a minute.")
