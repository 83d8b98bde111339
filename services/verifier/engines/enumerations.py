"""Lists in an answer: each item is looked up for itself."""

import re
from collections.abc import Sequence
from itertools import pairwise

from services.verifier.engines.claims import Claim
from services.verifier.engines.concepts import concept
from services.verifier.engines.names import folded, missing_words
from services.verifier.engines.passages import Sentence
from services.verifier.engines.text import STOPWORDS, Word, word_set, words_of

_BREAK = re.compile(r"\s*(?:,\s+and|,\s+or|,|\band\b|\bor\b|&)\s+", re.IGNORECASE)
_LONGEST = 5  # words of an item
_NO_ITEM = STOPWORDS - word_set("a an the of in on at by to for from with my")


def missing_items(claim: Claim, known: frozenset[str], sentences: Sequence[Sentence]) -> list[str]:
    """Items of the claim's list with a word that no passage has; `known`: stems that need no finding."""
    words = {word for sentence in sentences for word in sentence.passage_words}
    concepts = {name for sentence in sentences for name in sentence.facts.concepts}
    missing = []
    for item in items_of(claim):
        wanted = [w for w in item if w.is_content and w.stem not in known and not w.text[0].isdigit()]
        absent = [
            word.text
            for word in wanted
            if concept(word.stem) not in concepts and missing_words([folded(word.text)], words)
        ]
        if absent:
            missing.append(claim.text[item[0].start : item[-1].end])
    return missing


def items_of(claim: Claim) -> list[tuple[Word, ...]]:
    """The items of the list, first to last: short pieces between commas and "and"; none when there is one."""
    cuts = [match.span() for match in _BREAK.finditer(claim.text) if not _inside_value(claim, *match.span())]
    if not cuts:
        return []
    words = words_of(claim.text)
    edges = [(0, 0), *cuts, (len(claim.text), len(claim.text))]
    pieces = [tuple(w for w in words if left[1] <= w.start < right[0]) for left, right in pairwise(edges)]
    items = [piece for piece in pieces[1:] if _is_item(piece)]
    return items if len(items) == len(pieces) - 1 else []


def _is_item(piece: Sequence[Word]) -> bool:
    return 0 < len(piece) <= _LONGEST and not any(word.text.casefold() in _NO_ITEM for word in piece)


def _inside_value(claim: Claim, start: int, end: int) -> bool:
    """Whether the cut falls into a number, a date or a range such as "between 24 and 30 kg"."""
    places = [(q.start, q.end) for q in claim.facts.quantities] + [
        (d.start, d.end) for d in claim.facts.dates
    ]
    return any(a < end and start < b for a, b in places) or (
        any(b == start for _, b in places) and any(a == end for a, _ in places)
    )
