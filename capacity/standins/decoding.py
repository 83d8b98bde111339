"""Continuous batching, as vLLM does it: one step at a time writes one token for each running sequence.

Newcomers join between steps, and their prompts are read in the step that they join, which all others wait
for (no chunked prefill). Those beyond the limit queue in order of arrival, without bound.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from chassis.resilience.deadlines import Clock
from gateway.planning.latencies import VlmSpeed

_MOST_LAG_S = 0.1
"""So far behind its timetable a step may make up for it; timers are late, and one step after another."""


@dataclass(frozen=True, slots=True)
class ReadPrompt:
    """What has to be read, in tokens of text and of photo.

    `prefix` names the beginning that other prompts may share: `prefix_tokens` of text, and the photo.
    """

    prefix: str
    prefix_tokens: int
    further_tokens: int
    photo_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All of it."""
        return self.photo_tokens + self.prefix_tokens + self.further_tokens


@dataclass(eq=False, slots=True)
class Running:
    """One sequence: `tokens` it will write, `written` so far; `pace`: tokens a step, below 1 when slow."""

    prompt: ReadPrompt
    tokens: int
    pace: float = 1.0
    cached_tokens: int = 0
    began: float | None = None
    progress: float = 0.0
    _changed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def written(self) -> int:
        """Whole tokens."""
        return min(self.tokens, int(self.progress + 1e-9))

    async def beyond(self, seen: int) -> int:
        """How many tokens there are, once they are more than `seen`."""
        while self.written <= seen:
            await self._changed.wait()
        return self.written

    def write(self, interval: int) -> None:
        """One step's worth; whoever waits is woken every `interval` tokens, and at the first and the last."""
        before = self.written
        self.progress += self.pace
        now = self.written
        if now > before and (before == 0 or now == self.tokens or now // interval > before // interval):
            self._changed.set()
            self._changed = anyio.Event()


class PrefixCache:
    """The beginnings read lately; `size` 0 for a server that keeps none."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, prefix: str) -> bool:
        return prefix in self._kept

    def keep(self, prefix: str) -> None:
        """The newest; the one used longest ago gives way."""
        if self._size:
            self._kept[prefix] = None
            self._kept.move_to_end(prefix)
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)


@dataclass(slots=True)
class BatchRecord:
    """What the engine did: `steps`, `busy_ms` in all, `sequence_ms` summed over the running sequences."""

    steps: int = 0
    busy_ms: float = 0.0
    sequence_ms: float = 0.0
    most_waiting: int = 0

    @property
    def mean_batch(self) -> float:
        """Sequences running, over the time in which any were."""
        return self.sequence_ms / self.busy_ms if self.busy_ms else 0.0


class ContinuousBatch:
    """The engine. `step_ms(batch)`: a decode step of so many sequences, now. Idle, it has no timer."""

    def __init__(
        self,
        sequences: int,
        speed: VlmSpeed,
        step_ms: Callable[[int], float],
        clock: Clock,
        openings: int = 64,
        stream_interval: int = 1,
    ) -> None:
        self.record = BatchRecord()
        self._sequences = sequences
        self._speed = speed
        self._step_ms = step_ms
        self._clock = clock
        self._interval = stream_interval
        self._cache = PrefixCache(openings if speed.prefix_caching else 0)
        self._waiting: deque[Running] = deque()
        self._running: list[Running] = []
        self._ends_at: float | None = None

    @property
    def waiting(self) -> int:
        """Sequences in the queue now."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Sequences in the batch now."""
        return len(self._running)

    def submit(self, sequence: Running) -> None:
        """Queue it; it joins the batch at the next step."""
        self._waiting.append(sequence)
        if self._ends_at is None:
            self._begin_step(self._clock())
        self.record.most_waiting = max(self.record.most_waiting, self.waiting)

    def leave(self, sequence: Running) -> None:
        """Its caller is gone, or has all of it: queue and batch are rid of it at once."""
        if sequence in self._running:
            self._running.remove(sequence)
        elif sequence in self._waiting:
            self._waiting.remove(sequence)

    def _begin_step(self, now: float) -> None:
        newcomers = self._admit(now)
        if not self._running:
            self._ends_at = None
            return
        ms = self._step_ms(len(self._running)) + sum(map(self._prefill_ms, newcomers))
        self.record.steps += 1
        self.record.busy_ms += ms
        self.record.sequence_ms += ms * len(self._running)
        self._ends_at = now + ms / 1000
        delay = max(0.0, self._ends_at - self._clock())
        asyncio.get_running_loop().call_later(delay, self._end_step, newcomers)

    def _end_step(self, newcomers: list[Running]) -> None:
        planned, now = self._ends_at or 0.0, self._clock()
        for newcomer in newcomers:
            self._cache.keep(newcomer.prompt.prefix)
        for sequence in self._running:
            sequence.write(self._interval)
        self._running = [sequence for sequence in self._running if sequence.written < sequence.tokens]
        self._begin_step(planned if now - planned <= _MOST_LAG_S else now)

    def _admit(self, now: float) -> list[Running]:
        newcomers = []
        while self._waiting and len(self._running) < self._sequences:
            sequence = self._waiting.popleft()
            sequence.began = now
            self._running.append(sequence)
            newcomers.append(sequence)
        return newcomers

    def _prefill_ms(self, newcomer: Running) -> float:
        """Reading the prompt, but for a beginning that is still known."""
        prompt, speed = newcomer.prompt, self._speed
        text, vision = prompt.further_tokens, 0.0
        if prompt.prefix in self._cache:
            newcomer.cached_tokens = prompt.prefix_tokens + prompt.photo_tokens
        else:
            text += prompt.prefix_tokens
            vision = speed.vision_ms if prompt.photo_tokens else 0.0
        return (vision + speed.prefill_ms_per_1k * text / 1000) / newcomer.pace
