"""Plans for little time, and more questions than the gateway takes."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from PIL import Image

from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason, Trace
from contracts.image_search import ImageSearchReply
from contracts.reranker import RerankRequest
from contracts.text_search import TextSearchReply
from gateway.planning.latencies import PACKAGED, load_latencies
from gateway.planning.stages import Stage
from gateway.routes.intake import photo_of
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.serving.execution import ANYBODY
from gateway.serving.tenants import PUBLIC, Caller
from gateway.settings import GatewaySettings
from gateway.state import Priority
from gateway.thresholds import LITE_LIMITS
from services.ocr.settings import OcrSettings
from tests.unit.gateway.fakes import FakeServices, Mood, image_hit, text_hit
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, after_reading
from tests.unit.gateway.test_chat_completions import user

pytestmark = pytest.mark.anyio


def table(folder: Path, rerank_item_ms: float = 0.0, **fixed_ms: float) -> str:
    """A latency table in which every stage takes a millisecond but for those given."""
    item_ms = {Stage.RERANKER: rerank_item_ms}
    rows = [
        f"{stage.value} = {{ fixed_ms = {fixed_ms.get(stage.value, 1.0)}, "
        f"item_ms = {item_ms.get(stage, 0.0)}, sigma = 0.1 }}"
        for stage in load_latencies(PACKAGED[0]).stages
    ]
    file = folder / "latencies.toml"
    file.write_text("[stages]\n" + "\n".join(rows) + "\n[services]\nreader = { fixed_ms = 1.0 }\n")
    return str(file)


async def trace_of(world: World, trace_id: str) -> Trace:
    return Trace.model_validate_json((await world.client.get(f"/traces/{trace_id}")).content)


async def test_a_leisurely_question_is_cut_nothing(services: FakeServices, tmp_path: Path) -> None:
    async with gateway_before(services, latencies=table(tmp_path)) as world:
        answer = await world.ask()
        trace = await trace_of(world, answer.trace_id)
    assert answer.degraded == []
    assert [plan.cuts for plan in trace.plans] == [[]]
    assert trace.plans[0].limits["crops"] == 4
    assert trace.plans[0].load == 1


async def test_what_does_not_fit_is_given_up_and_named(services: FakeServices, tmp_path: Path) -> None:
    services.image_search.reply = ImageSearchReply(hits=[image_hit(score=0.7)], collection="images")
    slow = table(tmp_path, cropper=40_000, crop_search=40_000)
    async with gateway_before(services, latencies=slow) as world:
        answer = await world.ask(deadline_ms="30000")
        trace = await trace_of(world, answer.trace_id)
    assert services.cropper.calls == []
    assert "no_crops" in answer.degraded
    assert answer.reason is Reason.ANSWERED
    assert "no_crops" in trace.plans[0].cuts
    assert trace.plans[0].limits["crops"] == 0
    assert trace.plans[0].remaining_ms <= 30_000


async def test_a_slow_reranker_is_given_less_to_do(services: FakeServices, tmp_path: Path) -> None:
    words = "It has many pages and a long story to tell of salt and roads. " * 9
    services.text_search.reply = TextSearchReply(
        hits=[text_hit(f"Part {number}. {words}") for number in range(10)], collection="pages"
    )
    async with gateway_before(services, latencies=table(tmp_path, rerank_item_ms=2_500)) as world:
        answer = await world.ask(deadline_ms="20000")
    asked = services.reranker.calls[0]
    assert isinstance(asked, RerankRequest)
    assert len(asked.documents) <= LITE_LIMITS.chunks_to_rerank
    assert asked.fine_top_n is not None
    assert asked.fine_top_n < LITE_LIMITS.chunks_to_rerank
    assert {"fewer_chunks", "no_fine_rerank"}.intersection(answer.degraded)


async def test_with_a_third_of_a_second_it_still_says_something_in_time(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        await world.post()  # starts what decodes photos
        services.reranker.mood = Mood.HANGS
        replies = [
            await world.post(deadline_ms="300") for _ in range(4)
        ]  # this process may be stopped in one
    assert {reply.status_code for reply in replies} == {200}
    assert min(reply.json()["timings_ms"]["total"] for reply in replies) < 300


async def test_a_node_that_is_busy_looks_up_nothing_on_suspicion(
    services: FakeServices, tmp_path: Path
) -> None:
    reasoner = ScriptedReasoner(before_draft=after_reading)
    services.ocr.mood = Mood.HELD
    async with (
        gateway_before(services, reasoner, latencies=table(tmp_path), max_in_flight=1) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.ask)
        await services.ocr.arrived.wait()
        assert services.image_search.calls == []
        services.ocr.release.set()
    assert len(services.image_search.calls) == 1


async def test_a_stage_that_cannot_end_in_time_is_not_begun(services: FakeServices, tmp_path: Path) -> None:
    slow = table(tmp_path, **{Stage.VERIFIER.value: 50_000})
    async with gateway_before(services, latencies=slow) as world:
        answer = await world.ask(deadline_ms="20000")
    assert services.verifier.calls == []
    assert "verifier" in answer.degraded


STREAM = {"Accept": "text/event-stream"}
FORM: dict[str, Any] = {"files": {"image": PHOTO}, "data": {"question": QUESTION}}
CHAT: dict[str, Any] = {"model": "loreglass", "stream": True, "messages": [user(QUESTION)]}


@asynccontextmanager
async def full(world: World) -> AsyncIterator[None]:
    """While the body runs, one question holds the only place."""
    world.services.text_search.mood, world.services.text_search.arrived = Mood.HELD, anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(world.post)
        with anyio.fail_after(20):
            await world.services.text_search.arrived.wait()
        yield
        world.services.text_search.release.set()


def assert_refused(reply: httpx.Response) -> None:
    assert (reply.status_code, reply.json()["type"]) == (503, "urn:loreglass:problem:overloaded")
    assert int(reply.headers["retry-after"]) >= 1


async def test_refused_streams_are_a_plain_503(services: FakeServices) -> None:
    async with gateway_before(services, max_in_flight=1, max_waiting=0) as world, full(world):
        assert_refused(await world.client.post("/answer", headers=STREAM, **FORM))
        chat = await world.client.post("/v1/chat/completions", json=CHAT)
    assert_refused(chat)
    assert chat.json()["error"]["code"] == "overloaded"


async def test_chat_stream_begins_once_admitted(services: FakeServices) -> None:
    services.text_search.mood = Mood.HELD
    async with gateway_before(services) as world:
        request = world.client.build_request("POST", "/v1/chat/completions", json=CHAT)
        with anyio.fail_after(20):
            reply = await world.client.send(request, stream=True)
            services.text_search.release.set()
            text = (await reply.aread()).decode()
    first = json.loads(text.partition("\n")[0].removeprefix("data: "))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert text.endswith("data: [DONE]\n\n")


async def test_refused_questions_evict_no_session(services: FakeServices) -> None:
    async with gateway_before(services, max_in_flight=1, max_waiting=0, session_limit=3) as world:
        mine = await world.ask()
        async with full(world):
            for _ in range(6):
                assert_refused(await world.post())
        again = await world.post("And how many pages?", photo=None, session_id=mine.session_id)
    assert again.status_code == 200


async def test_question_without_time_is_timed_out_and_not_overloaded(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        mine = await world.ask()
        answer = await world.ask(photo=None, session_id=mine.session_id or "", deadline_ms="1")
    assert answer.reason is Reason.TIMED_OUT


async def test_photo_keeps_the_size_that_ocr_reads() -> None:
    slots, sent = Admission(AdmissionLimits(1, 1)), io.BytesIO()
    Image.new("RGB", (4000, 3000), "grey").save(sent, "JPEG")
    with closing(PhotoDecoders(1)) as photos:
        due = Deadline.after_ms(60_000)
        photo = await photo_of(sent.getvalue(), GatewaySettings(), photos, slots, due, ANYBODY)
    assert photo is not None
    assert max(photo.width, photo.height) == OcrSettings().max_side


async def test_decoding_waits_no_longer_than_the_deadline() -> None:
    slots, soon = Admission(AdmissionLimits(1, 1)), Deadline.after_ms(20)
    with closing(PhotoDecoders(1)) as photos:
        async with slots.admitted(PUBLIC, Priority.INTERACTIVE, Deadline.after_ms(60_000)):
            assert await photo_of(PHOTO, GatewaySettings(), photos, slots, soon, ANYBODY) is None
        due = Deadline.after_ms(60_000)
        photo = await photo_of(PHOTO, GatewaySettings(), photos, slots, due, ANYBODY)
    assert photo is not None
    assert photo.width == 320
    assert slots.in_flight == slots.waiting == 0


async def test_photos_of_tenants_are_decoded_in_turns() -> None:
    slots, decoded = Admission(AdmissionLimits(1, 60)), list[str]()

    async def decode(tenant: str) -> None:
        caller = Caller(tenant, Priority.INTERACTIVE)
        await photo_of(PHOTO, GatewaySettings(), photos, slots, Deadline.after_ms(60_000), caller)
        decoded.append(tenant)

    held = slots.admitted("noisy", Priority.INTERACTIVE, Deadline.after_ms(60_000))
    with closing(PhotoDecoders(1)) as photos:
        async with anyio.create_task_group() as group, held:
            for tenant in [*["noisy"] * 12, "quiet"]:
                group.start_soon(decode, tenant)
                await anyio.wait_all_tasks_blocked()
    assert decoded.index("quiet") <= 2
