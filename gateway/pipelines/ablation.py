"""Pipelines without some of their modules, by name: QA-Dragon's ablation studies (Tables 2 and 4), and ours.

What is left out is not begun: it takes no time, and is not named in `degraded`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.stages import evidence, verification
from gateway.stages.explaining import SILENT, Explaining
from gateway.stages.identify import named_by
from gateway.stages.run import Run
from gateway.stages.verification import AskJudge, Judge
from gateway.state import Ask, Draft, Entity, Evidence, Findings, Reply, Tool, Verdict
from gateway.thresholds import Depths, Thresholds


def _named(whole: str, having: Any) -> str:
    missing = [switch.name for switch in fields(having) if not getattr(having, switch.name)]
    return "-".join([whole, *(f"no-{name.replace('_', '-')}" for name in missing)])


@dataclass(frozen=True, slots=True)
class Ablation:
    """Which modules of `qa-dragon` there are. Without one of them:

    `domain_router`: the generic chain of thought; `search_router`: every question takes the RAG branch;
    `tool_router`: both searches; `query_splitting`: the question is the only query; `fusion_search`: the
    thing that image search found stays out of the text queries; `reranking`: evidence in search order.
    """

    domain_router: bool = True
    search_router: bool = True
    tool_router: bool = True
    query_splitting: bool = True
    fusion_search: bool = True
    reranking: bool = True

    @property
    def name(self) -> str:
        """The pipeline's name: `qa-dragon`, `qa-dragon-no-reranking`, …"""
        return _named("qa-dragon", self)


FULL = Ablation()
TABLE_2 = (replace(FULL, search_router=False, fusion_search=False), replace(FULL, search_router=False))
"""The paper's earlier versions, marked † and ‡ there."""


def ablations() -> Iterator[Ablation]:
    """The full pipeline, each single module left out (Table 4), and Table 2's combinations."""
    single = (replace(FULL, **{switch.name: False}) for switch in fields(FULL))
    yield from dict.fromkeys((FULL, *single, *TABLE_2))


class Router(Protocol):
    """Chooses a question's route; see `gateway.stages.routing`."""

    def choose(
        self,
        ask: Ask,
        draft: Draft,
        domain: Domain | None,
        thresholds: Thresholds,
        explain: Explaining = SILENT,
    ) -> Route:
        """The branch."""
        ...


class SearchesAlways:
    """A `Router` for what has no search router."""

    def choose(
        self,
        ask: Ask,
        draft: Draft,
        domain: Domain | None,
        thresholds: Thresholds,
        explain: Explaining = SILENT,
    ) -> Route:
        """The whole search, whatever the draft."""
        return Route.RAG


@dataclass(frozen=True, slots=True)
class LoreglassAblation:
    """Which modules of `loreglass` there are. Without one of them:

    `crops`: the whole photo alone is searched; `image_search`: not even that; `ocr`: nothing knows the print;
    `fusion_search`: what image search found stays out of the text queries; `reranking`: evidence in search
    order; `second_hop`: one search; `verifier`: no check after the answer but that of its citations;
    `search_router`: every question is searched for; `judge`: the verifier's other checks decide.
    """

    crops: bool = True
    image_search: bool = True
    ocr: bool = True
    fusion_search: bool = True
    reranking: bool = True
    second_hop: bool = True
    verifier: bool = True
    search_router: bool = True
    judge: bool = True

    @property
    def name(self) -> str:
        """The pipeline's name: `loreglass`, `loreglass-no-crops`, …"""
        return _named("loreglass", self)

    def router(self, usual: Router) -> Router:
        """Who chooses the route."""
        return usual if self.search_router else SearchesAlways()

    def depths(self, usual: Depths) -> Depths:
        """How much is looked at."""
        return usual if self.crops else replace(usual, crops=0)

    def ask_judge(self, usual: AskJudge) -> AskJudge:
        """When the model judge is asked."""
        return usual if self.judge else AskJudge.NEVER

    def wanted_by(self, draft: Draft) -> Draft:
        """The draft, with no tool that there is not."""
        return draft if self.image_search else replace(draft, tools=draft.tools - {Tool.IMAGE_SEARCH})

    def fused_queries(self, ask: Ask, draft: Draft, entity: Entity | None) -> tuple[str, ...]:
        """What to search pages for."""
        return evidence.fused_queries(ask, draft, entity if self.fusion_search else named_by(ask, draft))

    async def search_and_rank(
        self,
        services: Services,
        inquiry: evidence.Inquiry,
        known: Sequence[Evidence],
        run: Run,
        stages: tuple[Stage, Stage] = evidence.FIRST_HOP,
    ) -> tuple[Evidence, ...]:
        """What is known and what pages say, best first."""
        if self.reranking:
            return await evidence.search_and_rank(services, inquiry, known, run, stages)
        pages = await evidence.find_pages(services, inquiry.queries, run, stages[0])
        return evidence.in_search_order((*known, *pages)[: run.plan.chunks])

    async def verify(
        self,
        services: Services,
        judge: Judge,
        ask: Ask,
        reply: Reply,
        findings: Findings,
        run: Run,
        thresholds: Thresholds,
        ask_judge: AskJudge,
    ) -> Verdict | None:
        """The checks of the answer; None where there are none."""
        if not self.verifier:
            return None
        return await verification.verify(services, judge, ask, reply, findings, run, thresholds, ask_judge)


ALL_OF_LOREGLASS = LoreglassAblation()


def loreglass_ablations() -> Iterator[LoreglassAblation]:
    """The whole pipeline, and each single module left out."""
    yield ALL_OF_LOREGLASS
    yield from (replace(ALL_OF_LOREGLASS, **{switch.name: False}) for switch in fields(ALL_OF_LOREGLASS))
