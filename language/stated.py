"""Whether two texts give different values for what a question asks: amounts, dates, makers and places."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from language.comparatives import comparison
from language.dates import Date, agrees, dates
from language.dialogue import halves
from language.names import mentions, name_words, names, same_name
from language.paraphrase import expansions
from language.quantities import Quantity, quantities, same_quantity
from language.questions import BARE_DATE, TYPE_OF, AnswerType, read_question
from language.reference import description, pointer
from language.sentences import Sentence, sentences
from language.words import content_stems, fold, remembered, word_set, words

Value = Quantity | Date | str

_AMOUNTS = frozenset({AnswerType.NUMBER, AnswerType.QUANTITY, AnswerType.MONEY})
_GIVES_NAME = {
    AnswerType.PERSON: re.compile(r"\b(?:by|is|was|were|are)\s+\Z"),
    AnswerType.PLACE: re.compile(r"\b(?:in|at|is|was)\s+\Z"),
}
"""What stands before the name that a sentence is there to give."""
_OF_ANOTHER = word_set("""
    another other others unlike than each per every previous former earlier next first second third last new
    old original planned proposed edition version volume sequel prequel predecessor successor copy model
""")
"""Words by which a sentence about a thing gives a value of something else, or of another time."""
_BARE = BARE_DATE | {noun for noun, wanted in TYPE_OF.items() if wanted in _GIVES_NAME}
"""Nouns that say no more of what is asked than its type."""
_ROUGH = word_set("about around almost approximately circa nearly over under roughly some more less up")
_ABOUT = 0.1
"""Words that make a value a rough one, and the share by which it may then be off."""
_MOST_CHARS = 600
"""Of a sentence, at most: what is longer is no sentence."""


@dataclass(frozen=True, slots=True)
class Stated:
    """`value` with its `words`, in a sentence that says of the thing what is asked."""

    value: Value
    words: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Sought:
    """What a question asks of `subject`. `relation`: stems of which a sentence must have each, or its like.

    `counted`: stems of what is counted, if things are.
    """

    question: str
    subject: str
    wanted: AnswerType
    relation: frozenset[str]
    counted: frozenset[str]

    def said_by(self, text: str) -> Value | None:
        """The first value of the wanted kind in an answer; None where it has none."""
        if self.wanted is AnswerType.DATE:
            return next((date for date in dates(text) if date.year is not None), None)
        if self.wanted in _AMOUNTS:
            return next((each for each in quantities(text) if self._counts(each)), None)
        given = self._values(text, "")
        called = [name.text for name in names(text) if not mentions(self.subject, name.text)]
        return given[0][2] if given else next(iter(called), None)

    def stated_in(self, title: str, text: str, kind_of_value: Value) -> Iterator[Stated]:
        """What a text gives for it, a sentence at a time; nothing where a sentence gives several values."""
        titled = bool(title) and same_name(title, self.subject)
        if not titled and fold(name_words(self.subject)[0]) not in fold(f"{title} {text}"):
            return
        for sentence in sentences(text):
            if len(sentence.text) <= _MOST_CHARS and self._may_say(sentence):
                found = self._value(sentence.text, titled or _is_of(title, self.subject), kind_of_value)
                if found is not None:
                    yield found

    def _may_say(self, sentence: Sentence) -> bool:
        """The costly look is worth it only where the words' letters are there; a stem's "i" may be a "y"."""
        folded = fold(sentence.text)
        return all(
            any(each.removesuffix("i") in folded for each in (stem, *expansions(stem)))
            for stem in self.relation
        )

    def _value(self, text: str, titled: bool, like: Value) -> Stated | None:
        stems = content_stems(text)
        says = all(stem in stems or not stems.isdisjoint(expansions(stem)) for stem in self.relation)
        if not says or not (titled or _is_of(text, self.subject)):
            return None
        asked = frozenset(words(self.question)) | frozenset(name_words(self.subject))
        if not (frozenset(words(text)) - asked).isdisjoint(_OF_ANOTHER):
            return None
        given = self._values(text, like)
        if len(given) != 1:
            return None
        value, start, said = given[0]
        before = (name for name in names(text) if name.end <= start)
        if any(not set(name_words(name.text)) <= asked for name in before):
            return None  # it may be somebody else's
        return Stated(value, said, text)

    def _values(self, text: str, like: Value) -> list[tuple[Value, int, str]]:
        if isinstance(like, Date):
            return [(each, each.start, each.text) for each in dates(text) if each.year is not None]
        if isinstance(like, Quantity):
            counted = [each for each in quantities(text) if self._counts(each) and _comparable(each, like)]
            return [(each, each.start, each.text) for each in counted]
        gives = _GIVES_NAME.get(self.wanted)
        return [
            (name.text, name.start, name.text)
            for name in names(text)
            if gives and gives.search(text[: name.start]) and not mentions(self.subject, name.text)
        ]

    def _counts(self, amount: Quantity) -> bool:
        return bool(amount.dimension) or not amount.unit or not self.counted or amount.unit in self.counted


@remembered(256)
def sought(question: str, subject: str) -> Sought | None:
    """What the question asks of the thing; None where no single value answers it, or it is of another thing.

    `subject`: what it points at, if that is known; else the first name in the question.
    """
    read = read_question(question)
    if read.wanted not in _AMOUNTS | {AnswerType.DATE, *_GIVES_NAME} or len(halves(question)) > 1:
        return None
    shown = pointer(question)
    of_thing = shown is not None and bool(subject)
    thing = subject if of_thing or (subject and mentions(question, subject)) else ""
    thing = thing or (read.names[0].text if read.names else "")
    if not name_words(thing) or comparison(question) or description(question):
        return None
    if of_thing and any(not mentions(thing, name.text) for name in read.names):
        return None  # it asks about both
    pointed = content_stems(shown.text) if shown else frozenset()
    every = {term.folded: term.stem for term in read.terms}
    aside = pointed | content_stems(thing)
    stems = (
        frozenset(every[each] for each in every.keys() - _BARE) - aside or frozenset(every.values()) - aside
    )
    counted = frozenset(read.focus) if read.wanted is AnswerType.NUMBER else frozenset[str]()
    counted = counted.union(*map(expansions, counted))
    return Sought(question, thing, read.wanted, stems, counted) if stems else None


def differ(one: Value, other: Value, sentence: str = "") -> bool:
    """Whether two values cannot both be right. `sentence`: the other's, which may say that it is rough."""
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        if not _comparable(one, other) or same_quantity(one, other) or one.base == other.base:
            return False
        rough = not _ROUGH.isdisjoint(words(sentence))
        return not (rough and abs(one.base - other.base) <= _ABOUT * max(abs(one.base), abs(other.base)))
    if isinstance(one, Date) and isinstance(other, Date):
        return not agrees(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return content_stems(one).isdisjoint(content_stems(other))
    return False


def _comparable(one: Quantity, other: Quantity) -> bool:
    """Of one dimension; a bare number may count what the other names."""
    return one.dimension == other.dimension and (
        one.unit == other.unit or bool(one.dimension) or not (one.unit and other.unit)
    )


def _is_of(text: str, thing: str) -> bool:
    """Whether a text speaks of the thing, and not only of one whose longer name begins with its own."""
    if not mentions(text, thing):
        return False
    own = name_words(thing)
    runs = [name_words(name.text) for name in names(text)]
    longer = [run for run in runs if run[: len(own)] == own]
    return not longer or any(len(run) == len(own) for run in longer)
