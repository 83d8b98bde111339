"""Measures of scored answers: rates, overlap, times, usage, and recall at k of searches.

Recall as in CRAG-MM, Figures 3 and 6, from the search results in explanations.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial

import numpy as np
import numpy.typing as npt

from evaluation.data.model import AnswerType, Part, Scorer
from evaluation.judging.benchmarks import benchmark_score
from evaluation.judging.text import canonical, normalised, parted, says
from evaluation.judging.verdicts import Verdict
from evaluation.record import TurnRecord
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, Settled, settle
from loreglass_client.models import LookedAtKind, SearchResult

Floats = npt.NDArray[np.float64]
Unit = tuple[Part, str, int]
"""A question's part, session and turn: the same in every run over one dataset."""
Valued = dict[Unit, float]


@dataclass(frozen=True, slots=True)
class Measure:
    """`values`: of each turn, NaN where it has none and is left out; their mean is the figure.

    Instead of that mean: `by_session`: the mean over conversations of their means. `quantile`: the smallest
    value that at least this share of all do not exceed. `splits`: the harmonic mean of two means, of the
    turns for which it is true and of the others.
    """

    name: str
    values: Callable[[Sequence[Scored]], Valued]
    by_session: bool = False
    quantile: float | None = None
    splits: Callable[[Scored], bool] | None = None

    def of(self, scored: Sequence[Scored]) -> float:
        """The figure; NaN where there is nothing to measure."""
        if self.splits is not None:
            splits = self.split_sums(scored)
            return float(harmonic_mean(*splits, axis=-1)) if splits[1].any() and splits[3].any() else math.nan
        valued = known(self.values(scored))
        values = np.array(list(valued.values()), dtype=np.float64)
        if self.quantile is not None:
            return percentile(values, self.quantile)
        if values.size == 0:
            return math.nan
        if not self.by_session:
            return float(values.mean())
        sums, counts = session_sums(valued)
        return float((sums / counts).mean())

    def split_sums(self, scored: Sequence[Scored]) -> tuple[Floats, Floats, Floats, Floats]:
        """Return sum and number of each conversation's values: of turns in the split, then of the others."""
        inside = {unit_of(each) for each in scored if self.splits and self.splits(each)}
        valued = known(self.values(scored))
        sessions = {unit[:2]: place for place, unit in enumerate(sorted(valued))}
        rows = np.zeros((4, max(sessions.values(), default=-1) + 1))
        for unit, value in valued.items():
            column = 0 if unit in inside else 2
            rows[column : column + 2, sessions[unit[:2]]] += value, 1
        return tuple(rows[:, rows[1] + rows[3] > 0])


def harmonic_mean(*sums_and_counts: Floats, axis: int) -> Floats:
    """Return the harmonic mean of two means; 0 if one of them is 0 or has no values."""
    one, other = (
        sums.sum(axis) / np.maximum(counts.sum(axis), 1.0)
        for sums, counts in (sums_and_counts[:2], sums_and_counts[2:])
    )
    mean: Floats = 2 * one * other / np.where(one + other == 0, 1.0, one + other)
    return mean


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


_Value = Callable[[Settled, Protocol], float]
_OF_VERDICTS: dict[str, _Value] = {
    "truthfulness": lambda turn, protocol: turn.counted(protocol).points,
    "accuracy": lambda turn, protocol: float(turn.counted(protocol) is Verdict.CORRECT),
    "acceptable": lambda turn, protocol: float(turn.counted(protocol) is Verdict.ACCEPTABLE),
    "missing": lambda turn, protocol: float(turn.counted(protocol) is Verdict.MISSING),
    "hallucination": lambda turn, protocol: float(turn.counted(protocol) is Verdict.INCORRECT),
    "session_truthfulness": lambda turn, protocol: turn.stopped.points,
    "early_stopped": lambda turn, protocol: float(turn.given_up) if _is_of_several(turn) else math.nan,
}
_BY_SESSION = ("session_truthfulness", "early_stopped")
USAGE = ("calls", "prompt_tokens", "completion_tokens")
_QUANTILES = {"elapsed_p50_ms": 0.50, "elapsed_p95_ms": 0.95}
_OF_STAGES, _SIGNAL = re.compile(r"stages_ms:([\w+]+)"), re.compile(r"signal:(\w+)")
_RECALL = re.compile(r"(box|image|crop|page)_recall@([1-9][0-9]?)")


