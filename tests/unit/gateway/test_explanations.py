"""Explanations: their content, their bounds, and where they must not appear."""

import json
import math
from typing import Any

import pytest
import structlog

from chassis.errors import DeadlineExceeded, InvalidRequest
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, CitationKind, Explanation, Reason, Route
from contracts.text_search import TextSearchReply, TextSearchRequest
from gateway.planning.explaining import MAX_FOUND, MAX_NOTES, SILENT, TEXT_CHARS, Explaining
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, Evidence, Query, Quote, Reply
from gateway.steps.conclusion import Outcome, refusal
from gateway.steps.routing import FEATURES
from gateway.thresholds import load_thresholds
from tests.unit.gateway.executions import answer_of, execution_of
from tests.unit.gateway.fakes import AUTHOR, FakeServices, pages, text_hit
from tests.unit.gateway.papers import dragon
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, direct_draft, lookup_draft

EXPLAIN = json.dumps({"explain": True})
SECRET = "Zephyrine Quatorze"
"""Is in a page and in no answer."""


async def explained(world: World, question: str = QUESTION, **varied: Any) -> tuple[Answer, Explanation]:
    answer = await world.ask(question, experiment=json.dumps({"explain": True, **varied}))
    assert answer.explanation is not None
    return answer, answer.explanation


def telling_services() -> FakeServices:
    """Services whose pages hold the secret and the query."""

    def search(request: TextSearchRequest) -> TextSearchReply:
        return pages(text_hit(f"{SECRET} was asked: {request.queries[0]}."))

    return FakeServices(text_search=search)


def known_author(ask: Query, context: Context) -> Reply:
    """Answer with a quote of the entity's attributes."""
    places = [place for place, item in enumerate(context.evidence) if item.text == AUTHOR]
    return Reply(
        "Mira Holm", 0.9, (Quote(places[0], AUTHOR),), token_probabilities=(0.75, 0.999, 0.999, 0.999)
    )


# Content


async def test_searched_question_explains_every_signal() -> None:
    drafted = lookup_draft(answer="It has perhaps 300.", confidence=0.3)
    reasoner = ScriptedReasoner(first_look=drafted, say=known_author)
    async with gateway_before(FakeServices(), reasoner, experiments=True) as world:
        answer, explanation = await explained(world)
    assert (explanation.draft, explanation.proposed) == ("It has perhaps 300.", answer.answer)
    assert dict(explanation.signals) == {
        "draft_confidence": 0.3,
        "draft_self_contained": 0,
        "draft_quoted": 0,
        "draft_number": 1,
        "draft_named": 0,
        "draft_speculates": 1,
        "p_direct": 0,
        "p_verify": 0.3,
        "image_top": 0.97,
        "entity_probability": 0.97,
        "evidence_top": 0.9,
        "answer_confidence": 0.9,
        "support": 0.95,
        "citable": 1,
    }
    assert {item.text for item in explanation.evidence} >= {AUTHOR, "THE SALT ROAD"}
    assert {note.stage for note in explanation.notes} >= {"image_search", "select_entity", "text_search"}
    assert explanation.thresholds["tau_fine"] == load_thresholds().tau_fine
    assert "version" not in explanation.thresholds


async def test_withheld_answer_is_explained() -> None:
    def unsure(ask: Query, context: Context) -> Reply:
        return Reply("Mira Holm", 0.1)

    async with gateway_before(FakeServices(), ScriptedReasoner(say=unsure), experiments=True) as world:
        answer, explanation = await explained(world)
    assert answer.reason is Reason.MODEL_UNSURE
    assert "Mira" not in answer.answer
    assert explanation.proposed == "Mira Holm"
    assert explanation.signals["answer_confidence"] == 0.1
    assert explanation.signals["citable"] == 0


async def test_direct_answer_explains_only_the_router() -> None:
    reasoner = ScriptedReasoner(first_look=direct_draft())
    async with gateway_before(FakeServices(), reasoner, experiments=True) as world:
        answer, explanation = await explained(world, "What does it say?")
    assert answer.route is Route.DIRECT
    assert explanation.draft == explanation.proposed == answer.answer
    assert set(explanation.signals) == {*{f"draft_{name}" for name in FEATURES}, "p_direct", "p_verify"}


async def test_qa_dragon_explains_its_judge_and_stages(anyio_backend: object) -> None:
    result = await dragon()
    explanation, signals = result.explanation, result.explanation.signals
    assert explanation.proposed == result.outcome.answer
    assert (signals["citable"], signals["support"], signals["judged"] > 0) == (1, 0.95, True)
    stages = {note.stage for note in explanation.notes}
    assert {"tool_router", "object_list", "query_split", "select_entity"} <= stages


