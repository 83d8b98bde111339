"""Values of a text: what two things are compared by, and whether a sentence bears a question's value out."""

from dataclasses import dataclass

from language.dates import agrees, dates
from language.names import mentions, names
from language.numbers import numbers
from language.quantities import quantities, same_quantity
from language.reference import pointer
from language.words import is_negation, remembered, words

DATE, COUNT, NAME = "date", "count", "name"


@dataclass(frozen=True, slots=True)
class Measure:
    """A value of a dimension (`DATE`, `COUNT` or that of a quantity): `size` to compare by, `text` to say."""

    text: str
    size: float
    dimension: str


@remembered(512)
def measure(text: str) -> Measure | None:
    """The first quantity of a text, else its first number."""
    measured = next(iter(quantities(text)), None)
    if measured is not None:
        return Measure(measured.text, measured.base, measured.dimension or COUNT)
    counted = next((number for number in numbers(text) if not number.ordinal), None)
    return Measure(counted.text, counted.value, COUNT) if counted else None


@remembered(512)
def moment(text: str) -> Measure | None:
    """The first date of a text that has a year, in days or so."""
    date = next((date for date in dates(text) if date.year is not None), None)
    if date is None or date.year is None:
        return None
    return Measure(date.text, date.year * 400 + (date.month or 0) * 32 + (date.day or 0), DATE)


@remembered(512)
def value_asked(question: str) -> tuple[str, int, int] | None:
    """The value that a yes-or-no question asks about, with its place: its last date, quantity or name."""
    dated, measured = dates(question), quantities(question)
    if dated:
        return DATE, dated[-1].start, dated[-1].end
    if measured:
        return measured[-1].dimension or COUNT, measured[-1].start, measured[-1].end
    called = names(question)
    subjects = 0 if pointer(question) else 1  # "was the Shard designed by Piano": the first is no value
    return (NAME, called[-1].start, called[-1].end) if len(called) > subjects else None


@remembered(512)
def bears_out(question: str, sentence: str) -> bool | None:
    """Whether a sentence says the value that a yes-or-no question holds; None where none can be compared."""
    held = value_asked(question)
    if held is None or any(map(is_negation, words(sentence))):
        return None
    kind, start, end = held
    if kind == NAME:
        return True if mentions(sentence, question[start:end]) else None
    if kind == DATE:
        stated = dates(sentence)
        return any(agrees(dates(question)[-1], date) for date in stated) if stated else None
    asked = quantities(question)[-1]
    same = [each for each in quantities(sentence) if each.dimension == asked.dimension]
    return any(same_quantity(asked, each) for each in same) if same else None
