"""The content of a report, computed from runs that can be compared."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from evaluation.data.model import Part
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.record import RunHeader, TurnRecord
from evaluation.reporting.comparison import Comparison, JudgedRun
from evaluation.reporting.curves import Curve, SpanReport, curve, proposed_answers, span_report
from evaluation.reporting.formatting import READINGS, small_photo
from evaluation.reporting.tables import (
    RULE,
    Breakdown,
    Failure,
    StageTimes,
    failure_examples,
    slices_of,
    stage_times,
)
from evaluation.scoring.intervals import Estimate, Paired, compare_pairs, estimate, holm
from evaluation.scoring.measures import measure
from evaluation.scoring.protocols import Protocol, Scored, TurnOutcome, by_session, degradations, settle


@dataclass(frozen=True, slots=True)
class PartScores:
    """One system on one part: `single`, `multi` or `all`."""

    part: str
    questions: int
    sessions: int
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class SystemReport:
    """Figures of one run. `parts`: those that were asked, the whole last. `failed`: requests without an
    answer, by kind; `judge_failures`: verdicts that the judge did not give, by why. `spans`: where the golds
    are stretches of a text.
    """

    name: str
    folder: str
    header: RunHeader
    asked: int
    parts: tuple[PartScores, ...]
    failed: Mapping[str, int]
    asked_again: int
    judge_failures: Mapping[str, int]
    degraded: Mapping[str, int]
    stages: tuple[StageTimes, ...]
    curve: Curve
    spans: SpanReport | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on the same sessions: `one` less `other` in truthfulness; `corrected`: p after Holm."""

    one: str
    other: str
    paired: Paired
    corrected: float


@dataclass(frozen=True, slots=True)
class Reply:
    """A system's answer to a question, and its verdict."""

    system: str
    record: TurnRecord
    judgement: Judgement
    verdict: str


@dataclass(frozen=True, slots=True)
class ShownFailure:
    """A failure with the replies of all systems, its own first. `photo`: a small JPEG."""

    failure: Failure
    replies: tuple[Reply, ...]
    photo: bytes | None


@dataclass(frozen=True, slots=True)
class Report:
    """`asked`: questions that any of the runs asked; `questions`: those that all did, in whole sessions, and
    that are compared. `remarks`: what a reader must know of how this came about. `made_at`: Unix seconds.
    `stages`: of all systems, in their order.
    """

    dataset: str
    made_at: float
    judge: str
    protocol: str
    cut: str
    asked: int
    questions: int
    sessions: int
    rejected: Mapping[str, int]
    remarks: tuple[str, ...]
    systems: tuple[SystemReport, ...]
    stages: tuple[str, ...]
    slices: tuple[Breakdown, ...]
    pairs: tuple[Pair, ...]
    studied: str
    rule: str
    failures: tuple[ShownFailure, ...]


WHOLE = "all"


def build_report(
    comparison: Comparison, protocol: Protocol, *, judge: str, cut: str, made_at: float
) -> Report:
    """Build the report. Failures are shown for the first run."""
    runs = comparison.runs
    studied = next(iter(runs))
    outcomes = {name: settle(run.scored, protocol) for name, run in runs.items()}
    first = runs[studied]
    return Report(
        dataset=first.header.dataset,
        made_at=made_at,
        judge=judge,
        protocol=protocol.value,
        cut=cut,
        asked=comparison.asked,
        questions=len(first.scored),
        sessions=len(by_session(first.scored)),
        rejected=first.header.rejected,
        remarks=(*comparison.remarks, *_remarks(runs)),
        systems=tuple(_system(name, run, protocol) for name, run in runs.items()),
        stages=tuple(
            each.stage for each in stage_times(each.record for run in runs.values() for each in run.scored)
        ),
        slices=slices_of(outcomes),
        pairs=_pairs(runs, protocol),
        studied=studied,
        rule=RULE.format(system=studied),
        failures=tuple(
            _shown_failure(each, studied, runs, outcomes) for each in failure_examples(studied, outcomes)
        ),
    )


