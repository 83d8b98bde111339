"""Rules that hold for every system: a failed service, an unknown answer, no evidence, citations."""

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from contracts.answer import Reason, Route
from gateway.state import Quote, Reply
from tests.unit.gateway.baselines import SEARCHING, ScriptedReader, put_baseline
from tests.unit.gateway.fakes import AUTHOR, FakeServices, Mood, pages, regions
from tests.unit.gateway.papers import ScriptedThreeStep, ScriptedWikiPrf, ask_three_step, ask_wiki_prf
from tests.unit.gateway.pipelines import Result
from tests.unit.gateway.stepwise import dragon

pytestmark = pytest.mark.anyio

Ask = Callable[..., Awaitable[Result]]


def saying(reply: Reply) -> dict[str, Callable[[FakeServices], Awaitable[Result]]]:
    """Each system that gives the model's answer as it is, with a model that replies so."""
    baselines = {
        name: partial(put_baseline, name, ScriptedReader(alone=reply, say=lambda _: reply))
        for name in ("llm-only", *SEARCHING)
    }
    return baselines | {
        "three-step": partial(ask_three_step, ScriptedThreeStep(say=lambda _: reply)),
        "wiki-prf": partial(ask_wiki_prf, ScriptedWikiPrf(say=lambda _: reply)),
    }


SYSTEMS = tuple(saying(Reply(None, 0.0)))
SERVICES: dict[str, tuple[Ask, str]] = {
    "qa-dragon": (dragon, "ocr domain_router cropper image_search text_search reranker verifier"),
    "three-step": (ask_three_step, "image_search text_search"),
    "wiki-prf": (ask_wiki_prf, "cropper image_search text_search reranker"),
    "direct-rag": (partial(put_baseline, "direct-rag"), "image_search text_search"),
    "crag-mm-task-1": (partial(put_baseline, "crag-mm-task-1"), "image_search"),
    "crag-mm-task-2": (partial(put_baseline, "crag-mm-task-2"), "image_search text_search"),
    "crag-mm-task-3": (partial(put_baseline, "crag-mm-task-3"), "image_search text_search"),
}


@pytest.mark.parametrize("mood", [Mood.CRASHES, Mood.TALKS_NONSENSE])
@pytest.mark.parametrize(
    ("system", "service"),
    [(name, service) for name, (_, rest) in SERVICES.items() for service in rest.split()],
)
async def test_failed_service_is_degraded_and_the_rest_answers(system: str, service: str, mood: Mood) -> None:
    services = FakeServices()
    services.cropper.reply = regions(b"\xff\xd8crop")
    services[service].mood = mood
    result = await SERVICES[system][0](services=services)
    failed = {service, "crop_search"} if (system, service) == ("wiki-prf", "image_search") else {service}
    assert set(result.run.degraded) == failed
    no_evidence = system == "crag-mm-task-1" or (system, service) == ("three-step", "text_search")
    assert result.outcome.reason is Reason.ANSWERED or no_evidence


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("text", [None, "  ", "I don’t know."])
async def test_reply_without_an_answer_is_a_refusal(system: str, text: str | None) -> None:
    outcome = (await saying(Reply(text, 0.9))[system](services=FakeServices())).outcome
    assert (outcome.reason, outcome.abstained) == (Reason.MODEL_UNSURE, True)
    assert outcome.answer.startswith("I don't know")


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "llm-only"])
async def test_refusal_without_search_results_says_so(system: str) -> None:
    services = FakeServices()
    services.find_nothing()
    outcome = (await saying(Reply(None, 0.0))[system](services=services)).outcome
    assert (outcome.reason, outcome.route) == (Reason.NO_EVIDENCE, Route.RAG)


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "llm-only"])
async def test_only_quotes_of_the_evidence_are_cited(system: str) -> None:
    services = FakeServices()
    services.text_search.reply = pages()
    reply = Reply(AUTHOR, 0.9, (Quote(0, AUTHOR), Quote(0, "made up"), Quote(9, AUTHOR)))
    outcome = (await saying(reply)[system](services=services)).outcome
    assert [citation.snippet for citation in outcome.citations] == [AUTHOR]
