"""The first look: whether the photo's text answers the question by itself, and what to search for if not."""

import re
from collections.abc import Iterator, Sequence

from gateway.reasoning.extractive.lexical import unique, words
from gateway.reasoning.extractive.question import Analysis, TargetKind, Task
from gateway.reasoning.extractive.relation import Relation
from gateway.reasoning.extractive.subjects import answered_name, focus_of_conversation
from gateway.reasoning.extractive.targets import PERSONAL, person_of_conversation
from gateway.state import Ask

ENTITY = "{entity}"
MAX_QUERIES = 6


def sub_queries(ask: Ask, analysis: Analysis, printed: str | None = None) -> tuple[str, ...]:
    """What to look up, most telling first (QA-Dragon, section 3.5.1)."""
    found = [q for q in _queries(ask, analysis, printed) if q.strip()]
    return tuple(unique(found)[:MAX_QUERIES])


def _queries(ask: Ask, analysis: Analysis, printed: str | None) -> Iterator[str]:
    subject = _subject(ask, analysis)
    asked = analysis.relation
    if analysis.comparison is not None:
        yield from _of_comparison(analysis, subject)
        return
    if analysis.task in {Task.RULE, Task.OPEN_AT} and not analysis.target.names:
        if analysis.task is Task.RULE and re.search(r"\b\d{1,2}\b", analysis.text):
            yield f"{subject} minimum age years old admitted"
        yield f"{subject} {_topic(analysis)}"
        yield _topic(analysis)
        return
    focus = focus_of_conversation(ask) if analysis.target.pronoun else None
    if focus and not analysis.chain:
        yield f"{focus} {_words_for(asked)}"
    answered = answered_name(ask) if analysis.target.kind is TargetKind.HISTORY else None
    if answered and not analysis.chain:
        yield f"{answered} {_words_for(asked)}"
    if printed:
        yield f"{printed} {_words_for(asked)}"
        yield printed
    if analysis.chain:
        yield from (f"{subject} {_words_for(hop)}" for hop in reversed(analysis.chain))
    else:
        yield f"{subject} {_words_for(asked)}".strip()
    if analysis.target.names and subject == ENTITY:
        yield f"{ENTITY} {analysis.target.names[0]}"
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
    if measure == "price" and len(sides) == 2:
        for side in sides:
            yield f"{ENTITY} {side} price"
    for side in sides:
        yield f"{side} {measure}"
    yield f"{ENTITY} {measure}"
    yield from sides


def _words_for(relation: Relation | None) -> str:
    """The relation's name, a second noun and a verb: words that a page may use."""
    if relation is None:
        return ""
    verb = relation.verbs[:1] if relation.wh in {"who", "when"} and relation.name in _SAID else ()
    return " ".join(dict.fromkeys(" ".join((relation.name, *relation.nouns[1:2], *verb)).split()))


_SAID = frozenset(
    {
        "author",
        "painter",
        "publisher",
        "founder",
        "designer",
        "birth date",
        "death date",
        "founding date",
        "opening date",
        "publication date",
        "release date",
    }
)


def _topic(analysis: Analysis) -> str:
    return " ".join(w for w in words(analysis.text) if len(w) > 2)


def hop_queries(subject: str, relations: Sequence[Relation], analysis: Analysis) -> tuple[str, ...]:
    """The second hop: the asked relation of the thing that the first hop led to."""
    asked = _words_for(relations[0]) if relations else " ".join(analysis.qualifier)
    if analysis.task is Task.WORKS:
        asked = f"{' '.join(analysis.qualifier)} books paintings works"
    return tuple(unique([f"{subject} {asked}".strip(), subject]))
