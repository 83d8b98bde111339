"""Take out menus, comments, notices and advertisements: names nominate, and what an element is decides."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from lxml.html import HtmlElement

from corpus.markup import remove_elements
from corpus.weights import CONTROLS, HEADINGS, Weight, weigh

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
_LEAST_CHARS = 25
_LARGEST_SHARE = 0.5
"""An element that holds more of the page's text than this is content, whatever it is called."""
_LARGEST_THREAD = 0.9
_LONGEST_NOTICE = 500
_BOXES = frozenset({"center", "div", "ol", "p", "section", "table", "ul"})
_LEAST_LINKS = 3
_BOX_LINKED = 0.7


def remove_boilerplate(tree: HtmlElement) -> None:
    """Take out of `tree`, in place, what is not its content."""
    weights = weigh(tree)
    threads = set(_threads(weights))
    whole = weights[tree].chars
    remove_elements(
        tree,
        [
            element
            for element, weight in weights.items()
            if element.tag == "nav"
            or element.tag in CONTROLS
            or element.get("role", "") in _MENU_ROLES
            or (element in threads and weight.chars < _LARGEST_THREAD * whole)
            or _is_boilerplate(element, weight, whole)
            or (_is_link_box(element, weight) and weight.chars <= _LARGEST_SHARE * whole)
        ],
    )


def _threads(weights: Mapping[HtmlElement, Weight]) -> Iterator[HtmlElement]:
    """Yield the elements that are named after comments and hold several that are."""
    named = [each for each in weights if _COMMENT.search(_names(each))]
    inside = Counter(above for each in named for above in each.iterancestors())
    yield from (each for each in named if inside[each] >= _LEAST_COMMENTS and _may_go(each))


def _is_boilerplate(element: HtmlElement, weight: Weight, whole: int) -> bool:
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
    if weight.chars < _LEAST_CHARS and element.tag not in _TAGS:
        return True
    return has_wording and not (weight.chars > _LONGEST_NOTICE and weight.is_section)


def _is_link_box(element: HtmlElement, weight: Weight) -> bool:
    """Return whether the element holds links and hardly anything else, and is no list in an article."""
    if element.tag not in _BOXES or weight.links < _LEAST_LINKS or weight.prose or weight.tables:
        return False
    if weight.linked <= _BOX_LINKED * weight.chars:
        return False
    before = element.getprevious()
    if before is not None and (before.tag in HEADINGS or before.tag == "p"):
        return False
    return not weight.headings or next(element.iterancestors("main", "article"), None) is None


def _may_go(element: HtmlElement) -> bool:
    return element.tag not in ("html", "body", "main", "article")


def _names(element: HtmlElement) -> str:
    return f"{element.get('id', '')} {element.get('class', '')}"
