"""Services that fail, hang or are busy: the answer still comes, and says what it had to do without."""

from collections.abc import Callable, Sequence

import anyio
import pytest

from chassis.errors import (
    CollectionNotFound,
    DeadlineExceeded,
    DependencyUnavailable,
    LoreglassError,
    Overloaded,
)
from chassis.resilience.deadlines import Deadline
from contracts import headers
from contracts.answer import Answer, Reason, Route
from contracts.cropper import CropReply
from contracts.domain_router import ClassifyReply, Domain
from contracts.image_search import ImageSearchReply
from contracts.ocr import OcrReply
from contracts.text_search import TextSearchReply
from gateway.planning.stages import Stage
from gateway.reasoning.port import ReadPhoto, Seek
from gateway.state import Context, Draft, GenerationBudget, Query, Quote, Reply
from tests.unit.gateway.fakes import (
    NAMES,
    FakeServices,
    Mood,
    crop_region,
    image_hit,
    text_line,
)
from tests.unit.gateway.platform import PHOTO, World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner

pytestmark = pytest.mark.anyio

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
"""What nobody checked is not said."""
QUICK_FAILURES = [Mood.CRASHES, Mood.BUSY]


def want_crops(services: FakeServices) -> None:
    """Make the whole photo undecided, so that the cropper is asked as well."""
    services.image_search.reply = ImageSearchReply(hits=[image_hit(score=0.7)], collection="images")
    services.cropper.reply = CropReply(regions=[crop_region(PHOTO)], width=96, height=64)


def still_answers(answer: Answer, stage: Stage) -> None:
    assert answer.degraded == [stage.value]
    assert answer.reason is REASONS.get(stage, Reason.ANSWERED)
    assert bool(answer.citations) is not answer.abstained


@pytest.mark.parametrize("mood", QUICK_FAILURES)
@pytest.mark.parametrize("stage", OPTIONAL)
async def test_an_optional_stage_that_fails_is_done_without(
    services: FakeServices, stage: Stage, mood: Mood
) -> None:
    want_crops(services)
    services[OPTIONAL[stage]].mood = mood
    async with gateway_before(services) as world:
        answer = await world.ask()
    if stage is Stage.IMAGE_SEARCH:  # the same service searches the crops
        assert answer.degraded == ["image_search", "crop_search"]
        assert answer.reason is Reason.ANSWERED
    else:
        still_answers(answer, stage)


@pytest.mark.parametrize("stage", OPTIONAL)
async def test_an_optional_stage_that_hangs_is_given_up(
    services: FakeServices, impatient: Callable[[Stage], None], stage: Stage
) -> None:
    services[OPTIONAL[stage]].mood = Mood.HANGS
    if stage is Stage.CROPPER:
        want_crops(services)
    impatient(stage)
    async with gateway_before(services) as world:
        answer = await world.ask()
        if services[OPTIONAL[stage]].calls:  # on a slow machine its time may be over before it is called
            with anyio.fail_after(20):
                await services[OPTIONAL[stage]].left.wait()
    still_answers(answer, stage)


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("domain_router", ClassifyReply(id="1", model="fake", data=[])),
        ("ocr", OcrReply(lines=[text_line("x")], width=0, height=0)),
        ("ocr", OcrReply(lines=[text_line("x").model_copy(update={"quadrilateral": []})], width=9, height=9)),
    ],
    ids=["no classification", "a photo without size", "a line without place"],
)
async def test_a_reply_that_makes_no_sense_is_done_without(
    services: FakeServices, name: str, reply: object
) -> None:
    services[name].reply = reply
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert answer.degraded == [name]
    assert answer.reason is Reason.ANSWERED


