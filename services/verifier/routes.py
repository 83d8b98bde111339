"""Verifying an answer over HTTP."""

from typing import Annotated

from fastapi import Depends, Request

from chassis.errors import InvalidRequest
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from contracts.verifier import Check, SupportingSpan, VerifyReply, VerifyRequest
from services.verifier.engine import ModelSignals, Span, Verdict, Verifier
from services.verifier.settings import VerifierSettings

router = Router()
_JSON_LIMITS = JsonLimits(max_bytes=8 * 2**20, max_items=8_192)

Pool = Annotated[EnginePool[Verifier], Depends(engine_pool)]

MAX_CHARACTERS = 200_000
"""Of all evidence together: verifying takes time with every one of them."""


@router.post("/v1/verify")
@takes_json(_JSON_LIMITS)
async def verify(request: Request, body: VerifyRequest, pool: Pool, deadline: RequestDeadline) -> VerifyReply:
    """Verify an answer. The reply has the span that supports it and what is missing."""
    settings: VerifierSettings = request.app.state.settings
    signals = _signals(body)
    characters = len(body.entity or "") + sum(map(len, body.evidence))
    if characters > MAX_CHARACTERS:
        raise InvalidRequest(f"evidence: {characters} characters together; {MAX_CHARACTERS} are read.")
    verdict: Verdict = await pool.run(
        lambda engine: engine.verify(body.question, body.answer, body.evidence, body.entity, signals),
        deadline,
    )
    return VerifyReply(
        supported=verdict.probability >= settings.supported_from and not verdict.refused,
        probability=verdict.probability,
        evidence_probability=verdict.by_evidence,
        span=_span(verdict.span, body.evidence),
        checks=[Check(name=c.name, passed=c.passed, detail=c.detail) for c in verdict.checks],
    )


def _signals(body: VerifyRequest) -> ModelSignals:
    try:
        return ModelSignals(
            tuple(body.token_probabilities), body.token_min, body.token_mean, body.model_judgement
        )
    except ValueError as error:
        raise InvalidRequest(str(error)) from error


def _span(span: Span | None, evidence: list[str]) -> SupportingSpan | None:
    if span is None:
        return None
    text = evidence[span.evidence_index][span.start : span.end]
    return SupportingSpan(evidence_index=span.evidence_index, start=span.start, end=span.end, text=text)
