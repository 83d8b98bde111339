"""The default pipeline with one module left out: that module is not begun, and the rest goes on."""

from dataclasses import dataclass

import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason, Route
from contracts.cropper import CropReply
from contracts.image_search import ImageSearchReply
from contracts.text_search import TextSearchReply
from contracts.verifier import VerifyReply
from gateway.pipelines.loreglass.pipeline import MODULES, LoreglassPipeline
from gateway.planning.run import Run
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from gateway.thresholds import RetrievalLimits, load_thresholds
from tests.unit.gateway.fakes import BOOK, FakeServices, crop_region, image_hit, text_hit
from tests.unit.gateway.reasoners import ScriptedReasoner, after_reading, direct_draft
from tests.unit.gateway.stepwise import PHOTO, WHO_WROTE, clients_of

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one question, and its run."""

    outcome: Outcome
    run: Run
    reasoner: ScriptedReasoner
    services: FakeServices

    @property
    def stages(self) -> set[str]:
        return {stage.stage for stage in self.run.stages}


def busy_services() -> FakeServices:
    """Services for which every module has something to do."""
    services = FakeServices()
    services.image_search.reply = ImageSearchReply(hits=[image_hit(score=0.7)], collection="images")
    services.cropper.reply = CropReply(regions=[crop_region(b"crop")], width=96, height=64)
    services.text_search.reply = TextSearchReply(hits=[text_hit("First."), text_hit()], collection="pages")
    services.verifier.reply = VerifyReply(supported=True, probability=0.65, checks=[])
    return services


async def ablated(*missing: str, reasoner: ScriptedReasoner | None = None) -> Result:
    """Put one question to `loreglass` without these modules."""
    thinking = reasoner or ScriptedReasoner(before_draft=after_reading, hop=lambda _: ("second hop",))
    services = busy_services()
    async with clients_of(services) as clients:
        whole = LoreglassPipeline(clients, thinking, load_thresholds(), RetrievalLimits())
        pipeline = whole.without(frozenset(missing)) if missing else whole
        run = Run("trace", Deadline.after_ms(30_000))
        outcome = await pipeline.using(load_thresholds()).answer(Query(WHO_WROTE, PHOTO), run)
    return Result(outcome, run, thinking, services)


SPARED = {
    "crops": {"cropper", "crop_search"},
    "image-search": {"image_search", "cropper", "crop_search"},
    "ocr": {"ocr"},
    "fusion-search": set[str](),
    "reranking": {"reranker", "second_hop_reranker"},
    "second-hop": {"second_hop", "second_hop_search", "second_hop_reranker"},
    "verifier": {"verifier"},
    "search-router": set[str](),
    "judge": set[str](),
    "text-search": {"text_search", "second_hop", "second_hop_search", "second_hop_reranker"},
    "domain-advice": set[str](),
    "web-search": set[str](),
}


def test_every_module_is_tested() -> None:
    assert set(SPARED) == MODULES


@pytest.mark.parametrize("missing", SPARED)
async def test_left_out_module_is_not_begun_and_not_degraded(missing: str) -> None:
    whole, without = await ablated(), await ablated(missing)
    assert whole.stages - without.stages == SPARED[missing]
    assert without.stages <= whole.stages
    assert (whole.run.degraded, without.run.degraded) == ([], [])
    assert without.outcome.reason is Reason.ANSWERED


async def test_without_ocr_nothing_gets_its_text() -> None:
    result = await ablated("ocr")
    assert result.services.domain_router.calls == [(WHO_WROTE, "")]
    assert result.reasoner.found[-1].photo_text.lines == ()


async def test_without_fusion_the_entity_is_not_in_the_text_queries() -> None:
    result = await ablated("fusion-search")
    queries = [query for request in result.services.text_search.calls[:1] for query in request.queries]
    assert queries == [WHO_WROTE]
    assert result.outcome.entity is not None
    assert result.outcome.entity.name == BOOK


async def test_without_a_verifier_an_answer_must_still_be_cited() -> None:
    result = await ablated("verifier")
    assert result.outcome.citations
    assert result.outcome.confidence == pytest.approx(0.9)


async def test_without_the_search_router_everything_is_searched() -> None:
    drafted = {"first_look": direct_draft(), "before_draft": after_reading}
    whole = await ablated(reasoner=ScriptedReasoner(**drafted))  # type: ignore[arg-type]
    without = await ablated("search-router", reasoner=ScriptedReasoner(**drafted))  # type: ignore[arg-type]
    assert (whole.outcome.route, without.outcome.route) == (Route.DIRECT, Route.RAG)
