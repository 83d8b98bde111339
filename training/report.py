"""Report a training as one Markdown file, which begins with its warnings."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from evaluation.judging.verdicts import Case, Judgement
from training.data.referee import NoJudgement
from training.markdown import bullets, quoted, table
from training.runs import AFTER, BEFORE, CONFIG, LEFT_OUT, ROLLOUTS, Rollout, RunFolder, Summary
from training.samples import Task, UnreadableData, replace_text
from training.scoring import (
    ANSWERS,
    Judged,
    case_of,
    common_abstention,
    scores,
    truthfulness_at,
    warnings,
)

REPORT = "report.md"
_EXAMPLES, _MOST_LEFT_OUT, _MOSTLY = 8, 20, 0.8
_MEASURES = {
    "truthfulness": "truthfulness",
    "right": "right",
    "wrong": "wrong",
    "refused": "refused",
    "alike": "like the label (F1)",
    "in_form": "in the required form",
    "calls": "calls a tool",
    "same": "the most frequent reply",
}
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
    lines = ["# Training report", "", f"Answers are judged by {quoted(judge)}.", ""]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, "\n".join([*lines, *(line for run in runs for line in run.lines)]))
    except OSError as error:
        raise UnreadableData(f"{path} cannot be written: {error.strerror}.") from error


async def report_of(run: RunFolder, name: str, verdict: Verdict) -> RunReport:
    """Report on a finished run. Raises `UnreadableData` if it is not, and what `verdict` raises."""
    summary, rollouts, left_out = run.summary(), run.checked_rollouts(), run.left_out()
    before, unjudged_before = await _judged(run, BEFORE, verdict)
    after, unjudged_after = await _judged(run, AFTER, verdict)
    unjudged = unjudged_before + unjudged_after
    by_task = _by_task(before, after)
    compared = sum(len(sides[0]) for sides in by_task.values())
    faults = (
        *summary.faults,
        *_of_measuring(summary, compared, max(len(before), len(after)), len(after), unjudged),
        *(warning for task, sides in by_task.items() for warning in warnings(task, *sides)),
        *_of_learning(summary, rollouts, len(left_out)),
    )
    lines = [f"## {quoted(name)}", "", *bullets(faults)]
    lines += bullets(f"{what}: {quoted(str(value))}" for what, value in _facts(summary, run.path).items())
    measures = [row for task, sides in by_task.items() for row in _measures(task, *sides)]
    lines += table(("task", "of held-out samples", "samples", "before", "after"), measures)
    lines += [_NOTE, ""] if measures else []
    lines += table(("held out", ""), _numbers(summary.held_out))
    lines += table(
        ("probabilities", "calibration error", "area under risk and coverage"),
        (
            (quoted(which), f"{each.calibration_error:.3f}", f"{each.aurc:.3f}")
            for which, each in summary.calibration.items()
        ),
    )
    for sides in by_task.values():
        lines += _examples(*sides)
    lines += table(
        (f"left out ({len(left_out)}, all in {LEFT_OUT})", "why"),
        ((quoted(row.where), quoted(row.why)) for row in left_out[:_MOST_LEFT_OUT]),
    )
    return RunReport(name, faults, tuple(lines), unjudged)


def _facts(summary: Summary, folder: Path) -> dict[str, Any]:
    found = {
        "training": summary.kind,
        "model": summary.model,
        "samples learnt": ", ".join(f"{name}: {count}" for name, count in summary.samples.items()),
        "questions learnt": summary.questions,
        "refusals among them": summary.refusals,
        "settings": folder / CONFIG,
        "rollouts": folder / ROLLOUTS if summary.kind == "grpo" else None,
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


def _numbers(summary: Any, under: str = "") -> Iterator[tuple[str, str]]:
    """The figures of nested objects, each under the names of all of these."""
    for name, value in summary.items() if isinstance(summary, dict) else ():
        whole = f"{under} {name}".strip().replace("_", " ")
        if isinstance(value, int | float):
            yield quoted(whole), f"{value:.3f}"
        else:
            yield from _numbers(value, whole)


async def _judged(run: RunFolder, when: str, verdict: Verdict) -> tuple[list[Judged], int]:
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
    found = [each for each in judged if each is not None]
    return found, len(judged) - len(found)


def _by_task(before: Sequence[Judged], after: Sequence[Judged]) -> dict[Task, Sides]:
    """By task the samples that both sides have, in one order; if there are none, those after alone."""
    earlier = {each.prediction.sample: each for each in before}
    found: dict[Task, Sides] = {}
    for task in dict.fromkeys(each.prediction.task for each in after):
        of_task = [each for each in after if each.prediction.task is task]
        both = [each for each in of_task if each.prediction.sample in earlier]
        found[task] = ([earlier[each.prediction.sample] for each in both], both or of_task)
    return found


def _measures(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> list[tuple[str, ...]]:
    was, now = scores(task, before) if before else None, scores(task, after)
    rows = [(label, getattr(was, name, None), getattr(now, name)) for name, label in _MEASURES.items()]
    abstention = common_abstention(before, after) if before and now.refused is not None else None
    if abstention is not None:
        label = f"truthfulness, {abstention:.0%} refused on both sides"
        rows.insert(1, (label, truthfulness_at(abstention, before), truthfulness_at(abstention, after)))
    return [
        (task.value, label, str(now.count), *("–" if value is None else f"{value:.1%}" for value in values))
        for label, *values in rows
        if values[1] is not None
    ]


def _of_measuring(summary: Summary, compared: int, most: int, after: int, unjudged: int) -> Iterator[str]:
    """Yield warnings about the comparison."""
    if summary.kind in ("sft", "grpo") and not after:
        yield "No held-out sample was answered, so nothing measures the training. Set held_out above 0."
    elif compared < most:
        yield f"Of {most} held-out samples {compared} were replied to both before and after."
    if unjudged:
        yield f"{unjudged} answers could not be judged, and are not counted: the same command asks again."


def _of_learning(summary: Summary, rollouts: Sequence[Rollout], left_out: int) -> Iterator[str]:
    """Yield warnings about the training."""
    learnt = (sum(summary.samples.values()) if summary.kind == "sft" else summary.questions) or 0
    if learnt and left_out > learnt:
        yield f"{left_out} rows were left out, and {learnt} were learnt from."
    failed = sum(bool(each.failed) for each in rollouts)
    if failed * 10 > len(rollouts):
        yield f"In {failed} of {len(rollouts)} rollouts a service failed: see {ROLLOUTS}."
    groups: dict[tuple[int, str], set[float]] = {}
    for each in rollouts:
        groups.setdefault((each.step, each.sample), set()).add(_earned(each, summary.rewards))
    equal = sum(len(earned) == 1 for earned in groups.values())
    if groups and equal >= _MOSTLY * len(groups):
        yield f"In {equal} of {len(groups)} groups all rollouts earned the same: no effect."


def _earned(rollout: Rollout, weights: Mapping[str, float]) -> float:
    return sum(weights.get(name, 1.0) * earned for name, earned in rollout.rewards.items())


def _examples(before: Sequence[Judged], after: Sequence[Judged]) -> Iterator[str]:
    """Some samples: those whose verdict changed come first, then those whose words did."""
    pairs = sorted(zip(before, after, strict=bool(before)), key=_how_alike)
    for pair in pairs[:_EXAMPLES]:
        sample = pair[1].prediction
        yield from (f"**{sample.task.value}**: {quoted(sample.question)}", "")
        said = [("gold", sample.gold, ""), ("label", sample.label, "")]
        said += [
            (when, each.prediction.said, each.judgement.verdict.value if each.judgement else "")
            for when, each in zip(("before", "after"), pair, strict=True)
        ]
        yield from bullets(f"{name}: {quoted(text)} {verdict}".rstrip() for name, text, verdict in said)


def _how_alike(pair: tuple[Judged, Judged]) -> tuple[bool, bool]:
    before, after = pair
    return before.points == after.points, before.prediction.said == after.prediction.said
