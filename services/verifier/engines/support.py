"""How well the evidence carries the answer: what is found, what is missing, and what speaks against it."""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from services.verifier.engines.binding import Value, values_of
from services.verifier.engines.claims import Claim
from services.verifier.engines.comparison import Comparison, check_comparison
from services.verifier.engines.concepts import concept
from services.verifier.engines.dates import agrees
from services.verifier.engines.enumerations import missing_items
from services.verifier.engines.missing import CheckedValues, check_values, missing_names
from services.verifier.engines.names import entity_words, folded, missing_words, name_runs, stands_elsewhere
from services.verifier.engines.passages import Sentence
from services.verifier.engines.polarity import conflicts
from services.verifier.engines.relating import Relating, new_names, relate
from services.verifier.engines.stated import check_stated

_SECOND_SENTENCE = 0.85  # what a second sentence adds counts a little less
_CONTEXT = 0.8  # a term found only in the passage's first sentence
_VALUE_MERIT = 1.6  # a value says more about where it was found than a word
_EXCEPT = re.compile(r"\b(?:except|excluding|apart from|but not)\b[^.;\n]*$", re.IGNORECASE)
_OF_THE_ENTITY = re.compile(
    r"\W*(?:it(?! was (?:in )?\d)|its|he|his|she|her|they|their|this|these|there)\b", re.IGNORECASE
)
_ALL_THAT_IS_TOLD = 0.75
_MOST_SENTENCES = 4


@dataclass(frozen=True, slots=True)
class Features:
    """Shares in 0..1; `FALLING` names those that argue against support."""

    coverage: float
    new_coverage: float
    matched_values: float
    entity: float
    comparison: float
    missing_numbers: float
    missing_dates: float
    missing_names: float
    missing_items: float
    missing_terms: float
    misbound: float
    derived_numbers: float
    relation: float
    unsaid_relation: float
    other_relation: float
    negation: float
    contradicted: float

    def vector(self) -> tuple[float, ...]:
        """The fields in declaration order."""
        return astuple(self)


FALLING = frozenset(
    {
        "missing_numbers",
        "missing_dates",
        "missing_names",
        "missing_items",
        "missing_terms",
        "misbound",
        "derived_numbers",
        "unsaid_relation",
        "other_relation",
        "negation",
        "contradicted",
    }
)


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """One claim against the evidence; the tuples hold what was not found, as the answer spells it."""

    sentence: Sentence | None
    features: Features
    numbers: tuple[str, ...]
    dates: tuple[str, ...]
    misbound: tuple[str, ...]
    other: tuple[str, ...]
    names: tuple[str, ...]
    terms: tuple[str, ...]
    denied: tuple[str, ...]
    comparison: str


def support_of(
    question: str, claim: Claim, sentences: Sequence[Sentence], entity: str | None
) -> ClaimSupport:
    """Weigh one claim against all sentences of the evidence."""
    comparison = check_stated(claim, sentences, entity) or check_comparison(
        claim.text, _rivals(question, entity), sentences
    )
    holds = comparison is not None and comparison.holds
    chosen = _chosen(claim, sentences, comparison)
    values = check_values(question, claim, sentences, settled=holds)
    related = _related(question, claim, values, sentences, entity, comparison)
    names = missing_names(claim, sentences, entity)
    explained = claim.new_terms if holds else related.explained
    items = missing_items(claim, claim.known | explained, sentences)
    denied = conflicts(claim.facts.stances, _stances(claim, chosen[0])) if chosen else []
    absent = [stem for stem in claim.new_terms - explained if not _has(chosen, stem)]
    features = Features(
        coverage=_coverage([w.stem for w in claim.terms if w.stem not in explained], chosen, comparison),
        new_coverage=_coverage(sorted(claim.new_terms - explained), chosen, comparison),
        matched_values=float(values.found > 0 or _finds_new_name(question, claim, entity, chosen)),
        entity=_entity(entity, claim, chosen, sentences),
        comparison=float(holds),
        missing_numbers=min(1.0, len(values.missing_numbers)),
        missing_dates=min(1.0, len(values.missing_dates)),
        missing_names=min(1.0, len(names)),
        missing_items=min(1.0, len(items)),
        missing_terms=_missing_share(
            claim, absent, told=values.found > 0 or _names_late(question, claim, entity)
        ),
        misbound=min(1.0, len(values.misbound)),
        derived_numbers=min(1.0, values.derived),
        relation=float(related.said),
        unsaid_relation=float(related.unsaid),
        other_relation=min(1.0, len(related.other)),
        negation=float(bool(denied)),
        contradicted=float(comparison is not None and not comparison.holds),
    )
    return ClaimSupport(
        sentence=chosen[0] if chosen else None,
        features=features,
        numbers=_spelled(claim, values.missing_numbers),
        dates=_spelled(claim, values.missing_dates),
        misbound=_spelled(claim, values.misbound),
        other=related.other,
        names=(*names, *items),
        terms=tuple(w.text for w in claim.terms if w.stem not in explained and not _has(chosen, w.stem)),
        denied=tuple(denied),
        comparison=comparison.detail if comparison else "",
    )


def _names_late(question: str, claim: Claim, entity: str | None) -> bool:
    """Whether it tells a name, and does not only begin with one ("Ann Dunn studied botany")."""
    return any(run[0].start > 0 for run in new_names(question, claim, entity))


def _missing_share(claim: Claim, absent: Sequence[str], told: bool) -> float:
    """How much of what is said in plain words is missing; more when plain words are all that is told."""
    share = min(1.0, len(absent) / 2)
    named = {word.stem for run in claim.names for word in run}
    plain = claim.new_terms - named
    if told or not plain:
        return share
    return max(share, _ALL_THAT_IS_TOLD * len(plain & set(absent)) / len(plain))


