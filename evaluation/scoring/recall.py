"""Recall at k of image search and of text search, from what explanations tell (CRAG-MM, Figures 3 and 6)."""

import math
from collections.abc import Callable, Sequence

from evaluation.data.model import AnswerType
from evaluation.judging.spans import normalised, says
from evaluation.record import TurnRecord
from evaluation.scoring.measures import Measure, Valued, unit_of
from evaluation.scoring.scored import Scored
from loreglass_client.models import SearchResult

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
    """What a search brought, best first, each thing or page once; None where nobody searched, or told.

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
