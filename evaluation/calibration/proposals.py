"""Proposed answers, withheld ones and drafts included, judged as if they had been given.

Verdicts follow `crag-mm-2026`, whose rates over turns count every answer by itself: an early stop would tie
each threshold to the turns before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluation.calibration.replay import CalibrationError, Cutoffs, Signals, join, signals_of
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.text import APPROXIMATE, Cut
from evaluation.judging.verdicts import Judge, Judgement, VerdictCache, judge_all, verdict_file
from evaluation.record import TurnRecord
from evaluation.runs.store import Run
from evaluation.scoring.protocols import Protocol, case_of, with_judgements

PROTOCOL = Protocol.CRAG_MM_2026
PROPOSED, DRAFT = "proposed", "draft"


@dataclass(frozen=True, slots=True)
class Judging:
    """The judge, and how answers are cut before."""

    judge: Judge
    cut: Cut = APPROXIMATE
    concurrency: int = 4


def as_given(records: Sequence[TurnRecord], which: str) -> list[TurnRecord]:
    """Return the records that have an answer of that kind (`PROPOSED`, `DRAFT`), as if it had been given."""
    changed = []
    for record in records:
        answer = record.answer
        text = getattr(answer.explanation, which) if answer and answer.explanation else None
        if answer and text is not None and text.strip():
            proposed = answer.model_copy(update={"answer": text, "abstained": False})
            changed.append(record.model_copy(update={"answer": proposed}))
    return changed


async def judge_run(run: Run, judging: Judging) -> tuple[Signals, int]:
    """Return a run with its proposed and provisional answers judged, and how many the judge failed on.

    These count as wrong. A model's verdicts are kept with the run.
    Raises `CalibrationError` for a run that explains nothing, and `JudgeDown`.
    """
    in_force = Cutoffs.among(thresholds_of(run))
    proposed, unjudged = await verdicts_on_answers(run, judging, PROPOSED)
    drafts, unjudged_drafts = await verdicts_on_answers(run, judging, DRAFT)
    signals = signals_of(run.records, proposed, drafts, in_force)
    return signals, len(unjudged) + len(unjudged_drafts)


async def verdicts_on_answers(
    run: Run, judging: Judging, which: str
) -> tuple[dict[str, Judgement], frozenset[str]]:
    """Return verdicts on the answers of that kind by interaction id, and the ids for which the judge failed.

    They are kept in a file of their own beside the verdicts on given answers. Raises `JudgeDown`.
    """
    answers = as_given(run.records, which)
    cases = [case_of(record, judging.cut) for record in answers]
    with _cache(run, judging.judge.name, which) as cache:
        judgements = await judge_all(cases, judging.judge, concurrency=judging.concurrency, cache=cache)
    unjudged = frozenset(name for name, judgement in judgements.items() if judgement.failed)
    scored = with_judgements(answers, judgements, judging.cut)
    by_protocol = {
        each.record.interaction_id: replace(each.judgement, verdict=each.verdict(PROTOCOL), failed=False)
        for each in scored
    }
    return by_protocol, unjudged


def _cache(run: Run, judge: str, which: str) -> VerdictCache:
    """Return the cache. It also reads a model's verdicts on given answers; rules judge anew."""
    names = {kind: f"{judge}:{kind}" for kind in (PROPOSED, DRAFT)}
    if judge == RuleJudge.name:
        return VerdictCache(verdict_file(run.folder, names[which]), fresh=True)
    others = [verdict_file(run.folder, name) for name in (judge, *names.values())]
    return VerdictCache(verdict_file(run.folder, names[which]), others)


def thresholds_of(run: Run) -> dict[str, float]:
    """Return the run's thresholds. Raises `CalibrationError`: it explains nothing, or not always the
    same."""
    answers = [record.answer for record in run.records if record.answer]
    silent = sum(answer.explanation is None for answer in answers)
    if silent or not answers:
        which = f"{silent} of {len(answers)} answers" if answers else "all questions"
        raise CalibrationError(
            f"{run.folder}: {which} came without an explanation. Make the run again "
            "against a gateway with LOREGLASS_GATEWAY_EXPERIMENTS=true."
        )
    sets = {tuple(sorted(answer.explanation.thresholds.items())) for answer in answers if answer.explanation}
    if len(sets) > 1:
        raise CalibrationError(
            f"{run.folder}: the gateway's thresholds changed during the run. Make it again."
        )
    return dict(sets.pop())


def pipeline_of(run: Run) -> str:
    """Return the name of the pipeline that answered."""
    traced = {record.trace.pipeline for record in run.records if record.trace}
    return run.header.pipeline or (traced.pop() if len(traced) == 1 else run.header.name)


def questions_of(runs: Sequence[Run]) -> set[tuple[str, str, str]]:
    """Return the keys of all questions, so that runs on a part of a dataset can be compared."""
    return {
        (record.session_id, record.interaction_id, record.question) for run in runs for record in run.records
    }


def same_system(runs: Sequence[Run]) -> dict[str, float]:
    """Return the thresholds of all runs. Raises `CalibrationError` for runs that do not go together."""
    pipelines = sorted({pipeline_of(run) for run in runs})
    if len(pipelines) > 1:
        raise CalibrationError(
            f"Thresholds are chosen for one pipeline; these runs are of {' and '.join(pipelines)}."
        )
    if sum(len(run.records) for run in runs) > len(questions_of(runs)):
        raise CalibrationError("The same question was asked in two of these runs; give runs that share none.")
    first, *rest = [thresholds_of(run) for run in runs]
    if any(other != first for other in rest):
        raise CalibrationError("These runs were made under different thresholds; they do not go together.")
    return first


@dataclass(frozen=True, slots=True)
class Source:
    """A run that was used. `degraded`: questions that were answered without one of the stages."""

    folder: str
    name: str
    dataset: str
    fingerprint: str
    questions: int
    degraded: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Runs of one system and their signals. `judge`: its name. `thresholds`: all thresholds of the runs.
    `unjudged`: answers on which the judge failed.
    """

    runs: Sequence[Run]
    thresholds: Mapping[str, float]
    signals: Signals
    judge: str
    unjudged: int = 0

    @property
    def sources(self) -> list[Source]:
        return [
            Source(
                folder=str(run.folder),
                name=run.header.name,
                dataset=run.header.dataset,
                fingerprint=run.header.fingerprint,
                questions=len(run.records),
                degraded=sum(bool(record.answer and record.answer.degraded) for record in run.records),
            )
            for run in self.runs
        ]


async def collect(runs: Sequence[Run], judging: Judging) -> Evidence:
    """Judge the runs. Raises `CalibrationError` for runs that do not go together, or have no question."""
    thresholds = same_system(runs)
    parts = [await judge_run(run, judging) for run in runs]
    signals = join([part for part, _ in parts])
    return Evidence(runs, thresholds, signals, judging.judge.name, sum(failed for _, failed in parts))
