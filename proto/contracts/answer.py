"""The public API: `POST /answer`, sessions, traces."""

from datetime import datetime
from enum import StrEnum

from pydantic import Base64Bytes, Field, StrictBool, StrictFloat, StrictStr

from contracts.domain_router import Domain
from contracts.errors import Problem
from contracts.message import Message, Request

DEFAULT_PIPELINE = "loreglass"
"""Who answers a caller who names none."""


class Reason(StrEnum):
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


class Route(StrEnum):
    """The three branches of QA-Dragon's search router (section 3.2, Table 1)."""

    DIRECT = "direct"
    VERIFY = "verify"
    RAG = "rag"


class Verification(StrEnum):
    """Whether the answer was checked against its sources: the pipeline or route has no such check (`none`),
    it was (`verified`), or what checks could not be had (`unverified`).
    """

    NONE = "none"
    VERIFIED = "verified"
    UNVERIFIED = "unverified"


class CitationKind(StrEnum):
    """Where a snippet comes from: the photo itself, the index of images or of pages, or the open web."""

    PHOTO = "photo"
    IMAGE = "image"
    PAGE = "page"
    WEB = "web"


class ImageInput(Request):
    """Exactly one of the two; URLs are refused unless the operator has allowed their host."""

    base64: Base64Bytes | None = None
    url: str | None = None


class AudioInput(Request):
    """What the wearer said, as the bytes of a sound file."""

    base64: Base64Bytes


class Experiment(Request):
    """For those who measure a platform of their own; refused where its operator has not allowed it.

    `explain`: send an `Explanation` along; `model_calls`: with what the model was asked and what it wrote.
    `thresholds`: cut-offs for this question only, by the names of the gateway's thresholds file, each in
    0..1. `without`: modules of the pipeline that this question is answered without, by name; a name that the
    pipeline does not have is refused with those that it has.
    """

    explain: StrictBool = False
    thresholds: dict[str, StrictFloat] = Field(default={}, max_length=32)
    without: list[StrictStr] = Field(default=[], max_length=32, fail_fast=True)
    model_calls: StrictBool = False


class AnswerRequest(Request):
    """The JSON form; the multipart form has the same fields with `image` and `audio` as file parts and
    `experiment` as JSON in a field. One of `question` and `audio` is given.
    """

    question: str = ""
    image: ImageInput | None = None
    session_id: str | None = None
    deadline_ms: int | None = None
    pipeline: str | None = None
    experiment: Experiment | None = None
    audio: AudioInput | None = None


class Citation(Message):
    """`snippet` is a verbatim piece of the evidence that the answer was made from.

    `last_modified`: of the page that it is from, if that is known.
    """

    title: str
    url: str
    snippet: str
    score: float
    kind: CitationKind
    last_modified: datetime | None = None


class Conflict(Message):
    """A source that says otherwise than the answer: `value` in `citation.snippet`."""

    value: str
    citation: Citation


class EvidenceSeen(Message):
    """A piece of what the answer was to be made from. `score`: its relevance, in 0..1."""

    text: str
    title: str
    url: str
    kind: CitationKind
    score: float


class Note(Message):
    """What a stage came to, in words: queries, candidates, chosen tools, …"""

    stage: str
    text: str


class SearchResult(Message):
    """What a search brought. `title`: the page's or, for image search, the thing's name; `text`: a page's."""

    stage: str
    title: str
    url: str
    text: str = ""


class ModelMessagePart(Message):
    """A part of a message to the model: text, or the place where the photo stood."""

    type: str
    text: str = ""


class ModelMessage(Message):
    """A message of a chat with the model. `role`: system, user or assistant."""

    role: str
    content: list[ModelMessagePart]


class ModelCall(Message):
    """One call of the vision-language model, word for word but for the photo.

    `prompt`: its name. `form`: how the reply was asked for, as the gateway's metrics name it; `text` where no
    form was. `reply`: all that the model wrote, up to where the gateway stopped reading.
    """

    prompt: str
    messages: list[ModelMessage]
    reply: str
    form: str
    temperature: float = 0.0


