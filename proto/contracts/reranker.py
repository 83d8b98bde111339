"""reranker: the de-facto rerank shape (Jina, Cohere, vLLM). `POST /v1/rerank`.

As JSON, or as multipart/form-data with the same JSON in the part `request` and a photo in the optional
part `image`, for engines that read the question together with what it was asked about.
"""

from pydantic import Field

from contracts.message import Message, Request


class RerankRequest(Request):
    """`entity` names the thing that the question is about; `fine_top_n` bounds how many of the best a second,
    costlier model reads. Both are our additions to the shape.
    """

    model: str | None = None
    query: str = Field(min_length=1, max_length=4096)
    documents: list[str] = Field(max_length=512, fail_fast=True)
    top_n: int | None = Field(default=None, ge=1)
    return_documents: bool = False
    entity: str | None = None
    fine_top_n: int | None = Field(default=None, ge=0)


class RerankDocument(Message):
    """The candidate's text, when asked for."""

    text: str


class RerankResult(Message):
    """`relevance_score` in 0..1: how probable it is that `documents[index]` answers the query.

    Candidates that the engine discards are returned with 0.
    """

    index: int
    relevance_score: float
    document: RerankDocument | None = None


class RerankUsage(Message):
    """Words scored; kept for clients that expect the field."""

    total_tokens: int


class RerankReply(Message):
    """Results by falling relevance."""

    id: str
    model: str
    results: list[RerankResult]
    usage: RerankUsage
