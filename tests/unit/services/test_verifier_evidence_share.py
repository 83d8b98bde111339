"""The verifier reports the evidence's share of its probability."""

import pytest

from services.verifier.engine import ModelSignals, Verifier
from services.verifier.engines.builtin import BuiltinVerifier
from services.verifier.engines.certainty import WhiteBoxVerifier, certainty_of

QUESTION, EVIDENCE = "How many pages?", ["The Salt Road has 312 pages."]
BUILTIN = BuiltinVerifier()


@pytest.mark.parametrize("tokens", [(0.99, 0.98), (0.2, 0.9), (0.6, 0.91)])
@pytest.mark.parametrize("judgement", [None, 0.1, 0.95])
@pytest.mark.parametrize("answer", ["It has 312 pages.", "It has 321 pages.", "…"])
def test_probability_is_the_minimum_of_evidence_and_models(
    tokens: tuple[float, ...], judgement: float | None, answer: str
) -> None:
    signals = ModelSignals(tokens, 0.6, 0.9, judgement)
    alone = BUILTIN.verify(QUESTION, answer, EVIDENCE, None)
    both = BUILTIN.verify(QUESTION, answer, EVIDENCE, None, signals)
    certainty = certainty_of(signals)
    assert certainty is not None
    assert both.by_evidence == alone.by_evidence == alone.probability
    assert both.probability == min(alone.probability, certainty.probability)


@pytest.mark.parametrize(("signals", "reads"), [(ModelSignals((0.9,)), False), (ModelSignals(), True)])
def test_what_was_not_read_has_no_part(signals: ModelSignals, reads: bool) -> None:
    white_box: Verifier = WhiteBoxVerifier(BUILTIN)
    verdict = white_box.verify(QUESTION, "It has 312 pages.", EVIDENCE, None, signals)
    assert (verdict.by_evidence is not None) is reads
