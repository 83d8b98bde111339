"""The photo's text as a layout: prominence, blocks, prices beside names, sections of a list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

from gateway.reasoning.extractive.lexical import alike, content_stems, fold, squeeze, stem, words
from gateway.reasoning.extractive.values import parse_number
from gateway.state import PhotoText, TextLine

READABLE = 0.6
"""Below this OCR score a line is not relied on."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A thing with its price on a menu, a list or a label, under the heading of its section."""

    name: str
    price: float
    symbol: str
    section: str
    quotes: tuple[str, ...]
    score: float


def height_of(line: TextLine) -> float:
    """Height of the letters in shares of the photo: a sloping line's box is taller than its text."""
    tall = line.box[3] - line.box[1]
    return max(0.3 * tall, tall - abs(line.slope) * (line.box[2] - line.box[0]))


def middle_of(line: TextLine) -> tuple[float, float]:
    """Centre of the line."""
    return (line.box[0] + line.box[2]) / 2, (line.box[1] + line.box[3]) / 2


@lru_cache(maxsize=128)
def slope_of(photo_text: PhotoText) -> float:
    """The photo's tilt: the median slope of its longer lines."""
    slopes = [line.slope for line in photo_text.lines if len(line.text) >= 6 and line.score >= READABLE]
    return median(slopes) if slopes else 0.0


_MARK = r"[€$£¥]"
_PRICE = re.compile(
    (
        rf"^[\s.·…:_|-]*(?:(?P<sym>{_MARK})\s?(?P<n>\d{{1,5}}(?:[.,]\d{{1,2}})?)|"
        rf"(?P<n2>\d{{1,5}}(?:[.,]\d{{1,2}})?)\s?(?P<sym2>{_MARK}|EUR|USD|GBP|euros?)|"
        rf"(?P<n3>\d{{1,4}}[.,]\d{{2}}))[\s.·…-]*$"
    ),
    re.I,
)
_TAIL = re.compile(
    rf"^(?P<name>.*?[^\W\d_].*?)[\s.·…:_-]*(?P<price>{_MARK}\s?\d{{1,5}}(?:[.,]\d{{1,2}})?|"
    rf"\d{{1,5}}(?:[.,]\d{{1,2}})?\s?{_MARK}|\d{{1,4}}[.,]\d{{2}})[\s.·…-]*$"
)


@lru_cache(maxsize=128)
def priced_things(photo_text: PhotoText) -> tuple[Priced, ...]:
    """Every name with the price that stands on its row, top to bottom."""
    tilt = slope_of(photo_text)
    names: list[TextLine] = []
    prices: list[TextLine] = []
    found: list[tuple[float, TextLine, str, str, tuple[str, ...]]] = []
    for line in photo_text.lines:
        inline = _TAIL.match(line.text)
        if _PRICE.match(line.text):
            prices.append(line)
        elif inline:
            found.append((_level(line, tilt), line, inline["name"], inline["price"], (line.text,)))
        elif re.search(r"[^\W\d_]{3}", line.text):
            names.append(line)
    for price, name in _pairs(prices, names, tilt):
        found.append((_level(name, tilt), name, name.text, price.text, (name.text, price.text)))
    taken = {id(line) for _, line, *_ in found}
    headings = [line for line in names if id(line) not in taken]
    return tuple(filter(None, (_thing(entry, headings, tilt) for entry in sorted(found, key=lambda e: e[0]))))


def _level(line: TextLine, tilt: float) -> float:
    """The row a line stands on, with the photo's tilt taken out."""
    x, y = middle_of(line)
    return y - tilt * x


def _pairs(
    prices: Sequence[TextLine], names: Sequence[TextLine], tilt: float
) -> list[tuple[TextLine, TextLine]]:
    """Each price with the nearest name on its level; the level is corrected for what the perspective adds."""
    if not prices or not names:
        return []
    best: list[tuple[float, TextLine, TextLine]] = []
    best_value = -1.0
    for step in range(-16, 17):
        slope = tilt + step * 0.01
        pairs = _nearest(prices, names, slope)
        value = sum(max(0.0, 1 - gap / _reach(price)) for gap, price, _ in pairs) - 0.02 * abs(step)
        if value > best_value:
            best, best_value = pairs, value
    return [(price, name) for gap, price, name in best if gap < _reach(price)]


