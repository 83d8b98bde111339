"""Advice after a refusal, in one spoken sentence."""

from collections.abc import Sequence

from contracts.answer import LookedAt, LookedAtKind, Reason
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from language.identification import foreign_language_of

_OF_REASON = {
    Reason.TIMED_OUT: "Ask again; what I have read in the photo by now will be quicker.",
    Reason.OVERLOADED: "Ask again in a moment.",
    Reason.UNAVAILABLE: "Ask again in a minute.",
    Reason.NOTHING_INDEXED: "Photos and pages of things have to be indexed first.",
    Reason.LANGUAGE: "Ask it in English.",
    Reason.NEEDS_PHOTO: "Look at it and ask again.",
    Reason.NOT_HEARD: "Say it again, a little louder.",
    Reason.NOT_REMEMBERED: "I remember what you asked about with the memory on.",
}
_COME_CLOSER = "Come closer, so that it fills the view, and ask again."
_CLOSER_TO_READ = "Come closer to the print and hold still: it is too small for me to read."
_SMALL_PRINT = 0.008
"""Of the photo's height: at 1,920 pixels a line of fewer than 16, which recognisers of print read badly."""


def advice(outcome: Outcome, query: Query, looked_at: Sequence[LookedAt]) -> str:
    """Return the sentence; empty for an answer. `looked_at`: what of the photo the question looked at."""
    if not outcome.abstained:
        return ""
    if outcome.reason in _OF_REASON:
        sentence = _OF_REASON[outcome.reason]
        language = foreign_language_of(query.question) if outcome.reason is Reason.LANGUAGE else None
        return f"{language.advice} {sentence}" if language else sentence
    if query.photo is not None and _print_is_small(looked_at):
        return _CLOSER_TO_READ
    if query.photo is not None and outcome.entity is None:
        return _COME_CLOSER
    if outcome.reason is Reason.NO_EVIDENCE:
        thing = outcome.entity.name if outcome.entity else "this"
        return f"Index a page about {thing}, or ask for something else."
    return "Ask it in other words, or ask for something else about it."


def _print_is_small(looked_at: Sequence[LookedAt]) -> bool:
    """Return whether more than half of the lines that were read are small."""
    lines = [each for each in looked_at if each.kind is LookedAtKind.TEXT]
    heights = [min(line.bottom - line.top, line.right - line.left) for line in lines]
    return 2 * sum(height < _SMALL_PRINT for height in heights) > len(heights)
