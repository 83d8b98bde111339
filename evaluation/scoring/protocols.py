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

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import pairwise

from evaluation.judging.text import literal_refusal, plain_refusal
from evaluation.judging.verdicts import Verdict

_STOP_AFTER = 2
_GOOD = frozenset({Verdict.CORRECT, Verdict.ACCEPTABLE})


class Protocol(StrEnum):
    """Which published rules."""

    KDD_CUP_2025 = "kdd-cup-2025"
    CRAG_MM_2026 = "crag-mm-2026"

    def missing(self, said: str) -> bool:
        """Whether the (cut) answer is a refusal."""
        return _REFUSALS[self](said)

    @property
    def stops_first(self) -> bool:
        """Whether the early stop comes before turns are counted."""
        return self is Protocol.KDD_CUP_2025


_REFUSALS: dict[Protocol, Callable[[str], bool]] = {
    Protocol.KDD_CUP_2025: literal_refusal,
    Protocol.CRAG_MM_2026: plain_refusal,
}


def given_up(verdicts: Sequence[Verdict]) -> bool:
    """Whether the wearer would give up somewhere: two turns in a row that are not correct."""
    return any(one not in _GOOD and two not in _GOOD for one, two in pairwise(verdicts))


def stop_early(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """One conversation, in order: after two turns in a row that are not correct, those left are missing."""
    counted: list[Verdict] = []
    failures = 0
    for verdict in verdicts:
        if failures >= _STOP_AFTER:
            counted.append(Verdict.MISSING)
            continue
        failures = 0 if verdict in _GOOD else failures + 1
        counted.append(verdict)
    return counted
