"""Named features of a question, a sentence and a span: what the fitted curves of the pocket reader weigh.

Coverage by inverse document frequency follows Yih et al. 2013 and the sentence baselines of SQuAD (Rajpurkar
et al. 2016, section 5); the words of a sentence, of its context and of its whole passage are told apart.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from operator import attrgetter

from language.questions import AnswerType, Question
from language.words import STOP_WORDS, word_set
from services.reader.engine import PassageKind
from services.reader.engines.terms import WeightedQuestion, is_negated, met
from services.reader.engines.texts import Candidate, Prepared, Sentence

MOST_LIKELY = 24
"""Sentences of a request whose features are measured."""
_BARE = frozenset({"number", "chunk", "name"})
"""The types of a number without unit."""
_MEASURED = frozenset({"length", "mass", "volume", "area", "temperature", "money"})
"""Dimensions of which no value is a count."""
_OPENING = 2
"""Words before a sentence's subject: room for "In the"."""
_NAMED = 0.5
"""Share of the subject's name from which a sentence names it."""
_ARTICLES = word_set("the a an its their his her")


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """Of a sentence, for a question. Shares are in 0..1, weighted by rarity but for names and numbers."""

    coverage: float
    coverage_squared: float
    coverage_with_paraphrases: float
    coverage_with_context: float
    relation: float
    relation_in_context: float
    relation_missing: float
    coverage_by_passage: float
    passage_lead: float
    subject_in_passage: float
    subject_lead: float
    subject_in_title: float
    title_lead: float
    subject: float
    other_subject: float
    other_name: float
    clause_coverage: float
    missing: float
    missing_in_passage: float
    names: float
    names_in_passage: float
    numbers: float
    numbers_in_passage: float
    type: float
    focus: float
    pairs: float
    negation_lost: float
    negation_added: float
    opposite: float
    disorder: float
    spread: float
    length: float
    terms: float
    rarest_term: float


@dataclass(frozen=True, slots=True)
class SpanFeatures:
    """Of a candidate in a sentence, for a question."""

    repeats_question: float
    repeats_terms: float
    type: float
    near_terms: float
    nearest: float
    same_clause: float
    after_terms: float
    subject_before_verb: float
    followed_by_term: float
    preceded_by_term: float
    object_after_verb: float
    preposition: float
    has_focus: float
    beside_focus: float
    person_after_by: float
    place_after_preposition: float
    date_after_preposition: float
    counts_focus: float
    opens_sentence: float
    length: float
    is_name: float
    is_number: float
    is_date: float
    only_chunk: float
    position: float
    after_article: float


def whole_coverages(asked: WeightedQuestion, prepared: Prepared) -> list[float]:
    """For each passage the share of the terms that it has somewhere."""
    return [asked.share(whole) for whole in prepared.wholes]


@dataclass(frozen=True, slots=True)
class PassageFeatures:
    """How a passage stands among the others; shares of the question's terms and of the subject's name.

    `*_lead`: how far it is behind the best of them; 0 for that one.
    """

    whole: frozenset[str]
    coverage: float
    lead: float
    subject: float
    subject_lead: float
    title: float
    title_lead: float


def passage_features(asked: WeightedQuestion, prepared: Prepared) -> list[PassageFeatures]:
    """For each passage."""
    coverages = whole_coverages(asked, prepared)
    subjects, titles = (list(map(asked.of_subject, texts)) for texts in (prepared.wholes, prepared.titles))
    most, most_subject, most_title = (max(each, default=0.0) for each in (coverages, subjects, titles))
    return [
        PassageFeatures(whole, own, own - most, subject, subject - most_subject, title, title - most_title)
        for whole, own, subject, title in zip(prepared.wholes, coverages, subjects, titles, strict=True)
    ]


def sentence_features(
    asked: WeightedQuestion, sentence: Sentence, passage: PassageFeatures
) -> SentenceFeatures:
    """`passage`: those of the passage that it stands in."""
    context = sentence.present | sentence.title
    near = context | sentence.before
    coverage = asked.share(sentence.present)
    whole = passage.whole
    disorder, spread = _arrangement(asked, sentence)
    negated = is_negated(sentence.words)
    return SentenceFeatures(
        coverage=coverage,
        coverage_squared=coverage**2,
        coverage_with_paraphrases=asked.share_met(context),
        coverage_with_context=asked.share(near),
        relation=_relation(asked, sentence.present),
        relation_in_context=_relation(asked, near),
        relation_missing=asked.rarest(lambda term: term not in asked.names and not met(term, near)),
        coverage_by_passage=passage.coverage,
        passage_lead=passage.lead,
        subject_in_passage=passage.subject,
        subject_lead=passage.subject_lead,
        subject_in_title=passage.title,
        title_lead=passage.title_lead,
        subject=asked.of_subject(context),
        other_subject=float(_others(asked, sentence, _OPENING)),
        other_name=float(
            asked.of_subject(context) < _NAMED and _others(asked, sentence, len(sentence.words))
        ),
        clause_coverage=_clause_coverage(asked, sentence),
        missing=asked.rarest(lambda term: term not in near),
        missing_in_passage=asked.rarest(lambda term: term not in whole),
        names=_share_of(asked.names, context),
        names_in_passage=_share_of(asked.names, whole),
        numbers=_share_of(asked.numbers, sentence.present),
        numbers_in_passage=_share_of(asked.numbers, whole),
        type=best_type(asked, sentence),
        focus=float(bool(asked.focus & sentence.present)) if asked.focus else 0.5,
        pairs=_pairs(asked, sentence),
        negation_lost=float(asked.negated and not negated),
        negation_added=float(negated and not asked.negated),
        opposite=float(bool(asked.opposites & sentence.present)),
        disorder=disorder,
        spread=spread,
        length=math.log(1 + len(sentence.words)),
        terms=len(asked.terms) / 10,
        rarest_term=max(asked.weights.values(), default=0.0),
    )


