"""What HTML shows and its characters do not: ends of lines and cells, raised figures, labels and values."""

import re

from lxml.html import HtmlElement

_LINES = """address article aside blockquote br caption dd details div dl dt fieldset figcaption figure
    h1 h2 h3 h4 h5 h6 header hr legend li main ol option p pre section summary table tbody td tfoot th thead
    tr ul"""
_WORDS = "a abbr b bdi cite data dfn em i label mark output small span strong time"
ENDS = frozenset(_LINES.split())
"""Elements that the next text does not continue."""
_BESIDE = frozenset(_WORDS.split())
_POWER = re.compile(r"[-−+]?\d{1,3}|[a-z]", re.IGNORECASE)
_ORDINAL = re.compile(r"st|nd|rd|th|er|re|e|o|a|ª|º|TM|SM|MC|®|™", re.IGNORECASE)
_BASE = re.compile(r"(?:^|[^\w.,])(?:10|[^\W\d_]{1,3}|\))$")
"""What may be raised to a power: ten, a unit, a variable, brackets. A number or a word has a note there."""
_FIGURE = re.compile(r"\d$")
_SUPERSCRIPTS = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")


def spell_out(tree: HtmlElement) -> None:
    """Make text of what only the layout tells, in place: "112<sup>1</sup> m" is 112 m, "m<sup>3</sup>" is m³,
    "8<sup>1</sup>/<sub>2</sub>" is 8 1/2, and "71<br>146" are two numbers. What is struck out goes.
    """
    for element in list(tree.iter("del", "s", "strike")):
        element.drop_tree()
    for element in list(tree.iter("sup")):
        _lower(element)
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag in ENDS:
            element.text = f" {element.text or ''}" if element.tag != "br" else element.text
            element.tail = f" {element.tail or ''}"
        elif element.tag in _BESIDE and _is_label(_before(element), element.text_content()):
            element.text = f" {element.text or ''}"
        elif element.tag in _BESIDE and _is_label(element.text_content(), element.tail or ""):
            element.tail = f" {element.tail}"


def _is_label(left: str, right: str) -> bool:
    """Whether two texts without a space between them are two: the second begins anew."""
    return left[-1:].isalnum() and (right[:1].isupper() or right[:1].isdigit()) and not left[-1:].isupper()


def _before(element: HtmlElement) -> str:
    """Return the text that stands directly before the element in its parent."""
    previous = element.getprevious()
    if previous is not None and isinstance(previous.tag, str):
        return previous.tail or ("" if previous.tag in ENDS else previous.text_content())
    parent = element.getparent()
    return "" if parent is None else parent.text or ""


def _lower(raised: HtmlElement) -> None:
    """Replace a raised text by what it means: a power, a fraction's half, an ordinal's letters, or a note."""
    if raised.getparent() is None:
        return
    text, before = raised.text_content().strip(), _before(raised)
    is_note = raised.find(".//a") is not None or raised.getparent().tag == "a" or "[" in text
    follows = raised.tail or ""
    below = raised.getnext()
    if follows.strip() in ("/", "⁄") and below is not None and below.tag == "sub" and text.isdigit():
        _replace(raised, f" {text}" if _FIGURE.search(before) else text)
    elif _ORDINAL.fullmatch(text) and not is_note and _FIGURE.search(before) and len(text) > 1:
        _replace(raised, text)
    elif _POWER.fullmatch(text) and not is_note and _BASE.search(before):
        _replace(raised, text.translate(_SUPERSCRIPTS) if text[-1].isdigit() else f"^{text}")
    elif is_note or _POWER.fullmatch(text) or not any(map(str.isalnum, text)):
        _replace(raised, "")
    else:
        _replace(raised, text)


def _replace(element: HtmlElement, text: str) -> None:
    """Put a text in the place of an element, before what follows it."""
    for child in list(element):
        element.remove(child)
    element.text = text
    element.drop_tag()
