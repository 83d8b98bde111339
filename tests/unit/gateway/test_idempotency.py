"""A question that is sent again under its Idempotency-Key is answered once."""

from contextlib import ExitStack
from typing import Any

import anyio
import httpx
import pytest

from chassis.resilience.deadlines import Deadline
from contracts import headers
from contracts.answer import Answer, Verification
from gateway.planning.prefetch import background_group
from gateway.serving.idempotency import Idempotency
from gateway.state import Unverified
from gateway.store import MemoryStore
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before
from tests.unit.gateway.test_streaming import STREAM, events_of

KEY = "5f0e6e6c-9d5f-4c80-8e6e-1f2c9a3b7d10"


async def ask(world: World, key: str = KEY, question: str = QUESTION, **sent: str) -> httpx.Response:
    return await world.client.post(
        "/answer",
        headers={headers.IDEMPOTENCY_KEY: key, **sent},
        files={"image": PHOTO},
        data={"question": question},
    )


async def test_repeated_request_replays_its_answer(world: World) -> None:
    first, second = await ask(world), await ask(world)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content == second.content
    assert headers.REPLAYED not in first.headers
    assert second.headers[headers.REPLAYED] == "true"
    reused = await ask(world, question="Who printed this book?")
    assert (reused.status_code, reused.json()["type"].rpartition(":")[2]) == (422, "idempotency_key_reused")
    assert len(world.reasoner.queries) == 1
    other = await ask(world, "another-key")
    assert other.json()["trace_id"] != first.json()["trace_id"]
    assert len(world.reasoner.queries) == 2


async def test_concurrent_requests_run_once(world: World, services: FakeServices) -> None:
    services.text_search.mood = Mood.HELD
    replies: list[httpx.Response] = []

    async def one() -> None:
        replies.append(await ask(world))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(one)
        await services.text_search.arrived.wait()
        services.text_search.release.set()
    assert len({reply.content for reply in replies}) == 1
    assert len(world.reasoner.queries) == 1


async def test_answer_is_stored_for_a_disconnected_caller(world: World, services: FakeServices) -> None:
    services.text_search.mood = Mood.HELD
    async with anyio.create_task_group() as group:
        group.start_soon(ask, world)
        await services.text_search.arrived.wait()
        group.cancel_scope.cancel()
    services.text_search.release.set()
    again = await ask(world)
    assert again.headers[headers.REPLAYED] == "true"
    assert again.json()["reason"] == "answered"
    assert len(world.reasoner.queries) == 1


async def test_stream_is_replayed(world: World) -> None:
    first, second = await ask(world, **STREAM), await ask(world, **STREAM)
    assert events_of(first.text)[-1] == events_of(second.text)[-1]
    assert {name for name, _ in events_of(second.text)} == {"citation", "token", "final"}
    assert len(world.reasoner.queries) == 1


async def test_error_is_not_replayed(world: World) -> None:
    unknown = {"question": QUESTION, "session_id": "s" * 32}
    sent = {headers.IDEMPOTENCY_KEY: KEY}
    lost = [await world.client.post("/answer", headers=sent, json=unknown) for _ in range(2)]
    assert [reply.status_code for reply in lost] == [404, 404]
    assert headers.REPLAYED not in lost[1].headers
    assert (await ask(world)).status_code == 200


@pytest.mark.parametrize(
    ("failing", "settings"),
    [
        (("text_search", "image_search", "ocr"), {}),
        (("verifier",), {}),
        (("verifier",), {"unverified": Unverified.SAY}),
    ],
    ids=["refused without evidence", "refused without a check", "given without a check"],
)
async def test_answer_without_its_services_is_not_replayed(
    services: FakeServices, failing: tuple[str, ...], settings: dict[str, Any]
) -> None:
    answers = []
    async with gateway_before(services, **settings) as world:
        for mood in (Mood.CRASHES, Mood.WORKS):
            for name in failing:
                services[name].mood = mood
            answers.append(Answer.model_validate_json((await ask(world)).content))
    first, second = answers
    assert first.reason == "unavailable" or first.verification is Verification.UNVERIFIED
    assert (second.reason, second.verification) == ("answered", Verification.VERIFIED)


@pytest.mark.parametrize("key", ["", "x" * 129, "two words"])
async def test_invalid_key_is_refused(world: World, key: str) -> None:
    refused = await ask(world, key)
    assert refused.status_code == 422
    assert headers.IDEMPOTENCY_KEY in refused.json()["detail"]


async def test_gateways_that_share_redis_answer_a_key_once(services: FakeServices, redis_url: str) -> None:
    shared = {"sessions": "redis", "redis_url": redis_url}
    async with gateway_before(services, **shared) as one, gateway_before(services, **shared) as other:
        first, second = await ask(one), await ask(other)
        assert first.content == second.content
        assert second.headers[headers.REPLAYED] == "true"
        assert not other.reasoner.queries


async def test_stored_answer_with_unknown_words_is_unreadable() -> None:
    store, answers = MemoryStore(), list[Answer]()
    answer = Answer(
        **{"answer": "Tea.", "abstained": False, "reason": "novelty", "confidence": 1, "route": "rag"},
        **{"trace_id": "t", "session_id": "s"},
    )

    async def work() -> Answer:
        answers.append(answer)
        return answer

    async with background_group() as group:
        for _ in range(2):  # the stored answer is deleted, and the question is asked again
            due = Deadline.after_ms(60_000)
            once = Idempotency(store, group, 60.0).once(("acme", KEY), "digest", due, work, ExitStack())
            assert await once == (answer, False)
    assert len(answers) == 2


async def test_without_redis_a_question_is_answered(services: FakeServices) -> None:
    async with gateway_before(services, sessions="redis", redis_url="redis://127.0.0.1:1/0") as world:
        answer = Answer.model_validate_json((await ask(world)).content)
        going_on = {"question": "And who wrote it?", "session_id": answer.session_id}
        follow_up = await world.client.post("/answer", json=going_on)
        ready = await world.client.get("/health/ready")
    assert answer.reason == "answered"
    assert "session" in answer.degraded  # its id leads nowhere
    assert follow_up.status_code == 503
    assert follow_up.json()["detail"] == "The session store does not answer."
    assert (ready.status_code, ready.json()["checks"]["redis"]) == (200, "dependency_unavailable")
