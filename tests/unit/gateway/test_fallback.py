"""Without a model in time the answer is quoted from the evidence, and is degraded."""

from collections.abc import Callable
from functools import partial

import anyio
import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, Reason, Route, Verification
from contracts.reader import ReadReply
from gateway.planning.latencies import Work
from gateway.planning.planner import FixedPlan
from gateway.planning.run import Run
from gateway.planning.stages import FALLBACK_STAGE, Stage
from gateway.reasoning.port import ReadPhoto
from gateway.state import Context, Query, Quote, Reply
from tests.unit.gateway.fakes import FakeServices, Mood, read_answer
from tests.unit.gateway.platform import ask_gateway, gateway_before
from tests.unit.gateway.reasoners import FailingReasoner, ScriptedReasoner, unsure


class BrokenModel(FailingReasoner):
    """A model that fails, or hangs without an error, in all it does but perhaps the draft."""

    def __init__(self, error: LoreglassError | None, *, can_draft: bool = False) -> None:
        super().__init__(error, "answer", "judge", *([] if can_draft else ["draft"]))


@pytest.mark.parametrize(
    ("error", "can_draft"),
    [(DependencyUnavailable(), False), (Overloaded(), False), (Overloaded(), True), (None, False)],
    ids=["away", "too busy", "too busy for the answer", "hangs"],
)
async def test_gateway_without_its_model_answers_by_quoting(
    services: FakeServices, impatient: Callable[[Stage], None], error: LoreglassError | None, can_draft: bool
) -> None:
    if error is None:
        impatient(Stage.DRAFT)
        impatient(Stage.ANSWER)
    answer = await ask_gateway(services, BrokenModel(error, can_draft=can_draft), fallback=True)
    assert (answer.reason, answer.route) == (Reason.ANSWERED, Route.RAG)
    assert "Mira Holm" in answer.answer
    assert answer.degraded == (["answer"] if can_draft else ["draft", "answer"])
    assert ("lite_draft" in answer.timings_ms) is not can_draft
    assert "lite_answer" in answer.timings_ms


def invent(_: Query, context: Context) -> Reply:
    """An answer that nothing can be cited for."""
    return Reply("Jane Austen.", 0.9, (Quote(0, "by Jane Austen"),))


@pytest.mark.parametrize("model", [unsure(), ScriptedReasoner(say=invent)], ids=["unsure", "invents"])
async def test_the_reader_answers_for_the_model(services: FakeServices, model: ScriptedReasoner) -> None:
    answer = await ask_gateway(services, model, fallback=True)
    assert (answer.reason, answer.degraded) == (Reason.ANSWERED, [])
    assert "Mira Holm" in answer.answer
    assert answer.verification is Verification.NONE


async def test_refusal_is_kept_if_the_reader_is_unsure_or_unavailable(services: FakeServices) -> None:
    unlikely = read_answer(0, "The author is Mira Holm.", "Mira Holm", 14, 0.3)
    services.reader.reply = ReadReply(answers=[unlikely], model="fake")
    answer = await ask_gateway(services, ScriptedReasoner(say=invent), fallback=True)
    assert answer.reason is Reason.UNSUPPORTED
    assert answer.closest is not None
    services.reader.mood = Mood.CRASHES
    answer = await ask_gateway(services, unsure(), fallback=True)
    assert answer.reason is Reason.MODEL_UNSURE


class NoTimeForTheModel(FixedPlan):
    """Expects that no stage of the model would end in time."""

    def fits(self, stage: Stage, work: Work, remaining_ms: float, *, by_model: bool) -> bool:
        return stage not in FALLBACK_STAGE


async def done_by(run: Run, fallback: str | None) -> str:
    async def named(name: str, _: Deadline) -> str:
        return name

    behind = partial(named, fallback) if fallback else None
    return await run.with_fallback(Stage.DRAFT, partial(named, "model"), behind)


async def test_model_call_is_skipped_without_enough_time() -> None:
    run = Run("trace", Deadline.after_ms(9_000), planning=NoTimeForTheModel())
    assert await done_by(run, "fallback") == "fallback"
    assert run.degraded == ["draft"]
    with pytest.raises(DeadlineExceeded):
        await done_by(Run("trace", Deadline.after_ms(9_000), planning=NoTimeForTheModel()), None)


async def test_evidence_is_quoted_while_the_model_is_full(services: FakeServices) -> None:
    began, release = anyio.Event(), anyio.Event()

    async def hold(_: ReadPhoto) -> None:
        began.set()
        await release.wait()

    model = ScriptedReasoner(before_draft=hold)
    async with gateway_before(services, model, fallback=True, max_in_flight=1, max_waiting=0) as world:
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await world.ask())

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await began.wait()
            beside = await world.ask()
            metrics = (await world.client.get("/metrics")).text
            release.set()
    assert "Mira Holm" in beside.answer
    assert {"draft", "answer"} <= set(beside.degraded)
    assert answers[0].degraded == []
    assert 'loreglass_admission_in_flight{tier="full"} 1.0' in metrics
    assert 'refused_total{priority="interactive",reason="full",tier="full"} 1.0' in metrics


async def test_internal_error_does_not_use_the_fallback(services: FakeServices) -> None:
    async with gateway_before(services, BrokenModel(Internal()), fallback=True) as world:
        assert (await world.post()).status_code == 500
