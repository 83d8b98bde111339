"""Claims that compare two things: each value must be its thing's, and the larger one must be the larger."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from language.comparatives import Comparison, comparison
from language.dates import Date
from language.names import mentions, name_words
from language.quantities import Quantity
from language.questions import AnswerType, read_question
from language.reference import pointer
from language.words import content_stems
from services.verifier.engines.claims import Claim
from services.verifier.engines.evidence import Statement, Value, covered
from services.verifier.engines.parts import MOST_VALUES, place_of, same_value

_PREDICATE = re.compile(r"(?P<one>[^:;,]{1,80}?)\s(?:is|are|was|were|has|have)\s(?P<rest>[^:;,]{1,160})")


def compare(claim: Claim, statements: Sequence[Statement]) -> str | None:
    """What is wrong with a claim that compares two things, "" if nothing; None where that cannot be told."""
    meant = _meant(claim)
    if meant is None:
        return None
    said = claim.values[:MOST_VALUES]
    ones, others = (list(_values_of(*sides, meant, statements)) for sides in (meant.sides, meant.sides[::-1]))
    pairs = [
        (sum(any(same_value(each, value) for each in said) for value in (a, b)), more + most, a, b)
        for more, a in ones
        for most, b in others
        if type(a) is type(b) and getattr(a, "dimension", "") == getattr(b, "dimension", "")
    ]
    if not pairs:
        return None
    known, _, one, other = max(pairs, key=lambda pair: pair[:2])
    order = [next((i for i, each in enumerate(said) if same_value(each, value)), 0) for value in (one, other)]
    if len(said) > 1 and (known < 2 or order[0] > order[1]):
        return "The evidence gives these values for something else."
    return "" if _holds(meant, one, other) else "The evidence's own values do not bear out the comparison."


def _holds(meant: Comparison, one: Value, other: Value) -> bool:
    if isinstance(one, Date) and isinstance(other, Date):
        return one.year != other.year and ((one.year or 0) > (other.year or 0)) is meant.later
    sizes = [value.base for value in (one, other) if isinstance(value, Quantity)]
    return sizes[0] != sizes[1] and (sizes[0] > sizes[1]) is meant.larger


def _meant(claim: Claim) -> Comparison | None:
    """What the claim says of its first thing, by its own comparative or as the answer to the question."""
    said = _PREDICATE.match(claim.facts.text)
    own = comparison(f"is {said['one']} {said['rest']}?") if said and " than " in said["rest"] else None
    found = own or comparison(claim.asked.question.text)
    if found is None:
        return None
    one, two = (claim.asked.entity if pointer(side) else side for side in found.sides)
    if one is None or two is None:
        return None
    turned = claim.verdict is False and own is None and not found.chooses
    if own is None and _first_of(claim, two) < _first_of(claim, one):
        one, two, turned = two, one, turned is found.chooses
    if own is None and said and (stated := comparison(f"is {one} {said['rest']} than {two}?")):
        found, turned = stated, False
    return replace(
        found, sides=(one, two), larger=found.larger is not turned, later=found.later is not turned
    )


def _first_of(claim: Claim, thing: str) -> int:
    """Where the claim names a thing; if it does not, its first value may be the thing's."""
    facts = claim.facts
    every = [name.start for name in facts.names if mentions(name.text, thing) or mentions(thing, name.text)]
    written = place_of(name_words(thing), facts.words)
    every += [written[0]] if written else []
    return min(every, default=min((value.start for value in claim.values), default=len(facts.text)))


def _values_of(
    thing: str, other: str, meant: Comparison, statements: Sequence[Statement]
) -> Iterator[tuple[float, Value]]:
    """The thing's values in the evidence, each with how much of what is compared its sentence says."""
    for wanted, stems in ((read_question(ask).wanted, content_stems(ask)) for ask in meant.asks):
        for statement in statements:
            facts = statement.facts
            values: Sequence[Value] = facts.dates if wanted is AnswerType.DATE else facts.quantities
            for value in values[:MOST_VALUES]:
                money = isinstance(value, Quantity) and value.dimension.startswith("money")
                if money is (wanted is AnswerType.MONEY) and _is_of(statement, value.start, thing, other):
                    yield covered(stems, facts.stems), value


def _is_of(statement: Statement, place: int, thing: str, other: str) -> bool:
    """Whether a value is the thing's: it is named last before the value, or alone in the sentence."""
    for name in reversed([name.text for name in statement.facts.names if name.start <= place]):
        if mentions(name, thing) or mentions(name, other):
            return mentions(name, thing)
    text = statement.facts.text
    if mentions(text, thing) or mentions(text, other):
        return not mentions(text, other)
    return mentions(statement.title, thing)
