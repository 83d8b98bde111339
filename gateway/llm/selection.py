"""Which thing the question is about, without asking the model again: its first look named it, image search
proposed candidates, and the photo's own print has the last word (QA-Dragon, 3.4.4, as a rule).
"""

from collections.abc import Sequence
from dataclasses import replace

from gateway.state import Draft, Entity, PhotoText, Query
from language.names import agreement, coverage, mentions, same_name
from language.words import content_stems, squeeze

NAMED_BY_MODEL = 0.7
"""Probability of a name that only the model gave: nothing contradicts it, no search confirms it."""
UNCONFIRMED = 0.5
"""Image-search probability from which a candidate stands though neither print nor model names it."""
OVERRULES_MODEL = 0.85
"""Image-search probability from which a candidate stands though the model named something else."""
CLEAR = 0.6
"""OCR's score from which a line of print is trusted to contradict."""
_AGREES = 0.75
_FEW_LETTERS = 40
_KIND_BONUS = 0.05
_UNLABELLED = content_stems(
    "painting drawing sculpture photograph plant flower tree animal building landmark"
)


def select_entity(
    query: Query, draft: Draft, candidates: Sequence[Entity], photo_text: PhotoText
) -> Entity | None:
    """The candidate that model and print agree on; else the model's own name; else what is remembered."""
    if draft.entity is not None and mentions(query.question, draft.entity):
        return _thing_of_question(draft.entity, query, candidates)
    plausible = [
        (entity, share) for entity in candidates if (share := _print_says(entity, photo_text)) is not None
    ]
    named = [
        entity
        for entity, _ in plausible
        if draft.entity is not None and _same_thing(entity.name, draft.entity)
    ]
    if named:
        return max(named, key=lambda entity: entity.probability)
    remembered = query.remembered
    if draft.entity is not None:
        if remembered is not None and _same_thing(remembered.name, draft.entity):
            return remembered
        return _proven(plausible) or Entity(draft.entity, NAMED_BY_MODEL)
    best = max(plausible, key=lambda pair: _standing(pair, draft), default=None)
    if best is not None and (best[1] >= _AGREES or best[0].probability >= UNCONFIRMED):
        return best[0]
    return remembered if not query.photo_is_new or query.photo is None else None


def _thing_of_question(name: str, query: Query, candidates: Sequence[Entity]) -> Entity:
    """The thing that the asker named: certain, with what a candidate or the conversation knows of it."""
    things = [*candidates, *([query.remembered] if query.remembered else [])]
    same = next((entity for entity in things if _same_thing(entity.name, name)), None)
    return replace(same, probability=1.0) if same is not None else Entity(name, 1.0)


def _print_says(entity: Entity, photo_text: PhotoText) -> float | None:
    """Share of the name that is printed in the photo, 0 if the photo hardly has print; None: contradicted."""
    clear = "\n".join(line.text for line in photo_text.lines if line.score >= CLEAR)
    share = agreement(entity.name, clear)
    if share is None or (share < _AGREES and len(squeeze(clear)) < _FEW_LETTERS and _is_unlabelled(entity)):
        return 0.0
    if share > 0.5 and entity.probability >= OVERRULES_MODEL:
        return max(share, _AGREES)
    return share if share >= _AGREES else None


def _is_unlabelled(entity: Entity) -> bool:
    """Return whether things of its kind seldom carry their names: stray words do not contradict it."""
    return any(_UNLABELLED & content_stems(value) for _, value in entity.attributes)


def _same_thing(name: str, other: str) -> bool:
    """One name holds the other: "Fiat 500" and "Fiat 500 (2007)", but not "Fiat" and "Fiat 500"."""
    if same_name(name, other):
        return True
    shorter, longer = sorted((name, other), key=lambda each: len(content_stems(each)))
    return len(content_stems(shorter)) >= 2 and coverage(shorter, longer) >= 0.999


def _proven(plausible: Sequence[tuple[Entity, float]]) -> Entity | None:
    """A candidate that stands against the model's word: printed in the photo, or all but certain."""
    proven = [(e, share) for e, share in plausible if share >= _AGREES or e.probability >= OVERRULES_MODEL]
    best = max(proven, key=lambda pair: (pair[1], pair[0].probability), default=None)
    return best[0] if best is not None else None


def _standing(pair: tuple[Entity, float], draft: Draft) -> tuple[float, float]:
    """Print first, then image search; among near equals the one that is of the kind asked about."""
    entity, share = pair
    described = " ".join([entity.name, *(value for _, value in entity.attributes)])
    of_kind = bool(content_stems(draft.object_label or "") & content_stems(described))
    return share, entity.probability + (_KIND_BONUS if of_kind else 0.0)
