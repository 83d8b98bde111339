"""The first look: whether the photo's text answers the question by itself, and what to search for if not."""

from collections.abc import Iterator, Sequence

from gateway.reasoning.extractive.lexical import unique, words
from gateway.reasoning.extractive.relation import Relation
from gateway.reasoning.extractive.question import Analysis, TargetKind, Task
from gateway.reasoning.extractive.subjects import focus_of_conversation
from gateway.reasoning.extractive.targets import PERSONAL, person_of_conversation
from gateway.state import Ask

ENTITY = "{entity}"
MAX_QUERIES = 6


def sub_queries(ask: Ask, analysis: Analysis) -> tuple[str, ...]:
    """What to look up, most telling first (QA-Dragon, section 3.5.1)."""
    found = [q for q in _queries(ask, analysis) if q.strip()]
    return tuple(unique(found)[:MAX_QUERIES])


def _queries(ask: Ask, analysis: Analysis) -> Iterator[str]:
    subject = _subject(ask, analysis)
    asked = analysis.relation
    if analysis.comparison is not None:
        yield from _of_comparison(analysis, subject)
        return
    if analysis.task in {Task.RULE, Task.OPEN_AT} and not analysis.target.names:
        yield f"{subject} {_topic(analysis)}"
        yield _topic(analysis)
        return
    focus = focus_of_conversation(ask) if analysis.target.pronoun else None
    if focus and not analysis.chain:
        yield f"{focus} {_words_for(asked)}"
    if analysis.chain:
        yield from (f"{subject} {_words_for(hop)}" for hop in reversed(analysis.chain))
    else:
        yield f"{subject} {_words_for(asked)}".strip()
    yield f"{subject} {' '.join(analysis.qualifier)}".strip()
    yield subject


def _subject(ask: Ask, analysis: Analysis) -> str:
    target = analysis.target
    if target.kind is TargetKind.NAMED and target.names:
        return target.names[0]
    if target.pronoun in PERSONAL:
        return person_of_conversation(ask.history) or ENTITY
    return ENTITY


def _of_comparison(analysis: Analysis, subject: str) -> Iterator[str]:
    comparison = analysis.comparison
    assert comparison is not None
    measure = comparison.noun or comparison.measure or _words_for(analysis.relation)
    sides = [side for side in comparison.options if side]
    for side in sides:
        yield f"{side} {measure}"
    yield f"{ENTITY} {measure}"
    for side in sides:
        yield f"{ENTITY} {side}"


def _words_for(relation: Relation | None) -> str:
    if relation is None:
        return ""
    return " ".join(dict.fromkeys((relation.name, *relation.verbs[:1])))


def _topic(analysis: Analysis) -> str:
    return " ".join(w for w in words(analysis.text) if len(w) > 2)


def hop_queries(subject: str, relations: Sequence[Relation], text: str) -> tuple[str, ...]:
    """The second hop: the asked relation of the thing that the first hop led to."""
    asked = relations[0] if relations else None
    return tuple(unique([f"{subject} {_words_for(asked)}".strip(), subject, f"{subject} {text}"]))[:2]
