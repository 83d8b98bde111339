"""Hedging: words by which a writer says that a claim is a guess, or that something is not known."""

import re

from language.words import fold

_HEDGES = re.compile(
    r"\b(?:probably|perhaps|maybe|possibly|presumably|likely|might|may be|could be|seems?|appears? to"
    r"|looks like|suggests?|typically|usually|generally|normally|on average|assum(?:e|es|ed|ing)"
    r"|as far as i know|i (?:think|believe|guess|suspect)|either [^.]{1,40} or"
    r"|not (?:sure|certain|clear|visible|legible|shown)|unsure|uncertain|unclear|unknown|unable to"
    r"|(?:can ?not|can't|do not|don't) (?:know|tell|say|determine|identify|read|see|make out))\b"
)


def hedges(text: str) -> bool:
    """Whether the text holds such a word."""
    return _HEDGES.search(" ".join(fold(text).split())) is not None
