"""`three-step` and `wiki-prf` in front of fake services, with reasoners that the test scripts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chassis.deadlines import Deadline
from chassis.errors import LoreglassError
from contracts.answer import Explanation
from contracts.text_search import TextHit, TextSearchReply, TextSearchRequest
from gateway.pipelines.port import Pipeline
from gateway.pipelines.three_step import ThreeStepPipeline
from gateway.pipelines.wiki_prf import WikiPrfPipeline
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.wiki_prf import Gathered, PhotoTool, ToolCall, ToolPlan
from gateway.stages.conclusion import Outcome
from gateway.stages.explaining import Explaining
from gateway.stages.planning import FixedPlan
from gateway.stages.run import Run
from gateway.state import Ask, Effort, Evidence, Findings, Photo, Quote, Reply, Turn
from gateway.thresholds import load_thresholds
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import FakeServices, text_hit
from tests.unit.gateway.stepwise import clients_of

QUESTION = "How many pages does this have?"
PHOTO = Photo(encoded(scene(96, 64), "JPEG", quality=90), 96, 64, "digest")
THRESHOLDS = load_thresholds()


def best_first(findings: Findings, wanted: str = "") -> Reply:
    """The first piece that says what is wanted is the answer."""
    for index, item in enumerate(findings.evidence):
        if wanted in item.text:
            return Reply(item.text, 0.9, (Quote(index, item.text),))
    return Reply(None, 0.0)


def fail_with(error: LoreglassError | None) -> None:
    """Raises it, if there is one."""
    if error is not None:
        raise error


@dataclass
class ScriptedThreeStep:
    """Says what the test wants; `seen` holds what the steps were given, by name."""

    sees: bool = True
    queries: tuple[str, ...] = ("first", "second", "third")
    order: tuple[int, ...] = (0,)
    say: Callable[[Findings], Reply] = best_first
    failing: Mapping[str, LoreglassError] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    async def sample_queries(self, sighting: Sighting, count: int, deadline: Deadline) -> tuple[str, ...]:
        """The scripted queries."""
        self.seen["sample_queries"] = (sighting.ask, count)
        fail_with(self.failing.get("sample_queries"))
        return self.queries[:count]

    async def rank(
        self, ask: Ask, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """The scripted order."""
        self.seen["rank"] = (ask, tuple(found), most)
        fail_with(self.failing.get("rank"))
        return self.order

    async def answer(
        self, sighting: Sighting, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """The scripted reply."""
        self.seen["answer"] = findings
        fail_with(self.failing.get("answer"))
        return self.say(findings)


@dataclass
class ScriptedWikiPrf:
    """Says what the test wants; `seen` holds what the steps were given, by name."""

    sees: bool = True
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
    say: Callable[[Findings], Reply] = best_first
    failing: Mapping[str, LoreglassError] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    async def plan_tools(self, sighting: Sighting, deadline: Deadline) -> ToolPlan:
        """The scripted plan."""
        self.seen["plan_tools"] = sighting.ask
        fail_with(self.failing.get("plan_tools"))
        return self.plan

    async def describe(self, ask: Ask, caption: str, deadline: Deadline) -> str:
        """The caption, described."""
        self.seen["describe"] = caption
        fail_with(self.failing.get("describe"))
        return f"{caption} on a table"

    async def filter(self, ask: Ask, gathered: Gathered, deadline: Deadline) -> str:
        """The scripted knowledge."""
        self.seen["filter"] = gathered
        fail_with(self.failing.get("filter"))
        return self.knowledge

    async def answer(
        self,
        sighting: Sighting,
        knowledge: str | None,
        findings: Findings,
        effort: Effort,
        deadline: Deadline,
    ) -> Reply:
        """The scripted reply."""
        self.seen["answer"] = (knowledge, findings)
        fail_with(self.failing.get("answer"))
        return self.say(findings)


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of one question, and how."""

    outcome: Outcome
    run: Run
    services: FakeServices

    @property
    def told(self) -> Explanation:
        """What the run explained."""
        told = self.run.explain.told(None)
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
    reasoner: ScriptedThreeStep | None = None,
    services: FakeServices | None = None,
    resort: ScriptedThreeStep | None = None,
    **more: Any,
) -> Result:
    """One question to `three-step`."""
    return await _ask(
        services, lambda c: ThreeStepPipeline(c, reasoner or ScriptedThreeStep(), THRESHOLDS, resort), **more
    )


async def ask_wiki_prf(
    reasoner: ScriptedWikiPrf | None = None,
    services: FakeServices | None = None,
    resort: ScriptedWikiPrf | None = None,
    **more: Any,
) -> Result:
    """One question to `wiki-prf`."""
    return await _ask(
        services, lambda c: WikiPrfPipeline(c, reasoner or ScriptedWikiPrf(), THRESHOLDS, resort), **more
    )


async def _ask(
    services: FakeServices | None,
    pipeline: Callable[[Any], Pipeline],
    photo: Photo | None = PHOTO,
    history: tuple[Turn, ...] = (),
    deadline_ms: float = 30_000,
    planning: FixedPlan | None = None,
) -> Result:
    services = services or FakeServices()
    async with clients_of(services) as clients:
        run = Run("trace", Deadline.after_ms(deadline_ms), planning=planning, explain=Explaining())
        asked = replace(Ask(QUESTION, photo), history=history)
        outcome = await pipeline(clients).answer(asked, run)
    return Result(outcome, run, services)
