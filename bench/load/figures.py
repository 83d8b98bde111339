"""The figures of a run."""

import math
from collections import Counter
from collections.abc import Iterator

from bench.figures import number, percentile, share
from bench.wearers.records import Asked, Fate, Record, Results

IN_TIME = (Fate.FULL, Fate.DEGRADED, Fate.REFUSED)


def questions(run: Results) -> list[Record]:
    """Everything but what was to be forgotten."""
    return [record for record in run.records if record.asked is not Asked.FORGET]


def summary(run: Results) -> Iterator[tuple[str, str]]:
    """What to show of a run: names and figures."""
    asked = questions(run)
    fates, took = Counter(record.fate for record in asked), [r.ms for r in asked if r.fate in IN_TIME]
    lasted_s = max((record.sent + record.ms / 1000 for record in asked), default=run.started) - run.started
    riddles = [record for record in asked if record.asked is Asked.IMPOSSIBLE and record.fate in IN_TIME]
    yield "wearers, at most", str(max((record.users for record in asked), default=0))
    yield "questions", str(len(asked))
    yield "in time, a second", number(len(took) / lasted_s if lasted_s > 0 else math.nan, 2)
    for name, part in (("p50, s", 0.5), ("p95, s", 0.95), ("slowest in time, s", 1.0)):
        yield name, number(percentile(took, part) / 1000, 2)
    for name, fate in _SHARES.items():
        yield name, share(fates[fate], len(asked), 0)
    yield "missed deadline", share(fates[Fate.MISSED] + fates[Fate.LATE], len(asked), 0)
    yield "server errors", str(sum(record.is_server_error for record in run.records))
    yield "riddles refused", share(sum(each.abstained for each in riddles), len(riddles), 0)


_SHARES = {
    "in full": Fate.FULL,
    "with less": Fate.DEGRADED,
    "“I don't know”": Fate.REFUSED,
    "turned away": Fate.SHED,
}
