"""How much of an element's text is prose, links and headings: evidence of what the element is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lxml.html import HtmlElement

from corpus.even_tables import is_layout
from corpus.inline import BLOCK_TAGS

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
CONTROLS = frozenset({"button", "input", "textarea"})
_NO_PROSE = frozenset({"a", "aside", "button", "dialog", "footer", "label", "nav", "select"})
_LEAST_PROSE = 40
"""Characters of a block outside of links and controls."""
_LINKED = 0.4
_LEAST_SECTION = 25


@dataclass(slots=True)
class Weight:
    """Characters of an element and all that it holds, and the number of its links, headings and the like.

    `prose`: characters in blocks of some length, and in tables, outside of links, labels and menus.
    `teasers`: headings that are links to another page.
    """

    chars: int = 0
    linked: int = 0
    prose: int = 0
    heading_chars: int = 0
    headings: int = 0
    teasers: int = 0
    links: int = 0
    tables: int = 0
    controls: int = 0

    def add(self, other: Weight) -> None:
        """Add what an element inside this one holds."""
        self.chars += other.chars
        self.linked += other.linked
        self.prose += other.prose
        self.heading_chars += other.heading_chars
        self.headings += other.headings
        self.teasers += other.teasers
        self.links += other.links
        self.tables += other.tables
        self.controls += other.controls

    @property
    def is_linked(self) -> bool:
        """Return whether much of the text is links."""
        return self.linked > _LINKED * self.chars

    @property
    def is_section(self) -> bool:
        """Return whether there is a table, or a heading of this page with text below it, and few links."""
        has_text = self.chars - self.heading_chars >= _LEAST_SECTION and self.headings > 2 * self.teasers
        return not self.is_linked and (self.tables > 0 or has_text)


class _Place(NamedTuple):
    """Where a text stands. `block`: the element whose line it is part of."""

    block: HtmlElement
    is_link: bool = False
    no_prose: bool = False
    in_table: bool = False


def weigh(tree: HtmlElement) -> dict[HtmlElement, Weight]:
    """Return the weight of each element."""
    elements = [each for each in tree.iter() if isinstance(each.tag, str)]
    weights = {each: Weight() for each in elements}
    places: dict[HtmlElement, _Place] = {}
    for element in elements:
        parent = element.getparent()
        outside = places.get(parent) or _Place(tree)
        place = places[element] = _place(element, outside)
        _count(weights, element, place, element.text)
        if element is not tree:
            _count(weights, parent, outside, element.tail)
        _mark(weights[element], element)
    for element in elements:
        if weights[element].prose < _LEAST_PROSE:
            weights[element].prose = 0
    for element in reversed(elements[1:]):
        weights[element.getparent()].add(weights[element])
    return weights


def _place(element: HtmlElement, outside: _Place) -> _Place:
    is_table = element.tag == "dl" or (element.tag == "table" and not is_layout(element))
    return _Place(
        element if element.tag in BLOCK_TAGS and not outside.in_table else outside.block,
        outside.is_link or (element.tag == "a" and "href" in element.attrib),
        outside.no_prose or element.tag in _NO_PROSE,
        outside.in_table or is_table,
    )


def _count(weights: dict[HtmlElement, Weight], element: HtmlElement, place: _Place, text: str | None) -> None:
    if text and (chars := len(text.strip())):
        weights[element].chars += chars
        if place.is_link:
            weights[element].linked += chars
        if not place.no_prose:
            weights[place.block].prose += chars


def _mark(weight: Weight, element: HtmlElement) -> None:
    if element.tag in HEADINGS:
        text = element.text_content().strip()
        weight.headings, weight.heading_chars = 1, len(text)
        weight.teasers = int(_is_teaser(element, text))
    elif element.tag == "a":
        weight.links = 1
    elif element.tag == "table":
        weight.tables = int(not is_layout(element))
    elif element.tag in CONTROLS:
        weight.controls = 1


def _is_teaser(heading: HtmlElement, text: str) -> bool:
    """Return whether the heading is a link to another page."""
    if next(heading.iterancestors("a"), None) is not None:
        return True
    links = (each for each in heading.iter("a") if not each.get("href", "#").startswith("#"))
    return sum(len(each.text_content().strip()) for each in links) > len(text) // 2
