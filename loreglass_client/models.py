"""The gateway's replies, typed and frozen. Fields and values of a newer gateway are accepted."""

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """A reply, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Word(StrEnum):
    """One of some words. A word that is not known here yet is a member without a name of its own."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_, member._value_ = "UNKNOWN", value
        return member


class Reason(Word):
    """Why the answer is what it is."""

    ANSWERED = "answered"
    MODEL_UNSURE = "model_unsure"
    UNSUPPORTED = "unsupported"
    NO_EVIDENCE = "no_evidence"
    TIMED_OUT = "timed_out"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    NOTHING_INDEXED = "nothing_indexed"
    LANGUAGE = "language"
    NEEDS_PHOTO = "needs_photo"
    NOT_HEARD = "not_heard"
    NOT_REMEMBERED = "not_remembered"


class Route(Word):
    """How the question was answered: at once, with a check, or by looking everything up."""

    DIRECT = "direct"
    VERIFY = "verify"
    RAG = "rag"


class Verification(Word):
    """The check of the answer; `none`: the pipeline or the route has no such check."""

    NONE = "none"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"


class CitationKind(Word):
    """The source of a snippet: the photo itself, the index of images or of pages, the open web, or the
    asker's memory.
    """

    PHOTO = "photo"
    IMAGE = "image"
    PAGE = "page"
    WEB = "web"
    MEMORY = "memory"


class LookedAtKind(Word):
    """Why a region of the photo was looked at: it was searched by itself, or text was read there."""

    CROP = "crop"
    TEXT = "text"


class Experiment(BaseModel):
    """For those who measure a platform of their own; refused where its operator has not allowed it.

    `explain`: send an `Explanation` along; `model_calls`: with what the model was asked and what it wrote.
    `thresholds`: cut-offs for this question only, each in 0..1. `without`: modules of the pipeline that it is
    answered without.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    explain: bool = False
    thresholds: dict[str, float] = {}
    without: list[str] = []
    model_calls: bool = False


class Citation(Body):
    """Event `citation`. `snippet` is a verbatim piece of the evidence that the answer was made from.

    `sentence`: of a refusal's closest passage, the sentence or two that come closest to an answer.
    """

    title: str
    url: str
    snippet: str
    score: float
    kind: CitationKind
    last_modified: datetime | None = None
    sentence: str = ""


class Conflict(Body):
    """A source that says otherwise than the answer: `value` in `citation.snippet`."""

    value: str
    citation: Citation


class EvidenceSeen(Body):
    """A piece of what the answer was to be made from. `score`: its relevance, in 0..1."""

    text: str
    title: str
    url: str
    kind: CitationKind
    score: float


class Note(Body):
    """The outcome of a stage, in words."""

    stage: str
    text: str


class SearchResult(Body):
    """The result of a search. `title`: the page's or, for image search, the thing's name."""

    stage: str
    title: str
    url: str
    text: str = ""


class ModelMessagePart(Body):
    """A part of a message to the model: text, or the place where the photo stood (`image`)."""

    type: str
    text: str = ""


class ModelMessage(Body):
    """A message of a chat with the model. `role`: system, user or assistant."""

    role: str
    content: list[ModelMessagePart]


class ModelCall(Body):
    """One call of the vision-language model. `prompt`: its name; `form`: how the reply was asked for."""

    prompt: str
    messages: list[ModelMessage]
    reply: str
    form: str
    temperature: float = 0.0


class Explanation(Body):
    """How an answer came about; only for an `Experiment` that asks for it."""

    draft: str | None = None
    proposed: str | None = None
    signals: dict[str, float] = {}
    evidence: list[EvidenceSeen] = []
    notes: list[Note] = []
    thresholds: dict[str, float] = {}
    found: list[SearchResult] = []
    model_calls: list[ModelCall] = []


class ModelUsage(Body):
    """The vision-language model's calls and tokens for an answer, as its server counts them."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LookedAt(Body):
    """A region of the photo, in 0..1 of its width and height. `text`: what was read there.

    `shows_entity`: the answer's `entity` was found there.
    """

    kind: LookedAtKind
    left: float
    top: float
    right: float
    bottom: float
    text: str = ""
    shows_entity: bool = False


class Answer(Body):
    """The answer, or an honest refusal (`abstained`); a stream's last event.

    `confidence` in 0..1, None if it was not measured; `timings_ms` by stage; `degraded`: what was done
    without. `advice`: of a refusal, what the wearer can do about it. `transcript`: what was understood of the
    sound. `speech`: see `Loreglass.speech`. With `session` in `degraded` the turn was not kept.
    `verification`: whether the answer was checked. `conflicts`: always empty. `closest`: of a refusal, the
    passage that comes closest to an answer; it is not an answer.
    """

    answer: str
    abstained: bool
    reason: Reason
    confidence: float | None
    route: Route
    domain: str | None = None
    entity: str | None = None
    citations: list[Citation] = []
    degraded: list[str] = []
    timings_ms: dict[str, float] = {}
    trace_id: str
    session_id: str
    explanation: Explanation | None = None
    model_usage: ModelUsage = ModelUsage()
    looked_at: list[LookedAt] = []
    advice: str = ""
    transcript: str | None = None
    speech: str | None = None
    verification: Verification = Verification.NONE
    conflicts: list[Conflict] = []
    closest: Citation | None = None


class StageEvent(Body):
    """Event `stage`: one ended (`done`, `skipped`, `failed`, `cancelled`). `left_ms`: until the deadline."""

    stage: str
    state: str
    ms: float
    left_ms: float = 0.0


class TranscriptEvent(Body):
    """Event `transcript`: what was understood of the sound that was sent."""

    text: str


class IdentifiedEvent(Body):
    """Event `identified`: what the thing is, before the answer is known. It holds whatever the answer comes
    to: `sentence` may be spoken at once.
    """

    entity: str
    sentence: str


class TokenEvent(Body):
    """Event `token`: a piece of the answer's text."""

    text: str


class StageTrace(Body):
    """One stage of a trace."""

    stage: str
    state: str
    start_ms: float
    ms: float
    detail: str = ""


class PlanTrace(Body):
    """The plan of a request at one moment. `cuts`: what was dropped so that it fits the time."""

    at_ms: float
    after: str
    remaining_ms: float
    expected_ms: float
    load: int
    cuts: list[str] = []
    limits: dict[str, int] = {}


class Problem(Body):
    """An error reply (RFC 9457). It is raised as a `LoreglassError`."""

    type: str
    title: str
    status: int
    detail: str
    trace_id: str | None = None


class Trace(Body):
    """The stages of one request. `refused_by`: the check that refused the answer."""

    trace_id: str
    pipeline: str
    route: Route | None = None
    reason: Reason | None = None
    deadline_ms: int
    total_ms: float
    stages: list[StageTrace]
    problem: Problem | None = None
    refused_by: str | None = None
    plans: list[PlanTrace] = []


class Health(Body):
    """`checks`: what was tried just now, and how it went."""

    status: str
    checks: dict[str, str] = {}


Event = StageEvent | TranscriptEvent | IdentifiedEvent | Citation | TokenEvent | Answer
"""An event of a stream; the last one is an `Answer`."""

EVENTS: dict[str, type[Event]] = {
    "stage": StageEvent,
    "transcript": TranscriptEvent,
    "identified": IdentifiedEvent,
    "citation": Citation,
    "token": TokenEvent,
    "final": Answer,
}
