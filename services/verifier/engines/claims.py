"""The question, and the answer cut into claims; a bare "yes" or "no" takes its claim from the question."""

import re
from dataclasses import dataclass

from language.names import name_words
from language.paraphrase import expansions
from language.quantities import Quantity
from language.questions import AnswerType, Question, read_question
from language.reference import pointer
from language.sentences import sentences
from language.words import STOP_WORDS, content_stems, words
from services.verifier.engines.evidence import MOST_CHARS, Facts, Value, read

_YES_NO = re.compile(r"\s*(yes|no)\s*(?:[,.:;!–—-]\s*|\Z)", re.IGNORECASE)
_BARE_TYPES = frozenset(
    {"date", "year", "month", "day", "time", "number", "amount", "name", "place", "person"}
)
"""Words that say no more of an answer than its type: "the year of X is 1827"."""
_MOST_CLAIMS = 24
"""Sentences of an answer that are judged one by one; the last holds all that is left."""
_TYPED_BY_NOUN = frozenset({AnswerType.DATE, AnswerType.PLACE, AnswerType.PERSON})


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about `entity`, if that is known.

    `topics`: the other names in it. `relation`: stems of what is asked of the thing: the content words less
    names, "this bridge" and the noun for the answer's type; `sought`: with that noun. `known`: stems that an
    answer may repeat, in these words or others, without saying anything.
    """

    question: Question
    facts: Facts
    entity: str | None
    topics: tuple[str, ...]
    relation: frozenset[str]
    sought: frozenset[str]
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of the answer. `verdict`: True after a "yes", False after a "no"; `restates`: it is bare.

    `values`: its amounts and dates, without the bare numbers in names ("Fiat 500"). `new_names`, `terms`:
    names, and stems of other words, that question and entity do not bring in.
    """

    asked: Asked
    facts: Facts
    verdict: bool | None
    restates: bool
    values: tuple[Value, ...]
    new_names: tuple[str, ...]
    terms: frozenset[str]


def ask(text: str, entity: str | None) -> Asked:
    """Read a question."""
    question, facts = read_question(text), read(text)
    own = frozenset(name_words(entity or ""))
    topics = tuple(name.text for name in question.names if not own.issuperset(name_words(name.text)))
    shown = pointer(text) if entity and question.wanted is not AnswerType.YES_NO else None
    asked = [w for w in question.terms if shown is None or not shown.start <= w.start < shown.end]
    focus, named = frozenset(question.focus), content_stems(" ".join([entity or "", *topics]))
    terms = frozenset(word.stem for word in asked) - named
    known = facts.stems | content_stems(entity or "")
    return Asked(
        question=question,
        facts=facts,
        entity=entity,
        topics=topics,
        relation=terms - focus if question.wanted in _TYPED_BY_NOUN else terms,
        sought=terms | focus,
        known=known.union(*map(expansions, known)),
    )


def claims_of(question: str, answer: str, entity: str | None) -> list[Claim]:
    """The claims in order; none for an answer without words."""
    asked = ask(question, entity)
    said = _YES_NO.match(answer)
    verdict = said[1].lower() == "yes" if said else None
    rest = answer[said.end() :] if said else answer
    if said and not words(rest):
        return [Claim(asked, asked.facts, verdict, True, asked.facts.values, (), frozenset())]
    found = [each for each in sentences(rest) if words(each.text)]
    texts = [each.text for each in found[: _MOST_CLAIMS - 1]]
    texts += [rest[each.start :] for each in found[_MOST_CLAIMS - 1 : _MOST_CLAIMS]]
    pieces = (text[start : start + MOST_CHARS] for text in texts for start in range(0, len(text), MOST_CHARS))
    return [_claim(asked, piece, verdict) for piece in pieces if words(piece)]


def _claim(asked: Asked, text: str, verdict: bool | None) -> Claim:
    facts = read(text)
    values = tuple(value for value in facts.values if not _is_in_name(value, facts))
    old = frozenset(words(asked.question.text)).union(name_words(asked.entity or ""))
    named = tuple(
        name.text
        for name in facts.names
        if not old.issuperset(name_words(name.text))
        and not any(value.start < name.end and name.start < value.end for value in values)
        and (name.start > 0 or " " in name.text)  # a single word at the start may be any word
    )
    paid = any(amount.dimension.startswith("money") for amount in facts.quantities)
    known = asked.known.union(
        _BARE_TYPES, content_stems(" ".join(named)), expansions("price") if paid else ()
    )
    told = [word for word in facts.words if not any(v.start <= word.start < v.end for v in values)]
    terms = frozenset(word.stem for word in told if word.folded not in STOP_WORDS) - known
    return Claim(asked, facts, verdict, False, values, named, terms)


def _is_in_name(value: Value, facts: Facts) -> bool:
    bare = isinstance(value, Quantity) and not value.dimension
    return bare and any(name.start < value.start < name.end for name in facts.names)
