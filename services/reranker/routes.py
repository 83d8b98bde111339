"""The de-facto rerank route."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Depends

from chassis.app import RequestDeadline, engine_pool
from chassis.workers import EnginePool
from contracts.reranker import RerankDocument, RerankReply, RerankRequest, RerankResult, RerankUsage
from services.reranker.engine import Reranker

router = APIRouter()

Pool = Annotated[EnginePool[Reranker], Depends(engine_pool)]


@router.post("/v1/rerank")
async def rerank(request: RerankRequest, pool: Pool, deadline: RequestDeadline) -> RerankReply:
    """Score each document as an answer to the query; best first."""
    scores = await pool.run(
        lambda engine: engine.rerank(request.query, request.documents, request.entity), deadline
    )
    best_first = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    return RerankReply(
        id=f"rerank-{uuid.uuid4().hex}",
        model=request.model or pool.engine.name,
        results=[_result(request, index, scores[index]) for index in best_first[: request.top_n]],
        usage=RerankUsage(total_tokens=sum(len(text.split()) for text in request.documents)),
    )


def _result(request: RerankRequest, index: int, score: float) -> RerankResult:
    document = RerankDocument(text=request.documents[index]) if request.return_documents else None
    return RerankResult(index=index, relevance_score=score, document=document)
