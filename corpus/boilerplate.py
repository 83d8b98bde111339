"""Take out menus, consent notices and advertisements: names nominate, and what an element is decides."""

import re

from lxml.html import HtmlElement

_TAGS = frozenset({"aside", "dialog", "footer", "header"})
_CONTROLS = ("button", "input", "textarea")
_ROLES = frozenset({"contentinfo", "complementary", "dialog", "alertdialog", "search"})
_MENU_ROLES = frozenset({"navigation", "menu", "menubar", "toolbar"})
_NAMES = re.compile(
    r"(?:^|[-_\s])(?:ads?|adverts?|advertisements?|advertorial|sponsor(?:ed|s)?|promos?|promotions?|cookies?"
    r"|consent|gdpr|newsletters?|subscri(?:be|ption)|shar(?:e|ing)|social|related|recommended|read-?next"
    r"|breadcrumbs?|sidebar|popups?|modals?|paywall|skip-?link|site-?(?:nav|footer|header)|nav|navbar|menu"
    r"|menu-?bar|toc|comments?|comment-?(?:list|respond)|respond|disqus|tags?|pagination|pager|widget)"
    r"(?:$|[-_\s])",
    re.IGNORECASE,
)
_KEPT = re.compile(r"infobox", re.IGNORECASE)
_WORDING = re.compile(
    r"\b(?:(?:use|uses|accept|allow|reject|about) (?:all |our |the )?cookies|advertisements?\b|sponsored"
    r"|subscribe|sign up|our newsletter|share (?:this|on)|follow us|read next"
    r"|related (?:articles|stories|posts)"
    r"|you (?:may|might) also|skip to|all rights reserved|privacy policy|terms of (?:use|service)"
    r"|leave a (?:comment|reply)|log in to)"
    r"|©|\breply\b.{0,200}\breply\b",
    re.IGNORECASE | re.DOTALL,
)
_LEAST_SECTION_CHARS = 25
"""Below a heading."""
_LARGEST_SHARE = 0.5
"""An element that holds more of the page's text than this is content, whatever it is called."""
_LONGEST_NOTICE = 500
_LINKED = 0.4
"""The share of linked text from which a nominated element is a list of links."""


def remove_boilerplate(tree: HtmlElement) -> None:
    """Take out of `tree`, in place, what is not its content."""
    whole = len(tree.text_content())
    for element in list(tree.iter()):
        if element.getparent() is None:
            continue
        if element.tag == "nav" or element.get("role", "") in _MENU_ROLES:
            element.drop_tree()
        elif _is_nominated(element):
            text = element.text_content()
            is_part = len(text) <= whole * _LARGEST_SHARE
            if (is_part or _is_notice(element, text)) and _is_boilerplate(element, text):
                element.drop_tree()
    for element in list(tree.iter(*_CONTROLS)):
        element.drop_tree()


def is_section(element: HtmlElement) -> bool:
    """Return whether the element has a heading with text below it or a table, and few links."""
    text = element.text_content()
    if _linked(element) > _LINKED * len(text):
        return False
    headings = [each.text_content() for each in element.iter("h1", "h2", "h3", "h4", "h5", "h6")]
    has_table = next(element.iter("table"), None) is not None
    return has_table or (bool(headings) and len(text) - sum(map(len, headings)) >= _LEAST_SECTION_CHARS)


def _linked(element: HtmlElement) -> int:
    return sum(len(link.text_content()) for link in element.iter("a"))


def _is_boilerplate(element: HtmlElement, text: str) -> bool:
    has_controls = next(element.iter(*_CONTROLS), None) is not None
    if has_controls or _linked(element) > _LINKED * len(text):
        return True
    if len(text.strip()) < _LEAST_SECTION_CHARS and element.tag not in _TAGS:
        return True
    return bool(_WORDING.search(text)) and not (len(text) > _LONGEST_NOTICE and is_section(element))


def _is_notice(element: HtmlElement, text: str) -> bool:
    """Return whether the element asks for consent or the like: on a short page it may be most of the text."""
    has_controls = next(element.iter(*_CONTROLS), None) is not None
    return has_controls and len(text) < _LONGEST_NOTICE and bool(_WORDING.search(text))


def _is_nominated(element: HtmlElement) -> bool:
    if element.tag in ("html", "body", "main", "article"):
        return False
    names = f"{element.get('id', '')} {element.get('class', '')}"
    if _KEPT.search(names):
        return False
    return element.tag in _TAGS or element.get("role", "") in _ROLES or bool(_NAMES.search(names))
