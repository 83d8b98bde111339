"""Answers that must be worked out: limits, warranties, opening times, ages, multiples, rates."""

import math
import re
from collections.abc import Iterator, Sequence

from gateway.reasoning.extractive.composing import finish, is_order, money_text, number_text, state
from gateway.reasoning.extractive.facts import Fact, find_facts
from gateway.reasoning.extractive.hours import Opening, asked_days, minutes, name_of_day, parse_hours
from gateway.reasoning.extractive.labels import read_age, read_net_content
from gateway.reasoning.extractive.lexical import content_stems, fold, sentences
from gateway.reasoning.extractive.lookup import Finding, photo_quotes, quotes_of
from gateway.reasoning.extractive.phrasing import mentions_of_relations
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.relation import Relation, all_relations
from gateway.reasoning.extractive.resolution import Resolution, follow, look_up
from gateway.reasoning.extractive.signs import read_price
from gateway.reasoning.extractive.subjects import subjects
from gateway.reasoning.extractive.values import NUMBER_WORDS, Kind, Value, find_values, parse_number
from gateway.state import Ask, Evidence, Findings, Quote


def _named(name: str) -> Relation:
    return next(r for r in all_relations() if r.name == name)


def _first(
    ask: Ask, analysis: Analysis, findings: Findings, names: Sequence[str]
) -> tuple[Resolution, str] | None:
    """The first of some relations that is known of the likeliest subject."""
    for subject, belief in subjects(ask, analysis, findings):
        for name in names:
            settled = look_up((_named(name),), subject, findings.evidence)
            if settled is not None and settled.confidence * belief >= 0.4:
                return settled, subject
    return None


