"""The part of a page that holds its main text."""

from lxml.html import HtmlElement

from corpus.markup import remove_elements
from corpus.weights import HEADINGS, Weight, weigh

_LEAST_CHARS = 1_000
"""A shorter page is read whole: its text is too thin to find the main part by where prose stands."""
_SHARE = 0.8
"""The main part has this share of the prose."""
_WHOLE_SHARE = 0.3
_WHOLES = ("//main|//*[@role='main']", "//article|//*[@itemprop='articleBody']")
_ASIDE = frozenset({"aside", "dialog", "footer", "form", "header", "nav"})


def main_part(tree: HtmlElement) -> HtmlElement:
    """Return the element that holds the main text, and take out of it, in place, what is no section of it.

    From the page, or its one `main` or `article`, it goes down to the smallest element with nearly all prose.
    Of what stands beside the way there, sections stay: a heading with text, or a table.
    """
    weights = weigh(tree)
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


def _start(tree: HtmlElement, weights: dict[HtmlElement, Weight]) -> HtmlElement:
    """Return the only `main` or `article` with much prose, or the page."""
    enough = max(1, _WHOLE_SHARE * weights[tree].prose)
    for path in _WHOLES:
        wholes = [each for each in tree.xpath(path) if weights[each].prose >= enough]
        outermost = [each for each in wholes if not any(above in wholes for above in each.iterancestors())]
        if len(outermost) == 1:
            return outermost[0]
    return tree


def _belongs(element: HtmlElement, weight: Weight) -> bool:
    if element.tag in HEADINGS:
        return not weight.teasers
    if weight.is_section:
        return element.tag not in _ASIDE
    is_inside = next(element.iterancestors("main", "article"), None) is not None
    return is_inside and (not weight.is_linked or weight.headings > 2 * weight.teasers)
