"""Whether the evidence gives the claim's values for the relation that the claim, and the question, state."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.verifier.engines.binding import Value
from services.verifier.engines.claims import Claim
from services.verifier.engines.concepts import concept
from services.verifier.engines.names import entity_words, folded, missing_words, name_runs
from services.verifier.engines.passages import Sentence, spelled_words
from services.verifier.engines.quantities import Quantity
from services.verifier.engines.relations import (
    GENERAL,
    exact_relations_in,
    relations_in,
    relations_near,
    wordings,
)
from services.verifier.engines.text import Word, stem, word_set, words_of

_KINDS = {"length": "length", "area": "length", "mass": "mass", "duration": "span", "": "count"}
_SLOT = re.compile(r"^\W*the\s+(?P<slot>[^,;:]+?)\s+of\s.+?\s(?:is|are|was|were)\s", re.IGNORECASE)
_COUNTED = re.compile(r"\b(?:number|count) of ([^\W\d_]+)", re.IGNORECASE)
_ANY_NOUN = word_set("peopl person guest visitor copi piec item unit place year time")
_ASKS_ADDRESS = re.compile(r"(?<!mail )(?<!web )(?<!email )\baddress\b", re.IGNORECASE)
_OPENING = 8  # characters: room for an article
_ASKS_WHICH = re.compile(r"\b(?:who|whom|whose|when|where|which|what|what's|how)\b", re.IGNORECASE)
_STREET = re.compile(
    r"(?<!\w)\d|\b(?:street|st|road|rd|lane|avenue|ave|square|quay|row|way|place|alley|court|drive|terrace|walk|hill"
    r"|market|embankment|boulevard|crescent|yard|gate)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Relating:
    """`said`: a sentence gives a value for the stated relation. `unsaid`: none says for which it does.

    `other`: the values that are given only for another relation. `explained`: stems of the claim's words
    for the relation, that need no finding.
    """

    said: bool = False
    unsaid: bool = False
    other: tuple[str, ...] = ()
    explained: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as it stands in one sentence: its kinds and places, and the noun counted there."""

    sentence: Sentence
    places: tuple[tuple[int, int], ...]
    nouns: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Found:
    """A part of the claim that the evidence has; `fits` as in `_fits`."""

    text: str
    kinds: tuple[str, ...]
    fits: bool | None


def relate(
    question: str, claim: Claim, values: Sequence[Value], sentences: Sequence[Sentence], entity: str | None
) -> Relating:
    """Compare the relations near each value in the evidence with the claim's and the question's.

    `values`: the claim's numbers and dates that the evidence has; its new names are looked up here.
    """
    asked = without_names(question)
    found = _of_values(asked, claim, values, sentences, entity)
    found += _of_names(asked, claim, new_names(question, claim, entity), sentences, entity)
    found = found or _of_words(asked, claim, sentences, entity)
    verdicts = [part.fits for part in found]
    other = tuple(part.text for part in found if part.fits is False) + _no_address(question, claim)
    said = bool(verdicts) and any(verdicts) and not other
    kinds = {kind for part in found for kind in part.kinds}
    return Relating(
        said=said,
        unsaid=bool(verdicts) and not said and not other,
        other=other,
        explained=_relation_stems(claim, kinds) if verdicts and not other else frozenset(),
    )


def _of_values(
    asked: str, claim: Claim, values: Sequence[Value], sentences: Sequence[Sentence], entity: str | None
) -> list[_Found]:
    found = []
    for value in values:
        kinds = kinds_of(claim, value)
        givens = [_Given(s, value.places_in(s.facts), _nouns_at(value, s)) for s in sentences]
        fits = _fits(asked, claim, (value.start, value.end), kinds, givens, entity)
        if fits is None and _given_to_another(claim, value, kinds, givens, entity):
            fits = False
        found.append(_Found(claim.text[value.start : value.end], kinds, fits))
    return found


def _of_names(
    asked: str,
    claim: Claim,
    runs: Sequence[tuple[Word, ...]],
    sentences: Sequence[Sentence],
    entity: str | None,
) -> list[_Found]:
    found = []
    for run in runs:
        span = (run[0].start, run[-1].end)
        givens = [_Given(s, _name_places(run, s), frozenset()) for s in sentences]
        fits = _fits(asked, claim, span, ("name",), givens, entity)
        if fits is not True:
            fits = _settled_name(asked, claim, span, givens, entity, fits)
        found.append(_Found(claim.text[slice(*span)], ("name",), fits))
    return found