async def test_when_every_service_fails_it_is_said_honestly(services: FakeServices) -> None:
    for name in NAMES:
        services[name].mood = Mood.CRASHES
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert (answer.abstained, answer.confidence, answer.citations) == (True, 0, [])
    assert answer.reason is Reason.UNAVAILABLE
    assert {"ocr", "image_search", "text_search", "domain_router"} <= set(answer.degraded)


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        (Mood.CRASHES, Reason.UNAVAILABLE),
        (Mood.TALKS_NONSENSE, Reason.UNAVAILABLE),
        (Mood.BUSY, Reason.OVERLOADED),
    ],
)
async def test_an_outage_of_text_search_is_not_called_ignorance(
    services: FakeServices, mood: Mood, reason: Reason
) -> None:
    services.text_search.mood = mood
    ignorant = ScriptedReasoner(say=lambda *_: Reply(None, 0.0, reason=Reason.MODEL_UNSURE))
    async with gateway_before(services, ignorant) as world:
        answer = await world.ask()
    assert answer.entity is not None  # the image search found the thing, but no page could be asked about it
    assert (answer.abstained, answer.reason) == (True, reason)


async def test_when_every_service_is_busy_the_reason_is_overload(services: FakeServices) -> None:
    for name in NAMES:
        services[name].mood = Mood.BUSY
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert (answer.abstained, answer.reason) == (True, Reason.OVERLOADED)


async def test_when_every_service_hangs_the_reason_is_time(services: FakeServices) -> None:
    for name in NAMES:
        services[name].mood = Mood.HANGS
    async with gateway_before(services) as world:
        answer = await world.ask(deadline_ms="800")
        await world.quiet()
    assert (answer.abstained, answer.reason) == (True, Reason.TIMED_OUT)


async def test_when_nothing_is_found_the_reason_is_that(services: FakeServices) -> None:
    services.ocr.reply = OcrReply(lines=[], width=96, height=64)
    services.image_search.reply = ImageSearchReply(hits=[], collection="images")
    services.text_search.reply = TextSearchReply(hits=[], collection="pages")
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert (answer.abstained, answer.reason, answer.degraded) == (True, Reason.NO_EVIDENCE, [])


def not_indexed(_: object) -> object:
    raise CollectionNotFound("There is no such collection.")


@pytest.mark.parametrize(
    ("unused", "spared"),
    [("image_search", {"image_search", "crop_search"}), ("text_search", {"text_search"})],
)
async def test_an_installation_with_pages_only_or_photos_only_is_not_degraded(
    services: FakeServices, unused: str, spared: set[str]
) -> None:
    want_crops(services)
    getattr(services, unused).reply = not_indexed
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert answer.degraded == []
    assert spared & set(answer.timings_ms)  # it was asked, and had nothing


@pytest.mark.parametrize("mood", [Mood.WORKS, Mood.HANGS, Mood.BUSY])
@pytest.mark.parametrize("deadline_ms", ["1", "120", "300"])
async def test_a_deadline_too_short_for_anything_still_has_an_answer_body(
    services: FakeServices, mood: Mood, deadline_ms: str
) -> None:
    for name in NAMES:
        services[name].mood = mood
    async with gateway_before(services) as world:
        answer = await world.ask(deadline_ms=deadline_ms)
        await world.quiet()
    assert answer.reason is not Reason.ANSWERED or answer.citations


async def test_a_deadline_in_the_header_is_kept_with_an_answer_body(services: FakeServices) -> None:
    for name in NAMES:
        services[name].mood = Mood.HANGS
    async with gateway_before(services) as world:
        world.client.headers[headers.DEADLINE] = "700"
        answer = await world.ask()
    assert (answer.abstained, answer.reason) == (True, Reason.TIMED_OUT)


