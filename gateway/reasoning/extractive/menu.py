"""Questions about a list with prices: one price, the cheapest, a limit, counts, sums, differences."""

import re
from collections.abc import Sequence

from gateway.reasoning.extractive.composing import finish, listing, money_text
from gateway.reasoning.extractive.lexical import STOPWORDS, fold, stem, words
from gateway.reasoning.extractive.lookup import Finding, photo_quotes
from gateway.reasoning.extractive.photo import (
    Priced,
    _level,
    is_heading,
    match_share,
    priced_things,
    section_of,
    slope_of,
)
from gateway.reasoning.extractive.question import Analysis
from gateway.reasoning.extractive.values import NUMBER_WORDS, Kind, find_values, parse_number
from gateway.state import PhotoText

_HIGH = re.compile(
    r"\b(?:most expensive|priciest|dearest|costliest|highest price\w*|costs? the most|most costly)\b"
)
_LOW = re.compile(
    r"\b(?:cheapest|least expensive|lowest price\w*|costs? the least|most affordable|cheapest)\b"
)
_BELOW = re.compile(
    r"\b(?:under|below|less than|cheaper than|at most|no more than|up to|within|for less than|"
    r"beneath|not more than|maximum of|cheaper)\b"
)
_ABOVE = re.compile(r"\b(?:over|above|more than|at least|dearer than|pricier than|upwards of|exceeding)\b")
_SUM = re.compile(
    r"\b(?:total|altogether|together|sum|in all|combined|both|add up|adds up|add|plus|for one|"
    r"if i (?:have|order|take|get|buy)|how much (?:for|is it for|would|do i pay for))\b"
)
_DIFFERENCE = re.compile(
    r"\b(?:difference|how much (?:more|less|cheaper|dearer)|how many euros (?:more|less))\b"
)
_MORE = re.compile(r"\b(?:more expensive|pricier|dearer|costs? more|higher|costlier)\b")
_LESS = re.compile(r"\b(?:cheaper|less expensive|costs? less|lower)\b")
_COUNT = re.compile(r"\b(?:how many|number of|count)\b")


def answer_from_prices(analysis: Analysis, photo_text: PhotoText) -> Finding | None:
    """The answer that the photo's priced rows give, or None when the question is no such question."""
    things = priced_things(photo_text)
    folded = fold(analysis.text)
    counted = _count(folded, things, photo_text)
    if counted is not None:
        return counted
    if len(things) < 2:
        return None
    named = named_rows(analysis, things)
    if len(named) >= 2:
        return _several(folded, named, photo_text)
    if _HIGH.search(folded) or _LOW.search(folded):
        return _extreme(folded, things, photo_text)
    limited = _limited(folded, things, photo_text)
    if limited is not None:
        return limited
    asks_price = bool(analysis.relations) and analysis.relations[0].name == "price"
    if len(named) == 1 and _needs_two(folded):
        return None
    if len(named) == 1 and (asks_price or re.search(r"\b(?:price|cost|much|pay)\b", folded)):
        thing = named[0]
        return Finding(
            finish(f"The {thing.name.lower()} costs {_shown(thing)}"),
            _sure([thing]),
            photo_quotes(thing.quotes, photo_text),
            _shown(thing),
        )
    return None


def _needs_two(folded: str) -> bool:
    """Whether the question sets two rows against each other or adds them, so that one is not enough."""
    if re.search(r"\band\b|\bplus\b", folded) and _SUM.search(folded):
        return True
    return " or " in folded or _DIFFERENCE.search(folded) is not None


def named_rows(analysis: Analysis, things: Sequence[Priced]) -> list[Priced]:
    """The rows that the question names by all their words, in the question's order."""
    asked = [w for w in words(analysis.text) if w not in STOPWORDS]
    found: list[tuple[int, Priced]] = []
    for thing in things:
        own = [w for w in words(thing.name) if w not in STOPWORDS and len(w) > 1]
        if own and match_share(own, " ".join(asked)) >= 0.99:
            positions = [i for i, w in enumerate(asked) if stem(w) == stem(own[0])]
            found.append((positions[0] if positions else 0, thing))
    taken = {stem(w) for _, thing in found for w in words(thing.name)}
    found += [(i, t) for i, w in enumerate(asked) if stem(w) not in taken for t in _by_head([w], things)]
    kept = [t for _, t in sorted(found, key=lambda pair: pair[0])]
    return [t for t in kept if not any(t is not o and set(words(t.name)) < set(words(o.name)) for o in kept)]


def _by_head(asked: Sequence[str], things: Sequence[Priced]) -> list[Priced]:
    """A row named by its last word alone ("the soup"), if only one row ends so."""
    heads = {stem(w) for w in asked}
    fitting = [t for t in things if words(t.name) and stem(words(t.name)[-1]) in heads]
    return fitting if len(fitting) == 1 else []


def _shown(thing: Priced) -> str:
    return money_text(thing.price, thing.symbol)


def _sure(things: Sequence[Priced]) -> float:
    return round(0.92 * min(t.score for t in things), 3)


