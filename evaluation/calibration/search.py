"""Thresholds by exhaustive search over a replayed run (QA-Dragon, 4.3, searches a raster).

The thresholds of the answer multiply out to far more settings than could be replayed one by one. But each
question is given exactly if it reaches several values at once, so a histogram of what every question
reaches, summed up along every axis, holds the scores of all settings together.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from evaluation.calibration.replay import (
    ANSWER,
    REPLAYED,
    ROUTER,
    Bools,
    CalibrationError,
    Cutoffs,
    Floats,
    Ints,
    Signals,
    goes_direct,
    replay,
    stands,
    support_under,
)

_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Axis:
    """The m values to try of one threshold, ascending; `met` says how many of them each question reaches.

    `met` is m where nothing was measured: that refuses nothing.
    """

    name: str
    values: Floats
    met: Ints


def axis(name: str, signal: Floats, worse: Bools, present: float, most: int | None = None) -> Axis:
    """The values worth trying: the present one, and one just above each question that is better refused.

    Between two such questions no value is better than the lowest: it gives all that is right and no more
    that is wrong. So nothing is lost against trying every value, unless there are more than `most`; then
    those are kept that stand evenly among them.
    """
    values = np.unique(np.append(_above(signal, worse), present))
    if most is not None and len(values) > most:
        kept = np.unique(np.linspace(0, len(values) - 1, max(1, most - 1)).round().astype(np.int64))
        values = np.unique(np.append(values[kept], present))
    return fixed(name, signal, values)


def fixed(name: str, signal: Floats, values: Floats) -> Axis:
    """An axis of given values, ascending."""
    met = np.searchsorted(values, signal, side="right")
    return Axis(name, values, np.where(np.isnan(signal), len(values), met))


def _above(signal: Floats, worse: Bools) -> Floats:
    """In the middle of the gap above each value to be refused, and one below everything."""
    seen = np.unique(signal[~np.isnan(signal)])
    if len(seen) == 0:
        return np.empty(0)
    refusable = np.isin(seen, signal[worse])
    upper = np.append(seen[1:], 1.0)
    gaps = [(low, high) for low, high in zip(seen[refusable], upper[refusable], strict=True) if low < high]
    middles = [_between(float(low), float(high)) for low, high in gaps]
    return np.array([_between(0.0, float(seen[0])) if seen[0] > 0.0 else 0.0, *middles])


def _between(low: float, high: float) -> float:
    """A short number in (low, high], near the middle."""
    middle = 0.5 * (low + high)
    rounded = round(middle, _DECIMALS)
    if low < rounded <= high:
        return rounded
    return middle if low < middle else high


MOST_SETTINGS = 10_000_000
_ROUNDS = 8
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Objective:
    """Truthfulness, or with a `ceiling` on the share answered wrongly the most accuracy below it."""

    ceiling: float | None = None

    def most_wrong(self, questions: int) -> float:
        """How many may be wrong."""
        return math.inf if self.ceiling is None else math.floor(self.ceiling * questions + _SAME)

    def value(self, gain: Floats, wrong: Floats, questions: int) -> Floats:
        """What is to be large; -inf where too many are wrong. `gain`: sums of 1 (right), 0.5 (acceptable)."""
        if self.ceiling is None:
            return gain - wrong
        return np.where(wrong <= self.most_wrong(questions), gain, -np.inf)


class _Found(NamedTuple):
    """Ordered: the best value, then the fewest wrong, then the nearest to the present thresholds."""

    value: float
    few_wrong: float
    near: float
    cutoffs: Cutoffs

    @property
    def key(self) -> tuple[float, float, float]:
        return (round(self.value, 6), round(self.few_wrong, 6), round(self.near, 9))


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched: `tuned` thresholds by `objective`, starting from the `present` ones.

    `settings`: how many may be tried together. Where there are more, evenly spaced ones are, and then every
    value of each threshold by itself until nothing gets better.
    """

    present: Cutoffs
    objective: Objective = Objective()
    tuned: Collection[str] = REPLAYED
    settings: int = MOST_SETTINGS

    def best(self, signals: Signals) -> Cutoffs:
        """The best setting; ties go to the most cautious, then to the nearest to the present one.

        The router's and the answer's thresholds are searched in turns, until neither changes. The router's
        stay as they are if any draft was given at once. Raises `CalibrationError`: every setting breaks the
        ceiling.
        """
        found = self._found(signals, self.present)
        router = [name for name in ROUTER if name in self.tuned] if not signals.went_direct.any() else []
        for _ in range(_ROUNDS):
            before = found
            found = max(found, self._answer(signals, found.cutoffs), key=_key)
            if router:
                found = max(found, self._router(signals, found.cutoffs), key=_key)
            if found.key == before.key:
                break
        if math.isinf(found.value):
            raise CalibrationError(
                f"No thresholds keep wrong answers to {100 * (self.objective.ceiling or 0.0):g} % here."
            )
        return found.cutoffs

    def _found(self, signals: Signals, cutoffs: Cutoffs) -> _Found:
        points = replay(signals, cutoffs).points
        gain, wrong = np.array(points[points > 0.0].sum()), np.array(float(np.count_nonzero(points < 0.0)))
        value = float(self.objective.value(gain, wrong, len(signals)))
        return _Found(value, -float(wrong), -cutoffs.distance(self.present), cutoffs)

    def _answer(self, signals: Signals, start: Cutoffs) -> _Found:
        """Jointly over all thresholds of the answer."""
        direct = goes_direct(signals, start)
        given_at_once = np.where(direct, np.nan_to_num(signals.draft), 0.0)
        live = signals.where(~direct & ~np.isnan(signals.proposed) & signals.citable)
        block = _AnswerBlock(self, start, given_at_once, live, len(signals))
        found = block.best()
        return self._sharpened(signals, found) if block.thinned else found

    def _sharpened(self, signals: Signals, found: _Found) -> _Found:
        """Every value of one threshold after the other."""
        for _ in range(_ROUNDS):
            before = found
            for name in (name for name in ANSWER if name in self.tuned):
                for value in _values_of(signals, name, found.cutoffs, self.present):
                    moved = found.cutoffs.with_values({name: value})
                    found = max(found, self._found(signals, moved), key=_key)
            if found.key == before.key:
                break
        return found

    def _router(self, signals: Signals, start: Cutoffs) -> _Found:
        """Jointly over the two thresholds of the draft."""
        whole = np.where(stands(signals, start), np.nan_to_num(signals.proposed), 0.0)
        drafted = ~np.isnan(signals.p_direct) & ~np.isnan(signals.draft_confidence)
        draft = np.where(drafted, np.nan_to_num(signals.draft), whole)
        measured = {"direct_confidence": signals.draft_confidence, "direct_from": signals.p_direct}
        axes = []
        for name in ROUTER:
            signal = np.where(drafted, measured[name], -1.0)
            now = getattr(start, name)
            tried = name in self.tuned
            worse = drafted & (draft < whole)
            axes.append(axis(name, signal, worse, now) if tried else fixed(name, signal, np.array([now])))
        gain = _sums(axes, _gain(draft) - _gain(whole)) + _gain(whole).sum()
        wrong = _sums(axes, _wrong(draft) - _wrong(whole)) + _wrong(whole).sum()
        return self.pick(axes, gain, wrong, start, len(signals))

    def pick(self, axes: list[Axis], gain: Floats, wrong: Floats, start: Cutoffs, questions: int) -> _Found:
        """The best cell of a table with one dimension an axis."""
        value = self.objective.value(gain, wrong, questions)
        top = value.max()
        best = value >= top - _SAME if np.isfinite(top) else np.ones(value.shape, bool)
        fewest = np.where(best, wrong, np.inf)
        far = _distances(axes, self.present)
        cell = np.unravel_index(np.argmin(np.where(fewest <= fewest.min() + _SAME, far, np.inf)), value.shape)
        chosen = {each.name: float(each.values[place]) for each, place in zip(axes, cell, strict=True)}
        cutoffs = start.with_values(chosen)
        return _Found(float(top), -float(wrong[cell]), -cutoffs.distance(self.present), cutoffs)


