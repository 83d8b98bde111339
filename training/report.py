"""One Markdown summary of trainings: warnings, then figures before and after."""

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio
from pydantic import ValidationError

from chassis.files import replace_text
from chassis.validation import first_fault
from evaluation.data.model import Truth
from evaluation.judging.text import APPROXIMATE, says, word_f1
from evaluation.judging.verdicts import Case, Judgement, Verdict
from training.data.referee import NoJudgement
from training.runs import AFTER, BEFORE, LEFT_OUT, ROLLOUTS, Prediction, Rollout, RunFolder, Summary
from training.samples import Task, UnreadableData

REPORT = "report.md"
_MORE, _FEW = 0.05, 30
_MOSTLY = 0.8
_NOTE = (
    "Truthfulness counts 1 for a right answer, 0 for a refusal and -1 for a wrong one. At the same share of"
    " refusals, the answers that the model was least sure of are taken as refusals."
)
ANSWERS = frozenset({Task.ANSWER, Task.QUESTION})
"""Tasks whose replies are answers, which a judge reads."""
MEASURES = {
    "truthfulness": "truthfulness",
    "right": "right",
    "wrong": "wrong",
    "refused": "refused",
    "alike": "like the label (F1)",
    "in_form": "in the required form",
    "calls": "calls a tool",
    "same": "the most frequent reply",
}
"""Labels of the measures in reports."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class JudgedPrediction:
    """A prediction, with the judgement if it is an answer."""

    prediction: Prediction
    judgement: Judgement | None = None

    @property
    def refused(self) -> bool:
        return self.judgement is not None and self.judgement.verdict is Verdict.MISSING

    @property
    def points(self) -> float:
        """Return 1 for right, 0 for refused, -1 for wrong."""
        return 0.0 if self.judgement is None else self.judgement.verdict.points


AskJudge = Callable[[Case], Awaitable[Judgement]]
Sides = tuple[list[JudgedPrediction], list[JudgedPrediction]]


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


async def report_of(run: RunFolder, name: str, verdict: AskJudge) -> RunReport:
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


async def _judge(run: RunFolder, when: str, verdict: AskJudge) -> tuple[list[JudgedPrediction], int]:
    """The predictions, answers with their verdicts; and the number of answers without one."""
    predictions = run.predictions(when) if run.has_predictions(when) else []
    judged: list[JudgedPrediction | None] = [
        None if each.task in ANSWERS else JudgedPrediction(each) for each in predictions
    ]
    cases = {place: case_of(predictions[place]) for place, each in enumerate(judged) if each is None}

    async def ask(place: int, case: Case) -> None:
        with suppress(NoJudgement):  # counted, and asked again by the same command
            judged[place] = JudgedPrediction(predictions[place], await verdict(case))

    async with anyio.create_task_group() as tasks:
        for place, case in cases.items():
            tasks.start_soon(ask, place, case)
    with_verdict = [each for each in judged if each is not None]
    return with_verdict, len(judged) - len(with_verdict)


def _by_task(before: Sequence[JudgedPrediction], after: Sequence[JudgedPrediction]) -> dict[Task, Sides]:
    """Return by task the samples of both sides, in one order; if there are none, those after training."""
    earlier = {each.prediction.sample: each for each in before}
    by_task: dict[Task, Sides] = {}
    for task in dict.fromkeys(each.prediction.task for each in after):
        of_task = [each for each in after if each.prediction.task is task]
        both = [each for each in of_task if each.prediction.sample in earlier]
        by_task[task] = ([earlier[each.prediction.sample] for each in both], both or of_task)
    return by_task


def _rows(
    task: Task, before: Sequence[JudgedPrediction], after: Sequence[JudgedPrediction]
) -> Iterator[tuple[str, ...]]:
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


def _of_task(
    task: Task, before: Sequence[JudgedPrediction], after: Sequence[JudgedPrediction]
) -> Iterator[str]:
    """Yield warnings about the replies. `before`: of the same samples, or none."""
    if len(after) < _FEW:
        yield f"{task.value}: only {len(after)} held-out samples: its figures say little."
    if before and task in ANSWERS and (warning := _of_silence(task, before, after)):
        yield f"{task.value}: {warning}"


def _of_silence(task: Task, before: Sequence[JudgedPrediction], after: Sequence[JudgedPrediction]) -> str:
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


def case_of(prediction: Prediction) -> Case:
    """Return the case for a judge. The answer of a rollout that refused is empty. Raises `UnreadableData`."""
    text = APPROXIMATE(prediction.said)
    return Case(
        prediction.sample,
        prediction.question,
        prediction.gold,
        text,
        None if prediction.truth is None else _truth(prediction.truth),
        abstained=not text.strip(),
    )


def _truth(content: Mapping[str, Any]) -> Truth:
    try:
        return Truth.model_validate(content)
    except ValidationError as error:
        raise UnreadableData(f"A prediction's truth cannot be read: {first_fault(error)}.") from error


def scores(task: Task, judged: Sequence[JudgedPrediction]) -> dict[str, float]:
    """Return the `MEASURES` that a task has, each in 0..1 (truthfulness in -1..1), of one prediction or more.

    `alike`: how near a reply is to the label: words in common, or of lists the numbers (F1). `calls`:
    rollouts with a tool call.
    """
    values_by_name: dict[str, list[float]] = {"alike": [], "in_form": [], "calls": []}
    for each in judged:
        for name, value in (
            ("alike", _alike(each.prediction)),
            ("in_form", each.prediction.in_form),
            ("calls", None if each.prediction.calls is None else each.prediction.calls > 0),
        ):
            values_by_name[name] += [] if value is None else [float(value)]
    if task in ANSWERS:
        values_by_name["truthfulness"] = points = [each.points for each in judged]
        values_by_name["refused"] = [float(each.refused) for each in judged]
        values_by_name["right"] = [float(each > 0) for each in points]
        values_by_name["wrong"] = [float(each < 0) for each in points]
    means = {name: fmean(values) for name, values in values_by_name.items() if values}
    ((_, most),) = Counter(each.prediction.said.strip() for each in judged).most_common(1)
    return {**means, "same": most / len(judged)}


def common_abstention(before: Sequence[JudgedPrediction], after: Sequence[JudgedPrediction]) -> float | None:
    """Return the share of refusals that both sides can reach; None without confidences."""
    if any(each.prediction.confidence is None for each in (*before, *after)):
        return None
    return max(fmean(each.refused for each in side) for side in (before, after))


def truthfulness_at(abstention: float, judged: Sequence[JudgedPrediction]) -> float:
    """Return truthfulness in -1..1 if this share is refused: the refusals, then the least confident."""
    surest = sorted(
        (each for each in judged if not each.refused), key=lambda each: -(each.prediction.confidence or 0.0)
    )
    answers = surest[: len(judged) - round(abstention * len(judged))]
    return sum(each.points for each in answers) / len(judged)


def _alike(prediction: Prediction) -> float | None:
    """Return how alike the reply and the label are; None without a label."""
    label, reply = prediction.label, prediction.said
    match prediction.task:
        case Task.RERANK:
            return _of_numbers(reply, label)
        case Task.QUERY | Task.ANSWER if label:
            return word_f1(_words(reply), [_words(label)])
        case Task.FILTER if prediction.gold:
            return float(says(reply, [prediction.gold]))
        case _:
            return None


def _of_numbers(reply: str, label: str) -> float:
    """Return F1 of the sets of numbers, or of the words if the label has no numbers."""
    numbers, expected = set(_NUMBER.findall(reply)), set(_NUMBER.findall(label))
    if not expected:
        return word_f1(reply, [label])
    return 2 * len(numbers & expected) / (len(numbers) + len(expected))


def _words(text: str) -> str:
    """Return the values of a JSON object as text, or the text itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return " ".join(str(each) for each in value.values()) if isinstance(value, dict) else text
