"""The probability that a span answers: its features, and a curve for a model without calibration."""

import re
from collections import Counter
from collections.abc import Sequence
from heapq import nlargest
from itertools import accumulate
from math import log1p
from statistics import fmean

from chassis.calibration import LogisticCurve
from language.words import content_stems
from services.reader.engine import Passage, PassageKind, Query, Span
from services.reader.engines.spans import Candidate

FEATURES = (
    *("margin", "rank", "named", "record", "print", "margin_named", "margin_record", "margin_print"),
    *("fewer_words", "mean_margin", "details"),
)
"""Inputs of the probability. "rank": 1 for the first page of the search, 1/2 for the second; 0 for what is no
page. "named": the question is about a thing with a known name. "record", "print": the passage is an attribute
of a thing, or text in the photo. "fewer_words": how much less of the question's words the sentence has than
the candidate sentence that has most of them, in 0..1. "mean_margin": of the ten best; where much answers a
little, the best is less sure. "details": ln(1 + the question's names and numbers that neither its subject nor
the passage's title has): each is one more thing in which the passage can differ.
"""

_MEAN_OF = 10
_WORD = re.compile(r"\w+")


def uncalibrated(temperature: float = 2.0) -> LogisticCurve:
    """Return a curve for a model without calibration: the margin divided by `temperature`.

    A margin is the sum of two log odds, of the start and of the end. Both tell of the same decision, so their
    mean, temperature 2, is the guess. Fit it to questions of your own.
    """
    return LogisticCurve(0.0, (1 / temperature, *(0.0 for _ in FEATURES[1:])))


def measure(query: Query, passages: Sequence[Passage], candidates: Sequence[Candidate]) -> list[list[float]]:
    """Return the values of `FEATURES` for each candidate; the passages stand in the search's order."""
    named = float(bool(query.subject))
    pages_before = list(accumulate((each.kind is PassageKind.PAGE for each in passages), initial=0))
    shares = _word_shares(query, passages, candidates)
    most = max(shares, default=0.0)
    best = nlargest(_MEAN_OF, (each.margin for each in candidates))
    mean_margin = fmean(best) if best else 0.0
    details = _details(query)
    beside = [log1p(len(details - _words(each.title))) for each in passages]
    vectors = []
    for candidate, share in zip(candidates, shares, strict=True):
        kind, margin = passages[candidate.passage].kind, candidate.margin
        rank = 1 / (1 + pages_before[candidate.passage]) if kind is PassageKind.PAGE else 0.0
        marks = (named, float(kind is PassageKind.ATTRIBUTE), float(kind is PassageKind.PHOTO))
        by_mark = (margin * mark for mark in marks)
        vectors.append([margin, rank, *marks, *by_mark, most - share, mean_margin, beside[candidate.passage]])
    return vectors


def _details(query: Query) -> set[str]:
    """Return the names and numbers of a question, without its subject's; its first word may be any word."""
    if query.question.isupper():
        return set()
    words = _WORD.findall(query.question)[1:]
    given = {word.casefold() for word in words if word[0].isdigit() or (word[0].isupper() and len(word) > 1)}
    return given - _words(query.subject or "")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _word_shares(query: Query, passages: Sequence[Passage], candidates: Sequence[Candidate]) -> list[float]:
    """Return how much of the question's words, in 0..1, each candidate's sentence has; rare words weigh more.

    A word that is only elsewhere in the passage counts half.
    """
    stems = [content_stems(each.text) for each in passages]
    found = Counter(stem for each in stems for stem in each)
    question = content_stems(f"{query.subject or ''} {query.question}")
    weights = {stem: log1p((len(passages) + 1) / (found[stem] + 0.5)) for stem in question}
    total = sum(weights.values()) or 1.0
    shares: dict[tuple[int, Span], float] = {}  # several candidates may share one long sentence
    for candidate in candidates:
        place = (candidate.passage, candidate.sentence)
        if place not in shares:
            sentence = passages[candidate.passage].text[candidate.sentence.start : candidate.sentence.end]
            near, inside = question & stems[candidate.passage], question & content_stems(sentence)
            shares[place] = sum(weights[stem] for each in (near, inside) for stem in each) / (2 * total)
    return [shares[each.passage, each.sentence] for each in candidates]
