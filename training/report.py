"""One Markdown summary of trainings: what not to believe, then figures before and after."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from evaluation.judging.verdicts import Case, Judgement
from training.data.referee import NoJudgement
from training.runs import AFTER, BEFORE, LEFT_OUT, ROLLOUTS, Rollout, RunFolder, Summary
from training.samples import Task, UnreadableData, replace_text
from training.scoring import (
    ANSWERS,
    MEASURES,
    Judged,
    case_of,
    common_abstention,
    scores,
    truthfulness_at,
)

REPORT = "report.md"
_MORE, _FEW = 0.05, 30
_MOSTLY = 0.8
_NOTE = (
    "Truthfulness counts 1 for a right answer, 0 for a refusal and -1 for a wrong one. At the same share of"
    " refusals, the answers that the model was least sure of are taken as refusals."
)
Verdict = Callable[[Case], Awaitable[Judgement]]
Sides = tuple[list[Judged], list[Judged]]


@dataclass(frozen=True, slots=True)
class RunReport:
    """The section of one run. `unjudged`: answers that the judge could not judge."""

    name: str
    warnings: tuple[str, ...]
    lines: tuple[str, ...]
    unjudged: int


def write_report(runs: Sequence[RunReport], judge: str, path: Path) -> None:
    """Write all sections into one file. Raises `UnreadableData` if it cannot be written."""
    lines = ["# Training report", "", f"Answers are judged by `{judge}`.", ""]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, "\n".join([*lines, *(line for run in runs for line in run.lines)]))
    except OSError as error:
        raise UnreadableData(f"{path} cannot be written: {error.strerror}.") from error


async def report_of(run: RunFolder, name: str, verdict: Verdict) -> RunReport:
    """Report on a finished run. Raises `UnreadableData` if it is not, and what `verdict` raises."""
    summary, rollouts, left_out = run.summary(), run.rollouts(), run.left_out()
    before, unjudged_before = await _judge(run, BEFORE, verdict)
    after, unjudged_after = await _judge(run, AFTER, verdict)
    unjudged = unjudged_before + unjudged_after
    by_task = _by_task(before, after)
    warnings = (
        *_of_measuring(summary, len(after), unjudged),
        *(warning for task, sides in by_task.items() for warning in _of_task(task, *sides)),
        *_of_learning(summary, rollouts, len(left_out)),
    )
    lines = [f"## `{name}`", "", *(f"- {warning}" for warning in warnings), ""]
    if by_task:
        head = ("task", "of held-out samples", "samples", "before", "after")
        rows = [row for task, sides in by_task.items() for row in _rows(task, *sides)]
        lines += [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
        lines += ["", _NOTE, ""]
    return RunReport(name, warnings, tuple(lines), unjudged)


async def _judge(run: RunFolder, when: str, verdict: Verdict) -> tuple[list[Judged], int]:
    """The predictions, answers with their verdicts; and the number of answers without one."""
    predictions = run.predictions(when) if run.has_predictions(when) else []
    judged: list[Judged | None] = [None if each.task in ANSWERS else Judged(each) for each in predictions]
    cases = {place: case_of(predictions[place]) for place, each in enumerate(judged) if each is None}

    async def ask(place: int, case: Case) -> None:
        with suppress(NoJudgement):  # counted, and asked again by the same command
            judged[place] = Judged(predictions[place], await verdict(case))

    async with anyio.create_task_group() as tasks:
        for place, case in cases.items():
            tasks.start_soon(ask, place, case)
    with_verdict = [each for each in judged if each is not None]
    return with_verdict, len(judged) - len(with_verdict)


def _by_task(before: Sequence[Judged], after: Sequence[Judged]) -> dict[Task, Sides]:
    """By task the samples that both sides have, in one order; if there are none, those after alone."""
    earlier = {each.prediction.sample: each for each in before}
    by_task: dict[Task, Sides] = {}
    for task in dict.fromkeys(each.prediction.task for each in after):
        of_task = [each for each in after if each.prediction.task is task]
        both = [each for each in of_task if each.prediction.sample in earlier]
        by_task[task] = ([earlier[each.prediction.sample] for each in both], both or of_task)
    return by_task


def _rows(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    was, now = scores(task, before) if before else {}, scores(task, after)
    measures = [(label, was.get(name), now[name]) for name, label in MEASURES.items() if name in now]
    abstention = common_abstention(before, after) if before and task in ANSWERS else None
    if abstention is not None:
        label = f"truthfulness, {abstention:.0%} refused on both sides"
        measures.insert(1, (label, truthfulness_at(abstention, before), truthfulness_at(abstention, after)))
    for label, earlier, later in measures:
        yield task.value, label, str(len(after)), "–" if earlier is None else f"{earlier:.1%}", f"{later:.1%}"


def _of_measuring(summary: Summary, after: int, unjudged: int) -> Iterator[str]:
    """Yield warnings about the comparison."""
    if summary.kind in ("sft", "grpo") and not after:
        yield "No held-out sample was answered, so nothing measures the training. Set held_out above 0."
    if unjudged:
        yield f"{unjudged} answers could not be judged, and are not counted: the same command asks again."


def _of_task(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> Iterator[str]:
    """Yield warnings about the replies. `before`: of the same samples, or none."""
    if len(after) < _FEW:
        yield f"{task.value}: only {len(after)} held-out samples: its figures say little."
    if before and task in ANSWERS and (warning := _of_silence(task, before, after)):
        yield f"{task.value}: {warning}"


def _of_silence(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> str:
    """Return a warning if refusals alone made it more truthful."""
    was, now = scores(task, before), scores(task, after)
    if now["refused"] <= was["refused"] + _MORE or now["truthfulness"] <= was["truthfulness"]:
        return ""
    abstention = common_abstention(before, after)
    if abstention is None:
        is_better = now["right"] > was["right"]
    else:
        is_better = truthfulness_at(abstention, after) > truthfulness_at(abstention, before)
    if is_better:
        return ""
    return (
        f"it refuses {now['refused']:.0%} in place of {was['refused']:.0%}, and is no better at the same"
        " share of refusals: what it gained, it gained by silence."
    )


def _of_learning(summary: Summary, rollouts: Sequence[Rollout], left_out: int) -> Iterator[str]:
    """Yield warnings about the training."""
    learnt = (sum(summary.samples.values()) if summary.kind == "sft" else summary.questions) or 0
    if learnt and left_out > learnt:
        yield f"{left_out} rows were left out (see {LEFT_OUT}), and {learnt} were learnt from."
    failed = sum(bool(each.failed) for each in rollouts)
    if failed * 10 > len(rollouts):
        yield f"In {failed} of {len(rollouts)} rollouts a service failed: see {ROLLOUTS}."
    groups: dict[tuple[int, str], set[float]] = {}
    for each in rollouts:
        earned = sum(summary.rewards.get(name, 1.0) * points for name, points in each.rewards.items())
        groups.setdefault((each.step, each.sample), set()).add(earned)
    equal = sum(len(earned) == 1 for earned in groups.values())
    if groups and equal >= _MOSTLY * len(groups):
        yield f"In {equal} of {len(groups)} groups all rollouts earned the same: no effect."
