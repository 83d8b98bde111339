"""Rows of a table as text: "Ticket: Adult; Price: £14.50"."""

import re

COLUMN = re.compile(r"(?:^|; )([^:;\n]{1,80}): ")
"""The column before each cell."""


def columns_of(line: str) -> tuple[str, ...]:
    """Return the names of a row's columns; empty if the line has fewer than two."""
    columns = tuple(COLUMN.findall(line))
    return columns if len(columns) > 1 else ()
