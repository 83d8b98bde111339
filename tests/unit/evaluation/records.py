"""Build answers and turn records with defaults."""

from typing import Any

from evaluation.data.model import Part
from evaluation.record import TurnRecord
from loreglass_client.models import Answer, Reason, Route


def answered(text: str | None, **changes: Any) -> Answer:
    """Return a given answer; None: a refusal."""
    fields: dict[str, Any] = {
        "answer": "I don't know." if text is None else text,
        "abstained": text is None,
        "reason": Reason.MODEL_UNSURE if text is None else Reason.ANSWERED,
        "confidence": 0.0 if text is None else 0.5,
        "route": Route.RAG,
        "trace_id": "trace",
        "session_id": "session",
    }
    return Answer.model_validate(fields | changes)


def turn_of(name: str, answer: Answer | None, **changes: Any) -> TurnRecord:
    """Return the record of a single question; without an answer the request failed."""
    fields: dict[str, Any] = {
        "interaction_id": name,
        "session_id": name,
        "part": Part.SINGLE,
        "turn": 0,
        "photo": "photo.jpg",
        "question": "What is it?",
        "gold": "It has 312 pages.",
        "answer": answer,
        "error": "overloaded" if answer is None else None,
    }
    return TurnRecord(**fields | changes)
