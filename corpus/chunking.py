"""Pages to passages: whole sections packed together while they fit, cut at sentences where they do not.

The hierarchical chunking of QA-Dragon, section 3.6.1: titles, then paragraphs, then fixed-length spans.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chassis.tokens import count_tokens
from corpus.pages import BlockKind, Page

PATH_SEPARATOR = " › "

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Sizes in tokens as `count_tokens` counts them; `overlap` is repeated where a section is cut."""

    most: int = 512
    overlap: int = 48


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, list item or table row with the headings it stands under."""

    path: tuple[str, ...]
    text: str
    tokens: int
    new_line: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a page. `sections`: the lines of its text that name sections, in order."""

    text: str
    sections: tuple[str, ...]


def cut_page(page: Page, limits: ChunkLimits | None = None) -> list[Passage]:
    """Return the page's passages in order, each at most `limits.most` tokens.

    Under the page's title, a passage names the page number and the headings that it stands under:
    `page 2 › History › Early years`.
    """
    bounds = limits or ChunkLimits()
    packing: list[_Unit] = []
    passages: list[Passage] = []
    for unit in _units(page, bounds):
        if packing and _size([*packing, unit]) > bounds.most:
            passages.append(_passage(packing))
            packing = _overlap(packing, unit, bounds)
        packing.append(unit)
    if packing:
        passages.append(_passage(packing))
    return passages


def _passage(units: Sequence[_Unit]) -> Passage:
    sections = dict.fromkeys(PATH_SEPARATOR.join(unit.path) for unit in units if unit.path)
    return Passage(_text(units), tuple(sections))


def _units(page: Page, limits: ChunkLimits) -> Iterator[_Unit]:
    headings: dict[int, str] = {}
    for block in page.blocks:
        if block.kind is BlockKind.HEADING:
            headings = {level: text for level, text in headings.items() if level < block.level}
            headings[block.level] = block.lines[0]
            continue
        number = (f"page {block.page}",) if block.page else ()
        path = number + _path(page.title, headings, limits)
        room = limits.most - count_tokens(PATH_SEPARATOR.join(path)) - 1
        for line in block.lines:
            for place, sentence in enumerate(_sentences(line, room)):
                yield _Unit(path, sentence, count_tokens(sentence), new_line=place == 0)


def _path(title: str, headings: dict[int, str], limits: ChunkLimits) -> tuple[str, ...]:
    """The headings from the largest to the smallest, without one that only repeats the title."""
    path = tuple(text for _, text in sorted(headings.items()) if text.casefold() != title.casefold())
    while path and count_tokens(PATH_SEPARATOR.join(path)) > limits.most // 4:
        path = path[1:]
    return path


def _sentences(line: str, room: int) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(line):
        if count_tokens(sentence) <= room:
            if sentence:
                yield sentence
            continue
        yield from _spans(sentence, room)


def _spans(sentence: str, room: int) -> Iterator[str]:
    """Fixed-length spans of something that has no sentences, cut between words where there are any."""
    span: list[str] = []
    tokens = 0
    for word in _short_words(sentence, room):
        size = count_tokens(word)
        if span and tokens + size > room:
            yield " ".join(span)
            span, tokens = [], 0
        span.append(word)
        tokens += size
    if span:
        yield " ".join(span)


def _short_words(sentence: str, room: int) -> Iterator[str]:
    for word in sentence.split():
        for start in range(0, len(word), room):
            yield word[start : start + room]


def _size(units: Sequence[_Unit]) -> int:
    paths = [
        unit.path for place, unit in enumerate(units) if place == 0 or units[place - 1].path != unit.path
    ]
    return sum(unit.tokens for unit in units) + sum(count_tokens(PATH_SEPARATOR.join(path)) for path in paths)


def _overlap(packed: Sequence[_Unit], following: _Unit, limits: ChunkLimits) -> list[_Unit]:
    """The last units of a passage again, when its section goes on in the next one."""
    repeated: list[_Unit] = []
    for unit in reversed(packed):
        candidate = [unit, *repeated]
        if unit.path != following.path or sum(each.tokens for each in candidate) > limits.overlap:
            break
        repeated = candidate
    fits = _size([*repeated, following]) <= limits.most
    return repeated if fits and len(repeated) < len(packed) else []


def _text(units: Sequence[_Unit]) -> str:
    parts: list[str] = []
    path: tuple[str, ...] = ()
    for unit in units:
        if unit.path != path:
            path = unit.path
            if path:
                parts.append("\n" + PATH_SEPARATOR.join(path))
            parts.append("\n")
        elif unit.new_line:
            parts.append("\n")
        else:
            parts.append(" ")
        parts.append(unit.text)
    return "".join(parts).strip()
