"""`three-step` and `wiki-prf` in front of fake services, with reasoners that the test scripts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from contracts.answer import Experiment, Explanation
from contracts.text_search import TextHit, TextSearchReply, TextSearchRequest
from gateway.pipelines.experiments import varied
from gateway.pipelines.port import Pipeline
from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline
from gateway.pipelines.wiki_prf.tool_plan import Gathered, PhotoTool, ToolCall, ToolPlan
from gateway.planning.explaining import Explaining
from gateway.planning.live_plan import FixedPlan
from gateway.planning.run import Run
from gateway.state import Context, Evidence, GenerationBudget, Photo, Query, Quote, Reply, Turn
from gateway.steps.conclusion import Outcome
from gateway.thresholds import load_thresholds
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import FakeServices, text_hit
from tests.unit.gateway.stepwise import clients_of

QUESTION = "How many pages does this have?"
PHOTO = Photo(encoded(scene(96, 64), "JPEG", quality=90), 96, 64, "digest")
THRESHOLDS = load_thresholds()


def best_first(context: Context, wanted: str = "") -> Reply:
    """The first piece that says what is wanted is the answer."""
    for index, item in enumerate(context.evidence):
        if wanted in item.text:
            return Reply(item.text, 0.9, (Quote(index, item.text),))
    return Reply(None, 0.0)


def fail_with(error: LoreglassError | None) -> None:
    """Raises it, if there is one."""
    if error is not None:
        raise error


@dataclass
class ScriptedThreeStep:
    """Replies as the test says; `seen` holds the arguments of each step."""

    queries: tuple[str, ...] = ("first", "second", "third")
    order: tuple[int, ...] = (0,)
    say: Callable[[Context], Reply] = best_first
    failing: Mapping[str, LoreglassError] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    async def sample_queries(self, query: Query, count: int, deadline: Deadline) -> tuple[str, ...]:
        self.seen["sample_queries"] = (query, count)
        fail_with(self.failing.get("sample_queries"))
        return self.queries[:count]

    async def rank(
        self, ask: Query, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        self.seen["rank"] = (ask, tuple(found), most)
        fail_with(self.failing.get("rank"))
        return self.order

    async def answer(
        self, query: Query, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        self.seen["answer"] = context
        fail_with(self.failing.get("answer"))
        return self.say(context)


@dataclass
class ScriptedWikiPrf:
    """Replies as the test says; `seen` holds the arguments of each step."""

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
    say: Callable[[Context], Reply] = best_first
    failing: Mapping[str, LoreglassError] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    async def plan_tools(self, query: Query, deadline: Deadline) -> ToolPlan:
        self.seen["plan_tools"] = query
        fail_with(self.failing.get("plan_tools"))
        return self.plan

    async def describe(self, ask: Query, caption: str, deadline: Deadline) -> str:
        """The caption, described."""
        self.seen["describe"] = caption
        fail_with(self.failing.get("describe"))
        return f"{caption} on a table"

    async def filter(self, ask: Query, plan: ToolPlan, gathered: Gathered, deadline: Deadline) -> str:
        self.seen["filter"] = gathered
        fail_with(self.failing.get("filter"))
        return self.knowledge

    async def answer(
        self,
        query: Query,
        knowledge: str | None,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
    ) -> Reply:
        self.seen["answer"] = (knowledge, context)
        fail_with(self.failing.get("answer"))
        return self.say(context)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one question, and its run."""

    outcome: Outcome
    run: Run
    services: FakeServices

    @property
    def told(self) -> Explanation:
        """What the run explained."""
        told = self.run.explain.to_explanation(None)
        assert told is not None
        return told

    def notes(self, stage: str) -> list[str]:
        """What a stage came to."""
        return [note.text for note in self.told.notes if note.stage == stage]

    def states(self, stage: str) -> list[str]:
        """How a stage ended, each time."""
        return [each.state for each in self.run.stages if each.stage == stage]


def passages(**found: int) -> Callable[[TextSearchRequest], TextSearchReply]:
    """So many passages for a query of one word, each telling its query and number."""

    def reply(request: TextSearchRequest) -> TextSearchReply:
        (query,) = request.queries
        hits = [numbered(query, number) for number in range(min(found.get(query, 0), request.k))]
        return TextSearchReply(hits=hits, collection="pages")

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
    """One question to `three-step`."""
    return await _ask(
        services, lambda c: ThreeStepPipeline(c, reasoner or ScriptedThreeStep(), THRESHOLDS), **more
    )


async def ask_wiki_prf(
    reasoner: ScriptedWikiPrf | None = None, services: FakeServices | None = None, **more: Any
) -> Result:
    """One question to `wiki-prf`."""
    return await _ask(
        services, lambda c: WikiPrfPipeline(c, reasoner or ScriptedWikiPrf(), THRESHOLDS), **more
    )


async def _ask(
    services: FakeServices | None,
    pipeline: Callable[[Any], Pipeline],
    photo: Photo | None = PHOTO,
    history: tuple[Turn, ...] = (),
    deadline_ms: float = 30_000,
    planning: FixedPlan | None = None,
    missing: Sequence[str] = (),
) -> Result:
    services = services or FakeServices()
    async with clients_of(services) as clients:
        run = Run("trace", Deadline.after_ms(deadline_ms), planning=planning, explain=Explaining())
        asked = replace(Query(QUESTION, photo), history=history)
        whole_or_not = varied(pipeline(clients), Experiment(without=list(missing)))
        outcome = await whole_or_not.answer(asked, run)
    return Result(outcome, run, services)
