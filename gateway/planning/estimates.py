"""Live estimates of stage times, as ratios to the times on an idle node.

Per stage and load level the latest ratios observed / expected are kept, so that one window serves calls of
every size.
"""

import math
import time
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from threading import Lock

from chassis.resilience.deadlines import Clock
from gateway.planning.latencies import ONE, Latencies, Work
from gateway.planning.stages import Stage

WINDOW = 64
"""Observations of a level that count, the latest ones."""
HALF_LIFE_S = 60.0
SILENCE_HALF_LIFE_S = 20.0
"""A second half-life, of the time since the last observation. A stage that is skipped because it was slow is
not observed any more; without this its estimate would stay high."""
PRIOR_WEIGHT = 3.0
"""Observations that the latency table counts as."""
ENOUGH = 1.0
"""Decayed observations from which a level uses its own ratios."""
LEVELS = 5
"""Questions in flight: 1, 2-3, 4-7, 8-15, 16 and more."""

_LEAST_MS = 0.1
_LEAST_RATIO, _MOST_RATIO = 1e-5, 1e4
_FRESH_S = 0.5
"""Cache time of an estimate with `_WELL_KNOWN` observations."""
_WELL_KNOWN = 32
_PRIOR_POINTS = 16


def level_of(load: int) -> int:
    """Return the load level, 0 to `LEVELS` - 1, of that many questions in flight, this one included."""
    return min(LEVELS - 1, max(1, load).bit_length() - 1)


@dataclass(frozen=True, slots=True)
class Ratios:
    """Observed time over that on an idle node: median and ninth decile."""

    p50: float = 1.0
    p90: float = 1.0

    def at_least(self, other: "Ratios") -> "Ratios":
        """Return the larger of both, each by itself."""
        return Ratios(max(self.p50, other.p50), max(self.p90, other.p90))

    def damped(self, levels: int) -> "Ratios":
        """Return the ratios for a load `levels` lower: half the excess (of the logarithm) a level."""
        share = 0.5**levels
        median = min(self.p50, self.p50**share)
        return Ratios(median, median * self.p90 / self.p50)


class RecentRatios:
    """The latest ratios, over a prior: the more was observed, the less the prior counts."""

    __slots__ = ("_observed", "_prior")

    def __init__(self, sigma: float) -> None:
        """The prior is a log-normal spread of `sigma` around ratio 1."""
        shares = ((point + 0.5) / _PRIOR_POINTS for point in range(_PRIOR_POINTS))
        self._prior = [math.exp(sigma * NormalDist().inv_cdf(share)) for share in shares]
        self._observed: deque[tuple[float, float]] = deque(maxlen=WINDOW)

    def __len__(self) -> int:
        return len(self._observed)

    def add(self, ratio: float, now: float) -> None:
        """Count an observation made at `now`, seconds."""
        self._observed.append((now, min(max(ratio, _LEAST_RATIO), _MOST_RATIO)))

    def ratios(self, now: float) -> Ratios:
        weights = self.weights(now)
        prior_weight = PRIOR_WEIGHT**2 / (PRIOR_WEIGHT + sum(weights)) / _PRIOR_POINTS
        observed = [ratio for _, ratio in self._observed]
        masses = sorted(
            [*zip(observed, weights, strict=True), *((each, prior_weight) for each in self._prior)]
        )
        reached = list(accumulate(weight for _, weight in masses))
        p50, p90 = (masses[bisect_left(reached, share * reached[-1])][0] for share in (0.5, 0.9))
        return Ratios(p50, p90)

    def weights(self, now: float) -> list[float]:
        """Return how much of an observation each still amounts to."""
        if not self._observed:
            return []
        silent = (now - self._observed[-1][0]) / SILENCE_HALF_LIFE_S
        return [math.pow(0.5, silent + (now - at) / HALF_LIFE_S) for at, _ in self._observed]


