"""Find the main text of a web page, without menus, comments, notices and advertisements.

Names nominate what is boilerplate; how much prose, links and headings it holds decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from lxml.html import HtmlElement

from corpus.inline import BLOCK_TAGS, is_layout
from corpus.markup import remove_elements

_LEAST_CHARS = 1_000
"""A shorter page is read whole: its text is too thin to find the main part by where prose stands."""
_SHARE = 0.8
"""The main part has this share of the prose."""
_WHOLE_SHARE = 0.3
_WHOLES = ("//main|//*[@role='main']", "//article|//*[@itemprop='articleBody']")
_ASIDE = frozenset({"aside", "dialog", "footer", "form", "header", "nav"})

_TAGS = frozenset({"aside", "dialog", "footer", "header"})
_ROLES = frozenset({"contentinfo", "complementary", "dialog", "alertdialog", "search"})
_MENU_ROLES = frozenset({"navigation", "menu", "menubar", "toolbar"})
_NAMES = re.compile(
    r"(?:^|[-_\s])(?:ads?|adverts?|advertisements?|advertorial|sponsor(?:ed|s)?|promos?|promotions?|cookies?"
    r"|consent|gdpr|newsletters?|subscri(?:be|ption)|shar(?:e|ing)|social|related|recommended|read-?next"
    r"|breadcrumbs?|sidebar|popups?|modals?|paywall|skip-?link|site-?(?:nav|footer|header)|nav|navbar|menu"
    r"|menu-?bar|toc|comments?|comment-?(?:list|respond)|respond|disqus|tags?|pagination|pager|widget)"
    r"(?:$|[-_\s])|related-?posts",
    re.IGNORECASE,
)
_KEPT = re.compile(r"infobox", re.IGNORECASE)
_COMMENT = re.compile(r"comment|repl(?:y|ies)|respon[ds]|disqus", re.IGNORECASE)
_LEAST_COMMENTS = 3
_WORDING = re.compile(
    r"\b(?:(?:use|uses|accept|allow|reject|about) (?:all |our |the )?cookies|advertisements?\b|sponsored"
    r"|subscribe|sign up|our newsletter|share (?:this|on)|follow us|read next"
    r"|related (?:articles|stories|posts)"
    r"|you (?:may|might) also|skip to|all rights reserved|privacy policy|terms of (?:use|service)"
    r"|leave a (?:comment|reply)|log in to)"
    r"|©|\breply\b.{0,200}\breply\b",
    re.IGNORECASE | re.DOTALL,
)
_MOST_WORDING = 20_000
_SHORT = 25
"""A box with fewer characters goes by its name alone."""
_LARGEST_SHARE = 0.5
"""An element that holds more of the page's text than this is content, whatever it is called."""
_LARGEST_THREAD = 0.9
_LONGEST_NOTICE = 500
_BOXES = frozenset({"center", "div", "ol", "p", "section", "table", "ul"})
_LEAST_LINKS = 3
_BOX_LINKED = 0.7

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CONTROLS = frozenset({"button", "input", "textarea"})
_NO_PROSE = frozenset({"a", "aside", "button", "dialog", "footer", "label", "nav", "select"})
_LEAST_PROSE = 40
"""Characters of a block outside of links and controls."""
_LINKED = 0.4
_LEAST_SECTION = 25


def main_part(tree: HtmlElement) -> HtmlElement:
    """Return the element that holds the main text, and take out of it, in place, what is not content.

    Without the boilerplate, from the page or its one `main` or `article`, it goes down to the smallest
    element with nearly all prose. Of what stands beside the way there, sections stay: a heading with text,
    or a table.
    """
    _remove_boilerplate(tree)
    weights = _weigh(tree)
    if weights[tree].chars < _LEAST_CHARS:
        return tree
    start = _start(tree, weights)
    way = [start]
    enough = _SHARE * weights[start].prose
    while (below := next((each for each in way[-1] if weights[each].prose >= enough > 0), None)) is not None:
        way.append(below)
    whole = max((n for n, each in enumerate(way) if each.tag in ("main", "article")), default=0)
    remove_elements(
        tree,
        [
            beside
            for parent, child in zip(way[whole:], way[whole + 1 :], strict=False)
            for beside in parent
            if beside is not child and not _belongs(beside, weights[beside])
        ],
    )
    return way[whole]


def _start(tree: HtmlElement, weights: dict[HtmlElement, _Weight]) -> HtmlElement:
    """Return the only `main` or `article` with much prose, or the page."""
    enough = max(1, _WHOLE_SHARE * weights[tree].prose)
    for path in _WHOLES:
        wholes = [each for each in tree.xpath(path) if weights[each].prose >= enough]
        outermost = [each for each in wholes if not any(above in wholes for above in each.iterancestors())]
        if len(outermost) == 1:
            return outermost[0]
    return tree


