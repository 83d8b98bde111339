"""The lines of a PDF page, in the order in which its producer wrote them, which is that of reading."""

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import pypdfium2.raw as pdfium

Piece = tuple[str, bool]
"""A text, and whether it is raised."""

_LIGATURES = range(0xFB00, 0xFB07)
_HYPHENS = {"\x02": "-", "\ufffe": "-", "\xad": "-", "\u2010": "-"}
_LINE_ENDS = ("\x02", "\ufffe")
"""pdfium's marks of a hyphen at the end of a line, after which it gives no space."""
_SPACES = frozenset(" \t\r\n\xa0\x00")
_NO_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_FIGURE = re.compile(r"\d")
_SMALL, _RAISED = 0.85, 0.12
"""The largest size and the least rise of a raised figure, in sizes of the text beside it."""
_WIDE_GAP = 1.2
"""The gap in sizes of the text from which words of one line are different cells."""
_CELL_GAP = 0.3
"""The same gap without a space, if the page has spaces between most words."""
_MOST = 0.6
_BULLET_GAP = 3.0
"""The largest gap between a bullet and its item."""
_POINTS = re.compile(r"[.,;:!?)\]»”]{1,3}")
NUMBER = re.compile(r"\d{1,3}[.)]")
BULLET = re.compile(r"[•◦▪▫■□●○‣⁃∙·–—*-]|[\uf0a7\uf0b7\uf0d8]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word at its place in points; `y` is the baseline and grows upwards.

    `is_spaced`: a space of the file's own stands before it, and not one that pdfium saw in the gap.
    """

    pieces: tuple[Piece, ...]
    left: float
    right: float
    y: float
    size: float
    is_bold: bool
    angle: int
    is_spaced: bool

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)


@dataclass(frozen=True, slots=True)
class Line:
    """Words on one baseline without a wide gap between them."""

    words: tuple[Word, ...]

    @property
    def left(self) -> float:
        return self.words[0].left

    @property
    def right(self) -> float:
        return self.words[-1].right

    @property
    def y(self) -> float:
        """Return the baseline."""
        return self.words[0].y

    @property
    def size(self) -> float:
        """Return the size of most of its words."""
        return Counter(word.size for word in self.words).most_common(1)[0][0]

    @property
    def is_bold(self) -> bool:
        """Return whether all of it is bold."""
        return all(word.is_bold for word in self.words)

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


def lines_of(text_page: ctypes.c_void_p) -> list[Line]:
    """Return the lines of a page; text at another angle than most of it (watermarks, axes) is left out."""
    words = list(_words(_Chars(text_page)))
    if not words:
        return []
    angle = Counter(word.angle for word in words).most_common(1)[0][0]
    spaces = [word.is_spaced for last, word in pairwise(words) if _goes_on(last, word, _WIDE_GAP)]
    widest = _CELL_GAP if sum(spaces) > _MOST * len(spaces) else _WIDE_GAP
    lines: list[list[Word]] = []
    for word in (each for each in words if each.angle == angle):
        last = lines[-1][-1] if lines else word
        if lines and ((is_raised := _is_raised(last, word)) or _is_point(last, word)):
            lines[-1][-1] = replace(last, pieces=(*last.pieces, (word.text, is_raised)), right=word.right)
        elif lines and _goes_on(last, word, widest):
            lines[-1].append(word)
        else:
            lines.append([word])
    done = [Line(tuple(line)) for line in lines]
    return done[::-1] if angle and done[0].y < done[-1].y else done  # pdfium turns the order of sideways text


def _is_raised(last: Word, word: Word) -> bool:
    """Return whether a word is a raised part of the one before it."""
    near = abs(word.left - last.right) < last.size / 4
    return near and word.size < _SMALL * last.size and _RAISED < (word.y - last.y) / last.size < 1


def _is_point(last: Word, word: Word) -> bool:
    """Return whether a word is the full stop or comma of the one before, where pdfium put a space between."""
    near = abs(word.left - last.right) < last.size / 4 and abs(word.y - last.y) < last.size / 4
    return near and not word.is_spaced and _POINTS.fullmatch(word.text) is not None


def _goes_on(last: Word, word: Word, widest: float) -> bool:
    size = max(last.size, word.size)
    gap = (word.left - last.right) / size
    if BULLET.fullmatch(last.text) or NUMBER.fullmatch(last.text):
        widest = _BULLET_GAP
    is_near = -0.5 < gap < (max(_WIDE_GAP, widest) if word.is_spaced else widest)
    return abs(word.y - last.y) < size / 2 and is_near


class _Chars:
    """The properties of a page's characters, by their numbers, from pdfium."""

    def __init__(self, text_page: ctypes.c_void_p) -> None:
        self._page = text_page
        self.count = max(pdfium.FPDFText_CountChars(text_page), 0)
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._fonts: dict[bytes, bool] = {}
        self._name, self._flags = ctypes.create_string_buffer(128), ctypes.c_int()

    def char(self, number: int) -> str:
        """Return the character; a ligature as its letters."""
        code = pdfium.FPDFText_GetUnicode(self._page, number)
        char = chr(code if code < 0x110000 else 0)
        return unicodedata.normalize("NFKC", char) if code in _LIGATURES else char

    def is_space(self, number: int) -> bool:
        """Return whether the file has a space here."""
        return (
            number >= 0 and self.char(number) == " " and not pdfium.FPDFText_IsGenerated(self._page, number)
        )

    def edges(self, number: int, angle: int) -> tuple[float, float]:
        """Return left and right of the character's box, or bottom and top of one that stands upright."""
        left, right, bottom, top = self._edges
        pdfium.FPDFText_GetCharBox(self._page, number, left, right, bottom, top)
        low, high = (left.value, right.value) if angle in (0, 180) else (bottom.value, top.value)
        return (low, high) if angle in (0, 270) else (-high, -low)

    def baseline(self, number: int, angle: int) -> float:
        """Return how high the character stands, seen at the angle of its text."""
        x, y, *_ = self._edges
        pdfium.FPDFText_GetCharOrigin(self._page, number, x, y)
        return {0: y.value, 270: -x.value, 180: -y.value}.get(angle, x.value)

    def size(self, number: int) -> float:
        """Return the height of the font in points."""
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(self._page, number, matrix)
        scale = math.hypot(matrix.c, matrix.d) or 1.0
        return round(2 * pdfium.FPDFText_GetFontSize(self._page, number) * scale) / 2 or 1.0

    def angle(self, number: int) -> int:
        """Return the angle, clockwise: 0, 90, 180 or 270; -1 of slanted text."""
        degrees = math.degrees(pdfium.FPDFText_GetCharAngle(self._page, number)) % 360
        return next((each % 360 for each in (0, 90, 180, 270, 360) if abs(degrees - each) < 2), -1)

    def is_bold(self, number: int) -> bool:
        """Return whether the font's name says that it is bold."""
        pdfium.FPDFText_GetFontInfo(self._page, number, self._name, len(self._name), self._flags)
        name = self._name.value
        if name not in self._fonts:
            self._fonts[name] = any(each in name.lower() for each in (b"bold", b"black", b"heavy"))
        return self._fonts[name]


def _words(chars: _Chars) -> Iterator[Word]:
    start = 0
    texts: list[str] = []
    for number in range(chars.count + 1):
        char = chars.char(number) if number < chars.count else " "
        if char not in _SPACES:
            texts.append(_HYPHENS.get(char) or _NO_TEXT.sub("", char))
        if texts and (char in _SPACES or char in _LINE_ENDS):
            if any(texts):
                yield _word(chars, start, texts)
            texts = []
        if not texts:
            start = number + 1


def _word(chars: _Chars, start: int, texts: list[str]) -> Word:
    last = start + len(texts) - 1
    pieces: tuple[Piece, ...] = (("".join(texts), False),)
    angle, size = chars.angle(start), chars.size(start)
    y = chars.baseline(start, angle)
    if _FIGURE.search(pieces[0][0]):
        sizes = [chars.size(number) for number in range(start, last + 1)]
        size = max(sizes)
        base = next(number for number, each in enumerate(sizes) if each == size)
        y = chars.baseline(start + base, angle)
        if min(sizes) < _SMALL * size:
            pieces = tuple(
                (text, own < _SMALL * size and chars.baseline(start + place, angle) - y > _RAISED * size)
                for place, (text, own) in enumerate(zip(texts, sizes, strict=True))
            )
    left, right = chars.edges(start, angle)[0], chars.edges(last, angle)[1]
    return Word(pieces, left, right, y, size, chars.is_bold(start), angle, chars.is_space(start - 1))
