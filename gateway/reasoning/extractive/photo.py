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


_SECTION_WORDS = (
    "dish dishes main mains course courses food foods meal meals plates eat kitchen entree entrees",
    "dessert desserts sweet sweets pudding puddings afters",
    "drink drinks beverage beverages refreshments bar",
    "starter starters appetizer appetizers appetiser appetisers antipasti",
    "side sides",
    "soup soups",
    "salad salads",
    "wine wines",
    "beer beers",
    "tea teas",
    "coffee coffees",
    "breakfast breakfasts",
    "pizza pizzas",
    "sandwich sandwiches",
)
SECTIONS: tuple[frozenset[str], ...] = tuple(frozenset(line.split()) for line in _SECTION_WORDS)
"""Words for the sections of a menu, those of one section together."""


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
    for price, name in _pairs(prices, [n for n in names if not is_heading(n.text)], photo_text):
        found.append((_level(name, tilt), name, name.text, price.text, (name.text, price.text)))
    taken = {id(line) for _, line, *_ in found}
    headings = [line for line in names if id(line) not in taken]
    return tuple(filter(None, (_thing(entry, headings, tilt) for entry in sorted(found, key=lambda e: e[0]))))


_LITTLE = frozenset({"to", "from", "the", "our", "your", "something", "and", "for"})


def section_of(text: str) -> frozenset[str] | None:
    """The kind of section that a text speaks of."""
    present = set(words(text))
    return next((section for section in SECTIONS if section & present), None)


def is_heading(text: str) -> bool:
    """Whether a line only names a section ("Desserts", "To drink")."""
    said = set(words(text)) - _LITTLE
    return bool(said) and len(said) <= 2 and any(said <= section for section in SECTIONS)


def _level(line: TextLine, tilt: float) -> float:
    """The row a line stands on, with the photo's tilt taken out."""
    x, y = middle_of(line)
    return y - tilt * x


def _pairs(
    prices: Sequence[TextLine], names: Sequence[TextLine], photo_text: PhotoText
) -> list[tuple[TextLine, TextLine]]:
    """Each price with the name that its row leads back to.

    Perspective makes rows fan out, so the slope is a straight line over the height of the photo; a small
    common correction is searched because slopes of short lines are coarse.
    """
    if not prices or not names:
        return []
    base, gain = _fan(photo_text)
    best: list[tuple[float, TextLine, TextLine]] = []
    best_value = -1.0
    for step in range(-6, 7):
        pairs = _nearest(prices, names, base + step * 0.008, gain)
        value = sum(max(0.0, 1 - gap / _reach(price)) for gap, price, _ in pairs) - 0.08 * abs(step)
        if value > best_value:
            best, best_value = pairs, value
    return [(price, name) for gap, price, name in best if gap < _reach(price)]


def _fan(photo_text: PhotoText) -> tuple[float, float]:
    """(slope at the top, change of slope down to the bottom), by least squares over the longer lines."""
    seen = [(middle_of(n)[1], n.slope) for n in photo_text.lines if len(n.text) >= 6 and n.score >= READABLE]
    if len(seen) < 4:
        return slope_of(photo_text), 0.0
    mean_y, mean_s = (sum(v) / len(seen) for v in zip(*seen, strict=True))
    spread = sum((y - mean_y) ** 2 for y, _ in seen)
    gain = sum((y - mean_y) * (s - mean_s) for y, s in seen) / spread if spread > 1e-4 else 0.0
    return mean_s - gain * mean_y, gain


def _reach(price: TextLine) -> float:
    return 0.75 * (price.box[3] - price.box[1])


def _nearest(
    prices: Sequence[TextLine], names: Sequence[TextLine], base: float, gain: float
) -> list[tuple[float, TextLine, TextLine]]:
    pairs: dict[int, tuple[float, TextLine, TextLine]] = {}
    for price in prices:
        px, py = middle_of(price)
        options = [
            (abs(py - y - (base + gain * y) * (px - x)), n)
            for n in names
            for x, y in [middle_of(n)]
            if x < px
        ]
        if not options:
            continue
        gap, name = min(options, key=lambda pair: pair[0])
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
        if similar and any(stacked(line, member) for member in block):
            block.append(line)
    return tuple(sorted(block, key=lambda line: line.box[1]))


def stacked(a: TextLine, b: TextLine) -> bool:
    """Whether two lines stand right above each other."""
    gap = max(a.box[1], b.box[1]) - min(a.box[3], b.box[3])
    overlap = min(a.box[2], b.box[2]) - max(a.box[0], b.box[0])
    return gap < 0.9 * max(height_of(a), height_of(b)) and overlap > 0


@lru_cache(maxsize=128)
def joined_lines(photo_text: PhotoText) -> tuple[tuple[str, tuple[TextLine, ...]], ...]:
    """Each readable line, and each with the line right below it: labels break "2-4 / players" in two."""
    clear = [n for n in photo_text.lines if n.score >= READABLE]
    found: list[tuple[str, tuple[TextLine, ...]]] = [(spaced(n.text), (n,)) for n in clear]
    for line in clear:
        below = [n for n in clear if n is not line and n.box[1] > line.box[1] and stacked(line, n)]
        if below:
            under = min(below, key=lambda n: n.box[1])
            found.append((spaced(f"{line.text} {under.text}"), (line, under)))
    return tuple(found)


def spaced(text: str) -> str:
    """The text with the space that OCR loses after an abbreviation ("ca.75")."""
    return re.sub(r"(?<=[^\W\d_])\.(?=\d)", ". ", text)


def proper_case(text: str) -> str:
    """Capitals as on a cover turned into a title's usual case; mixed case stays as it is."""
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 3 and sum(c.isupper() for c in letters) > 0.8 * len(letters):
        small = {"of", "the", "and", "a", "an", "in", "on", "for", "to", "de", "la"}
        done = [w if any(c.isdigit() for c in w) else w.capitalize() for w in text.split()]
        return " ".join(w.lower() if i and w.lower() in small else w for i, w in enumerate(done))
    return text
