"""What a page's own markup names: menus, consent notices, advertisements and the like are not content.

trafilatura finds the main content of long pages by its density; on short ones a consent notice is as dense
as the text, and only its name tells it apart.
"""

import re

from lxml.html import HtmlElement

_NEVER_CONTENT = frozenset({"nav", "footer", "noscript", "template"})
_TAGS = frozenset({"aside", "dialog", "form", "button"})
_ROLES = frozenset({"navigation", "contentinfo", "complementary", "dialog", "alertdialog", "search", "menu"})
_NAMES = re.compile(
    r"(?:^|[-_\s])(?:ads?|adverts?|advertisements?|advertorial|sponsor(?:ed|s)?|promos?|promotions?|cookies?"
    r"|consent|gdpr|newsletters?|subscri(?:be|ption)|shar(?:e|ing)|social|related|recommended|read-?next"
    r"|breadcrumbs?|sidebar|popups?|modals?|paywall|skip-?link|site-?(?:nav|footer|header)|navbar|menu-?bar)"
    r"(?:$|[-_\s])",
    re.IGNORECASE,
)
_KEPT = re.compile(r"infobox", re.IGNORECASE)
_LEAST_SECTION_CHARS = 25
"""Below a heading."""
_LARGEST_SHARE = 0.5
"""An element that holds more of the page's text than this is content, whatever it is called."""


def remove_boilerplate(tree: HtmlElement) -> None:
    """Take out of `tree`, in place, what its markup names as not being content."""
    whole = len(tree.text_content())
    for element in list(tree.iter()):
        if element.getparent() is None or not isinstance(element.tag, str):
            continue
        if element.tag in _NEVER_CONTENT or (
            _is_named_boilerplate(element)
            and len(element.text_content()) <= whole * _LARGEST_SHARE
            and not _is_section(element)
        ):
            element.drop_tree()


def _is_section(element: HtmlElement) -> bool:
    """Return whether the element has a heading with text below it, few links, and no form fields."""
    if element.tag in _TAGS or element.find(".//input") is not None or element.find(".//button") is not None:
        return False
    headings = list(element.iter("h1", "h2", "h3", "h4", "h5", "h6"))
    text, linked = len(element.text_content()), sum(len(link.text_content()) for link in element.iter("a"))
    below = text - sum(len(heading.text_content()) for heading in headings)
    return bool(headings) and below >= _LEAST_SECTION_CHARS and linked < text / 2


def _is_named_boilerplate(element: HtmlElement) -> bool:
    if element.tag in ("html", "body", "main", "article"):
        return False
    names = f"{element.get('id', '')} {element.get('class', '')}"
    if _KEPT.search(names):
        return False
    return element.tag in _TAGS or element.get("role", "") in _ROLES or bool(_NAMES.search(names))
