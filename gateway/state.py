"""The frozen values that stages hand to each other; no request shares them with another."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from contracts.answer import CitationKind, Reason, Route, Verification
from contracts.domain_router import Domain
from contracts.errors import ErrorKind


@dataclass(frozen=True, slots=True)
class Photo:
    """A photo as the gateway admits it: upright JPEG without metadata. Sizes in pixels."""

    jpeg: bytes
    width: int
    height: int
    digest: str


Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in 0..1 of the photo."""


@dataclass(frozen=True, slots=True)
class Crop:
    """A rectified piece of a photo as JPEG, and where it was."""

    jpeg: bytes
    place: Box


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line read from a photo: `score` in 0..1, `box` in the photo turned so that its text is level.

    `place`: the same in the photo as it was sent.
    """

    text: str
    score: float
    box: Box
    place: Box = (0.0, 0.0, 1.0, 1.0)

    def is_right_of(self, other: "TextLine") -> bool:
        """Return whether it stands behind the other, at its height."""
        middle = (self.box[1] + self.box[3]) / 2
        return self.box[0] >= other.box[2] and other.box[1] <= middle < other.box[3]


@dataclass(frozen=True, slots=True)
class PhotoText:
    """The lines that OCR read, in reading order; `left_out`: lines that it found and did not read."""

    lines: tuple[TextLine, ...] = ()
    left_out: int = 0

    @property
    def plain(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def rows(self) -> str:
        """Return the lines as in `plain`, with neighbours in one row joined: a dish and its price."""
        text = [self.lines[0].text] if self.lines else []
        for before, line in pairwise(self.lines):
            text += (" " if line.is_right_of(before) else "\n", line.text)
        return "".join(text)


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing with a name. `probability` that it is what the photo shows (1.0: the asker named it).

    `title`: of its record in the image index, empty for a thing that is only named. `cosine`: of the two
    photos' vectors, where image search compared vectors. `place`: of the crop that it was found in.
    """

    name: str
    probability: float
    attributes: tuple[tuple[str, str], ...] = ()
    title: str = ""
    url: str = ""
    cosine: float | None = None
    place: Box | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of the conversation, as the client got it."""

    question: str
    answer: str
    abstained: bool
    entity: Entity | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something that was seen: a thing, print, or both, and the place if the client gave one.

    `at`: aware. `thumbnail`: a small JPEG; empty if there is none.
    """

    id: str
    at: datetime
    name: str
    text: str
    place: str
    thumbnail: bytes


@dataclass(frozen=True, slots=True)
class Recall:
    """The asker's own memory. `now`: their local time; `sightings`: loads them, oldest first."""

    now: datetime
    sightings: Callable[[], Awaitable[tuple[Sighting, ...]]]


@dataclass(frozen=True, slots=True)
class Query:
    """One question with everything that came with it. `photo_is_new` is false when the session lent it.

    `instructions`: how the caller wants answers worded; only a model heeds them. `recall`: None unless the
    asker consents to a memory.
    """

    question: str
    photo: Photo | None
    photo_is_new: bool = True
    history: tuple[Turn, ...] = ()
    instructions: str = ""
    recall: Recall | None = None

    @property
    def remembered(self) -> Entity | None:
        """The thing the conversation was last about."""
        return next((turn.entity for turn in reversed(self.history) if turn.entity), None)


class Priority(StrEnum):
    """The order of admission: a person waits, a program asks, or the work is not urgent."""

    INTERACTIVE = "interactive"
    STANDARD = "standard"
    BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class GenerationBudget:
    """The most that a model reads and writes for one answer, in characters of evidence and in tokens."""

    answer_tokens: int = 288
    evidence_chars: int = 2_000


class Tool(StrEnum):
    """The tools that QA-Dragon's tool router chooses from (section 3.3)."""

    IMAGE_SEARCH = "image_search"
    TEXT_SEARCH = "text_search"


@dataclass(frozen=True, slots=True)
class DomainGuess:
    """The domain router's likeliest domain and its probability; None if it was not asked."""

    domain: Domain | None = None
    probability: float = 0.0


ENTITY_SLOT = "{entity}"
"""Stands in a sub-query for the thing in view, whose name is not known yet."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The first look at a photo (QA-Dragon's pre-answer, section 3.1, and tool router, 3.3).

    `object_label`: the kind of thing asked about ("book"). `entity`: its name, if known already.
    `answer`: a provisional answer, if the photo and the question suffice. `confidence`: None if the model's
    server reports no token probabilities. `self_contained`: the answer can be read or computed from the photo
    and the question alone. `sub_queries` may hold `ENTITY_SLOT`, filled when the thing is identified.
    `token_probabilities`: of the answer's tokens, if the server reports them.
    """

    object_label: str | None
    entity: str | None
    reasoning: str
    answer: str | None
    confidence: float | None
    self_contained: bool
    tools: frozenset[Tool]
    sub_queries: tuple[str, ...]
    quotes: tuple[str, ...] = ()
    token_probabilities: tuple[float, ...] | None = None

    @classmethod
    def of_question(cls, *sub_queries: str) -> "Draft":
        """Return the draft of a question without a first look: nothing is known, pages are searched."""
        return cls(None, None, "", None, None, False, frozenset({Tool.TEXT_SEARCH}), sub_queries)


