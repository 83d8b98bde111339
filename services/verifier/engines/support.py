"""How well the evidence carries the answer: what is found, what is missing, and what speaks against it."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from services.verifier.engines.binding import Value, is_given, is_misbound, values_of
from services.verifier.engines.claims import Claim
from services.verifier.engines.comparison import Comparison, check_comparison
from services.verifier.engines.concepts import concept
from services.verifier.engines.derivation import follows, is_computed
from services.verifier.engines.names import entity_words, folded, missing_words
from services.verifier.engines.passages import Facts, Sentence, facts_of
from services.verifier.engines.polarity import conflicts

_SECOND_SENTENCE = 0.85  # what a second sentence adds counts a little less
_CONTEXT = 0.8  # a term found only in the passage's first sentence
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
    missing_terms: float
    misbound: float
    derived_numbers: float
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
        "missing_terms",
        "misbound",
        "derived_numbers",
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
    names: tuple[str, ...]
    terms: tuple[str, ...]
    denied: tuple[str, ...]
    comparison: str


@dataclass(frozen=True, slots=True)
class _Values:
    """The claim's numbers and dates by what became of them."""

    missing_numbers: tuple[Value, ...]
    missing_dates: tuple[Value, ...]
    misbound: tuple[Value, ...]
    derived: int
    found: int


def support_of(
    question: str, claim: Claim, sentences: Sequence[Sentence], entity: str | None
) -> ClaimSupport:
    """Weigh one claim against all sentences of the evidence."""
    comparison = check_comparison(claim.text, _rivals(question, entity), sentences)
    chosen = _chosen(claim, sentences, comparison)
    values = _values(question, claim, sentences)
    names = _missing_names(claim, sentences)
    denied = conflicts(claim.facts.stances, chosen[0].facts.stances) if chosen else []
    features = Features(
        coverage=_coverage([word.stem for word in claim.terms], chosen, comparison),
        new_coverage=_coverage(sorted(claim.new_terms), chosen, comparison),
        matched_values=float(values.found > 0),
        entity=_entity(entity, claim, chosen, sentences),
        comparison=float(comparison is not None and comparison.holds),
        missing_numbers=min(1.0, len(values.missing_numbers)),
        missing_dates=min(1.0, len(values.missing_dates)),
        missing_names=min(1.0, len(names)),
        missing_terms=min(1.0, len([stem for stem in claim.new_terms if not _has(chosen, stem)]) / 2),
        misbound=min(1.0, len(values.misbound)),
        derived_numbers=min(1.0, values.derived),
        negation=float(bool(denied)),
        contradicted=float(comparison is not None and not comparison.holds),
    )
    return ClaimSupport(
        sentence=chosen[0] if chosen else None,
        features=features,
        numbers=_spelled(claim, values.missing_numbers),
        dates=_spelled(claim, values.missing_dates),
        misbound=_spelled(claim, values.misbound),
        names=tuple(names),
        terms=tuple(word.text for word in claim.terms if not _has(chosen, word.stem)),
        denied=tuple(denied),
        comparison=comparison.detail if comparison else "",
    )


def _spelled(claim: Claim, values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(claim.text[value.start : value.end] for value in values)


def _rivals(question: str, entity: str | None) -> list[str]:
    """Names that an unfinished comparison may be about."""
    sides = question.replace("?", "").replace(" than ", " or ").split(" or ")
    return [*(side.split(",")[-1] for side in sides if len(sides) > 1), *([entity] if entity else [])]


def _values(question: str, claim: Claim, sentences: Sequence[Sentence]) -> _Values:
    asked = facts_of(question)
    near: list[Facts] = [sentence.facts for sentence in sentences]
    computed = is_computed(question, claim.text)
    values = [value for value in values_of(claim) if not is_given(claim, value, asked, computed)]
    missing = [value for value in values if not any(map(value.found_in, near))]
    misbound = [v for v in values if v not in missing and is_misbound(claim, v, sentences)]
    if "=" in claim.text:
        misbound = []  # a sum stands for itself
    good = [value for value in values if value not in missing and value not in misbound]
    quantities = {(q.start, q.end): q for q in claim.facts.quantities}
    used = [quantities[v.start, v.end] for v in good if (v.start, v.end) in quantities]
    derived = [
        value
        for value in (*missing, *misbound)
        if computed
        and (value.start, value.end) in quantities
        and follows(quantities[value.start, value.end], [*near, asked], used)
    ]
    missing = [value for value in missing if value not in derived]
    return _Values(
        missing_numbers=tuple(v for v in missing if (v.start, v.end) in quantities),
        missing_dates=tuple(v for v in missing if (v.start, v.end) not in quantities),
        misbound=tuple(v for v in misbound if v not in derived),
        derived=len(derived),
        found=len(good),
    )


def _missing_names(claim: Claim, sentences: Sequence[Sentence]) -> list[str]:
    """Name words that the evidence lacks, and names whose last two words never stand together there."""
    words = {word for sentence in sentences for word in sentence.facts.folded_words}
    pairs = {pair for sentence in sentences for pair in sentence.facts.pairs}
    missing = []
    for run in claim.names:
        absent = missing_words((word.text for word in run), words)
        missing += absent
        if len(run) < 2 or absent:
            continue
        last = (folded(run[-2].text), folded(run[-1].text))
        if last not in pairs and set(last) <= words and " " in claim.text[run[-2].end : run[-1].start]:
            missing.append(" ".join(word.text for word in run))
    return missing


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
    return values + terms + subject


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
    if any(not missing_words(wanted, sentence.passage_words) for sentence in chosen):
        return 1.0
    own = claim.name_words
    about_its_subject = bool(own) and any(not missing_words(own, s.passage_words) for s in chosen)
    elsewhere = any(not missing_words(wanted, sentence.passage_words) for sentence in sentences)
    if about_its_subject:
        return 0.9 if elsewhere else 0.6
    return 0.3 if elsewhere else 0.0
