"""The de-facto rerank route."""

import uuid
from typing import Annotated

from fastapi import Depends, Request

from chassis.errors import InvalidRequest
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from contracts.reranker import RerankDocument, RerankReply, RerankRequest, RerankResult, RerankUsage
from services.reranker.engine import Reranker
from services.reranker.intake import JSON_LIMITS, body_schema, read_call
from services.reranker.settings import RerankerSettings

router = Router()

Pool = Annotated[EnginePool[Reranker], Depends(engine_pool)]

MAX_CHARACTERS = 2_000_000
"""Of all documents together: reranking takes time with every one of them."""


@router.post("/v1/rerank", openapi_extra=body_schema())
@takes_json(JSON_LIMITS, or_form=True)
async def rerank(request: Request, pool: Pool, deadline: RequestDeadline) -> RerankReply:
    """Score each document as an answer to the query; best first. The form may bring the photo."""
    settings: RerankerSettings = request.app.state.settings
    asked, image = await read_call(request)
    characters = len(asked.entity or "") + sum(map(len, asked.documents))
    if characters > MAX_CHARACTERS:
        raise InvalidRequest(f"documents: {characters} characters together; {MAX_CHARACTERS} are read.")
    scores = await pool.run(lambda engine: _scores(engine, asked, image, settings.max_side), deadline)
    best_first = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    return RerankReply(
        id=f"rerank-{uuid.uuid4().hex}",
        model=asked.model or pool.engine.name,
        results=[_result(asked, index, scores[index]) for index in best_first[: asked.top_n]],
        usage=RerankUsage(total_tokens=sum(len(text.split()) for text in asked.documents)),
    )


def _scores(engine: Reranker, asked: RerankRequest, image: bytes | None, max_side: int) -> list[float]:
    photo = None if image is None else decode_rgb(image, max_side=max_side)
    return engine.rerank(asked.query, asked.documents, asked.entity, photo, asked.fine_top_n)


def _result(asked: RerankRequest, index: int, score: float) -> RerankResult:
    document = RerankDocument(text=asked.documents[index]) if asked.return_documents else None
    return RerankResult(index=index, relevance_score=score, document=document)
