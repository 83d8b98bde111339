"""Scores of questions whose gold answers are spans of a text: our own, and SQuAD's."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from evaluation.data.model import AnswerType
from evaluation.judging.text import exact_match, is_refusal, says, word_f1
from evaluation.record import TurnRecord
from evaluation.scoring.measures import percentile
from evaluation.scoring.protocols import Scored

Measured = Callable[[str, Sequence[str]], float]

_MARKED = (AnswerType.SPAN, AnswerType.UNANSWERABLE)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Shares in 0..1. `right`, `wrong`, `not_known`: of the `answerable` questions, and they add up to 1;
    `answered`: of the `unanswerable` ones. NaN where there is no such question.
    """

    answerable: int
    unanswerable: int
    right: float
    wrong: float
    not_known: float
    answered: float


@dataclass(frozen=True, slots=True)
class SpanScores:
    """One run. `exact`, `f1`: SQuAD's, over all questions; `has_…` over those with an answer;
    `no_answer` over those without, where the two are one figure.

    `held`: share of the questions with an answer whose answer is right or whose closest passage holds a gold.

    `words_…`: length of the answers given, in words; `p95_ms`: time until a reply was there, refusals
    included. NaN where there is nothing to measure.
    """

    outcomes: Outcomes
    failed: int
    exact: float
    f1: float
    has_exact: float
    has_f1: float
    no_answer: float
    words_median: float
    words_p90: float
    p95_ms: float
    held: float


def marked_questions(scored: Iterable[Scored]) -> list[Scored]:
    """Return the questions of a dataset whose golds are spans; none for other datasets."""
    questions = [each for each in scored if each.record.truth and each.record.truth.answer_type in _MARKED]
    spans = any(each.record.truth.answer_type is AnswerType.SPAN for each in questions if each.record.truth)
    return questions if spans else []


def span_scores(scored: Sequence[Scored]) -> SpanScores:
    """Return the figures of one or more questions.

    SQuAD's come of the whole answer, a refusal counting as "there is no answer here"; a request that failed
    matches nothing. The outcomes are the judge's.
    """
    has = [each for each in scored if each.record.answerable]
    no = [each for each in scored if not each.record.answerable]
    lengths = [len(reply.split()) for each in scored if (reply := _reply(each.record))]
    times = [each.record.client_ms for each in scored if each.record.answer]
    return SpanScores(
        outcomes=outcomes([(each.record.answerable, each.judgement.verdict.points) for each in scored]),
        failed=sum(each.record.answer is None for each in scored),
        exact=_mean_of(scored, exact_match),
        f1=_mean_of(scored, word_f1),
        has_exact=_mean_of(has, exact_match),
        has_f1=_mean_of(has, word_f1),
        no_answer=_mean_of(no, exact_match),
        words_median=percentile(lengths, 0.5),
        words_p90=percentile(lengths, 0.9),
        p95_ms=percentile(times, 0.95),
        held=_mean(float(_is_held(each)) for each in has),
    )


def outcomes(judged: Sequence[tuple[bool, float]]) -> Outcomes:
    """Return outcomes of pairs: whether the question has an answer, and the reply's points (0: none)."""
    has = [points for answerable, points in judged if answerable]
    no = [points for answerable, points in judged if not answerable]
    return Outcomes(
        answerable=len(has),
        unanswerable=len(no),
        right=_mean(float(points > 0.0) for points in has),
        wrong=_mean(float(points < 0.0) for points in has),
        not_known=_mean(float(points == 0.0) for points in has),
        answered=_mean(float(points != 0.0) for points in no),
    )


def _mean_of(scored: Iterable[Scored], measure: Measured) -> float:
    records = [each.record for each in scored]
    return _mean(measure(_reply(each), _golds(each)) if each.answer else 0.0 for each in records)


def _golds(record: TurnRecord) -> Sequence[str]:
    return record.truth.accepted if record.truth else ()


def _is_held(each: Scored) -> bool:
    """Return whether the answer is right or, for a refusal, the closest passage contains a gold."""
    closest = each.record.answer.closest if each.record.answer else None
    right = each.judgement.verdict.points > 0.0
    return right or (closest is not None and says(closest.snippet, _golds(each.record)))


def _reply(record: TurnRecord) -> str:
    """Return SQuAD's prediction: empty for a refusal."""
    answer = record.answer
    return "" if answer is None or answer.abstained or is_refusal(answer.answer) else answer.answer


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else math.nan
