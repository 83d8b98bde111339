"""Runs from their folders, each answer with one judge's verdict."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from evaluation.calibration.proposals import PROPOSED, saying
from evaluation.judging.cut import Cut
from evaluation.judging.human import HUMAN
from evaluation.judging.rules import RuleJudge
from evaluation.judging.verdicts import verdict_file
from evaluation.record import TurnRecord
from evaluation.reporting.comparison import JudgedRun, ReportError
from evaluation.reporting.text import plural, short
from evaluation.runs.store import Run, RunError, load_run
from evaluation.scoring.judged import NotJudged, judgements_of, kept_on
from evaluation.scoring.scored import Scored, scored_with


def judged_run(folder: Path, judge: str, cut: Cut) -> JudgedRun:
    """The run in that folder. Raises `ReportError` where there is none, or it was not judged by `judge`."""
    try:
        run = load_run(folder)
        judgements = judgements_of(run.records, folder, judge, cut)
    except (RunError, NotJudged) as error:
        raise ReportError(str(error)) from error
    if not run.records:
        raise ReportError(
            f"{folder} holds a run that has asked nothing yet: go on with `loreglass eval run`."
        )
    by_hand = judge == HUMAN
    if not by_hand and len(judgements) < len(run.records):
        raise ReportError(
            f"{folder} has answers that {judge} has not judged: "
            f"`loreglass eval judge {folder}` goes on where it stopped."
        )
    wanted = "a label" if by_hand else "a gold answer"
    countable = set(judgements) if by_hand else {each.interaction_id for each in run.records if each.gold}
    records = _whole(run.records, countable)
    if not records:
        raise ReportError(
            f"{folder} has no conversation whose every question has {wanted}: nothing to score."
        )
    return JudgedRun(
        folder=folder,
        header=run.header,
        scored=tuple(scored_with(records, judgements, cut, by_hand=by_hand)),
        rejected=_rejected(run),
        withheld=_withheld(run, judge, cut),
        remarks=_left_out(run, len(run.records) - len(records), wanted),
    )


def _whole(records: Sequence[TurnRecord], countable: Collection[str]) -> Sequence[TurnRecord]:
    """Conversations of which every turn can be counted, by interaction id."""
    broken = {record.session_id for record in records if record.interaction_id not in countable}
    return [record for record in records if record.session_id not in broken]


def _left_out(run: Run, count: int, wanted: str) -> tuple[str, ...]:
    if count == 0:
        return ()
    questions = plural(count, "question is", "questions are")
    name = short(run.header.name)
    return (f"{questions} left out of {name}: not every turn of their conversations has {wanted}.",)


def _withheld(run: Run, judge: str, cut: Cut) -> tuple[Scored, ...]:
    """Answers in hand that were refused: rules cost nothing, other judges' verdicts on them are kept by
    `loreglass eval calibrate`.
    """
    refused = [record for record in run.records if record.answer and record.answer.abstained]
    said = saying(refused, PROPOSED)
    if judge == RuleJudge.name:
        return tuple(scored_with(said, judgements_of(said, run.folder, judge, cut), cut))
    kept = kept_on(said, verdict_file(run.folder, f"{judge}:{PROPOSED}"), judge, cut)
    return tuple(scored_with(said, kept, cut))


def _rejected(run: Run) -> Mapping[str, int]:
    kinds = [row.kind for row in run.rejected]
    return run.header.rejected or {kind: kinds.count(kind) for kind in sorted(set(kinds))}
