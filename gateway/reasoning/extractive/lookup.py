"""Answers that one relation gives, looked up for each likely subject, through hops where it nests."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.reasoning.extractive.composing import finish, is_order, state
from gateway.reasoning.extractive.facts import PHOTO_INDEX, Fact, page_is_about, subject_strength
from gateway.reasoning.extractive.lexical import content_stems, sentences
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.relation import Relation
from gateway.reasoning.extractive.resolution import Path, Resolution, follow, look_up
from gateway.reasoning.extractive.subjects import subjects
from gateway.state import Ask, Findings, PhotoText, Quote


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer with the facts it rests on. `text` is a whole sentence."""

    text: str
    confidence: float
    quotes: tuple[Quote, ...]
    value: str = ""


def photo_quotes(texts: Sequence[str], photo_text: PhotoText) -> tuple[Quote, ...]:
    """Quotes of the photo's own words, verbatim as OCR gave them."""
    whole = photo_text.plain
    return tuple(dict.fromkeys(Quote(PHOTO_INDEX, t) for t in texts if t and t in whole))


def quotes_of(facts: Sequence[Fact]) -> tuple[Quote, ...]:
    """The facts' quotes, each once."""
    return tuple(dict.fromkeys(Quote(f.index, f.quote) for f in facts))


def answer_relation(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """The value of the asked relation for the likeliest subject that the evidence speaks of."""
    best: Finding | None = None
    for subject, belief in subjects(ask, analysis, findings):
        found = resolve(analysis.relations, analysis.chain, subject, findings)
        if found is None:
            continue
        path, settled = found
        confidence = settled.confidence * path.confidence * belief
        if is_order(settled.fact.quote):
            continue
        finding = Finding(
            state(settled.fact), confidence, quotes_of((*path.steps, settled.fact)), settled.fact.value
        )
        if best is None or confidence > best.confidence + 0.15:
            best = finding
    return best


def resolve(
    relations: Sequence[Relation], chain: Sequence[Relation], subject: str, findings: Findings
) -> tuple[Path, Resolution] | None:
    """The asked value over the hops; without its hop when the page itself is about the bearer."""
    path = follow(subject, chain, findings.evidence, findings.photo_text) if chain else Path(subject)
    if path is None:
        return None
    settled = look_up(relations, path.subject, findings.evidence)
    return (path, settled) if settled is not None else None


def explain(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """A supporting sentence for questions whose relation is unknown, only when it plainly fits."""
    wanted = content_stems(" ".join(analysis.qualifier))
    best: tuple[float, Quote] | None = None
    for subject, belief in subjects(ask, analysis, findings):
        stems = wanted - content_stems(subject)
        if not stems:
            continue
        for index, item in enumerate(findings.evidence):
            page = page_is_about(item, subject)
            for sentence in sentences(item.text):
                share = len(stems & content_stems(sentence.text)) / len(stems)
                score = share * subject_strength(sentence.text, "", page, subject) * belief
                if share >= 0.6 and not is_order(sentence.text) and (best is None or score > best[0]):
                    best = (score, Quote(index, sentence.text))
    if best is None:
        return None
    return Finding(finish(best[1].text), 0.75 * best[0], (best[1],), best[1].text)
