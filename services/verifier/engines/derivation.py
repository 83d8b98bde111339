"""Numbers that are not in the evidence but follow from it: sums, differences, ages, areas."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import isclose

from services.verifier.engines.passages import Facts
from services.verifier.engines.quantities import Quantity
from services.verifier.engines.units import UNITS

_ASKS_TO_COMPUTE = re.compile(
    r"\b(?:total|together|altogether|sum|add|both|difference|how much (?:more|less|cheaper|older|longer)"
    r"|how many (?:more|fewer|less|years|days|weeks|hours|minutes)|how old"
    r"|how long (?:ago|after|before|did|was|has)|average|times"
    r"|twice|double|half|perimeter|area|volume|speed|force|solve|answer|calculate|compute|result|equation"
    r"|problem|exercise|number \d+|per person|each|left over|change|years? (?:later|after|before|apart)"
    r"|how many \w+ (?:do|would|will|should) (?:i|we|you|one) need"
    r"|older|younger|cheaper|dearer|heavier|lighter|taller|shorter)\b|\bby [€$£]?\d|[=×÷+]",
    re.IGNORECASE,
)
_MOST_OPERANDS = 40


def is_computed(question: str, answer: str) -> bool:
    """Whether the exchange is about a number that one works out."""
    return bool(_ASKS_TO_COMPUTE.search(question) or _ASKS_TO_COMPUTE.search(answer))


def follows(quantity: Quantity, sources: Sequence[Facts], used: Sequence[Quantity]) -> bool:
    """Whether one step of arithmetic on the sources' numbers gives `quantity`.

    `used`: the answer's own quantities that the evidence has; their sum counts too.
    """
    wanted = list(printed_values(quantity))
    groups = [list(_operands(facts)) for facts in sources]
    groups.append([value for facts in sources for value in _operands(facts, measured_only=True)])
    shown = [next(printed_values(own)) for own in used]
    results = [sum(shown)] if len(shown) > 1 else []
    return any(
        isclose(value, result, rel_tol=1e-6, abs_tol=1e-9)
        for result in (*results, *chain.from_iterable(map(_one_step, groups)))
        for value in wanted
    )


def printed_values(quantity: Quantity) -> Iterator[float]:
    """The numbers as they are written, before any conversion."""
    for reading in quantity.readings:
        unit = next((u for u in UNITS.get(reading.unit, ()) if u.dimension == reading.dimension), None)
        yield (reading.value - unit.offset) / unit.factor if unit else reading.value


def _operands(facts: Facts, measured_only: bool = False) -> Iterator[float]:
    """Numbers of one sentence, without its list number ("2)"); those of nothing stay in their sentence."""
    for quantity in facts.quantities:
        is_list_number = facts.text[quantity.end : quantity.end + 1] == ")"
        if not is_list_number and not (measured_only and quantity.is_bare and not quantity.noun):
            yield next(printed_values(quantity))
    yield from (float(date.year) for date in facts.dates if date.year)


def _one_step(operands: Sequence[float]) -> Iterator[float]:
    operands = list(dict.fromkeys(operands))[:_MOST_OPERANDS]
    for value in operands:
        yield from (value * value, 4 * value, 2 * value, value / 2)
    for a, b in combinations(operands, 2):
        yield from (a + b, abs(a - b), a * b, 2 * (a + b), a * b / 2, (a + b) / 2)
        if b:
            yield from (a / b, math.ceil(a / b))
        if a:
            yield from (b / a, math.ceil(b / a))
