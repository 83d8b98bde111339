"""Whether an answer that a model wrote is right: independent measures, weighed together.

The least probable token of the answer, the reader service and the verifier service each tell right answers
from wrong ones, none of them well alone. `answer_check.json` weighs them; it is fitted on questions that
people wrote, with and without an answer, as small models answered them (`python -m tests.real_models.fit`). A
measure that is missing counts as its mean, so that it decides nothing. The model itself is not asked: its yes
says more of the model than of the answer (docs/decisions/0028-never-worse-than-the-model-alone.md).
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chassis.resilience.deadlines import Deadline
from contracts.verifier import CheckName
from gateway.clients.services import Services
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, Evidence, Found, Query, Reply, ToRead, Verdict
from gateway.steps.conclusion import conclude
from gateway.steps.verification import quoted_texts, unchecked
from gateway.thresholds import Thresholds

FEATURES = ("token_min", "reader_best", "reader_agrees", "evidence_support")
WEIGHTS = Path(__file__).with_suffix(".json")
_MOST_READ = 8
_READINGS = 5
_CLOSE_TO_CERTAIN = 0.02
_SEPARATORS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic curve over the log odds of `FEATURES`. `means`: of the log odds, for what is missing."""

    intercept: float
    coefficients: Mapping[str, float]
    means: Mapping[str, float]

    @classmethod
    @cache
    def load(cls) -> "Weights":
        """Return the fitted weights."""
        kept = json.loads(WEIGHTS.read_text("utf-8"))
        return cls(kept["intercept"], kept["coefficients"], kept["means"])

    def probability(self, measured: Mapping[str, float]) -> float:
        """Return the probability that the answer is right. `measured`: probabilities by feature."""
        odds = self.intercept
        for name in FEATURES:
            value = log_odds(measured[name]) if name in measured else self.means[name]
            odds += self.coefficients[name] * value
        return 1 / (1 + math.exp(-odds))


def log_odds(probability: float) -> float:
    """Return the log odds of a probability, which is held away from 0 and 1."""
    bounded = min(max(probability, _CLOSE_TO_CERTAIN), 1 - _CLOSE_TO_CERTAIN)
    return math.log(bounded / (1 - bounded))


async def check_answer(
    services: Services, query: Query, reply: Reply, context: Context, run: Run, thresholds: Thresholds
) -> Verdict | None:
    """Return the verdict on a model's answer; None if there is none.

    Signals: each of `FEATURES` that was measured; `judged`, the probability; `judge_first`, always 1. An
    answer is refused if `judged` is below its threshold.
    """
    if not reply.says_something:
        return None
    in_doubt = unchecked(thresholds)
    run.keep(conclude(query.question, reply, in_doubt, context, None, run.failures, thresholds))
    measured: dict[str, float] = {}
    if reply.token_probabilities:
        measured["token_min"] = min(reply.token_probabilities)
    async with run.optional(Stage.VERIFIER), run.stage(Stage.VERIFIER) as deadline:
        measured |= await _by_services(services, query, reply, context, deadline)
    probability = Weights.load().probability(measured)
    for name, value in measured.items():
        run.explain.signal(name, value)
    run.explain.signal("judge_first", 1.0)
    run.explain.signal("judged", probability)
    refusal = CheckName.JUDGE.value if probability < thresholds.judged else None
    if "evidence_support" in measured:
        return Verdict(probability, refusal)
    # Without the services no answer is surer than with them.
    return Verdict(min(probability, in_doubt.probability), refusal, in_doubt.verification)


async def _by_services(
    services: Services, query: Query, reply: Reply, context: Context, deadline: Deadline
) -> dict[str, float]:
    """Return what the reader and the verifier say of the answer."""
    answer, thing = reply.answer or "", context.entity.name if context.entity else None
    checked = await services.verify(query.question, answer, quoted_texts(reply, context), thing, deadline)
    measured = {"evidence_support": checked.probability}
    passages = [_passage(item) for item in context.evidence[:_MOST_READ]]
    if passages:
        found = await services.read(query.question, passages, thing, query.history, _READINGS, deadline)
        measured |= agreement(answer, found)
    return measured


def agreement(answer: str, found: Sequence[Found]) -> dict[str, float]:
    """Return the reader's probability for its best span, and for its best span that the answer holds."""
    said = _plain(answer)
    agreeing = [each.probability for each in found if _plain(each.span) in said or said in _plain(each.span)]
    return {
        "reader_best": max((each.probability for each in found), default=0.0),
        "reader_agrees": max(agreeing, default=0.0),
    }


def _plain(text: str) -> str:
    return f" {_SEPARATORS.sub(' ', text.casefold()).strip()} "


def _passage(item: Evidence) -> ToRead:
    return ToRead(item.text, item.entity or item.title, item.kind)
