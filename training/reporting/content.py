"""What a report says of one run, ready to be shown."""

import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
from markupsafe import Markup

from evaluation.judging.port import Case, Judgement
from training.data.referee import NoJudgement
from training.reporting.figures import figures
from training.runs import AFTER, BEFORE, PLOT, Rollout, RunFolder, Summary
from training.samples import RejectedRow, Task
from training.scoring import (
    ANSWERS,
    Judged,
    case_of,
    common_abstention,
    scores,
    truthfulness_at,
    warnings,
)

_EXAMPLES, _ROLLOUTS, _MOST_LEFT_OUT = 8, 3, 50
_MOSTLY = 0.8
_OF_MODELS = ("sft", "grpo")
_MEASURES = {
    "truthfulness": "truthfulness",
    "right": "right",
    "wrong": "wrong",
    "refused": "refused",
    "alike": "like the label (F1)",
    "in_form": "in the form that was asked for",
    "calls": "calls a tool",
    "same": "the most frequent reply",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """One line of the table: a share of `count` samples before and after training."""

    task: Task
    name: str
    count: int
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class Example:
    """What was said of one held-out sample before and after, each with the verdict where there is one."""

    task: Task
    question: str
    gold: str
    label: str
    said: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class RunShown:
    """`warnings` stand before anything else. `of_head`: held-out figures of a head, by name.

    `plot`: a head's reliability, as base64 of SVG; `unjudged`: answers that nobody could judge.
    """

    name: str
    summary: Summary
    warnings: tuple[str, ...]
    held_out: int
    measures: tuple[Measure, ...]
    of_head: tuple[tuple[str, float], ...]
    figures: tuple[Markup, ...]
    plot: Markup
    examples: tuple[Example, ...]
    rollouts: tuple[Rollout, ...]
    left_out: tuple[RejectedRow, ...]
    left_out_count: int
    settings: str
    unjudged: int


Verdict = Callable[[Case], Awaitable[Judgement]]


async def shown(run: RunFolder, name: str, verdict: Verdict) -> RunShown:
    """Of a run that has ended. Raises `UnreadableData` where it has not, and what `verdict` raises."""
    summary, rollouts, left_out = run.summary(), run.checked_rollouts(), run.left_out()
    before, unjudged_before = await _judged(run, BEFORE, verdict)
    after, unjudged_after = await _judged(run, AFTER, verdict)
    unjudged = unjudged_before + unjudged_after
    by_task = _by_task(before, after)
    said = [warning for task, sides in by_task.items() for warning in warnings(task, *sides)]
    compared = sum(len(sides[0]) for sides in by_task.values())
    return RunShown(
        name=name,
        summary=summary,
        warnings=(
            *summary.faults,
            *_of_measuring(summary, compared, len(before), len(after), unjudged),
            *said,
            *_of_learning(summary, rollouts, len(left_out)),
        ),
        held_out=len(after) + unjudged_after,
        measures=tuple(line for task, sides in by_task.items() for line in _measures(task, *sides)),
        of_head=tuple(_numbers(summary.held_out)),
        figures=tuple(figures(run.metrics())),
        plot=_plot(run),
        examples=tuple(_examples(by_task)),
        rollouts=tuple([*rollouts[:_ROLLOUTS], *rollouts[_ROLLOUTS:][-_ROLLOUTS:]]),
        left_out=tuple(left_out[:_MOST_LEFT_OUT]),
        left_out_count=len(left_out),
        settings=run.settings(),
        unjudged=unjudged,
    )


def _plot(run: RunFolder) -> Markup:
    path = run.path / PLOT
    return Markup(base64.b64encode(path.read_bytes()).decode("ascii") if path.exists() else "")


def _numbers(told: Any, under: str = "") -> Iterator[tuple[str, float]]:
    """Figures that stand in objects, under the names of all of these."""
    for name, value in told.items() if isinstance(told, dict) else ():
        whole = f"{under} {name}".strip().replace("_", " ")
        if isinstance(value, int | float):
            yield whole, float(value)
        else:
            yield from _numbers(value, whole)


async def _judged(run: RunFolder, when: str, verdict: Verdict) -> tuple[list[Judged], int]:
    """What was said then, answers with their verdicts; and how many answers nobody could judge."""
    predictions = run.predictions(when) if run.has_predictions(when) else []
    judged: list[Judged | None] = [None if each.task in ANSWERS else Judged(each) for each in predictions]
    cases = {place: case_of(predictions[place]) for place, each in enumerate(judged) if each is None}

    async def ask(place: int, case: Case) -> None:
        with suppress(NoJudgement):  # counted, and asked again by the same command
            judged[place] = Judged(predictions[place], await verdict(case))

    async with anyio.create_task_group() as tasks:
        for place, case in cases.items():
            tasks.start_soon(ask, place, case)
    found = [each for each in judged if each is not None]
    return found, len(judged) - len(found)


def _by_task(
    before: Sequence[Judged], after: Sequence[Judged]
) -> dict[Task, tuple[list[Judged], list[Judged]]]:
    """Of a task the samples that both have, in one order; where both have none, those after alone."""
    earlier = {each.prediction.sample: each for each in before}
    found: dict[Task, tuple[list[Judged], list[Judged]]] = {}
    for task in dict.fromkeys(each.prediction.task for each in after):
        of_task = [each for each in after if each.prediction.task is task]
        both = [each for each in of_task if each.prediction.sample in earlier]
        found[task] = ([earlier[each.prediction.sample] for each in both], both or of_task)
    return found


def _measures(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> list[Measure]:
    was, now = scores(task, before) if before else None, scores(task, after)
    lines = [
        Measure(task, told, now.count, getattr(was, name, None), getattr(now, name))
        for name, told in _MEASURES.items()
    ]
    abstention = common_abstention(before, after) if before and now.refused is not None else None
    if abstention is not None:
        told = f"truthfulness, {abstention:.0%} refused on both sides"
        sides = (truthfulness_at(abstention, side) for side in (before, after))
        lines.insert(1, Measure(task, told, now.count, *sides))
    return [line for line in lines if line.after is not None]


def _of_measuring(summary: Summary, compared: int, before: int, after: int, unjudged: int) -> Iterator[str]:
    """What stands in the way of comparing."""
    if summary.kind in _OF_MODELS and not after:
        yield "Nothing was held out: nobody knows what was learnt."
    elif compared < max(before, after):
        yield f"Of {max(before, after)} held-out samples {compared} were replied to both before and after."
    if unjudged:
        yield f"{unjudged} answers could not be judged, and are not counted: the same command asks again."


def _of_learning(summary: Summary, rollouts: Sequence[Rollout], left_out: int) -> Iterator[str]:
    """What stood in the way of learning."""
    learnt = (sum(summary.samples.values()) if summary.kind == "sft" else summary.questions) or 0
    if learnt and left_out > learnt:
        yield f"{left_out} rows were left out, and {learnt} were learnt from."
    failed = sum(bool(each.failed) for each in rollouts)
    if failed * 10 > len(rollouts):
        yield f"In {failed} of {len(rollouts)} rollouts a service failed: see which, below."
    groups = _groups(rollouts)
    equal = sum(len({_earned(each, summary.rewards) for each in group}) == 1 for group in groups)
    if groups and equal >= _MOSTLY * len(groups):
        yield f"In {equal} of {len(groups)} groups all rollouts earned the same: these teach nothing."


def _groups(rollouts: Sequence[Rollout]) -> list[list[Rollout]]:
    groups: dict[tuple[int, str], list[Rollout]] = {}
    for each in rollouts:
        groups.setdefault((each.step, each.sample), []).append(each)
    return list(groups.values())


def _earned(rollout: Rollout, weights: Mapping[str, float]) -> float:
    """With the weights that the training gave."""
    return sum(weights.get(name, 1.0) * earned for name, earned in rollout.rewards.items())


def _examples(by_task: Mapping[Task, tuple[Sequence[Judged], Sequence[Judged]]]) -> list[Example]:
    """Those whose verdict changed come first, then those whose words did."""
    found = []
    for before, after in by_task.values():
        if before:
            pairs = sorted(zip(before, after, strict=True), key=_how_alike)
            found += [_example(*pair) for pair in pairs[:_EXAMPLES]]
    return found


def _how_alike(pair: tuple[Judged, Judged]) -> tuple[bool, bool]:
    before, after = pair
    return before.points == after.points, before.prediction.said == after.prediction.said


def _example(before: Judged, after: Judged) -> Example:
    told = after.prediction
    said = tuple(
        (when, each.prediction.said, each.judgement.verdict.value if each.judgement else "")
        for when, each in (("before", before), ("after", after))
    )
    return Example(told.task, told.question, told.gold, told.label, said)
