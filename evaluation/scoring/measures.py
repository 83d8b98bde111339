"""Measures of scored answers: rates, overlap, times, usage, and recall at k of searches.

Recall as in CRAG-MM, Figures 3 and 6, from the search results in explanations.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.data.model import AnswerType, Part
from evaluation.judging.text import canonical, normalised, says
from evaluation.judging.verdicts import Verdict
from evaluation.record import TurnRecord
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, Settled, settle
from loreglass_client.models import SearchResult

Floats = npt.NDArray[np.float64]
Unit = tuple[Part, str, int]
"""A question's part, session and turn: the same in every run over one dataset."""
Valued = dict[Unit, float]


@dataclass(frozen=True, slots=True)
class Measure:
    """`values`: of each turn, NaN where it has none and is left out; their mean is the figure.

    `by_session`: the mean over conversations of their mean instead. `quantile`: the smallest value that
    at least this share of all do not exceed instead.
    """

    name: str
    values: Callable[[Sequence[Scored]], Valued]
    by_session: bool = False
    quantile: float | None = None

    def of(self, scored: Sequence[Scored]) -> float:
        """The figure; NaN where there is nothing to measure."""
        valued = known(self.values(scored))
        values = np.array(list(valued.values()), dtype=np.float64)
        if values.size == 0:
            return math.nan
        if self.quantile is not None:
            return float(np.quantile(values, self.quantile, method="inverted_cdf"))
        if not self.by_session:
            return float(values.mean())
        sums, counts = session_sums(valued)
        return float((sums / counts).mean())


def known(valued: Valued) -> Valued:
    """Without the turns that have no value."""
    return {unit: value for unit, value in valued.items() if not math.isnan(value)}


def session_sums(valued: Valued) -> tuple[Floats, Floats]:
    """Of each conversation, in sorted order: the sum of its turns' values and their number."""
    rows: dict[tuple[Part, str], list[float]] = {}
    for (part, session_id, _), value in sorted(valued.items()):
        rows.setdefault((part, session_id), []).append(value)
    return (
        np.array([math.fsum(values) for values in rows.values()], dtype=np.float64),
        np.array([len(values) for values in rows.values()], dtype=np.float64),
    )


def unit_of(scored: Scored) -> Unit:
    """Which question this is."""
    record = scored.record
    return record.part, record.session_id, record.turn


def rate(name: str, protocol: Protocol, *verdicts: Verdict) -> Measure:
    """The share of turns with one of these verdicts."""
    return _over_settled(name, protocol, lambda turn: float(turn.counted(protocol) in verdicts))


def accuracy(protocol: Protocol) -> Measure:
    """Right answers among all; by `kdd-cup-2025` it is what QA-Dragon reports (section 4.1.1)."""
    return rate("accuracy", protocol, Verdict.CORRECT)


def acceptable(protocol: Protocol) -> Measure:
    """What people call useful with minor errors, among all."""
    return rate("acceptable", protocol, Verdict.ACCEPTABLE)


def missing(protocol: Protocol) -> Measure:
    """Refusals among all."""
    return rate("missing", protocol, Verdict.MISSING)


def hallucination(protocol: Protocol) -> Measure:
    """Wrong answers among all."""
    return rate("hallucination", protocol, Verdict.INCORRECT)


def truthfulness(protocol: Protocol) -> Measure:
    """Mean points over turns."""
    return _over_settled("truthfulness", protocol, lambda turn: turn.counted(protocol).points)


def session_truthfulness(protocol: Protocol) -> Measure:
    """Mean over conversations of mean points, after the early stop (the kits' conversation score)."""
    measure = _over_settled("session_truthfulness", protocol, lambda turn: turn.stopped.points)
    return Measure(measure.name, measure.values, by_session=True)


def early_stopped(protocol: Protocol) -> Measure:
    """Conversations of several turns that the wearer would give up, among all such."""

    def value(turn: Settled) -> float:
        return float(turn.given_up) if turn.scored.record.part is Part.MULTI else math.nan

    measure = _over_settled("early_stopped", protocol, value)
    return Measure(measure.name, measure.values, by_session=True)


def turns_succeeded(protocol: Protocol) -> Measure:
    """Right answers a conversation of several turns, before it is given up (the paper's Figure 7f)."""

    def values(scored: Sequence[Scored]) -> Valued:
        found: Valued = {}
        for turn in settle(scored, protocol):
            record = turn.scored.record
            if record.part is Part.MULTI:
                unit = (record.part, record.session_id, 0)
                found[unit] = found.get(unit, 0.0) + float(turn.stopped is Verdict.CORRECT)
        return found

    return Measure("turns_succeeded", values)


def gold_overlap() -> Measure:
    """Mean share of the gold answer's words that are said; an answer that is not there says none."""
    return Measure(
        "overlap", lambda scored: {unit_of(each): overlap(each.answer, each.record.gold) for each in scored}
    )