class Stuck:
    """A pipeline that has recorded an answer when its time is over."""

    name, stage_graph = "stuck", LOREGLASS

    async def answer(self, ask: Query, run: Run) -> Outcome:
        run.explain.draft("A draft.", 0.5)
        run.explain.set_answer("An answer.")
        run.explain.signal("answer_confidence", 0.8)
        if ask.question == "late":
            raise DeadlineExceeded
        return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def test_timed_out_question_has_its_recorded_explanation(anyio_backend: object) -> None:
    answer = await answer_of(execution_of(Stuck()), "late", {"explain": True})
    assert answer.reason is Reason.TIMED_OUT
    signals = {"draft_confidence": 0.5, "answer_confidence": 0.8}
    assert answer.explanation == Explanation(draft="A draft.", proposed="An answer.", signals=signals)


async def test_pipeline_without_thresholds_has_none_to_set(anyio_backend: object) -> None:
    answer = await answer_of(execution_of(Stuck()), "fine", {"explain": True})
    assert answer.explanation is not None
    assert answer.explanation.thresholds == {}
    with pytest.raises(InvalidRequest, match="thresholds"):
        await answer_of(execution_of(Stuck()), "fine", {"thresholds": {"judged": 0.5}})


@pytest.mark.parametrize(("pipeline", "message"), [("loreglass", "reranking"), ("llm-only", "no modules")])
async def test_unknown_module_is_refused(pipeline: str, message: str) -> None:
    experiment = json.dumps({"without": ["guesswork"]})
    async with gateway_before(FakeServices(), experiments=True) as world:
        reply = await world.post(pipeline=pipeline, experiment=experiment)
    assert reply.status_code == 422
    assert message in reply.json()["detail"]


# Separation


async def test_explanation_is_not_in_traces_logs_or_follow_ups() -> None:
    reasoner = ScriptedReasoner(say=known_author)
    with structlog.testing.capture_logs() as logged:
        async with gateway_before(telling_services(), reasoner, experiments=True) as world:
            answer, explanation = await explained(world)
            trace = await world.client.get(f"/traces/{answer.trace_id}")
            again = await world.ask("And who else?", photo=None, session_id=answer.session_id)
            metrics = await world.client.get("/metrics")
    assert SECRET in explanation.model_dump_json()
    assert answer.reason is Reason.ANSWERED
    assert again.explanation is None
    for text in (trace.text, str(logged), repr(reasoner.queries[-1].history), metrics.text):
        assert SECRET not in text
        assert "citable" not in text


# The recorder


def test_explanation_is_bounded() -> None:
    explain = Explaining()
    for _ in range(MAX_NOTES + 9):
        explain.note(Stage.ANSWER, "x" * 9_999)
    explain.evidence([Evidence("y" * 9_999, "t" * 9_999, "", CitationKind.PAGE)] * 99)
    explain.draft("d" * 99_999, 0.5)
    explain.set_answer("p" * 99_999)
    pages = [Evidence("f" * 9_999, "t" * 9_999, "u" * 9_999, CitationKind.PAGE)] * 99
    for _ in range(MAX_FOUND):
        explain.add_results(Stage.TEXT_SEARCH, pages)
    explanation = explain.to_explanation(None)
    assert explanation is not None
    assert (len(explanation.found), len(explanation.notes), len(explanation.evidence)) == (256, 64, 32)
    sizes = {(len(each.title), len(each.url), len(each.text)) for each in explanation.found}
    assert sizes == {(1_000, 2_000, 2_000)}
    assert (len(explanation.notes[0].text), len(explanation.evidence[0].text)) == (1_000, 2_000)
    assert len(explanation.draft or "") == len(explanation.proposed or "") == TEXT_CHARS


def test_values_that_json_cannot_hold_are_not_recorded() -> None:
    explain = Explaining()
    for name, value in (("nan", math.nan), ("inf", math.inf), ("none", None), ("half", 0.5)):
        explain.signal(name, value)
    explain.set_answer("\ud800 and so on")
    explanation = explain.to_explanation(None)
    assert explanation is not None
    assert explanation.signals == {"half": 0.5}
    assert Explanation.model_validate_json(explanation.model_dump_json()) == explanation


def test_without_an_experiment_nothing_is_recorded() -> None:
    def words() -> object:
        raise AssertionError("not recorded")
        yield

    SILENT.note(Stage.ANSWER, words())  # type: ignore[arg-type]
    SILENT.signal("p_direct", 0.5)
    SILENT.draft("d", 0.5)
    SILENT.set_answer("p")
    SILENT.evidence([Evidence("y", "", "", CitationKind.PAGE)])
    assert SILENT.to_explanation(load_thresholds()) is None
    assert Run("trace", Deadline.after_ms(1_000)).explain is SILENT
