"""The de-facto rerank route. A request is JSON, or a form that holds the same JSON and a photo."""

import uuid
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile

from chassis.errors import InvalidRequest, UnsupportedMediaType
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, read_body, takes_json
from chassis.http.forms import read_form
from chassis.json_text import JsonLimits, read_json
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from chassis.validation import inlined_schema, validated
from contracts.reranker import RerankDocument, RerankReply, RerankRequest, RerankResult, RerankUsage
from services.reranker.engine import Reranker
from services.reranker.settings import RerankerSettings

router = Router()
_JSON_LIMITS = JsonLimits(max_bytes=16 * 2**20, max_items=2_048)
_REQUEST = "request"
_IMAGE = "image"
_LONGEST_TEXT_PART = 16 * 2**20

Pool = Annotated[EnginePool[Reranker], Depends(engine_pool)]

MAX_CHARACTERS = 2_000_000
"""Of all documents together: reranking takes time with every one of them."""


def _body_schema() -> dict[str, Any]:
    """Both forms, for the OpenAPI document."""
    in_json = inlined_schema(RerankRequest)
    in_form = {
        "type": "object",
        "properties": {_REQUEST: in_json, _IMAGE: {"type": "string", "format": "binary"}},
        "required": [_REQUEST],
        "additionalProperties": False,
    }
    content = {"application/json": {"schema": in_json}, "multipart/form-data": {"schema": in_form}}
    return {"requestBody": {"required": True, "content": content}}


@router.post("/v1/rerank", openapi_extra=_body_schema())
@takes_json(_JSON_LIMITS, or_form=True)
async def rerank(request: Request, pool: Pool, deadline: RequestDeadline) -> RerankReply:
    """Score each document as an answer to the query; best first. The form may bring the photo."""
    settings: RerankerSettings = request.app.state.settings
    call, image = await _read_call(request)
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


async def _read_call(request: Request) -> tuple[RerankRequest, bytes | None]:
    """The request and the bytes of its photo, if it has one.

    Raises `MalformedRequest`, `InvalidRequest`, `PayloadTooLarge` or `UnsupportedMediaType`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return await read_body(request, _parsed), None
    if kind == "multipart/form-data":
        body, image = await _read_form(request)
        return await anyio.to_thread.run_sync(_parsed, body, _JSON_LIMITS), image
    raise UnsupportedMediaType("Send application/json or multipart/form-data.")


async def _read_form(request: Request) -> tuple[bytes, bytes | None]:
    async with read_form(request, max_files=2, max_fields=2, max_part_size=_LONGEST_TEXT_PART) as form:
        _check_names(form)
        body = await _content(form[_REQUEST])
        return body, await _photo(form)


def _check_names(form: FormData) -> None:
    for name in form:
        if name not in (_REQUEST, _IMAGE):
            raise InvalidRequest(f"{name[:40]}: there is no such part.")
        if len(form.getlist(name)) > 1:
            raise InvalidRequest(f"{name}: must be given once.")
    if _REQUEST not in form:
        raise InvalidRequest(f"{_REQUEST}: this part is missing.")


async def _photo(form: FormData) -> bytes | None:
    part = form.get(_IMAGE)
    if isinstance(part, str):
        raise InvalidRequest(f"{_IMAGE}: must be a file part.")
    return await part.read() if part else None


async def _content(part: str | UploadFile) -> bytes:
    return part.encode("utf-8", "surrogatepass") if isinstance(part, str) else await part.read()


def _parsed(body: bytes, limits: JsonLimits | None = None) -> RerankRequest:
    """Blocking."""
    return validated(RerankRequest, read_json(body, limits))
