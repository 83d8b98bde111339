"""Whether a value in the answer belongs to the thing that the answer says it belongs to."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.verifier.engines.claims import Claim
from services.verifier.engines.concepts import concept
from services.verifier.engines.dates import Date, agrees
from services.verifier.engines.givens import says_same, supposed_clauses
from services.verifier.engines.names import folded
from services.verifier.engines.passages import Facts, Sentence, facts_of
from services.verifier.engines.quantities import Quantity, same_quantity
from services.verifier.engines.text import Word

_ELSEWHERE = 0.5  # a name of the passage, in a sentence that names something else
_GIVEN = re.compile(
    r"(?:under|over|below|above|(?:less|more|fewer) than|up to|at (?:least|most)|within|number|no\.?|question"
    r"|exercise|problem|task|#)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A quantity or date of the claim, with how to find its like in a sentence."""

    start: int
    end: int
    places_in: Callable[[Facts], tuple[tuple[int, int], ...]]
    rivalled_in: Callable[[Facts], bool]

    def found_in(self, facts: Facts) -> bool:
        """Whether the sentence has it at all."""
        return bool(self.places_in(facts))


def values_of(claim: Claim) -> list[Value]:
    """All quantities and dates of the claim, in order."""
    values = [_quantity_value(claim, quantity) for quantity in claim.facts.quantities]
    values += [_date_value(claim, date) for date in claim.facts.dates]
    return sorted(values, key=lambda value: value.start)


def is_given(claim: Claim, value: Value, question: Facts, computed: bool) -> bool:
    """Whether the value only repeats the question.

    So do its bound ("under 3 euros"), its "exercise 5", a circumstance ("bought in June"), and what it wants
    `computed` with. In other answers a repeated number is a claim like any.
    """
    if not value.found_in(question):
        return False
    before = claim.text[: value.start]
    return (
        computed
        or bool(_GIVEN.search(before))
        or any(
            value.found_in(facts_of(clause)) and says_same(clause, before)
            for clause in supposed_clauses(question.text)
        )
    )


def is_misbound(claim: Claim, value: Value, sentences: Sequence[Sentence]) -> bool:
    """Whether each sentence that has the value is outdone by one that gives another value of its kind.

    Outdone: the other sentence is at least as much about the claim's names and about its other words, and
    more about one of them.
    """
    words = _words_around(claim, value)
    holders = [s for s in sentences if value.found_in(s.facts)]
    timetable = _of_its_day(claim, value, sentences)
    if timetable:
        return not any(sentence in holders for sentence in timetable)
    rivals = [s for s in sentences if value.rivalled_in(s.facts) and s not in holders]
    aims = [_nearness(words, claim.subject, rival) for rival in rivals]
    return bool(holders) and all(
        any(_outdoes(aim, _nearness(words, claim.subject, holder)) for aim in aims) for holder in holders
    )


def _of_its_day(claim: Claim, value: Value, sentences: Sequence[Sentence]) -> list[Sentence]:
    """For a time of day in a claim about a weekday: the lines that give times for that day."""
    clock = any(q.start == value.start and q.readings[0].dimension == "clock" for q in claim.facts.quantities)
    days = [date for date in claim.facts.dates if date.weekdays]
    if not clock or not days:
        return []
    lines = [s for s in sentences if any(agrees(day, other) for day in days for other in s.facts.dates)]
    timed = [s for s in lines if any(q.readings[0].dimension == "clock" for q in s.facts.quantities)]
    return timed or [s for s in lines if s.facts.stances.get("open") is False]


def _outdoes(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other


def _words_around(claim: Claim, value: Value) -> list[tuple[Word, bool]]:
    """The terms between the previous value and the next, names flagged; all terms when there are none."""
    edges = [(other.start, other.end) for other in values_of(claim)]
    left = max((end for _, end in edges if end <= value.start), default=0)
    right = min((start for start, _ in edges if start >= value.end), default=len(claim.text))
    names = {word.start for run in claim.names for word in run}
    before = [w for w in claim.terms if left <= w.start < value.start]
    after = [w for w in claim.terms if value.end <= w.start < right]
    chosen = before if any(w.start in names for w in before) and len(edges) > 1 else [*before, *after]
    return [(word, word.start in names) for word in chosen or claim.terms]


def _nearness(
    words: Sequence[tuple[Word, bool]], subject: Sequence[str], sentence: Sentence
) -> tuple[float, float]:
    """How many of the names, and of the other words, the sentence has.

    A name of the passage counts in full in a sentence without names of its own ("It has 312 pages").
    """
    names = [*(folded(word.text) for word, is_name in words if is_name), *subject]
    carried = _ELSEWHERE if sentence.facts.has_names else 1.0
    about = sum(
        1.0 if name in sentence.facts.folded_words else carried * (name in sentence.passage_words)
        for name in names
    )
    said = sum(
        1.0 if concept(word.stem) in sentence.facts.concepts else 0.0
        for word, is_name in words
        if not is_name
    )
    return about, said


def _quantity_value(claim: Claim, quantity: Quantity) -> Value:
    digits = claim.text[quantity.start : quantity.end]

    def places_in(facts: Facts) -> tuple[tuple[int, int], ...]:
        same = [(q.start, q.end) for q in facts.quantities if same_quantity(quantity, q, claim.tolerance)]
        dates = [(date.start, date.end) for date in facts.dates]
        return (*same, *(place for place in dates if digits == facts.text[slice(*place)]))

    def rivalled_in(facts: Facts) -> bool:
        return any(_same_kind(quantity, other, facts) for other in facts.quantities)

    return Value(quantity.start, quantity.end, places_in, rivalled_in)


def _same_kind(quantity: Quantity, other: Quantity, facts: Facts) -> bool:
    """Two amounts of one dimension; bare numbers count the same thing ("page count: 312" counts pages)."""
    if not quantity.is_bare:
        kinds = {reading.dimension for reading in quantity.readings}
        return any(reading.dimension in kinds for reading in other.readings)
    if not other.is_bare:
        return False
    return quantity.noun == other.noun or (not other.noun and concept(quantity.noun) in facts.concepts)


def _date_value(claim: Claim, date: Date) -> Value:
    spelled = claim.text[date.start : date.end]

    def places_in(facts: Facts) -> tuple[tuple[int, int], ...]:
        same = [(other.start, other.end) for other in facts.dates if agrees(date, other)]
        numbers = [(quantity.start, quantity.end) for quantity in facts.quantities]
        return (*same, *(place for place in numbers if spelled == facts.text[slice(*place)]))

    def rivalled_in(facts: Facts) -> bool:
        return any(not other.weekdays and not date.weekdays for other in facts.dates)

    return Value(date.start, date.end, places_in, rivalled_in)
