"""Sessions, traces, admission: what holds between requests and what must not leak between them."""

import anyio
import structlog

from contracts import headers
from contracts.answer import Answer, Reason, Trace
from gateway.state import Context, Query, Reply
from tests.live import closed_port
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import BOOK, NAMES, FakeServices, Mood, image_hit, images, print_of, text_line
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, quote_best

TRACE_ID = "0123456789abcdef0123456789abcdef"


async def test_follow_up_has_photo_and_history(world: World) -> None:
    first = await world.ask()
    second = await world.ask("How many pages has it?", photo=None, session_id=first.session_id)
    ask = world.reasoner.queries[-1]
    assert second.session_id == first.session_id
    assert [(turn.question, turn.answer) for turn in ask.history] == [(QUESTION, first.answer)]
    assert ask.photo is not None
    assert not ask.photo_is_new
    assert ask.remembered is not None
    assert ask.remembered.name == BOOK
    assert len(world.services.ocr.calls) == 2


async def test_new_photo_replaces_the_old_one(world: World) -> None:
    first = await world.ask()
    await world.ask("And this?", photo=encoded(scene(400, 300), "JPEG"), session_id=first.session_id)
    await world.ask("Which one was that?", photo=None, session_id=first.session_id)
    second, third = world.reasoner.queries[1:]
    assert second.photo_is_new
    assert third.photo == second.photo
    assert third.photo is not None
    assert third.photo.width == 400


async def test_deleted_session_is_gone(world: World) -> None:
    session_id = (await world.ask()).session_id
    deleted = await world.client.delete(f"/sessions/{session_id}")
    again = await world.client.delete(f"/sessions/{session_id}")
    later = await world.post(photo=None, session_id=session_id)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert [again.status_code, later.status_code] == [404, 404]
    assert again.headers["content-type"] == "application/problem+json"


async def test_session_deleted_during_the_answer_costs_no_answer(
    services: FakeServices, world: World
) -> None:
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


def repeat_question(ask: Query, context: Context) -> Reply:
    reply = quote_best(ask, context)
    return Reply(f"{ask.question} {context.entity.name if context.entity else ''}", 0.9, reply.quotes)


async def test_concurrent_questions_do_not_mix(services: FakeServices) -> None:
    """Each photo has its own width; the fakes find a thing of that width's name."""
    services.image_search.reply = lambda call: images(image_hit(f"Thing of {len(call[0][0])} bytes"))
    services.ocr.reply = lambda photo: print_of(text_line(f"{len(photo)}"))
    async with gateway_before(services, ScriptedReasoner(say=repeat_question), max_in_flight=8) as world:
        answers: dict[int, Answer] = {}

        async def ask(number: int) -> None:
            photo = encoded(scene(64 + 8 * number, 64), "PNG")
            answers[number] = await world.ask(f"Question {number}?", photo=photo, deadline_ms="30000")

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(ask, number)
    for number, answer in answers.items():
        assert answer.answer.startswith(f"Question {number}? Thing of ")
        assert answer.answer.endswith(answer.entity or "nothing")
        assert len(answer.timings_ms) == len(answers[0].timings_ms)
    assert len({answer.session_id for answer in answers.values()}) == 8
    assert len({answer.trace_id for answer in answers.values()}) == 8
    assert world.reasoner.queries
    assert all(ask.history == () for ask in world.reasoner.queries)


async def test_trace_has_stages_and_no_content(services: FakeServices, world: World) -> None:
    services.reranker.mood = Mood.BUSY
    reply = await world.client.post(
        "/answer",
        headers={headers.TRACE: TRACE_ID},
        files={"image": encoded(scene(), "PNG")},
        data={"question": "Who wrote this secret book?", "deadline_ms": "9000"},
    )
    stored = await world.client.get(f"/traces/{TRACE_ID}")
    trace = Trace.model_validate_json(stored.content)
    assert reply.json()["trace_id"] == trace.trace_id == TRACE_ID
    assert (trace.pipeline, trace.deadline_ms, trace.problem) == ("loreglass", 9000, None)
    assert trace.reason is Reason.ANSWERED
    states = {stage.stage: (stage.state, stage.detail) for stage in trace.stages}
    assert states["reranker"] == ("failed", "overloaded")
    assert states["ocr"] == ("done", "")
    assert "secret" not in stored.text
    assert BOOK not in stored.text


async def test_all_services_log_the_trace_id(world: World) -> None:
    with structlog.testing.capture_logs() as logged:
        answer = await world.ask()
    lines = [entry for entry in logged if entry["event"] == "request"]
    assert {line["service"] for line in lines} == {"gateway", "fakes"}
    assert {line["trace_id"] for line in lines} == {answer.trace_id}


async def test_ready_requires_every_service(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        ready = await world.client.get("/health/ready")
    async with gateway_before(services, down={"ocr": closed_port()}) as world:
        not_ready, alive = await world.client.get("/health/ready"), await world.client.get("/health/live")
    assert ready.json()["checks"] == dict.fromkeys(sorted({*NAMES, "photos"}), "ok")
    assert not_ready.status_code == 503
    assert not_ready.json()["detail"] == "Not ready: ocr (dependency_unavailable)"
    assert alive.status_code == 200