def measure(name: str, protocol: Protocol) -> Measure:
    """Return the measure of that name. Raises `ValueError` where there is none.

    `accuracy`, `acceptable`, `missing`, `hallucination`: shares of all turns; `truthfulness`: mean points.
    `session_truthfulness`: the kits' conversation score, after the early stop; `early_stopped`: of the
    conversations of several turns, those that the wearer would give up. `overlap`: share of the gold's words.
    `elapsed_…`: milliseconds until the caller had the answer; failed requests have none. `calls`,
    `prompt_tokens`, `completion_tokens`: of the model. `benchmark_score`: of InfoSeek, E-VQA and OK-VQA, by
    their scorers; `harmonic_score`: InfoSeek's, of its two unseen splits. `image_recall@k`,
    `crop_recall@k`, `page_recall@k`; `article_recall`: Wiki-PRF's Table 2. `stages_ms:a+b`: of stages
    together, those that ran beside each other in full; `signal:name`: of the explanation.
    By CRAG-MM-Diagnostics: `box_recall@k`, of the crops; `identified`, by the answer's entity;
    `query_overlap`, of the search query with the question that stands without the photo.
    """
    if name in _OF_VERDICTS:
        return Measure(name, partial(_of_verdicts, name, protocol), by_session=name in _BY_SESSION)
    if value := _OF_ANSWERS.get(name):
        return Measure(name, partial(_of_answers, value), quantile=_QUANTILES.get(name))
    if name == "harmonic_score":
        return Measure(name, partial(_of_answers, _infoseek), splits=_is_unseen_question)
    if stages := _OF_STAGES.fullmatch(name):
        return Measure(name, partial(_of_answers, partial(_stages_ms, stages[1].split("+"))))
    if signal := _SIGNAL.fullmatch(name):
        return Measure(name, partial(_of_answers, partial(_signal, signal[1])))
    if recall := _RECALL.fullmatch(name):
        k = int(recall[2])
        if recall[1] == "box":
            return Measure(name, partial(_of_answers, partial(_has_box, k)))
        if recall[1] == "page":
            return Measure(name, partial(_recall, PAGES, k, _has_answer, _is_on_pages))
        stage = WHOLE_PHOTO if recall[1] == "image" else CROPS
        return Measure(name, partial(_recall, stage, k, _has_thing, _names_a_thing))
    raise ValueError(f"there is no measure {name!r}")


def scores_of(scored: Sequence[Scored], protocol: Protocol) -> dict[str, float]:
    """Return CRAG-MM's scores of whole conversations, by measure; NaN where there is nothing to measure."""
    return {name: measure(name, protocol).of(scored) for name in _OF_VERDICTS}


def _of_verdicts(name: str, protocol: Protocol, scored: Sequence[Scored]) -> Valued:
    value = _OF_VERDICTS[name]
    return {unit_of(turn.scored): value(turn, protocol) for turn in settle(scored, protocol)}


def _of_answers(value: Callable[[Scored], float], scored: Sequence[Scored]) -> Valued:
    return {unit_of(each): value(each) for each in scored}


def _is_of_several(turn: Settled) -> bool:
    return turn.scored.record.part is Part.MULTI


def _usage(what: str, scored: Scored) -> float:
    answer = scored.record.answer
    return math.nan if answer is None else float(getattr(answer.model_usage, what))


def _client_ms(scored: Scored) -> float:
    return scored.record.client_ms if scored.record.answer else math.nan


def _stages_ms(stages: Sequence[str], scored: Scored) -> float:
    answer = scored.record.answer
    return math.nan if answer is None else sum(answer.timings_ms.get(stage, 0.0) for stage in stages)


def _signal(name: str, scored: Scored) -> float:
    answer = scored.record.answer
    return answer.explanation.signals.get(name, math.nan) if answer and answer.explanation else math.nan


def _benchmark(scored: Scored) -> float:
    """Return the benchmark's score. E-VQA's is also 1 if the judge (BEM, if it judged) says correct."""
    record, truth = scored.record, scored.record.truth
    if truth is None or truth.scorer is None:
        return math.nan
    if truth.scorer is Scorer.EVQA and scored.judgement.verdict is Verdict.CORRECT:
        return 1.0
    return benchmark_score(record.answer.answer, truth) if record.answer else 0.0


def _infoseek(scored: Scored) -> float:
    truth = scored.record.truth
    return _benchmark(scored) if truth and truth.scorer is Scorer.INFOSEEK else math.nan


def _is_unseen_question(scored: Scored) -> bool:
    return scored.record.query_category == "unseen_question"


def overlap(answer: str, gold: str) -> float:
    """The share of the gold answer's words that the answer has too, in 0..1; 1 where the gold has none.

    QA-Dragon (section 4.1.1) reports a "rule-based overlap" beside accuracy (about 41 % where accuracy is
    21 %), but neither its paper nor its code says how it counts. Ours is recall of words: lower case, accents
    and punctuation folded, articles left out, each word as often as it stands in both.
    """
    golds = _word_counts(gold)
    total = golds.total()
    return (golds & _word_counts(answer)).total() / total if total else 1.0


