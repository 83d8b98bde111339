"""A model that cannot be had in time: the answer comes from the evidence in hand, and says so."""

from collections.abc import Callable, Sequence

import anyio
import pytest

from chassis.deadlines import Deadline
from chassis.errors import DependencyUnavailable, Internal, LoreglassError, Overloaded
from contracts.answer import Answer, Reason, Route
from gateway.budget.stages import Stage
from gateway.reasoning.port import ReadPhoto
from gateway.state import Ask, Draft, Effort, Evidence, Findings, Reply
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner

pytestmark = pytest.mark.anyio


class BrokenModel(ScriptedReasoner):
    """Drafts, answers and judges by raising; each can be mended."""

    def __init__(self, error: LoreglassError | None, *, drafts: bool = False) -> None:
        super().__init__()
        self.error = error
        self.drafts = drafts

    async def draft(self, ask: Ask, read_photo: ReadPhoto, deadline: Deadline) -> Draft:
        """See the port."""
        if self.drafts:
            return await super().draft(ask, read_photo, deadline)
        return await self._fail()

    async def answer(
        self, ask: Ask, draft: Draft, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """See the port."""
        return await self._fail()

    async def judge(self, ask: Ask, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline) -> float:
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
    async with gateway_before(services, BrokenModel(error), resort=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert (answer.reason, answer.route) == (Reason.ANSWERED, Route.RAG)
    assert "Mira Holm" in answer.answer
    assert answer.degraded == ["draft", "answer"]
    assert {"pocket_draft", "pocket_answer"} <= set(answer.timings_ms)


async def test_a_model_that_only_drafts_is_helped_out_with_the_answer(services: FakeServices) -> None:
    async with gateway_before(services, BrokenModel(Overloaded(), drafts=True), resort=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert "Mira Holm" in answer.answer
    assert answer.degraded == ["answer"]


async def test_a_model_that_hangs_leaves_time_for_the_last_resort(
    services: FakeServices, impatient: Callable[[Stage], None]
) -> None:
    impatient(Stage.DRAFT)
    impatient(Stage.ANSWER)
    async with gateway_before(services, BrokenModel(None), resort=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert (answer.reason, answer.degraded) == (Reason.ANSWERED, ["draft", "answer"])
    assert "pocket_draft" in answer.timings_ms


async def test_neither_model_nor_print_and_still_an_answer(
    services: FakeServices, impatient: Callable[[Stage], None]
) -> None:
    services.ocr.mood = Mood.HANGS
    impatient(Stage.OCR)
    async with gateway_before(services, BrokenModel(DependencyUnavailable()), resort=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert answer.reason is Reason.ANSWERED, answer
    assert "Mira Holm" in answer.answer
    assert "pocket_draft" in answer.timings_ms


class HeldModel(ScriptedReasoner):
    """Begins to draft, and goes on when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.release = anyio.Event(), anyio.Event()

    async def draft(self, ask: Ask, read_photo: ReadPhoto, deadline: Deadline) -> Draft:
        """See the port."""
        self.began.set()
        await self.release.wait()
        return await super().draft(ask, read_photo, deadline)


async def test_for_whom_the_model_has_no_time_the_evidence_is_quoted(services: FakeServices) -> None:
    model = HeldModel()
    async with gateway_before(services, model, resort=True, max_in_flight=1, max_waiting=0) as world:
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
    assert 'loreglass_admission_in_flight{lane="full"} 1.0' in metrics
    assert 'refused_total{lane="full",priority="interactive",reason="full"} 1.0' in metrics


async def test_a_fault_of_ours_is_no_reason_for_the_last_resort(services: FakeServices) -> None:
    async with gateway_before(services, BrokenModel(Internal()), resort=True) as world:
        assert (await world.post()).status_code == 500


async def test_without_a_last_resort_a_model_that_is_away_is_told(services: FakeServices) -> None:
    async with gateway_before(services, BrokenModel(DependencyUnavailable())) as world:
        assert (await world.post()).status_code == 503
