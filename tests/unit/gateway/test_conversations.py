"""Sessions, traces, admission: what holds between requests and what must not leak between them."""

import anyio
import pytest
import structlog

from contracts import headers
from contracts.answer import Answer, Reason, Trace
from contracts.image_search import ImageSearchReply
from contracts.ocr import OcrReply
from gateway.state import Context, Query, Reply
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import BOOK, NAMES, FakeServices, Mood, image_hit, text_line
from tests.unit.gateway.platform import QUESTION, World, closed_port, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, after_reading, direct_draft, quote_best

pytestmark = pytest.mark.anyio

TRACE_ID = "0123456789abcdef0123456789abcdef"


async def test_a_follow_up_needs_no_photo_and_knows_what_was_said(world: World) -> None:
    first = await world.ask()
    second = await world.ask("How many pages has it?", photo=None, session_id=first.session_id)
    ask = world.reasoner.asked[-1]
    assert second.session_id == first.session_id
    assert [(turn.question, turn.answer) for turn in ask.history] == [(QUESTION, first.answer)]
    assert ask.photo is not None
    assert not ask.photo_is_new
    assert ask.remembered is not None
    assert ask.remembered.name == BOOK
    assert len(world.services.ocr.calls) == 2


async def test_a_new_photo_in_a_session_replaces_the_old_one(world: World) -> None:
    first = await world.ask()
    other = encoded(scene(400, 300), "JPEG")
    await world.ask("And this?", photo=other, session_id=first.session_id)
    await world.ask("Which one was that?", photo=None, session_id=first.session_id)
    second, third = world.reasoner.asked[1:]
    assert second.photo_is_new
    assert third.photo == second.photo
    assert third.photo is not None
    assert third.photo.width == 400


async def test_sessions_start_anew_without_an_id(world: World) -> None:
    first, second = await world.ask(), await world.ask()
    assert first.session_id != second.session_id
    assert world.reasoner.asked[1].history == ()


async def test_a_deleted_session_is_gone(world: World) -> None:
    session_id = (await world.ask()).session_id
    deleted = await world.client.delete(f"/sessions/{session_id}")
    again = await world.client.delete(f"/sessions/{session_id}")
    asked = await world.post(photo=None, session_id=session_id)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert [again.status_code, asked.status_code] == [404, 404]


@pytest.mark.parametrize("session_id", ["unknown", "x" * 32, "%00", "%2e%2e%2fetc"])
async def test_only_a_known_session_can_be_deleted(world: World, session_id: str) -> None:
    reply = await world.client.delete(f"/sessions/{session_id}")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"


async def test_a_session_that_is_deleted_while_it_is_answered_costs_no_answer(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        session_id = (await world.ask()).session_id
        services.text_search.mood = Mood.HELD
        services.text_search.arrived = anyio.Event()
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await world.ask(photo=None, session_id=session_id))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await services.text_search.arrived.wait()
            await world.client.delete(f"/sessions/{session_id}")
            services.text_search.release.set()
    assert answers[0].reason is Reason.ANSWERED
    assert answers[0].degraded == ["session"]


async def test_turns_beyond_the_bound_push_out_the_oldest(world: World) -> None:
    session_id = (await world.ask("Question 0?")).session_id
    for number in range(1, 15):
        await world.ask(f"Question {number}?", photo=None, session_id=session_id)
    history = [turn.question for turn in world.reasoner.asked[-1].history]
    assert history == [f"Question {number}?" for number in range(2, 14)]


async def test_the_oldest_session_gives_way_when_there_are_too_many(services: FakeServices) -> None:
    async with gateway_before(services, session_limit=2) as world:
        ids = [(await world.ask()).session_id for _ in range(3)]
        statuses = [(await world.post(photo=None, session_id=each)).status_code for each in ids]
    assert statuses == [404, 200, 200]


def say_what_was_asked(ask: Query, context: Context) -> Reply:
    reply = quote_best(ask, context)
    return Reply(f"{ask.question} {context.entity.name if context.entity else ''}", 0.9, reply.quotes)


