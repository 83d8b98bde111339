"""Make headings, paragraphs, list items and tables of the lines of PDF pages, without running heads."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from lxml.html.builder import E

from corpus.formats.pdf_lines import BULLET, NUMBER, Line, Piece, Word
from corpus.formats.tables import table_blocks
from corpus.inline import append_text, spell_out
from corpus.pages import Block, BlockKind
from corpus.visible import clean_line, make_block

_EDGE_LINES = 2
"""The lines at the top and the bottom of a page among which running heads are searched."""
_REPEATED = 0.4
"""The least share of pages with a running head: left and right pages may have different ones."""
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_SENTENCE_END = re.compile(r"""[.!?:;…][)"'”’»]*$""")
_PUNCTUATION = ".,;:!?()"
_LEAST_GAP = 0.08
"""The least gap between words, in sizes of the text."""
_LEADER = re.compile(r"(?:\s*\.){5,}")
"""The dots of a table of contents."""
_BROKEN = re.compile(r"[^\W\d_]-$")
_HEADING_SIZE = 1.1
"""The least size of a heading, in sizes of the text."""
_LONGEST_HEADING = 200
_ALIGNED, _MOST_TIGHT_WORDS = 0.15, 3
"""The distance of words from their column, in sizes of the text, and the most words of a tight cell."""
_MOST_CELL_LINES, _MOST_CELL_WORDS = 12, 40
"""The most lines and words of a table's cell: columns of text have more."""


@dataclass
class _Row:
    """Cells side by side, each with its lines; text that is in no table is a row of one cell."""

    cells: list[list[Line]] = field(default_factory=list)


def running_heads(pages: Sequence[Sequence[Line]]) -> set[tuple[str, int]]:
    """Return the keys (see `head_key`) of lines at the edges of pages that many pages have."""
    if len(pages) < 3:
        return set()
    counts = Counter(key for lines in pages for key in {head_key(line) for line in _at_edges(lines)})
    return {key for key, count in counts.items() if count >= max(3, _REPEATED * len(pages))}


def head_key(line: Line) -> tuple[str, int]:
    """Return what a running head has in common on all pages: its text without numbers, and its place."""
    return _NUMBER.sub("#", line.text.casefold()), round(line.y / 4)


def without_heads(lines: Sequence[Line], heads: set[tuple[str, int]]) -> list[Line]:
    """Return the lines of a page without its running heads and feet."""
    edges = {id(line) for line in _at_edges(lines)}
    return [line for line in lines if id(line) not in edges or head_key(line) not in heads]


def _at_edges(lines: Sequence[Line]) -> list[Line]:
    heights = sorted({round(line.y) for line in lines})
    edges = {*heights[:_EDGE_LINES], *heights[-_EDGE_LINES:]}
    return [line for line in lines if round(line.y) in edges]


class Styles:
    """The sizes of a document's text and headings, and the usual distance of its lines."""

    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        lines = [line for page in pages for line in page]
        sizes: Counter[float] = Counter()
        for line in lines:
            sizes[line.size] += len(line.text)
        self.body = sizes.most_common(1)[0][0] if sizes else 1.0
        larger = sorted((size for size in sizes if size >= _HEADING_SIZE * self.body), reverse=True)
        self._levels = {size: min(level, 5) for level, size in enumerate(larger, 1)}
        gaps = Counter(
            round((above.y - line.y) / line.size, 1)
            for above, line in pairwise(lines)
            if above.size == line.size and 0.8 < (above.y - line.y) / line.size < 3
        )
        self.distance = gaps.most_common(1)[0][0] if gaps else 1.2
        self.words = {word.text.casefold().strip(_PUNCTUATION) for line in lines for word in line.words}
        bold = sum(len(line.text) for line in lines if line.is_bold)
        self._bold_is_rare = bold * 4 < sum(len(line.text) for line in lines)

    def level(self, lines: Sequence[Line]) -> int:
        """Return the level of a heading, from 1 to 6; 0 of text."""
        if sum(len(line.text) for line in lines) > _LONGEST_HEADING:
            return 0
        if level := self._levels.get(lines[0].size, 0):
            return level
        text = lines[-1].text
        is_bold = self._bold_is_rare and all(line.is_bold for line in lines)
        return 6 if is_bold and lines[0].size >= self.body and not _SENTENCE_END.search(text) else 0


