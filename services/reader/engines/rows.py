"""Rows of a table: of rows that look alike, the one that the question names is read alone."""

import re
from collections.abc import Iterator
from itertools import groupby

from language.words import content_stems

_COLUMN = re.compile(r"(?:^|; )([^:;\n]{1,80}): ")
"""The column before each cell: "Ticket: Adult; Price: £14.50"."""


def with_named_rows(question: str, text: str) -> str:
    """Return the text with spaces for the rows that are not meant, so that places in it stay as they are.

    Of rows with the same columns that stand together, the one whose cells have most words of the question is
    meant; if two have as many, or none has any, all stay.
    """
    stems = content_stems(question)
    return "".join(_lines(stems, text)) if stems and "; " in text else text


def _lines(stems: frozenset[str], text: str) -> Iterator[str]:
    for columns, group in groupby(text.splitlines(keepends=True), lambda line: tuple(_COLUMN.findall(line))):
        rows = list(group)
        if len(columns) < 2 or len(rows) < 2:
            yield from rows
            continue
        words = [len(stems & content_stems(_COLUMN.sub(" ", row))) for row in rows]
        meant = words.index(max(words)) if words.count(max(words)) == 1 else None
        for place, row in enumerate(rows):
            yield row if meant in (None, place) else re.sub(r"[^\r\n]", " ", row)
