"""The answers of a run with a judge's verdicts on them, wherever those come from."""

from collections.abc import Sequence
from pathlib import Path

from evaluation.judging.cut import APPROXIMATE, Cut
from evaluation.judging.human import HUMAN
from evaluation.judging.model import MODEL, version_of
from evaluation.judging.port import Judgement
from evaluation.judging.rules import RuleJudge, judge_by_rules
from evaluation.judging.verdicts import key_of, verdict_file, verdicts_on
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
    said = APPROXIMATE if judge == HUMAN else cut  # people saw the whole answer, whatever the cut
    judgements = kept_on(records, verdict_file(folder, judge), judge, said)
    if not judgements:
        raise NotJudged(
            f"{judge} has judged nothing of {folder}, or other answers than are there now: "
            f"loreglass eval judge {folder} {_how(judge)}"
        )
    return judgements


def kept_on(records: Sequence[TurnRecord], file: Path, judge: str, cut: Cut) -> dict[str, Judgement]:
    """The verdicts in that file on just these answers, as the judge is now."""
    version = version_of(judge)
    keys = {record.interaction_id: key_of(case_of(record, cut), judge, version) for record in records}
    return verdicts_on(file, keys)


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
    return f"--judge model --model {judge.removeprefix(MODEL)}"
