"""The de-facto rerank route. A request is JSON, or a form that holds the same JSON and a photo."""

import uuid
from typing import Annotated

from fastapi import Depends, Request

from chassis.errors import InvalidRequest
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, pictured_schema, read_pictured, takes_json
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from contracts.reranker import RerankDocument, RerankReply, RerankRequest, RerankResult, RerankUsage
from services.reranker.engine import Reranker
from services.reranker.settings import RerankerSettings

router = Router()
_JSON_LIMITS = JsonLimits(max_bytes=16 * 2**20, max_items=2_048)

Pool = Annotated[EnginePool[Reranker], Depends(engine_pool)]

MAX_CHARACTERS = 2_000_000
"""Of all documents together: reranking takes time with every one of them."""


@router.post("/v1/rerank", openapi_extra=pictured_schema(RerankRequest))
@takes_json(_JSON_LIMITS, or_form=True)
async def rerank(request: Request, pool: Pool, deadline: RequestDeadline) -> RerankReply:
    """Score each document as an answer to the query; best first. The form may bring the photo."""
    settings: RerankerSettings = request.app.state.settings
    call, image = await read_pictured(request, RerankRequest, _JSON_LIMITS)
    characters = len(call.entity or "") + sum(map(len, call.documents))
    if characters > MAX_CHARACTERS:
        raise InvalidRequest(f"documents: {characters} characters together; {MAX_CHARACTERS} are read.")
    scores = await pool.run(lambda engine: _scores(engine, call, image, settings.max_side), deadline)
    best_first = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    return RerankReply(
        id=f"rerank-{uuid.uuid4().hex}",
        model=call.model or pool.engine.name,
        results=[_result(call, index, scores[index]) for index in best_first[: call.top_n]],
        usage=RerankUsage(total_tokens=sum(len(text.split()) for text in call.documents)),
    )


def _scores(engine: Reranker, call: RerankRequest, image: bytes | None, max_side: int) -> list[float]:
    photo = None if image is None else decode_rgb(image, max_side=max_side)
    return engine.rerank(call.query, call.documents, call.entity, photo, call.fine_top_n)


def _result(call: RerankRequest, index: int, score: float) -> RerankResult:
    document = RerankDocument(text=call.documents[index]) if call.return_documents else None
    return RerankResult(index=index, relevance_score=score, document=document)