def span_features(asked: WeightedQuestion, sentence: Sentence, candidate: Candidate) -> SpanFeatures:
    """Where the candidate stands among the question's terms, and whether it is what the question wants."""
    first, last, types = candidate.first, candidate.last, candidate.types
    stems, words = sentence.stems, sentence.words
    inside = stems[first:last]
    near, nearest, before, after, same = _distances(asked, sentence, candidate)
    around = before + after or 1.0
    previous = words[first - 1].folded if first else ""
    governs = words[first - 2].folded if first > 1 and previous in _ARTICLES else previous
    next_term = _term_at(asked, sentence, last, 1)
    previous_term = _term_at(asked, sentence, first - 1, -1)
    beside = set(stems[max(0, first - 3) : first] + stems[last : last + 2])
    wanted = asked.wanted
    return SpanFeatures(
        repeats_question=sum(stem in asked.all_stems for stem in inside) / len(inside),
        repeats_terms=sum(stem in asked.weights for stem in inside) / len(inside),
        type=type_match(asked.question, types),
        near_terms=near / asked.total,
        nearest=1 / (1 + nearest),
        same_clause=same / asked.total,
        after_terms=before / around,
        subject_before_verb=float(asked.asks_subject and next_term),
        followed_by_term=float(next_term),
        preceded_by_term=float(previous_term),
        object_after_verb=float(previous_term and not asked.asks_subject),
        preposition=float(bool(asked.preposition) and asked.preposition in (previous, governs)),
        has_focus=float(bool(asked.focus & set(inside))),
        beside_focus=float(bool(asked.focus & beside)),
        person_after_by=float(wanted is AnswerType.PERSON and previous == "by"),
        place_after_preposition=float(
            wanted is AnswerType.PLACE and governs in ("in", "at", "on", "near", "to")
        ),
        date_after_preposition=float(wanted is AnswerType.DATE and governs in ("in", "on", "since", "from")),
        counts_focus=float(asked.question.numeric and bool(asked.focus & (beside | set(inside)))),
        opens_sentence=float(first == 0 or (first == 1 and words[0].folded in _ARTICLES)),
        length=math.log(len(inside)),
        is_name=float("name" in types),
        is_number=float("number" in types),
        is_date=float("date" in types),
        only_chunk=float(types == frozenset({"chunk"})),
        position=first / len(words),
        after_article=float(previous in _ARTICLES),
    )


def type_match(question: Question, types: Collection[str]) -> float:
    """1: such words answer such a question; 0: they do not; between: they might."""
    wanted, found = question.wanted, frozenset(types)
    if wanted is AnswerType.DATE:
        return 1.0 if "date" in found else 0.8 * ("time" in found)
    if question.numeric:
        if (
            "number" not in found
        ):  # a year may stand where a count is read, but no date is a height or a price
            return 0.3 * ("date" in found and wanted is AnswerType.NUMBER)
        sought = question.dimensions or ({"money"} if wanted is AnswerType.MONEY else frozenset[str]())
        if wanted is AnswerType.NUMBER and not sought:  # "how many pages": a bare count, no 24 cm
            return 0.4 if found & _MEASURED else 1.0
        if not sought or found & sought:
            return 1.0
        return 0.5 if found <= _BARE else 0.3  # on a sign the unit is left out: "PENRITH 29"
    if wanted is AnswerType.REASON:
        return 1.0 if "cause" in found else 0.4
    plain = "chunk" in found and not found & {"number", "date", "time"}
    if wanted in (AnswerType.PERSON, AnswerType.PLACE):
        return 1.0 if "name" in found else 0.3 * plain
    if wanted is AnswerType.NAME:
        return 1.0 if "name" in found else 0.6 * plain
    return 0.8 if "chunk" in found and "date" not in found else 0.3