def _belongs(element: HtmlElement, weight: _Weight) -> bool:
    if element.tag in _HEADINGS:
        return not weight.teasers
    if weight.is_section:
        return element.tag not in _ASIDE
    is_inside = next(element.iterancestors("main", "article"), None) is not None
    return is_inside and (not weight.is_linked or weight.headings > 2 * weight.teasers)


def _remove_boilerplate(tree: HtmlElement) -> None:
    """Take out of `tree`, in place, what is not its content."""
    weights = _weigh(tree)
    threads = set(_threads(weights))
    whole = weights[tree].chars
    remove_elements(
        tree,
        [
            element
            for element, weight in weights.items()
            if element.tag == "nav"
            or element.tag in _CONTROLS
            or element.get("role", "") in _MENU_ROLES
            or (element in threads and weight.chars < _LARGEST_THREAD * whole)
            or _is_boilerplate(element, weight, whole)
            or (_is_link_box(element, weight) and weight.chars <= _LARGEST_SHARE * whole)
        ],
    )


def _threads(weights: Mapping[HtmlElement, _Weight]) -> Iterator[HtmlElement]:
    """Yield the elements that are named after comments and hold several that are."""
    named = [each for each in weights if _COMMENT.search(_names(each))]
    inside = Counter(above for each in named for above in each.iterancestors())
    yield from (each for each in named if inside[each] >= _LEAST_COMMENTS and _may_go(each))


def _is_boilerplate(element: HtmlElement, weight: _Weight, whole: int) -> bool:
    names = _names(element)
    is_nominated = element.tag in _TAGS or element.get("role", "") in _ROLES or _NAMES.search(names)
    if not is_nominated or not _may_go(element) or _KEPT.search(names):
        return False
    text = element.text_content() if weight.chars <= _MOST_WORDING else ""
    has_wording = bool(_WORDING.search(text))
    if weight.chars > _LARGEST_SHARE * whole:
        # On a short page a question for consent or the like may be most of the text.
        return weight.controls > 0 and weight.chars < _LONGEST_NOTICE and has_wording
    if weight.controls or weight.is_linked or 0 < weight.headings <= 2 * weight.teasers:
        return True
    if weight.chars < _SHORT and element.tag not in _TAGS:
        return True
    return has_wording and not (weight.chars > _LONGEST_NOTICE and weight.is_section)


def _is_link_box(element: HtmlElement, weight: _Weight) -> bool:
    """Return whether the element holds links and hardly anything else, and is no list in an article."""
    if element.tag not in _BOXES or weight.links < _LEAST_LINKS or weight.prose or weight.tables:
        return False
    if weight.linked <= _BOX_LINKED * weight.chars:
        return False
    before = element.getprevious()
    if before is not None and (before.tag in _HEADINGS or before.tag == "p"):
        return False
    return not weight.headings or next(element.iterancestors("main", "article"), None) is None


def _may_go(element: HtmlElement) -> bool:
    return element.tag not in ("html", "body", "main", "article")


def _names(element: HtmlElement) -> str:
    return f"{element.get('id', '')} {element.get('class', '')}"


@dataclass(slots=True)
class _Weight:
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

    def add(self, other: _Weight) -> None:
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
    """The place of a text. `block`: the element whose line it is part of."""

    block: HtmlElement
    is_link: bool = False
    no_prose: bool = False
    in_table: bool = False


def _weigh(tree: HtmlElement) -> dict[HtmlElement, _Weight]:
    elements = [each for each in tree.iter() if isinstance(each.tag, str)]
    weights = {each: _Weight() for each in elements}
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


def _count(
    weights: dict[HtmlElement, _Weight], element: HtmlElement, place: _Place, text: str | None
) -> None:
    if text and (chars := len(text.strip())):
        weights[element].chars += chars
        if place.is_link:
            weights[element].linked += chars
        if not place.no_prose:
            weights[place.block].prose += chars


def _mark(weight: _Weight, element: HtmlElement) -> None:
    if element.tag in _HEADINGS:
        text = element.text_content().strip()
        weight.headings, weight.heading_chars = 1, len(text)
        weight.teasers = int(_is_teaser(element, text))
    elif element.tag == "a":
        weight.links = 1
    elif element.tag == "table":
        weight.tables = int(not is_layout(element))
    elif element.tag in _CONTROLS:
        weight.controls = 1


def _is_teaser(heading: HtmlElement, text: str) -> bool:
    """Return whether the heading is a link to another page."""
    if next(heading.iterancestors("a"), None) is not None:
        return True
    links = (each for each in heading.iter("a") if not each.get("href", "#").startswith("#"))
    return sum(len(each.text_content().strip()) for each in links) > len(text) // 2
