"""More questions than the gateway takes: refused before a stream begins, and in time for those that wait."""

import io
import math
import random
from collections import Counter
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest
from PIL import Image

from chassis.errors import LoreglassError
from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Clock, Deadline
from gateway.routes.intake import photo_of
from gateway.serving.admission import Admission
from gateway.serving.tenants import ANYBODY, PUBLIC, Caller
from gateway.settings import GatewaySettings
from gateway.state import Priority
from services.ocr.settings import OcrSettings
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, gateway_before, held_question
from tests.unit.gateway.test_chat_completions import user
from tests.virtual_time import run_virtual

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
        await decode(PHOTO, photos, slots, Caller(tenant, Priority.INTERACTIVE), Deadline.after_ms(60_000))
        decoded.append(tenant)

    held = slots.admit("noisy", Priority.INTERACTIVE, Deadline.after_ms(60_000))
    with closing(PhotoDecoders(1)) as photos:
        async with anyio.create_task_group() as group, held:
            for tenant in [*["noisy"] * 12, "quiet"]:
                group.start_soon(ask, tenant)
                await anyio.wait_all_tasks_blocked()
    assert decoded.index("quiet") <= 2


PLACES = 8
SECONDS = 40
_MEDIAN_S, _SIGMA = 1.0, 0.4
_MEAN_S = _MEDIAN_S * math.exp(_SIGMA**2 / 2)
_P90_MS = 1000 * _MEDIAN_S * math.exp(1.28 * _SIGMA)
GOOD, LATE = "good", "late"


def serve(load: float, deadline_ms: float = 10_000) -> Counter[str]:
    """Count the questions that were answered in time, answered late, or refused, by error.

    They arrive by a Poisson process at `load` times the node's capacity, and do not wait for answers.
    """
    return run_virtual(partial(_serve, load, deadline_ms))


def goodput(served: Counter[str]) -> float:
    """Answers within their deadline, as a share of the node's capacity."""
    return served[GOOD] * _MEAN_S / PLACES / SECONDS


async def _serve(load: float, deadline_ms: float, clock: Clock) -> Counter[str]:
    admission, dice, count = Admission(PLACES, 64, clock), random.Random("1-0"), Counter[str]()

    async def ask(work_s: float) -> None:
        deadline = Deadline.after_ms(deadline_ms, clock)
        try:
            async with admission.admit(PUBLIC, Priority.INTERACTIVE, deadline, _P90_MS):
                with anyio.move_on_after(deadline.remaining_s()) as time:
                    await anyio.sleep(work_s)
            count[LATE if time.cancelled_caught else GOOD] += 1
        except LoreglassError as refusal:
            count[type(refusal).__name__] += 1

    async with anyio.create_task_group() as group:
        while clock() < SECONDS:
            await anyio.sleep(dice.expovariate(load * PLACES / _MEAN_S))
            group.start_soon(ask, dice.lognormvariate(math.log(_MEDIAN_S), _SIGMA))
    assert (admission.in_flight, admission.waiting) == (0, 0)
    return count


@pytest.mark.parametrize("deadline_ms", [3_000, 10_000])
def test_goodput_stays_at_its_peak_at_five_times_the_capacity(deadline_ms: float) -> None:
    measured = [goodput(serve(load, deadline_ms)) for load in (1.0, 2.0, 5.0)]
    assert max(measured) > 0.9
    assert measured[-1] >= 0.95 * max(measured)


def test_requests_below_capacity_are_not_refused() -> None:
    assert set(serve(0.7)) == {GOOD}
