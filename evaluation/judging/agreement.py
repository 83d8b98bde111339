"""How far two judges agree: share of equal verdicts, Cohen's kappa, and where they part."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.judging.port import Judgement, Verdict

Judgements = Mapping[str, Judgement]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One answer that the two judge differently."""

    interaction_id: str
    first: Judgement
    second: Judgement


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over the answers that both have judged; judgements that failed are left out and counted.

    `accuracy`: the share of equal verdicts. `kappa`: agreement beyond what the two rates alone would give, at
    most 1 (Cohen 1960); NaN where both give the same verdict throughout. `confusion`: counts by the first's
    and the second's verdict. `disagreements`: all of them, a right answer called wrong before other kinds.
    """

    count: int
    accuracy: float
    kappa: float
    confusion: Mapping[tuple[Verdict, Verdict], int]
    disagreements: tuple[Disagreement, ...]
    failed: int
    unshared: int


def agreement(a: Judgements, b: Judgements) -> Agreement:
    """Of two judges on the same answers."""
    shared = [name for name in a if name in b]
    usable = [name for name in shared if not a[name].failed and not b[name].failed]
    confusion = Counter((a[name].verdict, b[name].verdict) for name in usable)
    apart = [
        Disagreement(name, a[name], b[name]) for name in usable if a[name].verdict is not b[name].verdict
    ]
    apart.sort(key=lambda each: (_gap(each), each.interaction_id))
    equal = sum(count for (one, two), count in confusion.items() if one is two)
    return Agreement(
        count=len(usable),
        accuracy=equal / len(usable) if usable else math.nan,
        kappa=_kappa(confusion),
        confusion=dict(confusion),
        disagreements=tuple(apart),
        failed=len(shared) - len(usable),
        unshared=len(a.keys() ^ b.keys()),
    )


def _gap(apart: Disagreement) -> float:
    return -abs(apart.first.verdict.points - apart.second.verdict.points)


def _kappa(confusion: Counter[tuple[Verdict, Verdict]]) -> float:
    total = confusion.total()
    if total == 0:
        return math.nan
    rows: Counter[Verdict] = Counter()
    columns: Counter[Verdict] = Counter()
    for (one, two), count in confusion.items():
        rows[one] += count
        columns[two] += count
    by_chance = math.fsum(rows[verdict] * columns[verdict] for verdict in Verdict) / total**2
    equal = math.fsum(confusion[verdict, verdict] for verdict in Verdict) / total
    return math.nan if by_chance == 1 else (equal - by_chance) / (1 - by_chance)
