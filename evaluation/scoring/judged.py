"""The answers of a run with a judge's verdicts on them, wherever those come from."""

from collections.abc import Sequence
from pathlib import Path

from evaluation.judging.cut import APPROXIMATE, Cut
from evaluation.judging.human import HUMAN
from evaluation.judging.port import Judgement
from evaluation.judging.rules import RuleJudge, judge_by_rules
from evaluation.judging.verdicts import read_verdicts, verdict_file
from evaluation.record import TurnRecord
from evaluation.scoring.scored import Scored, case_of, scored_with


class NotJudged(Exception):
    """A judge has no verdicts on a run, or not on all of it; the message says how to get them."""


def judgements_of(
    records: Sequence[TurnRecord], folder: Path, judge: str, cut: Cut = APPROXIMATE
) -> dict[str, Judgement]:
    """By interaction id. The rules judge here and now; another judge's verdicts are in the run's folder.

    Raises `NotJudged` where there are none.
    """
    if judge == RuleJudge.name:
        return {record.interaction_id: judge_by_rules(case_of(record, cut)) for record in records}
    found = read_verdicts(verdict_file(folder, judge))
    asked = {record.interaction_id for record in records}
    judgements = {name: judgement for name, judgement in found.items() if name in asked}
    if not judgements:
        raise NotJudged(
            f"{judge} has judged nothing of {folder}: loreglass eval judge {folder} {_how(judge)}"
        )
    return judgements


def judged(
    records: Sequence[TurnRecord], folder: Path, judge: str, cut: Cut = APPROXIMATE
) -> tuple[list[Scored], int]:
    """The records that the judge has a verdict on, ready to be scored, and how many it has none on.

    People judge samples, so what they left out is no error; what a model left out was not asked yet.
    Raises `NotJudged`.
    """
    judgements = judgements_of(records, folder, judge, cut)
    scored = scored_with(records, judgements, cut, by_hand=judge == HUMAN)
    return scored, len(records) - len(scored)


def _how(judge: str) -> str:
    if judge == HUMAN:
        return "--judge human --labels FILE"
    return f"--judge model --model {judge.removeprefix('model:')}"
