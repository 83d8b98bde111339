"""The measures that the tables' columns name, in the tables' units, with intervals."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from evaluation.record import TurnRecord
from evaluation.scoring import measures
from evaluation.scoring.intervals import Interval, Paired, bootstrap, holm, paired
from evaluation.scoring.measures import Measure, Valued, unit_of
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.recall import CROPS, WHOLE_PHOTO, image_recall, page_recall
from evaluation.scoring.scored import Scored

PERCENT = {
    "accuracy": measures.accuracy,
    "missing": measures.missing,
    "hallucination": measures.hallucination,
    "truthfulness": measures.truthfulness,
    "session_truthfulness": measures.session_truthfulness,
    "early_stopped": measures.early_stopped,
}
USAGE = ("calls", "prompt_tokens", "completion_tokens")
LABELS = {
    "elapsed_s": "Elapse",
    "early_stopped": "Early stop",
    "session_truthfulness": "Truthfulness",
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Completion tokens",
}
_RECALL = re.compile(r"(image|crop|page)_recall@([1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval over conversations, of so many turns; NaN where there are none."""

    value: float
    low: float
    high: float
    turns: int


@dataclass(frozen=True, slots=True)
class Difference:
    """In truthfulness, to the whole system. `p_value` is corrected for all that are compared (Holm)."""

    value: float
    interval: Interval
    p_value: float
    turns: int


def label_of(measure: str) -> str:
    """How a column is headed that does not say otherwise."""
    recall = _RECALL.fullmatch(measure)
    return f"@{recall[2]}" if recall else LABELS.get(measure, measure.capitalize())


def scale_of(measure: str) -> float:
    """What a measure's values are multiplied by for the tables: rates are in percent, times in seconds."""
    if measure in USAGE:
        return 1.0
    return 0.001 if measure == "elapsed_s" else 100.0


def measure_of(name: str, protocol: Protocol) -> Measure:
    """The measure of that name. Raises `ValueError` where there is none."""
    recall = _RECALL.fullmatch(name)
    if recall:
        k = int(recall[2])
        return page_recall(k) if recall[1] == "page" else image_recall(_STAGES[recall[1]], k)
    if name in PERCENT:
        return PERCENT[name](protocol)
    if name in USAGE:
        return measures.model_usage(name)
    if name == "overlap":
        return measures.gold_overlap()
    if name == "elapsed_s":
        return measures.elapsed()
    raise ValueError(f"there is no measure {name!r}")


_STAGES = {"image": WHOLE_PHOTO, "crop": CROPS}


def figure(scored: Sequence[Scored], measure: Measure, scale: float) -> Figure:
    """The measure of these answers."""
    value, interval = measure.of(scored), bootstrap(scored, measure)
    turns = len(measures.known(measure.values(scored)))
    return Figure(scale * value, scale * interval.low, scale * interval.high, turns)


def only_where(measure: Measure, where: Mapping[str, str]) -> Measure:
    """The measure of a slice: of the turns whose labels are these, before any early stop is known anew."""

    def values(scored: Sequence[Scored]) -> Valued:
        chosen = {
            unit_of(each) for each in scored if all(_label(each.record, *pair) for pair in where.items())
        }
        return {unit: value for unit, value in measure.values(scored).items() if unit in chosen}

    return replace(measure, values=values) if where else measure


def _label(record: TurnRecord, name: str, value: str) -> bool:
    if name == "route":
        return record.answer is not None and record.answer.route.value == value
    return bool(getattr(record, name) == value)


def differences(
    whole: Sequence[Scored], others: Mapping[str, Sequence[Scored]], protocol: Protocol
) -> dict[str, Difference]:
    """Of each of the others to the whole system, over the questions that both were asked."""
    truthfulness = measures.truthfulness(protocol)
    compared: dict[str, Paired] = {name: paired(other, whole, truthfulness) for name, other in others.items()}
    p_values = holm([each.p_value for each in compared.values()])
    return {
        name: Difference(each.difference, each.interval, p_value, each.turns)
        for (name, each), p_value in zip(compared.items(), p_values, strict=True)
    }


def plain(value: Figure | Difference | None) -> dict[str, Any] | None:
    """For JSON; null where there is no figure."""
    return None if value is None else _without_nan(asdict(value))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
