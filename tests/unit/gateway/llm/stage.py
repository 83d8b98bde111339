"""Questions, evidence, a client with its reasoners at a scripted server, and every prompt of every system."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from PIL import Image

from bench.node import RunningServer, Script, ServerTraits, vlm_server
from chassis.errors import LoreglassError
from chassis.http.calls import http_client
from chassis.http.client import Endpoint
from chassis.resilience.deadlines import Deadline
from chassis.resilience.guard import Guard
from contracts.answer import CitationKind, Route
from contracts.domain_router import Domain
from gateway.llm.asking import JUDGE_TOKENS
from gateway.llm.call import VlmCall
from gateway.llm.client import VlmClient
from gateway.llm.prompt import ImagePart, Prompt, TextPart, VlmOptions
from gateway.llm.reasoner import VlmReasoner
from gateway.llm.server import VlmReplyUnusable
from gateway.pipelines.baselines.model import Findings, VlmBaselines
from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
from gateway.pipelines.three_step.model import ThreeStepVlmReasoner
from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner
from gateway.pipelines.wiki_prf.tool_plan import Material, ToolPlan
from gateway.state import (
    Context,
    Entity,
    Evidence,
    GenerationBudget,
    Photo,
    PhotoText,
    Query,
    Reply,
    TextLine,
    Turn,
)
from tests.unit.chassis.pictures import encoded
from tests.unit.gateway.reasoners import lookup_draft
from tests.unit.gateway.scripted_model import ScriptedModel

OPTIONS = VlmOptions()
PHOTO = Photo(encoded(Image.new("RGB", (8, 8), (10, 120, 20)), "JPEG"), 8, 8, "digest")
ASK = Query("Which city is the company from?", PHOTO)
FOLLOW_UP = Query(
    "And how long is it?",
    PHOTO,
    photo_is_new=False,
    history=(
        Turn("What car is this?", "It is a Fiat 500.", False, Entity("Fiat 500", 0.9)),
        Turn("Who designed it?", "I don't know.", True),
    ),
)


READ = Prompt("read", "You read.", (TextPart("Which year?"),), str, 20)
SEEN = Prompt("look", "You look.", (ImagePart(PHOTO.jpeg), TextPart("Photo."), TextPart("What?")), str, 20)


def deadline(ms: float = 60_000) -> Deadline:
    """Time enough."""
    return Deadline.after_ms(ms)


def page(text: str, title: str = "") -> Evidence:
    """A chunk of a web page."""
    return Evidence(text, title, "https://example.org/page", CitationKind.PAGE, 0.8)


def context(*evidence: Evidence, entity: Entity | None = None) -> Context:
    """What a rag route has found."""
    return Context(Route.RAG, entity, PhotoText(), evidence)


draft = partial(lookup_draft, object_label="car", sub_queries=())
"""A first look that named nothing."""


def printed(*lines: str) -> PhotoText:
    """What OCR read, each line certain."""
    return PhotoText(
        tuple(TextLine(text, 0.99, (0.1, 0.1 * n, 0.9, 0.1 * n + 0.05)) for n, text in enumerate(lines))
    )


async def nothing_printed() -> PhotoText:
    """OCR that found no text."""
    return PhotoText()


@dataclass
class Bench:
    """A client at a scripted server, its calls as metrics see them, and every reasoner that uses it."""

    server: RunningServer
    client: VlmClient
    options: VlmOptions
    calls: list[VlmCall]

    def __post_init__(self) -> None:
        self.reasoner = VlmReasoner(self.client, self.options)
        self.stepwise = StepwiseVlmReasoner(self.client, self.options)
        self.three_step = ThreeStepVlmReasoner(self.client, self.options)
        self.wiki_prf = WikiPrfVlmReasoner(self.client, self.options)

    def shown(self) -> str:
        """The last request's text."""
        return self.server.requests[-1].text


@asynccontextmanager
async def bench(
    script: Script,
    traits: ServerTraits | None = None,
    options: VlmOptions = OPTIONS,
    guard: Guard | None = None,
    **endpoint: Any,
) -> AsyncIterator[Bench]:
    """A running server, and what uses it over HTTP. `endpoint`: changes to `Endpoint`."""
    async with vlm_server(script, traits) as server, http_client() as http:
        calls: list[VlmCall] = []
        settings = Endpoint(**({"base_url": server.url, "model": server.model} | endpoint))
        yield Bench(server, VlmClient(http, settings, calls.append, guard), options, calls)


TURIN = page("Fiat was founded in Turin in 1899.", "Fiat")
ROME = page("Rome is the capital of Italy.", "Rome")
DOMAINS: list[Domain | None] = [*Domain, None]


def all_prompts(query: Query, material: str = "It was built in 1519.") -> list[Prompt[Any]]:
    """Return the prompts for one question. `material`: untrusted text in the place of each that may be."""
    model = ScriptedModel(defaultdict(lambda: VlmReplyUnusable("The model wrote nothing.")))

    async def send() -> None:
        for step in _steps(model, query, material):
            with suppress(LoreglassError):
                await step

    anyio.run(send)
    return model.prompts


def _steps(model: ScriptedModel, query: Query, material: str) -> Iterator[Awaitable[Any]]:
    reasoner, dragon = VlmReasoner(model), StepwiseVlmReasoner(model)
    thing, piece = Entity(f"Fiat {material}", 0.9, ((material, material),)), page(material, material)
    first, budget, shown = draft(reasoning=material), GenerationBudget(), context(piece, entity=thing)
    yield reasoner.draft(query, None, nothing_printed, deadline())
    yield reasoner.answer(query, first, shown, budget, deadline())
    yield reasoner.rewrite(query, deadline())
    for name in JUDGE_TOKENS:
        yield dragon.judge(query, Reply(f"It is {material}.", 0.9), shown, budget, deadline(), name)
    for domain in DOMAINS:
        yield dragon.chain_of_thought(query, domain, nothing_printed, deadline())
    yield dragon.choose_tools(query, first, deadline())
    yield dragon.list_objects(query, deadline())
    yield dragon.select_object(query, ["car", material], deadline())
    yield dragon.match_entity(query, first, [thing], printed(material), deadline())
    yield dragon.split_query(query, first, deadline())
    yield dragon.enhance_queries(query, ["How long is the {entity}?", material], thing, deadline())
    three_step = ThreeStepVlmReasoner(model)
    yield three_step.sample_queries(query, 1, deadline())
    yield three_step.rank(query, (piece,), 10, deadline())
    yield three_step.answer(query, shown, budget, deadline())
    wiki_prf, gathered = WikiPrfVlmReasoner(model), Material((piece,), (piece,))
    yield wiki_prf.plan_tools(query, deadline())
    yield wiki_prf.describe(query, material, deadline())
    yield wiki_prf.filter(query, ToolPlan(), gathered, deadline())
    yield wiki_prf.answer(query, material, shown, budget, deadline())
    record = Evidence(material, material, "", CitationKind.IMAGE)
    baselines, results = VlmBaselines(model), Findings((thing,), (record,), (piece,))
    yield baselines.answer_alone(query, deadline())
    yield baselines.answer_in_steps(query, deadline())
    yield baselines.rewrite_query(query, results, deadline())
    yield baselines.answer_from(query, results, budget, deadline())
