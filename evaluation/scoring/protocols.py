"""The two published ways to score CRAG-MM, rule by rule.

Both cut answers to 75 tokens first (`judging.cut`), give 1, 0 and -1 for correct, missing and incorrect, and
call an answer that repeats the gold sentence (stripped, any case) correct without asking a judge.

============================  ================================  =====================================
rule                          `kdd-cup-2025`                    `crag-mm-2026`
============================  ================================  =====================================
missing                       contains "i don't know" with a    contains "i dont know" or "i do not
                              straight apostrophe, in any case  know" once all but a-z, 0-9 and white
                                                                space is taken out
a judge that fails            incorrect                         incorrect
early stop: after two turns   before anything is counted        only for the mean over sessions; rates
in a row not correct, the                                       and truthfulness over turns are of all
rest are missing                                                answers
`[missing, missing,           truthfulness 0                    truthfulness 1/3
correct]`
mean over sessions            after the stop                    after the stop
============================  ================================  =====================================

Sources: the KDD Cup 2025 starter kit's local_evaluation.py; facebookresearch/CRAG-MM (2026),
evaluation/{evaluator,evaluation_utils,dataset_utils}.py; the paper (Wang et al. 2025), section 4.

Where we depart, on purpose: an answer that is both a refusal and the gold sentence counts once, as missing
(the kits count it as correct and as missing, 2 points); one lone answer has its own truthfulness (they print
0); a request that failed has no answer and is missing (the kits know no failed requests). The empty
answer is no refusal: it goes to the judge. The 2026 code also leaves two sessions out of both datasets
(04d98259-27af-41b1-a7be-5798fd1b8e95 and 695b4b5c-7c65-4f7b-8968-50fe10482a16): we ask and count them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

from evaluation.data.model import EvaluationError, Part
from evaluation.judging.model_judge import version_of
from evaluation.judging.rule_judge import RuleJudge, judge_by_rules
from evaluation.judging.text import APPROXIMATE, Cut, literal_refusal, plain_refusal, repeats
from evaluation.judging.verdicts import (
    BEM,
    HUMAN,
    MODEL,
    RIGHT,
    Case,
    Judgement,
    Verdict,
    key_of,
    verdict_file,
    verdicts_on,
)
from evaluation.record import TurnRecord


class Protocol(StrEnum):
    """The published rules of a score."""

    KDD_CUP_2025 = "kdd-cup-2025"
    CRAG_MM_2026 = "crag-mm-2026"

    def missing(self, answer: str) -> bool:
        """Return whether the (cut) answer is a refusal."""
        return _REFUSALS[self](answer)

    @property
    def stops_first(self) -> bool:
        """Return whether the early stop is applied before turns are counted."""
        return self is Protocol.KDD_CUP_2025


_REFUSALS: dict[Protocol, Callable[[str], bool]] = {
    Protocol.KDD_CUP_2025: literal_refusal,
    Protocol.CRAG_MM_2026: plain_refusal,
}


def stop_place(verdicts: Sequence[Verdict]) -> int | None:
    """Return the number of turns until a user gives up, after two wrong ones in a row; None for all."""
    pairs = enumerate(pairwise(verdicts), 2)
    return next((place for place, pair in pairs if RIGHT.isdisjoint(pair)), None)


Unit = tuple[Part, str, int]
"""A question's part, session and turn: the same in every run over one dataset."""
Valued = dict[Unit, float]


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer and its judgement. `cut_answer`: what was judged; None: cut approximately.

    `by_hand`: a person's verdict, which stands as it is, missing included.
    """

    record: TurnRecord
    judgement: Judgement
    cut_answer: str | None = None
    by_hand: bool = False

    @property
    def answer(self) -> str:
        """The part of the answer that is judged; empty without an answer."""
        return answer_to_judge(self.record, APPROXIMATE) if self.cut_answer is None else self.cut_answer

    def verdict(self, protocol: Protocol) -> Verdict:
        """Return the protocol's verdict on this answer alone, before any early stop.

        A judge's "missing" without the protocol's words for it is incorrect: the kits' judges know no third.
        """
        if self.by_hand:
            return self.judgement.verdict
        if self.record.answer is None:
            return Verdict.MISSING
        answer = self.answer
        if protocol.missing(answer):
            return Verdict.MISSING
        if repeats(answer, self.record.gold):
            return Verdict.CORRECT
        verdict = self.judgement.verdict
        return Verdict.INCORRECT if verdict is Verdict.MISSING else verdict


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """`alone`: the verdict on the answer itself; `stopped`: after the early stop of its conversation.

    `given_up`: its conversation has two failures in a row.
    """

    scored: Scored
    alone: Verdict
    stopped: Verdict
    given_up: bool

    def counted(self, protocol: Protocol) -> Verdict:
        """Return the verdict that the protocol's rates over turns use."""
        return self.stopped if protocol.stops_first else self.alone


def answer_to_judge(record: TurnRecord, cut: Cut) -> str:
    """Return what is judged of the answer: all of it by scorers of other benchmarks, which do not cut."""
    if record.answer is None:
        return ""
    whole = record.truth is not None and record.truth.scorer is not None
    return record.answer.answer if whole else cut(record.answer.answer)


def case_of(record: TurnRecord, cut: Cut = APPROXIMATE) -> Case:
    """Return the case that a judge sees; its answer is cut already."""
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
    """Return the judged records in order, each with its judgement."""
    return [
        Scored(record, judgements[record.interaction_id], answer_to_judge(record, cut), by_hand)
        for record in records
        if record.interaction_id in judgements
    ]


def settle(scored: Iterable[Scored], protocol: Protocol) -> list[TurnOutcome]:
    """Return the protocol's outcome of every answer; conversations keep the order of their first turns.

    Give it whole conversations: a slice of one would be stopped elsewhere.
    """
    outcomes: list[TurnOutcome] = []
    for turns in by_session(scored).values():
        alone = [turn.verdict(protocol) for turn in turns]
        stop = stop_place(alone)
        stopped = [*alone[:stop], *[Verdict.MISSING] * len(alone[stop:])] if stop else alone
        outcomes += [TurnOutcome(*each, stop is not None) for each in zip(turns, alone, stopped, strict=True)]
    return outcomes


def unit_of(scored: Scored) -> Unit:
    record = scored.record
    return record.part, record.session_id, record.turn


def by_session(scored: Iterable[Scored]) -> dict[tuple[Part, str], list[Scored]]:
    sessions: defaultdict[tuple[Part, str], list[Scored]] = defaultdict(list)
    for each in scored:
        sessions[each.record.part, each.record.session_id].append(each)
    return {name: sorted(turns, key=lambda each: each.record.turn) for name, turns in sessions.items()}


class NotJudged(EvaluationError):
    """A judge has no verdicts on a run, or not on all of it; the message says how to get them."""


def score_records(
    records: Sequence[TurnRecord], folder: Path, judge: str, cut: Cut = APPROXIMATE
) -> tuple[list[Scored], int]:
    """Return the records with a verdict of the judge, and the number without one.

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
    """Return the file's verdicts on these answers by the judge's current version."""
    version = version_of(judge)
    keys = {record.interaction_id: key_of(case_of(record, cut), judge, version) for record in records}
    return verdicts_on(file, keys)


def degradations(scored: Iterable[Scored]) -> Mapping[str, int]:
    """Return the number of answers that each optional stage degraded."""
    answers = (each.record.answer for each in scored)
    return dict(Counter(stage for answer in answers if answer for stage in answer.degraded))
