"""What a wearer meets, against one process, separate ones, and (by `make containers-check`) containers.

How often the answers are right is for `loreglass eval` to say; here it is enough that the way through
the whole platform leads to right ones.
"""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from evaluation.data.world import World
from evaluation.judging.verdicts import Verdict
from loreglass_client import AsyncLoreglass
from loreglass_client.errors import SessionNotFound
from loreglass_client.models import CitationKind, Reason
from tests.journey.asking import DEADLINE_MS, Outcome, Outcomes, converse
from tests.journey.deployments import SERVICES, Deployment, Killable
from tests.journey.kinds import KILLABLE

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def right_ones(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those that are right; there is at least one."""
    right = [outcome for outcome in outcomes if outcome.is_right]
    assert right, [(each.turn.question, each.answer.answer, each.turn.gold) for each in outcomes]
    return right


def cited_kinds(outcome: Outcome) -> set[CitationKind]:
    return {citation.kind for citation in outcome.answer.citations}


async def test_what_the_photo_says_is_read_from_it(outcomes: Outcomes) -> None:
    assert any(CitationKind.PHOTO in cited_kinds(each) for each in right_ones(outcomes["photo"]))


async def test_what_the_catalogue_knows_is_told_with_its_source(outcomes: Outcomes) -> None:
    for each in right_ones(outcomes["image_kb"]):
        assert each.answer.entity
        assert each.answer.citations


async def test_what_only_a_page_says_is_found_on_it(outcomes: Outcomes) -> None:
    assert any(CitationKind.PAGE in cited_kinds(each) for each in right_ones(outcomes["web"]))


async def test_what_nobody_knows_is_mostly_refused_and_with_a_reason(outcomes: Outcomes) -> None:
    """A reader that learnt to read is fooled at times; how often: docs/quality.md."""
    refused = [each.answer for each in outcomes["refused"] if each.verdict is Verdict.MISSING]
    assert len(refused) * 2 > len(outcomes["refused"])
    assert all(each.abstained and each.reason is not Reason.ANSWERED for each in refused)


async def test_a_conversation_goes_on_without_the_photo(deployment: Deployment, world: World) -> None:
    async with AsyncLoreglass(deployment.gateway_url) as client:
        talk = await converse(client, world.multi[0])
        right_ones(talk[1:])
        session_id = talk[0].answer.session_id
        assert {each.answer.session_id for each in talk} == {session_id}
        await client.forget(session_id)
        with pytest.raises(SessionNotFound):
            await client.ask("And now?", session_id=session_id)


async def test_every_answer_has_a_source_and_every_refusal_a_reason(outcomes: Outcomes) -> None:
    for each in (outcome for kind in outcomes.values() for outcome in kind):
        assert each.answer.abstained is not bool(each.answer.citations)
        for citation in each.answer.citations:
            assert citation.snippet
            assert citation.title


async def test_a_trace_tells_where_the_time_went(deployment: Deployment, world: World) -> None:
    async with AsyncLoreglass(deployment.gateway_url) as client:
        answer = (await converse(client, world.single[0]))[0].answer
        trace = await client.trace(answer.trace_id)
    assert (trace.trace_id, trace.reason, trace.route) == (answer.trace_id, answer.reason, answer.route)
    assert {stage.stage for stage in trace.stages} >= set(answer.timings_ms) - {"first_word", "total"}


async def test_everything_is_ready_and_counts_its_requests(deployment: Deployment) -> None:
    for name in ("gateway", *SERVICES):
        status, said = await anyio.to_thread.run_sync(deployment.get, name, "/health/ready")
        assert status == 200, (name, said)
        assert (
            "loreglass_requests_total"
            in (await anyio.to_thread.run_sync(deployment.get, name, "/metrics"))[1]
        )


async def test_indexing_the_same_again_changes_nothing(deployment: Deployment, world_folder: Path) -> None:
    photos, pages = await anyio.to_thread.run_sync(deployment.index, world_folder)
    assert (photos.new, pages.new) == (0, 0)
    assert photos.unchanged > 0
    assert pages.unchanged > 0


async def ask_again(deployment: Deployment, known: Outcome) -> Outcome:
    """The same first question once more, judged by the same answer."""
    photo = await anyio.Path(known.conversation.photo).read_bytes()
    async with AsyncLoreglass(deployment.gateway_url) as client:
        answer = await client.ask(known.turn.question, photo, deadline_ms=DEADLINE_MS)
    verdict = known.verdict if answer.answer == known.answer.answer else Verdict.MISSING
    return Outcome(known.conversation, known.turn, answer, verdict)


async def test_an_index_is_still_there_after_a_restart(deployment: Deployment, outcomes: Outcomes) -> None:
    known = right_ones([*outcomes["image_kb"], *outcomes["web"]])[0]
    await anyio.to_thread.run_sync(deployment.stop)
    await anyio.to_thread.run_sync(deployment.start)
    assert (await ask_again(deployment, known)).is_right


@pytest.mark.parametrize("name", ["image_search", "text_search", "reranker", "verifier"])
@pytest.mark.parametrize("deployment", list(KILLABLE), indirect=True, scope="session")
async def test_a_service_that_died_is_missed_until_it_is_back(
    deployment: Killable, outcomes: Outcomes, name: str
) -> None:
    known = next(each for each in right_ones(outcomes["image_kb"]) if name in each.answer.timings_ms)
    with deployment.without(name):
        hurt = (await ask_again(deployment, known)).answer
    healed = (await ask_again(deployment, known)).answer
    assert name in hurt.degraded
    assert hurt.abstained is not bool(hurt.citations)
    assert name not in healed.degraded


@pytest.mark.parametrize("deployment", list(KILLABLE), indirect=True, scope="session")
async def test_while_nobody_can_read_the_answer_is_an_honest_refusal(
    deployment: Killable, outcomes: Outcomes
) -> None:
    known = right_ones(outcomes["image_kb"])[0]
    with deployment.without("reader"):
        hurt = (await ask_again(deployment, known)).answer
    assert (hurt.abstained, hurt.reason, hurt.citations) == (True, Reason.UNAVAILABLE, [])
    assert "reader" in hurt.degraded
    assert (await ask_again(deployment, known)).is_right