def _of_words(asked: str, claim: Claim, sentences: Sequence[Sentence], entity: str | None) -> list[_Found]:
    """What is told in plain words ("The material of X is oak")."""
    words = _told_words(claim)
    givens = [_Given(s, _word_places(words, s), frozenset()) for s in sentences if words]
    if not any(given.places for given in givens):
        return []
    span = (words[0].start, words[-1].end)
    fits = _fits(asked, claim, span, ("thing",), givens, entity)
    return [_Found(claim.text[slice(*span)], ("thing",), fits)]


def new_names(question: str, claim: Claim, entity: str | None) -> list[tuple[Word, ...]]:
    """The names that neither the question nor the entity brings in."""
    asked, whole = set(spelled_words(question)), set(map(folded, entity_words(entity or "")))
    subject_end = _subject_end(claim.text)
    told = [run for run in claim.names if run[0].start >= subject_end]
    return [
        run for run in told if not {folded(word.text) for word in run} <= asked and not _is_entity(run, whole)
    ]


def _is_entity(run: Sequence[Word], whole: set[str]) -> bool:
    """Part of its name only at the claim's start ("Marsh died"): elsewhere it is told as something new."""
    words = {folded(word.text) for word in run}
    return words == whole or (words <= whole and run[0].start < _OPENING)


def _told_words(claim: Claim) -> list[Word]:
    """What "The material of X is ..." tells, when it is neither a number, a date nor a name."""
    end = _subject_end(claim.text)
    return [word for word in claim.terms if word.start >= end] if end else []


def _word_places(words: Sequence[Word], sentence: Sentence) -> tuple[tuple[int, int], ...]:
    """Where the last of the words stands in a sentence that has them all."""
    if not all(word.stem in sentence.facts.stems for word in words):
        return ()
    return tuple((w.start, w.end) for w in words_of(sentence.facts.text) if w.stem == words[-1].stem)


def _subject_end(text: str) -> int:
    """Where "The maker of X is" ends; 0 in claims of another form, where any name may be what is told."""
    match = _SLOT.match(text)
    return match.end() if match else 0


def _fits(
    asked: str,
    claim: Claim,
    place: tuple[int, int],
    kinds: tuple[str, ...],
    givens: Sequence[_Given],
    entity: str | None,
) -> bool | None:
    """True: given for that relation somewhere; False: only for others; None: it is not said for which."""
    own = relations_near(without_names(claim.text), *place, kinds)
    wanted = exact_relations_in(asked, kinds) if _ASKS_WHICH.search(asked) else frozenset()
    holders = [given for given in givens if given.places]
    of_itself = not claim.names or entity is None or not missing_words(entity_words(entity), claim.name_words)
    about = [given for given in holders if of_itself and _is_about(entity, given.sentence)]
    verdicts = {_verdict(own, wanted, claim, kinds, given) for given in about or holders}
    if True in verdicts:
        return True
    return None if None in verdicts or not verdicts else False


def _given_to_another(
    claim: Claim, value: Value, kinds: tuple[str, ...], givens: Sequence[_Given], entity: str | None
) -> bool:
    """Whether the evidence gives the stated relation another value than the claim."""
    own = relations_near(without_names(claim.text), value.start, value.end, kinds)
    pages = {given.sentence.evidence_index for given in givens if given.places}
    return bool(own) and any(
        not given.places
        and given.sentence.evidence_index in pages
        and value.rivalled_in(given.sentence.facts)
        and _is_about(entity, given.sentence)
        and bool(own & relations_in(without_names(given.sentence.facts.text), kinds))
        for given in givens
    )


def _settled_name(
    asked: str,
    claim: Claim,
    span: tuple[int, int],
    givens: Sequence[_Given],
    entity: str | None,
    fits: bool | None,
) -> bool | None:
    """Free sentences name things by the way: only what is asked, or is known of another, counts against."""
    own = relations_near(without_names(claim.text), *span, ("name",))
    if _named_otherwise(claim, span, givens, entity):
        return False
    is_told = bool(_SLOT.search(claim.text)) or bool(own & relations_in(asked, ("name",))) or not own
    return fits if is_told else None


