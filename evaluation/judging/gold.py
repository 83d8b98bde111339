"""Our gold set: answers with the verdicts that people gave them, by kind; what a judge is held against.

Written for this repository, by the eight rules of CRAG-MM's judge (appendix B.1); none of it is among the
judge's worked examples. Measured as in the benchmark's Table 7: accuracy, precision, recall, F1 by verdict.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from evaluation.judging.agreement import Agreement, agreement
from evaluation.judging.port import Case, Judge, Judgement, Verdict

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
