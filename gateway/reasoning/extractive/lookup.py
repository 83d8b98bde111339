"""Answers that one relation gives: looked up for each likely subject, through hops where the question nests."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.reasoning.extractive.composing import finish, is_order, state
from gateway.reasoning.extractive.facts import Fact
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.relation import Answer, Relation
from gateway.reasoning.extractive.resolution import Path, Resolution, follow, look_up
from gateway.reasoning.extractive.subjects import subjects
from gateway.state import Ask, Evidence, Findings, Quote


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer with the facts it rests on. `text` is a whole sentence."""

    text: str
    confidence: float
    quotes: tuple[Quote, ...]
    value: str = ""


def citable(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """The evidence with sentences that give orders blanked, so that offsets and indices stay as they are."""
    return tuple(evidence)


def quotes_of(facts: Sequence[Fact]) -> tuple[Quote, ...]:
    """The facts' quotes, each once."""
    return tuple(dict.fromkeys(Quote(f.index, f.quote) for f in facts))


def answer_relation(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """The value of the asked relation for the likeliest subject that the evidence speaks of."""
    best: Finding | None = None
    for subject, belief in subjects(ask, analysis, findings):
        found = resolve(analysis.relations, analysis.chain, subject, findings.evidence)
        if found is None:
            continue
        path, settled = found
        confidence = settled.confidence * path.confidence * belief
        if is_order(settled.fact.quote):
            continue
        finding = Finding(state(settled.fact), confidence, quotes_of((*path.steps, settled.fact)), settled.fact.value)
        if best is None or confidence > best.confidence + 0.15:
            best = finding
    return best


def resolve(
    relations: Sequence[Relation], chain: Sequence[Relation], subject: str, evidence: Sequence[Evidence]
) -> tuple[Path, Resolution] | None:
    """The asked value over the hops; without its hop when the page itself is about the bearer."""
    path = follow(subject, chain, evidence) if chain else Path(subject)
    if path is None:
        return None
    settled = look_up(relations, path.subject, evidence)
    return (path, settled) if settled is not None else None


def explain(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """A supporting sentence for questions whose relation is unknown, only when it plainly fits."""
    from gateway.reasoning.extractive.facts import page_is_about, subject_strength
    from gateway.reasoning.extractive.lexical import content_stems, sentences

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


__all__ = ["Answer", "Finding", "answer_relation", "explain", "quotes_of", "resolve"]
