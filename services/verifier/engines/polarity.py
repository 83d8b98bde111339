"""What a text affirms and denies, clause by clause: negation, and words that are the opposite of others."""

import re
from collections.abc import Mapping

from language.words import is_negation, stem, words
from services.verifier.engines.evidence import Facts

_LIMIT = re.compile(
    r"(?:not|no)\s+(?:only|just|more|less|later|earlier|fewer|until|above|over|under|below|exceed)\b", re.I
)
"""Limits and stresses with a negator in them, which deny nothing."""
_CLAUSE = re.compile(
    r"(?:(?!\b(?:and|but|though|although|because|until|unless|while|whereas)\b)[^,;:.!?()]|[,;:.!?()](?=\S))+",
    re.I,
)
_OPPOSITES = {
    word: stem(of)
    for of, *against in map(
        str.split,
        """
        open closed shut
        allowed forbidden prohibited banned disallowed
        safe unsafe dangerous harmful
        possible impossible
        available unavailable
        alive dead
        true false
        suitable unsuitable
        included excluded
        accepted rejected refused declined
        approved rejected refused declined
        """.strip().splitlines(),
    )
    for word in against
}
"""By form, not stem: "closed" is a state, "closes at six" is a time."""


def denies(text: str) -> bool:
    """Whether something in it is negated."""
    return any(is_negation(word) for word in words(_LIMIT.sub(" ", text)))


def stances(facts: Facts) -> dict[str, bool]:
    """Stem (of opposites, that of the affirming one) -> whether the text affirms it; the last mention counts.

    Names and values are left out: it is what is said of them that is affirmed or denied.
    """
    result: dict[str, bool] = {}
    for clause in _CLAUSE.finditer(facts.text):
        denied = denies(clause.group())
        for word in facts.plain:
            if clause.start() <= word.start < clause.end():
                opposite = _OPPOSITES.get(word.folded)
                free = facts.text[word.end : word.end + 5].casefold() in ("-free", " free")
                result[opposite or word.stem] = (denied or free) is (opposite is not None)
    return result


def conflicts(claim: Mapping[str, bool], statement: Mapping[str, bool]) -> list[str]:
    """Shared words that one affirms and the other denies; none if they deny some word together."""
    shared = claim.keys() & statement.keys()
    if any(not claim[word] and not statement[word] for word in shared):
        return []
    return sorted(word for word in shared if claim[word] != statement[word])
