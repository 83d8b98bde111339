"""`python -m bench.decoding`: what a photo costs in a decoder's process, against the same in a thread.

Both in one run, turn about, so that what else the machine does falls on both.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import closing

import typer

from bench.figures import percentile
from bench.photo import photo
from chassis.images import ImageLimits, PhotoDecoders, clean_image
from chassis.resilience.deadlines import Deadline

_SIDE = 1920
_SIZES = {"1.2 MP": (1280, 960), "12 MP": (4032, 3024)}
_AT_ONCE = 2

Clean = Callable[[bytes], Awaitable[object]]


async def _in_thread(data: bytes) -> object:
    return await asyncio.to_thread(clean_image, data, ImageLimits(), _SIDE)


async def _timed(clean: Clean, data: bytes, into: list[float]) -> None:
    began = time.perf_counter()
    await clean(data)
    into.append(1000 * (time.perf_counter() - began))


async def _measure(rounds: int) -> None:
    with closing(PhotoDecoders(_AT_ONCE)) as decoders:

        async def in_process(data: bytes) -> object:
            return await decoders.clean(data, ImageLimits(), _SIDE, Deadline.after_ms(60_000))

        ways: dict[str, Clean] = {"thread": _in_thread, "process": in_process}
        for name, size in _SIZES.items():
            data = photo(*size)
            alone: dict[str, list[float]] = {way: [] for way in ways}
            together_s = dict.fromkeys(ways, 0.0)
            for number in range(rounds + 1):
                for way, clean in ways.items():
                    took: list[float] = []
                    await _timed(clean, data, took)
                    began = time.perf_counter()
                    await asyncio.gather(*(clean(data) for _ in range(_AT_ONCE)))
                    if number:  # the first starts what is kept
                        alone[way] += took
                        together_s[way] += time.perf_counter() - began
            for way, times in alone.items():
                rate = rounds * _AT_ONCE / together_s[way]
                p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
                typer.echo(
                    f"{name} ({len(data) // 1000} kB), {way}: p50 {p50:.1f} ms, p95 {p95:.1f} ms,"
                    f" {_AT_ONCE} at once {rate:.1f} photos/s"
                )


def main(rounds: int = 30) -> None:
    """Print both ways' times and rates."""
    asyncio.run(_measure(rounds))


if __name__ == "__main__":
    typer.run(main)
