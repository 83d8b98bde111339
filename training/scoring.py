"""Score a model's replies to held-out samples.

Truthfulness rewards refusals: a model that is often wrong gains by refusing. So answers are also compared
with the same share of refusals on both sides, least confident first (selective prediction, Geifman and
El-Yaniv 2017).
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pydantic import ValidationError

from chassis.validation import first_fault
from evaluation.data.model import Truth
from evaluation.judging.text import APPROXIMATE, says, word_f1
from evaluation.judging.verdicts import Case, Judgement, Verdict
from training.runs import Prediction
from training.samples import Task, UnreadableData

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
class Judged:
    """A prediction, with the judgement if it is an answer."""

    prediction: Prediction
    judgement: Judgement | None = None

    @property
    def refused(self) -> bool:
        """Return whether the reply claims nothing."""
        return self.judgement is not None and self.judgement.verdict is Verdict.MISSING

    @property
    def points(self) -> float:
        """Return 1 for right, 0 for refused, -1 for wrong."""
        return 0.0 if self.judgement is None else self.judgement.verdict.points


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


def scores(task: Task, judged: Sequence[Judged]) -> dict[str, float]:
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


def common_abstention(before: Sequence[Judged], after: Sequence[Judged]) -> float | None:
    """Return the share of refusals that both sides can reach; None without confidences."""
    if any(each.prediction.confidence is None for each in (*before, *after)):
        return None
    return max(fmean(each.refused for each in side) for side in (before, after))


def truthfulness_at(abstention: float, judged: Sequence[Judged]) -> float:
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
