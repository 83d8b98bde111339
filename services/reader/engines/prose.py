"""Reading prose: the likeliest sentences, the likeliest span in each, and the words around it to say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from chassis.calibration import LogisticCurve
from chassis.models.wanted import while_wanted
from language.questions import AnswerType
from services.reader.engine import PassageKind
from services.reader.engines.features import (
    SentenceFeatures,
    SpanFeatures,
    likely_places,
    passage_features,
    sentence_features,
    span_features,
    values,
)
from services.reader.engines.ranking import MOST_PROPOSALS, NO_RIVAL
from services.reader.engines.terms import WeightedQuestion
from services.reader.engines.texts import Candidate, Prepared, Sentence

MOST_SPOKEN = 25
"""Words of an answer at most: what an ear keeps."""
SHORT = 12
"""Words said around a span that is likely enough by itself."""
LIKELY_SPAN = 0.6
"""Share of probability from which a span is said with its clause only; below it a longer clause is safer."""
SENTENCE_NAMES = tuple(field.name for field in fields(SentenceFeatures))
SPAN_NAMES = tuple(f"span_{field.name}" for field in fields(SpanFeatures))
_TYPES = tuple(AnswerType)
ANSWER_NAMES = (
    *SENTENCE_NAMES,
    *SPAN_NAMES,
    "sentence_logit",
    "sentence_margin",
    "span_logit",
    "span_share",
    "window_share",
    "whole_sentence",
    *(f"wants_{each.value}" for each in _TYPES),
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Words `first` to `last` of `sentence` answer; `vector`: `ANSWER_NAMES`; `window`: the words to say."""

    sentence: Sentence
    first: int
    last: int
    window: tuple[int, int]
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence with its features and the log odds that it holds the answer; `place` among the sentences."""

    logit: float
    place: int
    sentence: Sentence
    features: SentenceFeatures


@dataclass(frozen=True, slots=True)
class ProseReader:
    """Two linear rankers: of sentences, and of spans within a sentence."""

    sentences: LogisticCurve
    spans: LogisticCurve

    def propose(self, asked: WeightedQuestion, prepared: Prepared) -> list[Proposal]:
        """The best span of each of the likeliest sentences of pages, likeliest sentence first."""
        passages = passage_features(asked, prepared)
        scored: list[Scored] = []
        for place in while_wanted(likely_places(asked, prepared, PassageKind.PAGE)):
            sentence = prepared.sentences[place]
            features = sentence_features(asked, sentence, passages[sentence.passage])
            scored.append(Scored(self.sentences.logit(values(features)), place, sentence, features))
        return self.best_of(asked, scored)

    def best_of(self, asked: WeightedQuestion, scored: Sequence[Scored]) -> list[Proposal]:
        """As `propose`, of sentences that were scored; what shares nothing with the question is left out."""
        sharing = [each for each in scored if _shares(asked, each.features)]
        ranked = sorted(sharing, key=lambda each: (-each.logit, each.place))
        found = []
        for each in while_wanted(ranked[:MOST_PROPOSALS]):
            rival = next((other.logit for other in ranked if other is not each), each.logit - NO_RIVAL)
            proposal = self._best_span(asked, each.sentence, each.features, each.logit, each.logit - rival)
            if proposal is not None:
                found.append(proposal)
        return found

    def _best_span(
        self,
        asked: WeightedQuestion,
        sentence: Sentence,
        features: SentenceFeatures,
        logit: float,
        margin: float,
    ) -> Proposal | None:
        candidates = sentence.candidates
        if not candidates:
            return None
        vectors = [values(span_features(asked, sentence, candidate)) for candidate in candidates]
        logits = [self.spans.logit(vector) for vector in vectors]
        shares = _softmax(logits)
        best = max(range(len(candidates)), key=lambda place: (logits[place], -place))
        chosen = candidates[best]
        window = spoken_window(sentence, candidates, shares, best)
        held = _held(candidates, shares, *window)
        wants = (float(asked.wanted is each) for each in _TYPES)
        whole = float(window == (0, len(sentence.words)))
        measured = (logit, margin, logits[best], shares[best], held, whole, *wants)
        return Proposal(
            sentence, chosen.first, chosen.last, window, (*values(features), *vectors[best], *measured)
        )


def _shares(asked: WeightedQuestion, features: SentenceFeatures) -> bool:
    """Whether it says something of what is asked, or has a value of its type where the subject is named."""
    of_subject = bool(asked.subject) and features.subject_in_passage > 0
    return features.coverage_with_paraphrases > 0 or (of_subject and features.type == 1)


def spoken_window(
    sentence: Sentence, candidates: Sequence[Candidate], shares: Sequence[float], best: int
) -> tuple[int, int]:
    """The words to say: the clause of a likely span; else the clauses, at most 25 words, that hold most."""
    chosen = candidates[best]
    if shares[best] >= LIKELY_SPAN:
        return clause_around(sentence, chosen.first, chosen.last)
    count = len(sentence.words)
    if count <= MOST_SPOKEN:
        return 0, count
    windows = [
        (first, last)
        for first in sentence.breaks
        for last in sentence.breaks
        if 0 < last - first <= MOST_SPOKEN and first <= chosen.first and chosen.last <= last
    ]
    if not windows:
        return _around(sentence, chosen.first, chosen.last, 0, count, MOST_SPOKEN)
    return max(
        windows, key=lambda window: (round(_held(candidates, shares, *window), 2), window[0] - window[1])
    )


def clause_around(sentence: Sentence, first: int, last: int) -> tuple[int, int]:
    """The clause that holds the span; of a long one the words next to the span."""
    left = max(place for place in sentence.breaks if place <= first)
    right = min(place for place in sentence.breaks if place >= last)
    if right - left <= SHORT:
        return left, right
    return _around(sentence, first, last, left, right, SHORT)


def _around(sentence: Sentence, first: int, last: int, left: int, right: int, most: int) -> tuple[int, int]:
    """`most` words within `left` to `right`, the span in the middle; a span longer than that is cut."""
    spare = max(0, most - (last - first))
    begin = max(left, first - (spare + 1) // 2)
    end = min(right, max(last, begin + most))
    return max(left, min(begin, end - most)) if end - begin < most else begin, min(end, begin + most)


def _held(candidates: Sequence[Candidate], shares: Sequence[float], first: int, last: int) -> float:
    """Share of probability of the candidates within the words."""
    return sum(
        share
        for candidate, share in zip(candidates, shares, strict=True)
        if first <= candidate.first and candidate.last <= last
    )


def _softmax(logits: Sequence[float]) -> list[float]:
    most = max(logits)
    raised = [math.exp(logit - most) for logit in logits]
    total = sum(raised)
    return [each / total for each in raised]
