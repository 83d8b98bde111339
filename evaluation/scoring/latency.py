"""How long answers took: per stage, for the gateway, and as the caller saw it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.record import TurnRecord


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one stage over the requests in which it ran."""

    count: int
    mean: float
    p50: float
    p95: float
    longest: float


def latencies(records: Iterable[TurnRecord]) -> Mapping[str, Latency]:
    """By stage in the order stages were first seen, then `total` (the gateway's) and `client`.

    Requests that failed have no times.
    """
    samples: defaultdict[str, list[float]] = defaultdict(list)
    client: list[float] = []
    for record in records:
        if record.answer is None:
            continue
        client.append(record.client_ms)
        for stage, ms in record.answer.timings_ms.items():
            samples[stage].append(ms)
    totals = samples.pop("total", [])
    named: dict[str, Sequence[float]] = {**samples, "total": totals, "client": client}
    return {stage: latency(values) for stage, values in named.items() if values}


def latency(values: Sequence[float]) -> Latency:
    """Of at least one value."""
    mean = math.fsum(values) / len(values)
    return Latency(len(values), mean, percentile(values, 0.50), percentile(values, 0.95), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
