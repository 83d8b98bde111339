"""The domain's advice, which the draft gets if the router is sure at once."""

from dataclasses import replace
from typing import Any

import anyio
import pytest

from contracts.domain_router import ClassifyReply, Domain
from gateway.clients.services import PhotoRecipients, Services
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.reasoning.port import ReadPhoto
from gateway.steps import photo
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.fakes import FakeServices, Mood, domain_reply
from tests.unit.gateway.pipelines import THRESHOLDS, Result, put
from tests.unit.gateway.reasoners import ScriptedReasoner

pytestmark = pytest.mark.anyio


async def ask(reasoner: ScriptedReasoner, services: FakeServices, sees: bool = False, **more: Any) -> Result:
    """Put one question to the default pipeline; `sees`: whether its domain router gets the photo."""

    def pipeline(clients: Services, reasoner: ScriptedReasoner) -> Pipeline:
        clients = replace(clients, photo_to=PhotoRecipients(domain_router=sees))
        return LoreglassPipeline(clients, reasoner, THRESHOLDS, RetrievalLimits())

    with anyio.fail_after(20):
        return await put(pipeline, reasoner, services, **more)


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
