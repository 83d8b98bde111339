"""An answer against the stretches of a text that people marked as answers, by SQuAD's published rules.

Exact match and F1 of Rajpurkar et al. 2016, section 6.1, as the collection's official evaluation scripts
count them (v1.1 and v2.0): lower case, without ASCII punctuation and articles, white space squeezed; the best
over all golds counts. The empty answer stands for "there is no answer here".
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})


def normalised(text: str) -> str:
    """The text as both measures compare it."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(said: str, golds: Sequence[str]) -> float:
    """1 if the answer is one of the golds, else 0. No golds: 1 if nothing is said."""
    return max(float(normalised(said) == gold) for gold in _targets(golds))


def word_f1(said: str, golds: Sequence[str]) -> float:
    """The harmonic mean of precision and recall in words, 0..1, of the best gold; as `exact_match` where the
    answer or a gold is empty.
    """
    return max(_f1(normalised(said).split(), gold.split()) for gold in _targets(golds))


def says(said: str, golds: Sequence[str]) -> bool:
    """Whether a gold stands in the answer as whole words in their order.

    Two spellings are tried: SQuAD's, and words as runs of letters and digits, since the first glues together
    what punctuation parts ("red/green").
    """
    return any(_holds(spelled(said), spelled(gold)) for gold in golds for spelled in (normalised, _parted))


def _targets(golds: Sequence[str]) -> list[str]:
    return [gold for gold in map(normalised, golds) if gold] or [""]


def _f1(said: Sequence[str], gold: Sequence[str]) -> float:
    if not said or not gold:
        return float(said == gold)
    shared = (Counter(said) & Counter(gold)).total()
    return 2 * shared / (len(said) + len(gold))


def _holds(said: str, gold: str) -> bool:
    return bool(gold) and f" {gold} " in f" {said} "


def _parted(text: str) -> str:
    return " ".join(word for word in _WORD.findall(text.lower()) if word not in _ARTICLES)
