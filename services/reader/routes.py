"""Reading passages over HTTP."""

import math
from typing import Annotated

from fastapi import Depends

from chassis.errors import InvalidRequest
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router, takes_json
from chassis.json_text import JsonLimits
from chassis.models.workers import EnginePool
from contracts.reader import ReadAnswer, ReadPassage, ReadReply, ReadRequest, TextSpan
from services.reader.engine import Answer, Passage, PassageKind, Query, Reader, Span

router = Router()
_JSON_LIMITS = JsonLimits(max_bytes=8 * 2**20, max_items=65_536)
"""Of passages with a box for each line: nine items."""

Pool = Annotated[EnginePool[Reader], Depends(engine_pool)]

MAX_CHARACTERS = 200_000
"""Of all passages together, titles included: reading takes time with every one of them."""


@router.post("/v1/read")
@takes_json(_JSON_LIMITS)
async def read(body: ReadRequest, pool: Pool, deadline: RequestDeadline) -> ReadReply:
    """The answers that stand in the passages, best first; none where they say nothing to the question."""
    query = Query(body.question, body.subject)  # no engine reads `history`
    passages = _passages(body.passages)
    answers = await pool.run(lambda engine: engine.read(query, passages, body.top_n), deadline)
    return ReadReply(model=pool.engine.name, answers=[_answer(each, passages) for each in answers])


def _passages(passages: list[ReadPassage]) -> list[Passage]:
    characters = sum(len(passage.text) + len(passage.title) for passage in passages)
    if characters > MAX_CHARACTERS:
        raise InvalidRequest(f"passages: {characters} characters together; {MAX_CHARACTERS} are read.")
    return [_passage(each) for each in passages]


def _passage(passage: ReadPassage) -> Passage:
    boxes = tuple((box.left, box.top, box.right, box.bottom) for box in passage.boxes)
    if not all(math.isfinite(side) for box in boxes for side in box):
        raise InvalidRequest("boxes: shares of the photo's width and height.")
    return Passage(passage.text, passage.title, PassageKind(passage.kind), boxes)


def _answer(answer: Answer, passages: list[Passage]) -> ReadAnswer:
    text = passages[answer.passage].text
    return ReadAnswer(
        passage_index=answer.passage,
        span=_span(answer.span, text),
        sentence=_span(answer.sentence, text),
        spoken=answer.spoken,
        probability=answer.probability,
    )


def _span(span: Span, text: str) -> TextSpan:
    return TextSpan(start=span.start, end=span.end, text=text[span.start : span.end])
