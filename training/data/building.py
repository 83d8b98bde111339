"""Build a data set from evaluation runs: the same folder from the same runs, even after interruptions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.calibration.proposals import DRAFT, Judging, pipeline_of, thresholds_of, verdicts_on_answers
from evaluation.calibration.replay import CalibrationError
from evaluation.data.progress import bar, in_parallel
from evaluation.judging.verdicts import Judge, Verdict
from evaluation.runs.store import Run, load_run
from training.data.referee import NoJudgement, Referee
from training.data.tasks import OF_THE_DATA_SET, NothingToLearn, Tasks
from training.data.turns import (
    Album,
    BrokenTurn,
    RunTurn,
    open_source,
    origin_of,
    rejected_row,
    require_calls,
    run_identity,
)
from training.samples import (
    CONVERSATIONS,
    HELD_OUT_SHARE,
    ConversationSample,
    DraftSample,
    Part,
    RejectedRow,
    Sample,
    Task,
    Wrong,
    counts,
    digest,
    part_of,
    write_index,
    write_samples,
)

DEFAULT_TASKS = (Task.QUERY, Task.RERANK, Task.ANSWER)
_AT_ONCE = 8
_MANY = 0.9
"""The share of equal labels that is reported."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a data set. `augmented`, `wrong`: see `Tasks`; `held_out`: share of the photos.

    `sources`: folders of runs; for tasks that need no answers also data sets, of which `split` chooses.
    """

    sources: tuple[str, ...]
    out: Path
    tasks: tuple[Task, ...] = DEFAULT_TASKS
    augmented: int = 0
    seed: int = 0
    held_out: float = HELD_OUT_SHARE
    split: str | None = None
    wrong: Wrong = Wrong.REFUSAL


@dataclass(slots=True)
class DataSet:
    """The result. `unjudged`: samples that the judge did not answer for; the same command asks again."""

    samples: dict[Task, list[Sample]] = field(default_factory=dict)
    rejected: list[RejectedRow] = field(default_factory=list)
    unused: dict[Task, Counter[str]] = field(default_factory=dict)
    unjudged: int = 0

    @property
    def faults(self) -> list[str]:
        """Return what to know before training on it."""
        faults = []
        for task, samples in self.samples.items():
            labels = Counter(each.label for each in samples if isinstance(each, ConversationSample))
            label, most = labels.most_common(1)[0] if labels else ("", 0)
            if most > 1 and most >= _MANY * labels.total():
                faults.append(f"{task.value}: {most} of {labels.total()} labels are {label[:60]!r}.")
            if not any(each.part is Part.HELD_OUT for each in samples):
                faults.append(f"{task.value}: nothing is held out.")
        return faults


async def build(plan: Plan, referee: Referee, judge: Judge) -> DataSet:
    """Write the data set.

    Raises `UnreadableData`, `RunError`, `DatasetError`, `JudgeDown` and `CalibrationError`.
    """
    data_set = DataSet({task: [] for task in plan.tasks}, unused={task: Counter() for task in plan.tasks})
    tasks = Tasks(referee, plan.augmented, plan.wrong)
    album = Album(plan.out, plan.seed, plan.held_out)
    tasks_of_turns = [task for task in plan.tasks if task is not Task.DRAFT]
    needs_answers = not OF_THE_DATA_SET.issuperset(plan.tasks)
    for source in plan.sources:
        run = load_run(Path(source)) if needs_answers else open_source(source, plan.split)
        if CONVERSATIONS & set(plan.tasks):
            require_calls(run)
        data_set.rejected += [
            RejectedRow(where=f"{run.folder.name}, {row.where}", why=row.why) for row in run.rejected
        ]
        turns = list[RunTurn]()
        for turn in bar(
            album.turns(run) if tasks_of_turns else (), f"photos of {run.folder.name}", len(run.records)
        ):
            if isinstance(turn, RunTurn):
                turns.append(turn)
            else:
                data_set.rejected.append(turn)
        await _make(tasks, tasks_of_turns, turns, data_set, run.folder.name)
        if Task.DRAFT in plan.tasks:
            data_set.samples[Task.DRAFT] += await _drafts(run, judge, plan, data_set)
    _write(plan, referee.name, data_set)
    return data_set


async def _make(
    tasks: Tasks, chosen: Sequence[Task], turns: Sequence[RunTurn], data_set: DataSet, name: str
) -> None:
    """Make samples of several turns at once, and add them in the turns' order."""
    results: list[dict[Task, list[Sample]]] = [{} for _ in turns]

    async def work(place: int) -> None:
        for task in chosen:
            results[place][task] = await _of_one(tasks, task, turns[place], data_set)

    await in_parallel(bar(range(len(turns)), f"samples of {name}"), work, _AT_ONCE)
    for of_turn in results:
        for task, samples in of_turn.items():
            data_set.samples[task] += samples


