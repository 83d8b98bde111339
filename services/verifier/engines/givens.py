"""What the question itself states as the case ("if I bought it in June"), and the answer may repeat."""

import re

from services.verifier.engines.concepts import concept
from services.verifier.engines.text import words_of

_CLAUSE = re.compile(
    r"[,;:.?!]\s+|\s(?=(?:if|when (?:it|i|we|he|she|this)|given|assuming|supposing)\b)", re.IGNORECASE
)
_SUPPOSED = re.compile(
    r"\b(?:if|assuming|supposing|suppose|given that|i|i'm|i’m|i've|i’ve|we|my|our|someone|somebody)\b"
    r"|^\W*(?:when (?:it|i|we|he|she|this) \w+ )?(?:bought|purchased|ordered|opened|received|acquired|got)\b",
    re.IGNORECASE,
)
_REACH = 2  # words before the value that say what it is of


def supposed_clauses(question: str) -> list[str]:
    """The question's clauses that tell a circumstance instead of asking for one."""
    return [clause for clause in _CLAUSE.split(question) if clause and _SUPPOSED.search(clause)]


def says_same(clause: str, before: str) -> bool:
    """Whether the words right before a value of the answer are, in meaning, the clause's own."""
    said = {concept(word.stem) for word in words_of(clause) if word.is_content}
    leading = [concept(word.stem) for word in words_of(before) if word.is_content][-_REACH:]
    return bool(leading) and leading[-1] in said


def supposed_concepts(question: str) -> frozenset[str]:
    """Concepts of the circumstances' content words."""
    clauses = supposed_clauses(question)
    return frozenset(concept(w.stem) for clause in clauses for w in words_of(clause) if w.is_content)