def _several(folded: str, named: list[Priced], photo_text: PhotoText) -> Finding | None:
    quotes = photo_quotes([q for t in named for q in t.quotes], photo_text)
    a, b = named[0], named[1]
    if _DIFFERENCE.search(folded) and len(named) == 2:
        gap = abs(a.price - b.price)
        return Finding(
            finish(f"The difference is {money_text(gap, a.symbol)}: {_each(named)}"),
            _sure(named),
            quotes,
            money_text(gap),
        )
    if " or " in folded and (
        _MORE.search(folded) or _LESS.search(folded) or _HIGH.search(folded) or _LOW.search(folded)
    ):
        if a.price == b.price:
            return Finding(finish(f"They cost the same: {_each(named)}"), _sure(named), quotes)
        up = bool(_MORE.search(folded) or _HIGH.search(folded))
        winner = max(named, key=lambda t: t.price if up else -t.price)
        other = b if winner is a else a
        word = "more" if up else "less"
        text = (
            f"The {winner.name.lower()} costs {word}, {_shown(winner)}, while the {other.name.lower()} "
            f"is {_shown(other)}"
        )
        return Finding(finish(text), _sure(named), quotes, winner.name)
    if _SUM.search(folded) or re.search(r"\band\b|\bplus\b|\bwith\b", folded):
        total = sum(t.price * _times(folded, t) for t in named)
        return Finding(
            finish(f"Together they cost {money_text(total, a.symbol)}: {_each(named)}"),
            _sure(named),
            quotes,
            money_text(total),
        )
    return None


def _times(folded: str, thing: Priced) -> float:
    """How many of a thing are meant: "two espressos"."""
    first = words(thing.name)[0]
    match = re.search(rf"\b(\d+|{'|'.join(NUMBER_WORDS)})\s+(?:\w+\s+)?{re.escape(first)}", folded)
    number = parse_number(match.group(1)) if match else None
    return number if number and number < 100 else 1.0


def _each(named: Sequence[Priced]) -> str:
    return listing([f"{t.name.lower()} {_shown(t)}" for t in named])


def _within(section: frozenset[str] | None, things: Sequence[Priced]) -> list[Priced]:
    if section is None:
        return list(things)
    return [t for t in things if section & set(words(t.section)) or section & set(words(t.name)[-1:])]


def _extreme(folded: str, things: Sequence[Priced], photo_text: PhotoText) -> Finding | None:
    pool = _within(section_of(folded), things)
    whole = pool or (list(things) if re.search(r"\b(?:dish|item|thing|food)\b", folded) else [])
    if not whole:
        return None
    high = _HIGH.search(folded) is not None
    best = max(whole, key=lambda t: t.price if high else -t.price)
    ties = [t for t in whole if t.price == best.price]
    names = listing([f"the {t.name.lower()}" for t in ties])
    text = f"The {'most expensive' if high else 'cheapest'} is {names} at {_shown(best)}"
    return Finding(
        finish(text),
        _sure(ties) * 0.95,
        photo_quotes([q for t in ties for q in t.quotes], photo_text),
        best.name,
    )


def _limited(folded: str, things: Sequence[Priced], photo_text: PhotoText) -> Finding | None:
    limit = next(iter(find_values(folded, Kind.MONEY)), None) or next(
        iter(find_values(folded, Kind.NUMBER)), None
    )
    below, above = _BELOW.search(folded), _ABOVE.search(folded)
    if limit is None or limit.number is None or not (below or above):
        return None
    bound = limit.number
    inclusive = (
        re.search(r"\b(?:at most|no more than|up to|not more than|within|at least|maximum)\b", folded)
        is not None
    )
    pool = _within(section_of(folded), things)
    chosen = [
        t for t in pool if (t.price < bound if below else t.price > bound) or (inclusive and t.price == bound)
    ]
    side = "Under" if below else "Over"
    if not chosen:
        return (
            Finding(
                finish(f"None: nothing there is {side.lower()} {money_text(bound)}"),
                0.62,
                photo_quotes([q for t in pool for q in t.quotes][:4], photo_text),
            )
            if pool
            else None
        )
    names = listing([f"{t.name.lower()} ({_shown(t)})" for t in chosen])
    verb = "are" if len(chosen) > 1 else "is"
    quotes = photo_quotes([q for t in chosen for q in t.quotes], photo_text)
    count = f"{len(chosen)}: " if re.search(r"\bhow many\b", folded) else ""
    return Finding(
        finish(f"{count}{side} {money_text(bound)} there {verb} {names}"), _sure(chosen) * 0.95, quotes, names
    )


def _count(folded: str, things: Sequence[Priced], photo_text: PhotoText) -> Finding | None:
    """How many things a section lists; rows whose price OCR missed count too."""
    section = section_of(folded)
    if section is None or not _COUNT.search(folded) or _BELOW.search(folded) or _ABOVE.search(folded):
        return None
    tilt = slope_of(photo_text)
    lines = [line for line in photo_text.lines if re.search(r"[^\W\d_]{3}", line.text)]
    heads = [line for line in lines if is_heading(line.text)]
    head = next((line for line in heads if set(words(line.text)) & section), None)
    if head is None:
        return None
    top = _level(head, tilt)
    bottom = min((_level(h, tilt) for h in heads if _level(h, tilt) > top), default=9.0)
    own = [line for line in lines if top < _level(line, tilt) < bottom and line not in heads]
    if not own:
        return None
    noun = fold(head.text)
    text = f"There are {len(own)} {noun} on it: {listing([line.text.strip(' .·').lower() for line in own])}"
    return Finding(
        finish(text),
        0.85 * min(line.score for line in own),
        photo_quotes([line.text for line in own], photo_text),
        str(len(own)),
    )