def page_blocks(lines: Sequence[Line], page: int, styles: Styles) -> Iterator[Block]:
    """Yield the blocks of a page."""
    for is_table, group in groupby(_with_tight_rows(list(_rows(lines, styles))), key=_may_be_table):
        rows = list(group)
        if is_table and len(rows) > 1 and (cells := _aligned(rows, styles)):
            yield from table_blocks(cells, page)
            continue
        for row in rows:
            if is_table:
                texts = [_text(cell, styles) for cell in row.cells]
                yield from make_block(BlockKind.PARAGRAPH, [" ".join(texts)], page=page)
                continue
            for cell in row.cells:
                yield _block(cell, page, styles)


def _block(lines: Sequence[Line], page: int, styles: Styles) -> Block:
    if level := styles.level(lines):
        return Block(BlockKind.HEADING, (_text(lines, styles),), level, page)
    is_item = _is_item(lines[0])
    if is_item and BULLET.fullmatch(lines[0].words[0].text):
        lines = [Line(lines[0].words[1:]), *lines[1:]]
    texts = tuple(_text(part, styles) for part in _unbroken(lines))
    kind = BlockKind.LIST if is_item or len(texts) > 1 else BlockKind.PARAGRAPH
    return Block(kind, texts, 0, page)


def _is_item(line: Line) -> bool:
    if len(line.words) < 2:
        return False
    label, text = line.words[0].text, line.words[1]
    return bool(BULLET.fullmatch(label) or (NUMBER.fullmatch(label) and not text.is_spaced))


def _rows(lines: Sequence[Line], styles: Styles) -> Iterator[_Row]:
    row = _Row()
    for line in lines:
        if row.cells and _is_below(row.cells[-1], line, styles):
            row.cells[-1].append(line)
        elif row.cells and _is_beside(row, line):
            row.cells.append([line])
        else:
            if row.cells:
                yield row
            row = _Row([[line]])
    if row.cells:
        yield row


def _with_tight_rows(rows: list[_Row]) -> list[_Row]:
    """Return the rows, with lines cut into cells that stand at a table and begin words in its columns.

    Between narrow columns there is no wider gap than between words.
    """
    for steps in (range(1, len(rows)), range(len(rows) - 2, -1, -1)):
        starts: list[float] = []
        for place in steps:
            table = rows[place - steps.step]
            if not _may_be_table(table):
                starts = []
                continue
            starts = sorted({*starts, *(min(line.left for line in cell) for cell in table.cells)})
            if cells := _cut(rows[place], starts):
                rows[place] = _Row(cells)
    return rows


def _cut(row: _Row, starts: Sequence[float]) -> list[list[Line]]:
    """Return a short line cut where its words stand below or above the starts of columns; none in text."""
    if len(row.cells) > 1 or len(row.cells[0]) > 1:
        return []
    words = row.cells[0][0].words
    parts: list[list[Word]] = []
    for word in words:
        if not parts or any(abs(word.left - start) < _ALIGNED * word.size for start in starts):
            parts.append([])
        parts[-1].append(word)
    is_short = len(words) <= _MOST_TIGHT_WORDS * len(parts)
    return [[Line(tuple(part))] for part in parts] if len(parts) > 1 and is_short else []


def _is_below(cell: Sequence[Line], line: Line, styles: Styles) -> bool:
    """Return whether a line goes on with the paragraph or cell above it."""
    last = cell[-1]
    gap = (last.y - line.y) / last.size
    if not 0.5 < gap <= styles.distance * 1.25 or abs(line.size - last.size) > 0.05 * last.size:
        return False
    if line.is_bold != last.is_bold and (line.is_bold or all(each.is_bold for each in cell)):
        return False
    if _is_item(line):
        return False
    indent = line.left - last.left
    if len(cell) > 1 and line.size < indent < 5 * line.size and _SENTENCE_END.search(last.text):
        return False
    return line.left < max(each.right for each in cell) and line.right > min(each.left for each in cell)