def _named_otherwise(
    claim: Claim, span: tuple[int, int], givens: Sequence[_Given], entity: str | None
) -> bool:
    """Whether the evidence names somebody or something else for the stated relation."""
    own = relations_near(without_names(claim.text), *span, ("name",))
    known = {*map(folded, entity_words(entity or "")), *claim.name_words}
    return bool(own) and any(
        not given.places
        and _is_about(entity, given.sentence)
        and bool(own & relations_in(without_names(given.sentence.facts.text), ("name",)))
        and any(folded(run[-1].text) not in known for run in name_runs(given.sentence.facts.text))
        for given in givens
    )


def _verdict(
    own: frozenset[str], wanted: frozenset[str], claim: Claim, kinds: tuple[str, ...], given: _Given
) -> bool | None:
    text = without_names(given.sentence.facts.text)
    there = frozenset[str]().union(*(relations_near(text, *place, kinds) for place in given.places))
    if "count" in kinds and not own & there:
        return _counts_alike(claim, given)
    if not there or not (own or wanted):
        return None
    if own and there <= GENERAL and not own & there:
        return None
    return not (own and not own & there) and not (wanted and not wanted & there)


def _counts_alike(claim: Claim, given: _Given) -> bool | None:
    """ "The number of chapters is 312" and "312 pages" count different things."""
    counted = {concept(stem(noun)) for noun in _COUNTED.findall(claim.text)}
    there = {concept(noun) for noun in given.nouns - {""}}
    if not counted or not there:
        return None
    if counted & there:
        return True
    if any(concept(quantity.noun) in counted for quantity in given.sentence.facts.quantities):
        return False
    if counted & given.sentence.facts.concepts:
        return True
    return None if given.nouns & _ANY_NOUN else False


def _nouns_at(value: Value, sentence: Sentence) -> frozenset[str]:
    starts = {start for start, _ in value.places_in(sentence.facts)}
    return frozenset(q.noun for q in sentence.facts.quantities if q.start in starts)


def _name_places(run: Sequence[Word], sentence: Sentence) -> tuple[tuple[int, int], ...]:
    if missing_words((word.text for word in run), sentence.facts.folded_words):
        return ()
    exact = all(folded(word.text) in sentence.facts.folded_words for word in run[-2:])
    if exact and len(run) > 1 and tuple(folded(word.text) for word in run[-2:]) not in sentence.facts.pairs:
        return ()
    last = folded(run[-1].text)
    return tuple((w.start, w.end) for w in words_of(sentence.facts.text) if folded(w.text) == last) or (
        (0, 0),
    )


def _is_about(entity: str | None, sentence: Sentence) -> bool:
    return not entity or not missing_words(entity_words(entity), sentence.passage_words)


def kinds_of(claim: Claim, value: Value) -> tuple[str, ...]:
    """The kinds of relation (see `relations`) that a value like this can be of."""
    quantity: Quantity | None = next((q for q in claim.facts.quantities if q.start == value.start), None)
    if quantity is None:
        return ("date",)
    dimensions = {reading.dimension for reading in quantity.readings}
    kinds = {"money" if name.startswith("money") else _KINDS.get(name, name) for name in dimensions}
    return tuple(sorted(kinds))


def without_names(text: str) -> str:
    """The text with its names blanked, so that "Museum of Stolen Prizes" states nothing."""
    blank = list(text)
    for run in name_runs(text):
        for word in run:
            blank[word.start : word.end] = " " * (word.end - word.start)
    return "".join(blank)


def _relation_stems(claim: Claim, kinds: set[str]) -> frozenset[str]:
    """Stems of the words that state the relation: "The <...> of X is Y", else by the table's wordings."""
    plain = without_names(claim.text)
    slot = _SLOT.search(plain)
    spans = wordings(plain, relations_in(plain, kinds))
    if slot:
        spans.append(slot.span("slot"))
    return frozenset(
        word.stem for word in claim.terms if any(start <= word.start < end for start, end in spans)
    )


def _no_address(question: str, claim: Claim) -> tuple[str, ...]:
    """A town where an address was asked for."""
    if _ASKS_ADDRESS.search(question) and not _STREET.search(claim.text, _subject_end(claim.text)):
        return ("address",)
    return ()
