"""Every prompt of every system, as its reasoner sends it."""

from collections import defaultdict
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from typing import Any

import anyio

from chassis.errors import LoreglassError
from contracts.answer import CitationKind
from contracts.domain_router import Domain
from gateway.llm.asking import JUDGE_TOKENS
from gateway.llm.prompt import Prompt
from gateway.llm.reasoner import VlmReasoner
from gateway.llm.server import VlmReplyUnusable
from gateway.pipelines.baselines.model import Findings, VlmBaselines
from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
from gateway.pipelines.three_step.model import ThreeStepVlmReasoner
from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner
from gateway.pipelines.wiki_prf.tool_plan import Material, ToolPlan
from gateway.state import Entity, Evidence, GenerationBudget, Query, Reply
from tests.unit.gateway.llm.stage import context, deadline, draft, nothing_printed, page, printed
from tests.unit.gateway.scripted_model import ScriptedModel

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
