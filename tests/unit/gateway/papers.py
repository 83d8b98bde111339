"""`three-step` and `wiki-prf` in front of fake services, with reasoners that the test scripts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from contracts.text_search import TextHit, TextSearchReply, TextSearchRequest
from gateway.clients.services import Services
from gateway.pipelines.port import Pipeline
from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline
from gateway.pipelines.wiki_prf.tool_plan import Material, PhotoTool, ToolCall, ToolPlan
from gateway.state import Context, Evidence, GenerationBudget, Photo, Query, Quote, Reply
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import FakeServices, pages, text_hit
from tests.unit.gateway.pipelines import THRESHOLDS, Result, put

QUESTION = "How many pages does this have?"
PHOTO = Photo(encoded(scene(96, 64), "JPEG", quality=90), 96, 64, "digest")
ASK = {"question": QUESTION, "photo": PHOTO}


def best_first(context: Context, wanted: str = "") -> Reply:
    """The first piece that says what is wanted is the answer."""
    for index, item in enumerate(context.evidence):
        if wanted in item.text:
            return Reply(item.text, 0.9, (Quote(index, item.text),))
    return Reply(None, 0.0)


@dataclass
class NotedSteps:
    """`arguments` holds those of each step; a step of `failing` raises its error."""

    say: Callable[[Context], Reply] = best_first
    failing: Mapping[str, LoreglassError] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)

    def note(self, step: str, arguments: Any) -> None:
        """Note the arguments of a step, and raise its error."""
        self.arguments[step] = arguments
        if step in self.failing:
            raise self.failing[step]


@dataclass
class ScriptedThreeStep(NotedSteps):
    """Replies as the test says."""

    queries: tuple[str, ...] = ("first", "second", "third")
    order: tuple[int, ...] = (0,)

    async def sample_queries(self, query: Query, count: int, deadline: Deadline) -> tuple[str, ...]:
        self.note("sample_queries", (query, count))
        return self.queries[:count]

    async def rank(
        self, ask: Query, pieces: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        self.note("rank", (ask, tuple(pieces), most))
        return self.order

    async def answer(
        self, query: Query, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        self.note("answer", context)
        return self.say(context)


@dataclass
class ScriptedWikiPrf(NotedSteps):
    """Replies as the test says."""

    plan: ToolPlan = field(
        default_factory=lambda: ToolPlan(
            (
                ToolCall(PhotoTool.GROUNDING, "the book"),
                ToolCall(PhotoTool.CAPTION, "a blue book"),
                ToolCall(PhotoTool.FLIP),
            )
        )
    )
    knowledge: str = "It has 312 pages."

    async def plan_tools(self, query: Query, deadline: Deadline) -> ToolPlan:
        self.note("plan_tools", query)
        return self.plan

    async def describe(self, ask: Query, caption: str, deadline: Deadline) -> str:
        """The caption, described."""
        self.note("describe", caption)
        return f"{caption} on a table"

    async def filter(self, ask: Query, plan: ToolPlan, gathered: Material, deadline: Deadline) -> str:
        self.note("filter", gathered)
        return self.knowledge

    async def answer(
        self,
        query: Query,
        knowledge: str | None,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
        *,
        short: bool = False,
    ) -> Reply:
        self.note("answer", (knowledge, context))
        self.arguments["short"] = short
        return self.say(context)


def passages(**counts: int) -> Callable[[TextSearchRequest], TextSearchReply]:
    """So many passages for a query of one word, each telling its query and number."""

    def reply(request: TextSearchRequest) -> TextSearchReply:
        (query,) = request.queries
        hits = [numbered(query, number) for number in range(min(counts.get(query, 0), request.k))]
        return pages(*hits)

    return reply


def numbered(query: str, number: int) -> TextHit:
    """A passage of its own."""
    hit = text_hit(f"Passage {number} of {query}.")
    return hit.model_copy(
        update={"url": f"https://pages.example/{query}/{number}", "title": f"Page {number}"}
    )


async def ask_three_step(
    reasoner: ScriptedThreeStep | None = None, services: FakeServices | None = None, **more: Any
) -> Result:
    """Put one question to `three-step`."""

    def pipeline(clients: Services, reasoner: ScriptedThreeStep) -> Pipeline:
        return ThreeStepPipeline(clients, reasoner, THRESHOLDS)

    return await put(pipeline, reasoner or ScriptedThreeStep(), services, **(ASK | more))


async def ask_wiki_prf(
    reasoner: ScriptedWikiPrf | None = None, services: FakeServices | None = None, **more: Any
) -> Result:
    """Put one question to `wiki-prf`."""

    def pipeline(clients: Services, reasoner: ScriptedWikiPrf) -> Pipeline:
        return WikiPrfPipeline(clients, reasoner, THRESHOLDS)

    return await put(pipeline, reasoner or ScriptedWikiPrf(), services, **(ASK | more))
