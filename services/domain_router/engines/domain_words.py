"""Everyday nouns and verbs by domain: what a few hundred labelled questions cannot teach."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FILE = Path(__file__).with_name("domain_words.json")
_WORD = re.compile(r"[^\W_]+")


def evidence(text: str, domains: int) -> NDArray[np.float64]:
    """For each domain, in `Domain`'s order: how many of the text's different words belong to it.

    A word of several domains is shared out between them.
    """
    table = _table()
    totals = np.zeros(domains)
    for word in set(map(singular, _WORD.findall(text.casefold()))):
        owners = table.get(word, ())
        for owner in owners:
            totals[owner] += 1.0 / len(owners)
    return totals


def singular(word: str) -> str:
    """A crude singular, the same for both sides of the comparison."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith("es") and word[-3] in "sxhz":
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


@cache
def _table() -> dict[str, tuple[int, ...]]:
    listed: dict[str, str] = json.loads(_FILE.read_text("utf-8"))
    table: dict[str, tuple[int, ...]] = {}
    for domain, words in enumerate(listed.values()):
        for word in set(map(singular, words.split())):
            table[word] = (*table.get(word, ()), domain)
    return table
