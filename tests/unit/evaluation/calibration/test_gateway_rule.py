"""Replay gives the same decisions as the gateway."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from evaluation.calibration.replay import Cutoffs, Signals, replay, signals_of
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.record import TurnRecord
from loreglass_client.models import Explanation
from tests.unit.evaluation.calibration.generated_answers import ask, drawn, thresholds_of
from tests.unit.evaluation.generated_runs import OPEN, THRESHOLDS
from tests.unit.evaluation.records import answered, turn_of

pytestmark = pytest.mark.anyio

CASES = 75
RIGHT = Judgement(Verdict.CORRECT, "")


def recorded(given: bool, explanation: Explanation) -> TurnRecord:
    crossed = Explanation.model_validate_json(explanation.model_dump_json())
    return turn_of("question", answered(explanation.proposed or "" if given else None, explanation=crossed))


def arrays(given: bool, explanation: Explanation) -> Signals:
    verdicts = {} if explanation.proposed is None else {"question": RIGHT}
    return signals_of([recorded(given, explanation)], verdicts, {}, Cutoffs.among(explanation.thresholds))


async def test_replay_equals_the_gateway(anyio_backend: object) -> None:
    random, changed = Random(11), 0
    for _ in range(CASES):
        case, before, after = drawn(random), thresholds_of(random), thresholds_of(random)
        done, explanation = await ask(case, before)
        otherwise, retold = await ask(case, after)
        signals = arrays(done, explanation)
        assert replay(signals, signals.in_force)[0] == done
        replayed = replay(signals, Cutoffs.among(retold.thresholds))
        assert replayed[0] == otherwise, (case, before, after)
        changed += bool(otherwise != done)
    assert changed > 0.1 * CASES


async def test_a_failed_request_has_no_answer_under_any_thresholds(anyio_backend: object) -> None:
    explanation = Explanation(
        proposed="It is 3.", signals={"citable": 1.0}, thresholds={**THRESHOLDS, **OPEN}
    )
    failed = recorded(True, explanation).model_copy(update={"answer": None, "error": "overloaded"})
    signals = signals_of([failed], {}, {}, Cutoffs.among(explanation.thresholds))
    assert np.all(replay(signals, signals.in_force) == 0.0)
