"""The answer, cut into claims; a bare "yes" or "no" takes its claim from the question."""

import re
from dataclasses import dataclass, replace

from services.verifier.engines.concepts import concept
from services.verifier.engines.givens import supposed_concepts
from services.verifier.engines.names import entity_words, folded, name_runs
from services.verifier.engines.passages import Facts, facts_of
from services.verifier.engines.text import Word, sentences_of, word_set, words_of

_YES_NO = re.compile(r"^\s*(yes|no|yeah|nope)\b[\s,.;:!–—-]*", re.IGNORECASE)
_ROUGHLY = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|circa|ca\.)\s", re.IGNORECASE
)
_ROUGH_TOLERANCE = 0.05
_FILLERS = word_set(
    """takes take took place happens happened held located called named known total together altogether answer
    result number costs cost according evidence states thing question there's titled long made"""
)


_TYPE_OF_DATE = word_set("date dates year day days month time")
_TYPE_OF_NUMBER = word_set("number count amount figure")
_TYPE_OF_NAME = word_set("name place person town city")
_COMPARED = re.compile(
    r"(\b(?:[a-z]{3,}er|more|less|fewer|most|least)\b[^;]*);\s+(?=[^;]*\d)", re.IGNORECASE
)  # "X has more sugar, 9 g; Y has 4 g"


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of the answer.

    `terms`: its content words; `known`: stems that the question or the entity's name has; `new_terms`: stems
    of the terms that they have not; `names`: runs of name words; `subject`: folded words of the entity when
    the claim names nothing; `tolerance`: how far numbers may be off, because the answer says "about".
    """

    text: str
    facts: Facts
    terms: tuple[Word, ...]
    known: frozenset[str]
    new_terms: frozenset[str]
    names: tuple[tuple[Word, ...], ...]
    subject: tuple[str, ...]
    tolerance: float

    @property
    def name_words(self) -> tuple[str, ...]:
        """All words of all names, folded."""
        return tuple(folded(word.text) for run in self.names for word in run)


def claims_of(question: str, answer: str, entity: str | None) -> list[Claim]:
    """The claims in order; at least one for any answer with words."""
    verdict = _YES_NO.match(answer)
    rest = answer[verdict.end() :] if verdict else answer
    if verdict and not any(word.is_content for word in words_of(rest)):
        return [_restated(question, entity, verdict[1].casefold() in {"no", "nope"})]
    known = frozenset(word.stem for word in (*words_of(question), *words_of(entity or "")))
    known |= supposed_concepts(question)
    whole = _COMPARED.sub(r"\1, ", rest)
    texts = [whole[start:end] for start, end in sentences_of(whole)]
    return [_claim(text, known, entity) for text in texts if words_of(text)]


def _claim(text: str, known: frozenset[str], entity: str | None) -> Claim:
    facts = facts_of(text)
    numeric = [(q.start, q.end) for q in facts.quantities] + [(d.start, d.end) for d in facts.dates]
    names = tuple(name_runs(text, numeric))
    types = _types(facts, names)
    terms = tuple(
        word
        for word in words_of(text)
        if word.is_content
        and word.text.casefold() not in _FILLERS
        and not any(start <= word.start < end for start, end in numeric)
        and word.text not in types
    )
    return Claim(
        text=text,
        facts=facts,
        terms=terms,
        known=known,
        new_terms=frozenset(word.stem for word in terms if concept(word.stem) not in known) - known,
        names=names,
        subject=() if names else tuple(map(folded, entity_words(entity or ""))),
        tolerance=_ROUGH_TOLERANCE if _ROUGHLY.search(text) else 0.0,
    )


def _types(facts: Facts, names: tuple[tuple[Word, ...], ...]) -> frozenset[str]:
    """Words that only say of which type the value is ("the closing day is Friday"), where there is one."""
    types = _TYPE_OF_DATE if facts.dates else frozenset[str]()
    types |= _TYPE_OF_NUMBER if facts.quantities else frozenset()
    return types | (_TYPE_OF_NAME if names else frozenset())


def _restated(question: str, entity: str | None, denied: bool) -> Claim:
    """The question as a statement: its words, affirmed or denied."""
    claim = _claim(question, frozenset(), entity)
    stances = {word: said is not denied for word, said in claim.facts.stances.items()}
    return replace(claim, facts=replace(claim.facts, stances=stances), new_terms=frozenset())