def _system(name: str, run: JudgedRun, protocol: Protocol) -> SystemReport:
    answers = proposed_answers(run.scored, run.withheld, lambda each: each.verdict(protocol))
    return SystemReport(
        name=name,
        folder=str(run.folder),
        header=run.header,
        asked=len(run.scored),
        parts=_parts(run.scored, protocol),
        failed=_errors(run),
        asked_again=sum(each.record.asked_again for each in run.scored),
        judge_failures=dict(Counter(each.judgement.why for each in run.scored if each.judgement.failed)),
        degraded=degradations(run.scored),
        stages=stage_times(each.record for each in run.scored),
        curve=curve(answers, len(run.scored)),
        spans=span_report(run),
    )


def _parts(scored: Sequence[Scored], protocol: Protocol) -> tuple[PartScores, ...]:
    """Return scores of single-turn and multi-turn questions if there are both, then of all."""
    by_part = {
        part.value: inside
        for part in Part
        if (inside := [each for each in scored if each.record.part is part])
    }
    parts = [_part(name, inside, protocol) for name, inside in by_part.items()]
    if len(parts) == 1:
        only = parts[0]
        return (only, PartScores(WHOLE, only.questions, only.sessions, only.estimates))
    return (*parts, _part(WHOLE, scored, protocol))


def _part(name: str, scored: Sequence[Scored], protocol: Protocol) -> PartScores:
    by_hand = any(each.judgement.verdict is Verdict.ACCEPTABLE for each in scored)
    names = [each for each in READINGS if each != "acceptable" or by_hand]
    estimates = {each: estimate(scored, measure(each, protocol)) for each in names}
    measured = {each: figure for each, figure in estimates.items() if figure.turns}
    return PartScores(name, len(scored), len(by_session(scored)), measured)


def _errors(run: JudgedRun) -> dict[str, int]:
    """Return the number of failed requests by error."""
    return dict(Counter(each.record.error for each in run.scored if each.record.error is not None))


def _pairs(runs: Mapping[str, JudgedRun], protocol: Protocol) -> tuple[Pair, ...]:
    """Compare every system with every other, in the order of the runs."""
    truthfulness = measure("truthfulness", protocol)
    names = list(combinations(runs, 2))
    comparisons = [compare_pairs(runs[one].scored, runs[other].scored, truthfulness) for one, other in names]
    corrected = holm([each.p_value for each in comparisons])
    return tuple(
        Pair(one, other, each, p) for (one, other), each, p in zip(names, comparisons, corrected, strict=True)
    )


def _remarks(runs: Mapping[str, JudgedRun]) -> list[str]:
    remarks = []
    failed = {name: sum(_errors(run).values()) for name, run in runs.items()}
    if any(failed.values()):
        counts = ", ".join(
            f"{name} {count:,} of {len(runs[name].scored):,}" for name, count in failed.items() if count
        )
        remarks.append(
            f"Requests that failed count as missing, and are in no time or failure below: {counts}."
        )
    quiet = [
        name for name, run in runs.items() if not run.header.explained and failed[name] < len(run.scored)
    ]
    if quiet:
        remarks.append(
            f"No explanations came with the answers of {', '.join(quiet)}: their refusal curves know only "
            "the answers that were given, with the confidence these came with."
        )
    return remarks


def _shown_failure(
    failure: Failure,
    studied: str,
    runs: Mapping[str, JudgedRun],
    outcomes: Mapping[str, Sequence[TurnOutcome]],
) -> ShownFailure:
    wanted = failure.record.interaction_id
    replies = [
        Reply(name, turn.scored.record, turn.scored.judgement, turn.alone.value)
        for name in (studied, *(name for name in runs if name != studied))
        for turn in outcomes[name]
        if turn.scored.record.interaction_id == wanted
    ]
    photo = small_photo(runs[studied].folder, failure.record.photo)
    return ShownFailure(failure, tuple(replies), photo)
