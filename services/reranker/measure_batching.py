"""What shared forward passes save: `python -m services.reranker.measure_batching FOLDER`.

Scores the same pairs one call after the other and as concurrent calls behind the micro-batcher.
"""

import argparse
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from chassis.accelerator import Placement, open_accelerator
from chassis.models.batching import BatchLimits, MicroBatcher
from services.reranker.engines.cascade import FineStage, Pair

_WAIT_MS = 50.0


class Counted:
    """A forward that counts its passes."""

    def __init__(self, forward: FineStage) -> None:
        self._forward = forward
        self.passes = 0

    def __call__(self, pairs: Sequence[Pair]) -> Sequence[float]:
        """The forward's own scores."""
        self.passes += 1
        return self._forward(pairs)


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds and forward passes of both ways, and by how much their scores differ."""

    sequential_s: float
    sequential_passes: int
    concurrent_s: float
    concurrent_passes: int
    difference: float


def measure(forward: Counted, pairs: Sequence[Pair]) -> Measured:
    """Each pair as a call of its own; both ways with the model warm."""
    forward(pairs[:1])
    alone, alone_s, alone_passes = _timed(forward, lambda: [forward([pair])[0] for pair in pairs])
    batcher = MicroBatcher(forward, BatchLimits(len(pairs), _WAIT_MS))
    together, together_s, passes = _timed(forward, lambda: _concurrently(batcher, pairs))
    batcher.close()
    difference = max(abs(one - other) for one, other in zip(alone, together, strict=True))
    return Measured(alone_s, alone_passes, together_s, passes, difference)


def _concurrently(batcher: MicroBatcher[Pair, float], pairs: Sequence[Pair]) -> list[float]:
    start = threading.Barrier(len(pairs))

    def call(pair: Pair) -> float:
        start.wait()
        return batcher([pair])[0]

    with ThreadPoolExecutor(len(pairs)) as callers:
        return list(callers.map(call, pairs))


def _timed(forward: Counted, run: Callable[[], list[float]]) -> tuple[list[float], float, int]:
    passes, started = forward.passes, time.perf_counter()
    scores = run()
    return scores, time.perf_counter() - started, forward.passes - passes


def main() -> None:
    """Print the two ways and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a folder or hub id of a Qwen3-Reranker")
    parser.add_argument("--calls", type=int, default=16)
    parser.add_argument("--words", type=int, default=100, help="of each document")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()

    from services.reranker.engines.qwen3 import Qwen3Reranker

    accelerator = open_accelerator(Placement(arguments.device))
    judge = Qwen3Reranker.from_pretrained(arguments.model, accelerator)
    document = "The tower was built by Ada in 1907. " * (arguments.words // 8 + 1)
    pairs = [(f"Who built tower {number}?", document) for number in range(arguments.calls)]
    found = measure(Counted(judge.score), pairs)
    print(  # noqa: T201
        f"{arguments.calls} calls of one document, {accelerator.device} {accelerator.dtype}\n"
        f"one after the other: {found.sequential_s * 1000:.0f} ms, {found.sequential_passes} passes\n"
        f"at the same time:    {found.concurrent_s * 1000:.0f} ms, {found.concurrent_passes} passes\n"
        f"ratio {found.sequential_s / found.concurrent_s:.1f}, scores within {found.difference:.0e}"
    )


if __name__ == "__main__":
    main()