def _reach(price: TextLine) -> float:
    return 0.75 * (price.box[3] - price.box[1])


def _nearest(
    prices: Sequence[TextLine], names: Sequence[TextLine], slope: float
) -> list[tuple[float, TextLine, TextLine]]:
    pairs: dict[int, tuple[float, TextLine, TextLine]] = {}
    for price in prices:
        px, py = middle_of(price)
        options = [n for n in names if middle_of(n)[0] < px]
        if not options:
            continue
        gap, name = min(
            ((abs(py - middle_of(n)[1] - slope * (px - middle_of(n)[0])), n) for n in options),
            key=lambda p: p[0],
        )
        known = pairs.get(id(name))
        if known is None or gap < known[0]:
            pairs[id(name)] = (gap, price, name)
    return list(pairs.values())


def _thing(
    entry: tuple[float, TextLine, str, str, tuple[str, ...]], headings: Sequence[TextLine], tilt: float
) -> Priced | None:
    level, line, name, price, quotes = entry
    digits = re.search(r"\d{1,5}(?:[.,]\d{1,2})?", price)
    number = parse_number(digits.group()) if digits else None
    if number is None:
        return None
    mark = re.search(_MARK, price)
    above = [h for h in headings if _level(h, tilt) < level and len(words(h.text)) <= 3]
    section = max(above, key=lambda h: _level(h, tilt)).text if above else ""
    return Priced(name.strip(" .·…_-–—:"), number, mark.group() if mark else "€", section, quotes, line.score)


def match_share(wanted: Sequence[str], text: str) -> float:
    """Share of the wanted words that the text has, by stem, forgiving OCR slips and lost spaces."""
    if not wanted:
        return 0.0
    stems = content_stems(text)
    present = words(text)
    joined = squeeze(text)
    hit = 0
    for word in wanted:
        folded = fold(word)
        same = stem(folded) in stems or any(alike(folded, p) for p in present)
        hit += same or (len(folded) >= 4 and folded in joined)
    return hit / len(wanted)


@lru_cache(maxsize=128)
def prominent(photo_text: PhotoText) -> tuple[TextLine, ...]:
    """Readable lines with letters, the tallest first."""
    lines = [n for n in photo_text.lines if n.score >= READABLE and re.search(r"[^\W\d_]{2}|\d", n.text)]
    return tuple(sorted(lines, key=lambda line: -height_of(line)))


def tallest_block(photo_text: PhotoText, ratio: float = 0.72) -> tuple[TextLine, ...]:
    """The lines of about the greatest height that stand together: a title over several lines."""
    ranked = [line for line in prominent(photo_text) if re.search(r"[^\W\d_]{2}", line.text)]
    if not ranked:
        return ()
    block = [ranked[0]]
    for line in ranked[1:]:
        similar = height_of(line) >= ratio * height_of(ranked[0])
        if similar and any(_stacked(line, member) for member in block):
            block.append(line)
    return tuple(sorted(block, key=lambda line: line.box[1]))


def _stacked(a: TextLine, b: TextLine) -> bool:
    gap = max(a.box[1], b.box[1]) - min(a.box[3], b.box[3])
    overlap = min(a.box[2], b.box[2]) - max(a.box[0], b.box[0])
    return gap < 0.9 * max(height_of(a), height_of(b)) and overlap > 0


def proper_case(text: str) -> str:
    """Capitals as on a cover turned into a title's usual case; mixed case stays as it is."""
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 3 and sum(c.isupper() for c in letters) > 0.8 * len(letters):
        small = {"of", "the", "and", "a", "an", "in", "on", "for", "to", "de", "la"}
        done = [w if any(c.isdigit() for c in w) else w.capitalize() for w in text.split()]
        return " ".join(w.lower() if i and w.lower() in small else w for i, w in enumerate(done))
    return text
