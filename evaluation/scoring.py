"""CRAG-MM's scores, over single questions and over conversations with and without early stopping.

Truthfulness is the mean of 1 (correct), 0 (missing) and -1 (incorrect, a hallucination). A request that
failed gave no answer: it scores as missing, and is counted by the name of its error besides.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contracts.answer import Answer
from evaluation.judging.judge import Judgement, Verdict
from evaluation.rows import AskedTurn

_STOP_AFTER = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one question. `error`: the kind of the problem where there is no answer.

    `client_ms`: from sending to having the reply, as the caller saw it.
    """

    session_id: str
    turn: AskedTurn
    judgement: Judgement
    answer: Answer | None
    error: str | None
    client_ms: float

    @property
    def verdict(self) -> Verdict:
        """Its verdict."""
        return self.judgement.verdict


@dataclass(frozen=True, slots=True)
class Scores:
    """Rates in 0..1 that add up to 1, and truthfulness in -1..1; all NaN where `count` is 0."""

    count: int
    accuracy: float
    missing: float
    hallucination: float

    @property
    def truthfulness(self) -> float:
        """Mean of 1, 0 and -1."""
        return self.accuracy - self.hallucination


def score(verdicts: Iterable[Verdict]) -> Scores:
    """The scores of some verdicts."""
    counts = Counter(verdicts)
    total = counts.total()
    if total == 0:
        return Scores(0, math.nan, math.nan, math.nan)
    return Scores(
        total,
        counts[Verdict.CORRECT] / total,
        counts[Verdict.MISSING] / total,
        counts[Verdict.INCORRECT] / total,
    )


def scores_by(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, Scores]:
    """Scores of each group, by name."""
    groups: defaultdict[str, list[Verdict]] = defaultdict(list)
    for outcome in outcomes:
        groups[key(outcome)].append(outcome.verdict)
    return {name: score(groups[name]) for name in sorted(groups)}


def stop_early(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """One conversation as the KDD Cup 2025 kit scores it: after two turns in a row that are not correct
    (a missing answer counts), a wearer would give up, and the turns that are left are missing.
    """
    kept: list[Verdict] = []
    failures = 0
    for verdict in verdicts:
        if failures >= _STOP_AFTER:
            kept.append(Verdict.MISSING)
            continue
        failures = 0 if verdict is Verdict.CORRECT else failures + 1
        kept.append(verdict)
    return kept


def with_early_stop(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The outcomes with the verdicts that early stopping leaves; the turns of a session are in order."""
    stopped: list[Outcome] = []
    for turns in by_session(outcomes).values():
        verdicts = stop_early([outcome.verdict for outcome in turns])
        for outcome, verdict in zip(turns, verdicts, strict=True):
            same = verdict is outcome.verdict
            stopped.append(
                outcome if same else replace(outcome, judgement=Judgement(verdict, "after the early stop"))
            )
    return stopped


def by_session(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The turns of each conversation, in order."""
    sessions: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        sessions[outcome.session_id].append(outcome)
    return dict(sessions)


def mean_over_sessions(outcomes: Iterable[Outcome]) -> Scores:
    """Every conversation weighs the same, however many turns it has; `count` is of conversations."""
    each = [score(outcome.verdict for outcome in turns) for turns in by_session(outcomes).values()]
    if not each:
        return Scores(0, math.nan, math.nan, math.nan)
    return Scores(
        len(each),
        math.fsum(scores.accuracy for scores in each) / len(each),
        math.fsum(scores.missing for scores in each) / len(each),
        math.fsum(scores.hallucination for scores in each) / len(each),
    )


@dataclass(frozen=True, slots=True)
class Refusals:
    """How refusing and knowing go together.

    `kept`: refusals of what cannot be known; `timid`: refusals of what can.
    """

    unanswerable: int
    kept: int
    answerable: int
    timid: int


def refusals(outcomes: Iterable[Outcome]) -> Refusals:
    """Refusals by whether they were right; a failed request is no refusal."""
    counts = Counter(
        (outcome.turn.answerable, outcome.verdict is Verdict.MISSING and outcome.error is None)
        for outcome in outcomes
    )
    return Refusals(
        unanswerable=counts[False, True] + counts[False, False],
        kept=counts[False, True],
        answerable=counts[True, True] + counts[True, False],
        timid=counts[True, True],
    )


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of one stage over the requests in which it ran."""

    count: int
    p50: float
    p95: float
    longest: float


def latencies(outcomes: Iterable[Outcome]) -> dict[str, Latency]:
    """By stage in the order stages were first seen, then `total` (the gateway's) and `client`."""
    samples: defaultdict[str, list[float]] = defaultdict(list)
    client: list[float] = []
    for outcome in outcomes:
        if outcome.answer is None:
            continue
        client.append(outcome.client_ms)
        for stage, ms in outcome.answer.timings_ms.items():
            samples[stage].append(ms)
    totals = samples.pop("total", [])
    named: dict[str, Sequence[float]] = {**samples, "total": totals, "client": client}
    return {stage: _latency(values) for stage, values in named.items() if values}


def _latency(values: Sequence[float]) -> Latency:
    return Latency(len(values), percentile(values, 0.50), percentile(values, 0.95), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def degradations(outcomes: Iterable[Outcome]) -> Mapping[str, int]:
    """How often each optional stage did not deliver."""
    return dict(Counter(stage for outcome in outcomes if outcome.answer for stage in outcome.answer.degraded))


def errors(outcomes: Iterable[Outcome]) -> Mapping[str, int]:
    """Failed requests by the name of their error."""
    return dict(Counter(outcome.error for outcome in outcomes if outcome.error is not None))
