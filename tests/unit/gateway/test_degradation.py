"""Services that fail, hang or are busy: there is still an answer, and `degraded` names what was skipped."""

from collections.abc import Callable

import anyio
import pytest

from chassis.errors import (
    CollectionNotFound,
    DeadlineExceeded,
    DependencyUnavailable,
    LoreglassError,
    Overloaded,
)
from contracts import headers
from contracts.answer import Reason
from contracts.domain_router import ClassifyReply
from contracts.ocr import OcrReply
from gateway.planning.stages import Stage
from gateway.state import Context, Query, Quote, Reply
from tests.unit.gateway.fakes import (
    NAMES,
    PAGES,
    FakeServices,
    Mood,
    image_hit,
    images,
    regions,
    text_line,
)
from tests.unit.gateway.platform import PHOTO, World, ask_gateway, gateway_before
from tests.unit.gateway.reasoners import FailingReasoner, ScriptedReasoner, unsure

OPTIONAL = {
    Stage.OCR: "ocr",
    Stage.DOMAIN_ROUTER: "domain_router",
    Stage.IMAGE_SEARCH: "image_search",
    Stage.CROPPER: "cropper",
    Stage.TEXT_SEARCH: "text_search",
    Stage.RERANKER: "reranker",
    Stage.VERIFIER: "verifier",
}
REASONS = {Stage.VERIFIER: Reason.UNAVAILABLE}
"""An answer that was not verified is refused."""


def want_crops(services: FakeServices) -> None:
    """Make the match of the whole photo uncertain, so that crops are searched as well."""
    services.image_search.reply = images(image_hit(score=0.7))
    services.cropper.reply = regions(PHOTO)


@pytest.mark.parametrize("stage", OPTIONAL)
async def test_hanging_optional_stage_is_cancelled(
    impatient: Callable[[Stage], None], world: World, stage: Stage
) -> None:
    service = world.services[OPTIONAL[stage]]
    service.mood = Mood.HANGS
    if stage is Stage.CROPPER:
        want_crops(world.services)
    impatient(stage)
    answer = await world.ask()
    if service.calls:  # on a slow machine the deadline may pass before this call
        with anyio.fail_after(20):
            await service.left.wait()
    assert answer.degraded == [stage.value]
    assert answer.reason is REASONS.get(stage, Reason.ANSWERED)
    assert bool(answer.citations) is not answer.abstained


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("domain_router", ClassifyReply(id="1", model="fake", data=[])),
        ("ocr", OcrReply(lines=[text_line("x")], width=0, height=0)),
        ("ocr", OcrReply(lines=[text_line("x").model_copy(update={"quadrilateral": []})], width=9, height=9)),
    ],
    ids=["no classification", "a photo without size", "a line without place"],
)
async def test_invalid_reply_is_degraded(services: FakeServices, name: str, reply: object) -> None:
    services[name].reply = reply
    answer = await ask_gateway(services)
    assert answer.degraded == [name]
    assert answer.reason is Reason.ANSWERED


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        (Mood.CRASHES, Reason.UNAVAILABLE),
        (Mood.TALKS_NONSENSE, Reason.UNAVAILABLE),
        (Mood.BUSY, Reason.OVERLOADED),
    ],
)
async def test_failed_text_search_is_not_missing_evidence(
    services: FakeServices, mood: Mood, reason: Reason
) -> None:
    services.text_search.mood = mood
    answer = await ask_gateway(services, unsure())
    assert answer.entity is not None  # the image search found the thing, but no page could be searched for it
    assert (answer.abstained, answer.reason) == (True, reason)


@pytest.mark.parametrize(
    ("mood", "sent", "fields", "reason"),
    [
        (Mood.CRASHES, {}, {}, Reason.UNAVAILABLE),
        (Mood.BUSY, {}, {}, Reason.OVERLOADED),
        (Mood.HANGS, {headers.DEADLINE: "800"}, {}, Reason.TIMED_OUT),
        (Mood.HANGS, {}, {"deadline_ms": "1"}, Reason.TIMED_OUT),
        (Mood.WORKS, {}, {"deadline_ms": "1"}, Reason.TIMED_OUT),
    ],
)
async def test_without_any_service_or_time_the_refusal_has_the_reason(
    world: World, mood: Mood, sent: dict[str, str], fields: dict[str, str], reason: Reason
) -> None:
    for name in NAMES:
        world.services[name].mood = mood
    world.client.headers.update(sent)
    answer = await world.ask(**fields)
    await world.quiet()
    assert (answer.abstained, answer.confidence, answer.citations) == (True, 0, [])
    assert answer.reason is reason
    if reason is not Reason.TIMED_OUT:
        assert {"ocr", "image_search", "text_search", "domain_router"} <= set(answer.degraded)


def not_indexed(_: object) -> object:
    raise CollectionNotFound("There is no such collection.")


@pytest.mark.parametrize(
    ("unused", "spared"),
    [("image_search", {"image_search", "crop_search"}), ("text_search", {"text_search"})],
)
async def test_installation_with_one_kind_of_index_is_not_degraded(
    services: FakeServices, unused: str, spared: set[str]
) -> None:
    want_crops(services)
    getattr(services, unused).reply = not_indexed
    answer = await ask_gateway(services)
    assert answer.degraded == []
    assert spared & set(answer.timings_ms)  # it was asked, and had nothing


@pytest.mark.parametrize("step", ["draft", "answer"])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DeadlineExceeded("Late."), Reason.TIMED_OUT),
        (Overloaded("Busy."), Reason.OVERLOADED),
        (DependencyUnavailable("The model server cannot be reached."), Reason.UNAVAILABLE),
    ],
    ids=["late", "busy", "away"],
)
async def test_refusal_without_a_reasoner_has_the_reason(
    services: FakeServices, step: str, error: LoreglassError, reason: Reason
) -> None:
    async with gateway_before(services, FailingReasoner(error, step)) as world:
        answer = await world.ask()
        trace = (await world.client.get(f"/traces/{answer.trace_id}")).json()
    assert (answer.abstained, answer.reason, answer.degraded) == (True, reason, [step])
    assert (answer.closest.snippet if answer.closest else None) == (PAGES if step == "answer" else None)
    assert (step, "failed") in [(stage["stage"], stage["state"]) for stage in trace["stages"]]


@pytest.mark.parametrize("text", [" ", "word " * 3_000], ids=["blank", "endless"])
async def test_unverifiable_answer_is_not_an_error(services: FakeServices, text: str) -> None:
    def say(_: Query, context: Context) -> Reply:
        return Reply(text, 0.9, (Quote(0, context.evidence[0].text),))

    answer = await ask_gateway(services, ScriptedReasoner(say=say))
    assert answer.answer.strip()


async def test_image_search_does_not_wait_for_ocr(services: FakeServices, world: World) -> None:
    services.ocr.mood = Mood.HELD
    async with anyio.create_task_group() as group:
        group.start_soon(world.ask)
        with anyio.fail_after(20):
            await services.ocr.arrived.wait()
            await services.image_search.arrived.wait()
        services.ocr.release.set()


async def test_text_left_out_by_ocr_is_degraded(services: FakeServices) -> None:
    services.ocr.reply = OcrReply(lines=[text_line("THE SALT ROAD")], width=96, height=64, lines_left_out=40)
    answer = await ask_gateway(services)
    assert answer.degraded == ["ocr_lines"]
    assert answer.reason is Reason.ANSWERED