def _stances(claim: Claim, sentence: Sentence) -> dict[str, bool]:
    """What the sentence says of the claim's day: "open daily except Monday" says the opposite of Monday."""
    facts = sentence.facts
    days = [date for date in facts.dates if any(date.weekdays and agrees(d, date) for d in claim.facts.dates)]
    if "open" in facts.stances and any(_EXCEPT.search(facts.text[: day.start]) for day in days):
        return {**facts.stances, "open": not facts.stances["open"]}
    return facts.stances


def _related(
    question: str,
    claim: Claim,
    values: CheckedValues,
    sentences: Sequence[Sentence],
    entity: str | None,
    comparison: Comparison | None,
) -> Relating:
    """Nothing is asked of comparisons, computed values and claims that were said with other words."""
    if comparison is not None or values.derived:
        return Relating()
    related = relate(question, claim, values.good, sentences, entity)
    in_words = all(any(_has((sentence,), stem) for sentence in sentences) for stem in related.explained)
    return replace(related, unsaid=related.unsaid and not in_words)


def _finds_new_name(question: str, claim: Claim, entity: str | None, chosen: Sequence[Sentence]) -> bool:
    return any(
        not missing_words((word.text for word in run), sentence.facts.folded_words)
        for run in new_names(question, claim, entity)
        for sentence in chosen
    )


def _spelled(claim: Claim, values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(claim.text[value.start : value.end] for value in values)


def _rivals(question: str, entity: str | None) -> list[str]:
    """Names that an unfinished comparison may be about."""
    sides = question.replace("?", "").replace(" than ", " or ").split(" or ")
    return [*(side.split(",")[-1] for side in sides if len(sides) > 1), *([entity] if entity else [])]


def _chosen(
    claim: Claim, sentences: Sequence[Sentence], comparison: Comparison | None
) -> tuple[Sentence, ...]:
    """The sentence that says most of the claim, then those that add to it."""
    if comparison is not None:
        return comparison.sentences
    chosen: list[Sentence] = []
    for _ in range(_MOST_SENTENCES):
        rest = [sentence for sentence in sentences if sentence not in chosen]
        best = max(rest, key=lambda sentence: _merit(claim, (*chosen, sentence)), default=None)
        if best is None or _merit(claim, (*chosen, best)) <= _merit(claim, chosen) + 1e-9:
            break
        chosen.append(best)
    return tuple(chosen)


def _merit(claim: Claim, chosen: Sequence[Sentence]) -> float:
    if not chosen:
        return 0.0
    values = sum(any(value.found_in(sentence.facts) for sentence in chosen) for value in values_of(claim))
    terms = sum((1.5 if w.stem in claim.new_terms else 1.0) * _has(chosen, w.stem) for w in claim.terms)
    subject = sum(0.5 for part in claim.subject if part in chosen[0].passage_words)
    return _VALUE_MERIT * values + terms + subject


def _has(chosen: Sequence[Sentence], stem: str) -> float:
    """How well a term is found: in the best sentence, in a further one, or in its passage's opening."""
    for position, sentence in enumerate(chosen):
        facts = sentence.facts
        if concept(stem) in facts.concepts or any(_akin(stem, other) for other in facts.stems):
            return 1.0 if position == 0 else _SECOND_SENTENCE
    return _CONTEXT if any(stem in sentence.context for sentence in chosen) else 0.0


def _akin(stem: str, other: str) -> bool:
    """Long stems that share their beginning ("paint", "painter"): one root, another ending."""
    shorter, longer = sorted((stem, other), key=len)
    return len(shorter) >= 5 and longer.startswith(shorter) and len(longer) - len(shorter) <= 3


def _coverage(stems: Sequence[str], chosen: Sequence[Sentence], comparison: Comparison | None) -> float:
    if not stems:
        return 1.0
    found = sum(_has(chosen, stem) for stem in stems) / len(stems)
    return max(found, 0.9) if comparison is not None and comparison.holds else found


def _entity(
    entity: str | None, claim: Claim, chosen: Sequence[Sentence], sentences: Sequence[Sentence]
) -> float:
    """1: the chosen passage is about the entity; less when it is only named elsewhere or not at all."""
    if not entity or not chosen:
        return 1.0 if not entity else 0.0
    wanted = entity_words(entity)
    if any(stands_elsewhere(entity, sentence.facts.text) for sentence in sentences):
        return 0.3
    if any(not missing_words(wanted, sentence.passage_words) for sentence in chosen):
        return 1.0
    own = () if _OF_THE_ENTITY.match(claim.text) else claim.name_words
    about_its_subject = bool(own) and any(not missing_words(own, s.passage_words) for s in chosen)
    elsewhere = any(not missing_words(wanted, sentence.passage_words) for sentence in sentences)
    if elsewhere and (about_its_subject or _is_bridged(wanted, chosen, sentences)):
        return 0.95
    if about_its_subject:
        return 0.8
    return 0.3 if elsewhere else 0.0


def _is_bridged(wanted: Sequence[str], chosen: Sequence[Sentence], sentences: Sequence[Sentence]) -> bool:
    """Whether a sentence on the entity names what the chosen passage is about (its author, its museum)."""
    known = set(map(folded, wanted))
    return any(
        not missing_words((word.text for word in run), passage.passage_words)
        for about in sentences
        if not missing_words(wanted, about.facts.folded_words)
        for run in name_runs(about.facts.text)
        if not {folded(word.text) for word in run} <= known
        for passage in chosen
    )
