"""What a question is about (a thing in view, named or spoken of), and what to search for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

from gateway.state import Entity, Query, Turn
from language.comparatives import comparison
from language.dialogue import completed, halves
from language.identification import is_english
from language.names import names, same_name
from language.questions import AnswerType, read_question
from language.reference import (
    description,
    named,
    own_subject,
    pointer,
    points_back,
    shown_plainly,
    with_subject,
)
from language.words import content_stems, unique

ENTITY = "{entity}"
MOST_QUERIES = 6
MOST_TOPICS = 3


class About(StrEnum):
    """Where to find the thing that a question is about."""

    VIEW = "the thing in view"
    NAMED = "a thing that it names"
    SPOKEN = "a thing spoken of"
    OTHER = "another thing, by its description"
    LED_TO = "what a description in it stands for"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what it leaves out put in. `names`: what it may be about, likeliest first, if known.

    `own`: stems of the name or description of what it is about, of which a passage that answers must speak.
    """

    text: str
    about: About
    names: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()

    @property
    def plain(self) -> bool:
        """Whether one reading can answer it: one question, for a value, that describes nothing first."""
        described, wanted = description(self.text), read_question(self.text).wanted
        composed = comparison(self.text) is not None or len(halves(self.text)) > 1
        return not composed and wanted is not AnswerType.YES_NO and (described is None or described.bare)


def understand(query: Query, text: str | None = None) -> Asked:
    """What is asked; `text`: half of the question, where only that half is meant."""
    text = text or complete(query)
    if not is_english(text):
        return Asked(text, About.VIEW if query.photo is not None else About.OTHER)
    called, hop, own = named(text), description(text), own_subject(text)
    if hop is not None and hop.placed:
        return Asked(text, About.OTHER, own=content_stems(hop.phrase.text))
    spoken = points_back(text)
    shown = query.photo is not None and (query.photo_is_new or not query.history)
    pointing = spoken or pointer(text) is not None
    if called and not pointing:
        return Asked(text, About.NAMED, called, content_stems(called[0]))
    if own and not pointing:
        return Asked(text, About.OTHER, own=own)
    talk = topics(query.history, answers_first=spoken)
    if talk and (spoken or not shown):
        return Asked(text, About.SPOKEN, talk)
    return Asked(text, About.VIEW if query.photo is not None else About.OTHER)


def complete(query: Query) -> str:
    """The question, with what a follow-up leaves out taken from the turns before it."""
    turns = (*(turn.question for turn in query.history), query.question)
    questions = [shown_plainly(read_question(text).itself) for text in turns]
    return reduce(lambda before, text: completed(text, before), questions)


def topics(history: Sequence[Turn], *, answers_first: bool) -> tuple[str, ...]:
    """Names of things that the conversation was about, and of those that were its answers; newest first.

    `answers_first`: "she" is seldom the thing in view. A thing with known attributes comes before bare names.
    """
    answers = [name for turn in reversed(history) for name in _answered(turn)]
    things = sorted(
        (turn.entity for turn in reversed(history) if turn.entity), key=lambda each: not each.attributes
    )
    asked = [name for turn in reversed(history) for name in named(turn.question)]
    about = [thing.name for thing in things]
    found = (*answers, *about, *asked) if answers_first else (*about, *answers, *asked)
    return tuple(unique(found)[:MOST_TOPICS])


def _answered(turn: Turn) -> Iterator[str]:
    """Names in an answer that are not the thing's own; of "Cuisine: Silesian" not the attribute's."""
    if not turn.abstained:
        own, said = turn.entity.name if turn.entity else "", turn.answer
        told = (name.text for name in names(said) if not said.startswith(":", name.end))
        yield from (name for name in told if not same_name(name, own))


def is_about(asked: Asked, thing: Entity) -> bool:
    """Whether what is known of the thing may answer: a subject that the question names or describes is it."""
    if asked.about in (About.NAMED, About.LED_TO):
        return any(same_name(name, thing.name) for name in asked.names)
    if asked.about is not About.OTHER:
        return True
    hop = description(asked.text)
    known = content_stems(" ".join((thing.name, *(f"{key} {value}" for key, value in thing.attributes))))
    return not (hop and hop.placed) and 2 * len(asked.own & known) >= len(asked.own)


def search_queries(query: Query, printed: str | None) -> tuple[str, ...]:
    """What to look up, most telling first; `{entity}` stands for the thing in view (QA-Dragon, 3.5.1)."""
    parts = [understand(query, half) for half in halves(complete(query))]
    found = [search for asked in parts for search in _queries(asked, printed)]
    return tuple(unique(search for search in found if search.strip())[:MOST_QUERIES])


def _queries(asked: Asked, printed: str | None) -> Iterator[str]:
    compared, hop = comparison(asked.text), description(asked.text)
    if asked.about in (About.NAMED, About.OTHER) and compared is None:
        yield from (asked.text, *(hop.asks[:1] if hop else ()))
        return
    things = asked.names if asked.about is About.SPOKEN else (ENTITY,)
    if compared is not None:
        for side in compared.sides:
            query = compared.asks[0].format(side)
            yield with_subject(query, things[0]) if pointer(query) else query
        return
    yield from (with_subject(asked.text, name) for name in things)
    if printed:
        yield from (" ".join((printed, *(word.text for word in read_question(asked.text).terms))), printed)
    if hop is not None:
        yield with_subject(hop.asks[0], things[0]) if pointer(hop.asks[0]) else hop.asks[0]
    yield from things
