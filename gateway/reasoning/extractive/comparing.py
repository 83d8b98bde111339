"""Comparisons: the same measure looked up for two things, or for one thing at two sellers, and weighed."""

from collections.abc import Sequence

from gateway.reasoning.extractive.composing import finish
from gateway.reasoning.extractive.facts import Fact, find_facts
from gateway.reasoning.extractive.lexical import mentions, same_name
from gateway.reasoning.extractive.lookup import Finding, quotes_of
from gateway.reasoning.extractive.phrasing import mentions_of_relations
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.relation import NUMERIC, Answer, Relation, all_relations
from gateway.reasoning.extractive.resolution import Resolution, look_up, settle
from gateway.reasoning.extractive.subjects import subjects
from gateway.state import Ask, Findings

_AGES = (
    "year painted",
    "publication date",
    "release date",
    "construction date",
    "founding date",
    "opening date",
    "birth date",
)
_SIZES = ("height", "width", "length", "area", "dimensions")


def compare(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Which side wins, with both values stated; None unless both are known."""
    comparison = analysis.comparison
    if comparison is None:
        return None
    measures = measures_of(analysis)
    here = [name for name, _ in subjects(ask, analysis, findings)]
    if _at_sellers(analysis):
        return _compare_sellers(here, analysis, findings)
    first = comparison.options[0] if len(comparison.options) == 2 else ""
    other = comparison.options[-1]
    for name in [first] if first else here:
        if same_name(name, other):
            continue
        for measure in measures:
            a, b = look_up((measure,), name, findings.evidence), look_up((measure,), other, findings.evidence)
            if a is not None and b is not None:
                found = _verdict(analysis, measure, (name, a), (other, b))
                if found is not None:
                    return found
    return None


def measures_of(analysis: Analysis) -> list[Relation]:
    """The relations to compare by: those asked, those of the comparing noun, those of the adjective."""
    comparison = analysis.comparison
    assert comparison is not None
    named = {r.name: r for r in reversed(all_relations())}
    wanted = [r for r in analysis.relations if r.answer in NUMERIC or r.answer is Answer.DATE]
    if comparison.noun:
        wanted += [
            m.relation
            for m in mentions_of_relations(f"what is the {comparison.noun}")
            if m.relation.answer in NUMERIC
        ]
    if comparison.measure == "age":
        wanted += [named[n] for n in _AGES if n in named]
    elif comparison.measure == "length" and analysis.target.label in {
        "book",
        "novel",
        "paperback",
        "hardcover",
        "volume",
    }:
        wanted += [named["number of pages"], named["length"]]
    elif comparison.measure == "length":
        wanted += [named["length"], named["duration"], named["number of pages"], named["battery life"]]
    elif comparison.measure == "dimensions":
        wanted += [named[n] for n in _SIZES]
    elif comparison.measure:
        wanted += [named[comparison.measure]] if comparison.measure in named else []
    return list({r.name: r for r in wanted}.values())


def _at_sellers(analysis: Analysis) -> bool:
    comparison = analysis.comparison
    return (
        comparison is not None
        and comparison.measure == "price"
        and len(comparison.options) == 2
        and all(comparison.options)
        and (
            analysis.target.deictic
            or analysis.target.pronoun is not None
            or analysis.target.label is not None
        )
    )


def price_at(
    seller: str, subjects_here: Sequence[str], relation: Relation, findings: Findings
) -> Resolution | None:
    """The price that a seller asks: the sentence or its page must name the seller."""
    for name in subjects_here:
        facts = [
            f for f in find_facts((relation,), name, findings.evidence) if _names_seller(f, seller, findings)
        ]
        settled = settle(facts)
        if settled is not None:
            return settled
    return None


def _names_seller(fact: Fact, seller: str, findings: Findings) -> bool:
    return mentions(fact.quote, seller) or mentions(findings.evidence[fact.index].title, seller)


def _compare_sellers(here: Sequence[str], analysis: Analysis, findings: Findings) -> Finding | None:
    comparison = analysis.comparison
    assert comparison is not None
    price = next(r for r in all_relations() if r.name == "price")
    a_name, b_name = comparison.options
    a, b = price_at(a_name, here, price, findings), price_at(b_name, here, price, findings)
    if a is None or b is None or a.fact.typed is None or b.fact.typed is None:
        return None
    x, y = a.fact.typed.base, b.fact.typed.base
    if x is None or y is None:
        return None
    confidence = min(a.confidence, b.confidence) * 0.95
    quotes = quotes_of((a.fact, b.fact))
    if x == y:
        return Finding(
            finish(f"It costs the same, {a.fact.typed.text}, at {a_name} and at {b_name}"), confidence, quotes
        )
    a_wins = (x < y) == (comparison.direction < 0)
    winner, loser = ((a_name, a), (b_name, b)) if a_wins else ((b_name, b), (a_name, a))
    word = "cheaper" if comparison.direction < 0 else "more expensive"
    text = (
        f"It is {word} at {winner[0]}, where it costs {_amount(winner[1])}; at {loser[0]} it costs "
        f"{_amount(loser[1])}"
    )
    return Finding(finish(text), confidence, quotes, winner[0])


def _amount(settled: Resolution) -> str:
    return settled.fact.typed.text if settled.fact.typed is not None else settled.fact.value


def _verdict(
    analysis: Analysis, measure: Relation, first: tuple[str, Resolution], second: tuple[str, Resolution]
) -> Finding | None:
    comparison = analysis.comparison
    assert comparison is not None
    x, y = _size(first[1].fact), _size(second[1].fact)
    if x is None or y is None:
        return None
    confidence = min(first[1].confidence, second[1].confidence) * 0.95
    quotes = quotes_of((first[1].fact, second[1].fact))
    if x == y:
        return Finding(finish(f"Both have the same {measure.name}, {_amount(first[1])}"), confidence, quotes)
    first_wins = (x > y) == (comparison.direction > 0)
    winner, loser = (first, second) if first_wins else (second, first)
    lead = ("Yes. " if first_wins else "No. ") if comparison.yes_no else ""
    text = f"{lead}{winner[0]} {_wins(comparison.direction, measure)}, {_amount(winner[1])}; "
    text += f"{loser[0]} {'is from' if measure.answer is Answer.DATE else 'has'} {_amount(loser[1])}"
    if comparison.how_much and measure.answer in NUMERIC:
        text += f", a difference of {abs(x - y):g}"
    return Finding(finish(text), confidence, quotes, winner[0])


def _wins(direction: int, measure: Relation) -> str:
    """`has more pages`, `has the lower price`, `is older`."""
    if measure.answer is Answer.DATE:
        return "is older" if direction > 0 else "is newer"
    noun = measure.name.removeprefix("number of ")
    if measure.answer is Answer.MONEY:
        return f"has the {'higher' if direction > 0 else 'lower'} {noun}"
    return f"has {'more' if direction > 0 else 'less'} {noun}"


def _size(fact: Fact) -> float | None:
    """The comparable size in base units; dates are turned so that older is greater."""
    value = fact.typed
    if value is None:
        return None
    if fact.relation.answer is Answer.DATE:
        return None if value.number is None else -(value.number * 372 + value.month * 31 + value.day)
    return value.base
