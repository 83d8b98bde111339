"""What of a claim the evidence lacks: its numbers, dates and names."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.verifier.engines.binding import Value, is_given, is_misbound, values_of
from services.verifier.engines.claims import Claim
from services.verifier.engines.derivation import follows, is_computed
from services.verifier.engines.names import folded, missing_words, stands_elsewhere, trailing_place
from services.verifier.engines.passages import Facts, Sentence, facts_of, spelled_words
from services.verifier.engines.text import Word


@dataclass(frozen=True, slots=True)
class CheckedValues:
    """The claim's numbers and dates by what became of them; `good`: found and in their place."""

    good: tuple[Value, ...]
    missing_numbers: tuple[Value, ...]
    missing_dates: tuple[Value, ...]
    misbound: tuple[Value, ...]
    derived: int

    @property
    def found(self) -> int:
        """How many the evidence bears out."""
        return len(self.good)


def check_values(question: str, claim: Claim, sentences: Sequence[Sentence], settled: bool) -> CheckedValues:
    """Look up every value that the question does not give; `settled`: it is known whose values they are."""
    asked = facts_of(question)
    near: list[Facts] = [sentence.facts for sentence in sentences]
    computed = is_computed(question, claim.text)
    values = [value for value in values_of(claim) if not is_given(claim, value, asked, computed)]
    missing = [value for value in values if not any(map(value.found_in, near))]
    misbound = [v for v in values if v not in missing and is_misbound(claim, v, sentences)]
    if "=" in claim.text or settled:
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
    if derived:  # the years that an age was worked out from
        misbound = [value for value in misbound if (value.start, value.end) in quantities]
    missing = [value for value in missing if value not in derived]
    return CheckedValues(
        good=tuple(good),
        missing_numbers=tuple(v for v in missing if (v.start, v.end) in quantities),
        missing_dates=tuple(v for v in missing if (v.start, v.end) not in quantities),
        misbound=tuple(v for v in misbound if v not in derived),
        derived=len(derived),
    )


def missing_names(claim: Claim, sentences: Sequence[Sentence], entity: str | None) -> list[str]:
    """Name words that the evidence lacks, and names whose last two words never stand together there."""
    words = {word for sentence in sentences for word in sentence.passage_words}
    read = {word for sentence in sentences for word in sentence.facts.folded_words}
    pairs = {pair for sentence in sentences for pair in sentence.facts.pairs}
    place = set(spelled_words(trailing_place(entity or "")))
    elsewhere = any(stands_elsewhere(entity or "", sentence.facts.text) for sentence in sentences)
    missing = []
    for run in claim.names:
        if {folded(word.text) for word in run} <= place and not elsewhere:
            continue
        absent = missing_words((word.text for word in run), words)
        missing += absent
        if len(run) < 2 or absent:
            continue
        last = _pair(run[-2], run[-1])
        if last not in pairs and set(last) <= read and not _two_names(claim.text, run, pairs):
            missing.append(" ".join(word.text for word in run))
    return missing


def _pair(one: Word, other: Word) -> tuple[str, str]:
    return folded(one.text), folded(other.text)


def _two_names(text: str, run: Sequence[Word], pairs: set[tuple[str, str]]) -> bool:
    """ "At Holm Stores Painting the Diary costs ...": one name ends where the next begins."""
    following = spelled_words(text[run[-1].end :])[:1]
    return (
        len(run) > 2
        and _pair(run[-3], run[-2]) in pairs
        and any((folded(run[-1].text), word) in pairs for word in following)
    )
