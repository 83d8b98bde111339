"""Answers with their verdicts, as each protocol counts them, and CRAG-MM's scores of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.data.model import EvaluationError, Part
from evaluation.judging.model_judge import MODEL, version_of
from evaluation.judging.rule_judge import RuleJudge, judge_by_rules
from evaluation.judging.text import APPROXIMATE, Cut
from evaluation.judging.verdicts import (
    BEM,
    HUMAN,
    Case,
    Judgement,
    Verdict,
    key_of,
    verdict_file,
    verdicts_on,
)
from evaluation.record import TurnRecord
from evaluation.scoring.protocols import Protocol, given_up, stop_early

Unit = tuple[Part, str, int]
"""A question's part, session and turn: the same in every run over one dataset."""
Valued = dict[Unit, float]


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer and its judgement. `said`: the cut answer that was judged; None: as the approximation cuts.

    `by_hand`: a person's verdict, which stands as it is, missing included.
    """

    record: TurnRecord
    judgement: Judgement
    said: str | None = None
    by_hand: bool = False

    @property
    def answer(self) -> str:
        """What counts of the answer; empty where there is none."""
        return answer_to_judge(self.record, APPROXIMATE) if self.said is None else self.said

    def verdict(self, protocol: Protocol) -> Verdict:
        """What the protocol makes of it by itself, before any early stop.

        A judge's "missing" without the protocol's words for it is incorrect: the kits' judges know no third.
        """
        if self.by_hand:
            return self.judgement.verdict
        if self.record.answer is None:
            return Verdict.MISSING
        said = self.answer
        if protocol.missing(said):
            return Verdict.MISSING
        if repeats(said, self.record.gold):
            return Verdict.CORRECT
        verdict = self.judgement.verdict
        return Verdict.INCORRECT if verdict is Verdict.MISSING else verdict


@dataclass(frozen=True, slots=True)
class Settled:
    """`alone`: the verdict on the answer itself; `stopped`: after the early stop of its conversation.

    `given_up`: its conversation has two failures in a row.
    """

    scored: Scored
    alone: Verdict
    stopped: Verdict
    given_up: bool

    def counted(self, protocol: Protocol) -> Verdict:
        """The verdict that the protocol's rates over turns are made of."""
        return self.stopped if protocol.stops_first else self.alone


def repeats(said: str, gold: str) -> bool:
    """The kits' exact match."""
    return said.strip().lower() == gold.strip().lower()


def answer_to_judge(record: TurnRecord, cut: Cut) -> str:
    """Return what is judged of the answer: all of it by scorers of other benchmarks, which do not cut."""
    if record.answer is None:
        return ""
    whole = record.truth is not None and record.truth.scorer is not None
    return record.answer.answer if whole else cut(record.answer.answer)


def case_of(record: TurnRecord, cut: Cut = APPROXIMATE) -> Case:
    """What a judge is shown of a record: the answer is cut already."""
    answer = record.answer
    return Case(
        interaction_id=record.interaction_id,
        question=record.question,
        gold=record.gold,
        answer=answer_to_judge(record, cut),
        truth=record.truth,
        abstained=answer is not None and answer.abstained,
        failed=answer is None,
    )


def with_judgements(
    records: Iterable[TurnRecord],
    judgements: Mapping[str, Judgement],
    cut: Cut = APPROXIMATE,
    *,
    by_hand: bool = False,
) -> list[Scored]:
    """The records that were judged, in their order, each with its judgement."""
    return [
        Scored(
            record,
            judgements[record.interaction_id],
            answer_to_judge(record, cut),
            by_hand,
        )
        for record in records
        if record.interaction_id in judgements
    ]


def settle(scored: Iterable[Scored], protocol: Protocol) -> list[Settled]:
    """Every answer with what the protocol makes of it; conversations keep the order of their first turns.

    Give it whole conversations: a slice of one would be stopped elsewhere.
    """
    settled: list[Settled] = []
    for turns in by_session(scored).values():
        alone = [turn.verdict(protocol) for turn in turns]
        hopeless = given_up(alone)
        for turn, before, after in zip(turns, alone, stop_early(alone), strict=True):
            settled.append(Settled(turn, before, after, hopeless))
    return settled


def unit_of(scored: Scored) -> Unit:
    """Which question this is."""
    record = scored.record
    return record.part, record.session_id, record.turn


def by_session(scored: Iterable[Scored]) -> dict[tuple[Part, str], list[Scored]]:
    """The turns of each conversation, in order."""
    sessions: defaultdict[tuple[Part, str], list[Scored]] = defaultdict(list)
    for each in scored:
        sessions[each.record.part, each.record.session_id].append(each)
    return {name: sorted(turns, key=lambda each: each.record.turn) for name, turns in sessions.items()}


class NotJudged(EvaluationError):
    """A judge has no verdicts on a run, or not on all of it; the message says how to get them."""


def score_records(
    records: Sequence[TurnRecord], folder: Path, judge: str, cut: Cut = APPROXIMATE
) -> tuple[list[Scored], int]:
    """The records that the judge has a verdict on, ready to be scored, and how many it has none on.

    The rules judge here and now; another judge's verdicts are in the run's folder. People judge samples, so
    what they left out is no error; what a model left out was not asked yet. Raises `NotJudged` where there
    are no verdicts at all.
    """
    if judge == RuleJudge.name:
        judgements = {record.interaction_id: judge_by_rules(case_of(record, cut)) for record in records}
        return with_judgements(records, judgements, cut), 0
    shown = APPROXIMATE if judge == HUMAN else cut  # people saw the whole answer, whatever the cut
    judgements = stored_verdicts(records, verdict_file(folder, judge), judge, shown)
    if not judgements:
        options = _OPTIONS.get(judge) or f"--judge model --model {judge.removeprefix(MODEL)}"
        raise NotJudged(
            f"{judge} has judged nothing of {folder}, or other answers than are there now: "
            f"loreglass eval judge {folder} {options}"
        )
    scored = with_judgements(records, judgements, cut, by_hand=judge == HUMAN)
    return scored, len(records) - len(scored)


_OPTIONS = {HUMAN: "--judge human --labels FILE", BEM: "--judge bem"}


def stored_verdicts(records: Sequence[TurnRecord], file: Path, judge: str, cut: Cut) -> dict[str, Judgement]:
    """The verdicts in that file on just these answers, as the judge is now."""
    version = version_of(judge)
    keys = {record.interaction_id: key_of(case_of(record, cut), judge, version) for record in records}
    return verdicts_on(file, keys)


def degradations(scored: Iterable[Scored]) -> Mapping[str, int]:
    """How often each optional stage did not deliver."""
    answers = (each.record.answer for each in scored)
    return dict(Counter(stage for answer in answers if answer for stage in answer.degraded))
