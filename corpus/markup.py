"""Give HTML elements the tags that their styles, classes and roles stand for, and take out what is hidden."""

import re
from collections.abc import Iterable

from lxml.etree import strip_elements
from lxml.html import HtmlElement

from corpus.formulas import formula_text

_HIDDEN = re.compile(r"\bdisplay\s*:\s*none\b|\bvisibility\s*:\s*hidden\b", re.IGNORECASE)
_CROSSED_OUT = re.compile(r"\btext-decoration[\w-]*\s*:[^;]*\bline-through\b", re.IGNORECASE)
_SUPER = re.compile(r"\bvertical-align\s*:\s*super\b", re.IGNORECASE)
_SUB = re.compile(r"\bvertical-align\s*:\s*sub\b", re.IGNORECASE)
_RAISING_CLASSES = {"sup": "sup", "super": "sup", "superscript": "sup", "sub": "sub", "subscript": "sub"}
_TAG_OF_ROLE = {
    "table": "table", "grid": "table", "row": "tr", "cell": "td", "gridcell": "td", "columnheader": "th",
    "rowheader": "th", "list": "ul", "listitem": "li",
}  # fmt: skip
_LARGEST_SHARE = 0.5
"""A hidden element that holds more of the page's text than this is its content, behind a dialog."""
_NOTE_NAME = re.compile(r"(?:foot|end|side)?note|\bfn|cite|citation|reference|\bref\b", re.IGNORECASE)
_NOTE_MARK = re.compile(r"[\[(]?(?:\d{1,3}|[a-z*†‡§])[\])]?", re.IGNORECASE)
_REMOVED = "removed"
_MOST_OPTIONS = 20
"""A longer list of choices (countries, years) says nothing of the page."""


def remove_elements(tree: HtmlElement, elements: Iterable[HtmlElement]) -> None:
    """Take elements out of the tree, in place and in one pass; the text after them stays."""
    for element in elements:
        element.tag = _REMOVED
    strip_elements(tree, _REMOVED, with_tail=False)


def plain_markup(tree: HtmlElement) -> None:
    """Change the tree in place, so that tags alone say what is a heading, a table, raised, or left out."""
    for formula in list(tree.iter("math")):
        text = formula_text(formula)
        shown = formula.getparent()
        while shown is not None and shown.tag == "span":
            # Wikipedia and MathJax hide the formula itself and show a picture of it.
            shown.attrib.pop("style", None)
            shown.attrib.pop("aria-hidden", None)
            shown = shown.getparent()
        formula.tag = "span"
        del formula[:]
        formula.text = text
    whole = len(tree.text_content())
    hidden = []
    for element in list(tree.iter()):
        if not isinstance(element.tag, str) or element.getparent() is None:
            continue
        if _is_hidden(element) and (
            element.tag == "select" or len(element.text_content()) <= whole * _LARGEST_SHARE
        ):
            hidden.append(element)
        elif _is_note_mark(element):
            element.tag = "sup"
            element[:] = [element.makeelement("a")]  # a link inside makes it a note's mark
        else:
            element.tag = _tag(element)
    remove_elements(tree, hidden)


def _tag(element: HtmlElement) -> str:
    role, style = element.get("role", ""), element.get("style", "")
    if role == "heading":
        level = element.get("aria-level", "2")
        return f"h{level}" if level in tuple("123456") else "h6"
    if element.tag in ("div", "span") and role in _TAG_OF_ROLE:
        return _TAG_OF_ROLE[role]
    if element.tag == "td" and next(element.iterancestors("thead", "tbody", "table"), element).tag == "thead":
        return "th"
    if element.tag not in ("span", "font", "small", "i", "em", "b"):
        return str(element.tag)
    if _CROSSED_OUT.search(style):
        return "del"
    named = next(filter(None, map(_RAISING_CLASSES.get, element.get("class", "").lower().split())), "")
    return "sup" if _SUPER.search(style) else "sub" if _SUB.search(style) else named or str(element.tag)


def _is_hidden(element: HtmlElement) -> bool:
    """Return whether readers do not see the element, and cannot open it as they open a tab or an answer."""
    if element.tag == "select":
        return len(element) > _MOST_OPTIONS
    if element.get("role") == "tabpanel" or element.tag in ("html", "body"):
        return False
    is_hidden = element.get("hidden", "until-found") != "until-found"
    return is_hidden or element.get("aria-hidden") == "true" or bool(_HIDDEN.search(element.get("style", "")))


def _is_note_mark(element: HtmlElement) -> bool:
    """Return whether the element is the mark of a note that is raised by a style sheet alone."""
    if element.tag not in ("a", "span", "small") or not _NOTE_MARK.fullmatch(text := _text(element)):
        return False
    if {element.get("role", ""), element.get("epub:type", "")} & {"doc-noteref", "noteref"}:
        return True
    names = " ".join(element.get(key, "") for key in ("class", "id"))
    if element.tag != "a":
        return bool(_NOTE_NAME.search(names)) and not text.isalpha()
    target = element.get("href", "")
    return target.startswith("#") and bool(_NOTE_NAME.search(f"{names} {target[1:]}"))


def _text(element: HtmlElement) -> str:
    return str(element.text_content()).strip() if len(element) < 8 else ""