def elapsed() -> Measure:
    """Mean milliseconds until the caller had the answer; failed requests have none."""
    return Measure("elapsed_mean_ms", _client_ms)


def elapsed_percentile(share: float) -> Measure:
    """The time within which this share of the answers was there (nearest rank)."""
    return Measure(f"elapsed_p{share * 100:.0f}_ms", _client_ms, quantile=share)


def model_usage(what: str) -> Measure:
    """Mean `calls`, `prompt_tokens` or `completion_tokens` of the model for an answer; failures have none."""

    def values(scored: Sequence[Scored]) -> Valued:
        return {
            unit_of(each): float(getattr(each.record.answer.model_usage, what))
            for each in scored
            if each.record.answer is not None
        }

    return Measure(what, values)


def _client_ms(scored: Sequence[Scored]) -> Valued:
    return {unit_of(each): each.record.client_ms if each.record.answer else math.nan for each in scored}


def _over_settled(name: str, protocol: Protocol, value: Callable[[Settled], float]) -> Measure:
    def values(scored: Sequence[Scored]) -> Valued:
        return {unit_of(turn.scored): value(turn) for turn in settle(scored, protocol)}

    return Measure(name, values)


_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})


def overlap(answer: str, gold: str) -> float:
    """The share of the gold answer's words that the answer has too, in 0..1; 1 where the gold has none.

    QA-Dragon (section 4.1.1) reports a "rule-based overlap" beside accuracy (about 41 % where accuracy is
    21 %), but neither its paper nor its code says how it counts. Ours is recall of words: lower case, accents
    and punctuation folded, articles left out, each word as often as it stands in both.
    """
    wanted = _word_counts(gold)
    total = wanted.total()
    return (wanted & _word_counts(answer)).total() / total if total else 1.0


def _word_counts(text: str) -> Counter[str]:
    words = _WORD.findall(canonical(text).replace("'", ""))
    return Counter(word for word in words if word not in _ARTICLES)


WHOLE_PHOTO, CROPS, PAGES = "image_search", "crop_search", "text_search"
"""The stages."""

_TOLD_BY_A_PAGE = frozenset({AnswerType.NUMBER, AnswerType.DATE, AnswerType.NAME, AnswerType.SPAN})

Found = Callable[[TurnRecord, Sequence[SearchResult]], bool]


def image_recall(stage: str, k: int) -> Measure:
    """Whether the photographed thing is among the first `k` things; of photos whose thing is known."""
    return _recall(stage, k, _has_thing, _names_a_thing)


def page_recall(k: int) -> Measure:
    """Whether what was brought of the first `k` pages says the answer, the paper's estimate of recall.

    Of questions for pages whose answer is a number, date, name or stretch of text.
    """
    return _recall(PAGES, k, _has_answer, _is_told_by_pages)


def _recall(stage: str, k: int, has: Found, counts: Callable[[TurnRecord], bool]) -> Measure:
    """0 or 1 a turn with a gold that was searched for; NaN for all where no search brought `k`."""

    def values(scored: Sequence[Scored]) -> Valued:
        valued: Valued = {}
        most = 0
        for each in scored:
            results = results_of(each.record, stage) if counts(each.record) else None
            if results is not None:
                most = max(most, len(results))
                valued[unit_of(each)] = float(has(each.record, results[:k]))
        return valued if most >= k else dict.fromkeys(valued, math.nan)

    return Measure(f"{stage}_recall_at_{k}", values)


def results_of(record: TurnRecord, stage: str) -> list[SearchResult] | None:
    """A search's results, best first, without repeats; None if the stage did not run or was not reported.

    What was brought of a page is put together in its first place.
    """
    answer = record.answer
    if answer is None or answer.explanation is None:
        return None
    if stage not in answer.timings_ms or stage in answer.degraded:
        return None
    results: dict[str, SearchResult] = {}
    for each in answer.explanation.found:
        if each.stage == stage:
            key = each.url if stage == PAGES else each.title
            known = results.get(key)
            text = f"{known.text}\n{each.text}" if known else each.text
            results[key] = each.model_copy(update={"text": text})
    return list(results.values())


def _names_a_thing(record: TurnRecord) -> bool:
    return record.truth is not None and bool(record.truth.photographed)


def _has_thing(record: TurnRecord, results: Sequence[SearchResult]) -> bool:
    thing = normalised(record.truth.photographed) if record.truth else ""
    return any(normalised(each.title) == thing for each in results)


def _is_told_by_pages(record: TurnRecord) -> bool:
    truth = record.truth
    if truth is None or not truth.accepted or truth.answer_type not in _TOLD_BY_A_PAGE:
        return False
    return not truth.needs or "web" in truth.needs


def _has_answer(record: TurnRecord, results: Sequence[SearchResult]) -> bool:
    accepted = record.truth.accepted if record.truth else ()
    return any(says(f"{each.title}\n{each.text}", accepted) for each in results)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
