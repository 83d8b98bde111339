"""What the search router looks at: named features of a draft (QA-Dragon, section 3.2)."""

from dataclasses import dataclass, fields

from gateway.state import Draft
from language.hedges import hedged
from language.names import Name, names

FALLING = frozenset({"speculates"})
"""The features that can only speak against a draft; every other one can only speak for it."""


@dataclass(frozen=True, slots=True)
class RouterFeatures:
    """Each in 0..1, 1 meaning that it applies. The section's three groups:

    Answerability: `self_contained` (the reasoner says that photo and question suffice), `confidence`.
    Answer type: `quoted` (what it says stands in the photo's print), `number`, `named` (it holds a name).
    Uncertainty: `speculates` (answer or reasoning hedges; what it quotes is not its own doubt).
    """

    self_contained: float
    confidence: float
    quoted: float
    number: float
    named: float
    speculates: float

    def by_name(self) -> dict[str, float]:
        """In the order of the fields."""
        return {name: getattr(self, name) for name in FEATURES}


FEATURES = tuple(field.name for field in fields(RouterFeatures))


def photo_suffices(draft: Draft, features: RouterFeatures) -> bool:
    """Return Table 1's condition for a direct answer: print or a named thing bears the draft out.

    A name in the answer that is not in print was recalled, not seen.
    """
    borne_out = bool(features.quoted or (draft.entity and not features.named))
    return bool(features.self_contained) and borne_out and not features.speculates


def router_features(draft: Draft) -> RouterFeatures:
    """Return the features of a draft with an answer and a measured confidence."""
    answer = draft.answer or ""
    return RouterFeatures(
        self_contained=float(draft.self_contained),
        confidence=draft.confidence or 0.0,
        quoted=float(bool(draft.quotes)),
        number=float(any(character.isdigit() for character in answer)),
        named=float(any(map(_is_proper, names(answer)))),
        speculates=float(hedged(f"{_own_words(draft)}\n{draft.reasoning}")),
    )


def _is_proper(name: Name) -> bool:
    """Not a single word that opens the answer: "Green." is capitalised anyway."""
    return name.start > 0 or len(name.text.split()) > 1


def _own_words(draft: Draft) -> str:
    """The answer without what it quotes: a sign that says "maybe today" is not a reasoner in doubt."""
    answer = draft.answer or ""
    for quote in draft.quotes:
        answer = answer.replace(quote, " ") if quote.strip() else answer
    return answer