class Explanation(Message):
    """What a question's thresholds were held against. Only with `Experiment.explain`; never stored.

    `draft`: the provisional answer. `proposed`: the answer in hand at the end, given or withheld.
    `signals`, where they were measured: `draft_confidence` and other `draft_…` (the draft's features),
    `p_direct`, `p_verify` (P(the draft is right), where the photo suffices, and anyway: search router),
    `image_top`, `entity_probability` (image search), `evidence_top` (best relevance), `answer_confidence`,
    `token_min`, `token_mean`, `support` (verifier), `evidence_support` (the part of it that comes from the
    evidence), `judged` (model judge); 0 or 1: `citable` (sources stand, or need not), `withheld` (it stood,
    but could not be checked, and the operator wants such answers refused). How the last of them decide stands
    in `gateway.steps.verification` and `conclusion`. `thresholds`: those in force; none where the pipeline
    has none. `found`: what each search brought, in the order in which it came. `model_calls`: those whose
    reply came, in the order in which they ended; only with `Experiment.model_calls`.
    """

    draft: str | None = None
    proposed: str | None = None
    signals: dict[str, float] = {}
    evidence: list[EvidenceSeen] = []
    notes: list[Note] = []
    thresholds: dict[str, float] = {}
    found: list[SearchResult] = []
    model_calls: list[ModelCall] = []


class ModelUsage(Message):
    """What the vision-language model did for an answer, as its server counts tokens."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LookedAtKind(StrEnum):
    """Why a region of the photo was looked at: it was searched by itself, or text was read there."""

    CROP = "crop"
    TEXT = "text"


class LookedAt(Message):
    """A region of the photo, in 0..1 of its width and height. `text`: what was read there."""

    kind: LookedAtKind
    left: float
    top: float
    right: float
    bottom: float
    text: str = ""


class Answer(Message):
    """`timings_ms` by stage, with `total` and `first_word`, when there was something to say; `degraded` names
    what was done without: stages that failed, cuts of the plan.

    `confidence`: probability that the answer is right; None if it was not measured, 0 for a refusal.
    `verification`: whether the answer was checked; one that was not is less confident than it would be, and
    says so. `conflicts`: always empty; kept for clients that read it.

    `closest`: of a refusal, the passage that comes closest to an answer; not an answer, and not checked.

    `looked_at`: what of the photo this question looked at. `advice`: of a refusal, what the wearer can do
    about it. `transcript`: what was understood of `audio`. `speech`: where the answer's sound is fetched, for
    a short time, relative to the gateway's address; None where no voice is set up.

    With `session` among them this turn was not kept, and a `session_id` that is new is nobody's yet.
    """

    answer: str
    abstained: bool
    reason: Reason
    confidence: float | None = Field(ge=0, le=1)
    route: Route
    domain: Domain | None = None
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


class StageEvent(Message):
    """SSE `stage`: a stage ended (`state`: `done`, `skipped`, `failed`, `cancelled`). `left_ms`: until the
    deadline.
    """

    stage: str
    state: str
    ms: float
    left_ms: float = 0.0


class TranscriptEvent(Message):
    """SSE `transcript`: what was understood of the caller's `audio`."""

    text: str


class IdentifiedEvent(Message):
    """SSE `identified`: what the thing is, before the answer is known. It holds whatever the answer comes to.

    `sentence`: that in words, to be spoken at once.
    """

    entity: str
    sentence: str


class TokenEvent(Message):
    """SSE `token`: a piece of the answer's text."""

    text: str


class StageTrace(Message):
    """One stage of a stored trace; `detail` never holds question text or image bytes."""

    stage: str
    state: str
    start_ms: float
    ms: float
    detail: str = ""


class PlanTrace(Message):
    """What a request might still do at one moment, and what was given up (`cuts`) so that it fits.

    `after`: the stage whose end led to it, empty for the first plan. `load`: questions being worked on.
    `limits`: the counts planned with, by name; switches are 0 or 1.
    """

    at_ms: float
    after: str
    remaining_ms: float
    expected_ms: float
    load: int
    cuts: list[str] = []
    limits: dict[str, int] = {}


class Trace(Message):
    """`GET /traces/{id}`: what happened to one request.

    `refused_by`: the check that refused the answer (`token_min`, `token_mean`, `judge`, `support`, …).
    """

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
