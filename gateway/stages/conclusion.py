"""The outcome of a request: an answer whose citations were checked, or an honest refusal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from contracts.answer import Citation, CitationKind, Reason, Route
from contracts.domain_router import Domain
from contracts.errors import ErrorKind
from gateway.state import Draft, Entity, Evidence, Findings, PhotoText, Reply, Verdict
from gateway.thresholds import Thresholds

REFUSALS: dict[Reason, str] = {
    Reason.MODEL_UNSURE: "I don't know. What I found is not clear enough to say.",
    Reason.UNSUPPORTED: "I don't know. I could not confirm the answer I had in mind.",
    Reason.NO_EVIDENCE: "I don't know. I found nothing about this.",
    Reason.TIMED_OUT: "I don't know. I ran out of time.",
    Reason.OVERLOADED: "I don't know. I am too busy to look it up right now.",
}

NOT_CONFIDENT = "answer_confidence"
NOT_CITED = "citation"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the wearer hears, and why. `refused_by`: the check that an answer in hand did not pass."""

    answer: str
    reason: Reason
    confidence: float
    route: Route
    domain: Domain | None = None
    entity: Entity | None = None
    citations: tuple[Citation, ...] = ()
    refused_by: str | None = None

    @property
    def abstained(self) -> bool:
        """Whether it is a refusal."""
        return self.reason is not Reason.ANSWERED


def refusal(
    reason: Reason,
    route: Route,
    domain: Domain | None = None,
    entity: Entity | None = None,
    refused_by: str | None = None,
) -> Outcome:
    """An honest "I don't know", with its reason."""
    return Outcome(REFUSALS[reason], reason, 0.0, route, domain, entity, refused_by=refused_by)


def direct_answer(draft: Draft, photo_text: PhotoText, domain: Domain | None) -> Outcome:
    """The draft as the answer; it quotes the photo itself. The draft must have an answer."""
    source = Evidence(photo_text.plain, "The photo", "", CitationKind.PHOTO, draft.confidence)
    citations = tuple(_cite(source, quote) for quote in draft.quotes if quote in source.text)
    return Outcome(
        draft.answer or "", Reason.ANSWERED, draft.confidence, Route.DIRECT, domain, citations=citations
    )


def conclude(
    reply: Reply,
    verdict: Verdict | None,
    findings: Findings,
    domain: Domain | None,
    failures: Iterable[ErrorKind],
    thresholds: Thresholds,
    verdict_suffices: bool = False,
) -> Outcome:
    """The reasoner's answer if it is sure, supported and cited; otherwise the refusal that fits.

    `verdict_suffices`: an answer that was verified need not cite anything, as in the paper.
    """
    route, entity = findings.route, findings.entity
    if not reply.says_something:
        return refusal(_why_unknown(reply, findings, failures), route, domain, entity)
    if reply.confidence < thresholds.answer_confidence:
        return refusal(_why_unknown(reply, findings, failures), route, domain, entity, NOT_CONFIDENT)
    if verdict is not None and verdict.refusal is not None:
        return refusal(Reason.UNSUPPORTED, route, domain, entity, verdict.refusal)
    citations = tuple(checked_citations(reply, findings.evidence))
    if not citations and not (verdict_suffices and verdict is not None):
        return refusal(Reason.UNSUPPORTED, route, domain, entity, NOT_CITED)
    confidence = reply.confidence * (verdict.probability if verdict else 1.0)
    return Outcome(reply.answer or "", Reason.ANSWERED, confidence, route, domain, entity, citations)


def checked_citations(reply: Reply, evidence: Sequence[Evidence]) -> Iterator[Citation]:
    """The quotes that really stand in the evidence that they name."""
    for quote in reply.quotes:
        if 0 <= quote.index < len(evidence) and quote.text and quote.text in evidence[quote.index].text:
            yield _cite(evidence[quote.index], quote.text)


def _why_unknown(reply: Reply, findings: Findings, failures: Iterable[ErrorKind]) -> Reason:
    """A search that failed is told apart from a search that found nothing."""
    failed = set(failures)
    if not findings.evidence and ErrorKind.OVERLOADED in failed:
        return Reason.OVERLOADED
    if not findings.evidence and ErrorKind.DEADLINE_EXCEEDED in failed:
        return Reason.TIMED_OUT
    if not findings.evidence:
        return Reason.NO_EVIDENCE
    return reply.reason if reply.reason is not Reason.ANSWERED else Reason.MODEL_UNSURE


def _cite(source: Evidence, quote: str) -> Citation:
    return Citation(title=source.title, url=source.url, snippet=quote, score=source.score, kind=source.kind)
