"""A cheap second opinion on a borderline answer: does the evidence that it does not quote agree with it?"""

from collections.abc import Sequence

from gateway.reasoning.extractive.lexical import content_stems, sentences
from gateway.reasoning.extractive.values import Kind, find_values
from gateway.state import Evidence, Reply

_NUMERIC = (Kind.MONEY, Kind.QUANTITY, Kind.DATE, Kind.NUMBER, Kind.PERCENT)


def second_opinion(reply: Reply, evidence: Sequence[Evidence]) -> float:
    """Probability that the answer is right: its own confidence, moved by what other passages say.

    A passage speaks to the answer when a sentence shares most of the quoted sentence's content words.
    It agrees when it has the answer's numbers too, and disagrees when it has others of the same kind.
    """
    if reply.answer is None:
        return 0.0
    probability = reply.confidence
    for quote in reply.quotes[:4]:
        probability += sum(
            _vote(quote.text, item, reply.answer) for i, item in enumerate(evidence) if i != quote.index
        )
    if not reply.quotes:
        probability *= 0.5
    return max(0.02, min(0.98, probability))


def _vote(quoted: str, item: Evidence, answer: str) -> float:
    wanted = content_stems(quoted)
    if len(wanted) < 3:
        return 0.0
    for sentence in sentences(item.text):
        shared = len(wanted & content_stems(sentence.text)) / len(wanted)
        if shared >= 0.6:
            return _numbers_vote(quoted, sentence.text, answer)
    return 0.0


def _numbers_vote(quoted: str, other: str, answer: str) -> float:
    for kind in _NUMERIC:
        ours = {v.base for v in find_values(quoted, kind)} & {v.base for v in find_values(answer, kind)}
        theirs = {v.base for v in find_values(other, kind)}
        if ours and theirs:
            return 0.05 if ours & theirs else -0.15
    return 0.03
