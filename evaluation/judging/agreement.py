"""Agreement between two judges, and of a judge with the gold set: answers with the verdicts of people.

The gold set was written for this repository by the eight rules of CRAG-MM's judge (appendix B.1); none of it
is among the judge's examples. Scores by verdict are those of the benchmark's Table 7.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from evaluation.judging.verdicts import Case, Judge, Judgement, Verdict

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


PUBLISHED = {Verdict.CORRECT: 98.8, Verdict.INCORRECT: 98.7, Verdict.MISSING: 100.0}
"""Accuracy of the benchmark's judge by verdict, percent (Table 7)."""
PUBLISHED_F1 = {Verdict.CORRECT: 94.3, Verdict.INCORRECT: 78.2, Verdict.MISSING: 100.0}


@dataclass(frozen=True, slots=True)
class GoldCase:
    """One answer, and what people say of it."""

    kind: str
    case: Case
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class VerdictScore:
    """One verdict against all others, shares in 0..1; NaN where there is nothing to divide by."""

    accuracy: float
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else math.nan


def gold_cases() -> tuple[GoldCase, ...]:
    """All of them, in the file's order."""
    text = files(__package__).joinpath("gold.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return tuple(
        GoldCase(
            row["kind"],
            Case(f"gold-{number:03}", row["question"], row["gold"], row["answer"]),
            Verdict(row["verdict"]),
        )
        for number, row in enumerate(rows, 1)
    )


async def judged_by(judge: Judge, cases: Sequence[GoldCase]) -> dict[str, Judgement]:
    """By id, one after the other."""
    return {each.case.interaction_id: await judge.judge(each.case) for each in cases}


def held(cases: Sequence[GoldCase], judgements: Mapping[str, Judgement]) -> Agreement:
    """The people's verdicts against the judge's; judgements that failed are left out and counted."""
    people = {each.case.interaction_id: Judgement(each.verdict, each.kind) for each in cases}
    return agreement(people, {name: judgements[name] for name in people})


def score_of(verdict: Verdict, found: Agreement) -> VerdictScore:
    """Of one verdict, from the counts by the people's and the judge's."""
    counts = found.confusion.items()
    both = found.confusion.get((verdict, verdict), 0)
    people = sum(count for (theirs, _), count in counts if theirs is verdict)
    judge = sum(count for (_, said), count in counts if said is verdict)
    wrong = people + judge - 2 * both
    return VerdictScore(
        accuracy=1 - wrong / found.count if found.count else math.nan,
        precision=both / judge if judge else math.nan,
        recall=both / people if people else math.nan,
    )
