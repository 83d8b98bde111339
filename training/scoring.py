"""How good what a model says about held-out samples is, and what of it should not be believed.

Truthfulness alone pays for refusing: a model that was often wrong gains by silence alone. So answers are also
compared at a fixed abstention, with as many refusals on both sides, the least sure ones first (the selective
prediction of Geifman and El-Yaniv 2017).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
"""Tasks whose replies are answers to a person, which a judge reads."""
_NEARLY_ALL, _MORE, _FEW = 0.95, 0.05, 30
_ENOUGH, _ODDLY_OFTEN = 5, 0.25
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Judged:
    """A prediction, and of an answer what the judge said of it."""

    prediction: Prediction
    judgement: Judgement | None = None

    @property
    def refused(self) -> bool:
        """Nothing was claimed."""
        return self.judgement is not None and self.judgement.verdict is Verdict.MISSING

    @property
    def points(self) -> float:
        """1 right, 0 refused, -1 wrong."""
        return 0.0 if self.judgement is None else self.judgement.verdict.points


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one task, each in 0..1 (truthfulness in -1..1); None where the task has no such thing.

    `alike`: how near a reply is to the label: words in common, or of lists the numbers (F1). `same`: the
    share of the most frequent reply. `calls`: rollouts with a tool call; `in_form`: replies in the form that
    was asked for.
    """

    count: int
    alike: float | None
    same: float
    truthfulness: float | None = None
    right: float | None = None
    wrong: float | None = None
    refused: float | None = None
    calls: float | None = None
    in_form: float | None = None


def case_of(prediction: Prediction) -> Case:
    """For a judge. A rollout that refused has said nothing. Raises `UnreadableData`."""
    said = APPROXIMATE(prediction.said)
    return Case(
        prediction.sample,
        prediction.question,
        prediction.gold,
        said,
        None if prediction.truth is None else _truth(prediction.truth),
        abstained=not said.strip(),
    )


def _truth(told: Mapping[str, Any]) -> Truth:
    try:
        return Truth.model_validate(told)
    except ValidationError as error:
        raise UnreadableData(f"A prediction's truth cannot be read: {first_fault(error)}.") from error


def scores(task: Task, judged: Sequence[Judged]) -> Scores:
    """Of the predictions of one task, of which there is one at least."""
    said = [each.prediction.said.strip() for each in judged]
    are_answers = task in ANSWERS

    def share(found: Sequence[bool]) -> float | None:
        return fmean(found) if are_answers else None

    verdicts = [each.judgement.verdict if each.judgement else None for each in judged]
    return Scores(
        count=len(judged),
        alike=_mean([_alike(each.prediction) for each in judged]),
        same=_most_frequent(said),
        truthfulness=fmean(each.points for each in judged) if are_answers else None,
        right=share([each in (Verdict.CORRECT, Verdict.ACCEPTABLE) for each in verdicts]),
        wrong=share([each is Verdict.INCORRECT for each in verdicts]),
        refused=share([each.refused for each in judged]),
        calls=_mean(
            [None if each.prediction.calls is None else each.prediction.calls > 0 for each in judged]
        ),
        in_form=_mean([each.prediction.in_form for each in judged]),
    )


def common_abstention(before: Sequence[Judged], after: Sequence[Judged]) -> float | None:
    """The share of refusals that both can be brought to; None where nobody said how sure they were."""
    if any(each.prediction.confidence is None for each in (*before, *after)):
        return None
    return max(fmean(each.refused for each in side) for side in (before, after))


def truthfulness_at(abstention: float, judged: Sequence[Judged]) -> float:
    """In -1..1, were so many of them refused: the refusals, then those that were least sure."""
    surest = sorted(
        (each for each in judged if not each.refused), key=lambda each: -(each.prediction.confidence or 0.0)
    )
    kept = surest[: len(judged) - round(abstention * len(judged))]
    return sum(each.points for each in kept) / len(judged)


def _alike(prediction: Prediction) -> float | None:
    """Of the reply and the label; None where there is none."""
    label, said = prediction.label, prediction.said
    match prediction.task:
        case Task.RERANK:
            return _of_numbers(said, label)
        case Task.QUERY | Task.ANSWER if label:
            return word_f1(_words(said), [_words(label)])
        case Task.FILTER if prediction.gold:
            return float(says(said, [prediction.gold]))
        case _:
            return None


