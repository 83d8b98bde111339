"""Rows of a table and lists of facts: those that the question names are read alone."""

import re
from collections.abc import Iterator
from itertools import groupby
from unicodedata import category

from language.sentences import COLUMN, columns_of
from language.words import content_stems

_WITH_UNIT = re.compile(r"(.+?) ?\(([^()\d][^()]{0,9})\)")
"""The name of a column with its unit: "Price (£)", "Height (m)"; "Population (2021)" has none."""
_CURRENCY = "Sc"
_FACT = re.compile(r"[^:;]{1,40}: .{1,80}")
"""A line of a list of facts: "Ports: USB-C, jack"."""


def with_named_rows(question: str, text: str) -> str:
    """Return the text with spaces for the rows that are not meant, so that places in it stay as they are.

    Of rows with the same columns that stand together, the one whose cells have most words of the question is
    meant; if two have as many, or none has any, all stay. Of facts that stand together, those whose label is
    in the question are meant; if there are none, all stay.
    """
    stems = content_stems(question)
    return "".join(_lines(stems, text)) if stems and ": " in text else text


def _lines(stems: frozenset[str], text: str) -> Iterator[str]:
    for columns, group in groupby(text.splitlines(keepends=True), _columns):
        rows, meant = list(group), list[bool]()
        if len(columns) == 1:
            meant = [_has_label(stems, row) for row in rows]
        elif columns:
            words = [len(stems & content_stems(COLUMN.sub(" ", row))) for row in rows]
            meant = [each == max(words) for each in words] if words.count(max(words)) == 1 else []
        for place, row in enumerate(rows):
            yield row if not any(meant) or meant[place] else re.sub(r"[^\r\n]", " ", row)


def _columns(line: str) -> tuple[str, ...]:
    """Return a row's columns; a fact's only one is nameless, so that facts of any labels stand together."""
    if columns := columns_of(line):
        return columns
    return ("",) if _FACT.fullmatch(line.rstrip()) else ()


def _has_label(stems: frozenset[str], fact: str) -> bool:
    label = content_stems(fact.partition(":")[0])
    return bool(label) and label <= stems


def say_cell(row: str, end: int) -> str | None:
    """Return the cell in which an answer ends, with the row's first one: "Raven teapot, price: £95".

    None if it is no row of a table.
    """
    columns = list(COLUMN.finditer(row))
    if len(columns) < 2:
        return None
    place = max((index for index, column in enumerate(columns) if column.start() < end), default=0)
    ends = [*(column.start() for column in columns[1:]), len(row)]
    name, value = columns[place][1], row[columns[place].end() : ends[place]].strip()
    if value[-1:].isdigit() and (parts := _WITH_UNIT.fullmatch(name)) is not None:
        name, unit = parts.groups()
        if unit not in value:
            value = f"{unit}{value}" if category(unit[0]) == _CURRENCY else f"{value} {unit}"
    if place == 0:
        return f"{name}: {value}"
    name = name[0].lower() + name[1:] if name[1:2].islower() else name
    return f"{row[columns[0].end() : ends[0]].strip()}, {name}: {value}"
