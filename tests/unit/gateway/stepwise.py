"""QA-Dragon's pipeline in front of fake services, with a stepwise reasoner that the test scripts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from chassis.http.calls import ServiceClient, http_client
from chassis.http.serving import BoundApp, listen, running
from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
from gateway.planning.run import Run
from gateway.reasoning.port import ReadPhoto
from gateway.state import Context, Draft, Entity, GenerationBudget, Photo, PhotoText, Query, Reply, Tool, Turn
from gateway.steps.conclusion import Outcome
from gateway.thresholds import RetrievalLimits, load_thresholds
from tests.unit.gateway.fakes import NAMES, FakeServices
from tests.unit.gateway.reasoners import BOTH_TOOLS, lookup_draft, quote_best

WHO_WROTE = "Who wrote this?"
PHOTO = Photo(b"whole photo", 320, 240, "digest")


@dataclass
class ScriptedSteps:
    """Replies as the test says; `steps` holds (step, arguments) in order."""

    first_look: Draft = field(default_factory=lambda: lookup_draft(object_label="lamp", sub_queries=()))
    tools: frozenset[Tool] = BOTH_TOOLS
    labels: tuple[str, ...] = ("lamp", "table")
    selected: str | None = "red lamp"
    matches: bool = True
    parts: tuple[str, ...] = ("who wrote {entity}", "where was the author of {entity} born")
    reply: Reply | None = None
    judgement: float = 0.9
    looks: bool = True
    rewritten: str = ""
    steps: list[tuple[str, Any]] = field(default_factory=list)

    def names(self) -> list[str]:
        """The steps in order."""
        return [name for name, _ in self.steps]

    def given(self, step: str) -> Any:
        """Return the arguments of a step that ran once."""
        (given,) = [what for name, what in self.steps if name == step]
        return given

    def drafts(self, query: Query) -> bool:
        return self.looks

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        self.steps.append(("rewrite", query))
        return self.rewritten

    async def chain_of_thought(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        self.steps.append(("chain_of_thought", (ask, domain)))
        return self.first_look

    async def choose_tools(self, ask: Query, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        self.steps.append(("choose_tools", ask))
        return self.tools

    async def list_objects(self, ask: Query, deadline: Deadline) -> tuple[str, ...]:
        self.steps.append(("list_objects", ask))
        return self.labels

    async def select_object(self, ask: Query, labels: Sequence[str], deadline: Deadline) -> str | None:
        self.steps.append(("select_object", (ask, tuple(labels))))
        return self.selected

    async def match_entity(
        self,
        ask: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The most probable one, if any is to match."""
        self.steps.append(("match_entity", (ask, tuple(candidates))))
        return next(iter(candidates), None) if self.matches else None

    async def split_query(self, ask: Query, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        self.steps.append(("split_query", ask))
        return self.parts

    async def enhance_queries(
        self, ask: Query, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The queries with the thing's name, where there is one."""
        self.steps.append(("enhance_queries", (ask, tuple(queries), entity)))
        if entity is None:
            return tuple(queries)
        return tuple(query.replace("{entity}", entity.name) for query in queries)

    async def answer(
        self, ask: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        self.steps.append(("answer", (ask, context)))
        return self.reply or quote_best(ask, context)

    async def judge(
        self, ask: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> float:
        self.steps.append(("judge", ask))
        return self.judgement


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one question, and its run."""

    outcome: Outcome
    run: Run
    reasoner: ScriptedSteps
    services: FakeServices

    @property
    def stages(self) -> set[str]:
        """The stages that ran."""
        return {stage.stage for stage in self.run.stages}


@asynccontextmanager
async def clients_of(services: FakeServices) -> AsyncIterator[Services]:
    """Clients of the fake services, on a loopback socket."""
    bound = BoundApp(services.app(), listen("127.0.0.1", 0))
    async with running([bound]), http_client() as http:
        yield Services(**{name: ServiceClient(http, name, bound.url) for name in NAMES})


async def dragon(
    reasoner: ScriptedSteps | None = None,
    services: FakeServices | None = None,
    missing: str | None = None,
    question: str = WHO_WROTE,
    history: tuple[Turn, ...] = (),
    photo: Photo | None = PHOTO,
    deadline_ms: float = 30_000,
) -> Result:
    """One question to QA-Dragon, or to it without one of its modules."""
    reasoner, services = reasoner or ScriptedSteps(), services or FakeServices()
    async with clients_of(services) as clients:
        pipeline = QaDragonPipeline(clients, reasoner, load_thresholds(), RetrievalLimits())
        if missing:
            pipeline = pipeline.without(frozenset({missing}))
        run = Run("trace", Deadline.after_ms(deadline_ms))
        outcome = await pipeline.answer(Query(question, photo, history=history), run)
    return Result(outcome, run, reasoner, services)
