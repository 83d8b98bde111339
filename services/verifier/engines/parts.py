"""The numbers, dates and names of a claim, and where a sentence of the evidence has them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isclose

from contracts.verifier import CheckName
from language.dates import Date, agrees
from language.quantities import Quantity, same_quantity
from language.questions import AnswerType
from language.words import Word, words
from services.verifier.engines.claims import Claim
from services.verifier.engines.evidence import Facts, Value

MOST_VALUES = 16
"""Values of a claim that are set against each other."""
_MOST_PARTS = 64
"""Values and names of a claim that are looked up; an honest sentence has fewer."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """What the evidence must have of a claim; `value`: an amount, a date or a name's folded words."""

    check: CheckName
    text: str
    value: Quantity | Date | tuple[str, ...]

    def places(self, facts: Facts) -> list[Place]:
        """Where a sentence has it; amounts in any unit, dates at least as exactly."""
        if isinstance(self.value, tuple):
            place = place_of(self.value, facts.words)
            return [place] if place else []
        return [(each.start, each.end) for each in facts.values if same_value(self.value, each)]


def parts_of(claim: Claim) -> tuple[Part, ...]:
    """A claim's values and names, less what the question gives, unless the claim says yes to that."""
    asked = claim.asked.facts.values
    new = [value for value in claim.values if not any(same_value(value, other) for other in asked)]
    affirms = claim.asked.question.wanted is AnswerType.YES_NO and claim.verdict is not False
    claimed = claim.values if claim.restates or (affirms and not new) else new
    called = (Part(CheckName.ENTITY, name, words(name)) for name in claim.new_names)
    return (*map(_part, claimed), *called)[:_MOST_PARTS]


def _part(value: Value) -> Part:
    return Part(CheckName.NUMBERS if isinstance(value, Quantity) else CheckName.DATES, value.text, value)


def same_value(claimed: Value, stated: Value) -> bool:
    """Whether what is stated says all that is claimed; it may be a more exact date, or have the unit."""
    if isinstance(claimed, Quantity) and isinstance(stated, Quantity):
        bare = not claimed.dimension and not claimed.unit
        return same_quantity(claimed, stated) or (bare and claimed.value == stated.value)
    if isinstance(claimed, Date) and isinstance(stated, Date):
        pairs = ((claimed.year, stated.year), (claimed.month, stated.month), (claimed.day, stated.day))
        exact = all(mine is None or theirs is not None for mine, theirs in pairs)
        within = stated.until is None or (claimed.until or claimed.year or 0) >= stated.until
        return exact and within and agrees(claimed, stated)
    # "1500" alone reads as a year and beside "seats" as a count.
    return isinstance(claimed, Date) and isinstance(stated, Quantity) and claimed.text == stated.text


def is_result(value: object, given: Sequence[Quantity]) -> bool:
    """Whether an amount is the sum or difference of two others."""
    if not isinstance(value, Quantity):
        return False
    same = [q.base for q in given[:MOST_VALUES] if q.dimension == value.dimension]
    return any(isclose(abs(a + sign * b), value.base) for a, b in combinations(same, 2) for sign in (1, -1))


def place_of(wanted: Sequence[str], present: Sequence[Word]) -> Place | None:
    """Where the words stand in their order, with at most one other between two ("Ada B. Lovelace")."""
    for first, word in enumerate(present if wanted else ()):
        if word.folded != wanted[0]:
            continue
        place = first
        for each in wanted[1:]:
            following = [later.folded for later in present[place + 1 : place + 3]]
            if each not in following:
                break
            place += 1 + following.index(each)
        else:
            return word.start, present[place].end
    return None