def name_sentence(name: str) -> str:
    """Return the evidence of an entity whose record has only a name."""
    return f"This is {name}."


@dataclass(frozen=True, slots=True)
class Evidence:
    """One chunk that may support an answer. `score`: probability that it answers the question.

    `place`: of a page's passage among the results of its search; 0 is the best.

    `section`: where it begins in its page, such as "page 2 › Opening hours"; `sections`: lines of its text
    that begin other ones. `passage`: the whole text that `text` is a chunk of, where there is more of it.
    """

    text: str
    title: str
    url: str
    kind: CitationKind
    score: float = 0.0
    entity: str | None = None
    last_modified: datetime | None = None
    section: str = ""
    sections: tuple[str, ...] = ()
    place: int = 0
    passage: str = ""

    @property
    def is_page(self) -> bool:
        return self.kind in (CitationKind.PAGE, CitationKind.WEB)

    @property
    def is_name(self) -> bool:
        """Return whether it tells no more than the name of the thing in view."""
        return self.entity is not None and self.text == name_sentence(self.entity)

    def section_at(self, place: int) -> str:
        """Return the section that the character at `place` of the text is in; empty if it is not known."""
        before = f"\n{self.text[: max(place, 0)]}"
        places = {_last_line(section, before): section for section in self.sections}
        last = max(places, default=-1)
        return places[last] if last >= 0 else self.section

    @property
    def in_context(self) -> str:
        """The text under its page's title: a passage seldom repeats what it is about."""
        return f"{self.title}\n{self.text}" if self.is_page and self.title else self.text


def photo_evidence(text: PhotoText) -> tuple[Evidence, ...]:
    """Return the print of the photo as evidence; empty if there is none."""
    return (Evidence(text.rows, "The photo", "", CitationKind.PHOTO),) if text.lines else ()


def _last_line(line: str, text: str) -> int:
    """Return where the line stands last in the text; -1 if it does not. It may be cut after a full stop."""
    words = r"\s+".join(map(re.escape, line.split()))
    return max((match.start() for match in re.finditer(rf"\n{words}(?=\n)", text)), default=-1)


@dataclass(frozen=True, slots=True)
class ToRead:
    """A passage for the reader. `title`: of its page, or the thing that an attribute (IMAGE) belongs to.

    `boxes`: of a photo's text, (left, top, right, bottom) a line, in 0..1 of the photo; may be left out.
    """

    text: str
    title: str = ""
    kind: CitationKind = CitationKind.PAGE
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer of the reader: `sentence` of the passage with the index `passage`, and what to say.

    `probability`, calibrated: the question is answered there, and the answer is right.
    """

    passage: int
    sentence: str
    spoken: str
    probability: float


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim piece of `evidence[index].text` that the answer rests on."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A reasoner's reply: `answer` None means that it does not know.

    `confidence` in 0..1; None if the model's server reports no token probabilities.
    `token_probabilities`: of the tokens of the answer alone. `quoted`: the answer is the name of the thing,
    the photo's print, or words that the reader cut from the evidence. It is not verified.
    """

    answer: str | None
    confidence: float | None
    quotes: tuple[Quote, ...] = ()
    reason: Reason = Reason.ANSWERED
    token_probabilities: tuple[float, ...] | None = None
    quoted: bool = False

    @property
    def says_something(self) -> bool:
        """Return whether there is an answer at all; a blank one is none."""
        return bool(self.answer and self.answer.strip())


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model judge's reply: `probability` that the answer is right, None for no opinion.

    `token_probabilities`: of all that the judge wrote, if its server reports them.
    """

    probability: float | None
    token_probabilities: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of verification: `refusal` names the check that refused, None when the answer stands.

    `verification`: whether the verifier checked it.
    """

    probability: float
    refusal: str | None = None
    verification: Verification = Verification.VERIFIED


_OF_FAILURE = {ErrorKind.OVERLOADED: Reason.OVERLOADED, ErrorKind.DEADLINE_EXCEEDED: Reason.TIMED_OUT}


def reason_of(failure: ErrorKind) -> Reason:
    """Return the reason of a refusal after something that it needs failed."""
    return _OF_FAILURE.get(failure, Reason.UNAVAILABLE)


class Unverified(StrEnum):
    """The treatment of an answer that could not be checked: refuse it, or say it with a caution."""

    REFUSE = "refuse"
    SAY = "say"


@dataclass(frozen=True, slots=True)
class Context:
    """Everything known when the answer is written."""

    route: Route
    entity: Entity | None = None
    photo_text: PhotoText = field(default_factory=PhotoText)
    evidence: tuple[Evidence, ...] = ()