def _key(found: _Found) -> tuple[float, float, float]:
    return found.key


@dataclass(frozen=True, slots=True)
class _AnswerBlock:
    """The thresholds of the answer over the questions that go the whole way and have one (`live`)."""

    search: Search
    start: Cutoffs
    given_at_once: Floats
    live: Signals
    questions: int

    @property
    def thinned(self) -> bool:
        return math.prod(self._sizes().values()) > self.search.settings

    def best(self) -> _Found:
        most = self._most()
        best: _Found | None = None
        mins = self._axis("token_min", self.live.token_min, most)
        means = self._axis("token_mean", self.live.token_mean, most)
        for low, mean in product(mins.values, means.values):
            tokens = {"token_min": float(low), "token_mean": float(mean)}
            found = self._believed(self.start.with_values(tokens), most)
            best = found if best is None else max(best, found, key=_key)
        assert best is not None  # every axis has at least the present value
        return best

    def _believed(self, start: Cutoffs, most: int | None) -> _Found:
        """All of doubt, support and judgement for one pair of token thresholds."""
        tokens_pass = ~((self.live.token_min < start.token_min) | (self.live.token_mean < start.token_mean))
        live = self.live.where(tokens_pass)
        block = _AnswerBlock(self.search, start, self.given_at_once, live, self.questions)
        support = support_under(live, start)
        axes = [
            block._axis("answer_confidence", live.answer_confidence, most),
            block._axis("supported", support, most),
            block._axis("judged", live.judged, most),
        ]
        return block._summed(axes)

    def _summed(self, axes: list[Axis]) -> _Found:
        once = self.given_at_once
        gain = _sums(axes, _gain(self.live.proposed)) + _gain(once).sum()
        wrong = _sums(axes, _wrong(self.live.proposed)) + _wrong(once).sum()
        return self.search.pick(axes, gain, wrong, self.start, self.questions)

    def _axis(self, name: str, signal: Floats, most: int | None) -> Axis:
        present = getattr(self.search.present, name)
        if name not in self.search.tuned:
            return fixed(name, signal, np.array([getattr(self.start, name)]))
        return axis(name, signal, self.live.proposed < 0.0, present, most)

    def _sizes(self) -> dict[str, int]:
        probability = support_under(self.live, self.start)
        signals = {name: getattr(self.live, name, probability) for name in ANSWER}
        return {name: len(self._axis(name, signal, None).values) for name, signal in signals.items()}

    def _most(self) -> int | None:
        """How many values of each threshold are tried, so that all together are not too many."""
        sizes = self._sizes().values()
        if math.prod(sizes) <= self.search.settings:
            return None
        most = max(sizes)
        while most > 2 and math.prod(min(size, most) for size in sizes) > self.search.settings:
            most -= 1
        return most


