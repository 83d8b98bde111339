"""The outcome of a request: an answer whose citations were checked, or an honest refusal."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import prod

from contracts.answer import Citation, CitationKind, Reason, Route, Verification
from contracts.domain_router import Domain
from contracts.errors import ErrorKind
from gateway.planning.explaining import SILENT, Explaining
from gateway.planning.stages import Stage
from gateway.reasoning.pieces import readable_excerpt
from gateway.reasoning.refusals import is_refusal
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    PhotoText,
    Quote,
    Reply,
    Unverified,
    Verdict,
    reason_of,
)
from gateway.steps.evidence import in_key_and_value
from gateway.thresholds import Thresholds
from language.identification import foreign_language_of
from language.sentences import sentences
from language.words import content_stems

REFUSALS: dict[Reason, str] = {
    Reason.MODEL_UNSURE: "I don't know for sure.",
    Reason.LOW_CONFIDENCE: "I don't know for sure.",
    Reason.UNSUPPORTED: "I don't know. I could not confirm the answer I had in mind.",
    Reason.NO_EVIDENCE: "I don't know. The index has nothing about this.",
    Reason.TIMED_OUT: "I don't know. I ran out of time.",
    Reason.OVERLOADED: "I don't know. I am too busy to look it up right now.",
    Reason.UNAVAILABLE: "I don't know. I cannot look it up right now.",
    Reason.NOTHING_INDEXED: "I don't know. There is nothing in the index yet.",
    Reason.LANGUAGE: "I don't know. I can only read English questions so far.",
    Reason.NEEDS_PHOTO: "I don't know. I need a photo to see what you mean.",
    Reason.NOT_HEARD: "I did not hear a question.",
    Reason.NOT_REMEMBERED: "I don't know. I do not remember seeing it.",
}

_OF_THE_QUESTION = frozenset({Reason.LANGUAGE, Reason.NEEDS_PHOTO, Reason.UNAVAILABLE})
"""Reasons that hold whatever was found."""
_WITHOUT_CLOSEST = frozenset({Reason.LANGUAGE, Reason.NOT_HEARD, Reason.NOTHING_INDEXED})
"""Refusals of the question itself, or with nothing to search: no passage comes close."""
_SHARED_WORDS = 2
"""If its photo is missing, a question and the passage that comes close share at least so many words."""
CLOSEST_CHARS = 300
"""Characters, at most, of the sentences that come closest."""
_PASSAGE_CHARS = 1_500
_LEAST_RELEVANT = 0.02
"""Probability that a passage answers. Below it, one without a word of the question is not the closest."""

_SEARCHES = (Stage.TEXT_SEARCH, Stage.IMAGE_SEARCH, Stage.CROP_SEARCH)

NOT_CONFIDENT = "answer_confidence"
NOT_CITED = "citation"
NOT_VERIFIED = "unverified"
CAUTION = "I could not check this."
"""Said with an answer that was to be checked and could not be."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer or refusal, and its reason. `confidence`: None if nothing was measured.

    `refused_by`: the check that an answer in hand did not pass. `remark`: what is said of the
    answer behind it. `verification`: of an answer, whether it was checked. `closest`: of a refusal, the
    passage that comes closest to an answer.
    """

    answer: str
    reason: Reason
    confidence: float | None
    route: Route
    domain: Domain | None = None
    entity: Entity | None = None
    citations: tuple[Citation, ...] = ()
    refused_by: str | None = None
    verification: Verification = Verification.NONE
    remark: str = ""
    closest: Citation | None = None

    @property
    def text(self) -> str:
        return f"{self.answer} {self.remark}".strip()

    @property
    def abstained(self) -> bool:
        return self.reason is not Reason.ANSWERED


def refusal(
    reason: Reason,
    route: Route,
    domain: Domain | None = None,
    entity: Entity | None = None,
    refused_by: str | None = None,
    closest: Citation | None = None,
) -> Outcome:
    """Return an honest "I don't know", with its reason and, where it may have one, its closest passage."""
    passage = None if reason in _WITHOUT_CLOSEST else closest
    return Outcome(
        REFUSALS[reason], reason, 0.0, route, domain, entity, refused_by=refused_by, closest=passage
    )


def out_of_time(question: str, context: Context) -> Outcome:
    """Return the refusal that stands if time ends before there is a reply from the evidence."""
    closest = closest_of(question, context.evidence, entity=context.entity)
    return refusal(Reason.TIMED_OUT, context.route, None, context.entity, closest=closest)


def refuse(outcome: Outcome, reason: Reason) -> Outcome:
    """Return the refusal in place of an answer that was not checked. Its first source comes closest."""
    closest = None
    if outcome.citations:
        source = outcome.citations[0]
        sentence = readable_excerpt(source.snippet, CLOSEST_CHARS, outcome.answer)
        closest = source.model_copy(update={"sentence": sentence})
    return refusal(reason, outcome.route, outcome.domain, outcome.entity, NOT_VERIFIED, closest)


def in_the_askers_language(outcome: Outcome, question: str) -> Outcome:
    """The outcome; that a language is not understood is said in that language first, where we know how."""
    language = foreign_language_of(question) if outcome.reason is Reason.LANGUAGE else None
    return replace(outcome, answer=f"{language.refusal} {outcome.answer}") if language else outcome


def with_caution(outcome: Outcome, unverified: Unverified, explain: Explaining = SILENT) -> Outcome:
    """The outcome; an answer that could not be checked says so, or is refused, as the operator wants it.

    Signal: `withheld`, 1 where that refuses it.
    """
    if outcome.abstained or outcome.verification is not Verification.UNVERIFIED:
        return outcome
    if unverified is Unverified.SAY:
        return replace(outcome, remark=CAUTION)
    explain.signal("withheld", 1.0)
    return refuse(outcome, Reason.UNAVAILABLE)


def direct_answer(
    draft: Draft, photo_text: PhotoText, domain: Domain | None, explain: Explaining = SILENT
) -> Outcome:
    """Return the draft as the answer; it quotes the photo itself. The draft must have an answer."""
    explain.set_answer(draft.answer)
    source = Evidence(photo_text.rows, "The photo", "", CitationKind.PHOTO, draft.confidence or 0.0)
    citations = tuple(cite(source, quote) for quote in draft.quotes if quote in source.text)
    return Outcome(
        draft.answer or "", Reason.ANSWERED, draft.confidence, Route.DIRECT, domain, citations=citations
    )


def conclude(
    question: str,
    reply: Reply,
    verdict: Verdict | None,
    context: Context,
    domain: Domain | None,
    failures: Mapping[Stage, ErrorKind],
    thresholds: Thresholds,
    verdict_suffices: bool = False,
    explain: Explaining = SILENT,
) -> Outcome:
    """Return the reasoner's answer if it is sure, supported and cited; otherwise the refusal that fits.

    `verdict_suffices`: an answer that was verified need not cite anything, as in the paper.

    Signal: `citable`, 1 where sources stand or need not, else 0. So the answer was given if and only if the
    signal `answer_confidence` reaches its threshold, the verdict (`gateway.steps.verification` says how to
    recompute it) does not refuse, and `citable` is 1. Without `citable` the question ended before this.
    """
    route, entity = context.route, context.entity

    def refusal_for(reason: Reason, by: str | None = None) -> Outcome:
        is_irrelevant = reply.quoted and (reply.confidence or 0.0) < _LEAST_RELEVANT
        quotes = () if is_irrelevant else reply.quotes
        closest = closest_of(question, context.evidence, quotes, entity)
        if reason is Reason.NEEDS_PHOTO and closest:
            shared = content_stems(question) & content_stems(f"{closest.title} {closest.snippet}")
            closest = closest if len(shared) >= _SHARED_WORDS else None
        return refusal(reason, route, domain, entity, by, closest)

    if not reply.says_something:
        return refusal_for(_why_unknown(reply, context, failures))
    citations = tuple(checked_citations(reply, context.evidence))
    accepted = verdict is not None and verdict.verification is not Verification.UNVERIFIED
    citable = bool(citations) or (verdict_suffices and accepted)
    explain.signal("citable", float(citable))
    if reply.confidence is not None and reply.confidence < thresholds.answer_confidence:
        return refusal_for(_why_unknown(reply, context, failures), NOT_CONFIDENT)
    if verdict is not None and verdict.refusal is not None:
        return refusal_for(Reason.UNSUPPORTED, verdict.refusal)
    if not citable:
        return refusal_for(Reason.UNSUPPORTED, NOT_CITED)
    return _answer_of(reply, context, domain, citations, verdict)


def _answer_of(
    reply: Reply,
    context: Context,
    domain: Domain | None,
    citations: tuple[Citation, ...],
    verdict: Verdict | None = None,
) -> Outcome:
    """Return the reply as the answer; its confidence is the product of what was measured, if anything was."""
    probabilities = (reply.confidence, verdict.probability if verdict else None)
    measured = [each for each in probabilities if each is not None]
    return Outcome(
        reply.answer or "",
        Reason.ANSWERED,
        prod(measured) if measured else None,
        context.route,
        domain,
        context.entity,
        citations,
        verification=verdict.verification if verdict else Verification.NONE,
    )


def checked_citations(reply: Reply, evidence: Sequence[Evidence]) -> Iterator[Citation]:
    """Return the quotes that really stand in the evidence that they name."""
    for quote in reply.quotes:
        if is_quoted(quote, evidence):
            yield cite(evidence[quote.index], quote.text)


def is_quoted(quote: Quote, evidence: Sequence[Evidence]) -> bool:
    """Return whether the quote really stands in the evidence that it names."""
    return 0 <= quote.index < len(evidence) and bool(quote.text) and quote.text in evidence[quote.index].text


def closest_of(
    question: str, evidence: Sequence[Evidence], quotes: Sequence[Quote] = (), entity: Entity | None = None
) -> Citation | None:
    """Return the passage that comes closest to an answer, and its sentence or two; None if none is relevant.

    They are those around the first of `quotes` (of a refused reply) that stands in the evidence; without one,
    those of the most relevant passage that share most words with the question.
    """
    quote = next((each for each in quotes if is_quoted(each, evidence)), None)
    words = content_stems(f"{entity.name if entity else ''} {question}")
    relevant = [each for each in evidence if _is_relevant(each, words)]
    if quote:
        source, query = evidence[quote.index], quote.text
        text = _around(quote.text, source.text)
    elif relevant:
        source, query = next((each for each in relevant if not each.is_name), relevant[0]), question
        text = source.text if source.kind is CitationKind.PHOTO else _best_line(source.text, question)
    else:
        return None
    sentence = readable_excerpt(text, CLOSEST_CHARS, query)
    if not sentence:
        return None
    excerpts = (readable_excerpt(each, _PASSAGE_CHARS, sentence) for each in (source.passage, source.text))
    passage = next((each for each in excerpts if sentence in each), sentence)
    shown = {"snippet": in_key_and_value(passage, source), "sentence": in_key_and_value(sentence, source)}
    return cite(source, sentence).model_copy(update=shown)


def _is_relevant(item: Evidence, words: AbstractSet[str]) -> bool:
    """Return whether it may answer, has one of the words or was not ranked."""
    if not 0 < item.score < _LEAST_RELEVANT:
        return True
    return bool(words & content_stems(f"{item.title} {item.text}"))


def _best_line(text: str, question: str) -> str:
    """Return the line that shares most words with the question: a heading stands in a line of its own."""
    wanted = content_stems(question)
    return max(text.split("\n"), key=lambda line: (len(wanted & content_stems(line)), bool(line.strip())))


def _around(quote: str, text: str) -> str:
    """Return the whole sentences of `text` that hold the quote."""
    start = text.index(quote)
    end = start + len(quote)
    holding = [each for each in sentences(text) if each.start < end and start < each.end]
    return text[holding[0].start : holding[-1].end] if holding else quote


def _why_unknown(reply: Reply, context: Context, failures: Mapping[Stage, ErrorKind]) -> Reason:
    """Return what the reasoner says; but a search that failed is told apart from one that found nothing."""
    if reply.reason in _OF_THE_QUESTION:
        return reply.reason
    has_evidence = any(item.kind is not CitationKind.PHOTO for item in context.evidence)
    needed = (Stage.TEXT_SEARCH,) if has_evidence else _SEARCHES
    missed = next((failures[stage] for stage in needed if stage in failures), None)
    if missed is not None:
        return reason_of(missed)
    if not has_evidence:
        return Reason.NO_EVIDENCE
    if reply.reason is not Reason.ANSWERED:
        return reply.reason
    return Reason.LOW_CONFIDENCE if reply.quoted else Reason.MODEL_UNSURE


def cite(source: Evidence, quote: str) -> Citation:
    """Return the citation. Its title names page and headings: "Visiting St Paul's, page 2, Opening hours".

    Attributes are cited as "Doge's Palace, begun: 1340.".
    """
    section = source.section_at(source.text.find(quote))
    title = ", ".join(filter(None, (source.title, *section.split(" › "))))
    return Citation(
        title=title,
        url=source.url,
        snippet=in_key_and_value(quote, source),
        score=source.score,
        kind=source.kind,
        last_modified=source.last_modified,
    )


def conclude_unchecked(
    question: str,
    reply: Reply,
    context: Context,
    failures: Mapping[Stage, ErrorKind],
    explain: Explaining = SILENT,
) -> Outcome:
    """Return the outcome of a pipeline that verifies and withholds nothing: the answer as the model gave it.

    A reply that says it does not know is a refusal. An answer without a source in the evidence cites nothing.
    Signal: `answer_confidence`, which nothing is held against here.
    """
    explain.evidence(context.evidence)
    explain.set_answer(reply.answer)
    if reply.says_something and not is_refusal(reply.answer):
        explain.signal("answer_confidence", reply.confidence)
        return _answer_of(reply, context, None, tuple(checked_citations(reply, context.evidence)))
    reason = _why_unknown(reply, context, failures)
    if context.route is Route.DIRECT and reason is Reason.NO_EVIDENCE:
        reason = Reason.MODEL_UNSURE  # nothing was searched
    closest = closest_of(question, context.evidence, reply.quotes, context.entity)
    return refusal(reason, context.route, None, context.entity, closest=closest)
