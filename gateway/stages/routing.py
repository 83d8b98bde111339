"""The search router (QA-Dragon, section 3.2): answer directly, verify the draft, or look everything up."""

import re

from contracts.answer import Route
from gateway.state import Draft
from gateway.thresholds import Thresholds

_UNCERTAIN = re.compile(
    r"\b(i (?:do not|don't) know|not sure|cannot|can't|unclear|unknown|probably|perhaps|maybe|might be"
    r"|appears? to|seems?|unable to)\b",
    re.IGNORECASE,
)


def choose_route(draft: Draft, thresholds: Thresholds) -> Route:
    """From the draft's answerability flag, its answer type and its uncertainty patterns (Table 1)."""
    if draft.answer is None or _UNCERTAIN.search(draft.answer):
        return Route.RAG
    hesitant = _UNCERTAIN.search(draft.reasoning) is not None
    if draft.self_contained and not hesitant and draft.confidence >= thresholds.direct_confidence:
        return Route.DIRECT
    return Route.VERIFY
