"""Rules that hold for every system: a failed service, an unknown answer, no evidence, citations."""

import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason, Route
from gateway.llm.server import VlmDeclined
from gateway.planning.run import Run
from tests.unit.gateway.fakes import AUTHOR, FakeServices, Mood, pages, regions
from tests.unit.gateway.papers import SEARCHING, ask_paper, saying

pytestmark = pytest.mark.anyio

SYSTEMS = ("llm-only", *SEARCHING, "three-step", "wiki-prf")
"""Those that give the model's answer as it is."""
SERVICES = {
    "qa-dragon": "ocr domain_router cropper image_search text_search reranker verifier",
    "three-step": "image_search text_search",
    "wiki-prf": "cropper image_search text_search reranker",
    "direct-rag": "image_search text_search",
    "crag-mm-task-1": "image_search",
    "crag-mm-task-2": "image_search text_search",
    "crag-mm-task-3": "image_search text_search",
}


@pytest.mark.parametrize("mood", [Mood.CRASHES, Mood.TALKS_NONSENSE])
@pytest.mark.parametrize(
    ("system", "service"), [(name, each) for name, rest in SERVICES.items() for each in rest.split()]
)
async def test_failed_service_is_degraded_and_the_rest_answers(system: str, service: str, mood: Mood) -> None:
    services = FakeServices()
    services.cropper.reply = regions(b"\xff\xd8crop")
    services[service].mood = mood
    result = await ask_paper(system, services=services)
    failed = {service, "crop_search"} if (system, service) == ("wiki-prf", "image_search") else {service}
    assert set(result.run.degraded) == failed
    no_evidence = system == "crag-mm-task-1" or (system, service) == ("three-step", "text_search")
    assert result.outcome.reason is Reason.ANSWERED or no_evidence


@pytest.mark.parametrize("system", SYSTEMS)
async def test_reply_without_an_answer_is_a_refusal(system: str) -> None:
    outcome = (await ask_paper(system, saying("I don’t know."))).outcome
    assert (outcome.reason, outcome.abstained) == (Reason.MODEL_UNSURE, True)
    assert outcome.answer.startswith("I don't know")


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "llm-only"])
async def test_refusal_without_search_results_says_so(system: str) -> None:
    services = FakeServices()
    services.find_nothing()
    outcome = (await ask_paper(system, saying("I don't know."), services)).outcome
    assert (outcome.reason, outcome.route) == (Reason.NO_EVIDENCE, Route.RAG)


@pytest.mark.parametrize(("answer", "cited"), [(AUTHOR, [AUTHOR]), ("Made up.", [])])
@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "llm-only"])
async def test_the_evidence_that_says_the_answer_is_cited(system: str, answer: str, cited: list[str]) -> None:
    services = FakeServices()
    services.text_search.reply = pages()
    outcome = (await ask_paper(system, saying(answer), services)).outcome
    assert (outcome.answer, [citation.snippet for citation in outcome.citations]) == (answer, cited)


@pytest.mark.parametrize("system", [*SYSTEMS, "cot"])
async def test_a_model_that_declines_gives_no_answer(system: str) -> None:
    outcome = (await ask_paper(system, saying(VlmDeclined("I will not.")))).outcome
    assert (outcome.abstained, outcome.reason) == (True, Reason.MODEL_UNSURE)


@pytest.mark.parametrize("system", [*SYSTEMS, "cot"])
@pytest.mark.parametrize("error", [DependencyUnavailable(), Overloaded(), DeadlineExceeded(), Internal()])
async def test_failed_model_is_degraded_and_raised(system: str, error: LoreglassError) -> None:
    run = Run("trace", Deadline.after_ms(30_000))
    with pytest.raises(type(error)):
        await ask_paper(system, saying(error), run=run)
    if not isinstance(error, Internal):
        assert run.degraded[-1] == ("draft" if system == "cot" else "answer")
