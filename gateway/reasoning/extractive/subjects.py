"""Which subject the question is about: named, in the photo, or of the conversation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gateway.reasoning.extractive.lexical import coverage, fold, mentions, name_words, squeeze, unique, words
from gateway.reasoning.extractive.naming import looks_like_person, name_spans
from gateway.reasoning.extractive.question import DIGRESSION, Analysis, TargetKind, analyse
from gateway.reasoning.extractive.recognition import read_hop
from gateway.reasoning.extractive.relation import Answer, Relation
from gateway.reasoning.extractive.targets import PERSONAL, person_of_conversation
from gateway.state import Ask, Entity, Evidence, Findings, PhotoText, Turn

_REMARK = re.compile(
    r"\s+(?:in \d{4}|revisited|review|prices?)$|\s*[|–—:-]\s.*$|,\s*(?:revisited|list \d+)$", re.I
)
_LEAD = re.compile(
    r"^(?:news about|a closer look:|about|review:|reader letters?:|all about|the story of)\s+", re.I
)


def subjects(ask: Ask, analysis: Analysis, findings: Findings) -> list[tuple[str, float]]:
    """Candidate subjects with the belief in each (0..1), best first."""
    target = analysis.target
    found: list[tuple[str, float]] = []
    if target.kind is TargetKind.NAMED:
        found += [(name, 1.0) for name in target.names[:1]]
    if target.pronoun in PERSONAL:
        honoured = read_hop("honoree", findings.photo_text)
        person = person_of_conversation(ask.history) or (honoured.value if honoured else None)
        found += [(person, 0.95)] if person else []
    if target.kind is not TargetKind.NAMED:
        found += _of_photo(ask, analysis, findings)
    first: dict[str, tuple[str, float]] = {}
    for name, belief in found:
        first.setdefault(squeeze(name), (name, belief))
    return list(first.values())


def _of_photo(ask: Ask, analysis: Analysis, findings: Findings) -> Iterator[tuple[str, float]]:
    focus = focus_of_conversation(ask)
    followed = analysis.target.kind is TargetKind.HISTORY
    if focus and followed and analysis.target.pronoun == "it" and not analysis.chain:
        yield focus, 0.93
    entity = findings.entity
    anchored = anchor(findings.photo_text, findings.evidence)
    if entity is not None and not entity.attributes:
        entity = replace(entity, name=canonical(entity.name, findings.evidence))
    if anchored and entity is not None and _only_part(anchored, entity.name):
        anchored = None
    if entity is not None and followed and entity.probability >= 0.5:
        yield entity.name, 0.95
    if entity is not None and entity.attributes:
        yield entity.name, max(0.75, entity.probability)
    elif anchored:
        yield anchored, 0.92
    if entity is not None:
        yield entity.name, max(0.6, entity.probability)
    if anchored:
        yield anchored, 0.85
    answered = answered_name(ask) if followed else None
    if answered:
        yield answered, 0.85


def topic_of_conversation(ask: Ask) -> Entity | None:
    """The thing the conversation is about; a marked step aside ("by the way, …") does not change it."""
    entities = [(turn, turn.entity) for turn in ask.history if turn.entity is not None]
    steady = [entity for turn, entity in entities if not DIGRESSION.match(turn.question.strip())]
    every = [entity for _, entity in entities]
    return next(reversed(steady or every), None)


def focus_of_conversation(ask: Ask) -> str | None:
    """The thing a hop led to in the turn before ("the maker of it"), which `it` may now mean."""
    if not ask.history:
        return None
    last = ask.history[-1]
    before = analyse(replace(ask, question=last.question, history=ask.history[:-1]))
    if DIGRESSION.match(last.question.strip()):
        return None
    if last.abstained:
        return None
    if before.target.kind is TargetKind.NAMED or not before.chain:
        earlier = replace(ask, history=ask.history[:-1])
        pronoun = before.target.pronoun in {"it", "its"} and before.target.kind is TargetKind.HISTORY
        return focus_of_conversation(earlier) if pronoun and len(ask.history) > 1 else None
    return _hop_subject(last, before.chain[0])


def _hop_subject(turn: Turn, hop: Relation) -> str | None:
    """The name in an answer that the hop led to: not the thing's own; a person only for a personal hop."""
    lead = turn.answer.split(": ")[0]
    text = lead if lead != turn.answer and len(lead.split()) <= 6 else turn.answer
    own = turn.entity.name if turn.entity else ""
    for name in name_spans(text):
        placed = _PLACED.search(text[: name.start])
        personal = hop.answer is Answer.PERSON
        if not placed and fold(name.text) not in fold(own) and looks_like_person(name.text) == personal:
            return name.text
    return None


_PLACED = re.compile(r"\b(?:in|at|from|near|to|by|under|for|on|with)\s+(?:the\s+)?$", re.I)
_LEADING = frozenset(
    {
        "venue",
        "museum",
        "manufacturer",
        "brand",
        "publisher",
        "headquarters",
        "city",
        "author",
        "painter",
        "designer",
    }
)


def answered_name(ask: Ask) -> str | None:
    """The name that the last turn answered with ("The brand is X."), which the next question may take up."""
    last = ask.history[-1] if ask.history else None
    if last is None or last.abstained:
        return None
    before = analyse(replace(ask, question=last.question, history=ask.history[:-1]))
    if before.relation is None or before.relation.name not in _LEADING:
        return None
    own = last.entity.name if last.entity else ""
    found = [v.text for v in name_spans(last.answer) if v.start and fold(v.text) not in fold(own)]
    return found[-1] if found else None


def page_subject(title: str) -> str:
    """The thing a page's title names, without the remarks around it."""
    return _REMARK.sub("", _LEAD.sub("", title)).strip()


def canonical(name: str, evidence: Sequence[Evidence]) -> str:
    """The page subject made of the same words as a name read off a label, whose order OCR cannot know."""
    for item in evidence:
        title = page_subject(item.title) if item.url else ""
        if title and coverage(name, title) > 0.99 and coverage(title, name) > 0.99:
            return title
    return name


def _only_part(part: str, whole: str) -> bool:
    """Whether a name is only a part of another (its brand): a number or a third of it is missing."""
    mine = set(name_words(part))
    missing = [w for w in name_words(whole) if w not in mine]
    if mine - set(name_words(whole)) or not missing:
        return False
    return any(any(c.isdigit() for c in w) for w in missing) or coverage(whole, part) < 0.65


def anchor(photo_text: PhotoText, evidence: Sequence[Evidence]) -> str | None:
    """The page subject whose every word stands in the photo: the thing the text in the photo names.

    A longer name beats a shorter one that it contains; two equally good ones give none.
    """
    shown = photo_text.plain
    if not shown.strip():
        return None
    names = unique(page_subject(e.title) for e in evidence if e.title and e.url)
    fitting = [n for n in names if _stands_in(n, shown)]
    if not fitting:
        return None
    fitting.sort(key=lambda n: -len(squeeze(n)))
    best = fitting[0]
    rivals = [
        n for n in fitting[1:] if not coverage(n, best) > 0.99 and len(squeeze(n)) > 0.8 * len(squeeze(best))
    ]
    return None if rivals else best


def _stands_in(name: str, shown: str) -> bool:
    local = name.split(",")[0]
    wanted = [w for w in name_words(local) if w not in {"plaque", "menu", "poster"}]
    if not wanted or (len(wanted) == 1 and len(wanted[0]) < 5):
        return False
    digits = [w for w in wanted if any(c.isdigit() for c in w)]
    present = squeeze(shown)
    return all(d in present for d in digits) and mentions(shown, " ".join(wanted)) and bool(words(name))
