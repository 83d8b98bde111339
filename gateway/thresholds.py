"""The cut-offs of the pipeline, in one frozen value, so that calibration can replace them together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probabilities in 0..1 and counts.

    `direct_confidence`: a self-contained draft is answered at once from here on.
    `same_thing`: an image hit is a candidate from here on. `decisive`: no crops are searched from here on.
    `relevant`: evidence is kept from here on (tau_fine * tau_coarse of QA-Dragon, section 3.6.2).
    `answer_confidence`: below it the reasoner's answer is "I don't know".
    `supported`: the verifier's probability below which an answer is refused; between it and
    `borderline` the model judge is asked, if time remains.
    `token_min`, `token_mean`: the white-box verifier's thresholds (QA-Dragon, section 4.3).
    """

    direct_confidence: float = 0.6
    same_thing: float = 0.5
    decisive: float = 0.9
    relevant: float = 0.05
    answer_confidence: float = 0.4
    supported: float = 0.35
    borderline: float = 0.6
    token_min: float = 0.60
    token_mean: float = 0.90


@dataclass(frozen=True, slots=True)
class Depths:
    """How much is looked at: candidates, crops, hits, chunks; what of a search is kept unranked."""

    image_hits: int = 5
    crops: int = 4
    text_hits: int = 10
    chunks_to_rerank: int = 60
    chunks_to_keep: int = 12
    leading_facts: int = 16
    leading_chunks: int = 8