def _is_beside(row: _Row, line: Line) -> bool:
    """Return whether a line begins the cell to the right of a row's last one."""
    last = row.cells[-1]
    top, bottom = max(cell[0].y for cell in row.cells), min(cell[-1].y for cell in row.cells)
    right = max(each.right for each in last)
    above = _MOST_CELL_LINES * 0.75 * line.size  # shorter cells stand in the middle of taller ones
    return line.left > right and bottom - line.size / 3 <= line.y <= top + above


def _may_be_table(row: _Row) -> bool:
    return len(row.cells) > 1 and all(
        len(cell) <= _MOST_CELL_LINES and sum(len(line.words) for line in cell) <= _MOST_CELL_WORDS
        for cell in row.cells
    )


def _aligned(rows: Sequence[_Row], styles: Styles) -> list[list[str]]:
    """Return the texts of a table's cells; none if it is not certain in which columns they stand."""
    count = max(len(row.cells) for row in rows)
    columns = _columns([cell for row in rows for cell in row.cells])
    table: list[list[str]] = []
    for row in rows:
        texts = [""] * count
        is_full = len(row.cells) == count
        if not is_full and len(columns) != count:
            return []
        for place, cell in enumerate(row.cells):
            column = place if is_full else _place(cell, columns)
            texts[column] = _text(cell, styles)
        table.append(texts)
    return table


def _place(cell: Sequence[Line], columns: Sequence[tuple[float, float]]) -> int:
    start = min(line.left for line in cell)
    return next((n for n, (left, right) in enumerate(columns) if left <= start <= right), 0)


def _columns(cells: Sequence[Sequence[Line]]) -> list[tuple[float, float]]:
    """Return the left and right edges of the columns that cells stand in."""
    edges = sorted((min(line.left for line in cell), max(line.right for line in cell)) for cell in cells)
    columns: list[tuple[float, float]] = []
    for left, right in edges:
        if columns and left <= columns[-1][1]:
            columns[-1] = columns[-1][0], max(right, columns[-1][1])
        else:
            columns.append((left, right))
    return columns


def _unbroken(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Cut a paragraph where a line ends although the next word would fit on it: these are items or verses."""
    right = max(line.right for line in lines)
    part = [lines[0]]
    for above, line in pairwise(lines):
        first = line.words[0]
        if above.right + first.right - first.left + line.size < right:
            yield part
            part = []
        part.append(line)
    yield part


def _text(lines: Sequence[Line], styles: Styles) -> str:
    """Return the lines as one, with words put together that a line's end breaks."""
    pieces: list[Piece] = []
    for line in lines:
        right = 0.0
        for word in line.words:
            if pieces and word is line.words[0] and _BROKEN.search(pieces[-1][0]) and not pieces[-1][1]:
                begun = pieces.pop()[0]
                pieces.append((begun if _keeps_hyphen(begun, word.text, styles) else begun[:-1], False))
            elif pieces and (word is line.words[0] or word.left - right > _LEAST_GAP * word.size):
                pieces.append((" ", False))
            pieces += word.pieces
            right = word.right
    if not any(raised for _, raised in pieces):
        return clean_line(_LEADER.sub(" ", "".join(text for text, _ in pieces)))
    paragraph = E.p()
    for raised, group in groupby(pieces, key=lambda piece: piece[1]):
        append_text(paragraph, "".join(text for text, _ in group), "sup" if raised else None)
    spell_out(paragraph)
    return clean_line(str(paragraph.text_content()))


def _keeps_hyphen(begun: str, rest: str, styles: Styles) -> bool:
    """Return whether a word at a line's end is written with a hyphen elsewhere too, such as "well-known"."""
    whole = f"{begun}{rest}".casefold().strip(_PUNCTUATION)
    return not rest[:1].islower() or whole in styles.words
