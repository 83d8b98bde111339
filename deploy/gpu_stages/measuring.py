"""How long a stage takes and what it holds on the card."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from chassis.accelerator import CPU, Accelerator
from deploy.gpu_stages.stages import Stage


@dataclass(frozen=True, slots=True)
class Effort:
    """Calls before the clock starts, and calls that are timed."""

    warm_ups: int = 3
    repeats: int = 30


@dataclass(frozen=True, slots=True)
class Measured:
    """One batch size of a stage, without the stage itself, which would keep its model on the card.

    `ratio`: its time over that of the same items one by one; memory in bytes, the model included;
    `prepared_ms`: an item's share of the CPU before the pass.
    """

    name: str
    item: str
    batch: int
    budget: str
    p50_ms: float
    p95_ms: float
    ratio: float
    peak_bytes: int
    prepared_ms: float | None


def measure(stage: Stage, accelerator: Accelerator, effort: Effort) -> list[Measured]:
    """Every batch size of the stage, the smallest first."""
    prepared = None
    if stage.prepare is not None:
        prepared = float(np.median(_times(stage.prepare, CPU, effort)))
    rows: list[Measured] = []
    single = 0.0
    for batch in sorted(stage.budgets):
        forget_peak(accelerator)
        times = _times(partial(stage.work, batch), accelerator.device, effort)
        middle, late = np.percentile(times, [50, 95])
        single = single or float(middle) / batch
        ratio = float(middle) / (single * batch)
        rows.append(
            Measured(
                name=stage.name,
                item=stage.item,
                batch=batch,
                budget=stage.budgets[batch],
                p50_ms=float(middle),
                p95_ms=float(late),
                ratio=ratio,
                peak_bytes=_peak(accelerator),
                prepared_ms=prepared,
            )
        )
    return rows


def forget_peak(accelerator: Accelerator) -> None:
    """Count the peak of memory anew."""
    gc.collect()
    if accelerator.device != CPU:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(accelerator.device)


def _peak(accelerator: Accelerator) -> int:
    return 0 if accelerator.device == CPU else int(torch.cuda.max_memory_allocated(accelerator.device))


def _times(call: Callable[[], object], device: str, effort: Effort) -> list[float]:
    for _ in range(effort.warm_ups):
        call()
    return [_time(call, device) for _ in range(effort.repeats)]


def _time(call: Callable[[], object], device: str) -> float:
    """Milliseconds, until the card is done."""
    _wait(device)
    start = time.perf_counter()
    call()
    _wait(device)
    return (time.perf_counter() - start) * 1000


def _wait(device: str) -> None:
    if device != CPU:
        torch.cuda.synchronize(device)
