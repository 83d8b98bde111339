"""Entity selection (QA-Dragon, section 3.4.4): image search proposes, the photo's own text disposes."""

import re
from collections.abc import Sequence

from gateway.reasoning.extractive.hours import parse_hours
from gateway.reasoning.extractive.labels import is_product, read_brand, read_model
from gateway.reasoning.extractive.lexical import alike, fold, name_words, squeeze, words
from gateway.reasoning.extractive.naming import looks_like_person
from gateway.reasoning.extractive.photo import height_of, priced_things, prominent, proper_case, tallest_block
from gateway.reasoning.extractive.signs import life_years
from gateway.reasoning.extractive.values import Kind, find_values
from gateway.reasoning.extractive.wordlists import FLAVOURS, GOODS, PLANTS
from gateway.state import Entity, PhotoText, TextLine

_KINDS = frozenset(
    [
        "plaque",
        "menu",
        "poster",
        "painting",
        "book",
        "label",
        "sign",
        "shop",
        "board",
        "game",
        "device",
        "edition",
        "pack",
        "seeds",
        "packet",
    ]
)
SPEAKING = 8
"""Letters of clear text from which a photo's text may contradict a candidate."""
SURE = 0.85
"""Image-search probability from which a candidate stands even where the text is too poor to confirm it."""


def choose_entity(candidates: Sequence[Entity], photo_text: PhotoText) -> Entity | None:
    """The candidate that image search believes in and that the photo's text does not contradict."""
    judged = [(candidate, agreement(candidate, photo_text)) for candidate in candidates]
    kept = [(c, a) for c, a in judged if a is None or a >= 0.75]
    confirmed = [(c, a) for c, a in kept if a is not None]
    if confirmed:
        return max(confirmed, key=lambda pair: (pair[1] or 0.0) * (0.5 + pair[0].probability))[0]
    silent = [c for c, _ in kept]
    best = max(silent, key=lambda c: c.probability, default=None)
    return best if best is not None and best.probability >= 0.5 else None


def agreement(candidate: Entity, photo_text: PhotoText) -> float | None:
    """Share of the candidate's name that stands in the photo; None when the photo hardly has text.

    A name that is not meant to be written on its thing (a painting's) is not contradicted by stray words.
    """
    shown = clear_text(photo_text)
    if len(squeeze(shown)) < SPEAKING:
        return None
    share = name_share(candidate.name, shown)
    if share >= 0.75:
        return share
    if _wears_no_name(candidate) and len(squeeze(shown)) < 40:
        return None
    others = [name_share(value, shown) for key, value in candidate.attributes if key in _SHOWN and value]
    if candidate.probability >= SURE and share >= 0.5 and not _contradicts(candidate.name, shown):
        return 0.75
    return max(share, 0.0) if not others or max(others) < 1 else share


_SHOWN = frozenset({"author", "brand", "publisher", "series", "title"})


def _wears_no_name(candidate: Entity) -> bool:
    """Paintings, sculptures, plants, animals and buildings usually do not carry their name."""
    about = " ".join(
        value
        for key, value in candidate.attributes
        if key in {"type", "category", "kind", "medium", "artist"}
    )
    return (
        re.search(
            (
                r"\b(?:painting|oil|acrylic|watercolou?r|gouache|tempera|sculpture|photograph|plant|"
                r"flower|tree|animal|building|landmark|canvas)\b"
            ),
            fold(about),
        )
        is not None
    )


def clear_text(photo_text: PhotoText) -> str:
    """The lines that OCR is sure of."""
    return "\n".join(line.text for line in photo_text.lines if line.score >= 0.6)


def name_share(name: str, shown: str) -> float:
    """Share of a name's distinguishing letters in the text; a missing number is a contradiction."""
    wanted = [w for w in name_words(name.split(",")[0]) if w not in _KINDS] or list(name_words(name))
    present, joined = words(shown), squeeze(shown)
    total = sum(len(w) for w in wanted)
    if not total:
        return 0.0
    hit = sum(len(w) for w in wanted if _in(w, present, joined))
    if any(any(c.isdigit() for c in w) and not _in(w, present, joined) for w in wanted):
        return min(0.5, hit / total)
    return hit / total


def _in(word: str, present: Sequence[str], joined: str) -> bool:
    if word in present or (len(word) >= 3 and word in joined):
        return True
    return any(alike(word, other) for other in present)


def _contradicts(name: str, shown: str) -> bool:
    """Whether a number in the name is missing although the photo shows numbers."""
    digits = [w for w in name_words(name) if any(c.isdigit() for c in w)]
    return bool(digits) and any(d not in squeeze(shown) for d in digits)


def entity_from_text(photo_text: PhotoText) -> Entity | None:
    """A thing named by the photo's own text, so that pages about it can be found."""
    lines = _naming_lines(photo_text)
    if not lines:
        return None
    name = " ".join(proper_case(line.text.strip(" .,:;|")) for line in lines)
    score = sum(line.score for line in lines) / len(lines)
    return Entity(" ".join(name.split()[:10]), round(min(0.75, 0.8 * score), 3))


def _naming_lines(photo_text: PhotoText) -> list[TextLine]:
    """The lines that make up the name: a title, a person on a plaque, brand and model, or a label."""
    block = list(tallest_block(photo_text))
    if not block:
        return []
    ranked = prominent(photo_text)
    if life_years(photo_text) is not None:
        people = [n for n in ranked if looks_like_person(proper_case(n.text))]
        return people[:1] or block
    if len(priced_things(photo_text)) >= 3 or parse_hours(photo_text.plain) or _is_event(photo_text):
        return block
    brand, model = read_brand(photo_text), read_model(photo_text)
    if model is not None and brand is not None:
        return [*brand.lines, *model.lines]
    labelled = [
        n
        for n in ranked
        if set(words(n.text)) & (FLAVOURS | GOODS | PLANTS) and not any(c.isdigit() for c in n.text)
    ]
    if labelled and is_product(photo_text):
        tall = height_of(ranked[0])
        big = [n for n in ranked if height_of(n) >= 0.4 * tall and not any(c.isdigit() for c in n.text)]
        return sorted(big[:4], key=lambda n: n.box[1])
    return block


def _is_event(photo_text: PhotoText) -> bool:
    return any(v.day for line in photo_text.lines for v in find_values(line.text, Kind.DATE))
