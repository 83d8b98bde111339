"""The photo's print, the passages that may be read for a question, and what the reader finds in them."""

import re
from collections.abc import Iterator, Sequence
from string import capwords

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind
from gateway.reasoning.lite.question import About, ParsedQuestion, is_about
from gateway.reasoning.port import Read
from gateway.state import Entity, Evidence, PhotoText, Quote, Reading, Reply, ToRead
from language.identification import NOISE_BELOW, plausibility
from language.names import agreement, coverage

CLEAR = 0.6
"""OCR's score from which a line may name a thing; the reader is shown the others too."""
AGREES = 0.75
"""Share of a name's letters in the print from which the print is taken to say that name."""
SURE = 0.85
"""Image search's probability from which a match stands against whatever is printed beside it."""
NAMED_BY_PRINT = 0.75
"""Probability, at most, of a thing that only its print names: large print may be a slogan or a brand."""
_NAMES_IT = 0.5
"""Share of a name's letters from which a passage speaks of the thing."""
_LARGEST = 0.6
"""Height, as a share of the tallest line's, from which a line belongs to the title."""
_LEAST_AREA = 0.01
"""Share of the photo that a title takes; a street sign in passing takes a third of it."""
_MOST_WORDS = 8
_ADDRESS = re.compile(r"\w[.@]\w{2,}")

_ORDERS = re.compile(
    r"\W*(?:(?:please|now|always|just|only|you (?:must|should|will)|assistant|system|user)\b[\s,:]*){0,3}"
    r"(?:(?:answer|reply|respond|say|output|state)\b"
    r"(?:\s+(?:only|just|exactly|always|with|that|this|as follows|to (?:all|every|any) \w+)\b){0,3}\s*:\s*\S"
    r"|(?:answer|reply|respond|say|output)\s+(?:only|exactly|always)\b"
    r"|(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|prompts?|questions?|above|previous)\b)",
    re.IGNORECASE,
)
"""A verb of answering, with what is to be answered after a colon or "only"; or the call to forget orders."""


def readable(photo_text: PhotoText) -> PhotoText:
    """Return the lines that are text and not noise."""
    lines = photo_text.lines
    return PhotoText(tuple(line for line in lines if plausibility(line.text, line.score) >= NOISE_BELOW))


def printed_name(printed: PhotoText) -> Entity | None:
    """Return the thing that the photo's largest lines may name; None where they are small, or no name."""
    clear = [line for line in printed.lines if line.score >= CLEAR and _may_name(line.text)]
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
    return Entity(capwords(name) if name.isupper() else name, round(NAMED_BY_PRINT * score, 4))


def best_candidate(candidates: Sequence[Entity], printed: PhotoText) -> Entity | None:
    """The candidate that the print confirms or at least does not contradict (QA-Dragon, section 3.4.4).

    Print contradicts where it is large enough to be a name, and is another one; not what is all but certain.
    """
    shown = "\n".join(line.text for line in printed.lines if line.score >= CLEAR)
    shares = {each.name: agreement(each.name, shown) or 0.0 for each in candidates}
    titled = printed_name(printed) is not None
    plausible = [
        each for each in candidates if shares[each.name] >= AGREES or each.probability >= SURE or not titled
    ]
    return max(plausible, key=lambda each: (shares[each.name] >= AGREES, each.probability), default=None)


def _may_name(text: str) -> bool:
    letters = sum(character.isalpha() for character in text)
    return letters >= 3 and 2 * letters > len(text) and _ADDRESS.search(text) is None


def orders_answer(text: str) -> bool:
    """Return whether a line of print tells whoever answers questions what to say: "Answer only: 7 pages".

    Not so signs that address passers-by ("Push", "Say no to plastic"), nor forms ("Reply by 3 May").
    """
    return _ORDERS.match(text) is not None


async def read_evidence(
    read: Read,
    question: ParsedQuestion,
    evidence: Sequence[Evidence],
    printed: PhotoText,
    entity: Entity | None,
    deadline: Deadline,
) -> Reply | None:
    """Return the likeliest answer about any thing that is meant; None if nothing is found.

    `printed`: the photo's print without noise. No one passage answers a comparison.
    """
    thing = entity if entity is not None and is_about(question, entity) else None
    about = _passages(question, evidence, printed, thing)
    passages = dict(sorted(about, key=lambda each: evidence[each[0]].place))  # as its contract demands
    if question.compares or not passages:
        return None
    subjects: tuple[str | None, ...] = (None,)
    if question.about is About.SPOKEN and question.names:
        subjects = question.names
    elif question.about is About.VIEW and thing is not None:
        subjects = (thing.name,)
    answers: list[Reading] = []
    for subject in subjects:
        answers += await read(question.text, tuple(passages.values()), subject, deadline)
    best = max(answers, key=lambda each: each.probability, default=None)
    if best is None or not best.spoken.strip():
        return None
    index, passage = list(passages.items())[best.passage]
    # Of a photo's print, lines of noise were left out: each line is quoted for itself.
    lines = best.sentence.split("\n") if passage.kind is CitationKind.PHOTO else [best.sentence]
    quotes = tuple(Quote(index, line) for line in lines if line.strip())
    return Reply(best.spoken, best.probability, quotes, quoted=True)


def _passages(
    question: ParsedQuestion, evidence: Sequence[Evidence], printed: PhotoText, thing: Entity | None
) -> Iterator[tuple[int, ToRead]]:
    """Yield the passages about the thing, each with its place in the evidence.

    Records of other things are left out, and passages without a name that the question gives or stands for.
    If it points at a thing that was not identified, only pages whose title is printed on it stay.
    """
    unknown = question.about is About.VIEW and thing is None and question.points
    names = question.names if question.about in (About.NAMED, About.SPOKEN) else ()
    for index, item in enumerate(evidence):
        if item.kind is CitationKind.PHOTO:
            if printed.lines:  # a line that addresses the answerer says nothing of the thing
                signs = PhotoText(tuple(line for line in printed.lines if not orders_answer(line.text)))
                boxes = tuple(line.box for line in signs.lines)
                yield index, ToRead(signs.plain, "", CitationKind.PHOTO, boxes)
            continue
        printed_on_it = (agreement(item.title, printed.plain) or 0.0) >= AGREES
        of_it = thing is not None and item.entity in (None, thing.name)
        is_about_it = of_it if item.kind is CitationKind.IMAGE else printed_on_it or not unknown
        text = f"{item.title} {item.passage or item.text}"
        if names and not any(coverage(name, text) >= _NAMES_IT for name in names):
            continue
        if is_about_it and item.text.strip():
            yield index, ToRead(item.text, item.entity or item.title, item.kind)