def _values_of(signals: Signals, name: str, cutoffs: Cutoffs, present: Cutoffs) -> list[float]:
    signal = getattr(signals, name, None)
    values = support_under(signals, cutoffs) if signal is None else signal
    worse: Bools = signals.proposed < 0.0
    return [float(value) for value in axis(name, values, worse, getattr(present, name)).values]


def _sums(axes: list[Axis], weights: Floats) -> Floats:
    """For every combination of the axes' values, the weights of the questions that reach all of them."""
    shape = tuple(len(each.values) + 1 for each in axes)
    cells = np.ravel_multi_index(tuple(each.met for each in axes), shape)
    counted = np.bincount(cells, weights, minlength=math.prod(shape)).astype(np.float64)
    table: Floats = counted.reshape(shape)
    for dimension in range(len(axes)):
        table = np.flip(np.cumsum(np.flip(table, dimension), dimension), dimension)
    reached: Floats = table[tuple(slice(1, None) for _ in axes)]
    return reached


def _distances(axes: list[Axis], present: Cutoffs) -> Floats:
    far: Floats = np.zeros(tuple(len(each.values) for each in axes))
    for dimension, each in enumerate(axes):
        shape = [1] * len(axes)
        shape[dimension] = -1
        far = far + np.abs(each.values - getattr(present, each.name)).reshape(shape)
    return far


def _gain(points: Floats) -> Floats:
    return np.where(points > 0.0, points, 0.0)


def _wrong(points: Floats) -> Floats:
    return (points < 0.0).astype(np.float64)
