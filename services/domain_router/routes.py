"""Classifying a question over HTTP."""

import uuid
from typing import Annotated

from fastapi import Depends, File, Form, UploadFile

from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from contracts.domain_router import Classification, ClassifyReply, Domain
from services.domain_router.engine import IMAGE_SIDE, DomainRouter

router = Router()

Pool = Annotated[EnginePool[DomainRouter], Depends(engine_pool)]
_DOMAINS = list(Domain)
_LONGEST_QUESTION = 4096
_LONGEST_TEXT = 65_536


@router.post("/v1/classify")
async def classify(
    question: Annotated[str, Form(min_length=1, max_length=_LONGEST_QUESTION)],
    pool: Pool,
    deadline: RequestDeadline,
    recognized_text: Annotated[str, Form(max_length=_LONGEST_TEXT)] = "",
    image: Annotated[UploadFile | None, File()] = None,
) -> ClassifyReply:
    """The question's domain; the photo is optional and may be described by its text alone."""
    data = await image.read() if image else None
    probabilities = await pool.run(
        lambda engine: _classify(engine, question, recognized_text, data), deadline
    )
    best = max(range(len(_DOMAINS)), key=probabilities.__getitem__)
    classification = Classification(
        index=best, label=_DOMAINS[best], probs=probabilities, num_classes=len(_DOMAINS)
    )
    return ClassifyReply(id=f"classify-{uuid.uuid4().hex}", model=pool.engine.name, data=[classification])


def _classify(engine: DomainRouter, question: str, recognized_text: str, data: bytes | None) -> list[float]:
    image = decode_rgb(data, max_side=IMAGE_SIDE) if data else None
    return engine.classify(question, recognized_text, image)
