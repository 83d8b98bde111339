"""Measures of searches and other stages, from the explanations.

Recall as in CRAG-MM, Figures 3 and 6. Boxes, names and queries as in CRAG-MM-Diagnostics.
"""

import math
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import partial

from evaluation.data.model import AnswerType
from evaluation.judging.text import normalise, overlap, says
from evaluation.record import TurnRecord
from evaluation.scoring.protocols import Scored, Valued, unit_of
from loreglass_client.models import LookedAtKind, SearchResult

WHOLE_PHOTO, CROPS, PAGES = "image_search", "crop_search", "text_search"
"""The stages."""
CROPPER = "cropper"
_WRITE_QUERIES = frozenset({"query_rewrite", "query_split", "query_enhancement", "query_sampling"})
_ALIKE, _SAME_BOX = 0.85, 0.5
"""From which likeness two names are one, and from which intersection over union two boxes are."""

_ON_PAGES = frozenset({AnswerType.NUMBER, AnswerType.DATE, AnswerType.NAME, AnswerType.SPAN})
_RECALL = re.compile(r"(box|image|crop|page)_recall@([1-9][0-9]?)")

Holds = Callable[[TurnRecord, Sequence[SearchResult]], bool]


def recall(name: str) -> Callable[[Sequence[Scored]], Valued] | None:
    """Return the values of `image_recall@k`, `crop_recall@k`, `page_recall@k` or `box_recall@k`."""
    match = _RECALL.fullmatch(name)
    if match is None:
        return None
    k = int(match[2])
    if match[1] == "box":
        return lambda scored: {unit_of(each): _has_box(k, each) for each in scored}
    if match[1] == "page":
        return partial(_recall, PAGES, k, _has_answer, _is_on_pages)
    return partial(_recall, WHOLE_PHOTO if match[1] == "image" else CROPS, k, _has_thing, _names_a_thing)


def _recall(
    stage: str, k: int, holds: Holds, counts: Callable[[TurnRecord], bool], scored: Sequence[Scored]
) -> Valued:
    """Return whether the first `k` results have the entity or the answer: 0 or 1 a turn with a gold that was
    searched for; NaN for all where no search brought `k`.

    Of pages it is what was brought of them, the paper's estimate of recall.
    """
    valued: Valued = {}
    most = 0
    for each in scored:
        results = results_of(each.record, stage) if counts(each.record) else None
        if results is not None:
            most = max(most, len(results))
            valued[unit_of(each)] = float(holds(each.record, results[:k]))
    return valued if most >= k else dict.fromkeys(valued, math.nan)


def results_of(record: TurnRecord, stage: str) -> list[SearchResult] | None:
    """Return a search's results, best first, without repeats; None if the stage was not reported.

    All passages of one page count as one result, at the place of the first; so do the things of one picture.
    """
    answer = record.answer
    if answer is None or answer.explanation is None:
        return None
    if stage not in answer.timings_ms or stage in answer.degraded:
        return None
    results: dict[str, SearchResult] = {}
    for each in answer.explanation.found:
        if each.stage == stage:
            key = each.url or each.title
            merged = "text" if stage == PAGES else "title"
            texts = [getattr(part, merged) for part in (results.get(key), each) if part]
            results[key] = each.model_copy(update={merged: "\n".join(texts)})
    return list(results.values())


def _names_a_thing(record: TurnRecord) -> bool:
    return record.target is not None or (record.truth is not None and bool(record.truth.photographed))


def _has_thing(record: TurnRecord, results: Sequence[SearchResult]) -> bool:
    names = [name for each in results for name in each.title.splitlines()]
    if record.target:
        return any(_is_alike(name, record.target.name) for name in names)
    thing = normalise(record.truth.photographed) if record.truth else ""
    return any(normalise(name) == thing for name in names)


def _is_alike(name: str, gold: str) -> bool:
    """Return whether two names are equal by the rule of CRAG-MM-Diagnostics' released code."""
    return SequenceMatcher(None, gold.lower(), name.lower()).ratio() >= _ALIKE


def _is_on_pages(record: TurnRecord) -> bool:
    truth = record.truth
    if truth is None or not truth.accepted or truth.answer_type not in _ON_PAGES:
        return False
    return not truth.needs or "web" in truth.needs


def _has_answer(record: TurnRecord, results: Sequence[SearchResult]) -> bool:
    accepted = record.truth.accepted if record.truth else ()
    return any(says(f"{each.title}\n{each.text}", accepted) for each in results)


def _has_box(k: int, scored: Scored) -> float:
    """Return whether one of the first `k` crops covers the object; 0 if the cropper found none."""
    target, answer = scored.record.target, scored.record.answer
    if target is None or target.box is None or answer is None:
        return math.nan
    if CROPPER not in answer.timings_ms or CROPPER in answer.degraded:
        return math.nan
    crops = [each for each in answer.looked_at if each.kind is LookedAtKind.CROP][:k]
    boxes = ((each.left, each.top, each.right, each.bottom) for each in crops)
    return float(any(_overlap_of(box, target.box) >= _SAME_BOX for box in boxes))


def _overlap_of(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the intersection over union of two boxes."""
    across, down = (max(0.0, min(one[i + 2], other[i + 2]) - max(one[i], other[i])) for i in (0, 1))
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return across * down / (sum(areas) - across * down)


def article_recall(scored: Scored) -> float:
    """Return whether the entity is the full photo's first result, or in the results of the tools' images."""
    record = scored.record
    first = results_of(record, WHOLE_PHOTO) if _names_a_thing(record) else None
    if first is None:
        return math.nan
    return float(_has_thing(record, [*first[:1], *(results_of(record, CROPS) or ())]))


def identified(scored: Scored) -> float:
    """Return whether the answer's entity is the object; NaN without a target."""
    target, answer = scored.record.target, scored.record.answer
    if target is None or answer is None:
        return math.nan
    return float(answer.entity is not None and _is_alike(answer.entity, target.name))


def query_overlap(scored: Scored) -> float:
    """Return the highest overlap of a written search query with the question that stands alone."""
    target, answer = scored.record.target, scored.record.answer
    if target is None or not target.question or answer is None or answer.explanation is None:
        return math.nan
    queries = [note.text for note in answer.explanation.notes if note.stage in _WRITE_QUERIES]
    return max((overlap(query, target.question) for query in queries), default=math.nan)
