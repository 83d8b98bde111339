"""Runs that can be compared: the same questions with the same words, in whole conversations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.data.model import Part
from evaluation.record import RunHeader, TurnRecord
from evaluation.reporting.text import plural, short
from evaluation.scoring.scored import Scored

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