def _of_numbers(said: str, label: str) -> float:
    """F1 of the sets of numbers; of a label that names none, of the words."""
    named, wanted = set(_NUMBER.findall(said)), set(_NUMBER.findall(label))
    if not wanted:
        return word_f1(said, [label])
    return 2 * len(named & wanted) / (len(named) + len(wanted))


def _words(text: str) -> str:
    """What a reply says, without the braces and names of an object."""
    try:
        told = json.loads(text)
    except ValueError:
        return text
    return " ".join(str(each) for each in told.values()) if isinstance(told, dict) else text


def _mean(values: Sequence[float | bool | None]) -> float | None:
    found = [float(each) for each in values if each is not None]
    return fmean(found) if found else None


def warnings(task: Task, before: Sequence[Judged], after: Sequence[Judged]) -> Iterator[str]:
    """What a reader must know before the figures, a sentence each. `before`: of the same samples, or none."""
    was, now = scores(task, before) if before else None, scores(task, after)
    if now.count < _FEW:
        yield f"{task.value}: only {now.count} held-out samples: its figures say little."
    if now.refused is not None and now.refused >= _NEARLY_ALL:
        still = " still" if was and was.refused is not None and was.refused >= _NEARLY_ALL else ""
        yield f"{task.value}: it{still} refuses {now.refused:.0%} of {now.count} questions."
    yield from _of_one_reply(task, after)
    if now.calls == 0:
        more = " any more" if was and was.calls else ""
        yield f"{task.value}: it calls no tool{more}."
    if was:
        yield from _of_worse(task, was, now)
        yield from _of_silence(task, was, now, before, after)
        yield from _of_form(task, was, now)


def _of_one_reply(task: Task, after: Sequence[Judged]) -> Iterator[str]:
    """Refusals are not meant, which have a line of their own."""
    told = [each.prediction for each in after if not each.refused]
    if len(told) < _ENOUGH:
        return
    said = _most_frequent([each.said.strip() for each in told])
    if said > _most_frequent([each.label or each.gold for each in told]) + _ODDLY_OFTEN:
        yield f"{task.value}: {said:.0%} of {len(told)} replies are one and the same, unlike the labels."


def _most_frequent(texts: Sequence[str]) -> float:
    return Counter(texts).most_common(1)[0][1] / len(texts)


def _of_worse(task: Task, was: Scores, now: Scores) -> Iterator[str]:
    fell = {"truthful": (was.truthfulness, now.truthfulness), "like the labels": (was.alike, now.alike)}
    for name, (earlier, later) in fell.items():
        if earlier is not None and later is not None and later < earlier - _MORE:
            yield f"{task.value}: it is less {name} than before: {later:.0%}, and was {earlier:.0%}."
    if was.wrong is not None and now.wrong is not None and now.wrong > was.wrong + _MORE:
        yield f"{task.value}: wrong answers have grown from {was.wrong:.0%} to {now.wrong:.0%}."
    if now.calls and was.calls and now.calls < was.calls / 2:
        yield f"{task.value}: it calls tools in {now.calls:.0%} of the rollouts, before in {was.calls:.0%}."


def _of_silence(
    task: Task, was: Scores, now: Scores, before: Sequence[Judged], after: Sequence[Judged]
) -> Iterator[str]:
    if was.refused is None or now.refused is None or now.refused <= was.refused + _MORE:
        return
    if (now.truthfulness or 0) <= (was.truthfulness or 0):
        return
    abstention = common_abstention(before, after)
    if abstention is None:
        no_better = (now.right or 0) <= (was.right or 0)
    else:
        no_better = truthfulness_at(abstention, after) <= truthfulness_at(abstention, before)
    if no_better:
        yield (
            f"{task.value}: it refuses {now.refused:.0%} in place of {was.refused:.0%}, and is no better at "
            "the same share of refusals: what it gained, it gained by silence."
        )


def _of_form(task: Task, was: Scores, now: Scores) -> Iterator[str]:
    if now.in_form is None or was.in_form is None or now.in_form <= was.in_form + _MORE:
        return
    better, worse = (now.right, was.right) if task in ANSWERS else (now.alike, was.alike)
    if better is not None and worse is not None and better <= worse:
        yield (
            f"{task.value}: {now.in_form:.0%} of the replies are in form, before {was.in_form:.0%}, and no "
            "more of them are right: it may have learnt the form alone."
        )
