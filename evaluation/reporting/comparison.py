"""Load judged runs and check that they can be compared: same questions, whole conversations."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.calibration.proposals import PROPOSED, saying
from evaluation.data.model import Part
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.text import Cut
from evaluation.judging.verdicts import HUMAN, verdict_file
from evaluation.record import RunHeader, TurnRecord
from evaluation.reporting.formatting import plural, short
from evaluation.runs.store import Run, RunError, load_run
from evaluation.scoring.scored import NotJudged, Scored, judgements_of, kept_on, scored_with

Session = tuple[Part, str]


class ReportError(Exception):
    """There is nothing to report, or nothing that could be compared. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One run with the judge's verdicts, in the dataset's order.

    `withheld`: refusals as if the answer in hand had been given, judged, where the run kept it.
    `rejected`: rows that could not be asked, by kind. `remarks`: what a reader must know of it.
    """

    folder: Path
    header: RunHeader
    scored: tuple[Scored, ...]
    rejected: Mapping[str, int]
    withheld: tuple[Scored, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs by name, each cut down to the sessions that all of them asked whole."""

    runs: Mapping[str, JudgedRun]
    asked: int
    remarks: tuple[str, ...]


def compared(runs: Sequence[JudgedRun]) -> Comparison:
    """Raises `ReportError` where the runs are of different questions, or have no whole session in common."""
    if not runs:
        raise ReportError("There is no run to report on.")
    _same_questions(runs)
    named = dict(zip(_names(runs), runs, strict=True))
    asked = _questions_by_session(runs)
    by_run = [_by_session(run) for run in runs]
    common = {
        session
        for session, questions in asked.items()
        if all(run.get(session) == questions for run in by_run)
    }
    if not common:
        raise ReportError(
            "These runs have no conversation in common that all of them asked to its end: let the unfinished "
            "ones go on with `loreglass eval run`, or ask the same part, limit and seed."
        )
    cut = {name: _only(run, common) for name, run in named.items()}
    return Comparison(cut, sum(map(len, asked.values())), tuple(_remarks(named, asked, common)))


def _same_questions(runs: Sequence[JudgedRun]) -> None:
    """By the datasets' names, and by the words of every question that two runs share."""
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
            asked = (record.question, record.gold)
            if words.setdefault(record.interaction_id, asked) != asked:
                raise ReportError(
                    f"{run.folder} asked question {short(record.interaction_id, 60)} in other words, or with "
                    f"another gold answer, than {first.folder} or a run after it: the dataset has changed "
                    "between them, so that they cannot be compared."
                )


def _names(runs: Sequence[JudgedRun]) -> list[str]:
    """Fit to be shown, and no two alike: runs of one name are told apart by number."""
    wanted = [short(run.header.name, 80) or "unnamed" for run in runs]
    taken: set[str] = set()
    for place, name in enumerate(wanted):
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name} ({number})"
        taken.add(free)
        wanted[place] = free
    return wanted


def _questions_by_session(runs: Sequence[JudgedRun]) -> dict[Session, set[str]]:
    """Every session with all questions that any run asked of it."""
    asked: dict[Session, set[str]] = {}
    for run in runs:
        for session, questions in _by_session(run).items():
            asked.setdefault(session, set()).update(questions)
    return asked


def _by_session(run: JudgedRun) -> dict[Session, set[str]]:
    found: dict[Session, set[str]] = {}
    for each in run.scored:
        found.setdefault(_session(each.record), set()).add(each.record.interaction_id)
    return found


def _session(record: TurnRecord) -> Session:
    return record.part, record.session_id


def _only(run: JudgedRun, sessions: set[Session]) -> JudgedRun:
    kept = tuple(each for each in run.scored if _session(each.record) in sessions)
    withheld = tuple(each for each in run.withheld if _session(each.record) in sessions)
    return replace(run, scored=kept, withheld=withheld)


def _remarks(
    runs: Mapping[str, JudgedRun], asked: Mapping[Session, set[str]], common: set[Session]
) -> list[str]:
    remarks = [remark for run in runs.values() for remark in run.remarks]
    if len(common) < len(asked):
        most = max(len(_by_session(run)) for run in runs.values())
        short_of = [name for name, run in runs.items() if len(_by_session(run)) < most]
        remarks.append(
            f"The runs overlap only in part: {len(common):,} of {plural(len(asked), 'conversation')} were "
            "asked to their end in all of them, and only those are compared"
            + (f" (fewest asked: {', '.join(short_of)})." if short_of else ".")
        )
    fingerprints = Counter(run.header.fingerprint for run in runs.values())
    if len(fingerprints) > 1:
        remarks.append(
            "The runs were made on different selections of the dataset, or on versions of it that differ "
            "elsewhere; the questions that are compared have the same words and gold answers in all."
        )
    return remarks


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
