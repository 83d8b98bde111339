"""The text in a photo: lines that are noise, the name on a sign, and the candidate that agrees with it."""

import re
from collections.abc import Sequence
from string import capwords

from gateway.state import Entity, PhotoText
from language.identification import NOISE_BELOW, plausibility
from language.names import agreement

_CLEAR = 0.6
"""OCR's score from which a line may name a thing; the reader is shown the others too."""
AGREES = 0.75
"""Share of a name's letters in the print from which the print is taken to say that name."""
_SURE = 0.85
"""Image search's probability from which a match stands against whatever is printed beside it."""
_NAMED_BY_PRINT = 0.75
"""Probability, at most, of a thing that only its print names: large print may be a slogan or a brand."""
_LARGEST = 0.6
"""Height, as a share of the tallest line's, from which a line belongs to the title."""
_LEAST_AREA = 0.01
"""Share of the photo that a title takes; a street sign in passing takes a third of it."""
_MOST_WORDS = 8
_ADDRESS = re.compile(r"\w[.@]\w{2,}")


def readable(photo_text: PhotoText) -> PhotoText:
    """Return the lines that are text and not noise."""
    lines = photo_text.lines
    return PhotoText(tuple(line for line in lines if plausibility(line.text, line.score) >= NOISE_BELOW))


def printed_name(printed: PhotoText) -> Entity | None:
    """Return the thing that the photo's largest lines may name; None where they are small, or no name."""
    clear = [line for line in printed.lines if line.score >= _CLEAR and _may_name(line.text)]
    heights = [line.box[3] - line.box[1] for line in clear]
    least = _LARGEST * max(heights, default=0.0)
    title = [line for line, height in zip(clear, heights, strict=True) if height >= least]
    if sum(len(line.text.split()) for line in title) > _MOST_WORDS:
        title = title[:1]  # print of one size: its first line is its title
    name = " ".join(line.text.strip(" .,:;|") for line in title)
    boxes = (line.box for line in title)
    area = sum((bottom - top) * (right - left) for left, top, right, bottom in boxes)
    if area < _LEAST_AREA or not 0 < len(name.split()) <= _MOST_WORDS:
        return None
    score = sum(line.score for line in title) / len(title)
    return Entity(capwords(name) if name.isupper() else name, round(_NAMED_BY_PRINT * score, 4))


def best_candidate(candidates: Sequence[Entity], printed: PhotoText) -> Entity | None:
    """The candidate that the print confirms or at least does not contradict (QA-Dragon, section 3.4.4).

    Print contradicts where it is large enough to be a name, and is another one; not what is all but certain.
    """
    shown = "\n".join(line.text for line in printed.lines if line.score >= _CLEAR)
    shares = {each.name: agreement(each.name, shown) or 0.0 for each in candidates}
    titled = printed_name(printed) is not None
    plausible = [
        each for each in candidates if shares[each.name] >= AGREES or each.probability >= _SURE or not titled
    ]
    return max(plausible, key=lambda each: (shares[each.name] >= AGREES, each.probability), default=None)


def _may_name(text: str) -> bool:
    letters = sum(character.isalpha() for character in text)
    return letters >= 3 and 2 * letters > len(text) and _ADDRESS.search(text) is None
