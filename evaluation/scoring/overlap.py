"""How much of the gold answer an answer says, word by word, without asking whether it is right."""

import re
from collections import Counter

from evaluation.judging.text import canonical

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})


def overlap(answer: str, gold: str) -> float:
    """The share of the gold answer's words that the answer has too, in 0..1; 1 where the gold has none.

    QA-Dragon (section 4.1.1) reports a "rule-based overlap" beside accuracy (about 41 % where accuracy is
    21 %), but neither its paper nor its code says how it counts. Ours is recall of words: lower case, accents
    and punctuation folded, articles left out, each word as often as it stands in both.
    """
    wanted = _words(gold)
    total = wanted.total()
    return (wanted & _words(answer)).total() / total if total else 1.0


def _words(text: str) -> Counter[str]:
    words = _WORD.findall(canonical(text).replace("'", ""))
    return Counter(word for word in words if word not in _ARTICLES)
