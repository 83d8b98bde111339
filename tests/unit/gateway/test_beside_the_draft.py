"""What the default pipeline does while its draft is written, and what it knows before."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from contracts.domain_router import ClassifyReply, Domain
from gateway.clients.services import PhotoRecipients, Services
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.reasoning.port import ReadPhoto, Seek
from gateway.state import Draft, Query
from gateway.steps import photo
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.fakes import FakeServices, Mood, domain_reply, image_hit, images, regions
from tests.unit.gateway.pipelines import PHOTO, THRESHOLDS, Result, put
from tests.unit.gateway.reasoners import ScriptedReasoner, direct_draft

pytestmark = pytest.mark.anyio


@dataclass
class SeekingReasoner(ScriptedReasoner):
    """Says early what pictures to search for, and ends its draft when the cropper has been asked."""

    label: str = "book"
    services: FakeServices = field(default_factory=FakeServices)
    in_between: Callable[[FakeServices], None] = lambda _: None

    async def draft(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, seek: Seek, deadline: Deadline
    ) -> Draft:
        """The scripted draft."""
        seek(self.label)
        seek(self.label)
        await self.services.cropper.arrived.wait()
        self.in_between(self.services)
        return await super().draft(ask, domain, read_photo, seek, deadline)


def undecided() -> FakeServices:
    """Services whose whole photo shows something, but not surely."""
    services = FakeServices()
    services.image_search.reply = images(image_hit(score=0.7))
    services.cropper.reply = regions(b"crop")
    return services


async def ask(reasoner: ScriptedReasoner, services: FakeServices, sees: bool = False, **more: Any) -> Result:
    """Put one question to the default pipeline; `sees`: whether its domain router gets the photo."""

    def pipeline(clients: Services, reasoner: ScriptedReasoner) -> Pipeline:
        clients = replace(clients, photo_to=PhotoRecipients(domain_router=sees))
        return LoreglassPipeline(clients, reasoner, THRESHOLDS, RetrievalLimits())

    with anyio.fail_after(20):
        return await put(pipeline, reasoner, services, **more)


async def test_crops_are_searched_once_while_the_draft_is_still_written() -> None:
    services = undecided()
    result = await ask(SeekingReasoner(services=services), services)
    assert len(services.cropper.calls) == 1
    assert [pictures for pictures, _ in services.image_search.calls] == [[PHOTO.jpeg], [b"crop"]]
    assert result.stages.count("crop_search") == 1
    assert (result.outcome.route, result.run.degraded) == (Route.RAG, [])


async def test_crops_of_another_thing_than_the_draft_s_are_given_up() -> None:
    services = undecided()
    services.cropper.mood = Mood.HELD

    def works_again(services: FakeServices) -> None:
        services.cropper.mood = Mood.WORKS

    reasoner = SeekingReasoner(label="mug", services=services, in_between=works_again)
    result = await ask(reasoner, services)
    assert [labels for _, labels, _ in services.cropper.calls] == [["mug"], ["book"]]
    assert result.states("cropper") == ["cancelled", "done"]


async def test_an_answer_from_the_photo_waits_for_no_crops() -> None:
    services = undecided()
    services.cropper.mood = Mood.HELD
    result = await ask(SeekingReasoner(first_look=direct_draft(), services=services), services)
    assert result.outcome.route is Route.DIRECT


async def test_a_decisive_whole_photo_needs_no_crops_however_early_they_are_sought() -> None:
    services = undecided()
    services.image_search.reply = images(image_hit(score=0.97))
    services.cropper.arrived.set()
    await ask(SeekingReasoner(services=services), services)
    assert services.cropper.calls == []


def guess(probability: float) -> ClassifyReply:
    """Books, so probably."""
    reply = domain_reply(Domain.BOOK)
    rest = (1 - probability) / (len(Domain) - 1)
    probs = [probability if domain is Domain.BOOK else rest for domain in Domain]
    return reply.model_copy(update={"data": [reply.data[0].model_copy(update={"probs": probs})]})


@pytest.mark.parametrize(
    ("sees", "probability", "domain"),
    [(True, 0.8, Domain.BOOK), (True, 0.4, None), (False, 0.8, None)],
    ids=["sure", "unsure", "waits for OCR"],
)
async def test_a_draft_is_advised_where_the_domain_is_sure_at_once(
    sees: bool, probability: float, domain: Domain | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(photo, "ADVICE_WAIT_S", 10.0)  # whatever else this machine does
    services, reasoner = FakeServices(), ScriptedReasoner()
    services.domain_router.reply = guess(probability)
    result = await ask(reasoner, services, sees)
    assert reasoner.domains == [domain]
    assert result.outcome.domain is Domain.BOOK


async def test_a_draft_does_not_wait_for_a_slow_domain_router() -> None:
    services = FakeServices()
    services.domain_router.mood = Mood.HELD

    async def then_it_answers(_: ReadPhoto) -> None:
        services.domain_router.release.set()

    reasoner = ScriptedReasoner(before_draft=then_it_answers)
    result = await ask(reasoner, services, sees=True)
    assert reasoner.domains == [None]
    assert result.outcome.domain is Domain.BOOK


async def test_without_domain_advice_the_draft_is_given_none() -> None:
    reasoner = ScriptedReasoner()
    result = await ask(reasoner, FakeServices(), sees=True, missing=["domain-advice"])
    assert reasoner.domains == [None]
    assert result.outcome.domain is Domain.BOOK
