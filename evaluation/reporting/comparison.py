"""Load judged runs and check that they can be compared: same questions, whole conversations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.calibration.proposals import PROPOSED, as_given
from evaluation.data.model import EvaluationError, Part
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.text import Cut
from evaluation.judging.verdicts import HUMAN, verdict_file
from evaluation.record import RunHeader
from evaluation.reporting.formatting import plural, short
from evaluation.runs.store import Run, load_run
from evaluation.scoring.protocols import Scored, by_session, score_records, stored_verdicts, with_judgements

Session = tuple[Part, str]


class ReportError(EvaluationError):
    """There is nothing to report or to compare. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One run with the judge's verdicts, in the dataset's order.

    `withheld`: refusals as if the answer in hand had been given, judged, where the run kept it.
    `remarks`: what a reader must know of it.
    """

    folder: Path
    header: RunHeader
    scored: tuple[Scored, ...]
    withheld: tuple[Scored, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs by name, each limited to the sessions that all runs completed."""

    runs: Mapping[str, JudgedRun]
    asked: int
    remarks: tuple[str, ...]


def compare(runs: Sequence[JudgedRun]) -> Comparison:
    """Compare runs. Raises `ReportError` for different questions, or without a common complete session."""
    if not runs:
        raise ReportError("There is no run to report on.")
    _same_questions(runs)
    named = dict(zip(_names(runs), runs, strict=True))
    by_run = {name: _questions(run.scored) for name, run in named.items()}
    every = _questions(each for run in runs for each in run.scored)
    common = {
        session
        for session, questions in every.items()
        if all(sessions.get(session) == questions for sessions in by_run.values())
    }
    if not common:
        raise ReportError(
            "These runs have no conversation in common that all of them asked to its end: let the unfinished "
            "ones go on with `loreglass eval run`, or ask the same part, limit and seed."
        )
    remarks = [remark for run in runs for remark in run.remarks]
    if len(common) < len(every):
        remarks.append(
            f"The runs overlap only in part: {len(common):,} of {plural(len(every), 'conversation')} were "
            "asked to their end in all of them, and only those are compared."
        )
    cut = {name: _only(run, common) for name, run in named.items()}
    return Comparison(cut, sum(map(len, every.values())), tuple(remarks))


def _same_questions(runs: Sequence[JudgedRun]) -> None:
    """Check that datasets' names and the texts of common questions are equal."""
    first = runs[0]
    words: dict[str, tuple[str, str]] = {}
    for run in runs:
        if run.header.dataset != first.header.dataset:
            raise ReportError(
                f"{first.folder} is a run on {short(first.header.dataset)}, {run.folder} one on "
                f"{short(run.header.dataset)}: only runs on the same dataset can be compared."
            )
        for each in run.scored:
            record = each.record
            question = (record.question, record.gold)
            if words.setdefault(record.interaction_id, question) != question:
                raise ReportError(
                    f"{run.folder} asked question {short(record.interaction_id, 60)} in other words, or with "
                    f"another gold answer, than {first.folder} or a run after it: the dataset has changed "
                    "between them, so that they cannot be compared."
                )


def _names(runs: Sequence[JudgedRun]) -> list[str]:
    """Return printable, distinct names: equal names are numbered."""
    names = [short(run.header.name, 80) or "unnamed" for run in runs]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({place})" for place, name in enumerate(names, 1)]


def _questions(scored: Iterable[Scored]) -> dict[Session, set[str]]:
    sessions = by_session(scored).items()
    return {name: {each.record.interaction_id for each in turns} for name, turns in sessions}


def _only(run: JudgedRun, sessions: set[Session]) -> JudgedRun:
    scored, withheld = (
        tuple(each for each in some if (each.record.part, each.record.session_id) in sessions)
        for some in (run.scored, run.withheld)
    )
    return replace(run, scored=scored, withheld=withheld)


def load_judged_run(folder: Path, judge: str, cut: Cut) -> JudgedRun:
    """Load the run of that folder with its verdicts. Raises `RunError`, `NotJudged`, `ReportError`."""
    run = load_run(folder)
    scored, unjudged = score_records(run.records, folder, judge, cut)
    if not run.records:
        raise ReportError(
            f"{folder} holds a run that has asked nothing yet: go on with `loreglass eval run`."
        )
    by_hand = judge == HUMAN
    if not by_hand and unjudged:
        raise ReportError(
            f"{folder} has answers that {judge} has not judged: "
            f"`loreglass eval judge {folder}` goes on where it stopped."
        )
    wanted = "a label" if by_hand else "a gold answer"
    countable = {each.record.interaction_id for each in scored if by_hand or each.record.gold}
    broken = {record.session_id for record in run.records if record.interaction_id not in countable}
    whole = tuple(each for each in scored if each.record.session_id not in broken)
    if not whole:
        raise ReportError(
            f"{folder} has no conversation whose every question has {wanted}: nothing to score."
        )
    remarks: tuple[str, ...] = ()
    if left_out := len(run.records) - len(whole):
        questions = plural(left_out, "question is", "questions are")
        name = short(run.header.name)
        remarks = (f"{questions} left out of {name}: not every turn of their conversations has {wanted}.",)
    return JudgedRun(
        folder=folder,
        header=run.header,
        scored=whole,
        withheld=_withheld(run, judge, cut),
        remarks=remarks,
    )


def _withheld(run: Run, judge: str, cut: Cut) -> tuple[Scored, ...]:
    """Answers in hand that were refused: rules cost nothing, other judges' verdicts on them are kept by
    `loreglass eval calibrate`.
    """
    refused = [record for record in run.records if record.answer and record.answer.abstained]
    proposed = as_given(refused, PROPOSED)
    if judge == RuleJudge.name:
        return tuple(score_records(proposed, run.folder, judge, cut)[0])
    verdicts = stored_verdicts(proposed, verdict_file(run.folder, f"{judge}:{PROPOSED}"), judge, cut)
    return tuple(with_judgements(proposed, verdicts, cut))
