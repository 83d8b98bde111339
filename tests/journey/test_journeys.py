"""The whole platform in separate processes or, with `make containers-check`, in containers.

Quality is measured by `loreglass eval`. These tests check that right answers come through.
"""

from collections.abc import Sequence

import anyio
import pytest

from deploy.settings import SAMPLE
from evaluation.data.model import Dataset, Part
from evaluation.judging.verdicts import Verdict
from loreglass_client import AsyncLoreglass
from loreglass_client.errors import SessionNotFound
from loreglass_client.models import CitationKind, Reason
from tests.journey.deployments import SERVICES, Deployment
from tests.journey.outcomes import DEADLINE_MS, Outcome, Outcomes, converse

pytestmark = pytest.mark.slow


def right_ones(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return those that are right; there is at least one."""
    right = [outcome for outcome in outcomes if outcome.is_right]
    assert right, [(each.turn.question, each.answer.answer, each.turn.gold) for each in outcomes]
    return right


def cited_kinds(outcome: Outcome) -> set[CitationKind]:
    return {citation.kind for citation in outcome.answer.citations}


async def test_photo_catalogue_and_pages_are_cited(outcomes: Outcomes) -> None:
    assert any(CitationKind.PHOTO in cited_kinds(each) for each in right_ones(outcomes["photo"]))
    assert any(CitationKind.PAGE in cited_kinds(each) for each in right_ones(outcomes["web"]))
    assert all(each.answer.entity for each in right_ones(outcomes["image_kb"]))
    for each in (outcome for kind in outcomes.values() for outcome in kind):
        assert each.answer.abstained is not bool(each.answer.citations)
        assert all(citation.snippet and citation.title for citation in each.answer.citations)


async def test_most_unanswerable_questions_are_refused_with_a_reason(outcomes: Outcomes) -> None:
    """A trained reader sometimes answers one; docs/quality.md says how often."""
    refused = [each.answer for each in outcomes["refused"] if each.verdict is Verdict.MISSING]
    assert len(refused) * 2 > len(outcomes["refused"])
    assert all(each.abstained and each.reason is not Reason.ANSWERED for each in refused)


async def test_conversation_needs_no_second_photo_and_can_be_deleted(
    deployment: Deployment, world: Dataset
) -> None:
    async with AsyncLoreglass(deployment.gateway_url) as client:
        talk = await converse(client, world.of(Part.MULTI)[0])
        right_ones(talk[1:])
        first = talk[0].answer
        assert {each.answer.session_id for each in talk} == {first.session_id}
        trace = await client.trace(first.trace_id)
        assert (trace.reason, trace.route) == (first.reason, first.route)
        assert {stage.stage for stage in trace.stages} >= set(first.timings_ms) - {"first_word", "total"}
        await client.forget(first.session_id)
        with pytest.raises(SessionNotFound):
            await client.ask("And now?", session_id=first.session_id)


async def test_all_apps_are_ready_and_count_requests(deployment: Deployment) -> None:
    for name in ("gateway", *SERVICES):
        status, text = await anyio.to_thread.run_sync(deployment.get, name, "/health/ready")
        assert status == 200, (name, text)
        _, metrics = await anyio.to_thread.run_sync(deployment.get, name, "/metrics")
        assert "loreglass_requests_total" in metrics


async def ask_again(deployment: Deployment, known: Outcome) -> Outcome:
    """Ask the same first question once more, and judge by the same answer."""
    photo = await anyio.Path(known.conversation.photo).read_bytes()
    async with AsyncLoreglass(deployment.gateway_url) as client:
        answer = await client.ask(known.turn.question, photo, deadline_ms=DEADLINE_MS)
    verdict = known.verdict if answer.answer == known.answer.answer else Verdict.MISSING
    return Outcome(known.conversation, known.turn, answer, verdict)


async def test_index_survives_indexing_again_and_a_restart(
    deployment: Deployment, outcomes: Outcomes
) -> None:
    photos, pages = await anyio.to_thread.run_sync(deployment.index, SAMPLE)
    assert (photos.new, pages.new) == (0, 0)
    assert photos.unchanged > 0
    assert pages.unchanged > 0
    await anyio.to_thread.run_sync(deployment.stop)
    await anyio.to_thread.run_sync(deployment.start)
    assert (await ask_again(deployment, right_ones(outcomes["image_kb"])[0])).is_right


async def test_crashed_service_is_named_in_degraded_until_it_is_back(
    deployment: Deployment, outcomes: Outcomes
) -> None:
    known = next(each for each in right_ones(outcomes["image_kb"]) if "reranker" in each.answer.timings_ms)
    with deployment.without("reranker"):
        degraded = (await ask_again(deployment, known)).answer
    assert "reranker" in degraded.degraded
    assert degraded.abstained is not bool(degraded.citations)
    assert "reranker" not in (await ask_again(deployment, known)).answer.degraded


async def test_without_the_reader_the_question_is_refused(deployment: Deployment, outcomes: Outcomes) -> None:
    known = right_ones(outcomes["image_kb"])[0]
    with deployment.without("reader"):
        refused = (await ask_again(deployment, known)).answer
    assert (refused.abstained, refused.reason, refused.citations) == (True, Reason.UNAVAILABLE, [])
    assert "reader" in refused.degraded
    assert (await ask_again(deployment, known)).is_right
