"""QA-Dragon's dual verifier (3.7.2): the answer's token probabilities and a model judge, combined."""

from collections.abc import Sequence

from services.verifier.engine import NO_SIGNALS, ModelSignals, Verdict, Verifier
from services.verifier.engines.certainty import certainty_of


class WhiteBoxVerifier:
    """Believes the models' signals; reads the evidence itself only when there is none.

    The judge has read question, photo, evidence and answer already, so a lexical check of the same evidence
    would only add its own errors. `lexical` is for answers whose server gave no token probabilities and
    which nobody judged.
    """

    name = "white-box"

    def __init__(self, lexical: Verifier) -> None:
        self._lexical = lexical

    def verify(
        self,
        question: str,
        answer: str,
        evidence: Sequence[str],
        entity: str | None,
        signals: ModelSignals = NO_SIGNALS,
    ) -> Verdict:
        """Judge by the signals that are there; by the evidence without any."""
        certainty = certainty_of(signals)
        if certainty is None:
            return self._lexical.verify(question, answer, evidence, entity)
        return Verdict(certainty.probability, None, certainty.checks, refused=not certainty.accepted)