def judge_age(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Whether somebody of a given age may take part."""
    match = _AGED.search(fold(analysis.text))
    if match is None:
        return None
    age = int(next(g for g in match.groups() if g))
    printed = read_age(findings.photo_text, analysis.text)
    if printed is not None:
        word = "Yes" if age >= int(printed.value.split()[0]) else "No"
        quotes = photo_quotes([n.text for n in printed.lines], findings.photo_text)
        return Finding(finish(f"{word}, the minimum age is {printed.value}"), printed.sure, quotes, word)
    known = _first(ask, analysis, findings, ("age limit",))
    if known is None or known[0].fact.typed is None or known[0].fact.typed.number is None:
        return None
    word = "Yes" if age >= known[0].fact.typed.number else "No"
    fact = known[0].fact
    return Finding(f"{word}: {state(fact)}", known[0].confidence * 0.97, quotes_of((fact,)), word)


_AGED = re.compile(
    r"\b(\d{1,2})[- ]years?[- ]olds?\b|\b(?:is|aged?|am|turns|turned|just)\s+(\d{1,2})\b"
    r"|\b(\d{1,2}) years old"
)


def judge_warranty(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Whether a warranty that began at one date still holds at another."""
    said = sorted(
        (v for v in find_values(analysis.text, Kind.DATE) if v.number),
        key=lambda v: (v.number or 0, v.month, v.day),
    )
    known = _first(ask, analysis, findings, ("warranty",))
    if len(said) < 2 or known is None or known[0].fact.typed is None or known[0].fact.typed.base is None:
        return None
    bought, later = said[0], said[-1]
    years = known[0].fact.typed.base / 31557600
    passed = (
        ((later.number or 0) - (bought.number or 0))
        + ((later.month or 1) - (bought.month or 1)) / 12
        + ((later.day or 1) - (bought.day or 1)) / 366
    )
    if abs(passed - years) < 0.02:
        return None
    word = "Yes" if passed < years else "No"
    return Finding(
        f"{word}: {state(known[0].fact)}", known[0].confidence * 0.97, quotes_of((known[0].fact,)), word
    )


_LIMIT = re.compile(
    r"\b(?:up to|at most|no more than|not more than|maximum(?: of)?|less than|under|below|"
    r"not exceed(?:ing)?|exceeds?|larger than|bigger than|more than|over|above|limit(?:ed)?(?: of|"
    r" is| to)?)\b"
)


def judge_rule(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Whether an amount keeps a limit that a page of rules states."""
    amount, seen = _amount(ask, analysis, findings)
    if amount is None or amount.base is None:
        return None
    topic = content_stems(analysis.text)
    best: tuple[float, Value, Quote] | None = None
    for index, item in enumerate(findings.evidence):
        context = content_stems(item.title) & topic
        for sentence in sentences(item.text):
            if not _LIMIT.search(fold(sentence.text)) or is_order(sentence.text):
                continue
            shared = len((content_stems(sentence.text) & topic) | context)
            for value in find_values(sentence.text, Kind.QUANTITY):
                if value.dimension == amount.dimension and shared and (best is None or shared > best[0]):
                    best = (shared, value, Quote(index, sentence.text))
    if best is None or best[1].base is None:
        return None
    fits = amount.base <= best[1].base * 1.0001
    rule = best[2].text.strip().rstrip(".")
    text = f"{'Yes' if fits else 'No'}: {rule}, and this is {amount.text}"
    return Finding(finish(text), 0.55 + 0.1 * min(3, best[0]), (best[2], *seen), "Yes" if fits else "No")


def _amount(ask: Ask, analysis: Analysis, findings: Findings) -> tuple[Value | None, tuple[Quote, ...]]:
    """The amount in the question, else on the pack, else in what is known of the thing."""
    said = [
        v
        for v in find_values(analysis.text, Kind.QUANTITY)
        if v.dimension in {"mass", "volume", "length", "charge", "energy"}
    ]
    if said:
        return said[0], ()
    printed = read_net_content(findings.photo_text, analysis.text)
    if printed is not None:
        values = find_values(printed.value, Kind.QUANTITY)
        return (values[0] if values else None), photo_quotes(
            [n.text for n in printed.lines], findings.photo_text
        )
    known = _first(ask, analysis, findings, ("volume", "weight"))
    return (known[0].fact.typed, quotes_of((known[0].fact,))) if known else (None, ())


def judge_opening(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Whether a place is open at the asked day and time."""
    days = asked_days(analysis.text)
    moment = _moment(analysis.text)
    if len(days) != 1:
        return None
    day = days[0]
    for hours, quotes, sure in _known_hours(ask, analysis, findings):
        opening = hours.get(day)
        if opening is None:
            continue
        closed_asked = re.search(r"\b(?:closed|shut)\b", fold(analysis.text)) is not None and not re.search(
            r"\bopen\b", fold(analysis.text)
        )
        is_open = not opening.closed and (
            moment is None or (opening.start or 0) <= moment < (opening.end or 0)
        )
        word = "Yes" if is_open != closed_asked else "No"
        shown = "it is closed" if opening.closed else f"the hours are {opening.shown}"
        return Finding(finish(f"{word}, on {name_of_day(day)} {shown}"), sure, quotes, word)
    return None


def _moment(text: str) -> float | None:
    found = [v for v in find_values(text, Kind.TIME)]
    if found:
        return found[0].number
    match = re.search(r"\bat (\d{1,2})\b(?!\s*(?:euro|percent|%))", text)
    if match is None:
        return None
    hour = minutes(match.group(1)) or 0.0
    return hour + 720 if hour <= 360 else hour


def _known_hours(
    ask: Ask, analysis: Analysis, findings: Findings
) -> Iterator[tuple[dict[int, Opening], tuple[Quote, ...], float]]:
    """Hours on the photo first, then those that pages and attributes give for the subject."""
    printed = parse_hours(findings.photo_text.plain)
    if printed:
        lines = [
            n.text
            for n in findings.photo_text.lines
            if any(c.isdigit() for c in n.text)
            or "closed" in fold(n.text)
            or find_values(n.text, Kind.WEEKDAY)
        ]
        yield printed, photo_quotes(lines[:8], findings.photo_text), 0.88
    for subject, belief in subjects(ask, analysis, findings):
        for fact in find_facts((_named("opening hours"), _named("closing day")), subject, findings.evidence):
            stated = parse_hours(fact.quote)
            if stated:
                yield stated, quotes_of((fact,)), fact.strength * belief


def work_out_age(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """How old somebody was when something happened: a birth against another date."""
    folded = fold(analysis.text)
    at_death = (
        re.search(r"\bdi(?:e|ed)\b|\bpass(?:ed)? away\b|\bdeath\b|\bget\b|\bbecome\b|\breach", folded)
        is not None
    )
    for subject, belief in subjects(ask, analysis, findings):
        person = _person(subject, analysis, findings)
        if person is None:
            continue
        name, steps, sure = person
        born = look_up((_named("birth date"),), name, findings.evidence)
        then = (
            look_up((_named("death date"),), name, findings.evidence)
            if at_death
            else _made(subject, findings.evidence)
        )
        if born is None or then is None or not _year(born) or not _year(then):
            continue
        span = _year(then) - _year(born)
        if _exact(born) and _exact(then) and _before_birthday(born, then):
            span -= 1
        if not 0 < span < 120:
            continue
        about = "" if _exact(born) and _exact(then) else "about "
        text = (
            f"{name} was {about}{span} years old: {_year(then)} - {_year(born)} = {_year(then) - _year(born)}"
        )
        confidence = min(born.confidence, then.confidence) * sure * belief
        return Finding(finish(text), confidence, quotes_of((*steps, born.fact, then.fact)), f"{span} years")
    return None


def _person(
    subject: str, analysis: Analysis, findings: Findings
) -> tuple[str, tuple[Fact, ...], float] | None:
    """The person whose age is asked: over the hops, through a creator, or the subject itself."""
    makers = [
        r
        for r in analysis.relations
        if r.name in {"painter", "author", "designer", "composer", "sculptor", "honoree"}
    ]
    for chain in [analysis.chain, *((m,) for m in makers), (_named("honoree"),)]:
        path = follow(subject, chain, findings.evidence, findings.photo_text) if chain else None
        if path is not None:
            return path.subject, path.steps, path.confidence
    return subject, (), 1.0


def _made(subject: str, evidence: Sequence[Evidence]) -> Resolution | None:
    found = [
        look_up((_named(n),), subject, evidence)
        for n in ("year painted", "publication date", "release date", "construction date")
    ]
    return max((f for f in found if f is not None), key=lambda f: f.confidence, default=None)


def _year(settled: Resolution) -> int:
    value = settled.fact.typed
    return int(value.number) if value is not None and value.number else 0


def _difference(start: Resolution, end: Resolution) -> str:
    """The calculation, so that it can be checked."""
    return f"{_year(end)} - {_year(start)} = {_year(end) - _year(start)}"


def _exact(settled: Resolution) -> bool:
    return settled.fact.typed is not None and settled.fact.typed.day > 0


def _before_birthday(born: Resolution, then: Resolution) -> bool:
    a, b = born.fact.typed, then.fact.typed
    return a is not None and b is not None and (b.month, b.day) < (a.month, a.day)


def work_out_years(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Years between two dates that are known of the subject (a life, a founding and a closing)."""
    for subject, belief in subjects(ask, analysis, findings):
        person = _person(subject, analysis, findings)
        name = person[0] if person else subject
        pairs = (
            ("birth date", "death date"),
            ("founding date", "closing date"),
            ("founding date", "acquisition date"),
        )
        for start, end in pairs:
            a, b = (
                look_up((_named(start),), name, findings.evidence),
                look_up((_named(end),), name, findings.evidence),
            )
            if a is None or b is None or not _year(a) or not _year(b) or _year(b) <= _year(a):
                continue
            span = _year(b) - _year(a) - (1 if _exact(a) and _exact(b) and _before_birthday(a, b) else 0)
            text = f"About {span} years, from {_year(a)} to {_year(b)}: {_difference(a, b)}"
            return Finding(
                finish(text),
                min(a.confidence, b.confidence) * belief,
                quotes_of((a.fact, b.fact)),
                f"{span} years",
            )
    return None


_TIMES = re.compile(
    rf"\b(\d+|{'|'.join(w for w in NUMBER_WORDS if w not in {'half', 'zero'})})\b(?!\s*(?:g|ml|%|per|euro))"
)


def multiply(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """Several of a thing, or a whole pack from a value per 100."""
    folded = fold(analysis.text)
    asked = analysis.relations[0].name if analysis.relations else ""
    if re.search(r"\b(?:whole|entire|full|complete)\b", folded):
        return _whole_pack(ask, analysis, findings)
    match = _TIMES.search(folded)
    number = parse_number("12" if match and "dozen" in match.group() else match.group(1)) if match else None
    if not number or asked not in {"price", ""}:
        return None
    printed = read_price(findings.photo_text, analysis.text)
    if printed is not None:
        value = find_values(printed.value, Kind.MONEY)[0]
        quotes, sure = photo_quotes([n.text for n in printed.lines], findings.photo_text), printed.sure
    else:
        known = _first(ask, analysis, findings, ("price",))
        if known is None or known[0].fact.typed is None:
            return None
        value, quotes, sure = known[0].fact.typed, quotes_of((known[0].fact,)), known[0].confidence
    if value.number is None:
        return None
    total = money_text(
        number * value.number, "€" if value.unit == "EUR" else value.text.strip("0123456789., ")
    )
    return Finding(
        finish(f"{number_text(number)} cost {total}, at {value.text} each"), sure * 0.95, quotes, total
    )


def _whole_pack(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """A value per 100 g or ml times the pack's content."""
    asked = [
        m.relation.name
        for m in mentions_of_relations(analysis.text)
        if m.relation.dimension in {"energy", "mass"} and m.relation.name != "weight"
    ]
    content = read_net_content(findings.photo_text, analysis.text)
    known = _first(ask, analysis, findings, asked[:2] or ("energy",))
    sizes = find_values(content.value, Kind.QUANTITY) if content else ()
    if (
        known is None
        or not sizes
        or content is None
        or known[0].fact.typed is None
        or known[0].fact.typed.number is None
    ):
        return None
    base = (sizes[0].base or 0.0) * (1000 if sizes[0].dimension == "volume" else 1)
    total = known[0].fact.typed.number * base / 100
    unit = known[0].fact.typed.unit
    quotes = (
        *quotes_of((known[0].fact,)),
        *photo_quotes([n.text for n in content.lines], findings.photo_text),
    )
    text = (
        f"The whole pack has about {number_text(round(total, 1))} {unit}: {known[0].fact.typed.text} "
        f"per 100 in {content.value}"
    )
    return Finding(finish(text), known[0].confidence * 0.85, quotes, number_text(total))


def reading_rate(ask: Ask, analysis: Analysis, findings: Findings) -> Finding | None:
    """How long a book takes at so many pages a day."""
    match = re.search(r"(\d+)\s*pages?\s*(?:a|per|each|every)\s*(day|hour|week)", fold(analysis.text))
    known = _first(ask, analysis, findings, ("number of pages",))
    if match is None or known is None or known[0].fact.typed is None or not known[0].fact.typed.number:
        return None
    pages, rate = known[0].fact.typed.number, float(match.group(1))
    if rate <= 0:
        return None
    needed = math.ceil(pages / rate)
    text = (
        f"About {needed} {match.group(2)}s: {number_text(pages)} pages at {number_text(rate)} a "
        f"{match.group(2)}"
    )
    return Finding(
        finish(text), known[0].confidence * 0.95, quotes_of((known[0].fact,)), f"{needed} {match.group(2)}s"
    )


__all__ = [
    "judge_age",
    "judge_opening",
    "judge_rule",
    "judge_warranty",
    "multiply",
    "reading_rate",
    "work_out_age",
    "work_out_years",
]