def _word_counts(text: str) -> Counter[str]:
    return Counter(parted(canonical(text).replace("'", "")).split())


WHOLE_PHOTO, CROPS, PAGES = "image_search", "crop_search", "text_search"
"""The stages."""
CROPPER = "cropper"
_WRITE_QUERIES = frozenset({"query_rewrite", "query_split", "query_enhancement", "query_sampling"})
_ALIKE, _SAME_BOX = 0.85, 0.5
"""From which likeness two names are one, and from which intersection over union two boxes are."""

_ON_PAGES = frozenset({AnswerType.NUMBER, AnswerType.DATE, AnswerType.NAME, AnswerType.SPAN})

Found = Callable[[TurnRecord, Sequence[SearchResult]], bool]


def _recall(
    stage: str, k: int, has: Found, counts: Callable[[TurnRecord], bool], scored: Sequence[Scored]
) -> Valued:
    """Whether the first `k` results have the thing or say the answer: 0 or 1 a turn with a gold that was
    searched for; NaN for all where no search brought `k`.

    Of pages it is what was brought of them, the paper's estimate of recall.
    """
    valued: Valued = {}
    most = 0
    for each in scored:
        results = results_of(each.record, stage) if counts(each.record) else None
        if results is not None:
            most = max(most, len(results))
            valued[unit_of(each)] = float(has(each.record, results[:k]))
    return valued if most >= k else dict.fromkeys(valued, math.nan)


def results_of(record: TurnRecord, stage: str) -> list[SearchResult] | None:
    """A search's results, best first, without repeats; None if the stage did not run or was not reported.

    What was brought of a page, and the things in a picture, are put together in its first place.
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
    thing = normalised(record.truth.photographed) if record.truth else ""
    return any(normalised(name) == thing for name in names)


def _is_alike(name: str, gold: str) -> bool:
    """Whether two names are one by the rule of CRAG-MM-Diagnostics' released code."""
    return SequenceMatcher(None, gold.lower(), name.lower()).ratio() >= _ALIKE


def _identified(scored: Scored) -> float:
    target, answer = scored.record.target, scored.record.answer
    if target is None or answer is None:
        return math.nan
    return float(answer.entity is not None and _is_alike(answer.entity, target.name))


def _query_overlap(scored: Scored) -> float:
    """Return the highest overlap of a written search query with the question that stands alone."""
    target, answer = scored.record.target, scored.record.answer
    if target is None or not target.question or answer is None or answer.explanation is None:
        return math.nan
    queries = [note.text for note in answer.explanation.notes if note.stage in _WRITE_QUERIES]
    return max((overlap(query, target.question) for query in queries), default=math.nan)


def _has_box(k: int, scored: Scored) -> float:
    """Whether one of the first `k` crops covers the object; 0 if the cropper ran and gave none."""
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


def _article_recall(scored: Scored) -> float:
    """Whether the thing is the first result of the whole photo, or among those of the tools' images."""
    record = scored.record
    first = results_of(record, WHOLE_PHOTO) if _names_a_thing(record) else None
    if first is None:
        return math.nan
    return float(_has_thing(record, [*first[:1], *(results_of(record, CROPS) or ())]))


def _is_on_pages(record: TurnRecord) -> bool:
    truth = record.truth
    if truth is None or not truth.accepted or truth.answer_type not in _ON_PAGES:
        return False
    return not truth.needs or "web" in truth.needs


def _has_answer(record: TurnRecord, results: Sequence[SearchResult]) -> bool:
    accepted = record.truth.accepted if record.truth else ()
    return any(says(f"{each.title}\n{each.text}", accepted) for each in results)


def percentile(values: Sequence[float] | Floats, share: float) -> float:
    """Return the smallest value that at least `share` of all do not exceed; NaN where there are none."""
    array = np.asarray(values, np.float64)
    return float(np.quantile(array, share, method="inverted_cdf")) if array.size else math.nan


_OF_ANSWERS: dict[str, Callable[[Scored], float]] = {
    **{name: partial(_usage, name) for name in USAGE},
    **dict.fromkeys(("elapsed_mean_ms", *_QUANTILES), _client_ms),
    "overlap": lambda scored: overlap(scored.answer, scored.record.gold),
    "benchmark_score": _benchmark,
    "article_recall": _article_recall,
    "identified": _identified,
    "query_overlap": _query_overlap,
}
