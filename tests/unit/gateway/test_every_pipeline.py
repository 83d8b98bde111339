"""Rules that hold for every system: its services, their failures, unknown answers, no evidence, citations."""

from typing import Any

import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason, Route
from gateway.llm.prompt import VlmOptions, Window
from gateway.llm.server import VlmDeclined
from gateway.planning.run import Run
from tests.unit.gateway.fakes import (
    AUTHOR,
    BOOK,
    CITED_AUTHOR,
    NAMES,
    FakeServices,
    Mood,
    image_hit,
    images,
    pages,
    regions,
    text_hit,
)
from tests.unit.gateway.papers import SEARCHING, ask_paper, saying
from tests.unit.gateway.pipelines import Result, loreglass

SYSTEMS = ("llm-only", *SEARCHING, "three-step", "wiki-prf")
"""Those that give the model's answer as it is."""
SERVICES = {
    "loreglass": "ocr domain_router cropper image_search text_search reranker verifier",
    "qa-dragon": "ocr domain_router cropper image_search text_search reranker verifier",
    "three-step": "image_search text_search",
    "wiki-prf": "cropper image_search text_search reranker",
    "direct-rag": "image_search text_search",
    "crag-mm-task-1": "image_search",
    "crag-mm-task-2": "image_search text_search",
    "crag-mm-task-3": "image_search text_search",
}


async def ask(system: str, services: FakeServices, **more: Any) -> Result:
    """Ask a system with services for which each of its stages has something to do."""
    services.cropper.reply = regions(b"\xff\xd8crop")
    if system != "loreglass":
        return await ask_paper(system, services=services, **more)
    services.image_search.reply = images(
        image_hit(score=0.7)
    )  # uncertain, so that crops are searched as well
    return await loreglass(services=services, **more)


@pytest.mark.parametrize("system", SERVICES)
async def test_each_system_calls_its_own_services_only(system: str) -> None:
    whole = await ask(system, services := FakeServices())
    assert {name for name in NAMES if services[name].calls} == {*SERVICES[system].split()}
    assert whole.run.degraded == []
    result = await ask(system, services := FakeServices(), photo=None)
    assert services.image_search.calls == services.cropper.calls == services.ocr.calls == []
    assert result.run.degraded == []
    assert result.outcome.reason is Reason.ANSWERED or system == "crag-mm-task-1"


@pytest.mark.parametrize("mood", [Mood.CRASHES, Mood.BUSY, Mood.TALKS_NONSENSE])
@pytest.mark.parametrize(
    ("system", "service"), [(name, each) for name, rest in SERVICES.items() for each in rest.split()]
)
async def test_failed_service_is_degraded_and_the_rest_answers(system: str, service: str, mood: Mood) -> None:
    services = FakeServices()
    services[service].mood = mood
    result = await ask(system, services)
    searches_crops = system in ("loreglass", "wiki-prf")
    failed = {service, "crop_search"} if searches_crops and service == "image_search" else {service}
    assert set(result.run.degraded) == failed
    if system != "crag-mm-task-1" and (system, service) != ("three-step", "text_search"):
        assert result.outcome.reason is Reason.ANSWERED


@pytest.mark.parametrize("reply", ["I don’t know.", VlmDeclined("I will not.")])
@pytest.mark.parametrize("system", [*SYSTEMS, "cot"])
async def test_reply_without_an_answer_is_a_refusal(system: str, reply: str | Exception) -> None:
    outcome = (await ask_paper(system, saying(reply))).outcome
    assert (outcome.reason, outcome.abstained) == (Reason.MODEL_UNSURE, True)
    assert outcome.answer.startswith("I don't know")


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "llm-only"])
async def test_refusal_without_search_results_has_no_evidence(system: str) -> None:
    services = FakeServices()
    services.find_nothing()
    result = await ask_paper(system, saying("I don't know."), services)
    assert (result.outcome.reason, result.outcome.route) == (Reason.NO_EVIDENCE, Route.RAG)
    assert "filter_knowledge" not in result.reasoner.names()


@pytest.mark.parametrize(("answer", "cited"), [(AUTHOR, [CITED_AUTHOR]), ("Made up.", [])])
@pytest.mark.parametrize("system", [name for name in SYSTEMS if name != "llm-only"])
async def test_the_evidence_that_says_the_answer_is_cited(system: str, answer: str, cited: list[str]) -> None:
    outcome = (await ask_paper(system, saying(answer), FakeServices(text_search=pages()))).outcome
    assert (outcome.answer, outcome.reason) == (answer, Reason.ANSWERED)
    assert [citation.snippet for citation in outcome.citations] == cited


@pytest.mark.parametrize("system", [*SYSTEMS, "cot", "qa-dragon"])
@pytest.mark.parametrize("error", [DependencyUnavailable(), Overloaded(), DeadlineExceeded(), Internal()])
async def test_failed_model_is_degraded_and_raised(system: str, error: LoreglassError) -> None:
    run = Run("trace", Deadline.after_ms(30_000))
    with pytest.raises(type(error)):
        await ask_paper(system, saying(error), run=run)
    if not isinstance(error, Internal):
        assert run.degraded[-1] == ("draft" if system == "cot" else "answer")


@pytest.mark.parametrize(
    ("system", "prompt", "tokens"),
    [
        ("crag-mm-task-1", "answer_from_search", 3_600),
        ("crag-mm-task-2", "answer_from_search", 3_600),
        ("three-step", "rank_evidence", 9_000),
        ("wiki-prf", "filter_knowledge", 4_000),
    ],
)
async def test_evidence_is_shortened_to_fit_the_context_window(system: str, prompt: str, tokens: int) -> None:
    facts = [image_hit(f"Thing {n}", 0.9, about="a very long story about it. " * 40) for n in range(10)]
    services = FakeServices(
        image_search=images(*facts),
        text_search=pages(*(text_hit(f"{n}. " + f"{BOOK} is long. " * 300) for n in range(30))),
    )
    small, wide = [
        (await ask_paper(system, services=services, options=VlmOptions(window=Window(size)))).reasoner.pieces(
            prompt
        )
        for size in (tokens, 60_000)
    ]
    assert 0 < len("".join(small)) < len("".join(wide))
    assert system != "three-step" or len(small) == len(wide)  # its list keeps every piece, shortened
