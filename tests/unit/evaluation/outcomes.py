"""Made-up outcomes for tests of scores and reports."""

from collections.abc import Mapping, Sequence

from contracts.answer import Answer, Reason, Route
from evaluation.judging.judge import Judgement, Verdict
from evaluation.rows import AnswerType, AskedTurn, Truth
from evaluation.scoring import Outcome


def outcome(
    verdict: Verdict,
    session_id: str = "s",
    *,
    answerable: bool = True,
    quality: str = "normal",
    error: str | None = None,
    timings: Mapping[str, float] | None = None,
    degraded: Sequence[str] = (),
) -> Outcome:
    """One turn with this verdict; the answer is missing where there is an error."""
    kind = AnswerType.NAME if answerable else AnswerType.UNANSWERABLE
    turn = AskedTurn(
        interaction_id="i",
        question="who wrote this [b]?",
        gold="Mira Holm wrote it.",
        domain="book",
        query_category="simple-recognition",
        dynamism="static",
        image_quality=quality,
        truth=Truth(interaction_id="i", answer_type=kind, accepted=("Mira Holm",), needs="photo"),
    )
    answer = Answer(
        answer="Mira Holm",
        abstained=verdict is Verdict.MISSING,
        reason=Reason.ANSWERED,
        confidence=0.9,
        route=Route.DIRECT,
        degraded=list(degraded),
        timings_ms=dict(timings or {}),
        trace_id="t",
        session_id=session_id,
    )
    return Outcome(session_id, turn, Judgement(verdict, "made up"), None if error else answer, error, 12.5)
