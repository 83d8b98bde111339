"""Plain text, CSV and TSV, and how the bytes of a page become text."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import webencodings

from corpus.formats.tables import table_blocks
from corpus.pages import BlockKind, NoContent, Page
from corpus.visible import clean_line, make_block

_DECLARATION = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w:.-]{1,40})|^<\?xml[^>]{0,100}encoding=["']([\w:.-]{1,40})""",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SNIFFED_BYTES = 1_024
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_TITLE = re.compile(r"[^\n]{1,100}(?<![.,;:!?…])")
_DELIMITERS = (",", ";", "\t", "|")
_DECLARED = re.compile(r"\A\s*sep=(.)\r?\n", re.IGNORECASE)
_SAMPLE_CHARS = 32_768
_MOST_COLUMNS = 1_000


def read_text(content: bytes) -> Page:
    """Read paragraphs. A short first line before an empty one is the title, unless it is a sentence."""
    text = decode_page(content).replace("\r\n", "\n").replace("\r", "\n").strip()
    paragraphs = _EMPTY_LINE.split(text)
    lines = map(clean_line, paragraphs)
    blocks = tuple(block for line in lines for block in make_block(BlockKind.PARAGRAPH, [line]))
    match = _TITLE.fullmatch(paragraphs[0]) if len(paragraphs) > 1 else None
    return Page("", clean_line(match[0]) if match else "", blocks)


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


def decode_page(content: bytes) -> str:
    """Return the text by its byte order mark, else its declaration, else UTF-8, else windows-1252."""
    text, _ = webencodings.decode(content, _fallback(content))
    return str(text)


def _fallback(content: bytes) -> webencodings.Encoding:
    """Return the encoding of a page without a byte order mark."""
    match = _DECLARATION.search(_COMMENT.sub(b"", content[:_SNIFFED_BYTES]))
    declared = webencodings.lookup((match[1] or match[2]).decode("ascii")) if match else None
    if declared is not None:
        # A declaration that is readable as ASCII does not stand in a UTF-16 file.
        return webencodings.UTF8 if declared.name.startswith("utf-16") else declared
    text = content.decode(errors="replace")
    wrong = text.count("\ufffd")
    # A few broken characters among many whole ones: the file is UTF-8, and was cut or pasted into.
    is_utf8 = not wrong or len(_NOT_ASCII.findall(text)) > 2 * wrong
    return webencodings.UTF8 if is_utf8 else webencodings.lookup("windows-1252")
