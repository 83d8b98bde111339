"""What a report says of one run, ready to be shown."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
from markupsafe import Markup

from evaluation.judging.port import Case, Judgement
from training.data.referee import NoJudgement
from training.reporting.figures import figures
from training.runs import AFTER, BEFORE, CONFIG, PLOT, RunFolder
from training.samples import RejectedRow, Task
from training.scoring import (
    ANSWERS,
    Judged,
    Scores,
    case_of,
    common_abstention,
    scores,
    truthfulness_at,
    warnings,
)

_EXAMPLES, _ROLLOUTS, _MOST_LEFT_OUT = 8, 3, 50
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
    """One line of the table: a share before and after training."""

    task: Task
    name: str
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
    """`warnings` stand before anything else."""

    name: str
    summary: Mapping[str, Any]
    warnings: tuple[str, ...]
    held_out: int
    measures: tuple[Measure, ...]
    figures: tuple[Markup, ...]
    examples: tuple[Example, ...]
    rollouts: tuple[Mapping[str, Any], ...]
    calibration: Mapping[str, Any]
    plot: bytes
    left_out: tuple[RejectedRow, ...]
    left_out_count: int
    settings: str


Verdict = Callable[[Case], Awaitable[Judgement]]


async def shown(run: RunFolder, verdict: Verdict) -> RunShown:
    """Of a run that has ended. Raises `UnreadableData` where it has not, and what `verdict` raises."""
    summary, rollouts = run.summary(), run.rollouts()
    before, unjudged_before = await _judged(run, BEFORE, verdict)
    after, unjudged_after = await _judged(run, AFTER, verdict)
    unjudged = unjudged_before + unjudged_after
    left_out = run.left_out()
    by_task = _by_task(before, after)
    measures = tuple(measure for task, sides in by_task.items() for measure in _measures(task, *sides))
    said = [warning for task, sides in by_task.items() for warning in warnings(task, *sides)]
    return RunShown(
        name=run.path.name,
        summary=summary,
        warnings=(*summary.get("faults", ()), *said, *_of_run(summary, rollouts, len(left_out), unjudged)),
        held_out=len(after),
        measures=measures,
        figures=tuple(figures(run.metrics())),
        examples=tuple(_examples(by_task)),
        rollouts=tuple([*rollouts[:_ROLLOUTS], *rollouts[_ROLLOUTS:][-_ROLLOUTS:]]),
        calibration=summary.get("calibration", {}),
        plot=plot.read_bytes() if (plot := run.path / PLOT).exists() else b"",
        left_out=tuple(left_out[:_MOST_LEFT_OUT]),
        left_out_count=len(left_out),
        settings=(run.path / CONFIG).read_text("utf-8"),
    )


async def _judged(run: RunFolder, when: str, verdict: Verdict) -> tuple[list[Judged], int]:
    """What was said then, answers with their verdicts; and how many answers nobody could judge."""
    predictions = run.predictions(when) if run.has_predictions(when) else []
    judged: list[Judged | None] = [None if each.task in ANSWERS else Judged(each) for each in predictions]

    async def ask(place: int) -> None:
        with suppress(NoJudgement):  # counted, and asked again by the same command
            judged[place] = Judged(predictions[place], await verdict(case_of(predictions[place])))

    async with anyio.create_task_group() as tasks:
        for place, each in enumerate(judged):
            if each is None:
                tasks.start_soon(ask, place)
    found = [each for each in judged if each is not None]
    return found, len(judged) - len(found)


def _by_task(
    before: Sequence[Judged], after: Sequence[Judged]
) -> dict[Task, tuple[list[Judged], list[Judged]]]:
    """Of the samples that both have, in one order."""
    earlier = {each.prediction.sample: each for each in before}
    found: dict[Task, tuple[list[Judged], list[Judged]]] = {}
    for each in after:
        if each.prediction.sample in earlier:
            sides = found.setdefault(each.prediction.task, ([], []))
            sides[0].append(earlier[each.prediction.sample])
            sides[1].append(each)
    return found


def _measures(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> list[Measure]:
    was, now = scores(task, before), scores(task, after)
    lines = [Measure(task, shown, *_both(name, was, now)) for name, shown in _MEASURES.items()]
    abstention = common_abstention(before, after) if now.refused is not None else None
    if abstention is not None:
        name = f"truthfulness, {abstention:.0%} refused on both sides"
        sides = (truthfulness_at(abstention, side) for side in (before, after))
        lines.insert(1, Measure(task, name, *sides))
    return [line for line in lines if line.after is not None]


def _both(name: str, was: Scores, now: Scores) -> tuple[float | None, float | None]:
    return getattr(was, name), getattr(now, name)


def _of_run(
    summary: Mapping[str, Any], rollouts: Sequence[Mapping[str, Any]], left_out: int, unjudged: int
) -> list[str]:
    """What is wrong with the run as a whole."""
    found = []
    samples = summary.get("samples")
    learnt = sum(samples.values()) if isinstance(samples, dict) else summary.get("questions", 0)
    if learnt and left_out > learnt:
        found.append(f"{left_out} rows were left out, and {learnt} were learnt from.")
    if unjudged:
        found.append(
            f"{unjudged} answers could not be judged, and are not counted: the same command asks again."
        )
    failed = sum(bool(each.get("failed")) for each in rollouts)
    if failed * 10 > len(rollouts):
        found.append(f"In {failed} of {len(rollouts)} rollouts a service failed: see which, below.")
    equal = sum(len(set(_earned(group))) == 1 for group in _groups(rollouts))
    if rollouts and equal == len(_groups(rollouts)):
        found.append("All rollouts of every question earned the same: there was nothing to learn from.")
    return found


def _groups(rollouts: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    groups: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    for each in rollouts:
        groups.setdefault((each["step"], each["sample"]), []).append(each)
    return list(groups.values())


def _earned(group: Sequence[Mapping[str, Any]]) -> list[tuple[float, ...]]:
    return [tuple(each["rewards"].values()) for each in group]


def _examples(by_task: Mapping[Task, tuple[Sequence[Judged], Sequence[Judged]]]) -> list[Example]:
    """Those whose verdict changed come first, then those whose words did."""
    found = []
    for before, after in by_task.values():
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
