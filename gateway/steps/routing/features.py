"""What the search router looks at: named features of a question and its draft (QA-Dragon, section 3.2)."""

import re
from dataclasses import dataclass, fields

from contracts.domain_router import Domain
from gateway.state import Draft, Query, Tool
from gateway.steps.routing.cues import Cue, fold

CONFIDENT = 0.6
"""Below it a draft counts as unsure; how unsure rises linearly to 1 at no confidence at all."""

_IN_THE_PHOTO = frozenset({Domain.MATH_AND_SCIENCE, Domain.TEXT_UNDERSTANDING})
_LONGEST_NUMBER = 40  # characters
_NUMBER = re.compile(r"^\W{0,2}(?:about |around )?[\d.,:/ ]*\d[\d.,:/]*(?:\s?[a-z%°€£$]{1,12}[23]?){0,2}\W?$")
_YES_NO = re.compile(r"^(?:yes|no)\b")
_NAME = re.compile(r"(?<![.!?\w] )(?<!^)\b[A-Z][\w'’-]+")


@dataclass(frozen=True, slots=True)
class RouterFeatures:
    """Each in 0..1, 1 meaning that it applies.

    Answerability flags: `self_contained` (the model says that photo and question suffice), `says_unknown`
    (answer or reasoning holds a phrase of not knowing), `names_gap` (the reasoning says what is missing).
    Answer type: `quoted` (verbatim from the photo), `read_off` (the reasoning says so), `number`,
    `named_thing`, `yes_no`.
    Question type: `asks_reading`, `asks_translation`, `asks_computation`, `asks_visible`.
    Open-world cues of the question: `asks_current` (prices, hours, news), `asks_date`, `asks_fact`;
    `recalled`: one of them, and the answer does not stand in the photo.
    Uncertainty patterns: `speculates`, `falls_back` (to what is usual), `contradicts` (itself).
    `confidence` of the draft, `unsure` (how far below `CONFIDENT`); `wants_image_search` and
    `wants_text_search`; `identity_known` (the thing has a name); `photo_domain` (the answer of such
    questions stands in the photo, as a rule).
    """

    self_contained: float
    says_unknown: float
    names_gap: float
    quoted: float
    read_off: float
    number: float
    named_thing: float
    yes_no: float
    asks_reading: float
    asks_translation: float
    asks_computation: float
    asks_visible: float
    asks_current: float
    asks_date: float
    asks_fact: float
    recalled: float
    speculates: float
    falls_back: float
    contradicts: float
    confidence: float
    unsure: float
    wants_image_search: float
    wants_text_search: float
    identity_known: float
    photo_domain: float

    def vector(self) -> tuple[float, ...]:
        """In the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))


def router_features(query: Query, draft: Draft, domain: Domain | None) -> RouterFeatures:
    """The features of an answered draft; the domain helps where it is known already."""
    question, answer = fold(query.question), fold(draft.answer or "")
    reasoning = fold(draft.reasoning)
    said = f"{_own_words(draft)} \n {reasoning}"
    open_world = [cue.in_text(question) for cue in (Cue.CURRENT, Cue.DATED, Cue.OPEN_WORLD)]
    current, dated, fact = open_world
    computes, translates = Cue.COMPUTATION.in_text(question), Cue.TRANSLATION.in_text(question)
    quoted = bool(draft.quotes)
    return RouterFeatures(
        self_contained=float(draft.self_contained),
        says_unknown=float(Cue.UNKNOWN.in_text(said)),
        names_gap=float(Cue.GAP.in_text(said)),
        quoted=float(quoted),
        read_off=float(Cue.READ_OFF.in_text(reasoning)),
        number=float(len(answer) <= _LONGEST_NUMBER and _NUMBER.match(answer) is not None),
        named_thing=float(_NAME.search(draft.answer or "") is not None),
        yes_no=float(_YES_NO.match(answer) is not None),
        asks_reading=float(Cue.READING.in_text(question)),
        asks_translation=float(translates),
        asks_computation=float(computes),
        asks_visible=float(Cue.VISIBLE.in_text(question)),
        asks_current=float(current),
        asks_date=float(dated),
        asks_fact=float(fact),
        recalled=float(any(open_world) and not (quoted or computes or translates)),
        speculates=float(Cue.SPECULATION.in_text(said)),
        falls_back=float(Cue.FALLBACK.in_text(said)),
        contradicts=float(Cue.CONTRADICTION.in_text(said)),
        confidence=draft.confidence,
        unsure=max(0.0, 1.0 - draft.confidence / CONFIDENT),
        wants_image_search=float(Tool.IMAGE_SEARCH in draft.tools),
        wants_text_search=float(Tool.TEXT_SEARCH in draft.tools),
        identity_known=float(draft.entity is not None),
        photo_domain=float(domain in _IN_THE_PHOTO),
    )


def _own_words(draft: Draft) -> str:
    """The answer without what it quotes: a sign that says "wait here" is not a model in doubt."""
    answer = fold(draft.answer or "")
    for quote in draft.quotes:
        answer = answer.replace(fold(quote), " ") if quote.strip() else answer
    return answer
