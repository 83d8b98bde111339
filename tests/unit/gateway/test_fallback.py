"""A model that cannot be had in time: the answer comes from the evidence in hand, and says so."""

from collections.abc import Callable
from functools import partial

import anyio
import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, Reason, Route, Verification
from contracts.domain_router import Domain
from contracts.reader import ReadReply
from gateway.planning.latencies import Work
from gateway.planning.live_plan import FixedPlan
from gateway.planning.run import Run
from gateway.planning.stages import FALLBACK_STAGE, Stage
from gateway.reasoning.port import ReadPhoto, Seek
from gateway.state import Context, Draft, GenerationBudget, Query, Quote, Reply
from tests.unit.gateway.fakes import FakeServices, Mood, read_answer
from tests.unit.gateway.platform import gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner

pytestmark = pytest.mark.anyio


class BrokenModel(ScriptedReasoner):
    """Drafts, answers and judges by raising; each can be mended."""

    def __init__(self, error: LoreglassError | None, *, can_draft: bool = False) -> None:
        super().__init__()
        self.error = error
        self.can_draft = can_draft

    async def draft(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, seek: Seek, deadline: Deadline
    ) -> Draft:
        """See the port."""
        if self.can_draft:
            return await super().draft(ask, domain, read_photo, seek, deadline)
        return await self._fail()

    async def answer(
        self, ask: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """See the port."""
        return await self._fail()

    async def judge(
        self, ask: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> float:
        """See the port."""
        return await self._fail()

    async def _fail(self) -> Draft | Reply | float:
        if self.error is None:
            await anyio.sleep_forever()
        raise self.error or Internal()


@pytest.mark.parametrize("error", [DependencyUnavailable(), Overloaded()], ids=["away", "too busy"])
async def test_without_its_model_the_gateway_answers_by_quoting(
    services: FakeServices, error: LoreglassError
) -> None:
    async with gateway_before(services, BrokenModel(error), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert (answer.reason, answer.route) == (Reason.ANSWERED, Route.RAG)
    assert "Mira Holm" in answer.answer
    assert answer.degraded == ["draft", "answer"]
    assert {"pocket_draft", "pocket_answer"} <= set(answer.timings_ms)


async def test_a_model_that_only_drafts_is_helped_out_with_the_answer(services: FakeServices) -> None:
    async with gateway_before(services, BrokenModel(Overloaded(), can_draft=True), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert "Mira Holm" in answer.answer
    assert answer.degraded == ["answer"]


async def test_a_model_that_hangs_leaves_time_for_the_fallback(
    services: FakeServices, impatient: Callable[[Stage], None]
) -> None:
    impatient(Stage.DRAFT)
    impatient(Stage.ANSWER)
    async with gateway_before(services, BrokenModel(None), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert (answer.reason, answer.degraded) == (Reason.ANSWERED, ["draft", "answer"])
    assert "pocket_draft" in answer.timings_ms


async def test_neither_model_nor_print_and_still_an_answer(
    services: FakeServices, impatient: Callable[[Stage], None]
) -> None:
    services.ocr.mood = Mood.HANGS
    impatient(Stage.OCR)
    async with gateway_before(services, BrokenModel(DependencyUnavailable()), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert answer.reason is Reason.ANSWERED, answer
    assert "Mira Holm" in answer.answer
    assert "pocket_draft" in answer.timings_ms


def know_nothing(_: Query, context: Context) -> Reply:
    return Reply(None, 0.0, reason=Reason.MODEL_UNSURE)


def invent(_: Query, context: Context) -> Reply:
    """An answer that nothing can be cited for."""
    return Reply("Jane Austen.", 0.9, (Quote(0, "by Jane Austen"),), generated=True)


@pytest.mark.parametrize("say", [know_nothing, invent])
async def test_the_reader_answers_where_the_model_cannot(
    services: FakeServices, say: Callable[[Query, Context], Reply]
) -> None:
    async with gateway_before(services, ScriptedReasoner(say=say), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert (answer.reason, answer.degraded) == (Reason.ANSWERED, [])
    assert "Mira Holm" in answer.answer
    assert answer.verification is Verification.NONE


async def test_where_the_reader_is_unsure_too_the_refusal_stands(services: FakeServices) -> None:
    services.reader.reply = ReadReply(
        answers=[read_answer(0, "The author is Mira Holm.", "Mira Holm", 14, 0.3)], model="fake"
    )
    async with gateway_before(services, ScriptedReasoner(say=invent), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert answer.reason is Reason.UNSUPPORTED
    assert answer.closest is not None


async def test_where_the_reader_is_away_the_refusal_stands(services: FakeServices) -> None:
    services.reader.mood = Mood.CRASHES
    async with gateway_before(services, ScriptedReasoner(say=know_nothing), fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert answer.reason is Reason.MODEL_UNSURE


class NoTimeForTheModel(FixedPlan):
    """Expects that no stage of the model would end in time."""

    def fits(self, stage: Stage, work: Work, remaining_ms: float, *, by_model: bool) -> bool:
        """See `FixedPlan`."""
        return stage not in FALLBACK_STAGE


async def done_by(run: Run, fallback: str | None) -> str:
    async def named(name: str, _: Deadline) -> str:
        return name

    behind = partial(named, fallback) if fallback else None
    return await run.with_fallback(Stage.DRAFT, partial(named, "model"), behind)


async def test_a_model_that_would_not_end_in_time_is_not_begun_and_the_fallback_is() -> None:
    run = Run("trace", Deadline.after_ms(9_000), planning=NoTimeForTheModel())
    assert await done_by(run, "fallback") == "fallback"
    assert run.degraded == ["draft"]


async def test_a_model_that_would_not_end_in_time_fails_where_there_is_no_fallback() -> None:
    run = Run("trace", Deadline.after_ms(9_000), planning=NoTimeForTheModel())
    with pytest.raises(DeadlineExceeded):
        await done_by(run, None)


async def test_a_model_that_is_there_leaves_nothing_to_the_fallback() -> None:
    run = Run("trace", Deadline.after_ms(9_000))
    assert await done_by(run, "fallback") == "model"
    assert run.degraded == []


class HeldModel(ScriptedReasoner):
    """Begins to draft, and goes on when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.release = anyio.Event(), anyio.Event()

    async def draft(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, seek: Seek, deadline: Deadline
    ) -> Draft:
        """See the port."""
        self.began.set()
        await self.release.wait()
        return await super().draft(ask, domain, read_photo, seek, deadline)


async def test_for_whom_the_model_has_no_time_the_evidence_is_quoted(services: FakeServices) -> None:
    model = HeldModel()
    async with gateway_before(services, model, fallback=True, max_in_flight=1, max_waiting=0) as world:
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await world.ask())

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await model.began.wait()
            beside = await world.ask()
            metrics = (await world.client.get("/metrics")).text
            model.release.set()
    assert "Mira Holm" in beside.answer
    assert {"draft", "answer"} <= set(beside.degraded)
    assert answers[0].degraded == []
    assert 'loreglass_admission_in_flight{tier="full"} 1.0' in metrics
    assert 'refused_total{priority="interactive",reason="full",tier="full"} 1.0' in metrics


async def test_a_fault_of_ours_is_no_reason_for_the_fallback(services: FakeServices) -> None:
    async with gateway_before(services, BrokenModel(Internal()), fallback=True) as world:
        assert (await world.post()).status_code == 500


async def test_without_a_fallback_a_model_that_is_away_is_a_refusal(services: FakeServices) -> None:
    model = BrokenModel(DependencyUnavailable(), can_draft=True)
    async with gateway_before(services, model) as world:
        answer = await world.ask()
    assert (answer.reason, answer.degraded) == (Reason.UNAVAILABLE, ["answer"])
