"""Questions that the model cannot look at: what is drafted, rewritten and searched for them."""

from dataclasses import dataclass

import pytest

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.planning.run import Run
from gateway.state import Entity, Photo, Query, Turn
from gateway.steps.conclusion import Outcome
from gateway.steps.evidence import fused_queries
from gateway.thresholds import RetrievalLimits, load_thresholds
from tests.unit.gateway.fakes import BOOK, FakeServices
from tests.unit.gateway.reasoners import ScriptedReasoner, lookup_draft
from tests.unit.gateway.stepwise import PHOTO, ScriptedSteps, clients_of, dragon

pytestmark = pytest.mark.anyio

QUESTION = "Who wrote The Salt Road?"
FOLLOW_UP = "And how many pages does it have?"
REWRITTEN = "How many pages does The Salt Road have?"
SAID = (Turn(QUESTION, "Mira Holm.", False),)


@dataclass(frozen=True)
class Looked:
    """The outcome of one question, its run, and what was searched for."""

    outcome: Outcome
    run: Run
    queries: list[str]

    @property
    def stages(self) -> set[str]:
        """The stages that ran."""
        return {stage.stage for stage in self.run.stages}


async def look(
    reasoner: ScriptedReasoner,
    question: str = QUESTION,
    photo: Photo | None = None,
    history: tuple[Turn, ...] = (),
    fallback: ScriptedReasoner | None = None,
) -> Looked:
    """Put one question to the default pipeline."""
    services = FakeServices()
    async with clients_of(services) as clients:
        pipeline = LoreglassPipeline(
            clients, reasoner, load_thresholds(), RetrievalLimits(), fallback=fallback
        )
        run = Run("trace", Deadline.after_ms(60_000))
        outcome = await pipeline.answer(Query(question, photo, history=history), run)
    (search,) = services.text_search.calls
    return Looked(outcome, run, search.queries)


async def test_a_question_without_a_photo_is_not_drafted_and_searched_as_it_is() -> None:
    reasoner = ScriptedReasoner(looks=False)
    looked = await look(reasoner)
    assert reasoner.asked == reasoner.rewrites == []
    assert looked.queries == [QUESTION]
    assert not {"draft", "query_rewrite"} & looked.stages
    assert (looked.outcome.reason, looked.run.degraded) == (Reason.ANSWERED, [])


async def test_a_follow_up_without_a_photo_is_rewritten_and_searched_beside_the_question() -> None:
    reasoner = ScriptedReasoner(looks=False, rewritten=REWRITTEN)
    looked = await look(reasoner, FOLLOW_UP, history=SAID)
    assert [query.history for query in reasoner.rewrites] == [SAID]
    assert looked.queries == [FOLLOW_UP, REWRITTEN]
    assert "query_rewrite" in looked.stages


async def test_a_follow_up_that_cannot_be_rewritten_is_searched_as_it_is() -> None:
    class Away(ScriptedReasoner):
        async def rewrite(self, query: Query, deadline: Deadline) -> str:
            raise DependencyUnavailable

    looked = await look(Away(looks=False), FOLLOW_UP, history=SAID)
    assert looked.queries == [FOLLOW_UP]
    assert looked.run.degraded == ["query_rewrite"]
    assert looked.outcome.reason is Reason.ANSWERED


async def test_a_photo_that_the_model_does_not_see_is_looked_at_by_the_services() -> None:
    reasoner, services = ScriptedReasoner(looks=False), ScriptedReasoner(lookup_draft())
    looked = await look(reasoner, "Who wrote this?", PHOTO, SAID, fallback=services)
    assert reasoner.asked == reasoner.rewrites == []
    assert len(services.asked) == 1
    assert "pocket_draft" in looked.stages
    assert looked.outcome.entity is not None
    assert looked.outcome.entity.name == BOOK
    assert looked.run.degraded == []
    assert services.found == []  # the model answers


async def test_a_model_that_looks_rewrites_nothing() -> None:
    reasoner = ScriptedReasoner()
    looked = await look(reasoner, FOLLOW_UP, PHOTO, SAID)
    assert len(reasoner.asked) == 1
    assert reasoner.rewrites == []
    assert "query_rewrite" not in looked.stages


async def test_qa_dragon_without_a_photo_takes_no_step_that_looks() -> None:
    result = await dragon(ScriptedSteps(looks=False), question=QUESTION, photo=None)
    assert result.reasoner.names() == ["split_query", "answer", "judge"]
    assert not {"draft", "tool_router", "query_enhancement"} & result.stages
    assert result.run.degraded == []


async def test_qa_dragon_rewrites_a_follow_up_without_a_photo() -> None:
    steps = ScriptedSteps(looks=False, rewritten=REWRITTEN)
    result = await dragon(steps, question=FOLLOW_UP, history=SAID, photo=None)
    assert result.reasoner.names() == ["rewrite", "split_query", "answer", "judge"]


@pytest.mark.parametrize(
    ("question", "named", "queries"),
    [
        ("How long is it?", None, ("How long is it?", "length in metres")),
        ("How long is it?", "Fiat 500", ("Fiat 500 How long is it?", "length in metres", "Fiat 500 size")),
        (
            "How long is a Fiat 500?",
            "Fiat 500",
            ("How long is a Fiat 500?", "length in metres", "Fiat 500 size"),
        ),
    ],
    ids=["unnamed", "named", "named in the question"],
)
def test_the_question_itself_is_always_searched_first(
    question: str, named: str | None, queries: tuple[str, ...]
) -> None:
    draft = lookup_draft(sub_queries=("length in metres", "{entity} size"))
    entity = Entity(named, 0.9) if named else None
    assert fused_queries(Query(question, PHOTO), draft, entity) == queries


def test_a_query_that_repeats_the_question_is_searched_once() -> None:
    draft = lookup_draft(sub_queries=(QUESTION, " ", "Mira Holm"))
    assert fused_queries(Query(QUESTION, None), draft, None) == (QUESTION, "Mira Holm")
