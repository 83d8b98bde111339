"""Agreement between two judges, and of a judge with the gold set: answers with the verdicts of people.

The gold set was written for this repository by the eight rules of CRAG-MM's judge (appendix B.1); none of it
is among the judge's examples.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

from evaluation.judging.verdicts import Case, Judgement, Verdict

PUBLISHED = pd.DataFrame(
    {"correct": (98.8, 94.3), "incorrect": (98.7, 78.2), "missing": (100.0, 100.0)},
    index=["published: accuracy", "published: F1"],
).T
"""Scores of the benchmark's judge by verdict, percent (Table 7)."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """`verdicts`: the `first` and the `second` of each answer that both have judged, by interaction id;
    judgements that failed are left out and counted.
    """

    verdicts: pd.DataFrame
    failed: int
    unshared: int

    @property
    def accuracy(self) -> float:
        """The share of equal verdicts; NaN if there are none."""
        return float((self.verdicts["first"] == self.verdicts["second"]).mean())

    @property
    def confusion(self) -> pd.DataFrame:
        """Counts by the first's (rows) and the second's verdict."""
        return pd.crosstab(self.verdicts["first"], self.verdicts["second"])

    @property
    def kappa(self) -> float:
        """Agreement beyond what the two rates alone would give, at most 1 (Cohen 1960); NaN where both give
        the same verdict throughout.
        """
        rates = (self.verdicts[judge].value_counts(normalize=True) for judge in ("first", "second"))
        by_chance = math.fsum(pd.concat(rates, axis=1).prod(axis=1, skipna=False).dropna())
        return math.nan if by_chance == 1 else (self.accuracy - by_chance) / (1 - by_chance)

    @property
    def disagreements(self) -> list[str]:
        """The answers that the two judge differently, a right answer called wrong before other kinds."""
        apart = self.verdicts[self.verdicts["first"] != self.verdicts["second"]]
        gaps = {
            str(name): abs(Verdict(each["first"]).points - Verdict(each["second"]).points)
            for name, each in apart.iterrows()
        }
        return sorted(gaps, key=lambda name: (-gaps[name], name))

    def by_verdict(self) -> pd.DataFrame:
        """Return accuracy, precision, recall and F1 of the second's verdicts against the first's, percent."""
        scores = {}
        for verdict in (Verdict.CORRECT, Verdict.INCORRECT, Verdict.MISSING):
            true, predicted = self.verdicts["first"] == verdict, self.verdicts["second"] == verdict
            both = (true & predicted).sum()
            precision, recall = (both / each.sum() if each.any() else math.nan for each in (predicted, true))
            f1 = 2 * precision * recall / (precision + recall) if both else math.nan
            scores[verdict.value] = ((true == predicted).mean(), precision, recall, f1)
        return 100 * pd.DataFrame(scores, index=["accuracy", "precision", "recall", "F1"]).T


def agreement(a: Mapping[str, Judgement], b: Mapping[str, Judgement]) -> Agreement:
    """Return the agreement of two judges on the same answers."""
    shared = [name for name in a if name in b]
    usable = [name for name in shared if not a[name].failed and not b[name].failed]
    rows = [(a[name].verdict.value, b[name].verdict.value) for name in usable]
    verdicts = pd.DataFrame(rows, index=usable, columns=["first", "second"])
    return Agreement(verdicts, len(shared) - len(usable), len(a.keys() ^ b.keys()))


@dataclass(frozen=True, slots=True)
class GoldCase:
    """One answer with people's verdict."""

    kind: str
    case: Case
    verdict: Verdict


def gold_cases() -> tuple[GoldCase, ...]:
    """Return all gold cases in the file's order."""
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


def with_people(cases: Sequence[GoldCase], judgements: Mapping[str, Judgement]) -> Agreement:
    """Return the agreement of people and judge; failed judgements are left out and counted."""
    return agreement({each.case.interaction_id: Judgement(each.verdict, "") for each in cases}, judgements)