def best_type(asked: WeightedQuestion, sentence: Sentence) -> float:
    """The best match of type among candidates that say something new."""
    fresh = (
        each
        for each in sentence.candidates
        if not asked.all_stems.issuperset(sentence.stems[each.first : each.last])
    )
    return max((type_match(asked.question, each.types) for each in fresh), default=0.0)


def likely_places(asked: WeightedQuestion, prepared: Prepared, kind: PassageKind) -> list[int]:
    """Places of the sentences that share most with the question; the others are not read closely."""
    shared = [
        (asked.share(each.present | each.title | each.before), place)
        for place, each in enumerate(prepared.sentences)
        if each.kind is kind
    ]
    ranked = sorted(shared, key=lambda pair: (-pair[0], pair[1]))
    return sorted(place for _, place in ranked[:MOST_LIKELY])


_VALUES: dict[type, Callable[[object], tuple[float, ...]]] = {
    kind: attrgetter(*(field.name for field in fields(kind))) for kind in (SentenceFeatures, SpanFeatures)
}
"""`dataclasses.astuple` copies each value deeply, which would be half of the time of reading."""


def values(features: SentenceFeatures | SpanFeatures) -> tuple[float, ...]:
    """In the order of the fields."""
    return _VALUES[type(features)](features)


def _relation(asked: WeightedQuestion, present: frozenset[str]) -> float:
    """Share, by weight, of what is asked beside names; all of it where only names are asked."""
    weights = {term: asked.weights[term] for term in asked.terms if term not in asked.names}
    total = sum(weights.values())
    if not total:
        return 1.0
    return sum(weight * met(term, present) for term, weight in weights.items()) / total


def _share_of(wanted: frozenset[str], present: frozenset[str]) -> float:
    return len(wanted & present) / len(wanted) if wanted else 1.0


def _pairs(asked: WeightedQuestion, sentence: Sentence) -> float:
    """Share of the question's neighbouring words that are neighbours here too."""
    here = set(zip(sentence.stems, sentence.stems[1:], strict=False))
    return len(asked.pairs & here) / len(asked.pairs) if asked.pairs else 0.0


def _others(asked: WeightedQuestion, sentence: Sentence, last: int) -> bool:
    """Whether a name in the first `last` words has nothing of the subject's name or the question."""
    known = asked.all_stems | asked.subject.keys()
    return any(
        "name" in each.types
        and each.first <= last
        and known.isdisjoint(sentence.stems[each.first : each.last])
        for each in sentence.candidates
    )


def _clause_coverage(asked: WeightedQuestion, sentence: Sentence) -> float:
    """The best coverage by two neighbouring clauses."""
    ends = (*sentence.breaks[2:], len(sentence.stems))
    pieces = (
        frozenset(sentence.stems[first:last]) for first, last in zip(sentence.breaks, ends, strict=False)
    )
    return max((asked.share(piece) for piece in pieces), default=0.0)


def _arrangement(asked: WeightedQuestion, sentence: Sentence) -> tuple[float, float]:
    """Share of pairs of terms in another order than in the question, and how far apart the terms stand."""
    places = [sentence.stems.index(term) for term in asked.terms if term in sentence.present]
    if len(places) < 2:
        return 0.3, 0.1 if places else 1.0
    pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :]]
    return sum(a > b for a, b in pairs) / len(pairs), (max(places) - min(places) + 1) / len(places) / 10


def _distances(
    asked: WeightedQuestion, sentence: Sentence, candidate: Candidate
) -> tuple[float, int, float, float, float]:
    """Weight of near terms, words to the nearest, weight of terms before, after, and in the same clause."""
    near = before = after = same = 0.0
    nearest = len(sentence.words)
    for term in asked.terms:
        if term not in sentence.present:
            continue
        places = [p for p, stem in enumerate(sentence.stems) if stem == term]
        outside = [p for p in places if not candidate.first <= p < candidate.last]
        if not outside:
            continue
        place = min(outside, key=lambda p: _gap(p, candidate))
        gap, weight = _gap(place, candidate), asked.weights[term]
        near += weight / (1 + gap / 3)
        nearest = min(nearest, gap)
        before, after = (before + weight, after) if place < candidate.first else (before, after + weight)
        clause = sentence.clauses[place]
        if clause in (sentence.clauses[candidate.first], sentence.clauses[candidate.last - 1]):
            same += weight
    return near, nearest, before, after, same


def _gap(place: int, candidate: Candidate) -> int:
    return candidate.first - place if place < candidate.first else place - candidate.last + 1


def _term_at(asked: WeightedQuestion, sentence: Sentence, place: int, step: int) -> bool:
    """Whether a term stands at the place, or behind one stop word there."""
    words = sentence.words
    if not 0 <= place < len(words):
        return False
    if words[place].stem in asked.weights:
        return True
    beyond = place + step
    return (
        words[place].folded in STOP_WORDS and 0 <= beyond < len(words) and words[beyond].stem in asked.weights
    )
