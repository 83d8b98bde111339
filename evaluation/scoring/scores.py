"""CRAG-MM's scores, over turns and over conversations, and counts of what went wrong."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.data.model import Part
from evaluation.judging.verdicts import Verdict
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, Settled, settle


@dataclass(frozen=True, slots=True)
class Scores:
    """Rates over turns in 0..1 that add up to 1, and truthfulness in -1..1; all NaN where `count` is 0.

    `truthfulness`: the mean of 1, .5, 0 and -1 over turns. `session_truthfulness`: the mean over
    conversations of their turns' mean, after the early stop in both protocols. `early_stopped`: the share of
    multi-turn conversations with two failures in a row (the paper's Table 9); None where there is none such.
    """

    count: int
    accuracy: float
    missing: float
    hallucination: float
    truthfulness: float
    acceptable: float = 0.0
    early_stopped: float | None = None
    session_truthfulness: float = math.nan


NO_SCORES = Scores(0, math.nan, math.nan, math.nan, math.nan, math.nan)


def scores_of(scored: Iterable[Scored], protocol: Protocol) -> Scores:
    """The scores of whole conversations."""
    return scores_of_settled(settle(scored, protocol), protocol)


def scores_of_settled(settled: Sequence[Settled], protocol: Protocol) -> Scores:
    """The scores of turns whose early stop is known already."""
    if not settled:
        return NO_SCORES
    counts = Counter(turn.counted(protocol) for turn in settled)
    total = len(settled)
    sessions = _sessions(settled)
    talks = [turns for (part, _), turns in sessions.items() if part is Part.MULTI]
    return Scores(
        count=total,
        accuracy=counts[Verdict.CORRECT] / total,
        missing=counts[Verdict.MISSING] / total,
        hallucination=counts[Verdict.INCORRECT] / total,
        truthfulness=math.fsum(verdict.points * count for verdict, count in counts.items()) / total,
        acceptable=counts[Verdict.ACCEPTABLE] / total,
        early_stopped=_share(turns[0].given_up for turns in talks) if talks else None,
        session_truthfulness=math.fsum(
            math.fsum(turn.stopped.points for turn in turns) / len(turns) for turns in sessions.values()
        )
        / len(sessions),
    )


def _sessions(settled: Iterable[Settled]) -> dict[tuple[Part, str], list[Settled]]:
    sessions: defaultdict[tuple[Part, str], list[Settled]] = defaultdict(list)
    for each in settled:
        record = each.scored.record
        sessions[record.part, record.session_id].append(each)
    return sessions


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return sum(found) / len(found)


@dataclass(frozen=True, slots=True)
class Refusals:
    """How refusing and knowing go together.

    `kept`: refusals of what cannot be known; `timid`: refusals of what can.
    """

    unanswerable: int
    kept: int
    answerable: int
    timid: int


def refusals(scored: Iterable[Scored], protocol: Protocol) -> Refusals:
    """Refusals by whether they were right; a failed request is no refusal."""
    counts = Counter(
        (each.record.answerable, each.verdict(protocol) is Verdict.MISSING and each.record.error is None)
        for each in scored
    )
    return Refusals(
        unanswerable=counts[False, True] + counts[False, False],
        kept=counts[False, True],
        answerable=counts[True, True] + counts[True, False],
        timid=counts[True, True],
    )


def errors(scored: Iterable[Scored]) -> Mapping[str, int]:
    """Failed requests by the name of their error."""
    return dict(Counter(each.record.error for each in scored if each.record.error is not None))


def failed_judgements(scored: Iterable[Scored]) -> Mapping[str, int]:
    """Judgements that a judge failed to give, by why."""
    return dict(Counter(each.judgement.why for each in scored if each.judgement.failed))


def degradations(scored: Iterable[Scored]) -> Mapping[str, int]:
    """How often each optional stage did not deliver."""
    answers = (each.record.answer for each in scored)
    return dict(Counter(stage for answer in answers if answer for stage in answer.degraded))
