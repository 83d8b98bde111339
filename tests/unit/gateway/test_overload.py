"""More questions than the gateway takes: refused before a stream begins, and nothing is stored."""

import io
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
from PIL import Image

from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason
from gateway.routes.intake import photo_of
from gateway.serving.admission import Admission
from gateway.serving.tenants import ANYBODY, PUBLIC, Caller
from gateway.settings import GatewaySettings
from gateway.state import Priority
from services.ocr.settings import OcrSettings
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, gateway_before, held_question
from tests.unit.gateway.test_chat_completions import user

pytestmark = pytest.mark.anyio

STREAM = {"Accept": "text/event-stream"}
FORM: dict[str, Any] = {"files": {"image": PHOTO}, "data": {"question": QUESTION}}
CHAT: dict[str, Any] = {"model": "loreglass", "stream": True, "messages": [user(QUESTION)]}


def assert_refused(reply: httpx.Response) -> None:
    assert (reply.status_code, reply.json()["type"]) == (503, "urn:loreglass:problem:overloaded")
    assert int(reply.headers["retry-after"]) >= 1


async def test_refused_streams_are_a_plain_503(services: FakeServices) -> None:
    async with gateway_before(services, max_in_flight=1, max_waiting=0) as world, held_question(world):
        assert_refused(await world.client.post("/answer", headers=STREAM, **FORM))
        chat = await world.client.post("/v1/chat/completions", json=CHAT)
    assert_refused(chat)
    assert chat.json()["error"]["code"] == "overloaded"


async def test_refused_questions_evict_no_session(services: FakeServices) -> None:
    async with gateway_before(services, max_in_flight=1, max_waiting=0, session_limit=3) as world:
        mine = await world.ask()
        async with held_question(world):
            for _ in range(6):
                assert_refused(await world.post())
        again = await world.post("And how many pages?", photo=None, session_id=mine.session_id)
    assert again.status_code == 200


async def test_question_without_time_is_timed_out_and_not_overloaded(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        mine = await world.ask()
        answer = await world.ask(photo=None, session_id=mine.session_id or "", deadline_ms="1")
    assert answer.reason is Reason.TIMED_OUT


async def decode(
    photo: bytes, decoders: PhotoDecoders, slots: Admission, caller: Caller, due: Deadline
) -> Any:
    gateway: Any = SimpleNamespace(settings=GatewaySettings(), photos=decoders, photo_slots=slots)
    return await photo_of(photo, gateway, caller, due)


async def test_photo_keeps_the_size_that_ocr_reads() -> None:
    slots, sent = Admission(1, 1), io.BytesIO()
    Image.new("RGB", (4000, 3000), "grey").save(sent, "JPEG")
    with closing(PhotoDecoders(1)) as photos:
        due = Deadline.after_ms(60_000)
        photo = await decode(sent.getvalue(), photos, slots, ANYBODY, due)
    assert photo is not None
    assert max(photo.width, photo.height) == OcrSettings().max_side


async def test_decoding_waits_no_longer_than_the_deadline() -> None:
    slots, soon = Admission(1, 1), Deadline.after_ms(20)
    with closing(PhotoDecoders(1)) as photos:
        async with slots.admit(PUBLIC, Priority.INTERACTIVE, Deadline.after_ms(60_000)):
            assert await decode(PHOTO, photos, slots, ANYBODY, soon) is None
        due = Deadline.after_ms(60_000)
        photo = await decode(PHOTO, photos, slots, ANYBODY, due)
    assert photo is not None
    assert photo.width == 320
    assert slots.in_flight == slots.waiting == 0


async def test_photos_of_tenants_are_decoded_in_turns() -> None:
    slots, decoded = Admission(1, 60), list[str]()

    async def ask(tenant: str) -> None:
        caller = Caller(tenant, Priority.INTERACTIVE)
        await decode(PHOTO, photos, slots, caller, Deadline.after_ms(60_000))
        decoded.append(tenant)

    held = slots.admit("noisy", Priority.INTERACTIVE, Deadline.after_ms(60_000))
    with closing(PhotoDecoders(1)) as photos:
        async with anyio.create_task_group() as group, held:
            for tenant in [*["noisy"] * 12, "quiet"]:
                group.start_soon(ask, tenant)
                await anyio.wait_all_tasks_blocked()
    assert decoded.index("quiet") <= 2
