"""Make explicit what HTML shows by layout alone: line ends, superscripts, spanning cells, and labels beside
their values.
"""

import re

from lxml.html import HtmlElement
from lxml.html.builder import E

from corpus.even_tables import even_tables

_BLOCK_TAG_NAMES = """address article aside blockquote br caption dd details div dl dt fieldset figcaption
    figure h1 h2 h3 h4 h5 h6 header hr legend li main ol option p pre section summary table tbody td tfoot th
    thead tr ul"""
_INLINE_TAG_NAMES = "a abbr b bdi cite data dfn em i label mark output small span strong time"
BLOCK_TAGS = frozenset(_BLOCK_TAG_NAMES.split())
"""Elements that start and end a line."""
_INLINE_TAGS = frozenset(_INLINE_TAG_NAMES.split())
_EXPONENT = re.compile(r"[-−+]?\d{1,3}|[a-z]", re.IGNORECASE)
_BASE = re.compile(
    r"(?:(?:^|[^\w.,])(?:10|[^\W\d_])|\)|(?:^\s*|[\d⁰¹²³⁴⁵⁶⁷⁸⁹]\s?|[/·⋅]\s?|\b(?:per|square|cubic)\s)[^\W\d_]{1,3})$"
)
"""The text before an exponent: ten, a variable, a closing bracket, or a unit after a number or a slash."""
_SUPERSCRIPTS = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
_CONTEXT_CHARS = 24


def spell_out(tree: HtmlElement) -> None:
    """Replace layout by text, in place.

    "112<sup>1</sup> m" becomes "112 m" (a footnote mark), "m<sup>3</sup>" becomes "m³",
    "8<sup>1</sup>/<sub>2</sub>" becomes "8 1/2", and "71<br>146" becomes "71 146". Deleted text is removed.
    """
    for element in list(tree.iter("del", "s", "strike")):
        element.drop_tree()
    for element in tree.iter("ol"):
        _number_items(element)
    for element in list(tree.iter("sup")):
        if element.getparent() is None:
            continue  # it was inside another superscript
        text = _superscript_text(element)
        del element[:]
        element.text = text
    _separate_lines(tree)
    even_tables(tree)


def append_text(element: HtmlElement, text: str, raised: str | None = None) -> None:
    """Add text to the end of an element. `raised`: "sup" or "sub" if the text is above or below the line."""
    if raised:
        element.append(E(raised, text))
    elif len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _separate_lines(tree: HtmlElement) -> None:
    """Put a space where a line, a cell, an item or a label ends."""
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag in BLOCK_TAGS:
            if element.tag != "br":
                element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
        elif element.tag in _INLINE_TAGS:
            if _starts_anew(_text_before(element), _first_text(element)):
                element.text = f" {element.text or ''}"
            if _starts_anew(_last_text(element), element.tail or ""):
                element.tail = f" {element.tail}"


def _number_items(ordered_list: HtmlElement) -> None:
    """Write the numbers of a list that does not start at 1: "1956. ..." may begin a sentence."""
    start = ordered_list.get("start", "1")
    if len(start) > 9 or not (start.isascii() and start.isdigit()) or start == "1":
        return
    for number, item in enumerate(ordered_list.findall("li"), int(start)):
        item.text = f"{number}. {item.text or ''}"


def _starts_anew(left: str, right: str) -> bool:
    """Return whether two texts without a space between them are two words, such as a label and its value."""
    return left[-1:].isalnum() and not left[-1:].isupper() and (right[:1].isupper() or right[:1].isdigit())


def _superscript_text(element: HtmlElement) -> str:
    """Return the text that replaces a superscript: an exponent, a numerator, letters ("th"), or nothing."""
    text, before = element.text_content().strip(), _text_before(element)
    if element.find(".//a") is not None or element.getparent().tag == "a" or "[" in text:
        return ""  # a link to a footnote
    below = element.getnext()
    if (element.tail or "").strip() in ("/", "⁄") and below is not None and below.tag == "sub":
        return f" {text}" if before[-1:].isdigit() else text
    if not _EXPONENT.fullmatch(text):
        return text if any(map(str.isalnum, text)) else ""
    if text == "1" or not _BASE.search(before):
        return ""  # a footnote mark; an exponent of 1 is not written
    return text.translate(_SUPERSCRIPTS) if text[-1].isdigit() else f"^{text}"


def _text_before(element: HtmlElement) -> str:
    """Return the end of the text directly before the element in its parent."""
    previous = element.getprevious()
    if previous is None:
        parent = element.getparent()
        text = "" if parent is None else parent.text or ""
    elif previous.tail or not isinstance(previous.tag, str) or previous.tag in BLOCK_TAGS:
        text = previous.tail or ""
    else:
        text = _last_text(previous)
    return text[-_CONTEXT_CHARS:]


def _first_text(element: HtmlElement) -> str:
    return next(filter(None, element.itertext()), "")


def _last_text(element: HtmlElement) -> str:
    while len(element):
        if element[-1].tail:
            return str(element[-1].tail)
        element = element[-1]
    return element.text or "" if isinstance(element.tag, str) else ""
