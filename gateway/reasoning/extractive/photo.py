"""The photo's text as a layout: rows, prominence, prices beside names, labelled lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gateway.reasoning.extractive.lexical import alike, content_stems, fold, squeeze, stem, words
from gateway.reasoning.extractive.values import Kind, Value, find_values, parse_number
from gateway.state import PhotoText, TextLine

READABLE = 0.6
"""Below this OCR score a line is not relied on."""


@dataclass(frozen=True, slots=True)
class Row:
    """Lines that stand on one height, left to right."""

    lines: tuple[TextLine, ...]

    @property
    def text(self) -> str:
        """The row as it reads."""
        return " ".join(line.text for line in self.lines)

    @property
    def score(self) -> float:
        """The least certain line's score."""
        return min(line.score for line in self.lines)

    @property
    def height(self) -> float:
        """The tallest line, in shares of the photo's height."""
        return max(line.box[3] - line.box[1] for line in self.lines)


@dataclass(frozen=True, slots=True)
class Priced:
    """A thing with its price on a menu, a list or a label, under the heading of its section."""

    name: str
    price: float
    shown: str
    section: str
    quote: str
    score: float


def height_of(line: TextLine) -> float:
    """Height in shares of the photo."""
    return line.box[3] - line.box[1]


@lru_cache(maxsize=256)
def rows_of(photo_text: PhotoText) -> tuple[Row, ...]:
    """The lines grouped into rows, top to bottom; a slope of a few degrees is tolerated."""
    rows: list[list[TextLine]] = []
    for line in sorted(photo_text.lines, key=lambda item: (item.box[1] + item.box[3]) / 2):
        home = next((row for row in reversed(rows) if _beside(row, line)), None)
        if home is None:
            rows.append([line])
        else:
            home.append(line)
    return tuple(Row(tuple(sorted(row, key=lambda item: item.box[0]))) for row in rows)


def _beside(row: Sequence[TextLine], line: TextLine) -> bool:
    nearest = min(row, key=lambda item: abs((item.box[0] + item.box[2]) - (line.box[0] + line.box[2])))
    if min(nearest.box[2], line.box[2]) - max(nearest.box[0], line.box[0]) > 0.02:
        return False
    middle = (line.box[1] + line.box[3]) / 2 - (nearest.box[1] + nearest.box[3]) / 2
    return abs(middle) < 0.55 * max(height_of(line), height_of(nearest))


_PRICE_END = re.compile(r"(?P<name>.*?)[\s.·…_-]*(?P<cur>[€$£¥])?\s?(?P<n>\d{1,4}(?:[.,]\d{1,2})?)\s?(?P<cur2>[€$£¥]|EUR|euros?|[€E])?\s*$", re.I)


@lru_cache(maxsize=256)
def priced_things(photo_text: PhotoText) -> tuple[Priced, ...]:
    """Every row with a name on the left and a price on the right."""
    found: list[Priced] = []
    section = ""
    rows = rows_of(photo_text)
    for row in rows:
        item = _priced(row, section)
        if item is not None:
            found.append(item)
        elif len(words(row.text)) <= 3 and any(c.isalpha() for c in row.text):
            section = row.text
    return tuple(found)


def _priced(row: Row, section: str) -> Priced | None:
    match = _PRICE_END.match(row.text.strip())
    if match is None:
        return None
    name = match["name"].strip(" .·…_-–—:")
    marked = bool(match["cur"] or match["cur2"])
    number = parse_number(match["n"])
    decimal = re.search(r"[.,]\d{1,2}$", match["n"]) is not None
    if number is None or len(re.findall(r"[^\W\d_]", name)) < 3 or not (marked or decimal):
        return None
    symbol = (match["cur"] or match["cur2"] or "€").replace("E", "€")
    shown = f"{symbol}{match['n'].replace(',', '.')}"
    return Priced(name, number, shown, section, row.lines[-1].text, row.score)


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


@lru_cache(maxsize=256)
def prominent(photo_text: PhotoText) -> tuple[TextLine, ...]:
    """Readable lines with letters, the tallest first."""
    lines = [n for n in photo_text.lines if n.score >= READABLE and re.search(r"[^\W\d_]{2}|\d", n.text)]
    return tuple(sorted(lines, key=lambda line: -height_of(line)))


def tallest_block(photo_text: PhotoText) -> tuple[TextLine, ...]:
    """The lines of about the greatest height that stand together: a title over several lines."""
    ranked = [line for line in prominent(photo_text) if re.search(r"[^\W\d_]{2}", line.text)]
    if not ranked:
        return ()
    top = ranked[0]
    block = [top]
    rest = sorted(photo_text.lines, key=lambda line: line.box[1])
    for line in rest:
        if line is top or line.score < READABLE or not re.search(r"[^\W\d_]", line.text):
            continue
        similar = 0.62 <= height_of(line) / max(height_of(top), 1e-6) <= 1.6
        near = any(_stacked(line, member) for member in block)
        if similar and near:
            block.append(line)
    return tuple(sorted(block, key=lambda line: line.box[1]))


def _stacked(a: TextLine, b: TextLine) -> bool:
    gap = max(a.box[1], b.box[1]) - min(a.box[3], b.box[3])
    overlap = min(a.box[2], b.box[2]) - max(a.box[0], b.box[0])
    return gap < 0.9 * max(height_of(a), height_of(b)) and overlap > 0


def values_on(photo_text: PhotoText, kind: Kind) -> list[tuple[Value, TextLine]]:
    """All readable values of a kind with the line each stands on."""
    return [(v, n) for n in photo_text.lines if n.score >= READABLE for v in find_values(n.text, kind)]


def proper_case(text: str) -> str:
    """Capitals as on a cover turned into a title's usual case; mixed case stays as it is."""
    letters = [c for c in text if c.isalpha()]
    if len(letters) > 3 and sum(c.isupper() for c in letters) > 0.8 * len(letters):
        small = {"of", "the", "and", "a", "an", "in", "on", "for", "to", "de", "la"}
        done = [w if any(c.isdigit() for c in w) else w.capitalize() for w in text.split()]
        return " ".join(w.lower() if i and w.lower() in small else w for i, w in enumerate(done))
    return text