class Estimates:
    """Live latencies of a node's stages, starting from its table.

    `load`: questions in flight, this one included. `by_model`: False for a stage that the lite reasoner
    or a rule does where a model could; both are known apart. Metrics read it from a thread of their own.
    """

    def __init__(self, latencies: Latencies, clock: Clock = time.monotonic) -> None:
        self.latencies = latencies
        self._clock = clock
        self._recent: dict[tuple[Stage, bool], tuple[RecentRatios, ...]] = {}
        self._by_level: dict[tuple[Stage, bool], tuple[float, list[Ratios]]] = {}
        self._lock = Lock()

    def observe(self, stage: Stage, work: Work, ms: float, load: int, *, by_model: bool = True) -> None:
        """Count a call that took `ms`. A value that is not a duration is ignored."""
        if not (0.0 <= ms < math.inf):
            return
        key = (stage, by_model and self.has_model(stage))
        ratio = ms / self.idle_ms(stage, work, by_model=by_model)
        with self._lock:
            recent = self._levels(key)[level_of(load)]
            recent.add(ratio, self._clock())
            if len(recent) < _WELL_KNOWN:
                self._by_level.pop(key, None)

    def p50_ms(self, stage: Stage, work: Work = ONE, load: int = 1, *, by_model: bool = True) -> float:
        return self.ratios(stage, load, by_model=by_model).p50 * self.idle_ms(stage, work, by_model=by_model)

    def p90_ms(self, stage: Stage, work: Work = ONE, load: int = 1, *, by_model: bool = True) -> float:
        """The ninth decile, milliseconds; never more than the longest reply takes at the present speed."""
        ratios = self.ratios(stage, load, by_model=by_model)
        idle = self.idle_ms(stage, work, by_model=by_model)
        longest = ratios.p50 * self.longest_ms(stage, work, by_model=by_model)
        return max(ratios.p50 * idle, min(ratios.p90 * idle, longest))

    def ratios(self, stage: Stage, load: int = 1, *, by_model: bool = True) -> Ratios:
        """Return the ratios of a call's time to that on an idle node.

        A level that has not seen enough borrows from the nearest that has (of two, from the busier one), and
        no level is quicker than one with less load.
        """
        key, now = (stage, by_model and self.has_model(stage)), self._clock()
        fresh_until, levels = self._by_level.get(key, (-math.inf, []))
        if now >= fresh_until:
            with self._lock:
                levels = _combine(self._levels(key), now)
                self._by_level[key] = (now + _FRESH_S, levels)
        return levels[level_of(load)]

    def has_model(self, stage: Stage) -> bool:
        """Return whether the stage is one that this node's model does."""
        return self.latencies.vlm is not None and stage in self.latencies.model_stages

    def idle_ms(self, stage: Stage, work: Work = ONE, *, by_model: bool = True) -> float:
        """Return the table's median, never nothing."""
        if by_model or not self.has_model(stage):
            return max(_LEAST_MS, self.latencies.expected_ms(stage, work))
        return max(_LEAST_MS, self.latencies.stages[stage].median_ms(work.items))

    def longest_ms(self, stage: Stage, work: Work, *, by_model: bool = True) -> float:
        """On an idle node with the longest reply that `work` allows; infinite where nothing limits it."""
        model, most = self.latencies.vlm, work.max_output_tokens
        if not by_model or model is None or stage not in self.latencies.model_stages or most is None:
            return math.inf
        return self.latencies.model_ms(stage, work, model, most)

    def _levels(self, key: tuple[Stage, bool]) -> tuple[RecentRatios, ...]:
        if key not in self._recent:
            stage, by_model = key
            table = self.latencies.model_stages if by_model else self.latencies.stages
            self._recent[key] = tuple(RecentRatios(table[stage].sigma) for _ in range(LEVELS))
        return self._recent[key]


def _combine(levels: tuple[RecentRatios, ...], now: float) -> list[Ratios]:
    """Return every level's ratios, from its own observations or its neighbours'."""
    places = [place for place, recent in enumerate(levels) if sum(recent.weights(now)) >= ENOUGH]
    if not places:
        return [levels[0].ratios(now)] * len(levels)
    own = {place: levels[place].ratios(now) for place in places}
    ratios_by_level: list[Ratios] = []
    for place in range(len(levels)):
        nearest = min(places, key=lambda other: (abs(other - place), -other))
        ratios = own[nearest].damped(nearest - place) if nearest > place else own[nearest]
        ratios_by_level.append(ratios.at_least(ratios_by_level[-1]) if ratios_by_level else ratios)
    return ratios_by_level
