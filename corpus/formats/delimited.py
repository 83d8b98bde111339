"""CSV and TSV: each cell follows the name of its column."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from corpus.encoding import decode_page
from corpus.formats.tables import table_blocks
from corpus.pages import NoContent, Page
from corpus.visible import clean_line

_DELIMITERS = (",", ";", "\t", "|")
_DECLARED = re.compile(r"\A\s*sep=(.)\r?\n", re.IGNORECASE)
_SAMPLE_CHARS = 32_768
_MOST_COLUMNS = 1_000


def read_csv(content: bytes) -> Page:
    """Read a table whose delimiter is declared ("sep=;") or gives the most even rows. Raises `NoContent`."""
    text = decode_page(content)
    if match := _DECLARED.match(text):
        return _page(text[match.end() :], match[1])
    return _page(text, max(_DELIMITERS, key=lambda each: _evenness(text[:_SAMPLE_CHARS], each)))


def read_tsv(content: bytes) -> Page:
    """Read a table whose delimiter is a tab. Raises `NoContent`."""
    return _page(decode_page(content), "\t")


def _page(text: str, delimiter: str) -> Page:
    try:
        return Page("", "", tuple(table_blocks(_rows(text, delimiter))))
    except csv.Error:
        pass  # an open quotation mark makes the rest of the file one cell
    return Page("", "", tuple(table_blocks(_rows(text, delimiter, is_quoted=False))))


def _rows(text: str, delimiter: str, *, is_quoted: bool = True) -> Iterator[list[str]]:
    """Yield rows of equal width. Raises `csv.Error`."""
    lines = text.splitlines(keepends=True)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    rows = list(csv.reader(lines, delimiter=delimiter, quoting=quoting, skipinitialspace=True, strict=True))
    width = max(map(len, rows), default=0)
    if width > _MOST_COLUMNS:
        raise NoContent(f"The table is too wide. It may have {_MOST_COLUMNS:,} columns.")
    for row in rows:
        cells = [clean_line(cell) for cell in row]
        yield cells + [""] * (width - len(cells)) if any(cells) else []


def _evenness(sample: str, delimiter: str) -> tuple[float, int]:
    """Return the share of rows that have the most common number of cells, and this number; 0 if it is one."""
    try:
        widths = Counter(len(row) for row in csv.reader(sample.splitlines(), delimiter=delimiter) if row)
    except csv.Error:
        return 0.0, 0
    (width, rows), *_ = widths.most_common(1) or [(0, 0)]
    return (rows / widths.total(), width) if width > 1 else (0.0, 0)