async def test_questions_at_the_same_time_do_not_see_each_other(services: FakeServices) -> None:
    """Each photo has its own width; the fakes find a thing of that width's name."""
    services.image_search.reply = lambda call: ImageSearchReply(
        hits=[image_hit(f"Thing of {len(call[0][0])} bytes")], collection="images"
    )
    services.ocr.reply = lambda photo: OcrReply(lines=[text_line(f"{len(photo)}")], width=96, height=64)
    async with gateway_before(services, ScriptedReasoner(say=say_what_was_asked), max_in_flight=40) as world:
        answers: dict[int, Answer] = {}

        async def ask(number: int) -> None:
            photo = encoded(scene(64 + 8 * number, 64), "PNG")
            answers[number] = await world.ask(f"Question {number}?", photo=photo, deadline_ms="30000")

        async with anyio.create_task_group() as group:
            for number in range(24):
                group.start_soon(ask, number)
    for number, answer in answers.items():
        assert answer.answer.startswith(f"Question {number}? Thing of ")
        assert answer.answer.endswith(answer.entity or "nothing")
        assert len(answer.timings_ms) == len(answers[0].timings_ms)
    assert len({answer.session_id for answer in answers.values()}) == 24
    assert len({answer.trace_id for answer in answers.values()}) == 24
    assert world.reasoner.asked
    assert all(ask.history == () for ask in world.reasoner.asked)


async def test_a_trace_tells_what_happened_and_nothing_of_what_was_said(services: FakeServices) -> None:
    services.reranker.mood = Mood.BUSY
    async with gateway_before(services) as world:
        reply = await world.client.post(
            "/answer",
            headers={headers.TRACE: TRACE_ID},
            files={"image": encoded(scene(), "PNG")},
            data={"question": "Who wrote this secret book?", "deadline_ms": "9000"},
        )
        found = await world.client.get(f"/traces/{TRACE_ID}")
    trace = Trace.model_validate_json(found.content)
    assert reply.json()["trace_id"] == trace.trace_id == TRACE_ID
    assert (trace.pipeline, trace.deadline_ms, trace.problem) == ("loreglass", 9000, None)
    assert trace.reason is Reason.ANSWERED
    states = {stage.stage: (stage.state, stage.detail) for stage in trace.stages}
    assert states["reranker"] == ("failed", "overloaded")
    assert states["ocr"] == ("done", "")
    assert "secret" not in found.text
    assert BOOK not in found.text


async def test_every_service_that_is_asked_logs_the_same_trace_id(world: World) -> None:
    with structlog.testing.capture_logs() as logged:
        answer = await world.ask()
    lines = [entry for entry in logged if entry["event"] == "request"]
    assert {line["service"] for line in lines} == {"gateway", "fakes"}
    assert {line["trace_id"] for line in lines} == {answer.trace_id}


async def test_a_cancelled_search_is_in_the_trace_but_not_degraded(services: FakeServices) -> None:
    services.image_search.mood = Mood.HANGS
    reasoner = ScriptedReasoner(direct_draft(), before_draft=after_reading)
    async with gateway_before(services, reasoner) as world:
        answer = await world.ask("What does it say?")
        trace = Trace.model_validate_json((await world.client.get(f"/traces/{answer.trace_id}")).content)
    assert {stage.stage: stage.state for stage in trace.stages}["image_search"] == "cancelled"
    assert answer.degraded == []


@pytest.mark.parametrize("trace_id", [TRACE_ID, "unknown", "%00", "x" * 5000])
async def test_an_unknown_trace_is_not_found(world: World, trace_id: str) -> None:
    reply = await world.client.get(f"/traces/{trace_id}")
    assert (reply.status_code, reply.json()["type"]) == (404, "urn:loreglass:problem:trace_not_found")


async def test_old_traces_give_way(services: FakeServices) -> None:
    async with gateway_before(services, trace_limit=2) as world:
        ids = [(await world.ask()).trace_id for _ in range(3)]
        statuses = [(await world.client.get(f"/traces/{each}")).status_code for each in ids]
    assert statuses == [404, 200, 200]


async def test_ready_means_that_every_service_is(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        ready = await world.client.get("/health/ready")
    async with gateway_before(services, down={"ocr": closed_port()}) as world:
        not_ready, alive = await world.client.get("/health/ready"), await world.client.get("/health/live")
    assert ready.json()["checks"] == dict.fromkeys(sorted({*NAMES, "photos"}), "ok")
    assert not_ready.status_code == 503
    assert not_ready.json()["detail"] == "Not ready: ocr (dependency_unavailable)"
    assert alive.status_code == 200
