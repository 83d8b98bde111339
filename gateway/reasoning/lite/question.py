"""The subject of a question: the thing in view, one that it names, or one of the last turns."""

import re
from dataclasses import dataclass
from enum import StrEnum

from gateway.state import ENTITY_SLOT, Entity, Query, Turn
from language.names import names, same_name
from language.words import content_stems, stem, unique, word_set, words

_POINTING = word_set("this that these those here it its he him his she her hers they them their theirs")
_SHOWN = word_set("this these here")
_IN_VIEW = re.compile(
    r"\b(?:i'm|i am|we're|we are) (?:looking at|holding|seeing|facing|wearing|pointing at)\b"
    r"|\bin front of (?:me|us)\b"
    r"|\b(?:from|in|into|inside|over|up|around|near) there\b|(?<!\bis )(?<!\bare )\bthere\W*$",
    re.IGNORECASE,
)
_WHICH = word_set("what which who name identify")
_NAMING = {
    stem(word)
    for word in ("name", "title", "called", "kind", "type", "thing", "object", "identify", "see", "looking")
}
_KIND = re.compile(r"\b(?:this|that|these|those)\s+(\w+)", re.IGNORECASE)
"""The kind of thing in "this church"."""
_POLITE = re.compile(
    r"^(?:(?:please|hey|ok|so|tell me|i wonder|(?:do|can|could|would|will) you(?: please)?(?: know)?)\b"
    r"[, ]*)+",
    re.IGNORECASE,
)
_KIND_ASKED = re.compile(
    r"^(?:what|which) (\w+) (?:"
    r"(?:is|are) (?:this|that|these|those|it|he|she)(?: here| over there| called| named)?"
    r"|(?:this|that|it|he|she) is(?: called| named)?"
    r"|(?:am i|are we) (?:looking at|facing|holding)(?: here)?"
    r"|(?:do i|do we|can you) see(?: here)?)$"
)
"""Finds "building" in "which building is this?", and nothing in "what city is it in?"."""
_KINDS = word_set(
    "building house church cathedral chapel temple mosque synagogue tower bridge castle palace fort ruin"
    " monument memorial landmark statue sculpture fountain gate arch square street place site town city"
    " village park garden mountain hill lake river waterfall island beach museum gallery theatre theater"
    " station airport hotel shop store restaurant cafe painting picture artwork work animal bird dog cat"
    " horse fish insect butterfly spider snake plant flower tree mushroom fruit vegetable car vehicle bike"
    " bicycle motorcycle train plane aircraft ship boat machine engine device gadget instrument tool phone"
    " camera computer console toy game book film movie album dish food drink cheese product model make"
    " brand logo flag person man woman character player"
)
"""Kinds of things: "which bird is this?" asks for a name, "what colour is this?" does not."""
_OPEN_END = word_set("about by for from in made of on to with")
"""A question that ends so does not ask for a name: "what is this made of?"."""
_READING = {stem(word) for word in ("read", "written", "printed", "print", "text", "sign", "label", "write")}
_COMPARES = re.compile(
    r"\b(?:more|less|fewer|older|newer|younger|taller|higher|longer|shorter|bigger|larger|smaller"
    r"|heavier|lighter|cheaper|faster|slower|earlier|later|better|wider|deeper)\b[^?]*\bor\b"
    r"|^(?:is|are|was|were|do|does|did|has|have|can|how (?:much|many))\b[^?]*"
    r"\bthan (?!\W?\d|an? |one |two |three |half )",
    re.IGNORECASE,
)
"""Finds "is this older than the bridge?", and nothing in "is it more than 40 m long?"."""
_MOST_TOPICS = 3
_TELLING = 2
"""Words from which a question says what it is about."""


