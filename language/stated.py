"""Whether two texts give different values for what a question asks: amounts and dates.

Names are left out: that two of them differ says nothing, for places lie in each other, books have several
authors, and people several names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from language.comparatives import comparison
from language.dates import Date, agrees, dates
from language.dialogue import halves
from language.names import mentions, name_words, names, same_name
from language.paraphrase import expansions
from language.quantities import Quantity, quantities, same_quantity
from language.questions import BARE_DATE, AnswerType, read_question
from language.reference import description, pointer
from language.sentences import Sentence, sentences
from language.units import unit_named
from language.words import content_stems, fold, remembered, word_set, words

Value = Quantity | Date

_COMPARED = frozenset({AnswerType.NUMBER, AnswerType.QUANTITY, AnswerType.MONEY, AnswerType.DATE})
_OF_ANOTHER = word_set("""
    another other others unlike than each per every previous former earlier next first second third last new
    old original planned proposed edition version volume sequel prequel predecessor successor copy model
    paperback hardcover hardback ebook audiobook translation translated abridged illustrated reprint reissue
    variant replica reproduction prototype miniature remake adaptation bundle deluxe
""")
"""Words by which a sentence about a thing gives a value of something else, or of another time."""
_OTHER_TERMS = word_set("""
    used refurbished renewed secondhand discounted discount sale reduced rent rental lease deposit
    subscription trial shipping hourly daily nightly weekly monthly yearly annual annually
""")
"""Words by which a price is not what the thing costs as it is."""
_RATE = re.compile(
    r"(?:\b(?:an?|per|each|every)\s+|/\s?)(?:hour|day|night|week|month|year|person|user|hr|mo|yr)\b", re.I
)
_BEGINNING = content_stems("begin began begun commence start")
"""Verbs by which a date is not when something was done."""
_OPEN = re.compile(
    r"\b(?:from|since|until|till|before|after|between)\s+(?:(?:the|early|late|mid|about|around|year)\s+)*\Z",
    re.I,
)
"""What stands before one end of a span."""
_OTHER_END = re.compile(r"\b(?:and|to|through|or)\s+(?:the\s+)?\Z", re.I)
"""The same before a date: its other end was read as none ("the 10th and 13th centuries")."""
_SPAN_CHARS = 40
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
        """The value of the wanted kind in an answer; None where it has none, or gives a span of time."""
        if self.wanted is AnswerType.DATE:
            given = [date for date in dates(text) if date.year is not None]
            return given[0] if len(given) == 1 and not _is_open(text, given[0]) else None
        amounts = [each for each in quantities(text) if self._counts(each)]
        return next((each for each in amounts if self._names(each)), next(iter(amounts), None))

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
        if len(given) != 1 or _is_open(text, given[0]) or self._is_otherwise(text):
            return None
        before = (name for name in names(text) if name.end <= given[0].start)
        if any(not set(name_words(name.text)) <= asked for name in before):
            return None  # it may be somebody else's
        return Stated(given[0], given[0].text, text)

    def _values(self, text: str, like: Value) -> Sequence[Value]:
        if isinstance(like, Date):
            return [each for each in dates(text) if each.year is not None]
        return [each for each in quantities(text) if self._counts(each) and _comparable(each, like)]

    def _is_otherwise(self, text: str) -> bool:
        """Whether a sentence is of a beginning, or of a price on other terms, as the question is not."""
        if self.wanted is AnswerType.DATE:
            return bool(_BEGINNING & content_stems(text) - content_stems(self.question))
        other = _OTHER_TERMS & frozenset(words(text)) - frozenset(words(self.question))
        rate = _RATE.search(text) and not _RATE.search(self.question)
        return self.wanted is AnswerType.MONEY and bool(other or rate)

    def _names(self, amount: Quantity) -> bool:
        """Whether an amount says itself that it is of what is asked, and is no bare number."""
        if self.wanted is AnswerType.NUMBER:
            return amount.unit in self.counted
        return amount.dimension.startswith("money") is (self.wanted is AnswerType.MONEY) and bool(
            amount.dimension
        )

    def _counts(self, amount: Quantity) -> bool:
        return bool(amount.dimension) or not amount.unit or not self.counted or amount.unit in self.counted


@remembered(256)
def sought(question: str, subject: str) -> Sought | None:
    """What the question asks of the thing; None where no single value answers it, or it is of another thing.

    `subject`: what it points at, if that is known; else the first name in the question.
    """
    read = read_question(question)
    if read.wanted not in _COMPARED or len(halves(question)) > 1:
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
        frozenset(every[each] for each in every.keys() - BARE_DATE) - aside
        or frozenset(every.values()) - aside
    )
    counted = frozenset(read.focus) if read.wanted is AnswerType.NUMBER else frozenset[str]()
    counted = counted.union(*map(expansions, counted))
    return Sought(question, thing, read.wanted, stems, counted) if stems else None


def differ(one: Value, other: Value, *texts: str) -> bool:
    """Whether two values cannot both be right. `texts`: they are from; one may say that its is rough."""
    if isinstance(one, Date) and isinstance(other, Date):
        return not agrees(one, other)
    if not isinstance(one, Quantity) or not isinstance(other, Quantity):
        return False
    if not _comparable(one, other) or same_quantity(one, other) or one.base == other.base:
        return False
    rough = any(not _ROUGH.isdisjoint(words(text)) for text in texts)
    share = _ABOUT * max(abs(one.base), abs(other.base)) if rough else 0.0
    return abs(one.base - other.base) > max(share, _step(one) / 2, _step(other) / 2)


def _step(amount: Quantity) -> float:
    """What one more in the last place is worth. A measure's zeros may be none: "29,000 feet"."""
    unit = unit_named(amount.unit)
    if unit is None or not amount.dimension or amount.dimension.startswith("money"):
        return amount.step
    step = 1.0
    while abs(amount.value) >= 100 * step and amount.value % (10 * step) == 0:
        step *= 10
    return max(amount.step, step * unit.factor if step > 1 else 0.0)


def _is_open(text: str, value: Value) -> bool:
    """Whether it is one end of a span: from when, or until when."""
    before = text[max(0, value.start - _SPAN_CHARS) : value.start]
    return bool(_OPEN.search(before) or (isinstance(value, Date) and _OTHER_END.search(before)))


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
