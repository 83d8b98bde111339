"""QA-Dragon's pipeline in front of fake services, with a stepwise reasoner that the test scripts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.pipelines.port import Pipeline
from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
from gateway.reasoning.port import ReadPhoto
from gateway.state import (
    Context,
    Draft,
    Entity,
    GenerationBudget,
    Judgement,
    PhotoText,
    Query,
    Reply,
    Tool,
)
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.pipelines import THRESHOLDS, Result, put
from tests.unit.gateway.reasoners import BOTH_TOOLS, lookup_draft, quote_best


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

    def arguments(self, step: str) -> Any:
        """Return the arguments of a step that ran once."""
        (arguments,) = [each for name, each in self.steps if name == step]
        return arguments

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
        self,
        ask: Query,
        reply: Reply,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
        name: str = "judge",
    ) -> Judgement:
        self.steps.append(("judge", ask))
        return Judgement(self.judgement)


async def dragon(
    reasoner: ScriptedSteps | None = None, services: FakeServices | None = None, **more: Any
) -> Result:
    """Put one question to QA-Dragon."""

    def pipeline(clients: Services, reasoner: ScriptedSteps) -> Pipeline:
        return QaDragonPipeline(clients, reasoner, THRESHOLDS, RetrievalLimits())

    return await put(pipeline, reasoner or ScriptedSteps(), services, **more)