async def _of_one(tasks: Tasks, task: Task, turn: RunTurn, data_set: DataSet) -> list[Sample]:
    try:
        return await tasks.samples(task, turn)
    except NothingToLearn as error:
        data_set.unused[task][str(error)] += 1
    except BrokenTurn as error:
        data_set.rejected.append(rejected_row(turn.run, turn.record, str(error)))
    except NoJudgement:
        data_set.unjudged += 1
    return []


async def _drafts(run: Run, judge: Judge, plan: Plan, data_set: DataSet) -> list[Sample]:
    try:
        drafts = await drafts_of(run, Judging(judge), plan.seed, plan.held_out)
    except CalibrationError as error:
        raise CalibrationError(f"{error} The task `draft` needs such a run.") from error
    data_set.unused[Task.DRAFT] += drafts.unused
    data_set.unjudged += drafts.unjudged
    return list(drafts.samples)


def _write(plan: Plan, judge: str, data_set: DataSet) -> None:
    data_set.rejected = list(dict.fromkeys(sorted(data_set.rejected, key=lambda row: (row.where, row.why))))
    for task, samples in data_set.samples.items():
        data_set.samples[task] = list({sample.id: sample for sample in samples}.values())
        write_samples(plan.out, task, data_set.samples[task])
    write_index(
        plan.out,
        {
            "sources": list(plan.sources),
            "judge": judge,
            "augmented": plan.augmented,
            "wrong": plan.wrong.value,
            "seed": plan.seed,
            "held_out": plan.held_out,
            "counts": {task.value: counts(samples) for task, samples in data_set.samples.items()},
            "unused": {task.value: dict(sorted(why.items())) for task, why in data_set.unused.items()},
            "rejected": len(data_set.rejected),
            "unjudged": data_set.unjudged,
            "faults": data_set.faults,
        },
        data_set.rejected,
    )


_FEATURE = "draft_"
_STAGE = "draft"  # as the gateway's `degraded` names it
_ROUTED = "p_verify"
_CONFIDENCE = "draft_confidence"
UNMEASURED = "no measured confidence"


@dataclass(frozen=True, slots=True)
class Drafts:
    """`unused`: how many are left out, by reason; `unjudged`: how many have no verdict."""

    samples: tuple[DraftSample, ...]
    unused: Counter[str]
    unjudged: int


async def drafts_of(run: Run, judging: Judging, seed: int, held_out: float) -> Drafts:
    """Return a sample of each draft that has an answer.

    Raises `CalibrationError` for a run without explanations or features, and `JudgeDown`.
    """
    thresholds_of(run)
    verdicts, unjudged = await verdicts_on_answers(run, judging, DRAFT)
    samples, unused, failed = list[DraftSample](), Counter[str](), 0
    for record in run.records:
        answer, judgement = record.answer, verdicts.get(record.interaction_id)
        signals = answer.explanation.signals if answer and answer.explanation else {}
        if answer is None or judgement is None or _ROUTED not in signals:
            continue
        if _STAGE in answer.degraded:
            unused["the draft was a fallback's"] += 1
        elif _CONFIDENCE not in signals:
            unused[UNMEASURED] += 1
        elif record.interaction_id in unjudged:
            failed += 1
        else:
            features = {
                name.removeprefix(_FEATURE): value
                for name, value in signals.items()
                if name.startswith(_FEATURE)
            }
            samples.append(
                DraftSample(
                    id=digest(Task.DRAFT.value, *run_identity(run), record.interaction_id),
                    task=Task.DRAFT,
                    part=part_of(f"{run.header.dataset} {record.session_id}", seed, held_out),
                    origin=origin_of(run, record),
                    features=features,
                    right=judgement.verdict is Verdict.CORRECT,
                    system=f"{pipeline_of(run)} {run.header.version}".strip(),
                    judge=judging.judge.name,
                )
            )
    if not samples and not unused[UNMEASURED]:
        raise CalibrationError(
            f"{run.folder}: no draft came to a search router. Ask with a pipeline that has a search router "
            "(loreglass, qa-dragon)."
        )
    return Drafts(tuple(samples), unused, failed)