class About(StrEnum):
    """The place of the thing that a question is about."""

    VIEW = "the thing in view"
    NAMED = "a thing that it names"
    SPOKEN = "a thing spoken of"
    OTHER = "whatever pages say"


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question that needs no earlier one. `names`: what it may be about, likeliest first, if known."""

    text: str
    about: About
    names: tuple[str, ...] = ()

    @property
    def points(self) -> bool:
        """Return whether it speaks of a thing without its name."""
        return _points(self.text)

    @property
    def compares(self) -> bool:
        """Return whether it asks which of two things has more of something: no one passage answers that."""
        return _COMPARES.search(_POLITE.sub("", self.text)) is not None

    @property
    def asks_print(self) -> bool:
        """Return whether nothing is asked but what is written."""
        stems = content_stems(self.text)
        return bool(stems & _READING) and not stems - _READING

    def asks_name(self, thing: Entity | None) -> bool:
        """Return whether nothing is asked but what the thing is: its name, or which one of its kind.

        `thing`: what was identified, if anything was; its name and attributes may be in the question.
        """
        kinds = (kind for kind in _KIND.findall(self.text) if kind.lower() in _KINDS)
        known = (thing.name, *(value for _, value in thing.attributes)) if thing else ()
        stems = content_stems(" ".join((*known, *kinds)))
        text = _POLITE.sub("", self.text)
        every_word = words(text)
        if self.about not in (About.VIEW, About.SPOKEN) or not _WHICH.intersection(every_word[:1]):
            return False
        if _OPEN_END.intersection(every_word[-1:]):
            return False
        kind = _KIND_ASKED.match(" ".join(every_word))
        return bool(kind and kind[1] in _KINDS) or not content_stems(text) - stems - _NAMING


def parse_question(query: Query) -> ParsedQuestion:
    """Return what is asked, with the question before where this one alone says next to nothing."""
    own_names = _names_in(query.question)
    points = _points(query.question)
    text, last = query.question, query.history[-1] if query.history else None
    shown = query.photo is not None and (query.photo_is_new or not query.history)
    if own_names and not points:
        return ParsedQuestion(text, About.NAMED, own_names)
    if last is not None and not shown:
        if not content_stems(text) and not points:
            text = f"{last.question} {text}"  # "why?"; a longer text would be read as the earlier question
        return ParsedQuestion(text, About.SPOKEN, topics(query.history))
    return ParsedQuestion(text, About.VIEW if query.photo is not None else About.OTHER, own_names)


def _points(question: str) -> bool:
    return bool(_POINTING.intersection(words(question)) or _IN_VIEW.search(question.replace("’", "'")))


def _names_in(question: str) -> tuple[str, ...]:
    """Return the names in a question; its first word alone is none, which is capitalised anyway."""
    return tuple(name.text for name in names(question) if name.start > 0 or " " in name.text)


def needs_photo(query: Query) -> bool:
    """Return whether the question speaks of what is seen, and nothing is."""
    pointing = _SHOWN.intersection(words(query.question))
    return bool(pointing) and query.photo is None and not query.history and not _names_in(query.question)


def topics(history: tuple[Turn, ...]) -> tuple[str, ...]:
    """Return names of what the turns were about, of their questions and answers; the newest turn's first."""
    every: list[str] = []
    for turn in reversed(history):
        every += [turn.entity.name] if turn.entity else []
        texts = (turn.question,) if turn.abstained else (turn.question, turn.answer)
        every += [name.text for text in texts for name in names(text)]
    return tuple(unique(every)[:_MOST_TOPICS])


def is_about(question: ParsedQuestion, thing: Entity) -> bool:
    """Return whether the question may be about the thing: it names no other one.

    About a thing in view it points ("this", "it"), says next to nothing else, or has a word of what is known.
    """
    if question.about is About.NAMED:
        return any(same_name(name, thing.name) for name in question.names)
    stems = content_stems(question.text)
    if question.about is not About.VIEW or question.points or len(stems) < _TELLING:
        return True
    return bool(
        stems & content_stems(" ".join((thing.name, *(word for pair in thing.attributes for word in pair))))
    )


def search_queries(question: ParsedQuestion, printed: str | None) -> tuple[str, ...]:
    """Return what to look up, most telling first; `ENTITY_SLOT` is the thing in view (QA-Dragon, 3.5.1)."""
    if question.about in (About.NAMED, About.OTHER):
        return (question.text,)
    things = question.names if question.about is About.SPOKEN else (ENTITY_SLOT,)
    queries = [f"{name} {question.text}" for name in things]
    queries += [f"{printed} {question.text}", printed] if printed else []
    return tuple(unique((*queries, *things)))
