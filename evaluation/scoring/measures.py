"""Measures of scored answers: rates, overlap, times, usage, and those of single stages."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from evaluation.data.model import Part, Scorer
from evaluation.judging.benchmarks import benchmark_score
from evaluation.judging.text import overlap
from evaluation.judging.verdicts import Verdict
from evaluation.scoring.protocols import Protocol, Scored, TurnOutcome, Valued, settle, unit_of
from evaluation.scoring.recall import article_recall, identified, query_overlap, recall

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A figure as `statistic(*samples, axis=…)` of arrays with an entry for each conversation, which can be
    drawn again. `turns`: that have a value; without any the figure is NaN.
    """

    samples: tuple[Floats, ...]
    statistic: Callable[..., Floats]
    turns: int

    @property
    def value(self) -> float:
        """Return the figure of all conversations."""
        return float(self.statistic(*self.samples, axis=-1)) if self.turns else math.nan


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
        """Return the figure; NaN if there is nothing to measure."""
        return self.sampled(scored).value

    def sampled(self, scored: Sequence[Scored]) -> Sampled:
        """Return the figure by conversations."""
        valued = without_unknown(self.values(scored))
        if self.splits is not None:
            return _harmonic(valued, {unit_of(each) for each in scored if self.splits(each)})
        if self.quantile is not None:
            return _quantile(valued, self.quantile)
        sums, counts = session_sums(valued)
        if self.by_session:
            sums, counts = sums / counts, np.ones_like(counts)
        return Sampled((sums, counts), ratio, len(valued))


def without_unknown(valued: Valued) -> Valued:
    return {unit: value for unit, value in valued.items() if not math.isnan(value)}


def session_sums(valued: Valued) -> tuple[Floats, Floats]:
    """Return the sum and the number of the turns' values of each conversation, in sorted order."""
    rows: dict[tuple[Part, str], list[float]] = {}
    for (part, session_id, _), value in sorted(valued.items()):
        rows.setdefault((part, session_id), []).append(value)
    return (
        np.array([math.fsum(values) for values in rows.values()], dtype=np.float64),
        np.array([len(values) for values in rows.values()], dtype=np.float64),
    )


def ratio(sums: Floats, counts: Floats, axis: int) -> Floats:
    """Return the mean over turns, from each conversation's sum and number of turns."""
    mean: Floats = sums.sum(axis) / counts.sum(axis)
    return mean


def _harmonic(valued: Valued, split: set[tuple[Part, str, int]]) -> Sampled:
    """Return the harmonic mean of the means inside and outside a split; none if one of them is empty."""
    sessions = {session: place for place, session in enumerate(sorted({unit[:2] for unit in valued}))}
    rows = np.zeros((4, len(sessions)))  # sums and counts in the split, then those of the others
    for unit, value in valued.items():
        row = 0 if unit in split else 2
        rows[row : row + 2, sessions[unit[:2]]] += value, 1

    def mean(*rows: Floats, axis: int) -> Floats:
        one, other = (
            sums.sum(axis) / np.maximum(counts.sum(axis), 1.0) for sums, counts in (rows[:2], rows[2:])
        )
        harmonic: Floats = 2 * one * other / np.where(one + other == 0, 1.0, one + other)
        return harmonic

    return Sampled(tuple(rows), mean, len(valued) if rows[1].any() and rows[3].any() else 0)


def _quantile(valued: Valued, share: float) -> Sampled:
    """Return the quantile: values are sorted once and count as often as their conversation is drawn."""
    names = {session: index for index, session in enumerate(sorted({unit[:2] for unit in valued}))}
    ordered = sorted((value, names[unit[:2]]) for unit, value in valued.items())
    values, owners = np.array([each[0] for each in ordered]), np.array([each[1] for each in ordered])

    def quantile(sessions: Floats, axis: int) -> Floats:
        drawn = sessions.astype(np.int64)
        times = np.apply_along_axis(np.bincount, axis, drawn, minlength=len(names))
        reached = times[..., owners].cumsum(axis)
        smallest: Floats = values[(reached < np.ceil(share * reached[..., -1:] - 1e-9)).sum(axis)]
        return smallest

    return Sampled((np.arange(float(len(names))),), quantile, len(values))


def percentile(values: Sequence[float] | Floats, share: float) -> float:
    """Return the smallest value that at least `share` of all do not exceed; NaN where there are none."""
    array = np.asarray(values, np.float64)
    return float(np.quantile(array, share, method="inverted_cdf")) if array.size else math.nan


def aurc(right: Floats, confidence: Floats) -> float:
    """Return the area under risk and coverage (Geifman, Uziel and El-Yaniv 2019), in 0..1; less is better.

    `right` (n,) of 0 and 1, `confidence` (n,): within equal ones the order is random. NaN without any.
    """
    order = np.argsort(-confidence, kind="stable")
    ordered, wrong = confidence[order], 1.0 - right[order]
    for value in np.unique(ordered):
        wrong[ordered == value] = wrong[ordered == value].mean()
    return float((np.cumsum(wrong) / np.arange(1, len(wrong) + 1)).mean()) if len(wrong) else math.nan


def calibration_error(right: Floats, probability: Floats, bins: int = 10) -> float:
    """Return the expected calibration error (Naeini et al. 2015) of ten bins of equal width, as `aurc`."""
    places = np.minimum((probability * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(places, probability - right)).sum() / len(right))


def confidence_figures(right: Floats, probability: Floats) -> dict[str, float]:
    """Return both figures of a probability, in four decimals."""
    error = calibration_error(right, probability)
    return {"aurc": round(aurc(right, probability), 4), "calibration_error": round(error, 4)}


_Value = Callable[[TurnOutcome, Protocol], float]
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


def measure(name: str, protocol: Protocol) -> Measure:
    """Return the measure of that name. Raises `ValueError` where there is none.

    `accuracy`, `acceptable`, `missing`, `hallucination`: shares of all turns; `truthfulness`: mean points.
    `session_truthfulness`: the kits' conversation score, after the early stop; `early_stopped`: of the
    conversations of several turns, those that a user would give up. `overlap`: share of the gold's words.
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
    if values := recall(name):
        return Measure(name, values)
    raise ValueError(f"there is no measure {name!r}")


def scores_of(scored: Sequence[Scored], protocol: Protocol) -> dict[str, float]:
    """Return CRAG-MM's scores of whole conversations, by measure; NaN where there is nothing to measure."""
    return {name: measure(name, protocol).of(scored) for name in _OF_VERDICTS}


def _of_verdicts(name: str, protocol: Protocol, scored: Sequence[Scored]) -> Valued:
    value = _OF_VERDICTS[name]
    return {unit_of(turn.scored): value(turn, protocol) for turn in settle(scored, protocol)}


def _of_answers(value: Callable[[Scored], float], scored: Sequence[Scored]) -> Valued:
    return {unit_of(each): value(each) for each in scored}


def _is_of_several(turn: TurnOutcome) -> bool:
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


_OF_ANSWERS: dict[str, Callable[[Scored], float]] = {
    **{name: partial(_usage, name) for name in USAGE},
    **dict.fromkeys(("elapsed_mean_ms", *_QUANTILES), _client_ms),
    "overlap": lambda scored: overlap(scored.answer, scored.record.gold),
    "benchmark_score": _benchmark,
    "article_recall": article_recall,
    "identified": identified,
    "query_overlap": query_overlap,
}