class FailingReasoner(ScriptedReasoner):
    """Raises in one of its two required steps."""

    def __init__(self, step: str, error: Exception) -> None:
        super().__init__()
        self._step = step
        self._error = error

    async def draft(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, seek: Seek, deadline: Deadline
    ) -> Draft:
        """Raises when it is the step."""
        if self._step == "draft":
            raise self._error
        return await super().draft(ask, domain, read_photo, seek, deadline)

    async def answer(
        self, ask: Query, draft: object, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """Raises when it is the step."""
        raise self._error


@pytest.mark.parametrize("step", ["draft", "answer"])
@pytest.mark.parametrize(
    ("error", "reason"),
    [(DeadlineExceeded("Late."), Reason.TIMED_OUT), (Overloaded("Busy."), Reason.OVERLOADED)],
    ids=["late", "busy"],
)
async def test_a_reasoner_that_is_late_or_busy_is_an_honest_refusal(
    services: FakeServices, step: str, error: LoreglassError, reason: Reason
) -> None:
    async with gateway_before(services, FailingReasoner(step, error)) as world:
        answer = await world.ask()
    assert (answer.abstained, answer.reason) == (True, reason)


@pytest.mark.parametrize("step", ["draft", "answer"])
async def test_a_reasoner_that_is_gone_is_an_honest_refusal(services: FakeServices, step: str) -> None:
    error = DependencyUnavailable("The model server cannot be reached.")
    async with gateway_before(services, FailingReasoner(step, error)) as world:
        answer = await world.ask()
        trace = (await world.client.get(f"/traces/{answer.trace_id}")).json()
    assert (answer.abstained, answer.reason, answer.degraded) == (True, Reason.UNAVAILABLE, [step])
    assert (step, "failed") in [(stage["stage"], stage["state"]) for stage in trace["stages"]]


@pytest.mark.parametrize("step", ["draft", "answer"])
async def test_a_reasoner_that_breaks_says_nothing_of_the_inside(services: FakeServices, step: str) -> None:
    async with gateway_before(services, FailingReasoner(step, KeyError("/srv/secret"))) as world:
        reply = await world.post()
        again = await world.client.get("/health/live")
    assert (reply.status_code, reply.json()["type"]) == (500, "urn:loreglass:problem:internal")
    assert "secret" not in reply.text
    assert again.status_code == 200


class BreakingSelection(ScriptedReasoner):
    """Breaks in a step that the answer can do without."""

    async def select_entity(self, *_: object) -> None:
        """Always breaks."""
        raise ZeroDivisionError


async def test_an_optional_step_of_the_reasoner_that_breaks_is_done_without(services: FakeServices) -> None:
    async with gateway_before(services, BreakingSelection()) as world:
        still_answers(await world.ask(), Stage.SELECT_ENTITY)


@pytest.mark.parametrize("text", ["", " ", "word " * 3_000], ids=["empty", "blank", "endless"])
async def test_an_answer_that_cannot_be_checked_is_never_a_fault(services: FakeServices, text: str) -> None:
    def say(_: Query, context: Context) -> Reply:
        return Reply(text, 0.9, (Quote(0, context.evidence[0].text),))

    async with gateway_before(services, ScriptedReasoner(say=say)) as world:
        answer = await world.ask()
    assert answer.answer.strip()


async def test_the_slow_stage_does_not_hold_back_what_does_not_need_it(services: FakeServices) -> None:
    """The image search waits for nothing but the photo."""
    services.ocr.mood = Mood.HELD
    async with gateway_before(services) as world, anyio.create_task_group() as group:
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await world.ask())

        group.start_soon(ask)
        with anyio.fail_after(20):
            await services.ocr.arrived.wait()
            await services.image_search.arrived.wait()
        services.ocr.release.set()
    assert answers[0].route is Route.RAG


async def seen_by(world: World, names: Sequence[str]) -> None:
    with anyio.fail_after(20):
        for name in names:
            await world.services[name].arrived.wait()


async def test_a_caller_that_leaves_takes_the_whole_run_with_it(services: FakeServices) -> None:
    services.ocr.mood = services.image_search.mood = Mood.HANGS
    async with gateway_before(services) as world:
        async with anyio.create_task_group() as group:
            group.start_soon(world.post)
            await seen_by(world, ["ocr", "image_search"])
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            await services.ocr.left.wait()
            await services.image_search.left.wait()
        await world.quiet()


async def test_print_that_was_not_read_is_told(services: FakeServices) -> None:
    services.ocr.reply = OcrReply(lines=[text_line("THE SALT ROAD")], width=96, height=64, lines_left_out=40)
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert answer.degraded == ["ocr_lines"]
    assert answer.reason is Reason.ANSWERED
